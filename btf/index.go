package btf

import "strings"

// EssentialName returns a name without its flavor: the part before the last
// "___" that has a character other than '_' on both sides, "task_struct" of
// "task_struct___v5". A name without a flavor is returned as it is (libbpf
// bpf_core_essential_name_len).
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

// nameIndex finds types by essential name: heads[hash] is 1 + the position of
// the first own type in that bucket, next continues it in ascending order.
type nameIndex struct {
	heads []uint32
	next  []uint32
	mask  uint32
}

// hashName is FNV-1a over 4 bytes at a time, mixed at the end.
func hashName(s string) uint32 {
	h := uint32(2166136261)
	for len(s) >= 4 {
		h = (h ^ (uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24)) * 0x9e3779b1
		h ^= h >> 15
		s = s[4:]
	}
	for i := 0; i < len(s); i++ {
		h = (h ^ uint32(s[i])) * 16777619
	}
	h ^= h >> 16
	return h * 0x85ebca6b >> 7
}

func (s *Spec) names() *nameIndex {
	s.indexOnce.Do(func() {
		size := uint32(16)
		for int(size) < len(s.offs) {
			size *= 2
		}
		x := nameIndex{heads: make([]uint32, size), next: make([]uint32, len(s.offs)), mask: size - 1}
		for i := len(s.offs) - 1; i >= 0; i-- {
			off := u32(s.types[s.offs[i]:], s.big)
			if off == 0 {
				continue
			}
			name := s.str(off)
			if name == "" {
				continue
			}
			b := hashName(EssentialName(name)) & x.mask
			x.next[i] = x.heads[b]
			x.heads[b] = uint32(i) + 1
		}
		s.index = x
	})
	return &s.index
}

// eachNamed calls f for the own types whose essential name is given, in
// ascending order, until f returns false.
func (s *Spec) eachNamed(essential string, f func(id ID, k Kind, name string) bool) {
	if essential == "" {
		return
	}
	x := s.names()
	for n := x.heads[hashName(essential)&x.mask]; n != 0; n = x.next[n-1] {
		off := s.offs[n-1]
		name := s.str(u32(s.types[off:], s.big))
		if !strings.HasPrefix(name, essential) || (len(name) != len(essential) || strings.Contains(name, "___")) && EssentialName(name) != essential {
			continue
		}
		if !f(s.first+ID(n-1), s.kindAt(off), name) {
			return
		}
	}
}

// Candidates returns the ids of all types, of any kind, whose essential name is
// the given one, ascending, the base's first.
func (s *Spec) Candidates(essentialName string) []ID {
	var ids []ID
	if s.base != nil {
		ids = s.base.Candidates(essentialName)
	}
	return append(ids, s.OwnCandidates(essentialName)...)
}

// OwnCandidates is Candidates without the base's types.
func (s *Spec) OwnCandidates(essentialName string) []ID {
	var ids []ID
	s.eachNamed(essentialName, func(id ID, _ Kind, _ string) bool {
		ids = append(ids, id)
		return true
	})
	return ids
}

// IDs returns the ids of all types of a kind with exactly this name, ascending,
// the base's first.
func (s *Spec) IDs(kind Kind, name string) []ID {
	var ids []ID
	if s.base != nil {
		ids = s.base.IDs(kind, name)
	}
	s.eachNamed(EssentialName(name), func(id ID, k Kind, n string) bool {
		if k == kind && n == name {
			ids = append(ids, id)
		}
		return true
	})
	return ids
}

// FindID returns the first id of a kind with exactly this name, the base's
// before the Spec's own.
func (s *Spec) FindID(kind Kind, name string) (ID, bool) {
	if s.base != nil {
		if id, ok := s.base.FindID(kind, name); ok {
			return id, true
		}
	}
	var found ID
	s.eachNamed(EssentialName(name), func(id ID, k Kind, n string) bool {
		if k == kind && n == name {
			found = id
		}
		return found == 0
	})
	return found, found != 0
}

// Find returns the first type of a kind with exactly this name.
func (s *Spec) Find(kind Kind, name string) (*Type, bool) {
	id, ok := s.FindID(kind, name)
	if !ok {
		return nil, false
	}
	return s.MustType(id), true
}
