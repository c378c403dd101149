// Package owned manages the objects that programs allocate by the types of their own BTF
// (kernel/bpf/helpers.c bpf_obj_new_impl and following), and the lists and trees that programs put
// them into, which are in simulated memory.
//
// It does not know types, or which references a program holds (see
// [github.com/bpfrun/bpfrun/helpers/held]).
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package owned

import (
	"maps"

	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// Heap manages the objects of programs. Its state is the number of references to each. Create it
// with [New].
type Heap struct {
	mem   *mem.Memory    `snapshot:"fixed"`
	guest *guest.Memory  `snapshot:"fixed"`
	refs  map[uint64]int // references to objects beyond the first
	// OnFree releases what an object owns, before it is freed; nil for none.
	OnFree func(*mem.Region) `snapshot:"fixed"`
	dying  []*mem.Region     `snapshot:"fixed"` // objects that Drop is freeing
}

// New returns a heap that allocates in m.
func New(m *mem.Memory, g *guest.Memory) Heap { return Heap{mem: m, guest: g} }

// Alloc allocates a zeroed object of size bytes, with fields that the program must not store to; it
// returns 0 if memory is exhausted. The owner is that of its region, for OnFree.
func (h *Heap) Alloc(size uint64, name string, guards []mem.Guard, owner any) uint64 {
	r, err := h.mem.Alloc(size, mem.Region{Kind: mem.LocalObject, Name: name, Guards: guards, Owner: owner})
	if err != nil {
		return 0
	}
	return r.Base
}

// AllocPercpu allocates a zeroed object for each CPU, as an array. It returns 0 if memory is
// exhausted.
func (h *Heap) AllocPercpu(cpus int, size uint64, name string) uint64 {
	r, err := h.mem.AllocArray(uint64(cpus), size, 0, mem.Region{Kind: mem.LocalObject, Name: "per-CPU " + name})
	if err != nil {
		return 0
	}
	return r.Base
}

// Percpu returns a CPU's part of an AllocPercpu result; ok is false for other addresses.
func (h *Heap) Percpu(base uint64, cpu int) (addr uint64, ok bool) {
	r := h.mem.Find(base)
	if r == nil || r.Kind != mem.LocalObject || r.Base != base || r.Count == 0 {
		return 0, false
	}
	return base + uint64(cpu)*r.Stride, true
}

// Base returns the object that contains the target of a pointer, such as its node.
func (h *Heap) Base(addr uint64) (uint64, *vm.Action) {
	r := h.mem.Find(addr)
	if r == nil || r.Kind != mem.LocalObject {
		return 0, guest.BadArg("%#x is not in an object allocated by the program", addr)
	}
	return r.Base, nil
}

// Acquire adds a reference to an object.
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

// Drop releases a reference and frees the object with the last one. Objects of the kernel are not
// freed.
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
	// What an object owns may own others, without end: no recursion.
	h.dying = append(h.dying, r)
	if len(h.dying) > 1 {
		return
	}
	for i := 0; i < len(h.dying); i++ {
		if r := h.dying[i]; !r.Freed {
			if h.OnFree != nil {
				h.OnFree(r)
			}
			h.mem.Free(r)
		}
	}
	h.dying = h.dying[:0]
}

// Snapshot records the counts. The objects are part of the memory's snapshot.
func (h *Heap) Snapshot() (restore func()) {
	was := maps.Clone(h.refs)
	return func() {
		if len(h.refs)+len(was) > 0 {
			h.refs = maps.Clone(was)
		}
	}
}
