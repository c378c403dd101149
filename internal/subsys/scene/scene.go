// Package scene is between scenario files and the subsystems that they simulate: the keys of a
// subsystem, how a run of it is read, checked, run and judged. Start from [Form], of which each
// subsystem has one in its row, and [Run]. It does not know any subsystem, and not what else is in
// a file.
package scene

import (
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/loader"
)

// Form is how scenario files write runs of a subsystem and what they expect of them.
type Form struct {
	// Member is the key of a run. Expect are the keys of its expectations, which may have several.
	Member grammar.Member
	Expect []grammar.Member
	// Parts and Judged are the forms below Member and below Expect, for the reference.
	Parts, Judged []*grammar.Form
	// Calls means that runs tell [Setting.Calls] of the programs that they call.
	Calls bool
	// Only lists the keys that a run may have beside Member, for simulations that call the
	// programs: such a run names none. Callers says what calls them, as in "the schedule".
	Only    []string
	Callers string
	// Without lists the keys that cannot be beside Member, for runs that name a program.
	Without []string
	// Missing says what a run has not of which something is expected: "the run has no schedule".
	Missing string
	// Decode reads the value of Member. A run is returned also with mistakes, unless nothing of it
	// can be read.
	Decode func(n *grammar.Node, f File) (Run, error)
}

// Key is the key of a run.
func (f *Form) Key() string { return f.Member.Name }

// Whole reports whether a run of it is a simulation instead of one program.
func (f *Form) Whole() bool { return f.Only != nil }

// Expects reports whether a key of expectations belongs to it.
func (f *Form) Expects(key string) bool {
	return slices.ContainsFunc(f.Expect, func(m grammar.Member) bool { return m.Name == key })
}

// Run is a run of a subsystem in a scenario file.
type Run interface {
	// Choose finds in an object what is run: the program that stands for it, and a name for the run
	// if it has none. Both are empty for runs that name a program.
	Choose(obj *loader.Object) (prog, name string, err error)
	// Check reports the mistakes that have nothing to do with what programs do.
	Check(s *Setting) error
	// Simulate runs it.
	Simulate(ctx context.Context, s *Setting) (*Outcome, error)
	// Judge compares what happened with what is expected of it. Outcome is nil while nothing has
	// run, and mistakes in the expectations are looked for.
	Judge(c *grammar.Checks, s *Setting, expect Expected, sim drive.Simulation) error
}

// Expected returns what is expected under a key, nil for nothing.
type Expected func(key string) *grammar.Node

// Outcome is what became of a run.
type Outcome struct {
	// Result is that of the program that stands for the run.
	Result     *machine.Result
	Simulation drive.Simulation
	// Err says why it did not run, or not to its end.
	Err error
}

// File reads values of a scenario file.
type File interface {
	// Bytes decodes hex digits, or reads @FILE.
	Bytes(what string, n *grammar.Node) ([]byte, error)
	// Packet decodes an expression such as eth/ip/udp or hex digits, or reads @FILE.
	Packet(what string, n *grammar.Node) ([]byte, error)
}

// Setting is what a run has besides its own form.
type Setting struct {
	File
	Machine *machine.Machine
	// Node is the value of the run's key, and Prog the program that the run names or that stands
	// for it.
	Node *grammar.Node
	Prog string
	// Input is what the run says about every program: the current task and the CPU.
	Input machine.Input
	// Objects are those of the file, in its order.
	Objects []Object
	// Calls, if not nil, is told of programs before they are called.
	Calls drive.Calls
}

// Object is an object of the file.
type Object struct {
	Name string
	// Tag is that of its definition, such as !sock.
	Tag string
	// Object is nil if it could not be created.
	Object *object.Object
}

// Named returns an object with a tag; ok is false if there is none.
func (s *Setting) Named(name, tag string) (o Object, ok bool) {
	for _, o := range s.Objects {
		if o.Name == name && o.Tag == tag {
			return o, true
		}
	}
	return Object{}, false
}

// ObjectNames are the names of the file's objects.
func (s *Setting) ObjectNames() []string {
	names := make([]string, len(s.Objects))
	for i, o := range s.Objects {
		names[i] = o.Name
	}
	return names
}
