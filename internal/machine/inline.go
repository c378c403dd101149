package machine

import (
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// inlined are the helpers that an engine may execute itself. They affect a run only by their time,
// their count and the lock that it holds.
var inlined = map[uapi.FuncID]vm.InlineKind{
	uapi.FuncMapLookupElem:     vm.InlineLookup,
	uapi.FuncKtimeGetNs:        vm.InlineMono,
	uapi.FuncKtimeGetBootNs:    vm.InlineBoot,
	uapi.FuncGetSmpProcessorId: vm.InlineCPU,
	uapi.FuncLoop:              vm.InlineLoop,
	uapi.FuncForEachMapElem:    vm.InlineEach,
	uapi.FuncTailCall:          vm.InlineTail,
	uapi.FuncSpinLock:          vm.InlineLock,
	uapi.FuncSpinUnlock:        vm.InlineUnlock,
	uapi.FuncTaskStorageGet:    vm.InlineOwned,
	uapi.FuncSkStorageGet:      vm.InlineOwned,
	uapi.FuncInodeStorageGet:   vm.InlineOwned,
	uapi.FuncCgrpStorageGet:    vm.InlineOwned,
	uapi.FuncRingbufReserve:    vm.InlineReserve,
	uapi.FuncRingbufSubmit:     vm.InlineSubmit,
	uapi.FuncRingbufDiscard:    vm.InlineDiscard,
}

// inlinedKfuncs are the kfuncs.
var inlinedKfuncs = map[string]vm.InlineKind{"bpf_iter_num_next": vm.InlineNext}

// ledger accounts for calls that the engine executes itself. It implements [vm.Ledger].
type ledger struct {
	acc   *accounts
	names [vm.NumInlines]string // "" for what no program calls
	slots [vm.NumInlines]int    // in accounts.calls
	kinds []vm.InlineKind       // that have names
}

// inline describes a function to the engine, or returns nil for one that must always be called.
func (acc *accounts) inline(f *vm.Func, slot int) *vm.Inline {
	name := f.Name
	kind, ok := inlinedKfuncs[name]
	if !f.Kfunc {
		kind, ok = inlined[uapi.FuncID(f.ID)]
	}
	if !ok {
		return nil
	}
	if acc.ledger == nil {
		acc.ledger = &ledger{acc: acc}
	}
	if other := acc.ledger.names[kind]; other != "" && other != name {
		return nil // calls are counted by kind, and another function has it
	}
	if acc.ledger.names[kind] == "" {
		acc.ledger.kinds = append(acc.ledger.kinds, kind)
	}
	acc.ledger.names[kind], acc.ledger.slots[kind] = name, slot
	in := &vm.Inline{Kind: kind, Ledger: acc.ledger, Array: acc.arrayAt, Hash: acc.hashAt, Progs: acc.progsAt, Records: acc.recordsAt}
	switch kind {
	case vm.InlineLoop:
		in.Turner = helpers.LoopTurner()
	case vm.InlineOwned:
		in.Hash = acc.storageAt
	}
	return in
}

// storageAt describes local storage to the engine. Its keys are owners, for a socket one of its
// addresses: others are not found, and left to the function.
func (acc *accounts) storageAt(addr uint64) (vm.Hash, bool) {
	b, _ := acc.mapEnv.ByAddr(addr)
	m, ok := b.(maps.OwnerProbed)
	if !ok {
		return vm.Hash{}, false
	}
	p, ok := m.ProbeOwners()
	return vm.Hash{KeySize: p.KeySize, Tab: p.Tab, Keys: p.Keys, Bases: p.Bases, Shift: p.Shift, Stride: p.Stride, CPUs: p.Copies, Open: p.Open}, ok
}

// arrayAt describes an array to the engine.
func (acc *accounts) arrayAt(addr uint64) (vm.Array, bool) {
	b, _ := acc.mapEnv.ByAddr(addr)
	a, ok := b.(maps.Array)
	if !ok {
		return vm.Array{}, false
	}
	l := a.Layout()
	out := vm.Array{Elements: l.Entries, Stride: l.Stride, CPUs: l.Copies, Open: l.Open}
	if a.Spec().Type == uapi.MapTypePercpuArray {
		out.CPUStride = l.CopyStride
	}
	if len(l.Bases) == 1 { // always allocated
		out.Base = l.Bases[0]
	} else {
		out.Table, out.Shift = l.Bases, l.Shift
	}
	return out, true
}

// hashAt describes a hash or a trie to the engine.
func (acc *accounts) hashAt(addr uint64) (vm.Hash, bool) {
	b, _ := acc.mapEnv.ByAddr(addr)
	m, ok := b.(maps.Probed)
	if !ok {
		return vm.Hash{}, false
	}
	p, ok := m.Probe()
	h := vm.Hash{
		KeySize: p.KeySize, Tab: p.Tab, Keys: p.Keys, Bases: p.Bases, Shift: p.Shift, Stride: p.Stride, CPUs: p.Copies,
		Order: p.Order, Lengths: p.Lengths, Masks: p.Masks, Open: p.Open,
	}
	if p.Copies > 1 {
		h.CPUStride = p.CopyStride
	}
	return h, ok
}

// progsAt describes a program array to the engine.
func (acc *accounts) progsAt(addr uint64) (vm.Progs, bool) {
	b, _ := acc.mapEnv.ByAddr(addr)
	a, ok := b.(maps.ProgArray)
	if !ok {
		return vm.Progs{}, false
	}
	links := a.Links()
	return vm.Progs{Links: links, Image: func(slot uint32) *vm.Image {
		if p, ok := a.Prog(slot); ok {
			return p.(*program).img
		}
		return nil
	}}, links != nil
}

// records are those of one size of a ring buffer. They implement [vm.Records].
type records struct {
	ring maps.RingBuffer
	size uint64
}

// recordsAt describes records of a ring buffer to the engine.
func (acc *accounts) recordsAt(addr, size uint64) (vm.Records, bool) {
	b, _ := acc.mapEnv.ByAddr(addr)
	ring, ok := b.(maps.RingBuffer)
	return &records{ring, size}, ok && size > 0 && size <= maps.MaxRowRecord
}

// Stock returns the records that the engine may reserve.
func (r *records) Stock(most, share int) (addr, stride uint64, n int) {
	return r.ring.Stock(r.size, most, share)
}

// Recorded makes records that the engine reserved known to their buffer and to the run.
func (l *ledger) Recorded(r vm.Records, list []vm.Record, img *vm.Image) {
	l.acc.calls.made++ // the run has left a trace
	of := r.(*records)
	l.acc.env.Run.Lent(of.ring, of.size, list, img)
}

// Open allows the engine to execute calls unless the run overrides some of them or holds a lock:
// the kernel does not allow most calls then, see underLock.
func (l *ledger) Open() bool { return !l.overridden() && !l.locked() }

func (l *ledger) overridden() bool {
	run := l.acc.rec.run
	return run != nil && len(run.overrides) > 0 && l.replaced(run.overrides)
}

func (l *ledger) locked() bool { return l.acc.env.Run != nil && l.acc.env.Run.Held.Locked() }

// Lock returns the lock that the run holds.
func (l *ledger) Lock() uint64 {
	if l.overridden() || !l.locked() {
		return 0
	}
	lock := l.acc.env.Run.Held.OnlyLock()
	if r := l.acc.mem.Find(lock); lock == 0 || r == nil || r.View != nil || r.ReadOnly || r.Base+r.Size-lock < 4 {
		return 0
	}
	return lock
}

// Locked records which lock the run holds after the engine took or released locks.
func (l *ledger) Locked(lock uint64, img *vm.Image, pc int) {
	l.acc.env.Run.Held.SetLock(lock, img, pc)
	if lock != 0 {
		l.acc.calls.made++ // the run has left a trace
	}
}

func (l *ledger) replaced(overrides map[string]Override) bool {
	for _, name := range l.names {
		if _, ok := overrides[name]; ok && name != "" {
			return true
		}
	}
	return false
}

// Time returns the simulated clock.
func (l *ledger) Time() (mono, boot, step uint64) {
	clock := l.acc.kernel.Clock()
	return clock.Mono(), clock.Boot(), clock.Step
}

// Book counts calls and advances the clock by their time.
func (l *ledger) Book(calls *[vm.NumInlines]uint64) {
	n := uint64(0)
	for _, kind := range l.kinds {
		if made := calls[kind]; made != 0 {
			l.acc.calls.n[l.slots[kind]] += int(made)
			n += made
		}
	}
	clock := l.acc.kernel.Clock()
	clock.Advance(n * clock.Step)
}
