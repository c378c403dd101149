package btf

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// EssentialName returns a name without its flavor: the part before the last "___" that has a
// character other than '_' on both sides; "task_struct" for "task_struct___v5". A name without a
// flavor is returned unchanged (libbpf bpf_core_essential_name_len).
func EssentialName(s string) string {
	if !strings.Contains(s, "___") {
		return s
	}
	for i := len(s) - 5; i >= 0; i-- {
		if s[i] != '_' && s[i+1] == '_' && s[i+2] == '_' && s[i+3] == '_' && s[i+4] != '_' {
			return s[:i+1]
		}
	}
	return s
}

// nameIndex finds types by essential name. Bucket b has entries[starts[b]:starts[b+1]], in
// ascending order.
type nameIndex struct {
	once    sync.Once
	made    atomic.Bool
	entries []uint32 // positions in Spec.offs, bucket after bucket
	starts  []uint32

	mu       sync.Mutex
	searches []*symbolSearch // the symbols looked up before it was made
}

// isSymbol reports whether names of kind k are symbols. They have an index of their own: a kernel
// has four times as many symbols as named types, and CO-RE looks up only types.
func (k Kind) isSymbol() bool {
	return k == KindFunc || k == KindVar || k == KindDatasec || k == KindDeclTag
}

// names returns the index that holds types of kind k, made on first use.
func (s *Spec) names(k Kind) *nameIndex {
	x := &s.typeNames
	if k.isSymbol() {
		x = &s.symbolNames
	}
	x.once.Do(func() {
		of := s.namedTypes
		if k.isSymbol() {
			of = s.positions(Kind.isSymbol)
		}
		x.sort(of, func(position uint32) uint32 { return s.hashEssential(u32(s.types[s.offs[position]:])) })
		x.made.Store(true)
	})
	return x
}

// sort puts ascending positions into their buckets.
func (x *nameIndex) sort(positions []uint32, hash func(position uint32) uint32) {
	size := uint32(16)
	for 2*int(size) < len(positions) {
		size *= 2
	}
	x.entries, x.starts = make([]uint32, len(positions)), make([]uint32, size+1)
	bucket := make([]uint32, len(positions))
	for i, p := range positions {
		bucket[i] = hash(p) & (size - 1)
		x.starts[bucket[i]]++
	}
	end := uint32(0)
	for b := range x.starts {
		end += x.starts[b]
		x.starts[b] = end
	}
	for i := len(positions) - 1; i >= 0; i-- {
		at := &x.starts[bucket[i]]
		*at--
		x.entries[*at] = positions[i]
	}
}

// with returns the entries that may have a name.
func (x *nameIndex) with(essential string) []uint32 {
	b := hashName(essential) & uint32(len(x.starts)-2)
	return x.entries[x.starts[b]:x.starts[b+1]]
}

// positions returns the positions of the own types whose kind is wanted.
func (s *Spec) positions(want func(Kind) bool) []uint32 {
	n := 0
	for _, off := range s.offs {
		if want(s.kindAt(off)) {
			n++
		}
	}
	out := make([]uint32, 0, n)
	for i, off := range s.offs {
		if want(s.kindAt(off)) {
			out = append(out, uint32(i))
		}
	}
	return out
}

// eachNamed calls f for the own types in the index of kind k with the given essential name, in
// ascending order, until f returns false.
func (s *Spec) eachNamed(k Kind, essential string, f func(id ID, k Kind, name string) bool) {
	if essential == "" {
		return
	}
	if k.isSymbol() && !s.symbolNames.made.Load() {
		if q := s.symbolNames.search(essential); q != nil {
			s.searchSymbols(q, f)
			return
		}
	}
	for _, position := range s.names(k).with(essential) {
		if !s.named(position, essential, f) {
			return
		}
	}
}

// named calls f for the type at a position if it has the given essential name. It returns false
// when f does.
func (s *Spec) named(position uint32, essential string, f func(id ID, k Kind, name string) bool) bool {
	off := s.offs[position]
	name := s.str(u32(s.types[off:]))
	if !strings.HasPrefix(name, essential) || (len(name) != len(essential) || strings.Contains(name, "___")) && EssentialName(name) != essential {
		return true
	}
	return f(s.first+ID(position), s.kindAt(off), name)
}

// Candidates returns the ids of all types of kind k with the given essential name, ascending, the
// base's first. ENUM and ENUM64 count as one kind (libbpf bpf_core_add_cands).
func (s *Spec) Candidates(k Kind, essentialName string) []ID {
	var ids []ID
	if s.base != nil {
		ids = s.base.Candidates(k, essentialName)
	}
	s.eachNamed(k, essentialName, func(id ID, found Kind, _ string) bool {
		if found == k || found.IsEnum() && k.IsEnum() {
			ids = append(ids, id)
		}
		return true
	})
	return ids
}

// Named returns the ids of all types of any kind with the given essential name, ascending, the
// base's first.
func (s *Spec) Named(essentialName string) []ID {
	var ids []ID
	if s.base != nil {
		ids = s.base.Named(essentialName)
	}
	own := len(ids)
	for _, k := range []Kind{KindStruct, KindFunc} {
		s.eachNamed(k, essentialName, func(id ID, _ Kind, _ string) bool {
			ids = append(ids, id)
			return true
		})
	}
	slices.Sort(ids[own:])
	return ids
}

// IDs returns the ids of all types of a kind with exactly this name, ascending,
// the base's first.
func (s *Spec) IDs(kind Kind, name string) []ID {
	var ids []ID
	if s.base != nil {
		ids = s.base.IDs(kind, name)
	}
	s.eachNamed(kind, EssentialName(name), func(id ID, k Kind, n string) bool {
		if k == kind && n == name {
			ids = append(ids, id)
		}
		return true
	})
	return ids
}

// FindID returns the first id of a kind with exactly this name; ids of the base come first.
func (s *Spec) FindID(kind Kind, name string) (ID, bool) {
	if s.base != nil {
		if id, ok := s.base.FindID(kind, name); ok {
			return id, true
		}
	}
	var found ID
	s.eachNamed(kind, EssentialName(name), func(id ID, k Kind, n string) bool {
		if k == kind && n == name {
			found = id
		}
		return found == 0
	})
	return found, found != 0
}

// Find returns the first type of a kind with exactly this name; types of the base come first.
func (s *Spec) Find(kind Kind, name string) (*Type, bool) {
	id, ok := s.FindID(kind, name)
	if !ok {
		return nil, false
	}
	return s.MustType(id), true
}
