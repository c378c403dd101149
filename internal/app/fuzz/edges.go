package fuzz

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// edge is a side of a conditional jump of a program. Functions of the program are there once for
// each call ([loader.LoadOptions.CopyCalled]), so that an edge is one of them in one call context.
type edge struct {
	prog  string
	pc    int
	taken bool
}

// entered is the place of the edge that says that a program ran at all.
const entered = -1

// jump is a conditional jump that can go both ways, as far as constants tell, in any call context.
type jump struct {
	pc          int  // without copies of functions
	at          int  // with copies: the first of them
	taken, fell bool // possible
}

// branch is an edge whatever the call context.
func (f *Fuzzer) branch(e edge) edge {
	e.pc = f.plainAt(e.prog, e.pc)
	return e
}

// plainAt is the number of an instruction in a program whose functions are there once.
func (f *Fuzzer) plainAt(prog string, pc int) int {
	if list := f.plain[prog]; pc >= 0 && pc < len(list) {
		return list[pc]
	}
	return pc
}

// jumpsOf lists the jumps of all programs of a machine.
func (f *Fuzzer) jumpsOf(m *machine.Machine) map[string][]jump {
	out := map[string][]jump{}
	for _, lp := range m.Linked().Programs {
		reach := lp.Reachable()
		m.Branches(lp, func(pc int) {
			j := jump{pc: f.plainAt(lp.Name, pc), at: pc}
			if reach[pc] {
				j.taken, j.fell = lp.Ways(pc)
			}
			list := out[lp.Name]
			if i := slices.IndexFunc(list, func(o jump) bool { return o.pc == j.pc }); i >= 0 && f.plain[lp.Name] != nil {
				list[i].taken, list[i].fell = list[i].taken || j.taken, list[i].fell || j.fell
				return
			}
			out[lp.Name] = append(list, j)
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
