package expr

import (
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
)

// maxWalked limits the entries of a list walk.
const maxWalked = 1000

// walked is the result of a list walk.
type walked struct {
	Entries []*Value
	err     error // why the walk stopped before the end of the list
}

// evalWalk evaluates list_for_each(HEAD, TYPE, MEMBER): the entries of a kernel list, or a member
// of each. HEAD is the list_head or hlist_head, or its address.
func (ev *Evaluator) evalWalk(n *walkNode) (*Value, error) {
	ev.Elsewhere()
	head, err := ev.EvalNode(n.head)
	if err != nil {
		return nil, err
	}
	addr, err := ev.Address(head)
	if err != nil {
		return nil, err
	}
	t, err := ev.resolveType(n.t)
	if err != nil {
		return nil, err
	}
	if t.Ptr > 0 || !t.IsComposite() {
		return nil, fmt.Errorf("%s has no members", t)
	}
	if err := ev.hasPath(t, n.member); err != nil { // checked even for an empty list
		return nil, err
	}
	w := &walked{}
	for at, seen := addr, map[uint64]bool{}; ; {
		next, err := ev.pointerAt(at)
		if err != nil {
			w.err = err
			break
		}
		if next == 0 || next == addr { // the end of an hlist, or the head of a list
			break
		}
		if seen[next] {
			w.err = fmt.Errorf("the list is circular: it leads back to %s", ev.AddressText(next))
			break
		}
		if seen[next] = true; len(w.Entries) == maxWalked {
			w.err = fmt.Errorf("only the first %d entries were walked", maxWalked)
			break
		}
		e, err := ev.entry(t, next, n.member, n.path)
		if err != nil {
			return nil, err
		}
		w.Entries = append(w.Entries, e)
		at = next
	}
	v := ev.Number(uint64(len(w.Entries)), false)
	v.Walk = w
	return v, nil
}

// hasPath returns an error if a member path exists neither in a struct's own layout nor in that of
// the kernel's type of the same name.
func (ev *Evaluator) hasPath(t Type, path string) error {
	_, first := t.Spec.ResolvePath(t.ID, path)
	if first == nil {
		return nil
	}
	b := t.base()
	if target := ev.linked.Target.BTF; target != nil {
		if id, ok := target.FindID(b.Kind, btf.EssentialName(b.Name)); ok {
			_, err := target.ResolvePath(id, path)
			if err != nil {
				err = ev.pathError(Type{Spec: target, ID: id}, err)
			}
			return err
		}
	}
	return ev.pathError(t, first)
}

// entry returns the entry whose list member is at addr, or a member of it.
func (ev *Evaluator) entry(t Type, addr uint64, member string, path []string) (*Value, error) {
	t = ev.LayoutAt(t, addr)
	f, err := t.Spec.ResolvePath(t.ID, member)
	if err != nil {
		return nil, ev.pathError(t, err)
	}
	v := ev.PointerTo(t, addr-uint64(f.Offset()))
	for _, name := range path {
		if v, err = ev.Member(v, name); err != nil {
			return nil, err
		}
	}
	return v, nil
}
