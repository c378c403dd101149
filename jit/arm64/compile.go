package arm64

import (
	"sync"

	"github.com/bpfrun/bpfrun/jit/plan"
)

// The host registers besides x0 to x9, which hold r0 to r9. R18, R28 and R29 are not used.
const (
	temp1 reg = 10 // argument and result of subroutines
	temp2 reg = 11
	temp3 reg = 12 // used by subroutines, like the next ones
	temp4 reg = 13
	temp5 reg = 14
	temp6 reg = 15
	link  reg = 16 // return address of subroutines
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

// stackBias brings every access in the 512 bytes below Frame.Host within the offsets -256 to 255.
const stackBias = 256

// maxCode is the range of unconditional branches in bytes.
const maxCode = 1 << 27

// frameSize is the distance between frames in bytes.
const frameSize = int32(plan.FrameSize)

// compiler is the state of one compilation.
type compiler struct {
	asm
	plan.Emission

	// The subroutines, and the positions exact[0], exact[1] and fill in them.
	routines []byte
	offsets  [3]int32

	exact [2]int32 // exact checks of loads and of stores
	fill  int32    // sets a cell
}

// compilers are pooled for their memory.
var compilers = sync.Pool{New: func() any { return new(compiler) }}

// Compile generates the code of a program. The error is plan.ErrTooLong.
func Compile(p *plan.Program, t plan.Target, out *plan.Code) error {
	c := compilers.Get().(*compiler)
	c.Reach = maxCode
	// Most slots take less than 64 bytes, and conditional branches reach 1 MB.
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

// Begin generates the entry and exit code and the subroutines.
func (c *compiler) Begin() {
	c.prologue()
	c.exitCode()
	c.subroutines()
}

// Align does nothing: alignment does not affect instruction fetch here.
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

// Remainder always returns false: a division, a product and a difference take as many instructions
// here.
func (c *compiler) Remainder(*plan.Insn) bool { return false }

// subroutines generates the subroutines, which are the same in all programs.
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

// MarkByte sets a byte after the State.
func (c *compiler) MarkByte(n int32) {
	c.addImm(1, temp1, state, int64(plan.OffMarks+n), temp2)
	c.constant(temp2, 1)
	c.mem(stores[0], temp2, temp1, 0, temp3)
}

// Charge subtracts n from the remaining room.
func (c *compiler) Charge(n int32) {
	if n != 0 {
		c.addImm(1, roomR, roomR, -int64(n), temp1)
	}
}

// Spend charges n and sets the flags: condLT if no room is left.
func (c *compiler) Spend(n int32) {
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

// prologue is the target of Enter, which passes the address of the State in state.
func (c *compiler) prologue() {
	c.put(lr, plan.OffSP) // RSP is not changed, so its slot is free
	c.get(hostR, plan.OffData)
	c.constant(temp1, c.Target.Base)
	c.rrr(1, opSub, hostR, hostR, temp1)
	if c.Calls {
		c.get(frame, plan.OffTop)
		c.get(hostF, plan.OffHost)
		c.mem(loads[3], lr, frame, plan.FrameReturn, temp1)
	} else {
		c.addImm(1, frame, state, int64(plan.OffFrame0), temp1)
		c.mem(loads[3], hostF, frame, plan.FrameHost, temp1)
	}
	c.addImm(1, hostF, hostF, -stackBias, temp1)
	c.get(roomR, plan.OffRoom)
	c.get(shad, plan.OffShadow)
	c.get(limit, plan.OffLimit)
	c.get(negB, plan.OffNegBase)
	c.get(temp1, plan.OffRegs)
	for i := range reg(10) {
		if c.Program.Used>>i&1 != 0 {
			c.mem(loads[3], i, temp1, int32(8*i), temp2)
		}
	}
	c.get(temp1, plan.OffEntry)
	c.word(opBr | uint32(temp1)<<5)
}

// exitCode exits. temp1 contains the value for State.Exit.
func (c *compiler) exitCode() {
	c.Leaving = c.pos()
	c.put(temp1, plan.OffExit)
	c.put(roomR, plan.OffRoom)
	c.put(frame, plan.OffTop)
	if c.Calls {
		c.mem(stores[3], lr, frame, plan.FrameReturn, temp1)
	}
	c.get(temp1, plan.OffRegs)
	for i := range reg(10) {
		if c.Program.Used>>i&1 != 0 {
			c.mem(stores[3], i, temp1, int32(8*i), temp2)
		}
	}
	c.get(lr, plan.OffSP)
	c.word(opRet)
}

// SetExit puts the value for State.Exit into temp1.
func (c *compiler) SetExit(exit uint64) { c.constant(temp1, exit) }

// conds are the encodings of conditions.
var conds = [...]cond{
	plan.Equal: condEQ, plan.NotEqual: condNE, plan.Less: condLO, plan.AtLeast: condHS, plan.AtMost: condLS, plan.Greater: condHI,
	plan.SignedLess: condLT, plan.SignedAtLeast: condGE, plan.SignedAtMost: condLE, plan.SignedGreater: condGT,
}

// Jump branches forward.
func (c *compiler) Jump() int32 { return c.branch(opB) }

// JumpIf branches forward on a condition.
func (c *compiler) JumpIf(cc plan.Cond) int32 { return c.jcc(conds[cc]) }

// Land directs a branch to the current position.
func (c *compiler) Land(from int32) { c.land(from) }

// Patch directs a branch to a position.
func (c *compiler) Patch(from, to int32) { c.patch(from, to) }

// JumpBack branches to an earlier position.
func (c *compiler) JumpBack(to int32) { c.patch(c.branch(opB), to) }

// JumpBackIf branches to an earlier position on a condition.
func (c *compiler) JumpBackIf(cc plan.Cond, to int32) { c.patch(c.jcc(conds[cc]), to) }

// Far is JumpBack: all branches have the same length.
func (c *compiler) Far(to int32) { c.JumpBack(to) }

// Skip branches forward over less than 1 MB.
func (c *compiler) Skip(cc plan.Cond) int32 { return c.near(conds[cc]) }

// EndSkip is the target of Skip.
func (c *compiler) EndSkip(from int32) { c.land(from) }

// subroutine calls code that returns by link.
func (c *compiler) subroutine(target int32) {
	back := c.branch(opAdr | uint32(link))
	c.patch(c.branch(opB), target)
	c.land(back)
}
