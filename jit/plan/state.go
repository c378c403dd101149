package plan

import (
	"unsafe"

	"github.com/bpfrun/bpfrun/vm"
)

// State is what generated code shares with Go. It lies outside of the Go heap, in a page that is never executable, at the start of
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
	Entry   uintptr // where to go on
	// ArenaKern and ArenaUser are what addr_space_cast maps to, 0 for none.
	ArenaKern, ArenaUser uint64

	// In and out.
	Room int64  // instructions left, by the rules of [Program]
	May  uint64 // passes of may_goto left in the running function
	Top  *Frame // the running function's

	// Out.
	Exit uint64 // Reason<<32 | slot

	// SP is where the code keeps the stack pointer to leave with.
	SP uintptr

	// Frames are the functions that generated code entered by itself, Frames[0] being the one that ran when Go called.
	Frames [vm.MaxFrames + 1]Frame
}

// Frame is one function in State.Frames. A frame with Host 0 cannot be entered: the call is the interpreter's.
type Frame struct {
	Host  uintptr // host address of the end of its stack, which r10 points to
	FP    uint64  // its r10
	Saved [4]uint64
	Ret   uint64 // slot behind the call that entered it, 0 in Frames[0]
	May   uint64 // State.May of the caller
}

// FrameSize is the distance between frames.
const FrameSize = unsafe.Sizeof(Frame{})

// Reason says why generated code came back. It is the upper half of State.Exit.
type Reason uint32

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
