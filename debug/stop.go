package debug

import (
	"github.com/bpfrun/bpfrun/debug/expr"
	"github.com/bpfrun/bpfrun/machine"
)

// Reason explains why a session stands where it does.
type Reason uint8

// Reasons to stop.
const (
	// Started: the program is at its first instruction.
	Started Reason = iota + 1
	// Stepped: a step was completed.
	Stepped
	// Returned: a function was finished; Stop.Value is what it returned.
	Returned
	// AtBreakpoint: one or more breakpoints are here.
	AtBreakpoint
	// AtWatchpoint: a watched value was read or changed.
	AtWatchpoint
	// Arrived: the place asked for was reached.
	Arrived
	// Exited: the program ended.
	Exited
	// Faulted: the program was stopped for what it did.
	Faulted
	// Interrupted: the user stopped it.
	Interrupted
	// AtStart: going backwards, the start of the run was reached.
	AtStart
	// Waiting: the program waits for a lock that another CPU holds; Stop.Notes name both.
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

// Stop is what happened when something was executed.
type Stop struct {
	Reason Reason
	// CPU is the one that the session looks at now: that on which it happened.
	CPU int
	// Pos is the number of instructions executed before the place.
	Pos   uint64
	Place Place
	// Breakpoints are those that stopped the program.
	Breakpoints []*Breakpoint
	// Watches are the watchpoints that stopped the program, with what they saw.
	Watches []WatchHit
	// Result is what the run did when it ended.
	Result *machine.Result
	// Value is r0 of a finished function, typed when its return type is known.
	Value *expr.Value
	// Notes say what else happened, in sentences.
	Notes []string
	// Err is why a condition of a breakpoint here could not be decided.
	Err error
}

func (s *Session) stopped(r Reason) *Stop {
	st := &Stop{Reason: r, CPU: s.cpu, Pos: s.Pos(), Place: s.Here()}
	if s.state == Ended {
		st.Result = s.result
	}
	return st
}
