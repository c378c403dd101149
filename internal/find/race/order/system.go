package order

// MaxActors is how many actors a system may have.
const MaxActors = 8

// Touch is an access of shared bytes.
type Touch struct {
	Addr, Size uint64
	Write      bool
	// Atomic accesses are not plain: the processor or a lock orders them.
	Atomic bool
}

// State is what an actor can do next.
type State uint8

const (
	// Ready: the actor can make a step.
	Ready State = iota
	// Blocked: it waits for another actor.
	Blocked
	// Done: it has ended.
	Done
)

// System is what is explored: actors that make one step after the other. A step contains one access
// of shared bytes and everything that follows up to the next one. It must do the same whenever the
// accesses before it that it depends on are the same.
type System interface {
	// Actors returns the number of actors, at most MaxActors.
	Actors() int
	// Begin begins all actors again.
	Begin()
	// Next returns what an actor can do next, and which bytes its next step accesses or waits for.
	// The slice is valid until the next Step.
	Next(actor int) (State, []Touch)
	// Step makes an actor's next step.
	Step(actor int)
}

// Overlaps reports whether two accesses touch a common byte.
func (t Touch) Overlaps(u Touch) bool { return t.Addr < u.Addr+u.Size && u.Addr < t.Addr+t.Size }

// Conflicts reports whether the order of two accesses matters.
func (t Touch) Conflicts(u Touch) bool { return (t.Write || u.Write) && t.Overlaps(u) }
