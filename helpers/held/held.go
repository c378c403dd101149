// Package held tracks what a program holds and must release before it exits: references to objects
// and sockets, ring buffer records, locks, and sections that it has entered. The verifier refuses
// programs that do not release them; here that is a fault at run time.
//
// The package does not know how anything is acquired or released: helpers report that to a
// [Ledger]. All messages about leaks and about releasing something that is not held come from here.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package held

import (
	"fmt"

	"github.com/bpfrun/bpfrun/vm"
)

// Kind is the kind of thing that is held. It can be released only as the same kind.
type Kind uint8

const (
	// Reference is a reference to a kernel object, to an object that the program allocated, or to a
	// socket; see [Thing.Name].
	Reference Kind = iota
	// Record is a reserved ring buffer record. RecordDynptr is one reserved through a dynptr,
	// identified by the dynptr's address.
	Record
	RecordDynptr
	// SpinLock is a bpf_spin_lock or bpf_res_spin_lock.
	SpinLock
	// RCU is an RCU read-side critical section, Preempt a section with preemption disabled. They
	// nest and have no address.
	RCU
	Preempt
	// IRQ is a section with interrupts disabled, identified by the address of the saved flags.
	IRQ
)

// kinds contains the names of the kinds. section is set for sections, which are entered and left,
// and includes the article; everything else is taken and released.
var kinds = [...]struct{ name, section string }{
	Reference:    {name: "reference"},
	Record:       {name: "ring buffer record"},
	RecordDynptr: {name: "ring buffer dynptr"},
	SpinLock:     {name: "spin lock"},
	RCU:          {name: "RCU read section", section: "an RCU read section"},
	Preempt:      {name: "section with preemption disabled", section: "a section with preemption disabled"},
	IRQ:          {name: "section with interrupts disabled", section: "a section with interrupts disabled"},
}

// String returns the name of the kind ("spin lock").
func (k Kind) String() string { return kinds[k].name }

// Thing is something that the program has taken and not released.
type Thing struct {
	Kind Kind
	Addr uint64
	Name string // of a Reference: the type of the object ("task", "socket eth0")
	// Image and PC locate the call that took it. Image is nil without [Ledger.Here].
	Image *vm.Image
	PC    int
}

// String returns the name of the thing and its address ("task 0xffff888000001000").
func (t Thing) String() string {
	name := t.Kind.String()
	if t.Kind == Reference && t.Name != "" {
		name = t.Name
	}
	if t.Addr == 0 {
		return name
	}
	return fmt.Sprintf("%s %#x", name, t.Addr)
}

// Leaked returns the message for a program that exits while it holds the thing.
func (t Thing) Leaked() string {
	if section := kinds[t.Kind].section; section != "" {
		return "the program exited inside " + section
	}
	return fmt.Sprintf("the program exited while holding %v", t)
}

// Began returns the verb for how the program came to hold the thing: "entered" for sections,
// otherwise "took".
func (t Thing) Began() string {
	if kinds[t.Kind].section != "" {
		return "entered"
	}
	return "took"
}

// NotHeld is the error of a program that releases something that it does not hold.
type NotHeld struct {
	By   string // the function that was called
	Kind Kind
	Addr uint64
}

// Error returns the function, the kind of thing that it should release, and the address.
func (e *NotHeld) Error() string {
	switch e.Kind {
	case SpinLock:
		return fmt.Sprintf("%s of %#x, which this program has not locked", e.By, e.Addr)
	case Record, RecordDynptr:
		return fmt.Sprintf("%s of %#x, which is not a reserved %v", e.By, e.Addr, e.Kind)
	case IRQ:
		return fmt.Sprintf("%s from %#x, which holds no saved flags", e.By, e.Addr)
	case RCU, Preempt:
		return fmt.Sprintf("%s outside of %s", e.By, kinds[e.Kind].section)
	}
	return fmt.Sprintf("%s of %#x, for which this program holds no reference", e.By, e.Addr)
}

// Ledger tracks what a run of a program holds. The zero value is an empty ledger.
type Ledger struct {
	// Here returns the current instruction, for messages. It may be nil.
	Here   func() (*vm.Image, int)
	things []Thing
	locks  int // number of spin locks in things

	given []Thing // ring of the most recently released things, with the calls that released them; the newest precedes next
	next  int
}

// Remembered is the number of released things that a ledger remembers, for reports of double
// releases.
const Remembered = 16

// Things returns what is held, in the order in which it was taken.
func (l *Ledger) Things() []Thing { return l.things }

// Locked reports whether a spin lock is held.
func (l *Ledger) Locked() bool { return l.locks > 0 }

// OnlyLock returns the address of the spin lock that is held, 0 if there is none or several.
func (l *Ledger) OnlyLock() uint64 {
	if l.locks == 1 {
		for i := range l.things {
			if l.things[i].Kind == SpinLock {
				return l.things[i].Addr
			}
		}
	}
	return 0
}

// SetLock records that the only spin lock that is held is the one at addr, taken by the call at pc
// of img; 0 is none.
func (l *Ledger) SetLock(addr uint64, img *vm.Image, pc int) {
	for i := len(l.things) - 1; i >= 0; i-- {
		if l.things[i].Kind == SpinLock {
			l.remove(i)
		}
	}
	if addr != 0 {
		l.things, l.locks = append(l.things, Thing{Kind: SpinLock, Addr: addr, Image: img, PC: pc}), 1
	}
}

// Take records that the program has taken something. name is the name of a [Reference].
func (l *Ledger) Take(k Kind, addr uint64, name string) {
	l.things = append(l.things, l.placed(Thing{Kind: k, Addr: addr, Name: name}))
	if k == SpinLock {
		l.locks++
	}
}

// Give releases the thing of kind k at addr, the oldest one if there are several, and reports
// whether there was one.
func (l *Ledger) Give(k Kind, addr uint64) bool {
	for i := range l.things {
		if t := &l.things[i]; t.Kind == k && t.Addr == addr {
			if k != SpinLock { // memory outlives its locks
				l.remember(l.placed(Thing{Kind: k, Addr: addr, Name: t.Name}))
			}
			l.remove(i)
			return true
		}
	}
	return false
}

// Given returns the most recently released thing at addr, with the call that released it. It
// returns false if none of the last few released things was at addr.
func (l *Ledger) Given(addr uint64) (Thing, bool) {
	for i := range l.given {
		if t := l.given[(l.next+len(l.given)-1-i)%len(l.given)]; t.Addr == addr {
			return t, true
		}
	}
	return Thing{}, false
}

func (l *Ledger) remember(t Thing) {
	if len(l.given) < Remembered {
		l.given = append(l.given, t)
		l.next = len(l.given) % Remembered
		return
	}
	l.given[l.next] = t
	l.next = (l.next + 1) % Remembered
}

// placed sets the location of a thing to the current instruction.
func (l *Ledger) placed(t Thing) Thing {
	if l.Here != nil {
		t.Image, t.PC = l.Here()
	}
	return t
}

// TakeAt records that the call at pc of img has taken something that has no name.
func (l *Ledger) TakeAt(k Kind, addr uint64, img *vm.Image, pc int) {
	l.things = append(l.things, Thing{Kind: k, Addr: addr, Image: img, PC: pc})
}

// GivenAt records that the call at pc of img has released something that was taken since Take was
// last called, and not recorded.
func (l *Ledger) GivenAt(k Kind, addr uint64, img *vm.Image, pc int) {
	l.remember(Thing{Kind: k, Addr: addr, Image: img, PC: pc})
}

// Leave leaves the innermost section of kind k, and reports whether there was one.
func (l *Ledger) Leave(k Kind) bool {
	for i := len(l.things) - 1; i >= 0; i-- {
		if l.things[i].Kind == k {
			l.remove(i)
			return true
		}
	}
	return false
}

func (l *Ledger) remove(i int) {
	if l.things[i].Kind == SpinLock {
		l.locks--
	}
	l.things = append(l.things[:i], l.things[i+1:]...)
}

// Reset empties the ledger but keeps its memory for reuse.
func (l *Ledger) Reset() { l.things, l.locks, l.given, l.next = l.things[:0], 0, l.given[:0], 0 }

// Join returns a ledger that holds the things of l and of others.
func (l *Ledger) Join(others ...*Ledger) Ledger {
	all := l.Clone()
	for _, o := range others {
		all.things = append(all.things, o.things...)
		all.locks += o.locks
	}
	return all
}

// Load returns a copy of a clone, in the memory of l.
func (l *Ledger) Load(was *Ledger) Ledger {
	return Ledger{Here: was.Here, things: append(l.things[:0], was.things...), locks: was.locks, given: append(l.given[:0], was.given...), next: was.next}
}

// Clone returns an independent copy.
func (l *Ledger) Clone() Ledger {
	return Ledger{Here: l.Here, things: append([]Thing(nil), l.things...), locks: l.locks, given: append([]Thing(nil), l.given...), next: l.next}
}
