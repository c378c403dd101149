package race

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine/finding"
)

// Finding is an order whose outcome no sequential order has, or another mistake that an order
// shows.
type Finding struct {
	Kind finding.Kind
	// Benign findings are listed, but are no failure: statistics that may lose a count.
	Benign bool
	// Actors are those of the order.
	Actors []Actor
	// Text says what is wrong, in the user's terms.
	Text string
	// Sides are the instructions that interfere, in the order in which they were executed.
	Sides []Side
	// Differs is what the order leads to, and what the sequential orders do.
	Differs []Difference
	// Advice says what can be done.
	Advice []string
	// Trail are the actors of all steps of the order; Turns is the same in instructions.
	Trail []uint8
	Turns []Turn
	// whole names what the finding is about as a whole, if its instructions do not matter: one
	// element that is written in many pieces.
	whole string
	// After means that each program had run before.
	After bool
	// Before are programs that had run before, Inputs what differs from the default inputs, in
	// words.
	Before, Inputs []string
	// Earlier are the calls of a simulation before the actors, if the finding can be repeated without
	// that.
	Earlier []Earlier
	// Assumes is what is not known of the kernel, and was taken to be so.
	Assumes []string
	// Preemptions is how often an actor that could go on was interrupted.
	Preemptions int
}

// Side is an instruction of an actor that interferes with another's.
type Side struct {
	Actor   int
	Program string
	Insn    int
	CPU     int
	// Source is "file:line:col" and Line the text of that line; both are empty without line
	// information.
	Source, Line string
	// What it does: "reads hits.count = 3".
	What string
}

// silenced reports whether one of list silences the finding.
func (f *Finding) silenced(list []finding.Ignore) bool {
	return finding.Silenced(list, f.Kind, "") || slices.ContainsFunc(f.Sides, func(s Side) bool { return finding.Silenced(list, f.Kind, s.Program) })
}

// Difference is one thing that an outcome consists of.
type Difference struct {
	What string
	// Here is what the order leads to; Sequential are the values that sequential orders lead to.
	Here       string
	Sequential []string
}

// Turn is how many instructions an actor executes before another one does.
type Turn struct {
	Actor int
	Insns uint64
}

// About identifies the mistake that a finding is about: in several races it is the same one.
func (f *Finding) About() string {
	if f.Kind == finding.Invariant {
		return f.about() + " " + f.Text
	}
	return f.about()
}

// about identifies what a finding is about: its kind and the places, whatever their order.
func (f *Finding) about() string {
	if f.whole != "" {
		return string(f.Kind) + " " + f.whole
	}
	var at []string
	for _, p := range f.Sides {
		if f.Kind == finding.Deadlock && p.What == interruptedHere {
			continue // wherever that is
		}
		place := fmt.Sprintf("%s %s", p.Program, p.Source)
		if p.Source == "" {
			place = fmt.Sprintf("%s %d", p.Program, p.Insn)
		}
		at = append(at, place)
	}
	slices.Sort(at)
	return string(f.Kind) + " " + strings.Join(slices.Compact(at), "|")
}
