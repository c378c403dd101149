package vm

import "github.com/bpfrun/bpfrun/internal/mem"

// HelperFunc implements a helper or kfunc. args are r1 to r5; it may change them, because the call
// clobbers them anyway. It returns r0, and an Action if the processor must do more than continue.
type HelperFunc func(t *Thread, args *[5]uint64) (uint64, *Action)

// Func is a function that programs can call.
type Func struct {
	Name  string
	ID    int32 // helper id, or the kfunc's BTF id
	Fn    HelperFunc
	Kfunc bool
	// Inline lets engines execute the function themselves; nil if it must always be called.
	Inline *Inline
}

// ActionKind is the kind of an Action.
type ActionKind uint8

const (
	// ActFault stops the program with Action.Fault.
	ActFault ActionKind = iota + 1
	// ActInvoke calls back into the program and then resumes Action.Then.
	ActInvoke
	// ActTailCall replaces the running function with Action.Image.
	ActTailCall
	// ActThrow unwinds all frames and passes Action.Cookie to the program's exception callback.
	ActThrow
	// ActStop suspends the program after this instruction; Run returns Stopped.
	ActStop
	// ActWait leaves the call undone: it is repeated when the program continues, and does not count
	// as executed.
	ActWait
)

// Action is what a helper requests from the processor. Create one with the functions below.
type Action struct {
	Kind   ActionKind
	Fault  *Fault
	Entry  uint64 // address of the callback (the value of a function pointer)
	Args   [5]uint64
	Then   Continuation
	Image  *Image
	Cookie uint64
	Reason string
}

// Continuation continues a helper after its callback has returned ret, with the results of a
// HelperFunc. It must be a plain value: snapshots copy it, and Resume must not change state
// reachable from the value (it returns a new value instead).
type Continuation interface {
	Resume(t *Thread, ret uint64) (uint64, *Action)
}

// FaultAction stops the program with f, whose PC and Image are set by the thread.
func FaultAction(f *Fault) *Action { return &Action{Kind: ActFault, Fault: f} }

// MemFault stops the program because of a helper's refused memory access.
func MemFault(f *mem.Fault) *Action {
	return FaultAction(&Fault{Kind: Memory, Mem: f})
}

// TailCall replaces the running function with img, with r1 unchanged. At the limit of MaxTailCalls
// the program continues after the call instead. The Action belongs to the thread and is valid until
// the next call of TailCall.
func (t *Thread) TailCall(img *Image) *Action {
	if t.tail.Image != img { // pointer stores pay a write barrier
		t.tail = Action{Kind: ActTailCall, Image: img}
	}
	return &t.tail
}

// Throw implements bpf_throw.
func Throw(cookie uint64) *Action { return &Action{Kind: ActThrow, Cookie: cookie} }

// StopAction suspends the program after the call; Thread.StopReason then returns reason.
func StopAction(reason string) *Action { return &Action{Kind: ActStop, Reason: reason} }

// WaitAction suspends the program before the call, which has to wait for something;
// Thread.StopReason then returns reason. The function must not have changed anything.
func WaitAction(reason string) *Action { return &Action{Kind: ActWait, Reason: reason} }

// Invoke calls the function at address entry with args and passes its result to then. The Action
// belongs to the thread and is valid until the next call of Invoke, so that a loop of callbacks
// allocates nothing.
func (t *Thread) Invoke(entry uint64, args [5]uint64, then Continuation) *Action {
	t.invoke = Action{Kind: ActInvoke, Entry: entry, Args: args, Then: then}
	return &t.invoke
}
