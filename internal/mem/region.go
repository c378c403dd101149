package mem

import (
	"fmt"
)

// RegionKind is the kind of a region, for messages and for rules of other packages.
type RegionKind uint8

const (
	// Scratch is memory of no special kind.
	Scratch RegionKind = iota
	// Stack is a frame of the program's stack.
	Stack
	// MapValue is one value of a map or an array of them.
	MapValue
	// MapHandle is the opaque object a map reference points to.
	MapHandle
	// Packet is packet data.
	Packet
	// Context is the context argument of a program.
	Context
	// KernelObject is an object of a kernel type.
	KernelObject
	// RingbufRecord is a reserved ring buffer record.
	RingbufRecord
	// PercpuData is a per-CPU variable or allocation.
	PercpuData
	// UserMem is memory of a user process.
	UserMem
	// Text is kernel or program text.
	Text
	// Global is a data section of the program (.data, .bss, .rodata).
	Global
	// ArenaMem is memory of a BPF arena map.
	ArenaMem
	// LocalObject is an object the program allocated (bpf_obj_new).
	LocalObject
)

var regionKindNames = [...]string{
	Scratch: "scratch", Stack: "stack", MapValue: "map value", MapHandle: "map", Packet: "packet",
	Context: "context", KernelObject: "kernel object", RingbufRecord: "ring buffer record",
	PercpuData: "per-CPU data", UserMem: "user memory", Text: "text", Global: "global data",
	ArenaMem: "arena", LocalObject: "object",
}

// String returns the kind as words for messages: "map value".
func (k RegionKind) String() string {
	if int(k) < len(regionKindNames) {
		return regionKindNames[k]
	}
	return fmt.Sprintf("region(%d)", uint8(k))
}

// View implements a region that is not plain bytes, such as a context or a kernel object. Offsets
// are relative to the region's base, and the access always lies within the region. Size is 1, 2, 4
// or 8; values are zero-extended. A view sets what it knows of a Fault (Kind, Detail); the caller
// adds address, size, direction and region if they are unset.
type View interface {
	Load(off uint64, size int) (uint64, *Fault)
	Store(off uint64, size int, v uint64) *Fault
	Read(off uint64, p []byte) *Fault
	Write(off uint64, p []byte) *Fault
}

// Region is a range of guest addresses with its own bounds. Anyone may read its fields, but only
// methods of [Memory] change them; the owner may set Name, Owner and View before the first guest
// access.
type Region struct {
	Base, Size uint64 // current bounds, in bytes
	Kind       RegionKind
	Name       string
	ReadOnly   bool
	View       View
	Owner      any
	Freed      bool

	// Guards are bytes that the guest may not store to, for a region without a view; set them
	// before Alloc.
	Guards []Guard

	// Count, ElemSize and Stride (in bytes) describe an array region; Count is 0 for other regions.
	Count, ElemSize, Stride uint64

	block int32  // index into Memory.blocks
	ext   uint64 // address of the reserved extent
	extSz uint64 // size of the reserved extent

	part *Region // an object in the extent after the bounds, see [Memory.Attach]

	unwritten bool // bytes may be marked by Unwrite

	resting bool   // freed, but its space is kept (see [Memory.Rest])
	why     string // what ended it, when that is known: "bpf_x moved"
}

// Namer is implemented by owners of array regions whose elements have names instead of numbers,
// such as the keys of a hash map; "" for an element without a name.
type Namer interface{ ElemName(addr uint64) string }

// Contains reports whether addr lies within the region's current bounds.
func (r *Region) Contains(addr uint64) bool { return addr-r.Base < r.Size }

// Extent returns the address and the size of the reserved extent, which contains
// the bounds (see [Memory.SetBounds]).
func (r *Region) Extent() (base, size uint64) { return r.ext, r.extSz }

// Elem returns the index of the array element that contains addr, and the offset in it; ok is false
// for addresses in gaps and for regions that are not arrays.
func (r *Region) Elem(addr uint64) (index, off uint64, ok bool) {
	if r.Count == 0 || !r.Contains(addr) {
		return 0, 0, false
	}
	index, off = (addr-r.Base)/r.Stride, (addr-r.Base)%r.Stride
	return index, off, off < r.ElemSize
}

// nearElem returns the index of the element nearest to addr.
func (r *Region) nearElem(addr uint64) uint64 {
	if addr < r.Base {
		return 0
	}
	i, off := (addr-r.Base)/r.Stride, (addr-r.Base)%r.Stride
	if i >= r.Count {
		return r.Count - 1
	}
	// In a gap, the nearer of this element's end and the next one's start.
	if off >= r.ElemSize && i+1 < r.Count && r.Stride-off < off-r.ElemSize+1 {
		i++
	}
	return i
}

// bounds returns the range [lo, hi) of the region, or of the array element nearest to addr.
func (r *Region) bounds(addr uint64) (lo, hi uint64) {
	if r.Count == 0 {
		return r.Base, r.Base + r.Size
	}
	lo = r.Base + r.nearElem(addr)*r.Stride
	return lo, lo + r.ElemSize
}

// Describe names the region, or the array element nearest to addr: "map value counters[3]".
func (r *Region) Describe(addr uint64) string {
	s := r.Kind.String()
	if r.Name != "" {
		s += " " + r.Name
	}
	if n, ok := r.Owner.(Namer); ok && r.Count > 0 {
		if name := n.ElemName(r.Base + r.nearElem(addr)*r.Stride); name != "" {
			return s + "[" + name + "]"
		}
		return s + fmt.Sprintf(" (slot %d)", r.nearElem(addr))
	}
	if r.Count > 1 {
		s += fmt.Sprintf("[%d]", r.nearElem(addr))
	}
	return s
}
