package main

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/exitcode"
)

const (
	exitOK           = exitcode.OK
	exitExpectation  = exitcode.Expectation
	exitUsage        = exitcode.Usage
	exitLoad         = exitcode.Load
	exitFault        = exitcode.Fault
	exitNotSimulated = exitcode.NotSimulated
	exitBug          = exitcode.Bug
	exitInterrupted  = exitcode.Interrupted
)

// usageError is an error in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }
func (e usageError) Exit() int     { return exitUsage }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// codeError is an error with its exit code.
type codeError struct {
	code int
	err  error
}

func (e codeError) Error() string { return e.err.Error() }
func (e codeError) Unwrap() error { return e.err }
func (e codeError) Exit() int     { return e.code }

// exitCode returns the exit code for an error that ends a command. Errors made by cobra (an unknown
// flag, a missing argument) are usage errors.
func exitCode(err error) int {
	if code, ok := exitcode.Of(err); ok {
		return code
	}
	return exitUsage
}
