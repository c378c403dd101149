package plan

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/vm"
)

// State is what generated code shares with Go. It lies outside the Go heap, in a page that is never executable, at the start of
// the mapping that holds the code; generated code may therefore reach it relative to its own address. It holds no Go pointers
// the collector would know of: what Regs points to is kept alive by the caller of the code, and the collector moves nothing in the heap.
//
// The offsets generated code uses are those of unsafe.Offsetof.
type State struct {
	// In.
	Regs    uintptr // the thread's registers, r0 to r10
	Data    uintptr // host address of the arena
	Shadow  uintptr // Data + Target.ShadowDelta
	NegBase uint64  // -Target.Base
	Limit   uint64  // bytes of the arena an access may start in
	Entry   uintptr // where to continue
	// ArenaKern and ArenaUser are what addr_space_cast maps to, 0 for none.
	ArenaKern, ArenaUser uint64

	// Cells remember what ranges were found accessible, see [Cell].
	Cells [MaxCells]Cell

	// Stack is the stack of generated code, which grows down: Frame(0) is the function that ran when Go called, Frame(1) one that it
	// called, and so on. It is here so that frames begin at cache lines.
	Stack [vm.MaxFrames + 1]Frame

	// In and out.
	Room int64  // instructions left, by the rules of [Program]
	May  uint64 // passes of may_goto left in the running function

	// Context is the address of the context, and Words[i] where the value of word Program.Words[i] is, 0 if the context has to be asked.
	Context uint64
	Words   [MaxWords]uintptr

	// Of calls of functions that code executes itself, see Inline: Shut is not 0 if they have to be left to Go, with CallFunc. Every
	// call adds 1 to Calls of its kind, and in programs that are Timed Step to Now, the monotonic time. Now+Boot is the time since boot.
	Shut, Now, Boot, Step, CPU uint64
	Calls                      [vm.NumInlines]uint64

	// Top is the address of the running function's Frame. In programs with calls code also begins there, with Host for what CheckNone counts
	// from; others begin in Frame(0).
	Top, Host uintptr

	// Out.
	Exit uint64 // slot<<ReasonBits | Reason, stored in one piece

	// SP is where the code keeps the stack pointer to leave with.
	SP uintptr
}

// Frame returns the frame i calls above the one that ran when Go called.
func (s *State) Frame(i int) *Frame { return &s.Stack[vm.MaxFrames-i] }

// Depth is which frame Top is.
func (s *State) Depth() int {
	return int((uintptr(unsafe.Pointer(s.Frame(0))) - s.Top) / FrameSize)
}

// Frame is one function on State.Stack. A frame with Host 0 cannot be entered: the call is the interpreter's. While a function runs,
// all of the next frame is kept but Scratch, which subroutines of the generated code may use.
type Frame struct {
	Return  uintptr   // where to go back to
	Host    uintptr   // host address of the end of its stack, which r10 points to
	FP      uint64    // its r10
	Saved   [4]uint64 // r6 to r9 of the caller, those in Insn.Saves
	Ret     uint64    // slot after the call that entered it, 0 in Frame(0)
	May     uint64    // State.May of the caller
	Scratch [7]uint64
}

// FrameSize is the distance between frames: the next one is at a lower address.
const FrameSize = unsafe.Sizeof(Frame{})

// MaxCells is how many checks of a program have a Cell.
const MaxCells = 128

// Cell belongs to one CheckRange. It remembers around which bytes of plain memory the range lay when it was tested last: the
// test is fine without a look at the shadow if the value of the base register minus Key is less than Count (unsigned).
//
// Otherwise the shadow decides, and if it allows the access and Credit, which is decremented, is used up, the cell is set to the
// run of accessible bytes around the range; Credit and Backoff become Backoff*4+3 then, at most MaxBackoff, so that a check
// that meets another object each time does not look for its ends each time.
//
// Start of the run minus Lo is Key; its length minus N plus 1 is Count. Runs begin at granules, so that the value minus
// Key also tells the alignment. The engine sets Lo, N and a first Key of -Lo. When memory of the run becomes inaccessible
// (mem.Memory.Change) it leaves what is before it, or sets Count to 0 and Backoff back.
type Cell struct {
	Key, Count      uint64
	Credit, Backoff int64
	Lo, N           int64
	// Bound is set by guards with FlagBound whenever they are fine: Count less the value minus Key, which is what can be added to
	// the value before the range is beyond the run.
	Bound uint64
}

// MaxBackoff limits Cell.Backoff.
const MaxBackoff = 1<<20 - 1

// CellSize is the distance between cells.
const CellSize = unsafe.Sizeof(Cell{})

// Reason explains why generated code came back. It is the low part of State.Exit.
type Reason uint32

// ReasonBits is how many bits of State.Exit hold the Reason.
const ReasonBits = 2

const (
	// Interpret: the interpreter has to execute the instruction at the slot, none of which was done.
	Interpret Reason = iota
	// OutOfRoom: State.Room was used up. The slot is the next to execute.
	OutOfRoom
	// CallFunc: the instruction at the slot is a call of a helper or kfunc.
	CallFunc
	// Leave: the instruction at the slot is an exit of the function that ran when Go called.
	Leave
)
