//go:build linux && (amd64 || arm64)

package jit

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// calls accounts for the calls that code itself executes.
type calls struct {
	ledger vm.Ledger
	timed  bool // code reads the time
	locks  bool // code takes or releases locks
	img    *vm.Image
	cpus   int        // plan.Program.CPUs
	tables [][]uint64 // tables whose addresses the code contains
	hashes []*vm.Hash // the same
}

// callsOf returns nil for code without such calls.
func callsOf(p *plan.Program) *calls {
	if p.Ledger == nil {
		return nil
	}
	k := &calls{ledger: p.Ledger, timed: p.Timed, locks: p.Locks, img: p.Image, cpus: p.CPUs}
	for i := range p.Inlines {
		if t := p.Inlines[i].Array.Table; t != nil {
			k.tables = append(k.tables, t)
		}
		if h := p.Inlines[i].Hash; h != nil {
			k.hashes = append(k.hashes, h)
		}
	}
	return k
}

// open sets up what the calls need before code is entered.
func (k *calls) open(e *Engine, st *plan.State, t *vm.Thread) {
	st.Shut, st.CPU = plan.ShutOpen, uint64(t.CPU)
	switch {
	case k.cpus != 0 && uint(t.CPU) >= uint(k.cpus):
		st.Shut = plan.ShutAll
	case k.ledger.Open():
	default:
		st.Shut = plan.ShutAll
		if k.locks {
			k.hold(e, st)
		}
	}
	if k.timed {
		mono, boot, step := k.ledger.Time()
		st.Now, st.Boot, st.Step = mono, boot-mono, step
	}
}

// hold lets code release the lock that is held, and take it again.
func (k *calls) hold(e *Engine, st *plan.State) {
	lock := k.ledger.Lock()
	if lock == 0 || lock-e.arena.Base >= e.mem.Limit() { // code stores to the arena only
		return
	}
	st.Shut, st.Lock = plan.ShutLocked, lock
	st.Locks[plan.LockIndex(lock)] = lock
}

// book accounts for the executed calls, unless the interpreter executes them again.
func (k *calls) book(st *plan.State, again bool) {
	made := uint64(0)
	for _, n := range &st.Calls {
		made |= n
	}
	if made == 0 {
		return
	}
	if !again {
		k.ledger.Book(&st.Calls)
		if st.Calls[vm.InlineLock]|st.Calls[vm.InlineUnlock] != 0 {
			lock := uint64(0)
			if st.Shut == plan.ShutLocked {
				lock = st.Lock
			}
			k.ledger.Locked(lock, k.img, int(st.LockedAt))
		}
	}
	st.Calls = [vm.NumInlines]uint64{}
}

// setContext sets the addresses of the context's words. The thread keeps them alive.
func (c *code) setContext(base uint64, words []*uint64) {
	st := c.state
	st.Context = base
	for i, w := range c.words {
		st.Words[i] = 0
		if int(w) < len(words) {
			st.Words[i] = uintptr(unsafe.Pointer(words[w]))
		}
	}
}
