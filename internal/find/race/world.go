package race

import "github.com/bpfrun/bpfrun/internal/find/race/order"

// World is what operations of a simulation act on besides the machine: the queues and CPUs of a
// schedule, for example. Kernel functions are its operations, each as a whole.
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

// Within is the operation of a simulation that an actor is.
type Within struct {
	World     World
	Operation any
}

// worlds are the simulation that the actors are operations of, for the orders of them.
type worlds struct {
	world  World // nil for none
	back   func()
	begun  []any // operations of the actors, as they begin
	going  []any // as they are
	inside int   // the actor whose operation is the running one, -1 for none
}

// newWorlds notes the state of the actors' simulation.
func newWorlds(actors []Actor) worlds {
	w := worlds{inside: -1}
	for i := range actors {
		in := actors[i].Within
		if in == nil {
			return worlds{inside: -1}
		}
		w.world, w.begun = in.World, append(w.begun, in.Operation)
	}
	if w.world != nil {
		w.back = w.world.Save()
		w.going = append(w.going, w.begun...)
	}
	return w
}

// rewind brings it back.
func (w *worlds) rewind() {
	if w.world != nil {
		w.back()
		copy(w.going, w.begun)
		w.inside = -1
	}
}

// enter makes an actor's operation the running one.
func (w *worlds) enter(i int) {
	if w.world == nil || w.inside == i {
		return
	}
	if w.inside >= 0 {
		w.going[w.inside] = w.world.Operation()
	}
	w.inside = i
	w.world.SetOperation(w.going[i])
}

// worldCell stands for what the operations of a simulation share, as an address.
const worldCell = 1<<62 | 1<<61

// worldTouch adds what a kernel function accesses of a simulation.
func (w *worlds) worldTouch(kfunc string, a *access) {
	if w.world == nil {
		return
	}
	if shared, writes := w.world.Touches(kfunc); shared {
		a.touches = append(a.touches, order.Touch{Addr: worldCell, Size: 1, Write: writes, Atomic: true})
	}
}
