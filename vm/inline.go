package vm

// InlineKind describes what a function does that an engine may do itself.
type InlineKind uint8

// The kinds of functions.
const (
	// InlineLookup finds an element of an array: r1 is the map, r2 the address of a 32-bit index, r0 becomes the address of
	// the element, or 0 if there is none.
	InlineLookup InlineKind = iota
	// InlineMono and InlineBoot return the time, the call included.
	InlineMono
	InlineBoot
	// InlineCPU returns Thread.CPU.
	InlineCPU
	// NumInlines is the number of kinds.
	NumInlines
)

// Inline lets an engine execute a function instead of calling it. The result has to be the same.
type Inline struct {
	Kind   InlineKind
	Ledger Ledger
	// Array describes the map with that address for InlineLookup; ok is false for those that have to be called for.
	Array func(addr uint64) (a Array, ok bool)
}

// Ledger accounts for the calls that an engine executed itself. There is one for all functions of a program.
type Ledger interface {
	// Open is asked each time an engine starts to execute instructions. If it is false functions have to be called until it is
	// asked again.
	Open() bool
	// Time returns the monotonic time and that since boot as they are before the next call, and by how much each call advances them.
	Time() (mono, boot, step uint64)
	// Book takes the calls executed since Open was asked, by kind, before anything else happens.
	Book(calls *[NumInlines]uint64)
}

// Array is where the elements of an array lie. It stays so for as long as the array exists.
type Array struct {
	Elements uint32
	// Stride is the distance between elements, CPUStride between the copies of an element for the CPUs from 0 up to CPUs. A
	// CPUStride of 0 says that there is only one.
	Stride, CPUStride uint64
	CPUs              int
	// Base is the address of the first element. With Table the elements lie in chunks of 1<<Shift, whose addresses it holds; a
	// chunk with address 0 appears when the function is called.
	Base  uint64
	Table []uint64
	Shift uint
}
