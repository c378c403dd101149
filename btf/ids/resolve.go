package ids

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/bpfrun/bpfrun/btf"
)

// Finding is a problem of an entry or set.
type Finding struct {
	Group *Group
	Entry *Entry // nil for the set as a whole
	What  string
}

// Check compares the ids of the file with BTF. It reports entries that are not resolved, that refer
// to another type, or whose type does not exist or has another kind, and sets that are not sorted
// or whose count is wrong.
func (s *Section) Check(spec *btf.Spec) []Finding {
	var out []Finding
	for i := range s.Groups {
		g := &s.Groups[i]
		ids := make([]btf.ID, len(g.Entries))
		known := map[btf.ID]bool{}
		for j := range g.Entries {
			e := &g.Entries[j]
			ids[j] = e.ID
			if e.Kind == btf.KindVoid {
				continue
			}
			want, ok := spec.FindID(e.Kind, e.Name)
			known[want] = true
			if !ok {
				out = append(out, Finding{g, e, s.missing(spec, e)})
			}
		}
		for j := range g.Entries {
			e := &g.Entries[j]
			want, ok := spec.FindID(e.Kind, e.Name)
			switch {
			case e.Kind == btf.KindVoid || !ok:
			case e.ID == 0:
				out = append(out, Finding{g, e, "is not resolved"})
			case g.Kind == List && e.ID != want:
				out = append(out, Finding{g, e, fmt.Sprintf("has id %d, the type is [%d]", e.ID, want)})
			case g.Kind != List && !known[e.ID]: // sets are sorted: symbols no longer label their own ids
				out = append(out, Finding{g, e, fmt.Sprintf("the set has id %d, which is %s %s", e.ID, spec.Kind(e.ID), spec.Name(e.ID))})
			}
		}
		if g.Kind == List {
			continue
		}
		if g.Stored != g.Count && !(g.Stored == 0 && allZero(ids)) {
			out = append(out, Finding{g, nil, fmt.Sprintf("its count is %d, it has %d", g.Stored, g.Count)})
		}
		if !sort.SliceIsSorted(ids, func(a, b int) bool { return ids[a] < ids[b] }) {
			out = append(out, Finding{g, nil, "it is not sorted"})
		}
	}
	return out
}

func allZero(ids []btf.ID) bool {
	return !slices.ContainsFunc(ids, func(id btf.ID) bool { return id != 0 })
}

// missing describes the types that exist instead of a missing one.
func (s *Section) missing(spec *btf.Spec, e *Entry) string {
	for _, id := range spec.Named(btf.EssentialName(e.Name)) {
		if k := spec.Kind(id); k != e.Kind && spec.Name(id) == e.Name {
			return fmt.Sprintf("does not exist; [%d] is a %s of that name", id, k)
		}
	}
	return "does not exist"
}

// IsResolved reports whether any entry has an id.
func (s *Section) IsResolved() bool {
	return slices.ContainsFunc(s.Groups, func(g Group) bool {
		return g.Stored != 0 || slices.ContainsFunc(g.Entries, func(e Entry) bool { return e.ID != 0 })
	})
}

// Resolve returns a copy of the file with every id set, counts written and sets sorted, as
// resolve_btfids writes it. missing lists the entries whose type does not exist; their id is 0. The
// error is [ErrResolved], or [ErrNotELF] when there is no file to copy.
func (s *Section) Resolve(spec *btf.Spec) (file []byte, missing []*Entry, err error) {
	if s.IsResolved() {
		return nil, nil, fmt.Errorf("%w; use the file from before that step", ErrResolved)
	}
	if s.file == nil {
		return nil, nil, fmt.Errorf("%w: the section was read alone", ErrNotELF)
	}
	out := bytes.Clone(s.file)
	sec := out[s.at : s.at+uint64(s.size)]
	for i := range s.Groups {
		g := &s.Groups[i]
		for j := range g.Entries {
			e := &g.Entries[j]
			if e.Kind == btf.KindVoid {
				continue
			}
			id, ok := spec.FindID(e.Kind, e.Name)
			if !ok {
				missing = append(missing, e)
			}
			s.Order.PutUint32(sec[e.Offset:], uint32(id))
		}
		switch g.Kind {
		case Set:
			s.Order.PutUint32(sec[g.Offset:], g.Count)
			s.sortWords(sec[g.Offset+4:], int(g.Count), 4)
		case Set8:
			s.Order.PutUint32(sec[g.Offset:], g.Count)
			s.sortWords(sec[g.Offset+8:], int(g.Count), 8)
		}
	}
	return out, missing, nil
}

// sortWords sorts n records by their first word, compared as signed like resolve_btfids does.
func (s *Section) sortWords(b []byte, n, size int) {
	records := make([][]byte, n)
	for i := range records {
		records[i] = bytes.Clone(b[i*size : (i+1)*size])
	}
	slices.SortStableFunc(records, func(x, y []byte) int {
		return cmp.Compare(int32(s.Order.Uint32(x)), int32(s.Order.Uint32(y)))
	})
	for i, r := range records {
		copy(b[i*size:], r)
	}
}
