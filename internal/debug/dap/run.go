package dap

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-dap"

	"github.com/bpfrun/bpfrun/internal/debug"
)

// move is a way to continue the program.
type move struct {
	step func(context.Context) (*debug.Stop, error)
	resp dap.ResponseMessage
	back bool
	// resume means that it resumes by itself after an interruption. Steps cannot: they depend on
	// where they began.
	resume bool
}

// reversed returns a step in the opposite direction.
func (c *conn) reversed(step func(context.Context) (*debug.Stop, error)) func(context.Context) (*debug.Stop, error) {
	return func(ctx context.Context) (*debug.Stop, error) {
		c.s.Reverse = true
		defer func() { c.s.Reverse = false }()
		return step(ctx)
	}
}

func (c *conn) stepInsn(ctx context.Context) (*debug.Stop, error) { return c.s.StepInsn(ctx, 1) }

// moves returns the move that a request asks for.
func (c *conn) moves(q request) (m move, ok bool) {
	const instruction = "instruction"
	switch r := q.msg.(type) {
	case *dap.ContinueRequest:
		return move{step: c.s.Continue, resume: true, resp: &dap.ContinueResponse{Body: dap.ContinueResponseBody{AllThreadsContinued: !c.s.Several()}}}, true
	case *dap.NextRequest:
		m = move{step: c.s.Next, resp: &dap.NextResponse{}}
		if r.Arguments.Granularity == instruction {
			m.step = c.s.NextInsn
		}
	case *dap.StepInRequest:
		m = move{step: c.s.Step, resp: &dap.StepInResponse{}}
		if r.Arguments.Granularity == instruction {
			m.step = c.stepInsn
		}
	case *dap.StepOutRequest:
		m = move{step: c.s.Finish, resp: &dap.StepOutResponse{}}
	case *dap.StepBackRequest:
		m = move{step: c.reversed(c.s.Next), resp: &dap.StepBackResponse{}, back: true}
		if r.Arguments.Granularity == instruction {
			m.step = c.reversed(c.s.NextInsn)
		}
	case *dap.ReverseContinueRequest:
		m = move{step: c.reversed(c.s.Continue), resp: &dap.ReverseContinueResponse{}, back: true}
	default:
		return m, false
	}
	return m, true
}

// execute continues until a stop and reports it. Requests received meanwhile are executed in
// between.
func (c *conn) execute(ctx context.Context, m move) {
	c.handles = nil
	c.s.SelectFrame(0)
	for {
		run, cancel := context.WithCancel(ctx)
		c.mu.Lock()
		c.cancel, c.yielding = cancel, m.resume
		if m.resume && len(c.queue) > 0 {
			cancel() // requested before it began
		}
		c.mu.Unlock()
		st, err := m.step(run)
		c.mu.Lock()
		pausing := c.pausing
		c.cancel, c.pausing = nil, false
		c.mu.Unlock()
		cancel()
		switch {
		case err != nil:
			c.say("important", "%v\n", err)
			if c.last != nil {
				c.stopped(c.last)
			} else {
				c.terminated()
			}
			return
		case ctx.Err() != nil: // the client disconnected
			return
		case st.Reason == debug.Interrupted && m.resume && !pausing && c.between(ctx):
			continue
		}
		c.stopped(st)
		return
	}
}

// between executes the pending requests while the program runs, and reports whether the program
// should continue.
func (c *conn) between(ctx context.Context) bool {
	c.running = true
	defer func() { c.running = false }()
	for {
		select {
		case q, ok := <-c.queue:
			if !ok {
				return false
			}
			c.taken(q)
			if m, ok := q.msg.(*dap.PauseRequest); ok {
				c.answer(m, &dap.PauseResponse{})
				return false
			}
			c.carryOut(ctx, q)
			if c.done || c.over {
				return false
			}
		default:
			return ctx.Err() == nil
		}
	}
}

// reasons maps stop reasons to the protocol's.
var reasons = map[debug.Reason]string{
	debug.Started: "entry", debug.Stepped: "step", debug.Returned: "step", debug.AtBreakpoint: "breakpoint", debug.AtWatchpoint: "data breakpoint",
	debug.Arrived: "goto", debug.Faulted: "exception", debug.Interrupted: "pause", debug.AtStart: "entry", debug.Exited: "exit", debug.Waiting: "pause",
}

// stopped reports a stop to the client.
func (c *conn) stopped(st *debug.Stop) {
	if c.done || c.over {
		return
	}
	c.last, c.cpu = st, st.CPU
	c.handles = nil
	c.trace()
	if st.Err != nil {
		c.say("important", "%v\n", st.Err)
	}
	for _, n := range st.Notes {
		c.say("console", "%s\n", n)
	}
	switch st.Reason {
	case debug.Exited:
		if !c.args.stopOnExit {
			c.ends()
			return
		}
	case debug.Faulted:
		if c.filterOff || c.args.noDebug {
			c.ends()
			return
		}
	}
	body := dap.StoppedEventBody{Reason: reasons[st.Reason], ThreadId: threadOf(st.CPU), AllThreadsStopped: true}
	switch st.Reason {
	case debug.Faulted:
		body.Description = "The program did what the kernel forbids"
		body.Text = debug.FaultText(st.Result.Fault)
		c.say("stderr", "%s\n", body.Text)
	case debug.AtBreakpoint:
		body.HitBreakpointIds, body.Reason = c.points.hit(st)
	case debug.AtWatchpoint:
		body.HitBreakpointIds, _ = c.points.hit(st)
		body.Text = watchText(st)
		c.say("console", "%s\n", body.Text)
	case debug.Waiting:
		body.Description, body.Text = "It waits for a lock", strings.Join(st.Notes, " ")
	case debug.AtStart:
		body.Description = "Reached the start of the run"
	case debug.Exited:
		body.Description = c.resultText()
	case debug.Returned:
		if st.Value != nil {
			n := c.s.Remember(st.Value)
			body.Text = fmt.Sprintf("Value returned: $%d = %s", n, c.s.Format(st.Value, debug.FormatOptions{}))
			c.say("console", "%s\n", body.Text)
		}
	}
	c.send(&dap.StoppedEvent{Event: event("stopped"), Body: body})
}

// watchText describes the watchpoint hits of a stop.
func watchText(st *debug.Stop) string {
	var lines []string
	for _, w := range st.Watches {
		if w.Write {
			lines = append(lines, fmt.Sprintf("%s: %s -> %s", w.Watch.Expr, w.Old, w.New))
		} else {
			lines = append(lines, fmt.Sprintf("%s was read: %s", w.Watch.Expr, w.New))
		}
	}
	return strings.Join(lines, "\n")
}

// trace shows the lines written to the trace log since the last stop.
func (c *conn) trace() {
	lines := c.s.Printed()
	for _, l := range lines[min(c.printed, len(lines)):] {
		c.say("stdout", "%s\n", strings.TrimRight(l, "\n"))
	}
	c.printed = len(lines)
}

// resultText describes the result of the run in a sentence.
func (c *conn) resultText() string {
	res := c.s.Result()
	if res == nil {
		return ""
	}
	ret := int32(uint32(res.Ret))
	if v := c.s.Verdict(); v != "" {
		return fmt.Sprintf("%s returned %s (%d) after %d instructions.", res.Program, v, ret, res.Insns)
	}
	return fmt.Sprintf("%s returned %d after %d instructions.", res.Program, ret, res.Insns)
}

// ends reports that the program of a thread ended; with the last program, the session ends.
func (c *conn) ends() {
	next, others := c.nextRunning()
	switch {
	case !others:
		c.finished()
	case c.args.noDebug: // the next program continues
		c.sayResult()
	default:
		c.threadEnded(c.s.CPU(), next)
	}
}

// finished reports the end of the run and ends the session.
func (c *conn) finished() {
	c.sayResult()
	code := 0
	for _, x := range c.s.CPUs() {
		if x.Result != nil && x.Result.Fault != nil {
			const faultCode = 4 // bpfrun's exit code for a fault
			code = faultCode
		}
	}
	c.send(&dap.ExitedEvent{Event: event("exited"), Body: dap.ExitedEventBody{ExitCode: code}})
	c.terminated()
}

// sayResult shows how the program on the selected CPU ended.
func (c *conn) sayResult() {
	res := c.s.Result()
	switch {
	case res == nil:
	case res.Fault != nil:
		if c.filterOff || c.args.noDebug {
			c.say("stderr", "%s\n", debug.FaultText(res.Fault))
		}
	default:
		c.say("console", "%s\n", c.resultText())
		for _, e := range c.s.Events() {
			c.say("console", "event %s\n", e)
		}
		for _, e := range c.s.Changes() {
			c.say("console", "map %s\n", e)
		}
		for _, w := range res.Warnings {
			c.say("console", "warning: %s\n", w)
		}
		for _, f := range res.Findings {
			c.say("console", "finding: %s\n", f)
		}
	}
}
