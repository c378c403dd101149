package vm

// InlineKind identifies a function that an engine can execute itself.
type InlineKind uint8

// The kinds of functions.
const (
	// InlineLookup finds an element of an array: r1 is the map, r2 the address of a 32-bit index; r0 becomes the
	// address of the element, or 0 if there is none.
	InlineLookup InlineKind = iota
	// InlineMono and InlineBoot return the time in nanoseconds, including the time of the call.
	InlineMono
	InlineBoot
	// InlineCPU returns Thread.CPU.
	InlineCPU
	// InlineLoop calls the function r2 up to r1 (32 bits) times with Turns as bpf_loop does, until it returns 1: r3 is Ctx, r4
	// has to be 0, r0 becomes the number of calls. An engine calls the function if r1 is 0 or above MaxTurns.
	InlineLoop
	// InlineEach calls a function for elements. An engine does not begin this itself, but makes the calls that follow.
	InlineEach
	// InlineNext advances the iterator over numbers at r1, two 32-bit numbers: the one before the next, and the end. If the next
	// one (signed) is below the end, it is stored and r0 becomes r1; if not, both are zeroed and r0 becomes 0.
	InlineNext
	// NumInlines is the number of kinds.
	NumInlines
)

// Inline lets an engine execute a function instead of calling it, with the same result.
type Inline struct {
	Kind   InlineKind
	Ledger Ledger
	// Array describes the map at that address for InlineLookup; ok is false if the function must be called.
	Array func(addr uint64) (a Array, ok bool)
	// Turner is the continuation of an InlineLoop, whose At is called for loops that engines began.
	Turner Turner
}

// MaxTurns is the largest number of calls of an InlineLoop.
const MaxTurns = 8 << 20

// Ledger accounts for calls that an engine executed itself. All functions of a program share one.
type Ledger interface {
	// Open is called each time an engine starts to execute instructions. If it returns false, functions must be called
	// until it is asked again.
	Open() bool
	// Time returns the monotonic time and the time since boot before the next call, and by how much each call advances
	// them, all in nanoseconds.
	Time() (mono, boot, step uint64)
	// Book accounts for the calls executed since Open, by kind. It is called before anything else happens.
	Book(calls *[NumInlines]uint64)
}

// Array describes where the elements of an array are. It is valid for as long as the array exists.
type Array struct {
	Elements uint32
	// Stride is the distance between elements, CPUStride that between the copies of an element for CPUs 0 to CPUs-1, in
	// bytes. A CPUStride of 0 means that there is only one copy.
	Stride, CPUStride uint64
	CPUs              int
	// Base is the address of the first element. With Table the elements are in chunks of 1<<Shift, whose addresses it
	// contains; a chunk with address 0 is allocated when the function is called.
	Base  uint64
	Table []uint64
	Shift uint
}
