package btf

import "slices"

// Subset selects types of a Spec and builds a smaller BTF of them that keeps their names, sizes and
// offsets. It is not safe for concurrent use.
type Subset struct {
	s       *Spec
	keep    map[ID]bool
	members map[ID]map[int]bool // selected members of STRUCT and UNION
	whole   map[ID]bool         // with all members and their dependencies
	deep    map[ID]bool         // pointees are selected too
}

// NewSubset returns an empty selection. The Spec must not have a base: a part of split BTF would
// need parts of its base.
func NewSubset(s *Spec) (*Subset, error) {
	if s.base != nil {
		return nil, headerError(ErrInvalid, "a subset of split BTF is not supported")
	}
	return &Subset{s: s, keep: map[ID]bool{}, members: map[ID]map[int]bool{}, whole: map[ID]bool{}, deep: map[ID]bool{}}, nil
}

// Keep selects a type and what its size depends on: the targets of typedefs and modifiers, array
// elements, and parameters of prototypes. Structs and unions are kept without members; pointees are
// kept only if pointees is set.
func (x *Subset) Keep(id ID, pointees bool) {
	work := []ID{id}
	for len(work) > 0 {
		id := work[len(work)-1]
		work = work[:len(work)-1]
		if id == 0 || int(id) >= x.s.NumTypes() || x.keep[id] && (!pointees || x.deep[id]) {
			continue
		}
		x.keep[id] = true
		if pointees {
			x.deep[id] = true
		}
		t := x.s.MustType(id)
		switch {
		case t.Kind == KindPtr:
			if pointees {
				work = append(work, t.Ref)
			}
		case t.Kind == KindArray:
			work = append(work, t.Ref, t.Array.Index)
		case t.Kind == KindFuncProto:
			work = append(work, t.Ref)
			for _, p := range t.Params {
				work = append(work, p.Type)
			}
		case t.Kind.IsMod(), t.Kind == KindFunc, t.Kind == KindVar:
			work = append(work, t.Ref)
		}
	}
}

// KeepMember selects member n of a STRUCT or UNION and its type.
func (x *Subset) KeepMember(id ID, n int) {
	t, err := x.s.Type(id)
	if err != nil || n < 0 || n >= len(t.Members) {
		return
	}
	x.Keep(id, false)
	if x.members[id] == nil {
		x.members[id] = map[int]bool{}
	}
	x.members[id][n] = true
	x.Keep(t.Members[n].Type, false)
}

// KeepWhole selects a type with all members and everything they hold by value. Pointees are
// selected without members.
func (x *Subset) KeepWhole(id ID) {
	work := []ID{id}
	for len(work) > 0 {
		id := work[len(work)-1]
		work = work[:len(work)-1]
		if id == 0 || int(id) >= x.s.NumTypes() || x.whole[id] {
			continue
		}
		x.whole[id] = true
		x.Keep(id, true)
		t := x.s.MustType(id)
		switch {
		case t.Kind.IsComposite():
			for n := range t.Members {
				x.KeepMember(id, n)
				work = append(work, t.Members[n].Type)
			}
		case t.Kind == KindArray, t.Kind.IsMod():
			work = append(work, t.Ref)
		}
	}
}

// Len returns the number of selected types.
func (x *Subset) Len() int { return len(x.keep) }

// Spec builds the smaller BTF, in the same byte order, and returns the map from old to new ids.
// References to types that were not selected become void.
func (x *Subset) Spec() (*Spec, map[ID]ID, error) {
	x.keepPointerSize()
	old := make([]ID, 0, len(x.keep))
	for id := range x.keep {
		old = append(old, id)
	}
	slices.Sort(old)
	ids := make(map[ID]ID, len(old))
	for i, id := range old {
		ids[id] = ID(i + 1)
	}
	b := NewBuilder(nil)
	for _, id := range old {
		t := *x.s.MustType(id)
		if t.Kind.IsComposite() {
			var kept []Member
			for n, m := range t.Members {
				if x.members[id][n] {
					kept = append(kept, m)
				}
			}
			t.Members = kept
		}
		b.Add(t.remap(func(id ID) ID { return ids[id] }))
	}
	s, err := b.Spec(x.s.hdr.order)
	return s, ids, err
}

// keepPointerSize selects the type that determines the pointer size, unless that is the default.
func (x *Subset) keepPointerSize() {
	if x.s.ptrSize == 8 {
		return
	}
	for i, off := range x.s.offs {
		id := x.s.first + ID(i)
		if x.s.kindAt(off) == KindInt && isLong(x.s.Name(id)) && x.s.MustType(id).Size == uint32(x.s.ptrSize) {
			x.keep[id] = true
			return
		}
	}
}
