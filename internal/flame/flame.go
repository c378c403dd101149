// Package flame writes profiles whose samples are stacks of calls: for go tool pprof, for
// speedscope, and as a flame graph on a page.
//
// It knows these formats; not what is counted. Start from [Profile].
package flame

import (
	"cmp"
	"slices"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// Profile is what a program cost.
type Profile struct {
	Program string
	// Insns is the length of the program.
	Insns int
	// Values name what is counted.
	Values []string
	// Each calls f for every instruction in every chain of calls that cost something, the innermost
	// place first.
	Each func(f func(stack []Place, values []int))
}

// Place is an instruction of a program.
type Place struct {
	Insn int
	Func string
	File string
	Line int
	Name string // the line, or the instruction where there is no line
}

// node is a part of a flame graph.
type node struct {
	name  string
	n     int
	parts []*node
}

func (n *node) part(name string) *node {
	for _, p := range n.parts {
		if p.name == name {
			return p
		}
	}
	p := &node{name: name}
	n.parts = append(n.parts, p)
	return p
}

// tree adds up the first value of a profile: functions, in them lines, in those the functions
// called from there.
func tree(p *Profile) *node {
	root := &node{name: p.Program}
	p.Each(func(stack []Place, values []int) {
		at := root
		at.n += values[0]
		for _, x := range slices.Backward(stack) {
			at = at.part(x.Func)
			at.n += values[0]
			at = at.part(x.Name)
			at.n += values[0]
		}
	})
	return root
}

// Limits of a drawing: parts narrower than a thousandth are left out, and so are calls nested
// deeper.
const (
	narrowest = 0.001
	labelled  = 0.04
	deepest   = 40
)

// Draw draws the first value of a profile as a flame graph: the program below, what it calls above,
// as wide as it cost. The page's style has the class flame.
func Draw(w *markup.Page, p *Profile) {
	root := tree(p)
	if root.n == 0 {
		return
	}
	rows := min(root.depth(), deepest)
	w.Printf("<div class=\"flame\" role=\"img\" aria-label=\"flame graph of %s\" style=\"height:%.2frem\">\n", p.Program, 1.25*float64(rows))
	root.draw(w, root.n, 0, 0, rows, p.Values[0])
	w.Write("</div>\n")
}

func (n *node) depth() int {
	d := 0
	for _, p := range n.parts {
		d = max(d, p.depth())
	}
	return d + 1
}

func (n *node) draw(w *markup.Page, all int, left float64, row, rows int, unit string) {
	share := float64(n.n) / float64(all)
	if share < narrowest || row >= rows {
		return
	}
	class := []string{"k7", "k0", "k1"}[min(row, 1+(row+1)%2)]
	text := n.name
	if share < labelled {
		text = "" // some letters of it say nothing
	}
	w.Printf("<i class=\"%s\" style=\"left:%.3f%%;width:%.3f%%;top:%.2frem\" title=\"%s: %d %s, %.1f %%\">%s</i>\n",
		class, 100*left, 100*share, 1.25*float64(rows-1-row), n.name, n.n, unit, 100*share, text)
	slices.SortStableFunc(n.parts, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	for _, p := range n.parts {
		p.draw(w, all, left, row+1, rows, unit)
		left += float64(p.n) / float64(all)
	}
}
