package plan

import (
	"slices"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// Inline describes a KindCallInline, or a call with FlagTurns, to generated code.
type Inline struct {
	Kind vm.InlineKind
	// Map is the assumed map argument in r1 of a lookup in Hash or, if that is nil, in Array, and of an
	// InlineOwned in Hash.
	Map   uint64
	Array vm.Array
	Hash  *vm.Hash
	// Known: r1 of the lookup is Map wherever the call is reached.
	Known bool
	// Fills are accesses to the element, which have cells that the lookup may set.
	Fills []int32
	// Record is the size in bytes of the record that an InlineReserve reserves, Stock its number in
	// Program.Stocks, and Map the assumed buffer in r1.
	Record uint64
	Stock  int
	// Progs is the program array of a KindTailCall, at the assumed address Map in r2.
	Progs vm.Progs
	// Entry is the assumed address of the function that is called with FlagTurns.
	Entry  uint64
	Turner vm.Turner
	// Writes has bit r set for each of r1 to r5 that a call of that function may change.
	Writes uint16
}

// Inline returns the description of a KindCallInline or of a call with FlagTurns.
func (p *Program) Inline(in *Insn) *Inline { return &p.Inlines[in.Imm] }

// arguments are r1 to r5.
const arguments = 0x3e

// maxStride is the largest multiplier that fits a signed 32-bit constant.
const maxStride = 1<<31 - 1

// MaxKey is the size in bytes of the longest key that generated code hashes.
const MaxKey = 56

// inlines finds the calls that generated code executes itself.
//
// The map of a lookup is a guess: r1 is taken from the preceding instructions in slot order,
// ignoring jumps. Generated code compares, so a wrong guess only costs a call, and code may be
// entered anywhere.
func (p *Program) inlines() {
	p.Inlines, p.Ledger, p.CPUs, p.Timed, p.Locks, p.Stocks = p.Inlines[:0], nil, 0, false, false, p.Stocks[:0]
	if !p.Image.Inlines() {
		return
	}
	var value [16]uint64 // constants that registers hold, else 0
	for pc := range p.Insns {
		in := &p.Insns[pc]
		switch in.Kind {
		case KindImm64:
			value[in.Dst&15] = in.Imm
		case KindCallFunc:
			p.inline(pc, in, value[1], value[2])
			clear(value[:6])
		case KindCall:
			clear(value[:6])
		case KindOp:
			switch in.Op {
			case decode.OpMov64Reg:
				value[in.Dst&15] = value[in.Src&15]
			case decode.OpMov64Imm, decode.OpMov32Imm:
				value[in.Dst&15] = in.Imm
			default:
				value[in.Dst&15] = 0
			}
		case KindLoad:
			value[in.Dst&15] = 0
		case KindAtomic:
			value[0], value[in.Src&15] = 0, 0
		}
	}
}

// inline turns a call into a KindCallInline if possible.
func (p *Program) inline(pc int, in *Insn, r1, r2 uint64) {
	f := p.Image.Func(pc)
	if f == nil || f.Inline == nil || f.Inline.Ledger == nil || p.Ledger != nil && f.Inline.Ledger != p.Ledger {
		return
	}
	n := Inline{Kind: f.Inline.Kind}
	switch n.Kind {
	case vm.InlineLookup:
		if r1 == 0 || !p.lookup(in, &n, f.Inline, r1) {
			return
		}
	case vm.InlineMono, vm.InlineBoot:
		p.Timed = true
	case vm.InlineCPU:
	case vm.InlineLock, vm.InlineUnlock:
		p.Locks = true
	case vm.InlineOwned:
		if r1 == 0 || f.Inline.Hash == nil {
			return
		}
		h, ok := f.Inline.Hash(r1)
		if !ok || h.KeySize != 8 || h.Lengths != nil || h.Order != nil || h.CPUStride != 0 || h.Stride > maxStride {
			return
		}
		n.Map, n.Hash = r1, &h
	case vm.InlineReserve:
		if !p.reserve(&n, f.Inline, r1, r2) {
			return
		}
	case vm.InlineSubmit, vm.InlineDiscard:
		if len(p.Stocks) == 0 {
			return
		}
	case vm.InlineNext:
		in.Base, in.Size = 1, 8
	case vm.InlineTail:
		if r2 == 0 || f.Inline.Progs == nil {
			return
		}
		a, ok := f.Inline.Progs(r2)
		if !ok || len(a.Links) == 0 {
			return
		}
		n.Map, n.Progs = r2, a
		in.Kind, in.Imm = KindTailCall, uint64(len(p.Inlines))
		p.Inlines, p.Ledger = append(p.Inlines, n), f.Inline.Ledger
		p.Timed = true        // the program that follows may read the time
		p.leaders.add(pc + 1) // what follows may not run
		p.Used |= 1<<10 - 1   // registers are handed over in the host's
		return
	case vm.InlineLoop, vm.InlineEach:
		img, target, ok := p.Image.Text().Resolve(r2)
		if _, begins := slices.BinarySearch(p.Image.Subprograms(), target); !ok || img != p.Image || !begins {
			return
		}
		n.Entry, n.Turner, n.Writes = r2, f.Inline.Turner, arguments
		in.Flags |= FlagTurns
		in.Target, in.Imm, p.Calls = int32(target), uint64(len(p.Inlines)), true
		p.Inlines, p.Ledger = append(p.Inlines, n), f.Inline.Ledger
		return
	default:
		return
	}
	in.Kind, in.Imm = KindCallInline, uint64(len(p.Inlines))
	p.Inlines, p.Ledger = append(p.Inlines, n), f.Inline.Ledger
}

// lookup describes a lookup in the map r1, and reports whether generated code can make it.
func (p *Program) lookup(in *Insn, n *Inline, f *vm.Inline, r1 uint64) bool {
	var a vm.Array
	cpus, perCPU, ok := 0, uint64(0), false
	if f.Array != nil {
		a, ok = f.Array(r1)
		cpus, perCPU = a.CPUs, a.CPUStride
	}
	switch {
	case ok:
		if a.Stride > maxStride || perCPU > maxStride {
			return false
		}
		n.Array, in.Size = a, 4
	case f.Hash != nil:
		h, ok := f.Hash(r1)
		cpus, perCPU = h.CPUs, h.CPUStride
		if !ok || h.KeySize == 0 || h.KeySize > MaxKey || h.Stride > maxStride || perCPU > maxStride {
			return false
		}
		n.Hash, in.Size = &h, uint8(h.KeySize)
	default:
		return false
	}
	if perCPU != 0 && (p.CPUs == 0 || cpus < p.CPUs) {
		p.CPUs = cpus
	}
	n.Map, in.Base = r1, 2
	return true
}

// maxReserves is the largest number of calls that reserve records: what they set is to be undone where
// records end.
const maxReserves = 16

// reserve describes a reservation of a record of size bytes in the buffer r1, and reports whether
// generated code can make it. Programs with tail calls leave records to Go: an open one would have
// to be handed over.
func (p *Program) reserve(n *Inline, f *vm.Inline, r1, size uint64) bool {
	if r1 == 0 || size == 0 || size > vm.MaxRecord || f.Records == nil || p.tailCalls() {
		return false
	}
	sites := 0
	for i := range p.Inlines {
		if p.Inlines[i].Kind == vm.InlineReserve {
			sites++
		}
	}
	if sites == maxReserves {
		return false
	}
	n.Map, n.Record = r1, size
	n.Stock = slices.IndexFunc(p.Stocks, func(s Stock) bool { return s.Map == r1 && s.Size == size })
	if n.Stock < 0 {
		r, ok := f.Records(r1, size)
		if !ok || len(p.Stocks) == MaxStocks {
			return false
		}
		n.Stock = len(p.Stocks)
		p.Stocks = append(p.Stocks, Stock{Map: r1, Size: size, Records: r})
	}
	p.Timed = true // the time at which a record ends is recorded
	return true
}

// tailCalls reports whether the program makes tail calls.
func (p *Program) tailCalls() bool {
	for pc := range p.Insns {
		switch p.Insns[pc].Kind {
		case KindCallFunc:
			if f := p.Image.Func(pc); f != nil && f.Inline != nil && f.Inline.Kind == vm.InlineTail {
				return true
			}
		case KindTailCall:
			return true
		}
	}
	return false
}

// Stock is a size of records of a ring buffer that generated code reserves.
type Stock struct {
	Map, Size uint64
	Records   vm.Records
}

// judgeInline decides how the key of a lookup, or an iterator, is checked. As after any call,
// nothing is known after it: the call may have been left to Go, so the next slot has to be an
// entry.
func (p *Program) judgeInline(pc int32, in *Insn) {
	if f := p.Inline(in); f.finds() {
		p.know(pc, f)
	}
	if in.Size != 0 {
		p.judgeAccess(pc, in, p.inlineStores(in))
	}
	p.scan.reset()
}

// finds reports whether the call finds an element of a map, or gets a record of it.
func (f *Inline) finds() bool {
	return f.Kind == vm.InlineLookup || f.Kind == vm.InlineOwned || f.Kind == vm.InlineReserve
}

// KeepsTurn reports whether r1 still is the number of the turn after the function of a loop
// returned.
func (f *Inline) KeepsTurn() bool { return f.Kind == vm.InlineLoop && f.Writes>>1&1 == 0 }

// inlineStores reports whether a KindCallInline writes memory.
func (p *Program) inlineStores(in *Insn) bool {
	switch p.Inline(in).Kind {
	case vm.InlineNext, vm.InlineLock, vm.InlineUnlock, vm.InlineReserve:
		return true
	}
	return false
}
