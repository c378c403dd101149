package btf

import (
	"fmt"
	"strings"
)

// align returns the alignment in bytes that a C compiler gives a type, or 1.
func (d *cDumper) align(id ID, depth int) uint64 {
	t := d.s.SkipMods(id)
	switch t.Kind {
	case KindPtr:
		return uint64(d.s.ptrSize)
	case KindInt, KindEnum, KindEnum64, KindFloat:
		n := uint64(t.Size)
		if t.Kind == KindFloat && (n == 10 || n == 12) {
			return 4
		}
		if n == 0 || n&(n-1) != 0 || n > 16 {
			return 1
		}
		return n
	case KindArray:
		if depth < maxDepth {
			return d.align(t.Ref, depth+1)
		}
	case KindStruct, KindUnion:
		if n, ok := d.aligns[t.ID]; ok {
			return n
		}
		d.aligns[t.ID] = 1 // ends the recursion of a struct that embeds itself
		if depth < maxDepth && !d.packed(t, depth) {
			d.aligns[t.ID] = d.natural(t, depth)
		}
		return d.aligns[t.ID]
	}
	return 1
}

// natural returns the alignment of an unpacked STRUCT or UNION.
func (d *cDumper) natural(t *Type, depth int) uint64 {
	n := uint64(1)
	for i := range t.Members {
		n = max(n, d.align(t.Members[i].Type, depth+1))
	}
	return n
}

// packed reports whether members of t are at offsets that only a packed struct allows.
func (d *cDumper) packed(t *Type, depth int) bool {
	widest := uint64(1)
	for i := range t.Members {
		m := &t.Members[i]
		off, bits := d.s.MemberBits(t, m)
		a := d.align(m.Type, depth+1)
		widest = max(widest, a)
		if bits == 0 && uint64(off)%(a*8) != 0 {
			return true
		}
		if size := uint64(d.s.size(m.Type)) * 8; bits != 0 && size != 0 && uint64(off)/size != (uint64(off)+uint64(bits)-1)/size {
			return true
		}
	}
	return uint64(t.Size)%widest != 0
}

// body writes "struct name { members }" with the layout of t; name may be empty. The number of
// members is bounded, because anonymous members of malformed BTF can repeat endlessly.
func (d *cDumper) body(t *Type, name, indent string) string {
	if d.err != nil {
		return tagWord(t)
	}
	if d.bodies++; len(indent) > maxDepth || d.bodies > 1024+64*d.s.NumTypes() {
		d.fail(t.ID, ErrCycle, "nested too deep")
		return tagWord(t)
	}
	l := cLayout{d: d, t: t, indent: indent + "\t", packed: d.packed(t, 0)}
	l.align = 1
	if !l.packed {
		l.align = d.natural(t, 0)
	}
	head := tagWord(t)
	if name != "" {
		head += " " + name
	}
	l.b.WriteString(head + " {\n")
	if !l.fits() {
		l.opaque()
	} else {
		for i := range t.Members {
			l.member(&t.Members[i])
		}
		l.end()
	}
	l.b.WriteString(indent + "}")
	if l.packed {
		l.b.WriteString(" __attribute__((packed))")
	}
	return l.b.String()
}

// cLayout tracks where the compiler would place the next member.
type cLayout struct {
	d      *cDumper
	t      *Type
	b      strings.Builder
	indent string
	packed bool
	align  uint64 // bytes
	pos    uint64 // next free bit
}

// fits reports whether the members can be declared one after another: they do not overlap and lie
// within the type.
func (l *cLayout) fits() bool {
	end := uint64(0)
	for i := range l.t.Members {
		m := &l.t.Members[i]
		off, bits := l.d.s.MemberBits(l.t, m)
		width := uint64(bits)
		if bits == 0 {
			width = uint64(l.d.s.size(m.Type)) * 8
		}
		if uint64(off)+width > uint64(l.t.Size)*8 {
			return false
		}
		if l.t.Kind == KindUnion {
			if off != 0 {
				return false
			}
			continue
		}
		if uint64(off) < end {
			return false
		}
		end = uint64(off) + width
	}
	return true
}

// opaque declares bytes in place of members that C cannot place.
func (l *cLayout) opaque() {
	fmt.Fprintf(&l.b, "%s/* the members overlap */\n", l.indent)
	l.padBytes(uint64(l.t.Size))
}

func (l *cLayout) padBytes(n uint64) {
	l.d.pads++
	fmt.Fprintf(&l.b, "%sunsigned char __pad%d[%d];\n", l.indent, l.d.pads, n)
}

// pad advances from l.pos to bit want, with unnamed bitfields that never cross a unit of the
// struct's own alignment, or with bytes if that would take many.
func (l *cLayout) pad(want uint64) {
	if want >= l.pos+1024 {
		if l.pos%8 != 0 {
			l.pad(roundUp(l.pos, 8))
		}
		l.padBytes((want - l.pos) / 8)
		l.pos = want / 8 * 8
	}
	unit, word := min(l.align, 8)*8, "long long"
	switch unit {
	case 8:
		word = "char"
	case 16:
		word = "short"
	case 32:
		word = "int"
	}
	for l.pos < want {
		n := min(want, (l.pos/unit+1)*unit) - l.pos
		fmt.Fprintf(&l.b, "%s%s: %d;\n", l.indent, word, n)
		l.pos += n
	}
}

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

func (l *cLayout) member(m *Member) {
	off, bits := l.d.s.MemberBits(l.t, m)
	want, size := uint64(off), uint64(l.d.s.size(m.Type))*8
	if l.t.Kind == KindUnion {
		l.pos = 0
	}
	placed := l.pos
	switch {
	case bits == 0 && l.packed:
		placed = roundUp(placed, 8)
	case bits == 0:
		placed = roundUp(placed, l.d.align(m.Type, 0)*8)
	case !l.packed && size != 0 && placed/size != (placed+uint64(bits)-1)/size:
		placed = roundUp(placed, size)
	}
	if placed != want {
		l.pad(want)
	}
	if in := l.d.s.SkipMods(m.Type); m.Name == "" && in.Kind.IsComposite() {
		// The body is written even for a named type, whose bare declaration would declare nothing
		// without -fms-extensions.
		l.b.WriteString(l.indent + l.d.body(in, "", l.indent))
	} else {
		l.b.WriteString(l.indent + l.d.declareIn(m.Type, cIdent(m.Name), l.indent))
	}
	if bits != 0 {
		fmt.Fprintf(&l.b, ": %d", bits)
		size = uint64(bits)
	}
	l.b.WriteString(";\n")
	l.pos = want + size
}

// end adds padding up to the size of the type.
func (l *cLayout) end() {
	size := uint64(l.t.Size) * 8
	if l.t.Kind == KindUnion {
		widest := uint64(0)
		for i := range l.t.Members {
			if _, bits := l.d.s.MemberBits(l.t, &l.t.Members[i]); bits != 0 {
				widest = max(widest, uint64(bits))
			} else {
				widest = max(widest, uint64(l.d.s.size(l.t.Members[i].Type))*8)
			}
		}
		if len(l.t.Members) > 0 && roundUp(widest, l.align*8) != size || len(l.t.Members) == 0 && size > 0 {
			l.padBytes(size / 8)
		}
		return
	}
	if roundUp(l.pos, l.align*8) < size {
		l.pad(size)
	}
}
