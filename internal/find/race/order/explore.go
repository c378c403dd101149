package order

import (
	"context"
	"math/bits"
	"math/rand/v2"
)

// Unbounded is a number of preemptions that never bounds.
const Unbounded = 1 << 30

// Explorer explores the orders of a system. Set the exported fields first.
type Explorer struct {
	System System
	// Preemptions is how often an actor that could go on may be interrupted in one order.
	Preemptions int
	// Most is how many orders are explored at most; 0 is no limit.
	Most int
	// Each is called at the end of every order, before the next begins. Exploring ends when it
	// returns false.
	Each func(Order) bool
	// Interrupts are the actors, one bit each, that stop others when they begin: they begin only
	// when it is their turn.
	Interrupts uint32
	// Buffers are the actors, one bit each, that only make visible what others did. Whether one
	// goes next is no preemption.
	Buffers uint32
	// Triggered are the actors, one bit each, that others make ready and keep from beginning: what
	// they would touch counts even if they never do.
	Triggered uint32
	// Pair is called for two accesses of different actors that conflict and that can come next in
	// either order, with the first that conflicts of each. It may be nil.
	Pair func(a, b int)

	bytes   bytes
	past    history
	seen    map[seen]int
	stack   []node
	trail   []uint8
	states  []State
	touches [][]Touch
	stats   Stats

	// without switches a part of the reduction off or makes it wrong, for tests.
	without mutation
}

// Stats is what was explored.
type Stats struct {
	// Orders is how many orders were followed to their end.
	Orders int
	// Cut is how many were left where they met one that had been explored.
	Cut int
	// Complete means that all orders within the bound were explored.
	Complete bool
	// Bounded means that there are orders beyond the bound.
	Bounded bool
}

// Order is one order at its end.
type Order struct {
	// Trail are the actors of all steps, valid during the call.
	Trail []uint8
	// Stuck means that actors wait for each other: the order has no end.
	Stuck bool
	// Preemptions is how often an actor that could go on was interrupted.
	Preemptions int
}

// node is a point of the current order at which one of several actors can go next.
type node struct {
	can, tried uint32
	chosen     int
	at         int // actor that went before, -1 at the beginning
	used       int // preemptions before it
}

// seen identifies what happened, and who is at work.
type seen struct {
	past uint64
	at   int
}

// mostSeen limits the memory for what was seen; beyond it orders may be explored more than once.
const mostSeen = 4 << 20

// mostSteps limits one order.
const mostSteps = 1 << 16

// Run explores all orders within the bound. The error is that of ctx.
func (e *Explorer) Run(ctx context.Context) (Stats, error) {
	e.bytes, e.stats = bytes{wrong: e.without}, Stats{}
	e.past.bytes = &e.bytes
	e.states, e.touches = make([]State, e.System.Actors()), make([][]Touch, e.System.Actors())
	for {
		e.seen, e.stack = map[seen]int{}, e.stack[:0]
		e.stats.Bounded = false
		ended, err := e.all(ctx)
		if err != nil || !ended {
			return e.stats, err
		}
		if !e.bytes.news || e.without == relearning {
			e.stats.Complete = true
			return e.stats, nil
		}
		e.bytes.learned()
	}
}

// all explores with what is known of the bytes that actors touch. It returns false if it was ended
// early.
func (e *Explorer) all(ctx context.Context) (bool, error) {
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if whole, used, stuck := e.follow(e.choose); whole {
			e.stats.Orders++
			if !e.Each(Order{e.trail, stuck, used}) || e.Most > 0 && e.stats.Orders >= e.Most {
				return false, nil
			}
		} else {
			e.stats.Cut++
		}
		if !e.back() {
			return true, nil
		}
	}
}

// back goes to the last point with a choice that was not made yet; false if there is none.
func (e *Explorer) back() bool {
	for len(e.stack) > 0 {
		n := &e.stack[len(e.stack)-1]
		for rest := n.can &^ n.tried; rest != 0; rest &= rest - 1 {
			a := bits.TrailingZeros32(rest)
			n.tried |= 1 << a
			if n.used+e.cost(n, a) > e.Preemptions {
				e.stats.Bounded = true
				continue
			}
			n.chosen = a
			return true
		}
		e.stack = e.stack[:len(e.stack)-1]
	}
	return false
}

// cost returns 1 if another actor than the one at work goes next although that could go on.
func (e *Explorer) cost(n *node, next int) int {
	if e.Buffers>>next&1 == 0 && n.at >= 0 && next != n.at && n.can>>n.at&1 != 0 {
		return 1
	}
	return 0
}

// follow makes one order. choose returns who goes next at each point, -1 to leave the order. whole
// means that it reached its end.
func (e *Explorer) follow(choose func(depth int, n node) int) (whole bool, used int, stuck bool) {
	s := e.System
	s.Begin()
	e.past.reset()
	e.trail = e.trail[:0]
	e.triggered()
	for a := range e.states {
		if e.Interrupts>>a&1 == 0 {
			e.goOn(a)
		}
	}
	at, depth := -1, 0
	for len(e.trail) < mostSteps {
		if at >= 0 {
			e.goOn(at)
		}
		for a := range e.states {
			if e.Buffers>>a&1 != 0 {
				e.goOn(a)
			}
		}
		n := node{at: at, used: used}
		done := 0
		for a := range e.states {
			e.states[a], e.touches[a] = s.Next(a)
			switch e.states[a] {
			case Ready:
				n.can |= 1 << a
			case Blocked:
				e.bytes.learn(a, e.touches[a])
			case Done:
				done++
			}
		}
		if n.can == 0 {
			return true, used, done < len(e.states)
		}
		e.pairs(n.can)
		a := choose(depth, n)
		if a < 0 {
			return false, used, false
		}
		depth++
		used += e.cost(&n, a)
		if e.bytes.contested(a, e.touches[a]) {
			e.past.add(a, e.touches[a])
		}
		e.step(a, e.touches[a])
		if e.Buffers>>a&1 == 0 {
			at = a
		}
	}
	return true, used, true
}

// goOn makes those steps of an actor that no other one can affect or is affected by.
func (e *Explorer) goOn(actor int) {
	for len(e.trail) < mostSteps {
		state, touches := e.System.Next(actor)
		if state != Ready || e.bytes.contested(actor, touches) {
			return
		}
		e.step(actor, touches)
	}
}

// step makes a step.
func (e *Explorer) step(actor int, touches []Touch) {
	e.bytes.learn(actor, touches)
	e.trail = append(e.trail, uint8(actor))
	e.System.Step(actor)
	e.triggered()
}

// triggered notes what actors would touch that others have made ready.
func (e *Explorer) triggered() {
	for rest := e.Triggered; rest != 0; rest &= rest - 1 {
		a := bits.TrailingZeros32(rest)
		if state, touches := e.System.Next(a); state == Ready {
			e.bytes.learn(a, touches)
		}
	}
}

// choose follows the stack, and adds to it.
func (e *Explorer) choose(depth int, n node) int {
	if depth < len(e.stack) {
		return e.stack[depth].chosen
	}
	key := seen{e.past.all, n.at}
	if e.without == actorInKey {
		key.at = 0
	}
	if used, ok := e.seen[key]; ok && (used <= n.used || e.without == budgetInKey) {
		return -1
	}
	if len(e.seen) < mostSeen {
		e.seen[key] = n.used
	}
	n.chosen = n.at
	if n.at < 0 || n.can>>n.at&1 == 0 {
		n.chosen = bits.TrailingZeros32(n.can)
	}
	n.tried = 1 << n.chosen
	e.stack = append(e.stack, n)
	return n.chosen
}

// pairs reports conflicting accesses that can come next in either order.
func (e *Explorer) pairs(can uint32) {
	if e.Pair == nil {
		return
	}
	for a := range e.states {
		for b := a + 1; b < len(e.states); b++ {
			if can>>a&can>>b&1 != 0 && conflict(e.touches[a], e.touches[b]) {
				e.Pair(a, b)
			}
		}
	}
}

// conflict reports whether the order of two steps matters.
func conflict(a, b []Touch) bool {
	for _, t := range a {
		for _, u := range b {
			if t.Conflicts(u) {
				return true
			}
		}
	}
	return false
}

// Random follows one order at random: actors have priorities, which change at so many points. Run
// must have been called before.
func (e *Explorer) Random(rng *rand.Rand, changes int) {
	priority := rng.Perm(len(e.states))
	points := make([]int, changes)
	for i := range points {
		points[i] = rng.IntN(max(len(e.trail), 1)) // the length of the order before is a guess of this one's
	}
	whole, used, stuck := e.follow(func(depth int, n node) int {
		best := -1
		for rest := n.can; rest != 0; rest &= rest - 1 {
			if a := bits.TrailingZeros32(rest); best < 0 || priority[a] > priority[best] {
				best = a
			}
		}
		for i, p := range points {
			if p == depth {
				priority[best] = -1 - i
			}
		}
		return best
	})
	if whole {
		e.stats.Orders++
		e.Each(Order{e.trail, stuck, used})
	}
}

// Stats returns what was explored so far.
func (e *Explorer) Stats() Stats { return e.stats }
