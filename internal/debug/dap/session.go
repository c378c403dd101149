package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-dap"

	"github.com/bpfrun/bpfrun/internal/debug"
	"github.com/bpfrun/bpfrun/internal/debug/repl"
	"github.com/bpfrun/bpfrun/internal/worded"
)

// faultFilter is the only exception filter: faults.
const faultFilter = "fault"

func (c *conn) initialize(m *dap.InitializeRequest, raw []byte) error {
	var given struct {
		Arguments struct {
			LinesStartAt1 *bool `json:"linesStartAt1"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &given); err != nil {
		return worded.Error(err)
	}
	c.client, c.ready = m.Arguments, true
	if v := given.Arguments.LinesStartAt1; v != nil && !*v {
		c.lineBase = 0
	}
	c.answer(m, &dap.InitializeResponse{Body: dap.Capabilities{
		SupportsConfigurationDoneRequest:   true,
		SupportsFunctionBreakpoints:        true,
		SupportsConditionalBreakpoints:     true,
		SupportsHitConditionalBreakpoints:  true,
		SupportsLogPoints:                  true,
		SupportsDataBreakpoints:            true,
		SupportsInstructionBreakpoints:     true,
		SupportsBreakpointLocationsRequest: true,
		SupportsStepBack:                   true,
		SupportsSteppingGranularity:        true,
		SupportsEvaluateForHovers:          true,
		SupportsSetVariable:                true,
		SupportsSetExpression:              true,
		SupportsCompletionsRequest:         true,
		CompletionTriggerCharacters:        []string{".", ">", "["},
		SupportsRestartRequest:             true,
		SupportsTerminateRequest:           true,
		SupportsExceptionInfoRequest:       true,
		SupportsDisassembleRequest:         true,
		SupportsReadMemoryRequest:          true,
		SupportsLoadedSourcesRequest:       true,
		SupportsDelayedStackTraceLoading:   true,
		SupportsClipboardContext:           true,
		ExceptionBreakpointFilters: []dap.ExceptionBreakpointsFilter{{
			Filter: faultFilter, Label: "Faults", Description: "Stop when the program does what the kernel forbids", Default: true,
		}},
	}})
	return nil
}

// says shows the output of opening a session to the user.
type says struct{ c *conn }

func (w says) Write(b []byte) (int, error) {
	w.c.say("console", "%s", b)
	return len(b), nil
}

// open creates the session for launch arguments.
func (c *conn) open(ctx context.Context, args *arguments) error {
	l, err := c.launcher.Open(ctx, args.object, args.options, says{c})
	if err != nil {
		return err
	}
	c.close()
	c.args, c.s, c.program, c.last = args, l.Session, l.Program, nil
	c.handles, c.sources, c.printed = nil, nil, 0
	c.console = &limited{}
	c.r = repl.New(c.s, repl.Config{Out: c.console})
	return nil
}

func (c *conn) launch(ctx context.Context, m *dap.LaunchRequest) error {
	args, err := parseArguments(m.Arguments, c.launcher.Options)
	if err != nil {
		return err
	}
	if err := c.open(ctx, args); err != nil {
		return err
	}
	c.answer(m, &dap.LaunchResponse{})
	c.send(&dap.InitializedEvent{Event: event("initialized")}) // the client may set breakpoints from now on
	return nil
}

func (c *conn) configured(ctx context.Context, m *dap.ConfigurationDoneRequest) error {
	if c.started {
		return fmt.Errorf("configurationDone must come only once")
	}
	c.answer(m, &dap.ConfigurationDoneResponse{})
	c.started = true
	c.start(ctx)
	return nil
}

// start begins the run and continues to the first stop.
func (c *conn) start(ctx context.Context) {
	st, err := c.s.StartContext(ctx, c.program)
	if err != nil {
		c.say("important", "%v\n", err)
		c.terminated()
		return
	}
	c.last, c.cpu = st, st.CPU
	if err := c.startOthers(ctx); err != nil {
		c.say("important", "%v\n", err)
		c.terminated()
		return
	}
	switch here := c.s.StopHere(); {
	case c.args.noDebug:
		c.execute(ctx, move{step: c.s.Continue})
		for next, ok := c.nextRunning(); ok && !c.over && ctx.Err() == nil; next, ok = c.nextRunning() {
			_ = c.s.SelectCPU(next) // known to be running
			c.execute(ctx, move{step: c.s.Continue})
		}
	case here != nil:
		c.stopped(here)
	case c.args.stopOnEntry:
		c.stopped(st)
	default:
		c.execute(ctx, move{step: c.s.Continue, resume: true})
	}
}

// restart restarts the run, with new options (such as another kernel) if the client sends any.
func (c *conn) restart(ctx context.Context, m *dap.RestartRequest) error {
	if c.running {
		return errRunning
	}
	var given struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	args := c.args
	if len(m.Arguments) > 0 {
		if err := json.Unmarshal(m.Arguments, &given); err != nil {
			return worded.Error(err)
		}
	}
	if len(given.Arguments) > 0 {
		var err error
		if args, err = parseArguments(given.Arguments, c.launcher.Options); err != nil {
			return err
		}
	}
	if args.object != c.args.object || !slices.Equal(args.options, c.args.options) {
		if err := c.open(ctx, args); err != nil {
			return err
		}
		c.reinstall()
	} else {
		c.args = args
		c.s.Reset()
	}
	c.over, c.printed, c.handles, c.started = false, 0, nil, true
	c.answer(m, &dap.RestartResponse{})
	c.start(ctx)
	return nil
}

// ended reports whether the run is over.
func (c *conn) ended() bool { return c.s.State() == debug.Ended }
