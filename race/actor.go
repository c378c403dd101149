package race

import (
	"fmt"

	"github.com/bpfrun/bpfrun/machine"
)

// Actor is a program on a CPU with its input.
type Actor struct {
	// Name is what reports call it; empty: that of the program.
	Name    string
	Program string
	Input   machine.Input
	// Over is the actor that this one interrupts, on its CPU; -1 for none. It begins at any point of that one and ends before that goes on.
	Over int
	// Enters is how it does that.
	Enters Entry
}

// label returns the name that reports use.
func (a *Actor) label() string {
	if a.Name != "" {
		return a.Name
	}
	return a.Program
}

// NotRunnableError means that an actor's program cannot run.
type NotRunnableError struct {
	Program string
	Status  machine.Status
	Err     error
}

// Error names the program and the reason.
func (e *NotRunnableError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Program, e.Status, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Program, e.Status)
}

// Unwrap returns the reason.
func (e *NotRunnableError) Unwrap() error { return e.Err }
