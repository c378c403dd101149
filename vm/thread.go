package vm

import (
	"fmt"
	"unsafe"

	"github.com/bpfrun/bpfrun/internal/mem"
)

const (
	// MaxFrames is the maximum depth of calls, including the first function (kernel
	// MAX_CALL_FRAMES).
	MaxFrames = 8
	// StackSize is the size of a frame's stack in bytes (kernel MAX_BPF_STACK).
	StackSize = 512
	// MaxTailCalls limits the tail calls of a run (kernel MAX_TAIL_CALL_CNT).
	MaxTailCalls = 33
	// MaxMayGoto limits how often a function may pass may_goto instructions (kernel BPF_MAX_LOOPS).
	MaxMayGoto = 8 << 20
)

// Stop is the reason why Run returned.
type Stop uint8

const (
	// Done: the program ended; Ret is its result.
	Done Stop = iota + 1
	// Budget: the instructions were used up; Run may be called again.
	Budget
	// Faulted: the program was stopped; Fault explains why.
	Faulted
	// Break: the next instruction has a breakpoint; it was not executed. Run continues past it.
	Break
	// Stopped: a helper requested it (ActStop), or Suspend was called; Run may be called again.
	Stopped
	// Idle: nothing was started.
	Idle
)

var stopNames = [...]string{Done: "done", Budget: "budget", Faulted: "faulted", Break: "break", Stopped: "stopped", Idle: "idle"}

// String returns the reason as a word.
func (s Stop) String() string {
	if int(s) < len(stopNames) && stopNames[s] != "" {
		return stopNames[s]
	}
	return "?"
}

// ThreadConfig configures a Thread; the zero value is usable.
type ThreadConfig struct {
	// Strict tracks stack bytes that were never written, and stack memory of functions that have
	// returned.
	Strict bool
	// Name prefixes the names of stack regions.
	Name string
	// CountsDown means that functions are told how many tail calls were made before, and their
	// callers do not learn of those they make, as in JITs before Linux 6.12. Otherwise all tail
	// calls of a run count.
	CountsDown bool
	// Garbage is the initial content of the stack; nil means zeros.
	Garbage *[StackSize]byte
}

// frame is one function activation.
type frame struct {
	stack *mem.Region // nil until first used
	fp    uint64      // r10: end of stack
	may   uint64      // may_goto passes left

	// What the function returns to; unused in frame 0.
	img   *Image
	ret   int
	saved [4]uint64 // r6 to r9 of the caller
	cont  Continuation
}

// Thread is a processor that runs one program at a time. Create it with NewThread. It is not safe
// for concurrent use, and nothing that runs concurrently may use its Memory.
type Thread struct {
	// regs is indexed by 8-bit register fields without a bounds check; only 0 to 10 are used.
	regs [256]uint64

	// The arena, as returned by mem.Memory.Arena; its size is read again when needed.
	data, shadow unsafe.Pointer
	base         uint64

	mem       *mem.Memory
	img       *Image
	pc        int
	depth     int
	soiled    bool   // the first frame's stack may not be zero
	deep      bool   // a frame may not be as a start requires
	track     bool   // see Track
	epoch     uint64 // epoch of the memory at which all frames were live
	insns     uint64
	starts    uint64
	status    Stop
	frames    [MaxFrames]frame
	below     []level // callers of functions that tail called, see descend; the last are the running program's
	under     int     // how many these are
	tailCalls int
	refused   *Image // that made the first tail call beyond the limit, at refusedAt
	refusedAt int
	garbage   [StackSize]byte // see ThreadConfig

	// See SetContext.
	ctxBase  uint64
	ctxWords []*uint64

	// The arena base and address cast values, see SetArena.
	arenaKern, arenaUser uint64

	// CPU is the number of the simulated CPU.
	CPU int
	// User is per-run data of the machine, for helpers.
	User any
	// Recover may replace the result of a refused load (the kernel's exception tables); it returns
	// the value and true to continue. The machine sets it per program type.
	Recover func(*Fault) (uint64, bool)
	// Skb loads for LD_ABS and LD_IND: size bytes at packet offset off (negative offsets are the
	// kernel's special areas), converted from network order; false ends the function with r0 = 0.
	Skb func(t *Thread, off int32, size int) (uint64, bool)

	fault      *Fault
	reason     string
	suspend    bool
	altered    bool // see alter
	swapped    bool // host and memory differ in byte order
	invoke     Action
	tail       Action
	cfg        ThreadConfig
	patch      *Patches
	brokeAt    uint64 // insns+1 at the last Break, to step over it
	engine     Engine
	generation uint64
	left       leftover // what the engine left to do
	leftR0     uint64
	leftAction *Action
	leftCont   Continuation
	seg        segment
	scratch    [3]inst // the code of a single step
	_          inst    // the loop's pointer may end here, after scratch
}

// NewThread returns a thread that works on m.
func NewThread(m *mem.Memory, cfg ThreadConfig) *Thread {
	arena := m.Arena()
	t := &Thread{mem: m, cfg: cfg, status: Idle, epoch: never, swapped: arena.Big != hostBig, data: arena.Data, shadow: arena.Shadow, base: arena.Base, track: cfg.Strict}
	if cfg.Garbage != nil {
		t.garbage = *cfg.Garbage
	}
	for i := range t.scratch {
		t.scratch[i].op = opStep
	}
	return t
}

// Memory returns the memory the thread works on.
func (t *Thread) Memory() *mem.Memory { return t.mem }

// Start prepares a run of img from slot 0 with args in r1 and following. Counters are reset, r0 and
// r6 to r9 are zero, and the stack contains the configured garbage, which counts as never written
// if the thread tracks it.
func (t *Thread) Start(img *Image, args ...uint64) {
	t.StartAt(img, 0, args...)
}

// StartAt is like Start, but from slot pc, where a function begins. It is for callbacks called by
// the kernel itself (timers, work queues).
func (t *Thread) StartAt(img *Image, pc int, args ...uint64) { t.start(img, pc, true, args) }

// start is StartAt. Without wipe the stack keeps what the last run left in it.
func (t *Thread) start(img *Image, pc int, wipe bool, args []uint64) {
	// Much of the cost of a short run is here. Values that rarely differ are compared instead of
	// written, because every pointer store pays a write barrier.
	*(*[11]uint64)(t.regs[:11]) = [11]uint64{}
	for i, v := range args[:min(len(args), 5)] {
		t.regs[uint8(1+i)] = v
	}
	if t.img != img {
		t.img = img
	}
	if t.fault != nil {
		t.fault = nil
	}
	if t.reason != "" {
		t.reason = ""
	}
	for len(t.below) != 0 {
		t.ascend()
		t.deep = true
	}
	t.starts++
	t.pc, t.insns, t.tailCalls, t.brokeAt, t.depth = pc, 0, 0, 0, 0
	t.refused = nil
	t.suspend, t.altered, t.left, t.status = false, false, leftNothing, Budget
	if !img.begins(pc) {
		t.stop(&Fault{Kind: BadTarget, Text: fmt.Sprintf("no function of the program begins at slot %d", pc)})
		return
	}
	if t.epoch != t.mem.Epoch() && !t.alive() {
		if f := t.renew(); f != nil {
			t.stop(f)
			return
		}
	}
	f := &t.frames[0]
	f.may = MaxMayGoto
	t.regs[10] = f.fp
	t.fresh(wipe)
}

// fresh makes the frames those of a run that begins.
func (t *Thread) fresh(wipe bool) {
	img := t.img
	switch {
	case t.deep || img.calls:
		for i := range t.frames {
			f := &t.frames[i]
			if f.stack == nil {
				break // and so are all deeper ones
			}
			if f.cont != nil || f.img != nil {
				f.cont, f.img = nil, nil
			}
			if wipe {
				t.wipe(f)
			}
		}
	case wipe && (t.soiled || img.stack):
		t.wipe(&t.frames[0])
	}
	t.soiled, t.deep = img.stack, img.calls
}

// wipe fills the stack of a live frame with garbage.
func (t *Thread) wipe(f *frame) {
	*(*[StackSize]byte)(unsafe.Add(t.data, f.fp-StackSize-t.base)) = t.garbage
}

// Track selects whether runs started from now on track stack bytes that were never written, in all
// frames. [mem.Memory.OnUnset] decides what happens on reads of them. Threads that track use only
// the interpreter; strict ones always track.
func (t *Thread) Track(on bool) {
	on = on || t.cfg.Strict
	if on == t.track {
		return
	}
	t.track, t.epoch = on, never
	t.generation++
	if on {
		return
	}
	for i := range t.frames {
		if s := t.frames[i].stack; s != nil && !s.Freed {
			t.mem.MarkDefined(s)
		}
	}
}

// alive reports whether all existing frames are live, and caches that they are.
func (t *Thread) alive() bool {
	for i := range t.frames {
		s := t.frames[i].stack
		if s == nil && i > 0 {
			break // and so are all deeper ones
		}
		if s == nil || s.Freed {
			return false
		}
	}
	if t.mem.Limit() == 0 || t.track { // the memory was closed, or each start marks the stack
		return false
	}
	t.epoch = t.mem.Epoch()
	return true
}

// renew forgets frames that were freed, and enters the first one, allocating it if necessary.
func (t *Thread) renew() *Fault {
	for i := range t.frames {
		if f := &t.frames[i]; f.stack != nil && t.mem.Bytes(f.stack) == nil {
			f.stack = nil
			t.generation++
		}
	}
	if f := t.enterFrame(0); f != nil {
		return f
	}
	if t.epoch = t.mem.Epoch(); t.track {
		t.epoch = never
	}
	return nil
}

// never is not the epoch of any memory.
const never = ^uint64(0)

// Reg returns register i, 0 to 10.
func (t *Thread) Reg(i int) uint64 { return t.regs[uint8(i)] }

// SetReg changes register i, 0 to 10.
func (t *Thread) SetReg(i int, v uint64) {
	t.regs[uint8(i)] = v
	t.alter()
}

// alter records that registers have been changed from outside.
func (t *Thread) alter() {
	t.altered = true
	t.generation++
}

// PC returns the slot of the next instruction; after a fault, of the one that faulted; in a helper,
// of the call.
func (t *Thread) PC() int { return t.pc }

// Image returns the running program.
func (t *Thread) Image() *Image { return t.img }

// Insns returns the number of instructions completed since Start. LD_IMM64 counts as one.
func (t *Thread) Insns() uint64 { return t.insns }

// Starts counts the calls of Start and StartAt.
func (t *Thread) Starts() uint64 { return t.starts }

// Suspended reports whether Suspend was called during the current instruction.
func (t *Thread) Suspended() bool { return t.suspend }

// Ret returns r0, the result after Done.
func (t *Thread) Ret() uint64 { return t.regs[0] }

// Fault returns the reason why the program was stopped, or nil.
func (t *Thread) Fault() *Fault { return t.fault }

// Status returns what the last Run returned.
func (t *Thread) Status() Stop { return t.status }

// StopReason returns the reason of the last ActStop or Suspend.
func (t *Thread) StopReason() string { return t.reason }

// TailCalls returns the number of tail calls since Start.
func (t *Thread) TailCalls() int { return t.tailCalls }

// TailRefused returns where the run made its first tail call beyond [MaxTailCalls], after which the
// program went on; img is nil if there was none.
func (t *Thread) TailRefused() (img *Image, pc int) { return t.refused, t.refusedAt }

// Suspend makes Run return Stopped after the current instruction. Only code that the
// thread itself called (helpers, views, watch hooks) may call it.
func (t *Thread) Suspend(reason string) { t.suspend, t.reason = true, reason }

// SetArena sets where addr_space_cast maps the arena of the running program: kern is the start of
// the kernel's mapping of the 4 GiB window, which the low half of a user address indexes; user is
// the start of the user mapping, which provides the upper half of user addresses. 0, 0 means no
// arena.
func (t *Thread) SetArena(kern, user uint64) {
	t.arenaKern, t.arenaUser = kern, user
	t.generation++
}

// stop ends the run with a fault at the current pc.
func (t *Thread) stop(f *Fault) {
	if f.Image == nil {
		f.Image, f.PC = t.img, t.pc
	}
	if f.Kind == Memory && f.Mem != nil && f.Mem.Kind == mem.NotSimulated {
		f.Kind = NotSimulated
	}
	t.fault = f
	t.status = Faulted
}

// Abort ends the run with an external fault, such as an instruction limit.
func (t *Thread) Abort(f *Fault) { t.stop(f) }

// Run executes at most budget instructions and returns why it stopped. After Budget, Break and
// Stopped it can continue; after Done and Faulted it returns the same again.
func (t *Thread) Run(budget uint64) Stop {
	ran := false // the engine ran and left something to do
	end := t.insns + budget
	if end < t.insns {
		end = ^uint64(0)
	}
	switch t.status {
	case Done, Faulted, Idle:
		return t.status
	case Budget:
		if t.engine == nil || !t.patch.native() {
			break
		}
		// The shortest path to the end of a run.
		if ran = t.engine.Run(t, end-t.insns); ran && t.left == leftEnd {
			t.left = leftNothing
			t.insns++
			t.status = Done
			return Done
		}
	}
	var x exit
	for {
		left := end - t.insns
		switch {
		case ran:
			ran = false
			x = t.settle(end)
		case left == 0:
			t.status = Budget
			return Budget
		case t.patch != nil && t.brokeAt != t.insns+1 && t.patch.breakAt(t.img, t.pc):
			x = exitBreak
		case left > uint64(len(t.img.insns))+2 && t.brokeAt != t.insns+1:
			x = t.fast(left)
		default:
			x = t.step()
		}
		switch x {
		case exitGo:
		case exitDone:
			t.status = Done
			return Done
		case exitFault:
			return Faulted
		case exitBreak:
			t.brokeAt = t.insns + 1
			t.status = Break
			return Break
		case exitStop:
			t.suspend = false
			t.status = Stopped
			return Stopped
		}
	}
}
