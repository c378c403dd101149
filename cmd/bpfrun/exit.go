package main

import (
	"errors"
	"fmt"
	"slices"
)

// Exit codes, the same in JSON.
const (
	exitOK           = 0
	exitExpectation  = 1   // an expectation failed
	exitUsage        = 2   // the command line is wrong
	exitLoad         = 3   // the object would not load on that kernel
	exitFault        = 4   // the program did what the kernel forbids at run time
	exitNotSimulated = 5   // met something that is not simulated
	exitBug          = 70  // a bug in bpfrun
	exitInterrupted  = 130 // SIGINT, as shells report it
)

// precedence orders the exit codes: of several, the first one wins.
var precedence = []int{exitBug, exitUsage, exitLoad, exitFault, exitNotSimulated, exitExpectation, exitOK}

// worse returns the exit code that wins of two.
func worse(a, b int) int {
	if slices.Index(precedence, b) < slices.Index(precedence, a) {
		return b
	}
	return a
}

// usageError is a wrong command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// codeError carries an error with the exit code it causes.
type codeError struct {
	code int
	err  error
}

func (e codeError) Error() string { return e.err.Error() }
func (e codeError) Unwrap() error { return e.err }

// exitCode is the code of an error that ends a command. Errors cobra makes itself (an unknown
// flag, a missing argument) are usage errors.
func exitCode(err error) int {
	var c codeError
	if errors.As(err, &c) {
		return c.code
	}
	return exitUsage
}
