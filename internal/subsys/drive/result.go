package drive

import (
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/event"
)

// Outcome is what a simulation of any kind did with programs.
type Outcome struct {
	// Ops is the name of the struct_ops variable, Name the one in it.
	Ops, Name string
	// Status is [machine.StatusOK] also for what ended otherwise than it should, which the rest of
	// the result tells. Err says why there was no simulation, or why it stops early.
	Status machine.Status
	Err    error
	// Fault is the run of a program that ended with a fault, and FaultOp its operation.
	Fault   *machine.Result
	FaultOp string
	// Trace are the lines that programs printed, DroppedTrace counts those beyond the limit.
	Trace        []string
	DroppedTrace int
	// Progs are the programs by operation, Insns the instructions of all their runs.
	Progs map[string]string
	Insns uint64
}

// maxTrace limits the lines that are kept.
const maxTrace = 10_000

func (r *Outcome) collect(res *machine.Result) {
	r.Insns += res.Insns
	room := min(maxTrace-len(r.Trace), len(res.Trace))
	r.Trace = append(r.Trace, res.Trace[:room]...)
	r.DroppedTrace += len(res.Trace) - room
}

// Of returns the result of the program that stands for all of them.
func (r *Outcome) Of(prog string, ran bool) *machine.Result {
	res := &machine.Result{Program: prog, Status: r.Status, Insns: r.Insns, Trace: r.Trace, Helpers: map[string]int{}, Ran: ran}
	if r.Fault != nil {
		res.Fault = r.Fault.Fault
	}
	return res
}

// Is returns an error that gives the result a status.
func Is(s machine.Status, err error) error { return &statusError{s, err} }

// statusError is an error with the status that it causes.
type statusError struct {
	status machine.Status
	err    error
}

// Error is the text of the cause.
func (e *statusError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *statusError) Unwrap() error { return e.err }

// RefusedError means that the kernel does not register one, or does not put it to use.
type RefusedError struct {
	Kind *Kind
	Ops  string
	Err  error
}

// Error names it and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the kernel refuses %s %s: %v", e.Kind.Name, e.Ops, e.Err)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// programError means that a program cannot run.
type programError struct {
	op, prog string
	status   machine.Status
	err      error
}

// Error names the operation, the program and the reason.
func (e *programError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("program %s (ops.%s) cannot run: it is %s", e.prog, e.op, e.status)
	}
	return fmt.Sprintf("program %s (ops.%s) cannot run: %v", e.prog, e.op, e.err)
}

// Unwrap returns the reason.
func (e *programError) Unwrap() error { return e.err }

// stoppedError means that a program was stopped during the simulation.
type stoppedError struct {
	op  string // "" for a callback
	res *machine.Result
}

// Error names the operation and the fault.
func (e *stoppedError) Error() string {
	where := "a timer's callback"
	if e.op != "" {
		where = "ops." + e.op + "()"
	}
	return fmt.Sprintf("%s was stopped: %v", where, e.res.Fault)
}

// refuse notes why there is no simulation: errors without a status of their own are the kernel's
// refusal.
func (r *Outcome) refuse(k *Kind, err error) {
	var known *statusError
	if errors.As(err, &known) {
		r.Status, r.Err = known.status, err
		return
	}
	r.Status, r.Err = machine.StatusRefused, &RefusedError{k, r.Ops, err}
}

// end notes how the simulation ended. It returns errors that are no part of a result: that of a
// context, or of the machine.
func (r *Outcome) end(err error) error {
	var stopped *stoppedError
	var known *statusError
	switch {
	case err == nil:
	case errors.As(err, &stopped):
		r.Status, r.Err, r.Fault, r.FaultOp = stopped.res.Status, err, stopped.res, stopped.op
	case errors.As(err, &known):
		r.Status, r.Err = known.status, err
	case errors.Is(err, event.ErrLimit):
		r.Status, r.Err = machine.StatusFault, err
	default:
		return err
	}
	return nil
}
