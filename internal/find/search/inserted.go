package search

import (
	"bytes"
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
)

// inserted makes the changes of a result those of the program alone: elements that the search added
// during the run existed before it.
func (s *searching) inserted(res *machine.Result, changes []Override) {
	for _, o := range changes {
		if o.Kind != Element {
			continue
		}
		mp, _ := mapAt(s.m, o.addr)
		if mp == nil || mp.Spec().Type.PerCPU() || len(o.Key) != int(mp.Spec().KeySize) {
			continue
		}
		if _, ok := mp.(maps.OuterMap); ok { // programs do not change these
			res.Changes = slices.DeleteFunc(res.Changes, func(c machine.Change) bool { return c.Map == o.Map && bytes.Equal(c.Key, o.Key) })
			continue
		}
		was := Contents(mp, o.Map, o.Key, changes)
		i := slices.IndexFunc(res.Changes, func(c machine.Change) bool { return c.Map == o.Map && bytes.Equal(c.Key, o.Key) })
		switch {
		case i < 0:
			if !holds(mp, o.Key) {
				res.Changes = append(res.Changes, machine.Change{Map: o.Map, Key: o.Key, CPU: -1, Old: was})
			}
		case bytes.Equal(res.Changes[i].New, was):
			res.Changes = slices.Delete(res.Changes, i, i+1)
		default:
			res.Changes[i].Old = was
		}
	}
}

// Contents returns the value of an element as changes make it, before the program changes it: that
// of a new element, and what they put into it.
func Contents(mp maps.Map, name string, key []byte, changes []Override) []byte {
	out := fresh(mp)[:mp.Spec().ValueSize]
	for _, o := range changes {
		p := o.Place
		if o.Kind == Element && o.Map == name && bytes.Equal(o.Key, key) && len(o.Like) == len(out) {
			copy(out, o.Like)
		}
		if o.Kind == Memory && p.Input == MapValue && p.Name == name && bytes.Equal(p.Key, key) && p.Off+len(o.Data) <= len(out) {
			copy(out[p.Off:], o.Data)
		}
	}
	return out
}

func holds(mp maps.Map, key []byte) bool {
	_, e := mp.Lookup(0, key)
	return e == 0
}
