package plan

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/vm"
)

// State is the memory that generated code shares with Go. It is outside the Go heap, in a page that
// is never executable, at the start of the mapping that holds the code, so generated code may
// address it relative to its own address. The garbage collector does not see the Go pointers in it:
// the caller of the code keeps what Regs points to alive, and the collector does not move heap
// objects.
//
// Generated code uses the offsets that unsafe.Offsetof returns.
type State struct {
	// Inputs.
	Regs    uintptr // the thread's registers, r0 to r10
	Data    uintptr // host address of the arena
	Shadow  uintptr // Data + Target.ShadowDelta
	NegBase uint64  // -Target.Base
	Limit   uint64  // number of arena bytes at which an access may start
	Entry   uintptr // address of the code to continue at
	// ArenaKern and ArenaUser are the values that addr_space_cast maps to, 0 for none.
	ArenaKern, ArenaUser uint64

	// Cells cache accessible ranges; see [Cell].
	Cells [MaxCells]Cell

	// Stack is the stack of generated code, which grows down: Frame(0) is the function that ran
	// when Go called, Frame(1) its callee, and so on. It is placed here so that frames are aligned
	// to cache lines.
	Stack [vm.MaxFrames + 1]Frame

	// Inputs and outputs.
	Room int64  // instructions left, counted as described at [Program]
	May  uint64 // iterations of may_goto left in the running function

	// Context is the address of the context. Words[i] is the address of the value of word
	// Program.Words[i], 0 if the load has to call the context.
	Context uint64
	Words   [MaxWords]uintptr

	// State of inlined calls, see Inline. If Shut is not 0, calls have to exit to Go with CallFunc;
	// ShutLocked allows the call that releases Lock. Every call adds 1 to Calls of its kind, and, in Timed programs, Step to Now, the monotonic
	// time in nanoseconds. Now+Boot is the time since boot.
	Shut, Now, Boot, Step, CPU uint64
	Calls                      [vm.NumInlines]uint64
	// Lock is the address of the spin lock that is held if Shut is ShutLocked; if code took it, it did
	// so at the slot LockedAt. Locks are addresses of locks that code may take, each at LockIndex.
	Lock, LockedAt uint64
	Locks          [NumLocks]uint64

	// Records that code reserves and ends. Record is the address of the open one, 0 for none; it has
	// RecordGranules bytes of shadow. The next of each of Program.Stocks is at Next, unless that is
	// End. RecordLog is the host address of what Records says of the next one, or of the open one,
	// LogEnd is the end of Records. Filled is not 0 if a cell was set, by a check, since the record
	// was reserved.
	Record, RecordGranules, Filled uint64
	Stocks                         [MaxStocks]StockState
	RecordLog, LogEnd              uintptr
	Records                        [MaxRecords]RecordState

	// Top is the address of the running function's Frame. In programs with calls, code also starts
	// in that frame, with Host as the base of CheckNone; other programs start in Frame(0).
	Top, Host uintptr

	// Tail calls. Tails is how many of them code may still make. If Over is not 0, the one after
	// them is beyond vm.MaxTailCalls. Arrive is the address of Code.Arrive, Slack is Program.Slack:
	// other programs' code reads them.
	Tails, Over uint64
	Arrive      uintptr
	Slack       int64

	// Outputs.
	Exit uint64 // slot<<ReasonBits | Reason, written by a single store

	// The search of a trie: the address of the key, the number of the next prefix length, and the
	// prefix looked for.
	KeyAt, NextLength uint64
	Prefix            [MaxKey / 8]uint64

	// SP is where code saves the stack pointer that it restores on exit.
	SP uintptr
}

// StockState is a Stock in a State. The addresses of its records are Stride bytes apart.
type StockState struct{ Next, End, Stride uint64 }

// RecordState is a record that code reserved: Reserved is the slot of that call times MaxStocks, plus
// the number of the stock. Ended is twice the slot of the call that ended it, plus 1 if that was an
// InlineDiscard, At is the time at which it did.
type RecordState struct{ Addr, Reserved, Ended, At uint64 }

const (
	// MaxStocks is the number of Stocks of a program.
	MaxStocks = 4
	// MaxRecords is the number of records that code reserves before it exits.
	MaxRecords = 128
)

// The values of State.Shut.
const (
	ShutOpen = iota
	ShutAll
	ShutLocked
)

// NumLocks is the number of locks that code remembers.
const NumLocks = 16

// LockIndex returns where in State.Locks a lock is: at the bytes LockMask of its address.
func LockIndex(lock uint64) int { return int(lock & LockMask / 8) }

// LockMask selects the bits of an address that are the offset in State.Locks.
const LockMask = 8 * (NumLocks - 1)

// ForgetLocks empties State.Locks.
func (s *State) ForgetLocks() {
	s.Locks = [NumLocks]uint64{^uint64(0)} // 0 has index 0, and ^0 has not
}

// Frame returns the frame i calls above the one that ran when Go called.
func (s *State) Frame(i int) *Frame { return &s.Stack[vm.MaxFrames-i] }

// Depth returns the number of Top's frame.
func (s *State) Depth() int {
	return int((uintptr(unsafe.Pointer(s.Frame(0))) - s.Top) / FrameSize)
}

// Frame is the frame of one function on State.Stack. A frame with Host 0 cannot be entered: the
// interpreter makes the call. While a function runs, the next frame is preserved except for
// Scratch, which subroutines of the generated code may overwrite.
type Frame struct {
	Return  uintptr   // return address
	Host    uintptr   // host address of the end of its stack, which r10 points to
	FP      uint64    // its r10
	Saved   [4]uint64 // r6 to r9 of the caller, as far as Insn.Saves asks for them
	Ret     uint64    // slot after the call that entered it, 0 in Frame(0)
	May     uint64    // State.May of the caller
	Scratch [7]uint64 // while the function runs, its Turns if a helper called it
}

// Turns is vm.Turns for generated code. It occupies the Scratch of the frame of the function that
// is called.
type Turns struct {
	I, N, Ctx, Map, Key, Value, Stride uint64
}

// Turns returns the Turns of a function that a helper called.
func (f *Frame) Turns() *Turns { return (*Turns)(unsafe.Pointer(&f.Scratch)) }

var _ = [1]struct{}{}[unsafe.Sizeof(Turns{})-unsafe.Sizeof(Frame{}.Scratch)]

// FrameSize is the distance between frames in bytes. The next frame has a lower address.
const FrameSize = unsafe.Sizeof(Frame{})

// MaxCells is the maximum number of checks of a program that have a Cell.
const MaxCells = 128

// Cell belongs to one CheckRange. It caches the run of plain memory that contained the range at the
// last full check: the range is accessible, without a look at the shadow, if the value of the base
// register minus Key is less than Count (unsigned).
//
// Otherwise the shadow decides. If it allows the access and Credit, which each such check
// decrements, is used up, the cell is set to the run of accessible bytes around the range, and
// Credit and Backoff become Backoff*4+3, at most MaxBackoff. A check that meets a different object
// each time therefore rarely searches for the ends of the run.
//
// A lookup in line that finds an element of a map sets the cells of Program.FillsOf to that
// element.
//
// Key is the start of the run minus Lo; Count is its length minus N plus 1. Runs start at granules,
// so the value minus Key also gives the alignment. The engine sets Lo, N and an initial Key of -Lo.
// When memory of the run becomes inaccessible (mem.Memory.Change), the engine shortens the run to
// the part before it, or resets Count to 0 and Backoff.
type Cell struct {
	Key, Count      uint64
	Credit, Backoff int64
	Lo, N           int64
	// Bound is set by guards with FlagBound that succeed: Count minus (value - Key), the amount
	// that can be added to the value before the range leaves the run.
	Bound uint64
}

// MaxBackoff limits Cell.Backoff.
const MaxBackoff = 1<<20 - 1

// CellSize is the distance between cells in bytes.
const CellSize = unsafe.Sizeof(Cell{})

// Reason is why generated code exited. It is the low part of State.Exit.
type Reason uint32

// ReasonBits is the width of the Reason in State.Exit.
const ReasonBits = 3

const (
	// Interpret: the interpreter has to execute the instruction at the slot, which has had no
	// effect yet.
	Interpret Reason = iota
	// OutOfRoom: State.Room is used up. The slot is the next one to execute.
	OutOfRoom
	// CallFunc: the instruction at the slot is a call of a helper or kfunc.
	CallFunc
	// Leave: the instruction at the slot is an exit of the function that ran when Go called.
	Leave
	// Returned: a function that the call with FlagTurns at the slot called has returned, and its
	// helper has to continue. The next frame has the Turns. All executed instructions are charged.
	Returned
)
