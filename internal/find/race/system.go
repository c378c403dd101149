package race

import (
	"bytes"

	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// system makes the actors' steps. It implements [order.System].
type system struct {
	worlds
	m      *machine.Machine
	x      *machine.Interleaving
	memory *mem.Memory
	thread *vm.Thread
	actors []Actor
	run    []int // number of each actor's run, -1 for user space
	now    []progress
	start  []progress // at the first shared access of each
	codes  map[*vm.Image]*code
	fields map[order.Touch]string // names of bytes of arrays
	lately [4]*mem.Region
	nth    int
	// buffers are whether the object has buffers for records.
	buffers   bool
	hashes    []*loader.Map
	collected collector
	events    []machine.Event // of the order that has just ended, if sent
	sent      bool
	model     Memory
	stores    [][]pending // of each actor, oldest first; nil if memory is sequential
	flushed   [1]order.Touch
	// deferring is whether there are timers or work items. freesLater is whether nobody who deletes
	// an element waits for the callback of its timer, freesInWork whether callbacks of timers do not.
	deferring, freesLater, freesInWork bool
	// refuses are the actors in which bpf_timer_cancel fails.
	refuses []bool
	// deleted are the elements that actors deleted in this order, misuse is where one used one of
	// its own that another actor has by now.
	deleted []deletion
	misuse  spot
	// watch follows every instruction; nil for full speed.
	watch *watch
}

// progress is how far an actor is.
type progress struct {
	state  order.State
	next   access
	begun  bool   // it made a step
	half   bool   // the first half of an array element is copied
	copies uint64 // such halves so far
	spins  int    // how often the same compare-and-exchange failed in a row
	spinAt uint64
	idle   bool // it spins until the bytes at spinAt change
	was    uint64
	step   int  // of user space
	failed bool // that step
	end    ending
	// fires is the field of the timer or work item that called it back; returned means that it has
	// only to say so.
	fires    uint64
	returned bool
}

// ending is how an actor ended.
type ending struct {
	ret    uint64
	fault  *vm.Fault
	trace  []string
	packet []byte
	user   []byte // what each step of user space returned
}

// spinning is how many failures in a row mean that an actor waits.
const spinning = 64

// newSystem begins the actors and runs each up to its first shared access.
func newSystem(m *machine.Machine, actors []Actor, model Memory) (*system, error) {
	s := &system{worlds: newWorlds(actors), model: model, m: m, memory: m.Memory(), thread: m.Thread(), actors: actors, codes: map[*vm.Image]*code{}, fields: map[order.Touch]string{}}
	var runs []machine.Interleaved
	if model != Sequential {
		if s.Actors() > order.MaxActors {
			return nil, &TooManyActorsError{len(actors), order.MaxActors / (1 + model.buffers())}
		}
		s.stores = make([][]pending, len(actors))
	}
	for i, a := range actors {
		if a.User != nil {
			s.run = append(s.run, -1)
			continue
		}
		s.run = append(s.run, len(runs))
		runs = append(runs, machine.Interleaved{Program: a.Program, Input: a.Input, Over: a.Over >= 0, Later: uint64(i) * 1000})
	}
	x, refused, err := m.Interleave(runs)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, &NotRunnableError{refused.Program, refused.Status, m.ProgramError(refused.Program)}
	}
	s.x = x
	s.buffers, s.hashes = hasBuffers(m), hashesOf(m)
	s.deferring = len(Callbacks(m)) > 0
	release := since.Of(m.Linked().Target.Version)
	s.freesLater, s.freesInWork = release.Has(since.TimersFreedLater), release.Has(since.TimersFreedInWork)
	s.refuses = make([]bool, len(actors))
	for i, a := range actors {
		if s.deferring && a.User == nil {
			s.refuses[i] = refusesToCancel(role{lp: x.Session(s.run[i]).Program(), callback: a.Callback}, a, release)
		}
	}
	s.begin()
	return s, nil
}

// begin runs each actor up to its first shared access and makes that the beginning of all orders.
func (s *system) begin() {
	s.start = make([]progress, len(s.actors))
	s.now = s.start
	for i := range s.actors {
		if s.actors[i].User != nil {
			s.userNext(i)
			continue
		}
		if s.actors[i].Callback != nil {
			continue // it begins when it fires
		}
		s.turn(i)
		if in := s.actors[i].further; in != nil {
			in.write(s.m, s.x.Session(s.run[i]).Context())
		}
		s.advance(i)
	}
	s.x.Rebase()
	s.now = make([]progress, len(s.actors))
	s.Begin()
}

// Actors implements [order.System]. Store buffers are actors too.
func (s *system) Actors() int { return len(s.actors) * (1 + s.model.buffers()) }

// Begin implements [order.System].
func (s *system) Begin() {
	s.x.Rewind()
	s.rewind()
	s.sent = false
	s.deleted, s.misuse = s.deleted[:0], spot{}
	for i := range s.stores {
		s.stores[i] = s.stores[i][:0]
	}
	for i := range s.now {
		touches, name := s.now[i].next.touches, s.now[i].next.name
		s.now[i] = s.start[i]
		s.now[i].next.touches = append(touches[:0], s.start[i].next.touches...)
		s.now[i].next.name = append(name[:0], s.start[i].next.name...)
	}
}

// Next implements [order.System].
func (s *system) Next(i int) (order.State, []order.Touch) {
	if i >= len(s.actors) {
		return s.bufferNext(i)
	}
	p := &s.now[i]
	if p.state == order.Done {
		return order.Done, nil
	}
	if s.actors[i].User != nil {
		s.userNext(i) // elements may have come or gone
		if p.state == order.Ready && s.awaits(i) {
			return order.Blocked, p.next.touches
		}
		return p.state, p.next.touches
	}
	if s.unfired(i) {
		return s.callbackNext(i)
	}
	if p.next.fresh != 0 {
		s.place(i)
	}
	if s.fenced(i) || s.stopped(i) || s.waits(i) && !s.interrupting(i) {
		return order.Blocked, p.next.touches
	}
	return order.Ready, p.next.touches
}

// waits reports whether an actor's next access waits for another one.
func (s *system) waits(i int) bool {
	p := &s.now[i]
	return s.awaits(i) || p.next.kind == lock && s.taken(p.next.touches) || p.idle && s.word(p.spinAt) == p.was
}

// interrupting reports whether an actor is about to interrupt another one, which it can although it
// then waits.
func (s *system) interrupting(i int) bool { return s.actors[i].Over >= 0 && !s.now[i].begun }

// stopped reports whether an actor cannot go on because of what runs on its CPU.
func (s *system) stopped(i int) bool {
	if over := s.actors[i].Over; over >= 0 && !s.now[i].begun {
		return s.masked(over, s.actors[i].Enters)
	}
	for j := range s.actors {
		if s.actors[j].Over == i && s.now[j].begun && s.now[j].state != order.Done {
			return true
		}
	}
	return false
}

// masked reports whether an actor has disabled what would interrupt it. A bpf_spin_lock disables
// interrupts (__bpf_spin_lock_irqsave).
func (s *system) masked(i int, by Entry) bool {
	for _, t := range s.x.Held(s.run[i]) {
		switch t.Kind {
		case held.SpinLock, held.IRQ:
			if by != ByNMI {
				return true
			}
		case held.Preempt:
			if by == ByTask {
				return true
			}
		}
	}
	return false
}

// turn makes an actor's program the one at work.
func (s *system) turn(i int) {
	if s.run[i] >= 0 {
		s.x.Turn(s.run[i])
		s.enter(i)
	}
}

// taken reports whether a lock that a call takes is held.
func (s *system) taken(touches []order.Touch) bool {
	return len(touches) > 0 && uint32(s.word(touches[0].Addr)) != 0
}

// word returns the eight bytes at an address, as far as they exist.
func (s *system) word(addr uint64) uint64 {
	if v, f := s.memory.Load(addr, 8); f == nil {
		return v
	}
	v, _ := s.memory.Load(addr, 4)
	return v
}

// Step implements [order.System].
func (s *system) Step(i int) {
	if i >= len(s.actors) {
		s.flush(i)
		return
	}
	p := &s.now[i]
	if s.unfired(i) {
		s.fire(i)
		return
	}
	if p.returned {
		s.turn(i)
		s.x.Fired()
		p.state = order.Done
		return
	}
	if s.interrupting(i) && s.waits(i) {
		p.begun = true
		return
	}
	p.begun = true
	if s.actors[i].User != nil {
		if s.watch != nil {
			s.watch.user(s, i)
		}
		s.userStep(i)
		if s.watch != nil && p.failed {
			s.watch.events[len(s.watch.events)-1].failed = true
		}
		return
	}
	s.turn(i)
	if p.next.deletes || len(s.deleted) > 0 {
		s.reuse(i)
	}
	if s.watch != nil {
		s.watch.step(s, i)
	}
	if p.next.array != 0 && !p.half {
		s.firstHalf(p)
		return
	}
	stop := s.memoryAccess(i)
	if p.idle = false; stop == vm.Budget {
		s.advance(i)
		return
	}
	s.ended(i, stop)
}

// firstHalf copies the first half of what bpf_map_update_elem copies to an element of an array: the
// kernel's copy is one of many words.
func (s *system) firstHalf(p *progress) {
	n := p.next.size / 2 &^ 7
	b := make([]byte, n)
	if s.memory.Read(p.next.value, b) == nil {
		_ = s.memory.Write(p.next.array, b) // the call that follows writes it too
	}
	p.half = true
	p.copies++
	t := &p.next.touches[len(p.next.touches)-1]
	t.Addr, t.Size = t.Addr+n, t.Size-n
}

// memoryAccess executes the instruction with the shared access, on the memory that the actor sees.
func (s *system) memoryAccess(i int) vm.Stop {
	p := &s.now[i]
	switch {
	case s.stores == nil:
		return s.access(p)
	case s.bufferable(p):
		return s.store(i)
	}
	s.apply(i)
	stop := s.access(p)
	s.hide(i)
	return stop
}

// access executes the instruction with the shared access.
func (s *system) access(p *progress) vm.Stop {
	switch {
	case p.half: // the first half is not written again
		n := p.next.size / 2 &^ 7
		b := make([]byte, n)
		kept := s.memory.Read(p.next.array, b) == nil
		at := p.next.array
		stop := s.execute(1)
		if kept {
			_ = s.memory.Write(at, b)
		}
		p.half = false
		return stop
	case p.next.kind == compare:
		at := p.next.touches[0].Addr
		before := s.word(at)
		stop := s.execute(1)
		if s.word(at) != before || p.spinAt != at {
			p.spins = 0
		} else {
			p.spins++
		}
		p.spinAt, p.was = at, before
		return stop
	}
	return s.execute(1)
}

// execute executes n instructions of the actor at work.
func (s *system) execute(n uint64) vm.Stop {
	if s.watch == nil {
		return s.x.Run(n)
	}
	for ; n > 1; n-- {
		if stop := s.watch.insn(s); stop != vm.Budget {
			return stop
		}
	}
	return s.watch.insn(s)
}

// advance runs an actor up to its next shared access, or to its end.
func (s *system) advance(i int) {
	p := &s.now[i]
	t := s.thread
	for {
		img, pc := t.Image(), t.PC()
		c := s.codes[img]
		if c == nil {
			c = codeOf(img)
			s.codes[img] = c
		}
		n := uint64(1)
		if pc < len(c.run) {
			if n = uint64(c.run[pc]); n == 0 {
				if s.next(img, pc, &p.next) {
					p.state = order.Ready
					p.idle = p.spins >= spinning && p.next.kind == compare && p.next.touches[0].Addr == p.spinAt
					return
				}
				n = 1
			}
		}
		if stop := s.execute(n); stop != vm.Budget {
			s.ended(i, stop)
			return
		}
	}
}

// ended notes the end of an actor.
func (s *system) ended(i int, stop vm.Stop) {
	p := &s.now[i]
	if stop == vm.Stopped || stop == vm.Break { // it waits for a lock: the call is made again
		p.state = order.Ready
		return
	}
	p.state, p.next.touches = order.Done, p.next.touches[:0]
	p.end = ending{ret: s.thread.Ret(), fault: s.thread.Fault(), trace: s.x.Trace()}
	if s.actors[i].Callback != nil { // whoever waits for it does so until it has returned
		p.state, p.returned = order.Ready, true
		p.next = access{kind: otherCall, touches: append(p.next.touches[:0], order.Touch{Addr: p.fires, Size: 8, Write: true, Atomic: true})}
	} else if p.end.fault == nil {
		p.end.packet = bytes.Clone(s.x.Session(s.run[i]).Context().Frame())
	}
}
