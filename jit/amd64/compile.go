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
	p      *plan.Program
	target plan.Target
	out    *plan.Code
	pc     int32
	calls  bool // the program has bpf-to-bpf calls

	// The routines that do not depend on the program, and the State they were made for. They stand at the start of the code.
	routines      []byte
	routinesState int32

	leaving int32    // where code goes to leave
	exact   [2]int32 // exact checks of loads and of stores
	fill    int32    // sets a cell

	jumps []jump
	colds []cold
}

// cold is code out of line.
type cold struct {
	kind coldKind
	from [2]int32 // distances that lead here, 0 for none
	pc   int32    // slot to leave at; number of the instruction to go to, or with the check
	n    int32    // charge, or reason
	back int32    // where to go on
}

type coldKind uint8

const (
	coldLeave  coldKind = iota // leave for reason n at pc
	coldUndo                   // take a charge back, then leave with OutOfRoom
	coldRefuse                 // take a charge back, then leave with Interpret
	coldEdge                   // charge and go to slot pc
	coldLoads                  // exact check of a range of n bytes
	coldStores
)

// jump is a distance to fill in.
type jump struct{ pos, slot int32 }

// maxPiece bounds the code of one instruction, without what stands out of line, of each piece of that, and of all of what does not belong to one.
const maxPiece = 1 << 10

// compilers are kept for their memory.
var compilers = sync.Pool{New: func() any { return new(compiler) }}

func (c *compiler) done() {
	c.p, c.out, c.Buffer = nil, nil, plan.Buffer{}
	c.jumps, c.colds = c.jumps[:0], c.colds[:0]
	compilers.Put(c)
}

// Compile generates the code of a program.
func Compile(p *plan.Program, t plan.Target, out *plan.Code) error {
	c := compilers.Get().(*compiler)
	defer c.done()
	c.p, c.target, c.out, c.calls = p, t, out, p.Calls
	c.state = int32(t.StateDelta)
	c.Start(out.Text)
	c.Room(24*uint(len(p.Insns)) + 4*maxPiece)
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
	c.patch(start, c.pos())
	c.prologue()
	insns, starts, entries := p.Insns, out.Starts, out.Entries
	for pc := int32(0); pc < int32(len(insns)); pc++ {
		in := &insns[pc]
		c.Room(maxPiece)
		c.pc = pc
		switch {
		case in.Guard == plan.Align:
			c.align(loopAlign)
		case in.Guard != 0:
			c.goTo(in.Guard)
		}
		pos := uint32(c.pos())
		starts[pc] = pos
		if in.Has(plan.FlagEntry) {
			entries[pc] = pos
		}
		if t.Marks {
			c.mark(in)
		}
		if in.Has(fused) {
			if n := c.fuse(in); n > 0 {
				for ; n > 1; n-- {
					pc++
					if t.Marks {
						c.mark(&insns[pc])
					}
					starts[pc] = uint32(c.pos())
				}
				continue
			}
		}
		r := &rules[in.Op]
		if special>>in.Kind&1 != 0 || r.emit == nil {
			c.special(in)
			continue
		}
		r.emit(c, in, r)
		c.next(in)
	}
	c.Room(maxPiece)
	c.leave(plan.Interpret, int32(p.Len())) // the end of the program is no instruction
	out.Cold = uint32(c.pos())
	c.coldCode()
	for _, j := range c.jumps {
		c.patch(j.pos, int32(out.Starts[j.slot]))
	}
	out.Text = c.Code()
	return nil
}

// fused are flags of instructions that may be generated together with those behind, or not at all.
const fused = plan.FlagDead | plan.FlagPair | plan.FlagSelect | plan.FlagRemainder | plan.FlagBound

// fuse generates such instructions, and returns how many: 0 for none.
func (c *compiler) fuse(in *plan.Insn) int {
	switch {
	case in.Has(plan.FlagDead):
		c.next(in)
		return 1
	case in.Has(plan.FlagPair):
		next := &c.p.Insns[c.pc+1]
		if !c.pair(in, next) {
			return 0
		}
		if next.Has(plan.FlagBound) {
			c.bound(next)
		}
		c.next(next)
		return 2
	case in.Has(plan.FlagSelect):
		if c.target.Marks {
			return 0
		}
		c.selects(in)
	case in.Has(plan.FlagRemainder):
		c.remainder(in)
		c.next(&c.p.Insns[c.pc+int32(in.Size)])
	case in.Kind == plan.KindGuard:
		return 0
	default:
		rules[in.Op].emit(c, in, &rules[in.Op])
		c.bound(in)
		c.next(in)
		return 1
	}
	return 1 + int(in.Size)
}

// special are the kinds of instructions that are not generated by the rule of their op; others have none.
const special = 1<<plan.KindInterpret | 1<<plan.KindSecond | 1<<plan.KindCallFunc | 1<<plan.KindCallInline | 1<<plan.KindGuard

func (c *compiler) special(in *plan.Insn) {
	switch in.Kind {
	case plan.KindSecond:
	case plan.KindCallFunc:
		c.leave(plan.CallFunc, in.Slot)
	case plan.KindCallInline:
		c.inline(in)
	case plan.KindGuard:
		c.check(in, false)
	default:
		c.leave(plan.Interpret, in.Slot)
	}
}

// mark records that a block was run to its last instruction.
func (c *compiler) mark(in *plan.Insn) {
	if in.Mark >= 0 && in.Kind != plan.KindInterpret {
		c.rm(0, 0xc6, 0, field(unsafe.Sizeof(plan.State{})+uintptr(in.Mark)), 1)
		c.byte(1)
	}
}

// next charges what is due at the next slot.
func (c *compiler) next(in *plan.Insn) { c.charge(in.Next) }

func (c *compiler) charge(n int32) {
	if n != 0 {
		c.groupImm(1, opSub, roomR, n)
	}
}

// usesStack reports whether hostF has a meaning.
func (c *compiler) usesStack() bool { return c.calls || c.p.Used>>10&1 != 0 }

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
	c.constant(temp1, c.target.Base)
	c.load(hostR, field(offData))
	c.group(1, opSub, hostR, temp1)
	c.load(roomR, field(offRoom))
	c.load(temp1, field(offRegs))
	for i, r := range regs {
		if c.p.Used>>i&1 != 0 {
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
		if c.p.Used>>i&1 != 0 {
			c.store(at(temp1, int32(8*i)), r)
		}
	}
	c.load(rsp, field(offSP))
	c.byte(0xc3)
}

// leave leaves at a slot.
func (c *compiler) leave(why plan.Reason, pc int32) {
	c.constant(temp1, uint64(pc)<<plan.ReasonBits|uint64(why))
	c.jmpBack(c.leaving)
}

// goTo jumps to a slot.
func (c *compiler) goTo(slot int32) {
	if slot <= c.pc {
		c.jmpBack(int32(c.out.Starts[slot]))
		return
	}
	c.jumps = append(c.jumps, jump{c.jmpFar(), slot})
}

// when jumps to a slot on a condition.
func (c *compiler) when(cc cond, slot int32) {
	if slot <= c.pc {
		c.jccBack(cc, int32(c.out.Starts[slot]))
		return
	}
	c.jumps = append(c.jumps, jump{c.jccFar(cc), slot})
}

// taken generates the edge to the target of a branch on a condition.
func (c *compiler) taken(cc cond, in *plan.Insn) {
	switch {
	case in.Has(plan.FlagBack):
		over := c.jccNear(cc.not())
		c.loop(in)
		c.land(over)
	case in.Taken == 0:
		c.when(cc, in.Target)
	default:
		c.colds = append(c.colds, cold{kind: coldEdge, from: [2]int32{c.jccFar(cc)}, pc: in.Target, n: in.Taken})
	}
}

// always generates the edge to the target of a jump.
func (c *compiler) always(in *plan.Insn) {
	if in.Has(plan.FlagBack) {
		c.loop(in)
		return
	}
	c.charge(in.Taken)
	if in.Target != c.pc+1 {
		c.goTo(in.Target)
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
	c.colds = append(c.colds, cold{kind: coldLeave, from: [2]int32{c.jmpFar()}, pc: c.p.Insns[in.Target].Slot, n: int32(plan.OutOfRoom)})
}

// slot is the slot of the instruction.
func (c *compiler) slot() int32 { return c.p.Insns[c.pc].Slot }

// unless leaves with Interpret at this slot when the condition holds.
func (c *compiler) unless(cc cond) {
	c.colds = append(c.colds, cold{kind: coldLeave, from: [2]int32{c.jccFar(cc)}, pc: c.slot(), n: int32(plan.Interpret)})
}

// coldCode generates what was put off.
func (c *compiler) coldCode() {
	for i := range c.colds {
		k := &c.colds[i]
		c.Room(maxPiece)
		for _, pos := range k.from {
			if pos != 0 {
				c.patch(pos, c.pos())
			}
		}
		switch k.kind {
		case coldLeave:
			c.leave(plan.Reason(k.n), k.pc)
		case coldUndo, coldRefuse:
			c.groupImm(1, opAdd, roomR, k.n)
			why := plan.OutOfRoom
			if k.kind == coldRefuse {
				why = plan.Interpret
			}
			c.leave(why, k.pc)
		case coldEdge:
			c.charge(k.n)
			c.patch(c.jmpFar(), int32(c.out.Starts[k.pc]))
		case coldLoads, coldStores:
			c.checkCold(k)
		}
	}
}
