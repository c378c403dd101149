// Package pass runs the programs of an object once on one kernel, as bpfrun does when it is given
// an object and no command: the verifier's verdicts first, then schedulers, queueing disciplines
// and HID devices as wholes, and each other program with the input with which it gets furthest. The
// results go into a report's document.
//
// It knows in which order an object's programs run and what a default run is. It does not know
// command lines or how documents are shown. Start at [Run]; commands with flags of their own call
// its parts.
package pass

import "context"

// Interrupted means that the context of a run was cancelled.
type Interrupted struct{ While string }

// Error says what was interrupted.
func (e *Interrupted) Error() string { return "interrupted " + e.While }

// Unwrap returns [context.Canceled].
func (e *Interrupted) Unwrap() error { return context.Canceled }
