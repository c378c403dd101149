package drive

import "github.com/bpfrun/bpfrun/internal/machine"

// Call is an operation that a simulation is about to call.
type Call struct {
	// Name is what reports call it: "enqueue".
	Name    string
	Program string
	Input   machine.Input
	// About are the addresses of what it is about: a kernel does not call two operations about the
	// same thing at the same time.
	About []uint64
	// Step, from 1, is what it is part of in a simulation that knows no CPUs: calls of one step come
	// one after the other, and each step can be on any CPU. 0 is a call on the CPU of Input.
	Step int
	// World is what operations act on besides the machine, nil for nothing.
	World World
	// Elsewhere are operations that another CPU may be in at the same time. If there are none, other
	// CPUs may be in those that the simulation called before.
	Elsewhere []Call
}

// World is what operations of a simulation act on besides the machine: the queues and CPUs of a
// schedule, for example.
type World interface {
	// Save notes the state; the function that it returns brings it back, any number of times.
	Save() (restore func())
	// Operation is what belongs to the running operation alone; SetOperation makes another one the
	// running one.
	Operation() any
	SetOperation(any)
	// Touches reports whether a kernel function accesses what operations share, and whether it
	// changes that.
	Touches(kfunc string) (shared, writes bool)
}

// Calls is told of operations before they are called. It may run programs if it leaves machine and
// simulation as they were; an error of it ends the simulation.
type Calls func(*Call) error
