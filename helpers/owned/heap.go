// Package owned keeps the objects that programs allocate by the types of their own BTF (kernel/bpf/helpers.c bpf_obj_new_impl and
// following), and works on the lists and trees that programs put them into. Lists and trees are in simulated memory.
//
// It does not know which references a program holds ([github.com/bpfrun/bpfrun/helpers/held] does), nor types.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package owned

import (
	"maps"

	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// Heap is the objects of programs. Its state is how many references there are to each. Make one with [New].
type Heap struct {
	mem   *mem.Memory    `snapshot:"fixed"`
	guest *guest.Memory  `snapshot:"fixed"`
	refs  map[uint64]int // references to objects beyond the first
}

// New returns a heap in m.
func New(m *mem.Memory, g *guest.Memory) Heap { return Heap{mem: m, guest: g} }

// Alloc allocates a zeroed object of size bytes, with fields the program may not store to; 0 when no memory is left.
func (h *Heap) Alloc(size uint64, name string, guards []mem.Guard) uint64 {
	r, err := h.mem.Alloc(size, mem.Region{Kind: mem.LocalObject, Name: name, Guards: guards})
	if err != nil {
		return 0
	}
	return r.Base
}

// AllocPercpu allocates a zeroed object for each CPU: an array. It returns 0 when no memory is left.
func (h *Heap) AllocPercpu(cpus int, size uint64, name string) uint64 {
	r, err := h.mem.AllocArray(uint64(cpus), size, 0, mem.Region{Kind: mem.LocalObject, Name: "per-CPU " + name})
	if err != nil {
		return 0
	}
	return r.Base
}

// Percpu returns a CPU's part of what AllocPercpu returned; ok is false for other addresses.
func (h *Heap) Percpu(base uint64, cpu int) (addr uint64, ok bool) {
	r := h.mem.Find(base)
	if r == nil || r.Kind != mem.LocalObject || r.Base != base || r.Count == 0 {
		return 0, false
	}
	return base + uint64(cpu)*r.Stride, true
}

// Base returns the object that a pointer, such as to its node, lies in.
func (h *Heap) Base(addr uint64) (uint64, *vm.Action) {
	r := h.mem.Find(addr)
	if r == nil || r.Kind != mem.LocalObject {
		return 0, guest.BadArg("%#x is not in an object allocated by the program", addr)
	}
	return r.Base, nil
}

// Acquire counts another reference to an object.
func (h *Heap) Acquire(addr uint64) *vm.Action {
	if _, f := h.Base(addr); f != nil {
		return f
	}
	if h.refs == nil {
		h.refs = map[uint64]int{}
	}
	h.refs[addr] = max(h.refs[addr], 1) + 1
	return nil
}

// Drop gives back a reference and frees the object with the last one. Objects of the kernel stay.
func (h *Heap) Drop(addr uint64) {
	r := h.mem.Find(addr)
	if r == nil || r.Kind != mem.LocalObject || r.Base != addr {
		return
	}
	if n := h.refs[addr]; n > 1 {
		h.refs[addr] = n - 1
		return
	}
	delete(h.refs, addr)
	h.mem.Free(r)
}

// Snapshot records the counts. The objects belong to the memory's snapshot.
func (h *Heap) Snapshot() (restore func()) {
	was := maps.Clone(h.refs)
	return func() { h.refs = maps.Clone(was) }
}
