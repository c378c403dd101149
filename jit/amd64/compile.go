package amd64

import (
	"sync"
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// The host registers besides those of r0 to r9.
const (
	temp1 = rcx // shift counts
	temp2 = rdx // upper half of products and dividends
	hostR = rbx // Data - Target.Base: guest addresses become host addresses by adding it
	hostF = rbp // Frame.Host
	roomR = r15 // State.Room
)

// regs maps r0 to r9.
var regs = [10]reg{rax, rdi, rsi, r8, r9, r10, r11, r12, r13, r14}

// Offsets in State and Frame.
const (
	offRegs      = unsafe.Offsetof(plan.State{}.Regs)
	offData      = unsafe.Offsetof(plan.State{}.Data)
	offLimit     = unsafe.Offsetof(plan.State{}.Limit)
	offEntry     = unsafe.Offsetof(plan.State{}.Entry)
	offArenaKern = unsafe.Offsetof(plan.State{}.ArenaKern)
	offArenaUser = unsafe.Offsetof(plan.State{}.ArenaUser)
	offRoom      = unsafe.Offsetof(plan.State{}.Room)
	offMay       = unsafe.Offsetof(plan.State{}.May)
	offTop       = unsafe.Offsetof(plan.State{}.Top)
	offHost      = unsafe.Offsetof(plan.State{}.Host)
	offExit      = unsafe.Offsetof(plan.State{}.Exit)
	offSP        = unsafe.Offsetof(plan.State{}.SP)
	offNegBase   = unsafe.Offsetof(plan.State{}.NegBase)
	offShadow    = unsafe.Offsetof(plan.State{}.Shadow)

	cellCount   = int32(unsafe.Offsetof(plan.Cell{}.Count))
	cellCredit  = int32(unsafe.Offsetof(plan.Cell{}.Credit))
	cellBackoff = int32(unsafe.Offsetof(plan.Cell{}.Backoff))
	cellLo      = int32(unsafe.Offsetof(plan.Cell{}.Lo))
	cellBound   = int32(unsafe.Offsetof(plan.Cell{}.Bound))
	cellN       = int32(unsafe.Offsetof(plan.Cell{}.N))

	frameHost  = int32(unsafe.Offsetof(plan.Frame{}.Host))
	frameSaved = int32(unsafe.Offsetof(plan.Frame{}.Saved))
	frameRet   = int32(unsafe.Offsetof(plan.Frame{}.Ret))
	frameMay   = int32(unsafe.Offsetof(plan.Frame{}.May))
	frameSize  = int32(plan.FrameSize)

	offStack = unsafe.Offsetof(plan.State{}.Stack) + vm.MaxFrames*plan.FrameSize // of Frame(0)
)

// compiler is one compilation.
type compiler struct {
	asm
	plan.Emission
	calls bool // the program has bpf-to-bpf calls

	// The routines that do not depend on the program, and the State they were made for. They stand at the start of the code.
	routines      []byte
	routinesState int32

	leaving int32    // where code goes to leave
	exact   [2]int32 // exact checks of loads and of stores
	fill    int32    // sets a cell
}

// compilers are kept for their memory.
var compilers = sync.Pool{New: func() any { return new(compiler) }}

// Compile generates the code of a program. The error is plan.ErrTooLong.
func Compile(p *plan.Program, t plan.Target, out *plan.Code) error {
	c := compilers.Get().(*compiler)
	c.calls, c.state = p.Calls, int32(t.StateDelta)
	err := c.Emit(c, &c.Buffer, p, t, out)
	c.Release()
	c.Buffer = plan.Buffer{}
	compilers.Put(c)
	return err
}

// Begin generates the routines, the way out, and the way in, to which what Enter calls jumps.
func (c *compiler) Begin() {
	start := c.jmpFar()
	if c.routines == nil || c.routinesState != c.state {
		from := c.pos()
		c.exactCode(0)
		c.exactCode(1)
		c.fillCode()
		c.routines, c.routinesState = append(c.routines[:0], c.Code()[from:]...), c.state
	} else {
		c.Append(c.routines)
	}
	c.exitCode()
	c.Land(start)
	c.prologue()
}

// Align aligns to what is decoded at once.
func (c *compiler) Align() { c.align(loopAlign) }

// Insn generates an instruction by the rule of its op.
func (c *compiler) Insn(in *plan.Insn) bool {
	r := &rules[in.Op]
	if r.emit == nil {
		return false
	}
	r.emit(c, in, r)
	return true
}

// Guard generates a check before the copy of a loop.
func (c *compiler) Guard(in *plan.Insn) { c.check(in, false) }

// Mark sets the byte of a block.
func (c *compiler) Mark(in *plan.Insn) {
	if in.Mark >= 0 && in.Kind != plan.KindInterpret {
		c.MarkByte(in.Mark)
	}
}

// MarkByte sets a byte after the State. Flags of comparisons stay.
func (c *compiler) MarkByte(n int32) {
	c.rm(0, 0xc6, 0, field(unsafe.Sizeof(plan.State{})+uintptr(n)), 1)
	c.byte(1)
}

// Charge takes n from what room is left.
func (c *compiler) Charge(n int32) {
	if n != 0 {
		c.groupImm(1, opSub, roomR, n)
	}
}

// usesStack reports whether hostF has a meaning.
func (c *compiler) usesStack() bool { return c.calls || c.Program.Used>>10&1 != 0 }

// prologue is what Enter calls.
func (c *compiler) prologue() {
	c.store(field(offSP), rsp)
	if c.calls {
		c.load(rsp, field(offTop))
		c.load(hostF, field(offHost))
	} else {
		c.rm(1, 0x8d, rsp, field(offStack), 0)
		if c.usesStack() {
			c.load(hostF, at(rsp, frameHost))
		}
	}
	c.constant(temp1, c.Target.Base)
	c.load(hostR, field(offData))
	c.group(1, opSub, hostR, temp1)
	c.load(roomR, field(offRoom))
	c.load(temp1, field(offRegs))
	for i, r := range regs {
		if c.Program.Used>>i&1 != 0 {
			c.load(r, at(temp1, int32(8*i)))
		}
	}
	c.rm(0, 0xff, 4, field(offEntry), 0)
}

// exitCode leaves: what State.Exit becomes is in temp1.
func (c *compiler) exitCode() {
	c.leaving = c.pos()
	c.store(field(offExit), temp1)
	c.store(field(offRoom), roomR)
	c.store(field(offTop), rsp)
	c.load(temp1, field(offRegs))
	for i, r := range regs {
		if c.Program.Used>>i&1 != 0 {
			c.store(at(temp1, int32(8*i)), r)
		}
	}
	c.load(rsp, field(offSP))
	c.byte(0xc3)
}

// Leave leaves at a slot.
func (c *compiler) Leave(why plan.Reason, slot int32) {
	c.constant(temp1, uint64(slot)<<plan.ReasonBits|uint64(why))
	c.jmpBack(c.leaving)
}

// Goto jumps to an instruction.
func (c *compiler) Goto(pc int32) {
	if pc <= c.PC {
		c.jmpBack(int32(c.Out.Starts[pc]))
		return
	}
	c.Fill(c.jmpFar(), pc)
}

// Land makes a far jump lead to here.
func (c *compiler) Land(from int32) { c.patch(from, c.pos()) }

// Patch makes a far jump lead to a position.
func (c *compiler) Patch(from, to int32) { c.patch(from, to) }

// when jumps to an instruction on a condition.
func (c *compiler) when(cc cond, pc int32) {
	if pc <= c.PC {
		c.jccBack(cc, int32(c.Out.Starts[pc]))
		return
	}
	c.Fill(c.jccFar(cc), pc)
}

// taken generates the edge to the target of a branch on a condition.
func (c *compiler) taken(cc cond, in *plan.Insn) {
	mark, marked := c.TakenMark(in)
	switch {
	case in.Has(plan.FlagBack):
		over := c.jccNear(cc.not())
		if marked {
			c.MarkByte(mark)
		}
		c.loop(in)
		c.land(over)
	case marked:
		c.PutOff(plan.Cold{Kind: plan.ColdEdge, From: [2]int32{c.jccFar(cc)}, PC: in.Target, N: in.Taken, Mark: mark + 1})
	case in.Taken == 0:
		c.when(cc, in.Target)
	default:
		c.putOff(plan.ColdEdge, cc, in.Target, in.Taken)
	}
}

// always generates the edge to the target of a jump.
func (c *compiler) always(in *plan.Insn) {
	if in.Has(plan.FlagBack) {
		c.loop(in)
		return
	}
	c.Charge(in.Taken)
	if in.Target != c.PC+1 {
		c.Goto(in.Target)
	}
}

// loop charges and goes back, unless there is no room.
func (c *compiler) loop(in *plan.Insn) {
	if in.Taken == 0 {
		c.test(1, roomR)
	} else {
		c.groupImm(1, opSub, roomR, in.Taken)
	}
	c.turn(in)
}

// turn goes back by the sign of what was charged.
func (c *compiler) turn(in *plan.Insn) {
	c.when(condGE, in.Target)
	c.PutOff(plan.Cold{Kind: plan.ColdLeave, From: [2]int32{c.jmpFar()}, PC: c.Program.Insns[in.Target].Slot, N: int32(plan.OutOfRoom)})
}

// putOff continues out of line on a condition.
func (c *compiler) putOff(kind plan.ColdKind, cc cond, pc, n int32) {
	c.PutOff(plan.Cold{Kind: kind, From: [2]int32{c.jccFar(cc)}, PC: pc, N: n})
}

// unless leaves with Interpret at this slot when the condition holds.
func (c *compiler) unless(cc cond) { c.putOff(plan.ColdLeave, cc, c.Slot(), int32(plan.Interpret)) }
