//go:build linux && (amd64 || arm64)

package jit

import (
	"slices"
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
	stocks []plan.Stock
	shares [plan.MaxStocks]int // by stock: how many stocks its buffer has
	done   []vm.Record         // memory to reuse
	kinds  []vm.InlineKind     // of calls, each once
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
		if kind := p.Inlines[i].Kind; !slices.Contains(k.kinds, kind) {
			k.kinds = append(k.kinds, kind)
		}
	}
	k.stocks = slices.Clone(p.Stocks)
	for i := range k.stocks {
		for j := range k.stocks {
			if k.stocks[j].Map == k.stocks[i].Map {
				k.shares[i]++
			}
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
	if k.stocks != nil {
		k.stock(st, e.check != nil)
	}
	if k.timed {
		mono, boot, step := k.ledger.Time()
		st.Now, st.Boot, st.Step = mono, boot-mono, step
	}
}

// stock lets code reserve records, unless the interpreter executes everything again: what code does
// to the shadow is not taken back.
func (k *calls) stock(st *plan.State, again bool) {
	st.Record = 0
	st.RecordLog = uintptr(unsafe.Pointer(&st.Records))
	st.LogEnd = st.RecordLog + unsafe.Sizeof(st.Records)
	open := st.Shut == plan.ShutOpen && !again
	for i := range k.stocks {
		s := &st.Stocks[i]
		*s = plan.StockState{}
		if open {
			addr, stride, n := k.stocks[i].Records.Stock(plan.MaxRecords, k.shares[i])
			s.Next, s.Stride, s.End = addr, stride, addr+uint64(n)*stride
		}
	}
}

// recorded accounts for the records that code reserved.
func (k *calls) recorded(e *Engine, c *code) {
	st := c.state
	n := int(st.RecordLog-uintptr(unsafe.Pointer(&st.Records))) / int(plan.RecordSize)
	if st.Record != 0 {
		n++
	}
	if n == 0 {
		return
	}
	k.done = k.done[:0]
	for i := range st.Records[:n] {
		r := &st.Records[i]
		end := vm.RecordEnd(r.Ended & 1)
		if i == n-1 && st.Record != 0 {
			end = vm.RecordOpen
		}
		k.done = append(k.done, vm.Record{At: r.At, Reserved: int(r.Reserved / plan.MaxStocks), Ended: int(r.Ended / 2), End: end, Addr: r.Addr})
	}
	valid := c.epoch == e.mem.Epoch()
	for i := 0; i < n; {
		stock, first := st.Records[i].Reserved%plan.MaxStocks, i
		for i < n && st.Records[i].Reserved%plan.MaxStocks == stock {
			i++
		}
		k.ledger.Recorded(k.stocks[stock].Records, k.done[first:i], k.img)
	}
	if valid { // code has forgotten what it knew of those that ended
		c.epoch = e.mem.Epoch()
	}
	st.Record, st.RecordLog = 0, uintptr(unsafe.Pointer(&st.Records))
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
func (k *calls) book(e *Engine, c *code) {
	st, again := c.state, e.check != nil
	if k.stocks != nil { // code may be entered by a tail call, too
		st.Stocks = [plan.MaxStocks]plan.StockState{}
	}
	made := uint64(0)
	for _, kind := range k.kinds {
		made |= st.Calls[kind]
	}
	if made == 0 {
		return
	}
	if !again {
		k.ledger.Book(&st.Calls)
		if k.stocks != nil {
			k.recorded(e, c)
		}
		if st.Calls[vm.InlineLock]|st.Calls[vm.InlineUnlock] != 0 {
			lock := uint64(0)
			if st.Shut == plan.ShutLocked {
				lock = st.Lock
			}
			k.ledger.Locked(lock, k.img, int(st.LockedAt))
		}
	}
	for _, kind := range k.kinds {
		st.Calls[kind] = 0
	}
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
