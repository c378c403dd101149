package bpftest

import (
	"cmp"
	"slices"
	"strings"
)

// Coverage records which parts of a program were executed, over all of its runs since the object
// was loaded.
type Coverage struct {
	// Reachable is the number of instructions that can run on this kernel, Executed the number that
	// did.
	Reachable, Executed int
	// Lines are the source lines with reachable instructions, by file and line number. Objects
	// without line information have none.
	Lines []Line
}

// Line is a source line.
type Line struct {
	File   string
	Number int
	Text   string
	// Reachable and Executed count the line's instructions.
	Reachable, Executed int
}

// Missed returns the lines that were not executed at all.
func (c Coverage) Missed() []Line {
	var out []Line
	for _, l := range c.Lines {
		if l.Executed == 0 {
			out = append(out, l)
		}
	}
	return out
}

// Coverage returns which parts of the program were executed so far.
func (p *Program) Coverage() Coverage {
	var c Coverage
	lp, ok := p.o.m.Linked().Program(p.name)
	if !ok {
		return c
	}
	type place struct {
		file   string
		number int
	}
	lines := map[place]*Line{}
	for pc, state := range p.o.m.Covered(p.name) {
		if !state.Reachable {
			continue
		}
		c.Reachable++
		if state.Executed {
			c.Executed++
		}
		info, ok := lp.LineAt(pc)
		if !ok {
			continue
		}
		at := place{info.File, int(info.Line)}
		l := lines[at]
		if l == nil {
			l = &Line{File: info.File, Number: int(info.Line), Text: strings.TrimSpace(info.Text)}
			lines[at] = l
		}
		l.Reachable++
		if state.Executed {
			l.Executed++
		}
	}
	for _, l := range lines {
		c.Lines = append(c.Lines, *l)
	}
	slices.SortFunc(c.Lines, func(x, y Line) int { return cmp.Or(strings.Compare(x.File, y.File), x.Number-y.Number) })
	return c
}
