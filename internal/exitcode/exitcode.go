// Package exitcode defines the exit codes of bpfrun, which JSON output also uses, and their
// precedence.
package exitcode

import (
	"errors"
	"slices"
)

// Exit codes.
const (
	OK           = 0
	Expectation  = 1   // an expectation failed
	Usage        = 2   // the command line is wrong
	Load         = 3   // the object would not load on that kernel
	Fault        = 4   // the program did what the kernel forbids at run time
	NotSimulated = 5   // a program used something that is not simulated
	Bug          = 70  // a bug in bpfrun
	Interrupted  = 130 // SIGINT, as shells report it
)

// Precedence orders the exit codes: of several, the first one wins.
var Precedence = []int{Bug, Usage, Load, Fault, NotSimulated, Expectation, OK}

// Worse returns the exit code that takes precedence.
func Worse(a, b int) int {
	if slices.Index(Precedence, b) < slices.Index(Precedence, a) {
		return b
	}
	return a
}

// Coded is an error with an exit code.
type Coded interface {
	error
	Exit() int
}

// Of returns the exit code of an error or of one that it wraps; ok is false if there is none.
func Of(err error) (code int, ok bool) {
	var c Coded
	if !errors.As(err, &c) {
		return 0, false
	}
	return c.Exit(), true
}
