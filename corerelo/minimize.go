package corerelo

import (
	"github.com/bpfrun/bpfrun/btf"
)

// Minimizer reduces a target's BTF to what the relocations of some objects need, like bpftool's
// "gen min_core_btf": relocating the objects against the small BTF gives the same results as
// against the whole one, except for type ids. It is not safe for concurrent use.
type Minimizer struct {
	target *btf.Spec
	subset *btf.Subset
}

// NewMinimizer returns a Minimizer that has selected no types. The target must not be split BTF.
func NewMinimizer(target *btf.Spec) (*Minimizer, error) {
	subset, err := btf.NewSubset(target)
	if err != nil {
		return nil, err
	}
	return &Minimizer{target, subset}, nil
}

// Add selects what the records of one object need. They must be complete and in the order of
// .BTF.ext. For a record that fails it selects all candidates, so that it fails against the small
// BTF as well.
func (m *Minimizer) Add(local *btf.Spec, records []Record) {
	r := NewResolver(local, Target{BTF: m.target})
	for _, rec := range records {
		rel, err := r.Resolve(rec)
		if list := r.lists[rec.TypeID]; err != nil && list != nil {
			// A hard error must be preserved; finding out what exactly it depends on is not worth
			// the effort.
			for _, c := range list.list {
				m.subset.KeepWhole(c.ID)
			}
		}
		for i := range rel.Targets {
			m.keep(&rel.Targets[i])
		}
		for i := range rel.Rejected {
			m.keepRejected(rel, &rel.Rejected[i])
		}
	}
}

// Types returns the number of types selected so far.
func (m *Minimizer) Types() int { return m.subset.Len() }

// Spec builds the small BTF and returns the new id of each selected type.
func (m *Minimizer) Spec() (*btf.Spec, map[btf.ID]btf.ID, error) { return m.subset.Spec() }

func (m *Minimizer) keep(s *Spec) {
	switch {
	case s.Kind == TypeMatches:
		m.subset.KeepWhole(s.Root)
	case s.Kind.IsType(), s.Kind.IsEnumval():
		m.subset.Keep(s.Root, true)
	default:
		m.keepPath(s.Root, s.Raw)
	}
}

// keepPath selects the types and members along a raw path.
func (m *Minimizer) keepPath(root btf.ID, raw []int) {
	m.subset.Keep(root, false)
	t := skip(m.target, root)
	for i, n := range raw {
		if i == 0 || t == nil {
			continue
		}
		switch t.Kind {
		case btf.KindStruct, btf.KindUnion:
			if n >= len(t.Members) {
				return
			}
			m.subset.KeepMember(t.ID, n)
			t = skip(m.target, t.Members[n].Type)
		case btf.KindArray:
			t = skip(m.target, t.Ref)
		default:
			return
		}
	}
}

// keepRejected selects what makes a candidate fail, if it could match without that.
func (m *Minimizer) keepRejected(rel *Relocation, r *Rejection) {
	switch r.Reason {
	case IncompatibleType:
		// Without the member of the wrong type, one of the same name could be found at a deeper
		// level.
		m.keepNamed(skip(m.target, r.at), rel.Local.Path[r.Step].Name, 0)
	case OutOfBounds:
		// An array without elements is flexible only if it is the last member.
		m.keepPath(r.Spec.Root, r.Spec.Raw)
		if last := r.Spec.Last(); last.Name != "" {
			if t, err := m.target.Type(last.Type); err == nil {
				m.subset.KeepMember(t.ID, len(t.Members)-1)
			}
		}
	case IncompatibleRoot:
		// A pointer whose pointee is missing would point to void.
		if rel.Kind == TypeMatches {
			m.subset.KeepWhole(r.ID)
		} else {
			m.subset.Keep(r.ID, true)
		}
	}
}

// keepNamed selects the first member with a name, in the order of a match.
func (m *Minimizer) keepNamed(t *btf.Type, name string, depth int) bool {
	if t == nil || !t.Kind.IsComposite() || depth > maxSpecLen {
		return false
	}
	for n := range t.Members {
		mem := &t.Members[n]
		if mem.Name == name || mem.Name == "" && m.keepNamed(skip(m.target, mem.Type), name, depth+1) {
			m.subset.KeepMember(t.ID, n)
			return true
		}
	}
	return false
}
