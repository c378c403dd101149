package dap

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/google/go-dap"
)

// errRunning: the request is allowed only at a stop.
var errRunning = errors.New("the program is running (pause it first)")

// errNotLaunched: the request needs a launched object.
var errNotLaunched = errors.New("nothing has been launched yet")

// carryOut executes a request and responds to it.
func (c *conn) carryOut(ctx context.Context, q request) {
	defer func() {
		if r := recover(); r != nil { // keep the other sessions of this process running
			c.fail(q.msg.GetRequest(), fmt.Errorf("internal error: %v", r))
			c.say("important", "This is a bug in bpfrun. Please report it with the object, the launch configuration and this trace:\n%s\n", debug.Stack())
			c.done = true
		}
	}()
	err := c.allowed(q)
	if err == nil {
		err = c.dispatch(ctx, q)
	}
	if err != nil {
		c.fail(q.msg.GetRequest(), err)
	}
}

// allowed returns an error if a request is not allowed in the current state.
func (c *conn) allowed(q request) error {
	switch q.msg.(type) {
	case *dap.InitializeRequest:
		if c.ready {
			return errors.New("initialize must come first, and only once")
		}
		return nil
	case *dap.DisconnectRequest:
		return nil
	}
	if !c.ready {
		return fmt.Errorf("%s came before initialize", q.msg.GetRequest().Command)
	}
	switch q.msg.(type) {
	case *dap.LaunchRequest:
		if c.s != nil {
			return errors.New("already launched: one session debugs one object (restart takes new options)")
		}
		return nil
	case *dap.AttachRequest:
		return errors.New("bpfrun cannot attach to a running kernel: launch an object instead")
	case *dap.TerminateRequest, *dap.CancelRequest:
		return nil
	}
	if c.s == nil {
		return errNotLaunched
	}
	return nil
}

// dispatch executes a request. It responds unless it returns an error.
func (c *conn) dispatch(ctx context.Context, q request) error {
	switch m := q.msg.(type) {
	case *dap.InitializeRequest:
		return c.initialize(m, q.raw)
	case *dap.LaunchRequest:
		return c.launch(ctx, m)
	case *dap.RestartRequest:
		return c.restart(ctx, m)
	case *dap.ConfigurationDoneRequest:
		return c.configured(ctx, m)
	case *dap.DisconnectRequest:
		c.answer(m, &dap.DisconnectResponse{})
		c.done = true
		return nil
	case *dap.TerminateRequest:
		c.answer(m, &dap.TerminateResponse{})
		c.terminated()
		return nil
	case *dap.CancelRequest:
		c.answer(m, &dap.CancelResponse{}) // pending requests are short; running ones are paused
		return nil
	case *dap.PauseRequest: // the run was interrupted before the request's turn
		c.answer(m, &dap.PauseResponse{})
		return nil
	case *dap.SetBreakpointsRequest:
		return c.setBreakpoints(m)
	case *dap.SetFunctionBreakpointsRequest:
		return c.setFunctionBreakpoints(m)
	case *dap.SetInstructionBreakpointsRequest:
		return c.setInstructionBreakpoints(m)
	case *dap.SetExceptionBreakpointsRequest:
		return c.setExceptionBreakpoints(m)
	case *dap.DataBreakpointInfoRequest:
		return c.dataBreakpointInfo(m)
	case *dap.SetDataBreakpointsRequest:
		return c.setDataBreakpoints(m)
	case *dap.BreakpointLocationsRequest:
		return c.breakpointLocations(m)
	case *dap.ThreadsRequest:
		c.answer(m, &dap.ThreadsResponse{Body: dap.ThreadsResponseBody{Threads: c.threads()}})
		return nil
	case *dap.LoadedSourcesRequest:
		return c.loadedSources(m)
	case *dap.SourceRequest:
		return c.source(m)
	}
	if ok, err := c.goOn(ctx, q); ok {
		return err
	}
	return c.look(ctx, q)
}

// goOn executes requests that make the program run; ok is false for others.
func (c *conn) goOn(ctx context.Context, q request) (ok bool, err error) {
	move, ok := c.moves(q)
	if !ok {
		return false, nil
	}
	switch {
	case c.running:
		return true, errRunning
	case !c.started:
		return true, errors.New("the program has not started: waiting for configurationDone")
	case c.over:
		return true, errors.New("the program has ended")
	}
	if err := c.onThread(threadIn(q.msg)); err != nil {
		return true, err
	}
	if _, others := c.nextRunning(); others && c.ended() && !move.back {
		return true, fmt.Errorf("the program on CPU %d has ended", c.s.CPU())
	}
	c.sendWithNext(answering(q.msg, move.resp))
	if c.ended() && !move.back {
		c.finished()
		return true, nil
	}
	c.execute(ctx, move)
	return true, nil
}

// look executes requests that inspect a stopped program.
func (c *conn) look(ctx context.Context, q request) error {
	if c.running {
		return errRunning
	}
	if m, ok := q.msg.(*dap.DisassembleRequest); ok { // code is available without a run
		return c.disassemble(m)
	}
	switch m := q.msg.(type) {
	case *dap.StackTraceRequest:
		return c.stackTrace(m)
	case *dap.ScopesRequest:
		return c.scopes(m)
	case *dap.VariablesRequest:
		return c.variables(m)
	case *dap.EvaluateRequest:
		return c.evaluate(ctx, m)
	case *dap.SetVariableRequest:
		return c.setVariable(m)
	case *dap.SetExpressionRequest:
		return c.setExpression(m)
	case *dap.CompletionsRequest:
		return c.completions(m)
	case *dap.ExceptionInfoRequest:
		return c.exceptionInfo(m)
	case *dap.ReadMemoryRequest:
		return c.readMemory(m)
	}
	return fmt.Errorf("request %q is not supported", q.msg.GetRequest().Command)
}
