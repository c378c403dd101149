package dap

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-dap"

	"github.com/bpfrun/bpfrun/internal/debug"
)

// maxPoints limits the breakpoints of each kind.
const maxPoints = 10000

// point is a breakpoint that the client requested.
type point struct {
	id     int    // the client's number
	in     int    // the session's number, 0 if it could not be created
	reason string // reason for its stops
}

// group holds the breakpoints that a client sets at once, and its requests, from which they can be
// recreated.
type group[T any] struct {
	made  []point
	asked []T
}

// put replaces the breakpoints by those in want, which add creates.
func (g *group[T]) put(c *conn, want []T, add func(T) (point, dap.Breakpoint)) []dap.Breakpoint {
	for _, p := range g.made {
		if p.in != 0 {
			_ = c.s.Delete(p.in) // it may already be gone
		}
	}
	g.made, g.asked = nil, want
	out := []dap.Breakpoint{}
	for _, w := range want {
		p, x := add(w)
		g.made = append(g.made, p)
		out = append(out, x)
	}
	return out
}

// again recreates the breakpoints in another session under their old numbers, and reports the
// results.
func (g *group[T]) again(c *conn, add func(T) (point, dap.Breakpoint)) {
	old := g.made
	g.made = nil // the old session is gone
	for i, x := range g.put(c, g.asked, add) {
		g.made[i].id, x.Id = old[i].id, old[i].id
		c.send(&dap.BreakpointEvent{Event: event("breakpoint"), Body: dap.BreakpointEventBody{Reason: "changed", Breakpoint: x}})
	}
}

// fileGroup holds the breakpoints in the lines of a file.
type fileGroup struct {
	group[dap.SourceBreakpoint]
	source dap.Source
}

// points holds the breakpoints of a client, in the groups that it sets at once.
type points struct {
	next  int
	lines map[string]*fileGroup // by source file
	funcs group[dap.FunctionBreakpoint]
	insns group[dap.InstructionBreakpoint]
	data  group[dap.DataBreakpoint]
}

// hit returns the client's numbers of the breakpoints that stopped the program, and the reason of
// the first.
func (p *points) hit(st *debug.Stop) (ids []int, reason string) {
	reason = "breakpoint"
	find := func(in int) {
		for _, list := range p.all() {
			for _, x := range list {
				if x.in == in {
					if ids = append(ids, x.id); len(ids) == 1 {
						reason = x.reason
					}
				}
			}
		}
	}
	for _, b := range st.Breakpoints {
		find(b.ID)
	}
	for _, w := range st.Watches {
		find(w.Watch.ID)
	}
	return ids, reason
}

func (p *points) all() [][]point {
	out := [][]point{p.funcs.made, p.insns.made, p.data.made}
	for _, g := range p.lines {
		out = append(out, g.made)
	}
	return out
}

// set responds to a request that sets n breakpoints of a kind.
func (c *conn) set(m dap.RequestMessage, n int, put func() []dap.Breakpoint, response func([]dap.Breakpoint) dap.ResponseMessage) error {
	if n > maxPoints {
		return fmt.Errorf("%d breakpoints, at most %d can be set at once", n, maxPoints)
	}
	c.answer(m, response(put()))
	return nil
}

// reinstall recreates all breakpoints in another session.
func (c *conn) reinstall() {
	p := &c.points
	for _, key := range slices.Sorted(maps.Keys(p.lines)) {
		p.lines[key].again(c, c.addLine(p.lines[key].source))
	}
	p.funcs.again(c, c.addFunction)
	p.insns.again(c, c.addInstruction)
	p.data.again(c, c.addData)
}
