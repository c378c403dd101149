package debug

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// Config describes how a session is set up.
type Config struct {
	// Machine configures the simulated machine.
	Machine machine.Config
	// Input is what programs are run with.
	Input machine.Input
	// ELF is the object file, for its DWARF; without it there are no local variables.
	ELF []byte
	// SourceDirs are directories in which source files are looked for.
	SourceDirs []string
	// SourceMap replaces the beginnings of the names of source files, before directories are searched.
	SourceMap []SourceMapping
	// Kernel makes the machine for another kernel, for SwitchKernel; nil when there is no way to.
	Kernel func(ctx context.Context, name string) (Target, error)
}

// SourceMapping describes where files that were compiled under From are now.
type SourceMapping struct{ From, To string }

// State describes what a session can do now.
type State uint8

const (
	// Idle: no program was started.
	Idle State = iota
	// Running: a program was started and stands before one of its instructions.
	Running
	// Ended: the program ended or faulted; it can be run backwards from there.
	Ended
)

// Errors of a session; test with errors.Is.
var (
	// ErrIdle: the command needs a program that was started.
	ErrIdle = errors.New("no program is running (start one with run)")
	// ErrEnded: the command needs a program that has not ended.
	ErrEnded = errors.New("the program has ended (reverse commands and restart work)")
	// ErrRange: a position that the run does not have.
	ErrRange = errors.New("the run has no such instruction")
)

// Session debugs the programs of one linked object on one machine. It is not safe for concurrent use, but
// for the context given to what executes.
type Session struct {
	cfg    Config
	linked *loader.Linked
	m      *machine.Machine
	fresh  *machine.Snapshot // before any run

	state  State
	prog   string
	in     machine.Input
	fields map[string]uint64 // set in the context
	cases  []Case
	// caseName is the case that was started last, "" for a program.
	caseName string
	start    *machine.Snapshot // before the current run
	run      *machine.Session
	result   *machine.Result // of the run when it ended
	end      uint64          // position of the end, 0 while not known
	edits    []edit
	done     int               // edits applied so far in the current pass
	ways     []way             // states on the way, by position; the first is the start
	clean    *machine.Snapshot // the run's own state, while looking added to it
	lastAt   spot              // the instruction that was executed last
	// changing means that an assignment is being made, which stays.
	changing bool
	stored   stored // by the last assignment

	// Tracing is what OnTrace is told of, when something is executed forwards.
	Tracing    Tracing
	OnTrace    func(Traced)
	tracedLine lineKey

	// Reverse is the direction of Step, Next, Finish, Until and Continue.
	Reverse bool

	frame    int // activation, as the processor counts
	inline   int // function inlined in it, 0 for the innermost
	spy      *watching
	packets  [][]byte // of a capture
	packetNo int
	code     map[*loader.LinkedProgram]*code
	breaks   []*Breakpoint
	watches  []*Watch
	marks    []Checkpoint
	nextPt   int
	hits     []mem.Hit
	history  []*Value
	dwarf    *dwarfInfo
	dwarfErr error
	sources  map[string]source
	basic    *basicTypes
}

// New makes a session for a linked object. Nothing runs before [Session.Start].
func New(l *loader.Linked, cfg Config) (*Session, error) {
	m, err := machine.New(l, cfg.Machine)
	if err != nil {
		return nil, err
	}
	return NewOn(Target{Machine: m}, cfg)
}

// Close releases the machine.
func (s *Session) Close() { s.m.Close() }

// Machine returns the machine the session drives, to look at. What changes it behind the session's back is lost when the run
// goes backwards.
func (s *Session) Machine() *machine.Machine { return s.m }

// Linked returns the object.
func (s *Session) Linked() *loader.Linked { return s.linked }

// State returns what the session can do now.
func (s *Session) State() State { return s.state }

// Program returns the name of the program that was started last, "" before.
func (s *Session) Program() string { return s.prog }

// Result returns what the run did when it ended, nil before.
func (s *Session) Result() *machine.Result { return s.result }

// Pos returns how many instructions of the run were executed.
func (s *Session) Pos() uint64 {
	if s.state == Idle {
		return 0
	}
	return s.run.Insns()
}

// StatusError is why a program cannot be started.
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

// DefaultProgram returns the program that Start takes for "": the first one that can be run.
func (s *Session) DefaultProgram() string {
	if s.prog != "" {
		return s.prog
	}
	for _, name := range s.m.Names() {
		if _, ok := s.m.ImageOf(name); ok {
			return name
		}
	}
	return ""
}

// SetInput replaces what programs are run with from the next Start on.
func (s *Session) SetInput(in machine.Input) { s.in = in }

// Input returns what programs are run with.
func (s *Session) Input() machine.Input { return s.in }

// Start begins a run of a program, "" for the one started last or the first. Maps, global variables and simulated time
// are as earlier runs of the session left them; a run that is still going on is dropped and has never been. The error is a
// *[StatusError] when the program cannot be run.
func (s *Session) Start(prog string) (*Stop, error) {
	return s.StartContext(context.Background(), prog)
}

// StartContext is Start of a program or a case by name. The context interrupts what comes before a case.
func (s *Session) StartContext(ctx context.Context, name string) (*Stop, error) {
	c, prog, err := s.chosen(name)
	if err != nil {
		return nil, err
	}
	s.unlook()
	if s.state == Running {
		s.leave()
		s.m.Restore(s.start)
		s.state = Idle
	}
	if err := s.stage(ctx, c, prog); err != nil {
		return nil, err
	}
	s.edits, s.marks, s.ways, s.result, s.end = nil, nil, nil, nil, 0
	s.state = Idle
	s.start = s.m.Snapshot()
	if err := s.begin(); err != nil {
		s.m.Restore(s.start)
		return nil, err
	}
	return s.stopped(Started), nil
}

// Restart goes back to the first instruction of the run.
func (s *Session) Restart() (*Stop, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	s.unlook()
	s.rewind()
	s.applyEdits()
	return s.stopped(Started), nil
}

// Reset puts the machine into the state before the first run of the session.
func (s *Session) Reset() {
	s.unlook()
	s.leave()
	s.m.Restore(s.fresh)
	s.state, s.edits, s.marks, s.ways, s.result, s.end, s.start = Idle, nil, nil, nil, nil, 0, nil
}

func (s *Session) leave() {
	if s.run != nil {
		s.run.Leave()
		s.run = nil
	}
}

// begin starts the run.
func (s *Session) begin() error {
	s.done, s.hits = 0, nil
	s.select0()
	run, res, err := s.m.Begin(s.prog, s.in)
	if err != nil {
		return err
	}
	if run == nil {
		return &StatusError{s.prog, res.Status, s.m.ProgramError(s.prog)}
	}
	for name, v := range s.fields {
		if !run.Context().SetField(name, v) {
			run.Leave()
			return fmt.Errorf("field %s of the context cannot be set", name)
		}
	}
	s.run, s.state = run, Running
	s.rewatch()
	s.keep()
	return nil
}

// select0 selects the innermost frame.
func (s *Session) select0() { s.frame, s.inline = 0, 0 }

// rewind goes to the first instruction.
func (s *Session) rewind() { s.resume(&s.ways[0]) }

// GoTo moves to the place after the first n instructions of the run, in either direction.
func (s *Session) GoTo(ctx context.Context, n uint64) (*Stop, error) {
	switch {
	case s.state == Idle:
		return nil, ErrIdle
	case s.end != 0 && n > s.end:
		return nil, fmt.Errorf("%w: %d, it ended after %d", ErrRange, n, s.end)
	}
	if err := s.goTo(ctx, n); err != nil {
		return nil, err
	}
	if s.state == Ended {
		return s.stopped(s.endReason()), nil
	}
	if s.Pos() < n {
		return nil, fmt.Errorf("%w: %d", ErrRange, n)
	}
	return s.stopped(Arrived), nil
}

// goTo moves to position n, or to the end when the run ends before.
func (s *Session) goTo(ctx context.Context, n uint64) error {
	s.unlook()
	back := n < s.Pos() || s.state == Ended && n < s.end
	if w := s.wayTo(n); back || s.state == Running && w.pos > s.Pos() {
		s.resume(w)
	}
	return s.advance(ctx, n)
}

// chunk is how many instructions are executed before the context is looked at again.
const chunk = 1 << 20

// advance executes up to position n without stopping at breakpoints and watchpoints.
func (s *Session) advance(ctx context.Context, n uint64) error {
	for s.state == Running && s.Pos() < n {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.applyEdits()
		switch s.run.Run(min(n-s.Pos(), s.untilEdit(), chunk)) {
		case vm.Done, vm.Faulted:
			s.ended()
		}
	}
	s.hits = s.hits[:0]
	return nil
}

// ended notes that the run is over. What an earlier pass found stays the result of the run.
func (s *Session) ended() {
	s.result = s.run.Finish()
	s.end = s.Pos()
	s.state, s.frame = Ended, 0
}

// live reports whether there are activations to look at: the program runs, or was stopped for what it did.
func (s *Session) live() bool {
	return s.state == Running || s.state == Ended && s.result.Fault != nil
}

func (s *Session) endReason() Reason {
	if s.result != nil && s.result.Fault != nil {
		return Faulted
	}
	return Exited
}

// Checkpoint is a marked position of the run.
type Checkpoint struct {
	ID   int
	Pos  uint64
	Note string // where that is, for lists
	seen *view
}

// Mark makes a checkpoint of the position.
func (s *Session) Mark() (Checkpoint, error) {
	if s.state == Idle {
		return Checkpoint{}, ErrIdle
	}
	c := Checkpoint{ID: len(s.marks) + 1, Pos: s.Pos(), Note: s.Here().String(), seen: s.see()}
	if s.state == Ended {
		c.Note = "end of the run"
	}
	s.marks = append(s.marks, c)
	return c, nil
}

// Checkpoints returns the checkpoints of the run.
func (s *Session) Checkpoints() []Checkpoint { return slices.Clone(s.marks) }

// Checkpoint returns a checkpoint by number.
func (s *Session) Checkpoint(id int) (Checkpoint, bool) {
	if id < 1 || id > len(s.marks) {
		return Checkpoint{}, false
	}
	return s.marks[id-1], true
}

// look prepares for reading memory that may come into being when it is read: the state is recorded, and comes
// back before anything is executed or changed.
func (s *Session) look() {
	if s.clean == nil {
		s.clean = s.m.Snapshot()
	}
}

// unlook takes back what looking brought into being.
func (s *Session) unlook() {
	if s.clean != nil {
		s.m.Restore(s.clean)
		s.clean = nil
		s.rewatch()
	}
}
