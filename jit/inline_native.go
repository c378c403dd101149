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
	timed  bool       // code reads the time
	cpus   int        // plan.Program.CPUs
	tables [][]uint64 // tables whose addresses the code contains
	hashes []*vm.Hash // the same
}

// callsOf returns nil for code without such calls.
func callsOf(p *plan.Program) *calls {
	if p.Ledger == nil {
		return nil
	}
	k := &calls{ledger: p.Ledger, timed: p.Timed, cpus: p.CPUs}
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
func (k *calls) open(st *plan.State, t *vm.Thread) {
	st.Shut, st.CPU = 0, uint64(t.CPU)
	if !k.ledger.Open() || k.cpus != 0 && uint(t.CPU) >= uint(k.cpus) {
		st.Shut = 1
	}
	if k.timed {
		mono, boot, step := k.ledger.Time()
		st.Now, st.Boot, st.Step = mono, boot-mono, step
	}
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
