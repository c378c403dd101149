// Package result is what the suites report: how many tests passed, how each of the others failed,
// and which line of an input is wrong. It knows none of the suites.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package result

import (
	"fmt"
	"io"
)

// Failure describes a test that failed.
type Failure struct {
	ID   string
	What string // the difference
}

// Result counts tests that passed and failed.
type Result struct {
	Passed, Failed int
	Failures       []Failure
}

// Summary returns the last line of a report: "N passed, M failed".
func (r *Result) Summary() string { return fmt.Sprintf("%d passed, %d failed", r.Passed, r.Failed) }

// Add counts a test, and writes a line about it to w if it failed: what is then the difference, and
// "" otherwise.
func (r *Result) Add(w io.Writer, id, what string) {
	if what == "" {
		r.Passed++
		return
	}
	r.Failed++
	r.Failures = append(r.Failures, Failure{id, what})
	fmt.Fprintf(w, "%s: %s\n", id, what)
}

// InputError is an error in one line of an input.
type InputError struct {
	Name string // name of the input
	Line int    // counted from 1
	Err  error
}

// Error returns the cause, prefixed with file and line.
func (e *InputError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }
