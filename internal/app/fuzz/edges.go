package fuzz

import (
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// edge is a side of a conditional jump of a program.
type edge struct {
	prog  string
	pc    int
	taken bool
}

// entered is the place of the edge that says that a program ran at all.
const entered = -1

// jump is a conditional jump that can go both ways, as far as constants tell.
type jump struct {
	pc          int
	taken, fell bool // possible
}

// jumpsOf lists the jumps of all programs of a machine.
func jumpsOf(m *machine.Machine) map[string][]jump {
	out := map[string][]jump{}
	for _, lp := range m.Linked().Programs {
		reach := lp.Reachable()
		m.Branches(lp, func(pc int) {
			j := jump{pc: pc}
			if reach[pc] {
				j.taken, j.fell = lp.Ways(pc)
			}
			out[lp.Name] = append(out[lp.Name], j)
		})
	}
	return out
}

// noSink receives coverage and drops it: with it, branches are recorded.
type noSink struct{}

// Begin implements [machine.CoverSink].
func (noSink) Begin(*machine.Machine) func([]machine.Covered) { return func([]machine.Covered) {} }

// coverSink collects the edges of runs. It implements [machine.CoverSink].
type coverSink struct {
	edges []edge
	jumps map[*loader.LinkedProgram][]int
}

// Begin implements [machine.CoverSink].
func (c *coverSink) Begin(m *machine.Machine) func([]machine.Covered) {
	c.jumps = map[*loader.LinkedProgram][]int{}
	for _, lp := range m.Linked().Programs {
		m.Branches(lp, func(pc int) { c.jumps[lp] = append(c.jumps[lp], pc) })
	}
	return func(ran []machine.Covered) {
		for i := range ran {
			r := &ran[i]
			c.edges = append(c.edges, edge{r.Prog.Name, entered, true})
			for _, pc := range c.jumps[r.Prog] {
				taken, fell := r.Ways(pc)
				if taken {
					c.edges = append(c.edges, edge{r.Prog.Name, pc, true})
				}
				if fell {
					c.edges = append(c.edges, edge{r.Prog.Name, pc, false})
				}
			}
		}
	}
}
