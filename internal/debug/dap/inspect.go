package dap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/google/go-dap"

	"github.com/bpfrun/bpfrun/internal/debug"
)

// Limits on what is shown at once.
const (
	maxText    = 400     // bytes of a value in a list
	maxResult  = 1 << 16 // bytes of a value that the client evaluates
	maxList    = 1000    // variables in one response, unless the client requests pages
	maxHandles = 1 << 16 // values the client can refer to at one stop
	maxObjects = 200     // kernel objects listed
)

// handle is the target of a variable reference: a scope, or a value that can be expanded.
type handle struct {
	scope string
	frame int // the client's number of the frame in which names are resolved
	value *debug.Value
	expr  string
	// of and name denote a field of a kernel object that is unset until it is read.
	of   *debug.Value
	name string
}

// refer creates a variable reference, 0 if there are too many.
func (c *conn) refer(h handle) int {
	if len(c.handles) >= maxHandles {
		return 0
	}
	c.handles = append(c.handles, h)
	return len(c.handles)
}

func (c *conn) handle(ref int) (handle, error) {
	if ref < 1 || ref > len(c.handles) {
		return handle{}, errors.New("this variable belongs to an earlier stop")
	}
	return c.handles[ref-1], nil
}

// selectFrame selects a frame by the client's number; 0 is the innermost of the thread that stopped
// last.
func (c *conn) selectFrame(id int) error {
	if id == 0 {
		_ = c.s.SelectCPU(c.cpu)
		_ = c.s.SelectFrame(0) // without a run there is nothing to select
		return nil
	}
	if err := c.onThread(threadOf(id >> frameBits)); err != nil {
		return fmt.Errorf("there is no frame %d", id)
	}
	level := id & endFrame
	if level == endFrame {
		return nil
	}
	return c.s.SelectFrame(level - 1)
}

func (c *conn) stackTrace(m *dap.StackTraceRequest) error {
	if err := c.onThread(m.Arguments.ThreadId); err != nil {
		return err
	}
	frames, err := c.s.Frames()
	if errors.Is(err, debug.ErrEnded) {
		f := dap.StackFrame{Id: c.frameID(endFrame - 1), Name: c.resultText(), PresentationHint: "label"}
		c.answer(m, &dap.StackTraceResponse{Body: dap.StackTraceResponseBody{StackFrames: []dap.StackFrame{f}, TotalFrames: 1}})
		return nil
	}
	if err != nil {
		return err
	}
	total := len(frames)
	from := min(max(m.Arguments.StartFrame, 0), total)
	frames = frames[from:]
	if n := m.Arguments.Levels; n > 0 {
		frames = frames[:min(n, len(frames))]
	}
	out := []dap.StackFrame{}
	for _, f := range frames {
		x := dap.StackFrame{Id: c.frameID(f.Level), Name: f.Func, InstructionPointerReference: c.reference(f.Place)}
		switch {
		case f.Inlined:
			x.Name += " (inlined)"
		case f.Callback:
			x.Name += " (called by a helper)"
		}
		if f.Line > 0 {
			x.Source, x.Line = c.sourceOf(f.File), c.lineOut(f.Line)
		} else {
			x.PresentationHint = "subtle"
		}
		out = append(out, x)
	}
	c.answer(m, &dap.StackTraceResponse{Body: dap.StackTraceResponseBody{StackFrames: out, TotalFrames: total}})
	return nil
}

// Scopes, in display order.
const (
	scopeLocals    = "Locals"
	scopeArguments = "Arguments"
	scopeRegisters = "Registers"
	scopePacket    = "Packet"
	scopeGlobals   = "Globals"
	scopeMaps      = "Maps"
	scopeKernel    = "Kernel objects"
)

func (c *conn) scopes(m *dap.ScopesRequest) error {
	id := m.Arguments.FrameId
	if err := c.selectFrame(id); err != nil {
		return err
	}
	live := id&endFrame != endFrame
	names := []string{}
	if live {
		names = append(names, scopeLocals, scopeArguments, scopeRegisters)
		if _, err := c.s.Eval("pkt"); err == nil {
			names = append(names, scopePacket)
		}
	}
	if len(c.s.Variables()) > 0 {
		names = append(names, scopeGlobals)
	}
	names = append(names, scopeMaps, scopeKernel)
	out := []dap.Scope{}
	for _, name := range names {
		s := dap.Scope{Name: name, Expensive: name == scopeKernel, VariablesReference: c.refer(handle{scope: name, frame: id})}
		switch name {
		case scopeLocals, scopeArguments, scopeRegisters:
			s.PresentationHint = strings.ToLower(name)
		}
		out = append(out, s)
	}
	c.answer(m, &dap.ScopesResponse{Body: dap.ScopesResponseBody{Scopes: out}})
	return nil
}

func (c *conn) variables(m *dap.VariablesRequest) error {
	h, err := c.handle(m.Arguments.VariablesReference)
	if err != nil {
		return err
	}
	if err := c.selectFrame(h.frame); err != nil {
		return err
	}
	letter := byte(0)
	if f := m.Arguments.Format; f != nil && f.Hex {
		letter = 'x'
	}
	list, err := c.listed(h, m.Arguments, letter)
	if err != nil {
		return err
	}
	c.answer(m, &dap.VariablesResponse{Body: dap.VariablesResponseBody{Variables: list}})
	return nil
}

// listed returns the variables of a scope or the parts of a value.
func (c *conn) listed(h handle, a dap.VariablesArguments, letter byte) ([]dap.Variable, error) {
	out := []dap.Variable{}
	if h.scope != "" {
		for _, child := range c.scope(h.scope) {
			out = append(out, c.variable(h, child, letter))
		}
		return page(out, a), nil
	}
	if h.of != nil {
		v, err := c.s.Part(h.of, h.name)
		return []dap.Variable{c.variable(h, debug.Child{Name: h.name, Expr: h.expr, Value: v, Err: err}, letter)}, nil
	}
	total, indexed := c.s.Parts(h.value)
	if a.Filter == "indexed" && !indexed || a.Filter == "named" && indexed {
		return out, nil
	}
	n := maxList
	if a.Count > 0 {
		n = min(a.Count, maxHandles)
	}
	from := max(a.Start, 0)
	for _, child := range c.s.Children(h.value, h.expr, from, n) {
		x := c.variable(h, child, letter)
		if child.Unset { // unset until requested
			x.Value, x.PresentationHint = "", &dap.VariablePresentationHint{Lazy: true}
			x.VariablesReference = c.refer(handle{frame: h.frame, of: h.value, name: child.Name, expr: child.Expr})
		}
		out = append(out, x)
	}
	if left := total - from - len(out); left > 0 && a.Count == 0 {
		out = append(out, dap.Variable{Name: "...", Value: fmt.Sprintf("%d more", left)})
	}
	return out, nil
}

// page returns the part of a list that the client requests.
func page(list []dap.Variable, a dap.VariablesArguments) []dap.Variable {
	from := min(max(a.Start, 0), len(list))
	list = list[from:]
	if a.Count > 0 {
		list = list[:min(a.Count, len(list))]
	}
	return list
}

// scope lists the variables of a scope.
func (c *conn) scope(name string) []debug.Child {
	var out []debug.Child
	eval := func(name, expr string) {
		v, err := c.s.Eval(expr)
		out = append(out, debug.Child{Name: name, Expr: expr, Value: v, Err: err})
	}
	switch name {
	case scopeLocals:
		list, err := c.s.Locals()
		if err != nil {
			return []debug.Child{{Name: "(none)", Err: err}}
		}
		for _, l := range list {
			out = append(out, debug.Child{Name: l.Name, Expr: l.Name, Value: l.Value, Err: l.Err})
		}
	case scopeArguments:
		for _, a := range c.s.Args() {
			out = append(out, debug.Child{Name: a.Name, Expr: a.Name, Value: a.Value, Err: a.Err})
		}
	case scopeRegisters:
		list, err := c.s.Registers()
		if err != nil {
			return []debug.Child{{Name: "(none)", Err: err}}
		}
		for _, r := range list {
			if r.Known {
				eval(r.Name, "$"+r.Name)
			}
		}
		eval("pc", "$pc")
		eval("insns", "$insns")
	case scopePacket:
		if v, err := c.s.Eval("pkt"); err == nil {
			out = c.s.Children(v, "pkt", 0, maxList)
			out = append(out, debug.Child{Name: "bytes", Expr: "pkt", Value: v})
		}
	case scopeGlobals:
		for _, n := range c.s.Variables() {
			eval(n, n)
		}
	case scopeMaps:
		for _, m := range c.s.Maps() {
			if m.Section {
				continue
			}
			if m.Err != nil {
				out = append(out, debug.Child{Name: m.Name, Err: m.Err})
				continue
			}
			eval(m.Name, m.Name)
		}
	case scopeKernel:
		if _, err := c.s.Eval("current"); err == nil {
			eval("current", "current")
		}
		for _, o := range c.s.KernelObjects(maxObjects) {
			eval(o.Role, o.Expr)
		}
	}
	return out
}

// variable describes a value as a variable.
func (c *conn) variable(h handle, child debug.Child, letter byte) dap.Variable {
	x := dap.Variable{Name: child.Name, EvaluateName: child.Expr}
	if child.Err != nil {
		x.Value = "<" + child.Err.Error() + ">"
		x.PresentationHint = &dap.VariablePresentationHint{Attributes: []string{"readOnly", "failedEvaluation"}}
		return x
	}
	if child.Value == nil {
		return x
	}
	x.Value = c.text(child.Value, maxText, letter)
	if c.client.SupportsVariableType || c.client.ClientID == "" {
		x.Type = c.s.TypeOf(child.Value)
	}
	x.VariablesReference, x.NamedVariables, x.IndexedVariables = c.expandable(handle{frame: h.frame, value: child.Value, expr: child.Expr})
	if addr, ok := c.s.Pointee(child.Value); ok && addr != 0 {
		x.MemoryReference = fmt.Sprintf("%#x", addr)
	}
	return x
}

// expandable creates a reference for a value that has parts.
func (c *conn) expandable(h handle) (ref, named, indexed int) {
	n, isIndexed := c.s.Parts(h.value)
	switch {
	case n == 0:
		return 0, 0, 0
	case isIndexed:
		return c.refer(h), 0, n
	}
	return c.refer(h), n, 0
}

func (c *conn) text(v *debug.Value, most int, letter byte) string {
	if v.IsMap() {
		n, _ := c.s.Parts(v)
		return fmt.Sprintf("%d %s", n, plural(n, "element"))
	}
	if letter != 0 {
		text := c.s.Format(v, debug.FormatOptions{Letter: letter})
		return text[:min(len(text), most)]
	}
	return c.s.ShortText(v, most)
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// exprIn returns the expression of a variable by its name in a handle, "" if there is none.
func (c *conn) exprIn(h handle, name string) string {
	switch {
	case h.scope == scopeKernel:
		for _, child := range c.scope(scopeKernel) {
			if child.Name == name {
				return child.Expr
			}
		}
		return ""
	case h.scope == scopeRegisters:
		return "$" + name
	case h.scope == scopePacket:
		return "pkt." + name
	case h.scope != "":
		return name
	case h.of != nil:
		return h.expr
	}
	total, _ := c.s.Parts(h.value)
	for _, child := range c.s.Children(h.value, h.expr, 0, min(total, maxHandles)) {
		if child.Name == name {
			return child.Expr
		}
	}
	return ""
}

func (c *conn) setVariable(m *dap.SetVariableRequest) error {
	h, err := c.handle(m.Arguments.VariablesReference)
	if err != nil {
		return err
	}
	if err := c.selectFrame(h.frame); err != nil {
		return err
	}
	expr := c.exprIn(h, m.Arguments.Name)
	if expr == "" {
		return fmt.Errorf("%s cannot be set: it has no expression", m.Arguments.Name)
	}
	v, err := c.s.Assign(expr + " = " + m.Arguments.Value)
	if err != nil {
		return err
	}
	body := dap.SetVariableResponseBody{Value: c.text(v, maxText, 0), Type: c.s.TypeOf(v)}
	body.VariablesReference, body.NamedVariables, body.IndexedVariables = c.expandable(handle{frame: h.frame, value: v, expr: expr})
	c.answer(m, &dap.SetVariableResponse{Body: body})
	return nil
}

func (c *conn) setExpression(m *dap.SetExpressionRequest) error {
	if err := c.selectFrame(m.Arguments.FrameId); err != nil {
		return err
	}
	v, err := c.s.Assign(m.Arguments.Expression + " = " + m.Arguments.Value)
	if err != nil {
		return err
	}
	body := dap.SetExpressionResponseBody{Value: c.text(v, maxText, 0), Type: c.s.TypeOf(v)}
	body.VariablesReference, body.NamedVariables, body.IndexedVariables = c.expandable(handle{frame: m.Arguments.FrameId, value: v, expr: m.Arguments.Expression})
	c.answer(m, &dap.SetExpressionResponse{Body: body})
	return nil
}

func (c *conn) evaluate(ctx context.Context, m *dap.EvaluateRequest) error {
	a := m.Arguments
	if err := c.selectFrame(a.FrameId); err != nil {
		return err
	}
	text := strings.TrimSpace(a.Expression)
	if a.Context == "repl" {
		if command, ok := strings.CutPrefix(text, "`"); ok {
			return c.command(ctx, m, command)
		}
		if c.s.IsAssignment(text) {
			v, err := c.s.Assign(text)
			if err != nil {
				return err
			}
			c.evaluated(m, v, "")
			if c.client.SupportsInvalidatedEvent {
				c.send(&dap.InvalidatedEvent{Event: event("invalidated"), Body: dap.InvalidatedEventBody{Areas: []dap.InvalidatedAreas{"variables"}}})
			}
			return nil
		}
	}
	v, err := c.s.Eval(text)
	if err != nil {
		if a.Context == "repl" && debug.IsUnknown(err) && c.r.IsCommand(text) {
			return c.command(ctx, m, text)
		}
		return err
	}
	c.evaluated(m, v, text)
	return nil
}

func (c *conn) evaluated(m *dap.EvaluateRequest, v *debug.Value, expr string) {
	letter := byte(0)
	if f := m.Arguments.Format; f != nil && f.Hex {
		letter = 'x'
	}
	most := maxText
	if m.Arguments.Context == "repl" || m.Arguments.Context == "clipboard" {
		most = maxResult
	}
	body := dap.EvaluateResponseBody{Result: c.text(v, most, letter), Type: c.s.TypeOf(v)}
	if v.IsMap() && most == maxResult {
		body.Result = c.s.ShortText(v, most)
	}
	body.VariablesReference, body.NamedVariables, body.IndexedVariables = c.expandable(handle{frame: m.Arguments.FrameId, value: v, expr: expr})
	if addr, ok := c.s.Pointee(v); ok && addr != 0 {
		body.MemoryReference = fmt.Sprintf("%#x", addr)
	}
	c.answer(m, &dap.EvaluateResponse{Body: body})
}

// command executes a debugger command and reports a stop if the program moved.
func (c *conn) command(ctx context.Context, m *dap.EvaluateRequest, line string) error {
	before, state, cpu := c.s.Pos(), c.s.State(), c.s.CPU()
	kernel := c.s.Machine()
	c.mu.Lock()
	run, cancel := context.WithCancel(ctx)
	c.cancel, c.yielding = cancel, false
	c.mu.Unlock()
	err := c.r.Execute(run, line)
	c.mu.Lock()
	c.cancel, c.pausing = nil, false
	c.mu.Unlock()
	cancel()
	text := c.console.take()
	if err != nil {
		if text != "" {
			c.say("console", "%s", text)
		}
		return err
	}
	moved := c.s.CPU() != cpu || c.s.Pos() != before || c.s.State() != state || c.s.Machine() != kernel
	if moved {
		c.handles = nil
	}
	c.answer(m, &dap.EvaluateResponse{Body: dap.EvaluateResponseBody{Result: strings.TrimSuffix(text, "\n")}})
	if moved {
		c.cpu = c.s.CPU()
		c.send(&dap.StoppedEvent{Event: event("stopped"), Body: dap.StoppedEventBody{Reason: "goto", ThreadId: threadOf(c.cpu), AllThreadsStopped: true}})
	}
	return nil
}

func (c *conn) completions(m *dap.CompletionsRequest) error {
	a := m.Arguments
	if err := c.selectFrame(a.FrameId); err != nil {
		return err
	}
	units := utf16.Encode([]rune(a.Text)) // columns are counted in UTF-16
	at := min(max(a.Column-c.lineBase, 0), len(units))
	text := string(utf16.Decode(units[:at]))
	out := []dap.CompletionItem{}
	seen := map[string]bool{}
	add := func(line, kind string) {
		ends, length := c.r.Complete(line)
		from := len([]rune(line)) - length
		head := string([]rune(line)[from:])
		cut := strings.LastIndexAny(head, " .>[(!~+*/%&|^<=,?:-") + 1
		for _, e := range ends {
			label := head[cut:] + e
			if !seen[label] {
				seen[label] = true
				n := len(utf16.Encode([]rune(head[cut:])))
				out = append(out, dap.CompletionItem{Label: label, Type: dap.CompletionItemType(kind), Start: at - n + c.lineBase, Length: n})
			}
		}
	}
	add("print "+text, "variable")
	add(text, "keyword")
	c.answer(m, &dap.CompletionsResponse{Body: dap.CompletionsResponseBody{Targets: out}})
	return nil
}

func (c *conn) exceptionInfo(m *dap.ExceptionInfoRequest) error {
	if err := c.onThread(m.Arguments.ThreadId); err != nil {
		return err
	}
	res := c.s.Result()
	if res == nil || res.Fault == nil {
		return errors.New("no fault stopped the program")
	}
	c.answer(m, &dap.ExceptionInfoResponse{Body: dap.ExceptionInfoResponseBody{
		ExceptionId: fmt.Sprint(res.Fault.Kind), Description: debug.FaultText(res.Fault), BreakMode: "always",
		Details: &dap.ExceptionDetails{Message: res.Fault.Error(), TypeName: fmt.Sprint(res.Fault.Kind), StackTrace: c.stackText()},
	}})
	return nil
}

func (c *conn) stackText() string {
	frames, err := c.s.Frames()
	if err != nil {
		return ""
	}
	var lines []string
	for _, f := range frames {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}
