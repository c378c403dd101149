package btf

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// LayoutOptions controls what [WriteLayout] writes.
type LayoutOptions struct {
	// Expand also writes the members of named structs and unions, not only those of anonymous ones.
	Expand bool
	// CacheLine, if not 0, is the size of a cache line in bytes; its boundaries are marked.
	CacheLine int
}

// Layout summarizes the layout of a struct or union.
type Layout struct {
	Size    int64 // bytes
	Members int
	// Holes counts gaps between members and SumHoles their bytes; BitHoles counts gaps between
	// bitfields and SumBitHoles their bits.
	Holes, BitHoles       int
	SumHoles, SumBitHoles int64
	// Sum counts the bytes of members that are no bitfields, SumBits the bits of bitfields; of a
	// union nothing.
	Sum, SumBits int64
	// Padding is bytes after the last member, BitPadding bits after it in its storage unit, when it
	// is a bitfield.
	Padding, BitPadding int64
	// Paddings are members that are structs with padding of their own, SumPaddings its bytes.
	Paddings    int
	SumPaddings int64
}

// WriteLayout writes the members of a STRUCT or UNION with offset and size, in the style of
// pahole(1): it marks holes, bit holes and padding, and writes out anonymous members (with Expand
// also named ones). For other kinds it uses the type that remains after modifiers; a type without
// members is written as a declaration.
func WriteLayout(w io.Writer, s *Spec, id ID, opt LayoutOptions) (Layout, error) {
	t := s.SkipMods(id)
	lw := layoutWriter{s: s, w: bufio.NewWriter(w), opt: opt}
	var l Layout
	switch {
	case t.Kind.IsComposite():
		fmt.Fprintf(lw.w, "%s {\n", s.TypeString(t.ID))
		l = lw.members(t, 0, "\t", 0)
		lw.summary(&l)
		lw.w.WriteString("};\n")
	case t.Kind.IsEnum():
		lw.enum(t)
	default:
		fmt.Fprintf(lw.w, "%s;\n", s.TypeString(id))
	}
	return l, lw.w.Flush()
}

// layoutColumn is the column of the offsets.
const layoutColumn = 56

type layoutWriter struct {
	s   *Spec
	w   *bufio.Writer
	opt LayoutOptions
	// lastLine is the last cache line whose start was marked.
	lastLine uint32
}

// boundary marks, once per line, the cache line boundary at or before a byte.
func (lw *layoutWriter) boundary(at uint32, indent string) {
	size := uint32(max(lw.opt.CacheLine, 0))
	if size == 0 || at/size <= lw.lastLine {
		return
	}
	lw.lastLine = at / size
	ago := ""
	if n := at % size; n != 0 {
		ago = fmt.Sprintf("was %s ago ", countOf(int64(n), "byte"))
	}
	fmt.Fprintf(lw.w, "%s/* --- cacheline %d boundary (%d bytes) %s--- */\n", indent, lw.lastLine, lw.lastLine*size, ago)
}

func (lw *layoutWriter) line(indent, decl, comment string) {
	text := indent + decl
	width := len(text) + 7*strings.Count(indent, "\t")
	fmt.Fprintf(lw.w, "%s%s/* %s */\n", text, strings.Repeat(" ", max(1, layoutColumn-width)), comment)
}

// members writes the members of t, located at byte base of the outermost type, and counts the gaps
// between them.
func (lw *layoutWriter) members(t *Type, base uint32, indent string, depth int) Layout {
	l := Layout{Size: int64(t.Size), Members: len(t.Members)}
	end := uint64(0)  // bit after the last member
	bits := false     // the last member was a bitfield
	unit := uint64(0) // bit after the storage unit of the last bitfield
	for i := range t.Members {
		m := &t.Members[i]
		off, width := lw.s.MemberBits(t, m)
		if t.Kind == KindStruct {
			lw.hole(&l, end, uint64(off), unit, bits, width != 0, indent)
		}
		if t.Kind == KindStruct {
			lw.boundary(base+off/8, indent)
		}
		lw.member(m, base, off, width, indent, depth)
		size := uint64(width)
		if width == 0 {
			size = uint64(lw.s.size(m.Type)) * 8
			if t.Kind == KindStruct {
				lw.inner(&l, m.Type, indent)
			}
		} else if n := uint64(lw.s.size(m.Type)) * 8; n > 0 {
			unit = uint64(off) - uint64(off)%n + n
		}
		if t.Kind == KindStruct {
			l.SumBits += int64(width)
			l.Sum += int64(size-uint64(width)) / 8
		}
		if e := uint64(off) + size; e > end || t.Kind == KindUnion {
			end = max(end, e)
		}
		bits = width != 0
	}
	if total := uint64(t.Size) * 8; t.Kind == KindStruct && end < total {
		if bits && unit > end {
			l.BitPadding = int64(min(unit, total) - end)
		}
		l.Padding = (int64(total-end) - l.BitPadding) / 8
	}
	return l
}

// inner counts and shows the padding of a member that is a struct.
func (lw *layoutWriter) inner(l *Layout, id ID, indent string) {
	t := lw.s.SkipMods(id)
	if t.Kind != KindStruct || len(t.Members) == 0 {
		return
	}
	end := uint64(0)
	for i := range t.Members {
		m := &t.Members[i]
		off, width := lw.s.MemberBits(t, m)
		size := uint64(width)
		if width == 0 {
			size = uint64(lw.s.size(m.Type)) * 8
		}
		end = max(end, uint64(off)+size)
	}
	pad := (int64(t.Size)*8 - int64(end)) / 8
	if pad <= 0 {
		return
	}
	l.Paddings++
	l.SumPaddings += pad
	fmt.Fprintf(lw.w, "\n%s/* XXX last struct has %s of padding */\n\n", indent, countOf(pad, "byte"))
}

// anonymous reports whether a type is a struct or union without a name of its own or by typedef.
func (lw *layoutWriter) anonymous(id ID) bool {
	for range maxDepth {
		t, err := lw.s.Type(id)
		if err != nil || t.Kind == KindTypedef {
			return false
		}
		if !t.Kind.IsMod() {
			return t.Kind.IsComposite() && t.Name == ""
		}
		id = t.Ref
	}
	return false
}

// hole writes the gap between two members, if there is one.
func (lw *layoutWriter) hole(l *Layout, end, off, unit uint64, wasBits, isBits bool, indent string) {
	if off <= end {
		return
	}
	gap := off - end
	said := false
	if wasBits && unit > end { // what is left of the bitfield's storage unit
		n := min(gap, unit-end)
		l.BitHoles++
		l.SumBitHoles += int64(n)
		lw.gap(indent, int64(n), "bit")
		gap, said = gap-n, true
	}
	if bytes := gap / 8; bytes > 0 {
		l.Holes++
		l.SumHoles += int64(bytes)
		lw.gap(indent, int64(bytes), "byte")
		gap, said = gap%8, true
	}
	if isBits && gap > 0 {
		l.BitHoles++
		l.SumBitHoles += int64(gap)
		lw.gap(indent, int64(gap), "bit")
		said = true
	}
	if said {
		lw.w.WriteByte('\n')
	}
}

func (lw *layoutWriter) gap(indent string, n int64, unit string) {
	fmt.Fprintf(lw.w, "\n%s/* XXX %s hole, try to pack */\n", indent, countOf(n, unit))
}

func countOf(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func (lw *layoutWriter) member(m *Member, base, off, width uint32, indent string, depth int) {
	size := lw.s.size(m.Type)
	at := fmt.Sprintf("%5d %5d", base+off/8, size)
	if width != 0 {
		// The storage unit, and the bit within it, in BTF's numbering.
		unit := uint32(max(size, 1)) * 8
		at = fmt.Sprintf("%5d:%2d %2d", base+off/unit*unit/8, off%unit, size)
	}
	in := lw.s.SkipMods(m.Type)
	open := in.Kind.IsComposite() && depth < maxDepth && width == 0 && (lw.opt.Expand || lw.anonymous(m.Type))
	if !open {
		decl := lw.s.Declare(m.Type, m.Name)
		if width != 0 {
			decl += fmt.Sprintf(":%d", width)
		}
		lw.line(indent, decl+";", at)
		return
	}
	head := kindOf(in)
	if in.Name != "" {
		head += " " + in.Name
	}
	fmt.Fprintf(lw.w, "%s%s {\n", indent, head)
	lw.members(in, base+off/8, indent+"\t", depth+1)
	tail := "}"
	if m.Name != "" {
		tail += " " + m.Name
	}
	lw.line(indent, tail+";", at)
}

func kindOf(t *Type) string {
	if t.Kind == KindUnion {
		return "union"
	}
	return "struct"
}

func (lw *layoutWriter) summary(l *Layout) {
	lines := ""
	if n := int64(lw.opt.CacheLine); n > 0 {
		lines = fmt.Sprintf(", cachelines: %d", (l.Size+n-1)/n)
	}
	fmt.Fprintf(lw.w, "\n\t/* size: %d%s, members: %d */\n", l.Size, lines, l.Members)
	if l.Holes+l.BitHoles > 0 {
		holes, bits := "", ""
		if l.Holes > 0 {
			holes = fmt.Sprintf(", holes: %d, sum holes: %d", l.Holes, l.SumHoles)
		}
		if l.BitHoles > 0 {
			bits = fmt.Sprintf(", bit holes: %d, sum bit holes: %d bits", l.BitHoles, l.SumBitHoles)
		} else if l.SumBits%8 == 0 {
			bits = fmt.Sprintf(" (%d bytes)", l.SumBits/8)
		}
		if l.Sum > 0 {
			fmt.Fprintf(lw.w, "\t/* sum members: %d%s */\n", l.Sum, holes)
		}
		if l.SumBits > 0 {
			fmt.Fprintf(lw.w, "\t/* sum bitfield members: %d bits%s */\n", l.SumBits, bits)
		}
	}
	if l.Padding > 0 {
		fmt.Fprintf(lw.w, "\t/* padding: %d */\n", l.Padding)
	}
	if l.BitPadding > 0 {
		fmt.Fprintf(lw.w, "\t/* bit_padding: %d bits */\n", l.BitPadding)
	}
	if l.Paddings > 0 {
		fmt.Fprintf(lw.w, "\t/* paddings: %d, sum paddings: %d */\n", l.Paddings, l.SumPaddings)
	}
	if n := int64(lw.opt.CacheLine); n > 0 && l.Size%n != 0 {
		fmt.Fprintf(lw.w, "\t/* last cacheline: %d bytes */\n", l.Size%n)
	}
}

func (lw *layoutWriter) enum(t *Type) {
	name := "enum"
	if t.Name != "" {
		name += " " + t.Name
	}
	fmt.Fprintf(lw.w, "%s {\n", name)
	for _, v := range t.Values {
		if t.Signed() {
			fmt.Fprintf(lw.w, "\t%s = %d,\n", v.Name, int64(v.Value))
		} else {
			fmt.Fprintf(lw.w, "\t%s = %d,\n", v.Name, v.Value)
		}
	}
	fmt.Fprintf(lw.w, "\n\t/* size: %d, values: %d */\n};\n", t.Size, len(t.Values))
}
