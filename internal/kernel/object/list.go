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

// Link appends a member of one object to the list whose head is a field of another. A head that was
// not set is an empty list.
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

// Append appends the list_head at paths of o to the list whose head is the builder's field, as
// default content that gives neither object any other. Lists that were set, and members of another
// list, stay as they are. It reports whether o was appended.
func (b Builder) Append(headPaths string, o *Object, paths string) bool {
	return o != nil && b.AppendTo(headPaths, Fill(o), paths)
}

// AppendTo is Append for a member of a type that the other builder refers to.
func (b Builder) AppendTo(headPaths string, member Builder, paths string) bool {
	o := member.Object
	head, ok := b.Field(headPaths)
	own, linked := member.Field(paths)
	word := uint64(b.Object.k.mem.PointerSize())
	if !ok || !linked || head.Size != 2*word || own.Size != 2*word || b.Taken(head) || member.Taken(own) {
		return false
	}
	first, node := b.Object.base+head.Off, o.base+own.Off
	if next := o.storedWord(own.Off); next != 0 && next != node {
		return false
	}
	prev := b.Object.storedWord(head.Off + word)
	if prev == 0 {
		prev = first
	}
	last := b.Object.k.objectAt(prev)
	if last == nil {
		return false
	}
	last.PokeWord(prev-last.base, node)
	o.PokeWord(own.Off, first)
	o.PokeWord(own.Off+word, prev)
	b.Object.PokeWord(head.Off+word, node)
	return true
}

// Push is Append for hash lists: it inserts the hlist_node at paths of o as the first of the list
// (hlist_add_head).
func (b Builder) Push(headPaths string, o *Object, paths string) {
	if o == nil {
		return
	}
	b.PushTo(headPaths, Fill(o), paths)
}

// PushTo is Push for a member of a type that the other builder refers to.
func (b Builder) PushTo(headPaths string, member Builder, paths string) {
	head, ok := b.Field(headPaths)
	if ok && head.Size == uint64(b.Object.k.mem.PointerSize()) && !b.Taken(head) {
		b.PushAt(head.Off, member, paths)
	}
}

// PushAt is PushTo for a head at an offset of the object's storage.
func (b Builder) PushAt(off uint64, member Builder, paths string) {
	o, word := member.Object, uint64(b.Object.k.mem.PointerSize())
	own, linked := member.Field(paths)
	if !linked || own.Size != 2*word || member.Taken(own) || o.storedWord(own.Off+word) != 0 {
		return
	}
	next, node := b.Object.storedWord(off), o.base+own.Off
	if second := b.Object.k.objectAt(next); second != nil {
		second.PokeWord(next-second.base+word, node)
	}
	o.PokeWord(own.Off, next)
	o.PokeWord(own.Off+word, b.Object.base+off)
	b.Object.PokeWord(off, node)
}

// storedWord returns the pointer at a storage offset, 0 if it never had a value.
func (o *Object) storedWord(off uint64) uint64 {
	size := uint64(o.k.mem.PointerSize())
	if o.status(off, size) == never {
		return 0
	}
	return endian.Uint(o.k.Order(), o.st.data[off:off+size])
}

// PokeWord sets the pointer at a storage offset as a default.
func (o *Object) PokeWord(off, v uint64) {
	var b [8]byte
	size := o.k.mem.PointerSize()
	endian.PutUint(o.k.Order(), b[:size], v)
	o.Poke(off, b[:size], Made)
}
