package race

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// Actor is a program on a CPU with its input, or a thread of user space.
type Actor struct {
	// Name is what reports call it; empty: that of the program.
	Name    string
	Program string
	Input   machine.Input
	// User are the steps of a thread of user space, instead of a program.
	User []UserStep
	// Callback makes it a callback of the program, which begins once it is armed: before the race,
	// or by another actor. It runs at most once.
	Callback *Callback
	// Over is the actor that this one interrupts, on its CPU; -1 for none. It begins at any point
	// of that one and ends before that goes on.
	Over int
	// Enters is how it does that.
	Enters Entry
	// Within is the operation of a simulation that it is; nil for a program by itself.
	Within *Within
	// given means that its input is one that a user wrote.
	given bool
	// further is what gets the program further, besides Input; nil for nothing.
	further *furtherInput
	// twins are the objects of its own that [Apart] gave it; nil for none.
	twins *twins
}

// label returns the name that reports use.
func (a *Actor) label() string {
	switch {
	case a.Name != "":
		return a.Name
	case a.User != nil:
		return "user space"
	case a.Callback != nil:
		return a.Callback.Function
	}
	return a.Program
}

// Names returns the names of actors so that they differ: "count", "count#2".
func Names(actors []Actor) []string {
	out, seen := make([]string, len(actors)), map[string]int{}
	for i := range actors {
		name := actors[i].label()
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s#%d", name, seen[name])
		}
		out[i] = name
	}
	return out
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

// TooManyActorsError means that there are more actors than a model of memory is made for.
type TooManyActorsError struct{ Actors, Most int }

// Error says how many there may be.
func (e *TooManyActorsError) Error() string {
	return fmt.Sprintf("%d actors: with this memory at most %d can be explored", e.Actors, e.Most)
}
