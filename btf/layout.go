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
	// Holes counts gaps between members and SumHoles their bytes; BitHoles counts gaps between bitfields and
	// SumBitHoles their bits.
	Holes, BitHoles       int
	SumHoles, SumBitHoles int64
	Padding               int64 // bytes after the last member
}

// WriteLayout writes the members of a STRUCT or UNION with offset and size, in the style of pahole(1): it marks holes,
// bit holes and padding, and writes out anonymous members (with Expand also named ones). For other kinds it uses the
// type that remains after modifiers; a type without members is written as a declaration.
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

// members writes the members of t, located at byte base of the outermost type, and counts the gaps between them.
func (lw *layoutWriter) members(t *Type, base uint32, indent string, depth int) Layout {
	l := Layout{Size: int64(t.Size), Members: len(t.Members)}
	end := uint64(0) // first bit after the last member
	bits := false    // the last member is a bitfield
	for i := range t.Members {
		m := &t.Members[i]
		off, width := lw.s.MemberBits(t, m)
		if t.Kind == KindStruct {
			lw.hole(&l, end, uint64(off), bits, width != 0, indent)
		}
		if t.Kind == KindStruct {
			lw.boundary(base+off/8, indent)
		}
		lw.member(m, base, off, width, indent, depth)
		size := uint64(width)
		if width == 0 {
			size = uint64(lw.s.size(m.Type)) * 8
		}
		if e := uint64(off) + size; e > end || t.Kind == KindUnion {
			end = max(end, e)
		}
		bits = width != 0
	}
	if total := uint64(t.Size) * 8; t.Kind == KindStruct && end < total {
		if pad := (total - end) / 8; pad > 0 {
			l.Padding = int64(pad)
		} else {
			l.BitHoles++
			l.SumBitHoles += int64(total - end)
		}
	}
	return l
}

// hole writes the gap between two members, if any.
func (lw *layoutWriter) hole(l *Layout, end, off uint64, wasBits, isBits bool, indent string) {
	if off <= end {
		return
	}
	gap := off - end
	said := false
	if rest := (8 - end%8) % 8; wasBits && rest != 0 {
		n := min(gap, rest)
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
	open := in.Kind.IsComposite() && depth < maxDepth && width == 0 && (in.Name == "" || lw.opt.Expand)
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
	inner := lw.members(in, base+off/8, indent+"\t", depth+1)
	if inner.Padding > 0 {
		fmt.Fprintf(lw.w, "\n%s\t/* XXX %s of padding */\n", indent, countOf(inner.Padding, "byte"))
	}
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
	if l.Holes > 0 {
		fmt.Fprintf(lw.w, "\t/* holes: %d, sum holes: %d */\n", l.Holes, l.SumHoles)
	}
	if l.BitHoles > 0 {
		fmt.Fprintf(lw.w, "\t/* bit holes: %d, sum bit holes: %s */\n", l.BitHoles, countOf(l.SumBitHoles, "bit"))
	}
	if l.Padding > 0 {
		fmt.Fprintf(lw.w, "\t/* padding: %d */\n", l.Padding)
	}
	if n := int64(lw.opt.CacheLine); n > 0 && l.Size%n != 0 {
		fmt.Fprintf(lw.w, "\t/* last cacheline: %s */\n", countOf(l.Size%n, "byte"))
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
