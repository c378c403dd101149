package debug

import (
	"context"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Config configures a session.
type Config struct {
	// Machine configures the simulated machine.
	Machine machine.Config
	// Input is the input of the programs.
	Input machine.Input
	// ELF is the object file, for its DWARF; without it, local variables are not available.
	ELF []byte
	// SourceDirs are the directories searched for source files.
	SourceDirs []string
	// SourceMap replaces the leading directories of source file names before SourceDirs are
	// searched.
	SourceMap []SourceMapping
	// Kernel sets up the machine for another kernel, for SwitchKernel; nil disables switching.
	Kernel func(ctx context.Context, name string) (Target, error)
}

// SourceMapping maps files compiled under From to their current location under To.
type SourceMapping struct{ From, To string }

// Session debugs the programs of one linked object on one machine. It is not safe for concurrent
// use, except for canceling the contexts of its methods.
type Session struct {
	*subject
	*codeMap
	*expr.Types
	*expr.Memory
	*expr.Values
	*expr.Printer
	*expr.Evaluator
	*timeline
	*launch
	*selection
	*frames
	*stops
	*namer
	*inspector
	*checkpoints
	*tracing

	cfg   Config
	fresh *machine.Snapshot // before any run

	// Reverse is the direction of Step, Next, Finish, Until and Continue.
	Reverse bool
}

// compose creates the components of a session; install fills them.
func compose(cfg Config) *Session {
	s := &Session{cfg: cfg, subject: &subject{}, selection: &selection{}}
	s.codeMap = &codeMap{subject: s.subject, dirs: cfg.SourceDirs, moved: cfg.SourceMap}
	s.Evaluator = expr.NewEvaluator()
	s.Printer = s.Evaluator.Printer
	s.Values = s.Printer.Values
	s.Types, s.Memory = s.Values.Types, s.Values.Memory
	s.timeline = &timeline{subject: s.subject, Memory: s.Memory, selection: s.selection, lane: &lane{cpu: cfg.Input.CPU}}
	s.clearLanes()
	s.launch = &launch{subject: s.subject, base: cfg.Input, in: cfg.Input}
	s.frames = &frames{subject: s.subject, codeMap: s.codeMap, Printer: s.Printer, timeline: s.timeline, selection: s.selection, seed: cfg.Machine.Seed}
	s.stops = &stops{subject: s.subject, Memory: s.Memory, codeMap: s.codeMap, Values: s.Values, Printer: s.Printer, Evaluator: s.Evaluator, timeline: s.timeline, selection: s.selection, frames: s.frames}
	s.namer = &namer{subject: s.subject, Memory: s.Memory, codeMap: s.codeMap, timeline: s.timeline, selection: s.selection, Printer: s.Printer, frames: s.frames, defaults: cfg.Machine.Mode == object.ModeDefault}
	s.inspector = &inspector{subject: s.subject, Memory: s.Memory, codeMap: s.codeMap, Values: s.Values, Printer: s.Printer, Evaluator: s.Evaluator, timeline: s.timeline, selection: s.selection, frames: s.frames, launch: s.launch}
	s.checkpoints = &checkpoints{subject: s.subject, frames: s.frames}
	s.tracing = &tracing{subject: s.subject, codeMap: s.codeMap, timeline: s.timeline, Printer: s.Printer, selection: s.selection, frames: s.frames, inspector: s.inspector, namer: s.namer}
	// Components use those listed after them only through these.
	s.Values.Now = s.timeline
	s.Evaluator.Scope = s.frames
	s.Printer.Code = s.codeMap
	s.Memory.AfterFault = func() bool { return s.state == Ended && s.result.Fault != nil }
	s.Memory.Refresh = s.stops.rewatch
	s.timeline.assign = func(text string) { _, _ = s.AssignNow(text) }
	return s
}

// New creates a session for a linked object. Nothing runs before [Session.Start].
func New(l *loader.Linked, cfg Config) (*Session, error) {
	m, err := machine.New(l, cfg.Machine)
	if err != nil {
		return nil, err
	}
	return NewOn(Target{Machine: m}, cfg)
}

// Close releases the machine.
func (s *Session) Close() { s.m.Close() }

// Machine returns the session's machine, for inspection only. Changes made outside the session are
// lost when the run goes backwards.
func (s *Session) Machine() *machine.Machine { return s.m }

// Linked returns the object.
func (s *Session) Linked() *loader.Linked { return s.linked }

// StatusError explains why a program cannot be started.
type StatusError struct {
	Program string
	Status  machine.Status
	Err     error
}

// Error names the program, its status and the reason.
func (e *StatusError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s cannot be run: %s", e.Program, e.Status)
	}
	return fmt.Sprintf("%s cannot be run: %s: %v", e.Program, e.Status, e.Err)
}

// Unwrap returns the reason.
func (e *StatusError) Unwrap() error { return e.Err }

// Start begins a run of a program, "" for the one started last or the first. Maps, global variables
// and simulated time are as earlier runs of the session left them. A run in progress is undone,
// unless programs on other CPUs are still running: then the program joins their run. The error is a
// *[StatusError] if the program cannot be run.
func (s *Session) Start(prog string) (*Stop, error) {
	return s.StartContext(context.Background(), prog)
}

// StartContext is Start for a program or case by name. The context interrupts the setup of a case.
func (s *Session) StartContext(ctx context.Context, name string) (*Stop, error) {
	c, prog, err := s.chosen(name)
	if err != nil {
		return nil, err
	}
	s.Unlook()
	if s.othersRunning() {
		return s.beginOnCPU(c, prog)
	}
	running := s.state == Running
	s.leave()
	if running {
		s.m.Restore(s.start)
	}
	if err := s.stage(ctx, c, prog); err != nil {
		return nil, err
	}
	s.edits, s.marks, s.ways, s.end = nil, nil, nil, 0
	s.start = s.m.Snapshot()
	if err := s.begin(); err != nil {
		s.m.Restore(s.start)
		return nil, err
	}
	if s.together != nil {
		s.follow(s.together)
		s.applyEdits()
	}
	return s.stopped(Started), nil
}

// Restart goes back to the first instruction of the run.
func (s *Session) Restart() (*Stop, error) {
	if s.state == Idle && !s.several {
		return nil, ErrIdle
	}
	s.Unlook()
	s.rewind()
	s.applyEdits()
	s.face()
	return s.stopped(Started), nil
}

// Reset restores the machine's state from before the session's first run.
func (s *Session) Reset() {
	s.Unlook()
	s.leave()
	s.m.Restore(s.fresh)
	s.edits, s.marks, s.ways, s.end, s.start = nil, nil, nil, 0, nil
	_ = s.m.Kernel().SetCPU(s.cpu) // checked when it was selected
}

// begin starts the run.
func (s *Session) begin() error {
	s.done, s.hits = 0, nil
	s.lane.cpu = s.in.CPU
	if err := s.beginLane(&beginning{s.prog, s.in, s.fields}); err != nil {
		return err
	}
	s.rewatch()
	s.keep()
	return nil
}

// GoTo moves to the position after the first n instructions of the run, in either direction.
func (s *Session) GoTo(ctx context.Context, n uint64) (*Stop, error) {
	switch {
	case s.state == Idle && !s.several:
		return nil, ErrIdle
	case s.end != 0 && n > s.end:
		return nil, fmt.Errorf("%w: %d, it ended after %d", ErrRange, n, s.end)
	}
	if err := s.goTo(ctx, n); err != nil {
		return nil, err
	}
	if s.several { // including the programs that were started at this position
		s.applyEdits()
		s.face()
	}
	if s.state == Ended && (!s.several || s.Pos() <= n) {
		return s.stopped(s.endReason()), nil
	}
	if s.Pos() < n {
		return nil, fmt.Errorf("%w: %d", ErrRange, n)
	}
	return s.stopped(Arrived), nil
}
