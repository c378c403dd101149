package dap

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/go-dap"

	"github.com/bpfrun/bpfrun/internal/debug"
)

// asked is a client's request for a breakpoint.
type asked struct {
	location, cond, hits, log, reason string
}

// add creates a breakpoint; on failure, the response contains the reason.
func (c *conn) add(a asked) (point, dap.Breakpoint) {
	b, err := c.s.Break(a.location, false)
	if err == nil {
		err = c.qualify(b, a)
		if err != nil {
			_ = c.s.Delete(b.ID) // just created
		}
	}
	if err != nil {
		return c.refused(err)
	}
	c.points.next++
	p := point{id: c.points.next, in: b.ID, reason: a.reason}
	out := c.breakpointAt(b.Places[0])
	out.Id, out.Message = p.id, b.Note
	return p, out
}

// refused describes a breakpoint that could not be created.
func (c *conn) refused(err error) (point, dap.Breakpoint) {
	c.points.next++
	return point{id: c.points.next}, dap.Breakpoint{Id: c.points.next, Message: err.Error()}
}

// breakpointAt describes a breakpoint at a place.
func (c *conn) breakpointAt(at debug.Place) dap.Breakpoint {
	out := dap.Breakpoint{Verified: true, InstructionReference: c.reference(at)}
	if l, ok := c.s.LineAt(at); ok {
		out.Source, out.Line = c.sourceOf(l.File), c.lineOut(l.Line)
	}
	return out
}

func (c *conn) lineOut(line uint32) int { return int(line) - 1 + c.lineBase }

// qualify sets a breakpoint's condition, hit condition and log message.
func (c *conn) qualify(b *debug.Breakpoint, a asked) error {
	if cond := strings.TrimSpace(a.cond); cond != "" {
		if err := c.s.SetCondition(b.ID, cond); err != nil {
			return fmt.Errorf("condition: %w", err)
		}
	}
	if a.hits != "" {
		stop, err := hitCondition(a.hits)
		if err != nil {
			return err
		}
		b.StopAt = stop
	}
	if a.log != "" {
		pieces, err := splitLog(a.log)
		if err != nil {
			return err
		}
		b.Log = func() { c.logged(b, pieces) }
	}
	return nil
}

func (c *conn) setBreakpoints(m *dap.SetBreakpointsRequest) error {
	args := m.Arguments
	return c.set(m, len(args.Breakpoints), func() []dap.Breakpoint { return c.putLines(args) }, func(list []dap.Breakpoint) dap.ResponseMessage {
		return &dap.SetBreakpointsResponse{Body: dap.SetBreakpointsResponseBody{Breakpoints: list}}
	})
}

func (c *conn) putLines(args dap.SetBreakpointsArguments) []dap.Breakpoint {
	if c.points.lines == nil {
		c.points.lines = map[string]*fileGroup{}
	}
	key := sourceKey(args.Source)
	g := c.points.lines[key]
	if g == nil {
		g = &fileGroup{source: args.Source}
		c.points.lines[key] = g
	}
	if len(args.Breakpoints) == 0 {
		delete(c.points.lines, key)
	}
	return g.put(c, args.Breakpoints, c.addLine(args.Source))
}

// addLine returns a function that creates breakpoints in the lines of a file.
func (c *conn) addLine(source dap.Source) func(b dap.SourceBreakpoint) (point, dap.Breakpoint) {
	file, err := c.fileOf(source)
	return func(b dap.SourceBreakpoint) (point, dap.Breakpoint) {
		if err != nil {
			p, x := c.refused(err)
			x.Line = b.Line
			return p, x
		}
		return c.add(asked{
			location: fmt.Sprintf("%s:%d", file, b.Line+1-c.lineBase), cond: b.Condition, hits: b.HitCondition, log: b.LogMessage,
			reason: "breakpoint",
		})
	}
}

func sourceKey(s dap.Source) string {
	if s.Path == "" {
		return fmt.Sprintf("#%d %s", s.SourceReference, s.Name)
	}
	return filepath.Clean(s.Path)
}

func (c *conn) setFunctionBreakpoints(m *dap.SetFunctionBreakpointsRequest) error {
	want := m.Arguments.Breakpoints
	return c.set(m, len(want), func() []dap.Breakpoint { return c.points.funcs.put(c, want, c.addFunction) }, func(list []dap.Breakpoint) dap.ResponseMessage {
		return &dap.SetFunctionBreakpointsResponse{Body: dap.SetFunctionBreakpointsResponseBody{Breakpoints: list}}
	})
}

func (c *conn) addFunction(b dap.FunctionBreakpoint) (point, dap.Breakpoint) {
	return c.add(asked{location: b.Name, cond: b.Condition, hits: b.HitCondition, reason: "function breakpoint"})
}

func (c *conn) setInstructionBreakpoints(m *dap.SetInstructionBreakpointsRequest) error {
	want := m.Arguments.Breakpoints
	return c.set(m, len(want), func() []dap.Breakpoint { return c.points.insns.put(c, want, c.addInstruction) }, func(list []dap.Breakpoint) dap.ResponseMessage {
		return &dap.SetInstructionBreakpointsResponse{Body: dap.SetInstructionBreakpointsResponseBody{Breakpoints: list}}
	})
}

func (c *conn) addInstruction(b dap.InstructionBreakpoint) (point, dap.Breakpoint) {
	at, err := c.placeOf(b.InstructionReference, b.Offset)
	if err != nil {
		return c.refused(err)
	}
	name, off := at.Prog.Name, at.PC
	if f, ok := at.Func(); ok {
		name, off = f.Name, at.PC-f.Start
	}
	return c.add(asked{location: fmt.Sprintf("%s+%d", name, off), cond: b.Condition, hits: b.HitCondition, reason: "instruction breakpoint"})
}

func (c *conn) setExceptionBreakpoints(m *dap.SetExceptionBreakpointsRequest) error {
	on := false
	for _, f := range m.Arguments.Filters {
		if f != faultFilter {
			return fmt.Errorf("no exception filter %q (available: %s)", f, faultFilter)
		}
		on = true
	}
	c.filterOff = !on
	c.answer(m, &dap.SetExceptionBreakpointsResponse{})
	return nil
}

func (c *conn) dataBreakpointInfo(m *dap.DataBreakpointInfoRequest) error {
	none := func(format string, args ...any) error {
		c.answer(m, &dap.DataBreakpointInfoResponse{Body: dap.DataBreakpointInfoResponseBody{Description: fmt.Sprintf(format, args...)}})
		return nil
	}
	if c.running {
		return errRunning
	}
	a := m.Arguments
	expr := a.Name
	if a.VariablesReference != 0 {
		h, err := c.handle(a.VariablesReference)
		if err != nil {
			return none("%v", err)
		}
		if expr = c.exprIn(h, a.Name); expr == "" {
			return none("%s cannot be watched: it has no expression", a.Name)
		}
		if err := c.selectFrame(h.frame); err != nil {
			return none("%v", err)
		}
	} else if err := c.selectFrame(a.FrameId); err != nil {
		return none("%v", err)
	}
	v, err := c.s.Eval(expr)
	if err != nil {
		return none("%v", err)
	}
	access := []dap.DataBreakpointAccessType{"write"}
	if v.InMemory() {
		access = []dap.DataBreakpointAccessType{"read", "write", "readWrite"}
	}
	c.answer(m, &dap.DataBreakpointInfoResponse{Body: dap.DataBreakpointInfoResponseBody{DataId: expr, Description: expr, AccessTypes: access}})
	return nil
}

func (c *conn) setDataBreakpoints(m *dap.SetDataBreakpointsRequest) error {
	want := m.Arguments.Breakpoints
	return c.set(m, len(want), func() []dap.Breakpoint { return c.points.data.put(c, want, c.addData) }, func(list []dap.Breakpoint) dap.ResponseMessage {
		return &dap.SetDataBreakpointsResponse{Body: dap.SetDataBreakpointsResponseBody{Breakpoints: list}}
	})
}

func (c *conn) addData(b dap.DataBreakpoint) (point, dap.Breakpoint) {
	w, err := c.watch(b)
	if err != nil {
		return c.refused(err)
	}
	c.points.next++
	x := dap.Breakpoint{Id: c.points.next, Verified: true}
	if w.Soft() {
		x.Message = "evaluated after every instruction"
	}
	return point{id: x.Id, in: w.ID, reason: "data breakpoint"}, x
}

func (c *conn) watch(b dap.DataBreakpoint) (*debug.Watch, error) {
	var hits func(int) bool
	if b.HitCondition != "" {
		var err error
		if hits, err = hitCondition(b.HitCondition); err != nil {
			return nil, err
		}
	}
	read, write := false, true
	switch b.AccessType {
	case "read":
		read, write = true, false
	case "readWrite":
		read = true
	}
	w, err := c.s.AddWatch(b.DataId, read, write)
	if err != nil {
		return nil, err
	}
	if cond := strings.TrimSpace(b.Condition); cond != "" || hits != nil {
		w.StopAt = func(n int) bool {
			if hits != nil && !hits(n) {
				return false
			}
			if cond == "" {
				return true
			}
			ok, err := c.s.Holds(cond)
			return ok || err != nil // stop if the condition cannot be evaluated
		}
	}
	return w, nil
}

func (c *conn) breakpointLocations(m *dap.BreakpointLocationsRequest) error {
	a := m.Arguments
	if a == nil {
		return errors.New("breakpointLocations: no source given")
	}
	out := []dap.BreakpointLocation{}
	if file, err := c.fileOf(a.Source); err == nil {
		from := a.Line + 1 - c.lineBase
		to := max(from, a.EndLine+1-c.lineBase)
		if from >= 1 && to <= maxLine {
			lines, err := c.s.List(file, uint32(from), uint32(to))
			for _, l := range lines {
				if err == nil && l.Code {
					out = append(out, dap.BreakpointLocation{Line: c.lineOut(l.Line)})
				}
			}
		}
	}
	c.answer(m, &dap.BreakpointLocationsResponse{Body: dap.BreakpointLocationsResponseBody{Breakpoints: out}})
	return nil
}

// maxLine is the largest line number accepted.
const maxLine = 1 << 24
