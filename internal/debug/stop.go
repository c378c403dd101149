package debug

import (
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// Reason is the reason for a stop.
type Reason uint8

// Reasons to stop.
const (
	// Started: the program is at its first instruction.
	Started Reason = iota + 1
	// Stepped: a step was completed.
	Stepped
	// Returned: a function returned; Stop.Value is its return value.
	Returned
	// AtBreakpoint: the session is at one or more breakpoints.
	AtBreakpoint
	// AtWatchpoint: a watched value was read or changed.
	AtWatchpoint
	// Arrived: the requested place was reached.
	Arrived
	// Exited: the program ended.
	Exited
	// Faulted: the program was stopped by a fault.
	Faulted
	// Interrupted: the user interrupted the program.
	Interrupted
	// AtStart: the start of the run was reached, going backwards.
	AtStart
	// Waiting: the program waits for a lock that another CPU holds; Stop.Notes name the lock and
	// the CPU.
	Waiting
)

var reasonNames = [...]string{
	Started: "started", Stepped: "step", Returned: "returned", AtBreakpoint: "breakpoint", AtWatchpoint: "watchpoint", Arrived: "arrived",
	Exited: "exited", Faulted: "fault", Interrupted: "interrupted", AtStart: "start of the run", Waiting: "waiting",
}

// String returns the reason in a word or two.
func (r Reason) String() string {
	if int(r) < len(reasonNames) && reasonNames[r] != "" {
		return reasonNames[r]
	}
	return "?"
}

// Stop describes the outcome of executing something.
type Stop struct {
	Reason Reason
	// CPU is the CPU on which the stop happened, which is now the selected one.
	CPU int
	// Pos is the number of instructions executed before the stop.
	Pos   uint64
	Place Place
	// Breakpoints are the breakpoints that stopped the program.
	Breakpoints []*Breakpoint
	// Watches are the watchpoint hits that stopped the program.
	Watches []WatchHit
	// Result is the result of the run, once it has ended.
	Result *machine.Result
	// Value is r0 of a function that returned, typed if its return type is known.
	Value *expr.Value
	// Notes are further remarks, in sentences.
	Notes []string
	// Err is the error from evaluating a breakpoint's condition here.
	Err error
}

func (s *Session) stopped(r Reason) *Stop {
	st := &Stop{Reason: r, CPU: s.cpu, Pos: s.Pos(), Place: s.Here()}
	if s.state == Ended {
		st.Result = s.result
	}
	return st
}
