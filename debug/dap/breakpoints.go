package dap

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/bpfrun/bpfrun/debug"
)

// maxPoints bounds the breakpoints of a kind.
const maxPoints = 10000

// point is a breakpoint that the client asked for.
type point struct {
	id     int    // the client's number
	in     int    // the session's, 0 when it could not be made
	reason string // of its stops
}

// points are the breakpoints of a client, by what it sets at once, and what they were asked for with, to be made again.
type points struct {
	next  int
	lines map[string][]point // by source file
	funcs []point
	insns []point
	data  []point

	askedLines map[string]dap.SetBreakpointsArguments
	askedFuncs []dap.FunctionBreakpoint
	askedInsns []dap.InstructionBreakpoint
	askedData  []dap.DataBreakpoint
}

// hit returns the client's numbers of what stopped the program, and the reason of the first.
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
	out := [][]point{p.funcs, p.insns, p.data}
	for _, list := range p.lines {
		out = append(out, list)
	}
	return out
}

// drop removes breakpoints from the session.
func (c *conn) drop(list []point) {
	for _, p := range list {
		if p.in != 0 {
			_ = c.s.Delete(p.in) // one that is gone already is gone
		}
	}
}

// asked is what a breakpoint was asked for with.
type asked struct {
	location, cond, hits, log, reason string
}

// add makes a breakpoint; one that cannot be made is told with the reason.
func (c *conn) add(a asked) (point, dap.Breakpoint) {
	b, err := c.s.Break(a.location, false)
	if err == nil {
		err = c.qualify(b, a)
		if err != nil {
			_ = c.s.Delete(b.ID) // it was made a moment ago
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

// refused is a breakpoint that cannot be made.
func (c *conn) refused(err error) (point, dap.Breakpoint) {
	c.points.next++
	return point{id: c.points.next}, dap.Breakpoint{Id: c.points.next, Message: err.Error()}
}

// breakpointAt describes a breakpoint by its place.
func (c *conn) breakpointAt(at debug.Place) dap.Breakpoint {
	out := dap.Breakpoint{Verified: true, InstructionReference: c.reference(at)}
	if l, ok := c.s.LineAt(at); ok {
		out.Source, out.Line = c.sourceOf(l.File), c.lineOut(l.Line)
	}
	return out
}

func (c *conn) lineOut(line uint32) int { return int(line) - 1 + c.lineBase }

// qualify gives a breakpoint its condition, hit condition and message.
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

// hitCondition reads N, >= N, > N, == N, < N, <= N and % N.
func hitCondition(text string) (func(hits int) bool, error) {
	op, word := ">=", strings.TrimSpace(text)
	for _, o := range []string{">=", "<=", "==", "=", ">", "<", "%"} {
		if rest, ok := strings.CutPrefix(word, o); ok {
			op, word = o, strings.TrimSpace(rest)
			break
		}
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("hit condition %q: want a number of hits, or one after ==, >, >=, <, <= or %%", text)
	}
	switch op {
	case ">=":
		return func(hits int) bool { return hits >= n }, nil
	case ">":
		return func(hits int) bool { return hits > n }, nil
	case "<=":
		return func(hits int) bool { return hits <= n }, nil
	case "<":
		return func(hits int) bool { return hits < n }, nil
	case "%":
		return func(hits int) bool { return hits%n == 0 }, nil
	}
	return func(hits int) bool { return hits == n }, nil
}

// piece is a part of a log message: a text, or an expression.
type piece struct {
	text string
	expr bool
}

// splitLog cuts a log message into texts and the expressions in braces; \{ is a brace.
func splitLog(msg string) ([]piece, error) {
	var out []piece
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, piece{text: text.String()})
			text.Reset()
		}
	}
	for i := 0; i < len(msg); i++ {
		switch {
		case msg[i] == '\\' && i+1 < len(msg) && (msg[i+1] == '{' || msg[i+1] == '}'):
			i++
			text.WriteByte(msg[i])
		case msg[i] == '{':
			depth, end := 0, -1
			for j := i; j < len(msg) && end < 0; j++ {
				switch msg[j] {
				case '{':
					depth++
				case '}':
					if depth--; depth == 0 {
						end = j
					}
				}
			}
			if end < 0 {
				return nil, errors.New(`log message: a { without its } (\{ is a brace)`)
			}
			flush()
			out = append(out, piece{strings.TrimSpace(msg[i+1 : end]), true})
			i = end
		default:
			text.WriteByte(msg[i])
		}
	}
	flush()
	return out, nil
}

// logged writes a log message.
func (c *conn) logged(b *debug.Breakpoint, pieces []piece) {
	var text strings.Builder
	for _, p := range pieces {
		if !p.expr {
			text.WriteString(p.text)
			continue
		}
		v, err := c.s.Eval(p.text)
		if err != nil {
			fmt.Fprintf(&text, "<%v>", err)
			continue
		}
		text.WriteString(c.s.ShortText(v, maxText))
	}
	out := &dap.OutputEvent{Event: event("output"), Body: dap.OutputEventBody{Category: "console", Output: text.String() + "\n"}}
	if l, ok := c.s.LineAt(b.Places[0]); ok {
		out.Body.Source, out.Body.Line = c.sourceOf(l.File), c.lineOut(l.Line)
	}
	c.send(out)
}

func tooMany(n int) error {
	if n > maxPoints {
		return fmt.Errorf("%d breakpoints, at most %d can be set at once", n, maxPoints)
	}
	return nil
}

func (c *conn) setBreakpoints(m *dap.SetBreakpointsRequest) error {
	if err := tooMany(len(m.Arguments.Breakpoints)); err != nil {
		return err
	}
	list := c.putLines(m.Arguments)
	c.answer(m, &dap.SetBreakpointsResponse{Body: dap.SetBreakpointsResponseBody{Breakpoints: list}})
	return nil
}

func (c *conn) putLines(args dap.SetBreakpointsArguments) []dap.Breakpoint {
	key := sourceKey(args.Source)
	if c.points.lines == nil {
		c.points.lines = map[string][]point{}
	}
	if c.points.askedLines == nil {
		c.points.askedLines = map[string]dap.SetBreakpointsArguments{}
	}
	c.drop(c.points.lines[key])
	delete(c.points.lines, key)
	delete(c.points.askedLines, key)
	if len(args.Breakpoints) > 0 {
		c.points.askedLines[key] = args
	}
	out := []dap.Breakpoint{}
	file, err := c.fileOf(args.Source)
	for _, b := range args.Breakpoints {
		if err != nil {
			p, x := c.refused(err)
			x.Line = b.Line
			c.points.lines[key] = append(c.points.lines[key], p)
			out = append(out, x)
			continue
		}
		p, x := c.add(asked{
			location: fmt.Sprintf("%s:%d", file, b.Line+1-c.lineBase), cond: b.Condition, hits: b.HitCondition, log: b.LogMessage,
			reason: "breakpoint",
		})
		c.points.lines[key] = append(c.points.lines[key], p)
		out = append(out, x)
	}
	return out
}

func sourceKey(s dap.Source) string {
	if s.Path == "" {
		return fmt.Sprintf("#%d %s", s.SourceReference, s.Name)
	}
	return filepath.Clean(s.Path)
}

func (c *conn) setFunctionBreakpoints(m *dap.SetFunctionBreakpointsRequest) error {
	if err := tooMany(len(m.Arguments.Breakpoints)); err != nil {
		return err
	}
	list := c.putFunctions(m.Arguments.Breakpoints)
	c.answer(m, &dap.SetFunctionBreakpointsResponse{Body: dap.SetFunctionBreakpointsResponseBody{Breakpoints: list}})
	return nil
}

func (c *conn) putFunctions(list []dap.FunctionBreakpoint) []dap.Breakpoint {
	c.drop(c.points.funcs)
	c.points.funcs, c.points.askedFuncs = nil, list
	out := []dap.Breakpoint{}
	for _, b := range list {
		p, x := c.add(asked{location: b.Name, cond: b.Condition, hits: b.HitCondition, reason: "function breakpoint"})
		c.points.funcs = append(c.points.funcs, p)
		out = append(out, x)
	}
	return out
}

func (c *conn) setInstructionBreakpoints(m *dap.SetInstructionBreakpointsRequest) error {
	if err := tooMany(len(m.Arguments.Breakpoints)); err != nil {
		return err
	}
	list := c.putInstructions(m.Arguments.Breakpoints)
	c.answer(m, &dap.SetInstructionBreakpointsResponse{Body: dap.SetInstructionBreakpointsResponseBody{Breakpoints: list}})
	return nil
}

func (c *conn) putInstructions(list []dap.InstructionBreakpoint) []dap.Breakpoint {
	c.drop(c.points.insns)
	c.points.insns, c.points.askedInsns = nil, list
	out := []dap.Breakpoint{}
	for _, b := range list {
		at, err := c.placeOf(b.InstructionReference, b.Offset)
		if err != nil {
			p, x := c.refused(err)
			c.points.insns = append(c.points.insns, p)
			out = append(out, x)
			continue
		}
		name, off := at.Prog.Name, at.PC
		if f, ok := at.Func(); ok {
			name, off = f.Name, at.PC-f.Start
		}
		p, x := c.add(asked{location: fmt.Sprintf("%s+%d", name, off), cond: b.Condition, hits: b.HitCondition, reason: "instruction breakpoint"})
		c.points.insns = append(c.points.insns, p)
		out = append(out, x)
	}
	return out
}

func (c *conn) setExceptionBreakpoints(m *dap.SetExceptionBreakpointsRequest) error {
	on := false
	for _, f := range m.Arguments.Filters {
		if f != faultFilter {
			return fmt.Errorf("no exception filter %q (there is %s)", f, faultFilter)
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
			return none("%s cannot be watched: no expression means it", a.Name)
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
	if err := tooMany(len(m.Arguments.Breakpoints)); err != nil {
		return err
	}
	list := c.putData(m.Arguments.Breakpoints)
	c.answer(m, &dap.SetDataBreakpointsResponse{Body: dap.SetDataBreakpointsResponseBody{Breakpoints: list}})
	return nil
}

func (c *conn) putData(list []dap.DataBreakpoint) []dap.Breakpoint {
	c.drop(c.points.data)
	c.points.data, c.points.askedData = nil, list
	out := []dap.Breakpoint{}
	for _, b := range list {
		c.points.next++
		p := point{id: c.points.next, reason: "data breakpoint"}
		w, err := c.watch(b)
		x := dap.Breakpoint{Id: p.id, Verified: err == nil}
		if err != nil {
			x.Message = err.Error()
		} else {
			p.in = w.ID
			if w.Soft() {
				x.Message = "evaluated after every instruction"
			}
		}
		c.points.data = append(c.points.data, p)
		out = append(out, x)
	}
	return out
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
			return ok || err != nil // what cannot be decided stops
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

// maxLine bounds line numbers.
const maxLine = 1 << 24

// reinstall makes the breakpoints again in another session, with the numbers they had, and tells what became of them.
func (c *conn) reinstall() {
	p := &c.points
	was := *p
	p.lines, p.funcs, p.insns, p.data = nil, nil, nil, nil // those of a session that is gone
	tell := func(old, now []point, list []dap.Breakpoint) {
		for i := range min(len(old), len(now), len(list)) {
			now[i].id, list[i].Id = old[i].id, old[i].id
			c.send(&dap.BreakpointEvent{Event: event("breakpoint"), Body: dap.BreakpointEventBody{Reason: "changed", Breakpoint: list[i]}})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(was.askedLines)) {
		list := c.putLines(was.askedLines[key])
		tell(was.lines[key], p.lines[key], list)
	}
	list := c.putFunctions(was.askedFuncs)
	tell(was.funcs, p.funcs, list)
	list = c.putInstructions(was.askedInsns)
	tell(was.insns, p.insns, list)
	list = c.putData(was.askedData)
	tell(was.data, p.data, list)
}
