package arm64

import (
	"sync"
	"unsafe"

	"github.com/bpfrun/bpfrun/jit/plan"
)

// The host registers besides x0 to x9, which are r0 to r9. R18, R28 and R29 are not touched.
const (
	temp1 reg = 10 // what subroutines take and return
	temp2 reg = 11
	temp3 reg = 12 // of subroutines, as the next ones
	temp4 reg = 13
	temp5 reg = 14
	temp6 reg = 15
	link  reg = 16 // where subroutines go back to
	hostR reg = 19 // Data - Target.Base: guest addresses become host addresses by adding it
	hostF reg = 20 // Frame.Host - stackBias
	roomR reg = 21 // State.Room
	state reg = 22 // address of the State
	frame reg = 23 // address of the running function's Frame
	shad  reg = 24 // State.Shadow
	limit reg = 25 // State.Limit
	negB  reg = 26 // State.NegBase
	lr    reg = 30
)

// stackBias brings every access in the 512 bytes below Frame.Host within the offsets from -256 to 255.
const stackBias = 256

// maxCode is what plain branches reach.
const maxCode = 1 << 27

// Offsets in State, Cell and Frame.
const (
	offRegs      = int32(unsafe.Offsetof(plan.State{}.Regs))
	offData      = int32(unsafe.Offsetof(plan.State{}.Data))
	offLimit     = int32(unsafe.Offsetof(plan.State{}.Limit))
	offEntry     = int32(unsafe.Offsetof(plan.State{}.Entry))
	offArenaKern = int32(unsafe.Offsetof(plan.State{}.ArenaKern))
	offArenaUser = int32(unsafe.Offsetof(plan.State{}.ArenaUser))
	offRoom      = int32(unsafe.Offsetof(plan.State{}.Room))
	offMay       = int32(unsafe.Offsetof(plan.State{}.May))
	offTop       = int32(unsafe.Offsetof(plan.State{}.Top))
	offHost      = int32(unsafe.Offsetof(plan.State{}.Host))
	offExit      = int32(unsafe.Offsetof(plan.State{}.Exit))
	offSP        = int32(unsafe.Offsetof(plan.State{}.SP))
	offNegBase   = int32(unsafe.Offsetof(plan.State{}.NegBase))
	offShadow    = int32(unsafe.Offsetof(plan.State{}.Shadow))
	offCells     = int32(unsafe.Offsetof(plan.State{}.Cells))
	offFrame0    = int32(unsafe.Offsetof(plan.State{}.Stack) + unsafe.Sizeof(plan.State{}.Stack) - plan.FrameSize)

	cellCount   = int32(unsafe.Offsetof(plan.Cell{}.Count))
	cellCredit  = int32(unsafe.Offsetof(plan.Cell{}.Credit))
	cellBound   = int32(unsafe.Offsetof(plan.Cell{}.Bound))
	cellBackoff = int32(unsafe.Offsetof(plan.Cell{}.Backoff))
	cellLo      = int32(unsafe.Offsetof(plan.Cell{}.Lo))
	cellN       = int32(unsafe.Offsetof(plan.Cell{}.N))

	frameReturn = int32(unsafe.Offsetof(plan.Frame{}.Return))
	frameHost   = int32(unsafe.Offsetof(plan.Frame{}.Host))
	frameSaved  = int32(unsafe.Offsetof(plan.Frame{}.Saved))
	frameRet    = int32(unsafe.Offsetof(plan.Frame{}.Ret))
	frameMay    = int32(unsafe.Offsetof(plan.Frame{}.May))
	frameSize   = int32(plan.FrameSize)
)

// compiler is one compilation.
type compiler struct {
	asm
	plan.Emission
	calls bool // the program has bpf-to-bpf calls

	// The subroutines, and where exact[0], exact[1] and fill stand in them.
	routines []byte
	offsets  [3]int32

	leaving int32    // where code goes to leave
	exact   [2]int32 // exact checks of loads and of stores
	fill    int32    // sets a cell
}

// compilers are kept for their memory.
var compilers = sync.Pool{New: func() any { return new(compiler) }}

// Compile generates the code of a program. The error is plan.ErrTooLong.
func Compile(p *plan.Program, t plan.Target, out *plan.Code) error {
	c := compilers.Get().(*compiler)
	c.calls, c.Reach = p.Calls, maxCode
	// A slot takes less than 64 bytes but for some, and conditional branches reach 1 MB.
	c.far, c.beyond = len(p.Insns) > 1<<20/64, false
	err := c.Emit(c, &c.Buffer, p, t, out)
	if c.beyond && !c.far {
		c.far, c.beyond = true, false
		err = c.Emit(c, &c.Buffer, p, t, out)
	}
	if c.beyond && err == nil {
		err = plan.ErrTooLong
	}
	c.Release()
	c.Buffer = plan.Buffer{}
	compilers.Put(c)
	return err
}

// Begin generates the way in, the way out, and the subroutines.
func (c *compiler) Begin() {
	c.prologue()
	c.exitCode()
	c.subroutines()
}

// Align has nothing to do: instructions are fetched well from anywhere.
func (c *compiler) Align() {}

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

// Remainder says no: a division, a product and a difference take as many instructions here.
func (c *compiler) Remainder(*plan.Insn) bool { return false }

// subroutines are the same in all programs.
func (c *compiler) subroutines() {
	from := c.pos()
	if c.routines == nil {
		c.exactCode(0)
		c.exactCode(1)
		c.fillCode()
		c.routines = append(c.routines, c.Code()[from:]...)
		c.offsets = [3]int32{c.exact[0] - from, c.exact[1] - from, c.fill - from}
		return
	}
	c.Append(c.routines)
	c.exact, c.fill = [2]int32{from + c.offsets[0], from + c.offsets[1]}, from+c.offsets[2]
}

// Mark sets the byte of a block.
func (c *compiler) Mark(in *plan.Insn) {
	if in.Mark >= 0 && in.Kind != plan.KindInterpret {
		c.MarkByte(in.Mark)
	}
}

// MarkByte sets a byte after the State.
func (c *compiler) MarkByte(n int32) {
	c.addImm(1, temp1, state, int64(unsafe.Sizeof(plan.State{}))+int64(n), temp2)
	c.constant(temp2, 1)
	c.mem(stores[0], temp2, temp1, 0, temp3)
}

// Charge takes n from what room is left.
func (c *compiler) Charge(n int32) {
	if n != 0 {
		c.addImm(1, roomR, roomR, -int64(n), temp1)
	}
}

// spend charges and sets the flags: condLT when there is no room left.
func (c *compiler) spend(n int32) {
	switch {
	case n == 0:
		c.rrr(1, opAnds, zr, roomR, roomR)
	case !c.arith(1, opSubsImm, opAddsImm, roomR, roomR, int64(n)):
		c.constant(temp1, uint64(int64(n)))
		c.rrr(1, opSubs, roomR, roomR, temp1)
	}
}

// get and put access a field of the State.
func (c *compiler) get(d reg, off int32) { c.mem(loads[3], d, state, off, link) }
func (c *compiler) put(s reg, off int32) { c.mem(stores[3], s, state, off, link) }

// prologue is what Enter calls, with the address of the State in state.
func (c *compiler) prologue() {
	c.put(lr, offSP) // RSP stays, so that its place is free
	c.get(hostR, offData)
	c.constant(temp1, c.Target.Base)
	c.rrr(1, opSub, hostR, hostR, temp1)
	if c.calls {
		c.get(frame, offTop)
		c.get(hostF, offHost)
		c.mem(loads[3], lr, frame, frameReturn, temp1)
	} else {
		c.addImm(1, frame, state, int64(offFrame0), temp1)
		c.mem(loads[3], hostF, frame, frameHost, temp1)
	}
	c.addImm(1, hostF, hostF, -stackBias, temp1)
	c.get(roomR, offRoom)
	c.get(shad, offShadow)
	c.get(limit, offLimit)
	c.get(negB, offNegBase)
	c.get(temp1, offRegs)
	for i := range reg(10) {
		if c.Program.Used>>i&1 != 0 {
			c.mem(loads[3], i, temp1, int32(8*i), temp2)
		}
	}
	c.get(temp1, offEntry)
	c.word(opBr | uint32(temp1)<<5)
}

// exitCode leaves: what State.Exit becomes is in temp1.
func (c *compiler) exitCode() {
	c.leaving = c.pos()
	c.put(temp1, offExit)
	c.put(roomR, offRoom)
	c.put(frame, offTop)
	if c.calls {
		c.mem(stores[3], lr, frame, frameReturn, temp1)
	}
	c.get(temp1, offRegs)
	for i := range reg(10) {
		if c.Program.Used>>i&1 != 0 {
			c.mem(stores[3], i, temp1, int32(8*i), temp2)
		}
	}
	c.get(lr, offSP)
	c.word(opRet)
}

// Leave leaves at a slot.
func (c *compiler) Leave(why plan.Reason, slot int32) {
	c.constant(temp1, uint64(slot)<<plan.ReasonBits|uint64(why))
	c.patch(c.branch(opB), c.leaving)
}

// Goto jumps to an instruction.
func (c *compiler) Goto(pc int32) { c.to(c.branch(opB), pc) }

// Land makes a branch lead to here.
func (c *compiler) Land(from int32) { c.land(from) }

// Patch makes a branch lead to a position.
func (c *compiler) Patch(from, to int32) { c.patch(from, to) }

// to makes a branch lead to an instruction.
func (c *compiler) to(from, pc int32) {
	if pc <= c.PC {
		c.patch(from, int32(c.Out.Starts[pc]))
		return
	}
	c.Fill(from, pc)
}

// taken generates the edge to the target of a branch on a condition.
func (c *compiler) taken(cc cond, in *plan.Insn) {
	mark, marked := c.TakenMark(in)
	switch {
	case in.Has(plan.FlagBack):
		over := c.near(cc.not())
		if marked {
			c.MarkByte(mark)
		}
		c.loop(in)
		c.land(over)
	case marked:
		c.PutOff(plan.Cold{Kind: plan.ColdEdge, From: [2]int32{c.jcc(cc)}, PC: in.Target, N: in.Taken, Mark: mark + 1})
	case in.Taken == 0:
		c.to(c.jcc(cc), in.Target)
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
	c.spend(in.Taken)
	c.turn(in)
}

// turn goes back by the sign of what was charged.
func (c *compiler) turn(in *plan.Insn) {
	c.to(c.jcc(condGE), in.Target)
	c.PutOff(plan.Cold{Kind: plan.ColdLeave, From: [2]int32{c.branch(opB)}, PC: c.Program.Insns[in.Target].Slot, N: int32(plan.OutOfRoom)})
}

// putOff continues out of line on a condition.
func (c *compiler) putOff(kind plan.ColdKind, cc cond, pc, n int32) {
	c.PutOff(plan.Cold{Kind: kind, From: [2]int32{c.jcc(cc)}, PC: pc, N: n})
}

// unless leaves with Interpret at this slot when the condition holds.
func (c *compiler) unless(cc cond) { c.putOff(plan.ColdLeave, cc, c.Slot(), int32(plan.Interpret)) }

// subroutine calls code that goes back by link.
func (c *compiler) subroutine(target int32) {
	back := c.branch(opAdr | uint32(link))
	c.patch(c.branch(opB), target)
	c.land(back)
}
