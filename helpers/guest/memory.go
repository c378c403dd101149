// Package guest accesses memory on behalf of a program that calls a helper: [Memory] with checks,
// where an access that the program may not make is a fault, and [Prober] without faults, as the
// kernel's nofault copies do.
//
// It does not know what the bytes mean, which helper asks, or what a run records.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package guest

import (
	"encoding/binary"
	"fmt"
	"maps"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// MaxBuffer limits one copy of a helper in bytes, so that a size taken from the guest cannot
// allocate much. Nothing that a program owns is larger.
const MaxBuffer = 1 << 29

// Fault returns the action for a fault of simulated memory.
func Fault(f *mem.Fault) *vm.Action { return vm.MemFault(f) }

// BadArg returns the fault for an argument that the verifier would have refused.
func BadArg(format string, args ...any) *vm.Action {
	return vm.FaultAction(&vm.Fault{Kind: vm.BadArgument, Text: fmt.Sprintf(format, args...)})
}

// NotSimulated stops a program at something that is not simulated.
func NotSimulated(text string) *vm.Action {
	return vm.FaultAction(&vm.Fault{Kind: vm.NotSimulated, Text: text})
}

// Memory makes checked accesses. It owns the buffers that they copy to, and the memory for
// arguments of callbacks. Create it with [NewMemory].
type Memory struct {
	mem     *mem.Memory
	key     []byte
	bytes   []byte
	scratch map[uint64]*mem.Region
}

// NewMemory returns a Memory that accesses m.
func NewMemory(m *mem.Memory) Memory { return Memory{mem: m} }

// Order returns the byte order of the target.
func (g *Memory) Order() binary.ByteOrder { return g.mem.ByteOrder() }

// PointerSize returns the size of the target's pointers in bytes.
func (g *Memory) PointerSize() int { return g.mem.PointerSize() }

// Buffer returns n bytes with undefined content, valid until the next call.
func (g *Memory) Buffer(n uint64) ([]byte, *vm.Action) {
	if n > MaxBuffer {
		return nil, BadArg("size %#x", n)
	}
	if uint64(cap(g.bytes)) < n {
		g.bytes = make([]byte, n)
	}
	return g.bytes[:n], nil
}

// Out is [Memory.Buffer] for n bytes to be written to addr. It checks the address first, because
// the size may be arbitrary.
func (g *Memory) Out(addr, n uint64) ([]byte, *vm.Action) {
	if f := g.mem.Check(addr, n, true); f != nil {
		return nil, Fault(f)
	}
	return g.Buffer(n)
}

// Read copies n bytes. The result is valid until the next call of Buffer or Read.
func (g *Memory) Read(addr, n uint64) ([]byte, *vm.Action) {
	if n == 0 {
		return nil, nil
	}
	if b := g.mem.Plain(addr, n); b != nil {
		g.bytes = append(g.bytes[:0], b...)
		return g.bytes, nil
	}
	// Check the bounds before allocating, because the size may be arbitrary.
	if f := g.mem.Check(addr, n, false); f != nil {
		return nil, Fault(f)
	}
	b, f := g.Buffer(n)
	if f != nil {
		return nil, f
	}
	if f := g.mem.Read(addr, b); f != nil {
		return nil, Fault(f)
	}
	return b, nil
}

// Key copies a map key of n bytes. The result is valid until the next call of Key; Read and Buffer
// do not affect it.
func (g *Memory) Key(addr, n uint64) ([]byte, *vm.Action) {
	if uint64(cap(g.key)) < n {
		g.key = make([]byte, n)
	}
	b := g.key[:n]
	if f := g.mem.Read(addr, b); f != nil {
		return nil, Fault(f)
	}
	return b, nil
}

// Write stores b at addr.
func (g *Memory) Write(addr uint64, b []byte) *vm.Action {
	if len(b) == 0 {
		return nil
	}
	if f := g.mem.Write(addr, b); f != nil {
		return Fault(f)
	}
	return nil
}

// ReadInt reads a number of size bytes in the target's byte order.
func (g *Memory) ReadInt(addr uint64, size int) (uint64, *vm.Action) {
	v, f := g.mem.Load(addr, size)
	if f != nil {
		return 0, Fault(f)
	}
	return v, nil
}

// ReadU64 is [Memory.ReadInt] of eight bytes.
func (g *Memory) ReadU64(addr uint64) (uint64, *vm.Action) { return g.ReadInt(addr, 8) }

// ReadU32 is [Memory.ReadInt] of four bytes.
func (g *Memory) ReadU32(addr uint64) (uint32, *vm.Action) {
	v, f := g.ReadInt(addr, 4)
	return uint32(v), f
}

// WriteInt stores a number of size bytes in the target's byte order.
func (g *Memory) WriteInt(addr uint64, size int, v uint64) *vm.Action {
	if f := g.mem.Store(addr, size, v); f != nil {
		return Fault(f)
	}
	return nil
}

// WriteU64 is [Memory.WriteInt] of eight bytes.
func (g *Memory) WriteU64(addr, v uint64) *vm.Action { return g.WriteInt(addr, 8, v) }

// WriteU32 is [Memory.WriteInt] of four bytes.
func (g *Memory) WriteU32(addr uint64, v uint32) *vm.Action { return g.WriteInt(addr, 4, uint64(v)) }

// WriteField stores to a field of a map value or object that the program itself must not store to.
func (g *Memory) WriteField(addr uint64, size int, v uint64) *vm.Action {
	if f := g.mem.StoreField(addr, size, v); f != nil {
		return Fault(f)
	}
	return nil
}

// Element returns the start of the array element or region that contains addr, such as a map value;
// addr itself if there is none.
func (g *Memory) Element(addr uint64) uint64 {
	r := g.mem.Find(addr)
	if r == nil {
		return addr
	}
	if _, off, ok := r.Elem(addr); ok {
		return addr - off
	}
	return r.Base
}

// Scratch allocates memory for a callback's arguments; nil if memory is exhausted.
func (g *Memory) Scratch(size uint64, name string) *mem.Region {
	r, err := g.mem.Alloc(max(size, 1), mem.Region{Kind: mem.Scratch, Name: name})
	if err != nil {
		return nil
	}
	if g.scratch == nil {
		g.scratch = map[uint64]*mem.Region{}
	}
	g.scratch[r.Base] = r
	return r
}

// Bytes returns the content of a region allocated by Scratch.
func (g *Memory) Bytes(r *mem.Region) []byte { return g.mem.Bytes(r) }

// EndScratch frees memory that Scratch allocated.
func (g *Memory) EndScratch(addr uint64) {
	if r := g.scratch[addr]; r != nil {
		delete(g.scratch, addr)
		g.mem.Free(r)
	}
}

// Snapshot records which memory is allocated for callbacks; its content is part of the memory's own
// snapshot.
func (g *Memory) Snapshot() (restore func()) {
	was := maps.Clone(g.scratch)
	return func() {
		if len(g.scratch)+len(was) > 0 {
			g.scratch = maps.Clone(was)
		}
	}
}

// Fields accesses the fields of one struct of the guest, such as the state of an iterator. The
// first fault is kept in Fault; after it, reads return 0 and writes have no effect.
type Fields struct {
	guest *Memory
	base  uint64
	Fault *vm.Action
}

// At returns the fields of the struct at base.
func (g *Memory) At(base uint64) *Fields { return &Fields{guest: g, base: base} }

// Get reads a field of size bytes at an offset.
func (s *Fields) Get(off uint64, size int) (v uint64) {
	if s.Fault == nil {
		v, s.Fault = s.guest.ReadInt(s.base+off, size)
	}
	return v
}

// U32 is [Fields.Get] of four bytes.
func (s *Fields) U32(off uint64) uint32 { return uint32(s.Get(off, 4)) }

// U64 is [Fields.Get] of eight bytes.
func (s *Fields) U64(off uint64) uint64 { return s.Get(off, 8) }

// Set stores to a field of size bytes at an offset.
func (s *Fields) Set(off uint64, size int, v uint64) {
	if s.Fault == nil {
		s.Fault = s.guest.WriteInt(s.base+off, size, v)
	}
}
