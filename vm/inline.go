package vm

import "github.com/bpfrun/bpfrun/internal/recent"

// InlineKind identifies a function that an engine can execute itself.
type InlineKind uint8

// The kinds of functions.
const (
	// InlineLookup finds an element of an array or a hash: r1 is the map, r2 the address of a
	// 32-bit index or of a key; r0 becomes the address of the element, or 0 if there is none.
	InlineLookup InlineKind = iota
	// InlineMono and InlineBoot return the time in nanoseconds, including the time of the call.
	InlineMono
	InlineBoot
	// InlineCPU returns Thread.CPU.
	InlineCPU
	// InlineLoop calls the function r2 up to r1 (32 bits) times with Turns as bpf_loop does, until
	// it returns 1: r3 is Ctx, r4 has to be 0, r0 becomes the number of calls. An engine calls the
	// function if r1 is 0 or above MaxTurns.
	InlineLoop
	// InlineEach calls a function for elements. An engine does not begin this itself, but makes the
	// calls that follow.
	InlineEach
	// InlineNext advances the iterator over numbers at r1, two 32-bit numbers: the one before the
	// next, and the end. If the next one (signed) is below the end, it is stored and r0 becomes r1;
	// if not, both are zeroed and r0 becomes 0.
	InlineNext
	// InlineTail continues with the program in slot r3 (32 bits) of the program array r2, with r1
	// to r9 and the stack as they are. It counts toward MaxTailCalls. If the count is reached, r0
	// becomes 0 and nothing else happens. If there is no program, the function must be called.
	InlineTail
	// InlineLock takes the spin lock r1, four bytes: if nothing is held and it is 0, it becomes 1.
	// InlineUnlock releases it: it becomes 0. r0 becomes 0. See Ledger.Lock.
	InlineLock
	InlineUnlock
	// InlineOwned finds the value of the owner r2 in the local storage r1, a Hash whose keys are owners:
	// r0 becomes its address. Unless there is one, the owner's memory is live, r3 is 0 and r4 is 0 or
	// 1, the function must be called.
	InlineOwned
	// InlineReserve reserves a record of r2 bytes of the buffer r1: r0 becomes its address, and its
	// bytes 0. InlineSubmit and InlineDiscard end the record r1; r0 becomes 0. See [Records]. Unless
	// r3 of InlineReserve is 0, the function must be called.
	InlineReserve
	InlineSubmit
	InlineDiscard
	// NumInlines is the number of kinds.
	NumInlines
)

// Inline lets an engine execute a function instead of calling it, with the same result.
type Inline struct {
	Kind   InlineKind
	Ledger Ledger
	// Array describes the map at that address for InlineLookup; ok is false if the function must be
	// called.
	Array func(addr uint64) (a Array, ok bool)
	// Hash is the same for hashes, tries and InlineOwned. It may be nil.
	Hash func(addr uint64) (h Hash, ok bool)
	// Progs describes the program array at that address for InlineTail.
	Progs func(addr uint64) (p Progs, ok bool)
	// Records describes the records of that many bytes of the buffer at that address, for
	// InlineReserve.
	Records func(addr, size uint64) (r Records, ok bool)
	// Turner is the continuation of an InlineLoop, whose At is called for loops that engines began.
	Turner Turner
}

// MaxTurns is the largest number of calls of an InlineLoop.
const MaxTurns = 8 << 20

// Ledger accounts for calls that an engine executed itself. All functions of a program share one.
type Ledger interface {
	// Open is called each time an engine starts to execute instructions. If it returns false,
	// functions must be called until it is asked again.
	Open() bool
	// Lock is called after Open returned false. If that is only because a spin lock is held, it
	// returns its address: an engine may release it, after which functions need not be called any
	// more. Until its memory becomes inaccessible, an engine may also take it. Otherwise it is 0.
	Lock() uint64
	// Time returns the monotonic time and the time since boot before the next call, and by how much
	// each call advances them, all in nanoseconds.
	Time() (mono, boot, step uint64)
	// Book accounts for the calls executed since Open, by kind. It is called before anything else
	// happens.
	Book(calls *[NumInlines]uint64)
	// Locked is called after Book if locks were taken or released since Open: lock is what is held
	// now, 0 for nothing, taken by the call at slot pc of img.
	Locked(lock uint64, img *Image, pc int)
	// Recorded is called after Book and before Locked if records were reserved since Open: these, in
	// this order, of one r, by calls of img. Only the last one may be open. For each of several r it
	// is called in turn.
	Recorded(r Records, records []Record, img *Image)
}

// Records are the records of one size of a ring buffer. Each has memory of its own that no other
// record has had for long, accessible from its reservation to its end. An engine reserves one at a
// time.
type Records interface {
	// Stock returns the records that an engine may reserve next: n of them, at most most, from addr
	// on, stride bytes apart, in order, until a function is called. Each is one piece of inaccessible
	// memory. share is by how many sizes of the buffer's records its room is shared.
	Stock(most, share int) (addr, stride uint64, n int)
}

// MaxRecord is the size in bytes of the largest records that engines reserve.
const MaxRecord = 128

// Record is a record that an engine reserved.
type Record struct {
	At       uint64 // when it was ended, the time of that call included
	Reserved int    // slot of the call that reserved it
	Ended    int    // slot of the call that ended it
	End      RecordEnd
	Addr     uint64
}

// RecordEnd is how a record ended.
type RecordEnd uint8

// The ways in which it can.
const (
	RecordSubmitted RecordEnd = iota
	RecordDiscarded
	RecordOpen // it did not yet
)

// Array describes where the elements of an array are. It is valid for as long as the array exists.
type Array struct {
	Elements uint32
	// Stride is the distance between elements, CPUStride that between the copies of an element for
	// CPUs 0 to CPUs-1, in bytes. A CPUStride of 0 means that there is only one copy.
	Stride, CPUStride uint64
	CPUs              int
	// Open is how many bytes of each element programs may read and write without restriction while
	// nothing is watched.
	Open uint64
	// Base is the address of the first element. With Table the elements are in chunks of 1<<Shift,
	// whose addresses it contains; a chunk with address 0 is allocated when the function is called.
	Base  uint64
	Table []uint64
	Shift uint
}

// Hash describes where the elements of a hash or a trie are. It is valid for as long as the map
// exists. What the pointers lead to changes only while an engine does not run, except that an engine
// uses slots of Order.
type Hash struct {
	KeySize int
	// Tab is a table with linear probing whose length is a power of two, or 0. It is searched from
	// the hash of the key (internal/keyhash), modulo its length. The upper half of an entry is the
	// hash of its key, the lower half is its slot plus one; 0 ends the search, and there is one.
	// The key of slot i is at i*KeySize in Keys.
	Tab  *[]uint64
	Keys *[]byte
	// Bases are the addresses of chunks of 1<<Shift slots. Stride and CPUStride are as in [Array].
	Bases             *[]uint64
	Shift             uint
	Stride, CPUStride uint64
	CPUs              int
	// Order, if not nil, is the order of an LRU hash: what is found is used, as by Order.Use.
	Order *recent.Order
	// Lengths and Masks, if not nil, make this a trie of prefixes, whose key is a 32-bit length in
	// bits and the data: the search is repeated for each of the lengths that are not above the
	// key's, in order, with a key of that length and, of the data, the bits of the mask. A key whose
	// length is above that of the data is not found. The masks have the size of the key, rounded up
	// to words, and its byte order.
	Lengths *[]uint32
	Masks   *[]uint64
	// Open is as in [Array].
	Open uint64
}

// Progs is a program array.
type Progs struct {
	// Links has a number for each slot, which one engine uses. Whoever changes a slot sets it to 0.
	Links []uint64
	// Image returns the program in a slot, or nil.
	Image func(slot uint32) *Image
}
