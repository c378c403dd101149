package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// place is the location of a member; rows of the same name are the same member.
type place struct {
	name     string
	off      uint32 // bits
	width    uint32 // bits, of a bit field
	size     int64
	declared string
	id       btf.ID
}

func (p place) String() string {
	if p.width != 0 {
		return fmt.Sprintf("%d:%d %d bits", p.off/8, p.off%8, p.width)
	}
	return fmt.Sprintf("%d %d", p.off/8, p.size)
}

// places lists the members of a struct or union. Members of anonymous members take their parent's
// place.
func places(s *btf.Spec, t *btf.Type, base uint32, depth int) []place {
	var out []place
	for i := range t.Members {
		m := &t.Members[i]
		off, width := s.MemberBits(t, m)
		if in := s.SkipMods(m.Type); m.Name == "" && in.Kind.IsComposite() && depth < 32 {
			out = append(out, places(s, in, base+off, depth+1)...)
			continue
		}
		size, _ := s.Sizeof(m.Type)
		out = append(out, place{m.Name, base + off, width, size, s.Declare(m.Type, m.Name), m.Type})
	}
	return out
}

// WriteLayoutComparison writes the members of a type on two kernels side by side: the offset on
// each, "-" where the member is missing, and "!" before members that moved, changed or are missing.
func WriteLayoutComparison(w io.Writer, nameA string, a *btf.Spec, idA btf.ID, nameB string, b *btf.Spec, idB btf.ID) error {
	ta, tb := a.SkipMods(idA), b.SkipMods(idB)
	if !ta.Kind.IsComposite() || !tb.Kind.IsComposite() {
		return fmt.Errorf("%s has no members", a.TypeString(idA))
	}
	left, right := places(a, ta, 0, 0), places(b, tb, 0, 0)
	byName := map[string]place{}
	for _, p := range right {
		byName[p.name] = p
	}
	common := map[string]bool{}
	for _, p := range left {
		common[p.name] = true
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	visible.Fprintf(tw, " \t%s\t%s\t%s\n", a.TypeString(ta.ID), nameA, nameB)
	next := 0
	only := func(until string) { // members of the right side only that precede a common one
		for ; next < len(right) && right[next].name != until; next++ {
			if !common[right[next].name] {
				visible.Fprintf(tw, "!\t%s\t-\t%s\n", right[next].declared, right[next])
			}
		}
	}
	for _, p := range left {
		q, ok := byName[p.name]
		if !ok || p.name == "" {
			visible.Fprintf(tw, "!\t%s\t%s\t-\n", p.declared, p)
			continue
		}
		if i := slices.IndexFunc(right[next:], func(r place) bool { return r.name == p.name }); i >= 0 {
			only(p.name)
		}
		mark, declared := " ", p.declared
		if p.off != q.off || p.width != q.width || p.size != q.size {
			mark = "!"
		}
		if p.declared != q.declared {
			mark, declared = "!", p.declared+" -> "+q.declared
		}
		visible.Fprintf(tw, "%s\t%s\t%s\t%s\n", mark, declared, p, q)
	}
	only("")
	for ; next < len(right); next++ {
		if !common[right[next].name] {
			visible.Fprintf(tw, "!\t%s\t-\t%s\n", right[next].declared, right[next])
		}
	}
	visible.Fprintf(tw, " \tsize\t%d\t%d\n", ta.Size, tb.Size)
	return tw.Flush()
}

// WriteSizes writes the size, holes and padding of types.
func WriteSizes(w io.Writer, d *BTFSizesDocument) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	visible.Fprintln(tw, "size\tmembers\tholes\tpadding\t")
	for _, t := range d.Types {
		visible.Fprintf(tw, "%d\t%d\t%d\t%d\t  %s\n", t.Size, t.Members, t.Holes, t.Padding, t.Type)
	}
	return tw.Flush()
}
