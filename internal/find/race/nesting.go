package race

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// Kernel is what decides which programs can interrupt each other.
type Kernel struct {
	Version uint32
	// Preemptible: the kernel switches to another task in the middle of what runs in it.
	Preemptible bool
}

// Entry is how a program gets to run in the middle of another one.
type Entry uint8

const (
	// ByTask: the kernel switches to another task.
	ByTask Entry = iota
	// ByInterrupt: an interrupt, or what the kernel does at the end of one.
	ByInterrupt
	// ByNMI: an interrupt that cannot be disabled.
	ByNMI
)

// String says how, as words: "by another task".
func (e Entry) String() string {
	return [...]string{"by another task", "in an interrupt", "in an NMI"}[e]
}

// role is a program, or one of its callbacks, with an input that a user wrote or the default one.
type role struct {
	lp       *loader.LinkedProgram
	callback *Callback
	given    *Given
}

// name is what reports call it.
func (r role) name() string {
	a := r.actor()
	return a.label()
}

// actor makes an actor of it.
func (r role) actor() Actor {
	a := Actor{Program: r.lp.Name, Callback: r.callback, Over: -1}
	if r.given != nil {
		a.Input, a.given = r.given.Input, true
		if a.Input.CPU = 0; r.callback == nil {
			a.Name = r.given.Name
		}
	}
	return a
}

// placeOf returns where a program or a callback runs; masked means with interrupts disabled.
func placeOf(r role) (p progtype.Place, masked, ok bool) {
	if r.callback != nil {
		return placeOfCallback(r.callback.Kind), false, true
	}
	lp := r.lp
	p, ok = progtype.PlaceOf(lp.Type, lp.Attach, lp.Section)
	if ok && lp.AttachProg == nil {
		p, masked = p.At(lp.Section, lp.AttachTo)
	}
	return p, masked, ok
}

// assumed says where a program is taken to run if that is not known; empty if it is.
func (r role) assumed() string {
	p, ok := progtype.PlaceOf(r.lp.Type, r.lp.Attach, r.lp.Section)
	if !ok || r.callback != nil || r.lp.AttachProg != nil || !p.Unsure(r.lp.Section, r.lp.AttachTo) {
		return ""
	}
	p, _, _ = placeOf(r)
	return fmt.Sprintf("where the kernel reaches %s is not known: taken to be %s", r.lp.AttachTo, contexts(&p))
}

// Word is the entry as one word: "task", "interrupt", "nmi".
func (e Entry) Word() string { return entryWords[e] }

var entryWords = []string{ByTask: "task", ByInterrupt: "interrupt", ByNMI: "nmi"}

// ParseEntry reads a word that [Entry.Word] returns.
func ParseEntry(word string) (Entry, bool) {
	i := slices.Index(entryWords, word)
	return Entry(max(i, 0)), i >= 0
}

// EntryWords lists the words.
func EntryWords() []string { return slices.Clone(entryWords) }

// interrupted returns how a program gets to run in the middle of another one on the same CPU; false
// if it cannot.
func interrupted(over, by role, k Kernel) (Entry, bool) {
	o, masked, ok1 := placeOf(over)
	b, _, ok2 := placeOf(by)
	if !ok1 || !ok2 {
		return 0, false
	}
	v := since.Of(k.Version)
	if g := o.Guards(v); g == progtype.AllTracing && b.Guards(v) == progtype.AllTracing || g == progtype.OwnGuard && over.lp == by.lp && over.callback == by.callback {
		return 0, false
	}
	switch {
	case b.NMI && !o.NMI:
		return ByNMI, true
	case masked:
		return 0, false
	case b.HardIRQ && !o.NMI, b.SoftIRQ && o.Task:
		return ByInterrupt, true
	case b.Task && o.Task && k.Preemptible && (o.Preemptible(v) || over.sleeps()):
		return ByTask, true
	}
	return 0, false
}

// sleeps reports whether the role is a program that may sleep: nothing keeps another task from
// running meanwhile (__bpf_prog_enter_sleepable).
func (r role) sleeps() bool { return r.callback == nil && r.lp.Sleepable }

// nested lists how one program runs in the middle of another.
func nested(tasks *otherTasks, over, by role, k Kernel) []Meeting {
	return nestedActors(tasks.m, over, by, over.actor(), by.actor(), tasks.of(over.lp, by.lp), k)
}

// nestedActors is nested for actors that are roles with inputs of their own; second is another task.
func nestedActors(m *machine.Machine, over, by role, a, b Actor, second *object.Object, k Kernel) []Meeting {
	entry, ok := interrupted(over, by, k)
	if !ok {
		return nil
	}
	b.Over, b.Enters = 0, entry
	if entry == ByTask {
		b.Input.Current = besides(m, b.Input.Current, a.Input.Current, second)
	} else {
		b.Input.Current = a.Input.Current // it runs in the task that it interrupts
	}
	o, _, _ := placeOf(over)
	p, _, _ := placeOf(by)
	var assumes []string
	for _, r := range []role{over, by} {
		if text := r.assumed(); text != "" && !slices.Contains(assumes, text) {
			assumes = append(assumes, text)
		}
	}
	return []Meeting{{
		Assumes: assumes,
		Name:    fmt.Sprintf("%s in the middle of %s, %v", b.label(), a.label(), entry), Actors: []Actor{a, b},
		Why: fmt.Sprintf("%s runs it while %s runs the other", p.Kernel, o.Kernel),
	}}
}
