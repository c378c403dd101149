package debug

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// repeated is x@n: n values of x's type, one after the other in memory.
func (s *Session) repeated(x, n *Value) (*Value, error) {
	count, _, err := s.asInt(n)
	if err != nil {
		return nil, err
	}
	if x.kind != inMemory || x.bitSize != 0 {
		return nil, errors.New("only what lies in memory can be repeated with @")
	}
	size, err := x.Type.size()
	if err != nil {
		return nil, err
	}
	t := x.Type
	if t.Elems > 0 {
		return nil, errors.New("an array cannot be repeated with @")
	}
	if count == 0 || count > maxRead || size > 0 && count > maxRead/uint64(size) {
		return nil, fmt.Errorf("@%d: want a number of elements, of %d bytes in all at most", int64(count), maxRead)
	}
	t.Elems = int(count)
	return s.at(t, x.Addr)
}

// maxWalked bounds the entries of a list that are walked.
const maxWalked = 1000

// walked is what a walk along a list found.
type walked struct {
	entries []*Value
	err     error // why the walk ended before the list
}

// evalWalk is list_for_each(HEAD, TYPE, MEMBER): the entries of one of the kernel's lists, or a member of each. HEAD is the list_head or
// hlist_head, or its address.
func (s *Session) evalWalk(n *walkNode) (*Value, error) {
	head, err := s.eval(n.head)
	if err != nil {
		return nil, err
	}
	addr, err := s.Address(head)
	if err != nil {
		return nil, err
	}
	t, err := s.resolveType(n.t)
	if err != nil {
		return nil, err
	}
	if t.Ptr > 0 || !t.isComposite() {
		return nil, fmt.Errorf("%s has no members", t)
	}
	if err := s.hasPath(t, n.member); err != nil { // also of a list without entries
		return nil, err
	}
	w := &walked{}
	for at, seen := addr, map[uint64]bool{}; ; {
		next, err := s.pointerAt(at)
		if err != nil {
			w.err = err
			break
		}
		if next == 0 || next == addr { // the end of an hlist, the head of a list
			break
		}
		if seen[next] {
			w.err = fmt.Errorf("the list leads back to %s", s.addressText(next))
			break
		}
		if seen[next] = true; len(w.entries) == maxWalked {
			w.err = fmt.Errorf("only the first %d entries were walked", maxWalked)
			break
		}
		e, err := s.entry(t, next, n.member, n.path)
		if err != nil {
			return nil, err
		}
		w.entries = append(w.entries, e)
		at = next
	}
	v := s.number(uint64(len(w.entries)), false)
	v.walk = w
	return v, nil
}

// hasPath checks a path of members in the layouts a struct may be read in.
func (s *Session) hasPath(t Type, path string) error {
	_, first := t.Spec.ResolvePath(t.ID, path)
	if first == nil {
		return nil
	}
	b := t.base()
	if target := s.linked.Target.BTF; target != nil {
		if id, ok := target.FindID(b.Kind, btf.EssentialName(b.Name)); ok {
			_, err := target.ResolvePath(id, path)
			if err != nil {
				err = s.pathError(Type{Spec: target, ID: id}, err)
			}
			return err
		}
	}
	return s.pathError(t, first)
}

// pointerAt reads a pointer.
func (s *Session) pointerAt(addr uint64) (uint64, error) {
	b := make([]byte, s.m.Memory().PointerSize())
	if err := s.peek(addr, b); err != nil {
		return 0, err
	}
	return s.uint(b), nil
}

// entry is the entry whose list member is at addr, or a member of it.
func (s *Session) entry(t Type, addr uint64, member string, path []string) (*Value, error) {
	t = s.layoutAt(t, addr)
	f, err := t.Spec.ResolvePath(t.ID, member)
	if err != nil {
		return nil, s.pathError(t, err)
	}
	v := s.pointerTo(t, addr-uint64(f.Offset()))
	for _, name := range path {
		if v, err = s.member(v, name); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// formatWalk writes the entries of a list.
func (s *Session) formatWalk(w *walked, opt FormatOptions) string {
	parts := make([]string, len(w.entries))
	for i, e := range w.entries {
		parts[i] = s.Format(e, opt)
	}
	if w.err != nil {
		parts = append(parts, "<"+w.err.Error()+">")
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
