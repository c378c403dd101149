package btf

import (
	"math"
	"strconv"
)

// FieldAt is the reverse of ResolvePath: it finds the innermost named field of
// root that holds size bytes at byte offset off. exact reports that the field is
// just these bytes. Of a union the first member with an exact field counts, else
// the first that holds the range; a range with several bitfields gives the
// first of them. The empty path means that no single field holds the range.
func (s *Spec) FieldAt(root ID, off uint32, size int) (path string, f Field, exact bool) {
	if size <= 0 || uint64(off)+uint64(size) > math.MaxUint32/8 {
		return "", Field{Type: root}, false
	}
	w := fieldWalk{s: s, budget: maxSteps, lo: uint64(off) * 8, hi: (uint64(off) + uint64(size)) * 8}
	f, exact = w.find(Field{Type: root}, true, 0)
	return f.Path, f, exact
}

// fieldWalk searches for the bits lo to hi, from the start of the root.
type fieldWalk struct {
	s      *Spec
	budget int
	lo, hi uint64
}

// find descends from f, which holds the range, as far as one field does; named
// is false for anonymous members.
func (w *fieldWalk) find(f Field, named bool, depth int) (Field, bool) {
	t := w.s.SkipMods(f.Type)
	start := uint64(f.BitOffset)
	exact := w.lo == start && w.hi == start+uint64(w.s.size(f.Type))*8
	if w.budget -= 1 + len(t.Members); w.budget < 0 || depth > maxDepth {
		return f, exact
	}
	switch t.Kind {
	case KindArray:
		es := uint64(w.s.size(t.Ref)) * 8
		if es == 0 {
			return f, exact
		}
		i := (w.lo - start) / es
		at := start + i*es
		if w.hi > at+es || at > math.MaxUint32 || i >= uint64(t.Array.Nelems) && t.Array.Nelems != 0 {
			return f, exact
		}
		return w.find(Field{Path: f.Path + "[" + strconv.FormatUint(i, 10) + "]", Type: t.Ref, BitOffset: uint32(at), Parent: f.Parent}, true, depth+1)
	case KindDatasec:
		for _, v := range t.Vars {
			at := uint64(v.Offset) * 8
			if w.lo >= at && w.hi <= at+uint64(v.Size)*8 {
				return w.find(Field{Path: w.s.Name(v.Type), Type: w.s.MustType(v.Type).Ref, BitOffset: uint32(at), Parent: t.ID}, true, depth+1)
			}
		}
	case KindStruct, KindUnion:
		if g, ok, ex := w.member(f, t, depth); ok {
			return g, ex
		}
		if exact && named {
			return f, true
		}
		if g, ok, ex := w.bitfield(f, t); ok {
			return g, ex
		}
	}
	return f, exact
}

// member finds the member of t, which is at f, that holds the range.
func (w *fieldWalk) member(f Field, t *Type, depth int) (best Field, ok, exact bool) {
	for i := range t.Members {
		m := &t.Members[i]
		off, bits := w.s.MemberBits(t, m)
		at := uint64(f.BitOffset) + uint64(off)
		if bits != 0 || at > w.lo || at > math.MaxUint32 {
			continue
		}
		if end := at + uint64(w.s.size(m.Type))*8; w.hi > end && !w.flexible(t, i) {
			continue
		}
		in := Field{Path: f.Path, Type: m.Type, BitOffset: uint32(at), Parent: f.Parent}
		if m.Name != "" {
			in.Path, in.Parent = joinPath(f.Path, m.Name), t.ID
		}
		g, ex := w.find(in, m.Name != "", depth+1)
		if g.Path == f.Path {
			continue
		}
		if ex {
			return g, true, true
		}
		if !ok {
			best, ok = g, true
		}
	}
	return best, ok, false
}

// bitfield finds the first bitfield of t, which is at f, with a bit in the range.
func (w *fieldWalk) bitfield(f Field, t *Type) (g Field, ok, exact bool) {
	for i := range t.Members {
		m := &t.Members[i]
		off, bits := w.s.MemberBits(t, m)
		at := uint64(f.BitOffset) + uint64(off)
		if bits == 0 || m.Name == "" || at >= w.hi || at+uint64(bits) <= w.lo || at > math.MaxUint32 {
			continue
		}
		g := Field{Path: joinPath(f.Path, m.Name), Type: m.Type, BitOffset: uint32(at), BitSize: bits, Parent: t.ID}
		return g, true, at == w.lo && at+uint64(bits) == w.hi
	}
	return f, false, false
}

// flexible reports whether member i is the array without length at the end.
func (w *fieldWalk) flexible(t *Type, i int) bool {
	if i != len(t.Members)-1 {
		return false
	}
	m := w.s.SkipMods(t.Members[i].Type)
	return m.Kind == KindArray && m.Array.Nelems == 0
}

func joinPath(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}
