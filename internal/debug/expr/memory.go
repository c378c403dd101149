package expr

import (
	"fmt"
	"math"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/loader"
)

// Memory reads and writes simulated memory for the debugger: accesses are not logged and trigger no
// watchpoints. Its state is the snapshot that the machine returns to after inspection created
// objects.
type Memory struct {
	*ground
	clean *machine.Snapshot // the run's own state, while inspection has added objects to it
	// changing means that an assignment is in progress, whose effects stay.
	changing bool
	// InPlace means that nothing restores the state before inspection: what evaluation makes in the
	// kernel stays, and lookups in maps are those of user space.
	InPlace bool
	// AfterFault reports whether the run ended with a fault. Freed memory is then readable.
	AfterFault func() bool
	// Refresh reinstalls the watchpoints on memory after a snapshot replaced it.
	Refresh func()
	trace   *Trace // records what an evaluation reads, nil for none
}

// ReadMemory reads up to n bytes from addr, as far as they are readable; the error is that of the
// first byte.
func (mo *Memory) ReadMemory(addr uint64, n int) ([]byte, error) {
	out := make([]byte, min(max(n, 0), maxRead))
	if err := mo.Peek(addr, out); err == nil {
		return out, nil
	}
	for i := range out {
		if addr+uint64(i) < addr {
			return out[:i], nil
		}
		if err := mo.Peek(addr+uint64(i), out[i:i+1]); err != nil {
			if i == 0 {
				return nil, err
			}
			return out[:i], nil
		}
	}
	return out, nil
}

// maxString limits the length of a string, in bytes.
const maxString = 4096

// StringAt reads a NUL-terminated string.
func (mo *Memory) StringAt(addr uint64) (string, error) {
	mo.Elsewhere() // its length is not known
	var out []byte
	for len(out) < maxString {
		var b [1]byte
		if err := mo.Peek(addr+uint64(len(out)), b[:]); err != nil {
			if len(out) > 0 {
				break
			}
			return "", err
		}
		if b[0] == 0 {
			break
		}
		out = append(out, b[0])
	}
	return string(out), nil
}

// memberwise reports whether structs at an address are read member by member: kernel objects, which
// show only set fields, computed contexts, and packets.
func (mo *Memory) memberwise(addr uint64) bool {
	mo.followed(addr, 0)
	r := mo.m.Memory().Find(addr)
	return mo.m.Kernel().ObjectAt(addr) != nil || r != nil && r.Kind == mem.Packet || mo.isView(addr)
}

// AnySet reports whether any byte of a range of kernel memory is set; other memory always is.
func (mo *Memory) AnySet(addr, size uint64) bool {
	mo.followed(addr, 0)
	if mo.m.Kernel().ObjectAt(addr) == nil {
		return true
	}
	return mo.m.Kernel().AnyKnown(addr, size)
}

// Examine reads n units of size bytes each from addr.
func (mo *Memory) Examine(addr uint64, size, n int) ([]uint64, error) {
	out := make([]uint64, 0, n)
	b := make([]byte, size)
	for i := range n {
		if err := mo.Peek(addr+uint64(i*size), b); err != nil {
			if i > 0 {
				return out, err
			}
			return nil, err
		}
		out = append(out, mo.Uint(b))
	}
	return out, nil
}

// Region returns the memory region that contains an address, nil if there is none.
func (mo *Memory) Region(addr uint64) *mem.Region {
	mo.followed(addr, 0)
	return mo.m.Memory().Find(addr)
}

// SectionBase returns the address of a data section.
func (mo *Memory) SectionBase(def *loader.Map) (uint64, error) {
	m, ok := mo.m.Map(def)
	if !ok {
		return 0, fmt.Errorf("section %s is not simulated", def.Section)
	}
	if d, ok := m.(maps.ValueBase); ok {
		addr, errno := d.DirectValue(0)
		if errno != 0 {
			return 0, errno
		}
		return addr + def.ArenaOffset, nil
	}
	addr, errno := m.Lookup(0, make([]byte, 4))
	if errno != 0 {
		return 0, errno
	}
	return addr, nil
}

// look prepares for reads that may create objects: it records the state, which Unlook restores
// before anything is executed or changed.
func (mo *Memory) look() {
	mo.Elsewhere()
	if mo.clean == nil {
		mo.clean = mo.m.Snapshot()
	}
}

// Unlook removes the objects that inspection created.
func (mo *Memory) Unlook() {
	if mo.clean != nil {
		mo.m.Restore(mo.clean)
		mo.clean = nil
		mo.Refresh()
	}
}

// Looking records the state if inspection may create objects.
func (mo *Memory) Looking() {
	if !mo.changing && !mo.InPlace {
		mo.look()
	}
}

// kernelOwned reports whether memory has the layout of the kernel's types: kernel objects and
// program contexts.
func (mo *Memory) kernelOwned(addr uint64) bool {
	mo.followed(addr, 0)
	if mo.m.Kernel().ObjectAt(addr) != nil {
		return true
	}
	r := mo.m.Memory().Find(addr)
	return r != nil && r.Kind == mem.Context
}

// Uint decodes an unsigned integer in the program's byte order.
func (mo *Memory) Uint(b []byte) uint64 { return endian.Uint(mo.m.Memory().ByteOrder(), b) }

// PutUint encodes the low bytes of v in the program's byte order.
func (mo *Memory) PutUint(b []byte, v uint64) { endian.PutUint(mo.m.Memory().ByteOrder(), b, v) }

// maxRead limits the bytes that one value reads.
const maxRead = 1 << 20

// isView reports whether memory is a context whose fields are computed on each read (xdp_md,
// __sk_buff).
func (mo *Memory) isView(addr uint64) bool {
	mo.followed(addr, 0)
	r := mo.m.Memory().Find(addr)
	return r != nil && r.Kind == mem.Context && r.View != nil && mo.m.Kernel().ObjectAt(addr) == nil
}

// maxAddr is the highest address.
const maxAddr = math.MaxUint64

// Peek reads memory for the debugger: the access is not logged and triggers no watchpoint. The
// error is a *[MemoryError], or a *[mem.Fault] for a range that wraps around the end of the address
// space.
func (mo *Memory) Peek(addr uint64, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if addr > maxAddr-uint64(len(p)) {
		return &mem.Fault{Kind: mem.Unmapped, Addr: addr, Size: len(p)}
	}
	m := mo.m.Memory()
	mo.followed(addr, len(p))
	// Reading the first page creates nothing, so a null pointer needs no snapshot.
	if r := m.Find(addr); r == nil && addr >= nullPage || r != nil && r.View != nil {
		mo.Looking()
	}
	var f *mem.Fault
	mo.m.Quietly(func() {
		if f = m.Read(addr, p); f != nil && f.Kind == mem.UserPointer {
			f = m.ReadUser(addr, p)
		}
	})
	if f != nil && f.Kind == mem.UseAfterFree && mo.AfterFault() && m.ReadReleased(addr, p) {
		return nil
	}
	if f != nil {
		if f.Kind != mem.NullPointer {
			mo.Elsewhere() // it may become readable
		}
		return &MemoryError{f}
	}
	return nil
}

// MemoryError is memory that cannot be read or written.
type MemoryError struct{ Fault *mem.Fault }

// Error describes the memory at the address and the fault.
func (e *MemoryError) Error() string {
	if e.Fault.Kind == mem.NullPointer {
		return fmt.Sprintf("cannot access %#x: null pointer", e.Fault.Addr)
	}
	return "cannot access memory: " + e.Fault.Error()
}

// Unwrap returns the fault.
func (e *MemoryError) Unwrap() error { return e.Fault }

// poke writes memory for the debugger, including read-only memory.
func (mo *Memory) poke(addr uint64, p []byte) error {
	if mo.m.Kernel().Poke(addr, p) {
		return nil
	}
	m := mo.m.Memory()
	var f *mem.Fault
	mo.m.Quietly(func() {
		r := m.Find(addr)
		ro := r != nil && r.ReadOnly && r.View == nil
		if ro {
			m.SetReadOnly(r, false)
			defer m.SetReadOnly(r, true)
		}
		if f = m.Write(addr, p); f != nil && f.Kind == mem.UserPointer {
			f = m.WriteUser(addr, p)
		}
	})
	if f != nil {
		return &MemoryError{f}
	}
	return nil
}

// pointerAt reads a pointer.
func (mo *Memory) pointerAt(addr uint64) (uint64, error) {
	b := make([]byte, mo.m.Memory().PointerSize())
	if err := mo.Peek(addr, b); err != nil {
		return 0, err
	}
	return mo.Uint(b), nil
}

// Forget drops the state recorded before inspection, because another state replaces it.
func (mo *Memory) Forget() { mo.clean = nil }

// Released notes, after a fault, that the memory at addr was freed and shows its last contents; ""
// for other memory.
func (mo *Memory) Released(addr uint64) string {
	if !mo.AfterFault() {
		return ""
	}
	if text := mo.m.Memory().Released(addr); text != "" {
		return "last contents: " + text
	}
	return ""
}
