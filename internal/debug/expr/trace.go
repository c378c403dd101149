package expr

import (
	"bytes"

	"github.com/bpfrun/bpfrun/internal/mem"
)

// Trace is what a value was evaluated from: the registers and bytes of memory that the evaluation
// read. As long as they stay the same, evaluating again would give the same value, unless the trace
// is Open.
type Trace struct {
	// Open means that the value followed from more than registers and plain memory: a kernel
	// object, a map, the packet, a position.
	Open bool

	memory *mem.Memory
	epoch  uint64 // of the memory: all that was read stays accessible in it
	regs   []tracedReg
	bytes  []tracedBytes
}

type tracedReg struct {
	frame, n int
	value    uint64
	known    bool
}

type tracedBytes struct{ now, was []byte }

// maxTraced limits the bytes that a trace keeps: a larger value is cheaper to evaluate than to
// follow.
const maxTraced = 1 << 12

// nullPage is the size of the first page, in which nothing ever is.
const nullPage = 4096

// Follow records in tr what f reads.
func (mo *Memory) Follow(tr *Trace, f func()) {
	m := mo.m.Memory()
	*tr = Trace{memory: m, epoch: m.Epoch(), regs: tr.regs[:0], bytes: tr.bytes[:0]}
	mo.trace = tr
	defer func() { mo.trace = nil }()
	f()
	tr.Open = tr.Open || m.Epoch() != tr.epoch // what f did to memory itself
}

// Same reports whether everything that a value was evaluated from is as it was.
func (mo *Memory) Same(tr *Trace) bool {
	m := mo.m.Memory()
	if tr.Open || tr.memory != m || tr.epoch != m.Epoch() {
		return false
	}
	for i := range tr.regs {
		r := &tr.regs[i]
		if v, known := mo.m.Thread().FrameReg(r.frame, r.n); v != r.value || known != r.known {
			return false
		}
	}
	for i := range tr.bytes {
		if b := &tr.bytes[i]; !bytes.Equal(b.now, b.was) {
			return false
		}
	}
	return true
}

// Elsewhere notes that the value being evaluated follows from something that a trace does not
// record.
func (mo *Memory) Elsewhere() {
	if mo.trace != nil {
		mo.trace.Open = true
	}
}

// FrameReg reads a register of an activation, as vm.Thread.FrameReg does.
func (mo *Memory) FrameReg(frame, n int) (v uint64, known bool) {
	v, known = mo.m.Thread().FrameReg(frame, n)
	if mo.trace != nil {
		mo.trace.regs = append(mo.trace.regs, tracedReg{frame, n, v, known})
	}
	return v, known
}

// followed notes that a value follows from n bytes at addr; 0 if only from what kind of memory is
// there. Plain memory stays what it is during an epoch; what a kernel object, a context or no
// memory at all becomes is not followed.
func (mo *Memory) followed(addr uint64, n int) {
	tr := mo.trace
	if tr == nil || tr.Open {
		return
	}
	m := mo.m.Memory()
	addr = m.Truncate(addr)
	r := m.Find(addr)
	if r == nil && addr < nullPage {
		return
	}
	if r == nil || r.View != nil || mo.m.Kernel().ObjectAt(addr) != nil {
		tr.Open = true
		return
	}
	switch r.Kind {
	case mem.Stack, mem.MapValue, mem.Global, mem.LocalObject:
	default:
		tr.Open = true
		return
	}
	all, off := m.Bytes(r), addr-r.Base
	if n == 0 {
		return
	}
	size := n
	for _, b := range tr.bytes {
		size += len(b.was)
	}
	if size > maxTraced || off > uint64(len(all)) || uint64(n) > uint64(len(all))-off {
		tr.Open = true
		return
	}
	now := all[off : off+uint64(n)]
	tr.bytes = append(tr.bytes, tracedBytes{now, bytes.Clone(now)})
}
