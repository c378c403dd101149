package amd64

import (
	"sync"

	"github.com/bpfrun/bpfrun/jit/plan"
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

// frameSize is the distance between frames in bytes.
const frameSize = int32(plan.FrameSize)

// compiler is the state of one compilation.
type compiler struct {
	asm
	plan.Emission

	// The routines that do not depend on the program, and the State they were generated for. They
	// are at the start of the code.
	routines      []byte
	routinesState int32

	exact [2]int32 // exact checks of loads and of stores
	fill  int32    // sets a cell

	chosen reg // result of SelectResult
}

// compilers are pooled for their memory.
var compilers = sync.Pool{New: func() any { return new(compiler) }}

// Compile generates the code of a program. The error is plan.ErrTooLong.
func Compile(p *plan.Program, t plan.Target, out *plan.Code) error {
	c := compilers.Get().(*compiler)
	c.state = int32(t.StateDelta)
	err := c.Emit(c, &c.Buffer, p, t, out)
	c.Release()
	c.Buffer = plan.Buffer{}
	compilers.Put(c)
	return err
}

// Begin generates the routines, the exit code and the entry code, to which the target of Enter
// jumps.
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

// Align aligns to the unit of instruction decoding.
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

// MarkByte sets a byte after the State. It preserves the flags.
func (c *compiler) MarkByte(n int32) {
	c.rm(0, 0xc6, 0, field(plan.OffMarks+n), 1)
	c.byte(1)
}

// Charge subtracts n from the remaining room.
func (c *compiler) Charge(n int32) {
	if n != 0 {
		c.groupImm(1, opSub, roomR, n)
	}
}

// usesStack reports whether hostF is used.
func (c *compiler) usesStack() bool { return c.Calls || c.Program.Used>>10&1 != 0 }

// prologue is the target of Enter.
func (c *compiler) prologue() {
	c.store(field(plan.OffSP), rsp)
	if c.Calls {
		c.load(rsp, field(plan.OffTop))
		c.load(hostF, field(plan.OffHost))
	} else {
		c.rm(1, 0x8d, rsp, field(plan.OffFrame0), 0)
		if c.usesStack() {
			c.load(hostF, at(rsp, plan.FrameHost))
		}
	}
	c.constant(temp1, c.Target.Base)
	c.load(hostR, field(plan.OffData))
	c.group(1, opSub, hostR, temp1)
	c.load(roomR, field(plan.OffRoom))
	c.load(temp1, field(plan.OffRegs))
	for i, r := range regs {
		if c.Program.Used>>i&1 != 0 {
			c.load(r, at(temp1, int32(8*i)))
		}
	}
	c.rm(0, 0xff, 4, field(plan.OffEntry), 0)
}

// exitCode exits. temp1 contains the value for State.Exit.
func (c *compiler) exitCode() {
	c.Leaving = c.pos()
	c.store(field(plan.OffExit), temp1)
	c.store(field(plan.OffRoom), roomR)
	c.store(field(plan.OffTop), rsp)
	c.load(temp1, field(plan.OffRegs))
	for i, r := range regs {
		if c.Program.Used>>i&1 != 0 {
			c.store(at(temp1, int32(8*i)), r)
		}
	}
	c.load(rsp, field(plan.OffSP))
	c.rm(1, 0x8d, rax, field(0), 0) // the result of Enter
	c.byte(0xc3)
}

// SetExit puts the value for State.Exit into temp1.
func (c *compiler) SetExit(exit uint64) { c.constant(temp1, exit) }

// conds are the encodings of conditions.
var conds = [...]cond{
	plan.Equal: condE, plan.NotEqual: condNE, plan.Less: condB, plan.AtLeast: condAE, plan.AtMost: condBE, plan.Greater: condA,
	plan.SignedLess: condL, plan.SignedAtLeast: condGE, plan.SignedAtMost: condLE, plan.SignedGreater: condG,
}

// Jump jumps forward.
func (c *compiler) Jump() int32 { return c.jmpFar() }

// JumpIf jumps forward on a condition.
func (c *compiler) JumpIf(cc plan.Cond) int32 { return c.jccFar(conds[cc]) }

// Land directs a far jump to the current position.
func (c *compiler) Land(from int32) { c.patch(from, c.pos()) }

// Patch directs a far jump to a position.
func (c *compiler) Patch(from, to int32) { c.patch(from, to) }

// JumpBack jumps to an earlier position, in the short form if possible.
func (c *compiler) JumpBack(to int32) { c.jmpBack(to) }

// JumpBackIf is JumpBack on a condition.
func (c *compiler) JumpBackIf(cc plan.Cond, to int32) { c.jccBack(conds[cc], to) }

// Far jumps to an earlier position in the long form.
func (c *compiler) Far(to int32) { c.patch(c.jmpFar(), to) }

// Skip jumps forward over up to 127 bytes.
func (c *compiler) Skip(cc plan.Cond) int32 { return c.jccNear(conds[cc]) }

// EndSkip is the target of Skip.
func (c *compiler) EndSkip(from int32) { c.land(from) }

// Spend charges n and sets the flags by the remaining room.
func (c *compiler) Spend(n int32) {
	if n == 0 {
		c.test(1, roomR)
	} else {
		c.groupImm(1, opSub, roomR, n)
	}
}
