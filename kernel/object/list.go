package object

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// EmptyList makes a list_head point to itself, if the type has it.
func (s *Space) EmptyList(o *Object, path string) {
	if at, err := o.FieldAddr(path); err == nil {
		s.Fail(errors.Join(o.SetUint(path+".next", at), o.SetUint(path+".prev", at)))
	}
}

// Link appends a member of one object to the list whose head is a field of another. A head that was not set is an empty
// list.
func (s *Space) Link(head *Object, headPath string, o *Object, path string) error {
	at, err := head.FieldAddr(headPath)
	if err != nil {
		return err
	}
	own, err := o.FieldAddr(path)
	if err != nil {
		return err
	}
	if !head.IsSet(headPath + ".next") {
		s.EmptyList(head, headPath)
	}
	prev, err := head.Uint(headPath + ".prev")
	if err != nil {
		return err
	}
	p := s.objectAt(prev)
	if p == nil {
		return fmt.Errorf("the list at %s of %s does not terminate", headPath, head.role)
	}
	var word [8]byte
	size := s.mem.PointerSize()
	endian.PutUint(s.Order(), word[:size], own)
	p.Poke(prev-p.base, word[:size], Given) // next is the first member
	return errors.Join(o.SetUint(path+".next", at), o.SetUint(path+".prev", prev), head.SetUint(headPath+".prev", own))
}
