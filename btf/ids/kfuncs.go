package ids

import (
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
)

// SetOfKfuncs is the flag of a set8 of kfuncs (BTF_SET8_KFUNCS, since Linux 6.9; before, sets had
// no flags).
const SetOfKfuncs = 1

// KfuncSet is a set of kfuncs with the kernel's flags of each, by name.
type KfuncSet struct {
	Name   string
	Offset uint32 // in .BTF_ids
	Flags  map[string]uint32
}

// KfuncSets returns the sets of kfuncs. If no set8 is marked, as before Linux 6.9, all of them
// count. Resolved sets are sorted, so that symbols no longer label their own entries: spec, the BTF
// of the file, then names them. It may be nil for unresolved ids.
func (s *Section) KfuncSets(spec *btf.Spec) ([]KfuncSet, error) {
	resolved := s.IsResolved()
	if resolved && spec == nil {
		return nil, fmt.Errorf("%w, and its flags can only be told by the BTF it was resolved with", ErrResolved)
	}
	marked := false
	for i := range s.Groups {
		marked = marked || s.Groups[i].Kind == Set8 && s.Groups[i].Flags&SetOfKfuncs != 0
	}
	var out []KfuncSet
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Kind != Set8 || marked && g.Flags&SetOfKfuncs == 0 {
			continue
		}
		set := KfuncSet{Name: g.Name, Offset: g.Offset, Flags: map[string]uint32{}}
		for j := range g.Entries {
			e := &g.Entries[j]
			name, kind := e.Name, e.Kind
			if resolved {
				if e.ID == 0 {
					continue // not in the BTF
				}
				t, err := spec.Type(e.ID)
				if err != nil {
					return nil, malformed("set %s has id %d: %v", g.Name, e.ID, err)
				}
				name, kind = t.Name, t.Kind
			}
			if kind == btf.KindFunc {
				set.Flags[name] |= e.Flags
			}
		}
		out = append(out, set)
	}
	return out, nil
}

// Kfuncs returns the flags of the functions in all sets of kfuncs, by name; flags of a function in
// several sets are combined. See [Section.KfuncSets].
func (s *Section) Kfuncs(spec *btf.Spec) (map[string]uint32, error) {
	sets, err := s.KfuncSets(spec)
	if err != nil {
		return nil, err
	}
	out := map[string]uint32{}
	for _, set := range sets {
		for name, flags := range set.Flags {
			out[name] |= flags
		}
	}
	return out, nil
}
