package btf

import (
	"math"
	"strconv"
)

// FieldAt is the reverse of ResolvePath: it finds the innermost named field of root that holds the
// size bytes at byte offset off. exact reports that the field consists of exactly these bytes. In a
// union the first member wins that has a scalar of exactly these bytes, then the first whose field
// holds them, then the first that spreads them over several fields. Of several bitfields within at
// most eight bytes the first wins. An empty path means that no single field holds the range.
func (s *Spec) FieldAt(root ID, off uint32, size int) (path string, f Field, exact bool) {
	w, ok := s.fieldWalk(off, size)
	if !ok {
		return "", Field{Type: root}, false
	}
	f, _ = w.find(Field{Type: root}, true, 0)
	width := uint64(f.BitSize)
	if width == 0 {
		width = uint64(s.size(f.Type)) * 8
	}
	return f.Path, f, w.lo == uint64(f.BitOffset) && w.hi == uint64(f.BitOffset)+width
}

// BitfieldsAt returns the bitfields of root that have a bit in the size bytes at byte offset off,
// in declaration order. For a union it returns those of the first member that has any.
func (s *Spec) BitfieldsAt(root ID, off uint32, size int) []Field {
	w, ok := s.fieldWalk(off, size)
	if !ok {
		return nil
	}
	return w.bitfields(Field{Type: root}, 0)
}

func (s *Spec) fieldWalk(off uint32, size int) (fieldWalk, bool) {
	if size <= 0 || uint64(off)+uint64(size) > math.MaxUint32/8 {
		return fieldWalk{}, false
	}
	return fieldWalk{s: s, budget: maxSteps, lo: uint64(off) * 8, hi: (uint64(off) + uint64(size)) * 8}, true
}

// fieldWalk searches for bits lo to hi, counted from the start of the root.
type fieldWalk struct {
	s      *Spec
	budget int
	lo, hi uint64
}

// fit ranks how well a field matches a range; among equals the first wins.
type fit int

const (
	fitParts fit = iota // a struct that holds the range in several fields, or in none
	fitHolds            // a field that holds the range, or a struct of exactly these bytes
	fitExact            // a scalar of exactly these bytes
)

// enter counts a visited type and reports whether the walk may continue.
func (w *fieldWalk) enter(t *Type, depth int) bool {
	w.budget -= 1 + len(t.Members)
	return w.budget >= 0 && depth <= maxDepth
}

// find descends from f, which holds the range, for as long as a single field holds it; named is
// false for anonymous members.
func (w *fieldWalk) find(f Field, named bool, depth int) (Field, fit) {
	t := w.s.SkipMods(f.Type)
	start := uint64(f.BitOffset)
	exact := w.lo == start && w.hi == start+uint64(w.s.size(f.Type))*8
	if !w.enter(t, depth) {
		return f, fitHolds
	}
	switch t.Kind {
	case KindArray:
		if e, ok := w.element(f, t); ok {
			return w.find(e, true, depth+1)
		}
		return f, fitHolds
	case KindDatasec:
		for _, v := range t.Vars {
			at := uint64(v.Offset) * 8
			if w.lo >= at && w.hi <= at+uint64(v.Size)*8 {
				return w.find(Field{Path: w.s.Name(v.Type), Type: w.s.MustType(v.Type).Ref, BitOffset: uint32(at), Parent: t.ID}, true, depth+1)
			}
		}
		return f, fitParts
	case KindStruct, KindUnion:
		best, quality := w.member(f, t, depth)
		switch {
		case quality != fitParts || best.Path != f.Path:
			return best, quality
		case exact && named:
			return f, fitHolds
		}
		if g, ok := w.bitfield(f, t); ok {
			return g, fitHolds
		}
		return f, fitParts
	}
	if exact {
		return f, fitExact
	}
	return f, fitHolds
}

// element returns the element of array t, located at f, that holds the range.
func (w *fieldWalk) element(f Field, t *Type) (Field, bool) {
	size := uint64(w.s.size(t.Ref)) * 8
	if size == 0 {
		return Field{}, false
	}
	i := (w.lo - uint64(f.BitOffset)) / size
	at := uint64(f.BitOffset) + i*size
	if w.hi > at+size || at > math.MaxUint32 || i >= uint64(t.Array.Nelems) && t.Array.Nelems != 0 {
		return Field{}, false
	}
	return Field{Path: f.Path + "[" + strconv.FormatUint(i, 10) + "]", Type: t.Ref, BitOffset: uint32(at), Parent: f.Parent}, true
}

// member returns the member of t, located at f, that best matches the range, or f itself if none
// does.
func (w *fieldWalk) member(f Field, t *Type, depth int) (Field, fit) {
	best, quality := f, fitParts
	for i := range t.Members {
		in, ok := w.covers(f, t, i)
		if !ok || in.BitSize != 0 {
			continue
		}
		g, q := w.find(in, t.Members[i].Name != "", depth+1)
		if g.Path == f.Path { // an anonymous member that holds the range in several fields
			continue
		}
		if q > quality || best.Path == f.Path {
			best, quality = g, q
		}
		if q == fitExact {
			break
		}
	}
	return best, quality
}

// covers returns member i of t, located at f, and whether it holds the range. A bitfield does if
// its bytes do.
func (w *fieldWalk) covers(f Field, t *Type, i int) (Field, bool) {
	m := &t.Members[i]
	off, bits := w.s.MemberBits(t, m)
	at := uint64(f.BitOffset) + uint64(off)
	if at > math.MaxUint32 {
		return Field{}, false
	}
	in := Field{Path: f.Path, Type: m.Type, BitOffset: uint32(at), BitSize: bits, Parent: f.Parent}
	if m.Name != "" {
		in.Path, in.Parent = joinPath(f.Path, m.Name), t.ID
	}
	if bits != 0 {
		return in, at&^7 <= w.lo && w.hi <= (at+uint64(bits)+7)&^7
	}
	return in, at <= w.lo && (w.hi <= at+uint64(w.s.size(m.Type))*8 || w.flexible(t, i))
}

// bitfield returns the bitfield of t, located at f, that holds the range, else the first with a bit
// in it.
func (w *fieldWalk) bitfield(f Field, t *Type) (best Field, ok bool) {
	if w.hi-w.lo > 64 {
		return Field{}, false
	}
	for i := range t.Members {
		g, covers := w.covers(f, t, i)
		end := uint64(g.BitOffset) + uint64(g.BitSize)
		if g.BitSize == 0 || t.Members[i].Name == "" || uint64(g.BitOffset) >= w.hi || end <= w.lo {
			continue
		}
		if covers {
			return g, true
		}
		if !ok {
			best, ok = g, true
		}
	}
	return best, ok
}

// bitfields collects the bitfields in f with a bit in the range.
func (w *fieldWalk) bitfields(f Field, depth int) (out []Field) {
	t := w.s.SkipMods(f.Type)
	if !w.enter(t, depth) {
		return nil
	}
	switch t.Kind {
	case KindArray:
		if e, ok := w.element(f, t); ok {
			return w.bitfields(e, depth+1)
		}
	case KindStruct, KindUnion:
		for i := range t.Members {
			g, covers := w.covers(f, t, i)
			switch {
			case g.BitSize != 0 && uint64(g.BitOffset)&^7 < w.hi && w.lo < (uint64(g.BitOffset)+uint64(g.BitSize)+7)&^7:
				out = append(out, g)
			case g.BitSize == 0 && covers:
				out = append(out, w.bitfields(g, depth+1)...)
			}
			if t.Kind == KindUnion && len(out) > 0 {
				break
			}
		}
	}
	return out
}

// flexible reports whether member i is a flexible array member, or a struct that ends in one.
func (w *fieldWalk) flexible(t *Type, i int) bool {
	for range maxDepth {
		if i < 0 || i != len(t.Members)-1 {
			return false
		}
		if t = w.s.SkipMods(t.Members[i].Type); t.Kind == KindArray {
			return t.Array.Nelems == 0
		}
		if !t.Kind.IsComposite() {
			return false
		}
		i = len(t.Members) - 1
	}
	return false
}

func joinPath(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}
