package vm

import "github.com/bpfrun/bpfrun/decode"

// Engine runs code faster than the interpreter. Before an instruction that it does not support, or
// whose checks fail, it returns and the interpreter executes that instruction, so that semantics
// and faults are implemented once.
type Engine interface {
	// Name returns a short name for reports.
	Name() string
	// Run executes at most limit instructions of t, starting at t.PC(). It works on t.Regs(),
	// reports progress with t.Advance, and returns true at an instruction that it leaves to the
	// interpreter. It returns false if it executed nothing and cannot run this program, or so few
	// instructions: the interpreter then does.
	Run(t *Thread, limit uint64) bool
}

// SetEngine makes the thread use e; nil means the interpreter only. Threads with [Patches] use it
// as documented at [Patches.SetFeed].
func (t *Thread) SetEngine(e Engine) { t.engine = e }

// Engine returns the thread's engine, or nil.
func (t *Thread) Engine() Engine { return t.engine }

// Regs returns the register file for engines; entries 0 to 10 are used.
func (t *Thread) Regs() *[256]uint64 { return &t.regs }

// Advance tells the thread that an engine has executed insns instructions of the running function
// and is at slot pc.
func (t *Thread) Advance(pc int, insns uint64) { t.pc, t.insns = pc, t.insns+insns }

// Tracks reports whether the thread tracks unwritten stack bytes, which requires the precise path.
func (t *Thread) Tracks() bool { return t.track }

// Altered reports whether registers were changed from outside since the start: facts that an engine
// derived from the program may no longer hold for the rest of the run.
func (t *Thread) Altered() bool { return t.altered }

// ArenaMapping returns the values set by SetArena.
func (t *Thread) ArenaMapping() (kern, user uint64) { return t.arenaKern, t.arenaUser }

// Generation changes whenever facts that an engine knows about the thread may no longer hold:
// patches, the arena mapping, stacks, altered registers.
func (t *Thread) Generation() uint64 { return t.generation }

// StackEnd returns the r10 of the running function if StackSize bytes of live stack memory are
// below it, else 0.
func (t *Thread) StackEnd() uint64 {
	if f := &t.frames[t.depth]; f.stack != nil && !f.stack.Freed && t.regs[10] == f.fp {
		return f.fp
	}
	return 0
}

// Stacks returns the r10 of the running function in fps[0], that of a function it may call in
// fps[1], and so on; 0 ends the list. Below each listed r10 are StackSize bytes of live stack
// memory. A callee is listed only if its frame was used before, because only the interpreter
// creates new ones.
func (t *Thread) Stacks(fps *[MaxFrames + 1]uint64) {
	n := 0
	for d := t.depth; d < MaxFrames; d++ {
		f := &t.frames[d]
		if f.stack == nil || f.stack.Freed {
			break
		}
		fps[n] = f.fp
		n++
	}
	fps[n] = 0
}

// MayGoto returns how many may_goto instructions the running function may still pass.
func (t *Thread) MayGoto() uint64 { return t.frames[t.depth].may }

// SetMayGoto sets the value that MayGoto returns.
func (t *Thread) SetMayGoto(n uint64) { t.frames[t.depth].may = n }

// Enter tells the thread that an engine made a bpf-to-bpf call in the running program: ret is the
// slot after it, saved are r6 to r9 at the call, may is the callee's MayGoto. If a helper made the
// call, cont continues it. The frame must have been listed by Stacks.
func (t *Thread) Enter(ret int, saved *[4]uint64, may uint64, cont Continuation) {
	t.depth++
	f := &t.frames[t.depth]
	f.img, f.ret, f.cont, f.may = t.img, ret, cont, may
	//lint:ignore S1001 word by word, as native code stored them: loads of another width would stall on the stores
	for i := range saved {
		f.saved[i] = saved[i]
	}
	t.regs[10] = f.fp
}

// Resume undoes the last n calls of Enter: the engine continues in the calling functions.
func (t *Thread) Resume(n int) {
	t.depth -= n
	t.regs[10] = t.frames[t.depth].fp
}

// TailCallsLeft returns how many tail calls an engine may make itself: none inside functions that
// were called, because those only replace the function.
func (t *Thread) TailCallsLeft() int {
	if t.Depth() != 0 {
		return 0
	}
	return MaxTailCalls - t.tailCalls
}

// TailCalled tells the thread that an engine made n of these tail calls, the last one to img.
func (t *Thread) TailCalled(img *Image, n int) {
	t.img, t.deep = img, true
	t.tailCalls += n
	t.frames[0].may = MaxMayGoto
}

// leftover is what an engine left for the thread to do at t.pc, besides executing the instruction
// there.
type leftover uint8

const (
	leftNothing  leftover = iota
	leftAct               // what the helper that was called requests
	leftEnd               // the first function returns
	leftFault             // nothing: the thread has a fault
	leftStop              // nothing but stopping
	leftReturn            // a callback returns to its helper
	leftReturned          // a callback has returned to its helper
)

// CallFunc makes the call of a helper or kfunc at t.PC() for an engine. It returns true if the call
// is complete and the program continues after it; on false the engine must return, and the thread
// does the rest.
func (t *Thread) CallFunc() bool {
	r0, action := t.img.funcs[t.img.plain[t.pc].imm].Fn(t, (*[5]uint64)(t.regs[1:6]))
	if action == nil && !t.suspend {
		t.regs[0] = r0
		t.pc++
		t.insns++
		return true
	}
	t.left, t.leftR0, t.leftAction = leftAct, r0, action
	return false
}

// CallAt is Advance to a slot, insns instructions after the start of the run, and CallFunc.
func (t *Thread) CallAt(pc int, insns uint64) bool {
	t.pc, t.insns = pc, insns
	img := t.img
	r0, action := img.funcs[img.plain[pc].imm].Fn(t, (*[5]uint64)(t.regs[1:6]))
	if action == nil && !t.suspend {
		t.regs[0] = r0
		t.pc, t.insns = pc+1, insns+1
		return true
	}
	t.left, t.leftR0, t.leftAction = leftAct, r0, action
	return false
}

// Access executes the memory instruction at t.PC() for an engine whose own checks failed. It
// returns true if the instruction is complete and the program continues after it; on false the
// engine must return, and the thread does the rest.
func (t *Thread) Access() bool {
	in := &t.img.plain[t.pc]
	if in.op >= uint16(decode.NumOps) || memOps[in.op].kind == memNone {
		return false
	}
	if v, ok := t.contextWord(in); ok {
		t.regs[in.dst] = v
	} else if !t.access(in) {
		t.left = leftFault
		return false
	}
	t.pc++
	t.insns++
	if t.suspend {
		t.left = leftStop
		return false
	}
	return true
}

// LeaveFunc executes the exit instruction at t.PC() for an engine. It returns true if the program
// continues in the caller; on false the engine must return, and the thread does the rest.
func (t *Thread) LeaveFunc() bool {
	if t.depth == 0 {
		if len(t.below) == 0 {
			t.left = leftEnd
			return false
		}
		t.ascend()
	}
	return t.leaveFrame()
}

func (t *Thread) leaveFrame() bool {
	if t.frames[t.depth].cont != nil {
		t.left = leftReturn
		return false
	}
	t.pop()
	t.insns++
	return true
}

// settle does what an engine left; end is the instruction count up to which the engine was allowed
// to run.
func (t *Thread) settle(end uint64) exit {
	x := exitDone
	switch t.left {
	case leftNothing:
		if t.insns == end {
			return exitGo
		}
		return t.step()
	case leftAct:
		a := t.leftAction
		t.leftAction = nil
		x = t.act(t.leftR0, a)
	case leftReturn:
		t.insns++ // as in the loop, the exit counts whatever the helper does then
		x = t.leave()
	case leftReturned:
		x = t.resume()
	case leftFault:
		t.left = leftNothing
		return exitFault
	case leftStop:
		t.left = leftNothing
		return exitStop
	}
	counted := t.left >= leftReturn
	t.left = leftNothing
	if x != exitFault && !counted {
		t.insns++
	}
	if x == exitGo && t.suspend {
		x = exitStop
	}
	return x
}

// Interpret executes n instructions one by one without the engine, for comparison with it. It
// returns false if one of them did not simply continue: a fault, the end, or a call that requests
// an Action. A Suspend on the way, of which an engine that executes the call itself does not know,
// takes effect at a later instruction.
func (t *Thread) Interpret(n uint64) bool {
	for range n {
		if x := t.step(); x != exitGo && (x != exitStop || !t.suspend) {
			return false
		}
	}
	return true
}

// SlotKind tells an engine how to treat a slot.
type SlotKind uint8

// The kinds of slots.
const (
	SlotPlain  SlotKind = iota // Op with its operands
	SlotCall                   // a call of a bound helper or kfunc
	SlotTrap                   // faults when reached; left to the interpreter
	SlotSecond                 // second slot of a 64-bit immediate
)

// Slot is a lowered instruction for engines.
type Slot struct{ in *inst }

// Slot returns slot pc of the program.
func (img *Image) Slot(pc int) Slot { return Slot{&img.plain[pc]} }

// Kind returns the kind of the slot.
func (s Slot) Kind() SlotKind {
	switch {
	case s.in.op < uint16(decode.NumOps):
		return SlotPlain
	case s.in.op == opCallFunc:
		return SlotCall
	case s.in.op == opSecondSlot:
		return SlotSecond
	}
	return SlotTrap
}

// Op returns the op of a SlotPlain.
func (s Slot) Op() decode.Op { return decode.Op(s.in.op) }

// Dst returns the number in the dst field.
func (s Slot) Dst() uint8 { return s.in.dst }

// Src returns the number in the src field.
func (s Slot) Src() uint8 { return s.in.src }

// Off returns the memory offset.
func (s Slot) Off() int32 { return s.in.off }

// Skip returns how many slots a jump or local call skips, counted from the next slot.
func (s Slot) Skip() int32 { return s.in.off / instSize }

// Imm returns the immediate, sign-extended; for LD_IMM64 (always OpLdImm64) the value it was bound
// to.
func (s Slot) Imm() uint64 { return s.in.imm }
