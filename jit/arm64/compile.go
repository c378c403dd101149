package arm64

import (
	"errors"
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

var errTooLong = errors.New("more native code than a branch can cross")

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
	p     *plan.Program
	out   *plan.Code
	base  uint64 // Target.Base
	pc    int32
	calls bool // the program has bpf-to-bpf calls
	marks bool // see plan.Target

	// The subroutines, and where exact[0], exact[1] and fill stand in them.
	routines []byte
	offsets  [3]int32

	leaving int32    // where code goes to leave
	exact   [2]int32 // exact checks of loads and of stores
	fill    int32    // sets a cell

	jumps []jump
	colds []cold
}

// jump is a distance to fill in.
type jump struct{ pos, slot int32 }

// cold is code out of line.
type cold struct {
	kind coldKind
	from [2]int32   // branches that lead here, 0 for none
	pc   int32      // slot to leave at, or number of the instruction to go to
	n    int32      // charge, or reason
	in   *plan.Insn // with the range
	back int32      // where to go on
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

// maxPiece bounds the code of one instruction, without what stands out of line, of each piece of that, and of all of what does not belong to one.
const maxPiece = 1 << 10

// compilers are kept for their memory.
var compilers = sync.Pool{New: func() any { return new(compiler) }}

func (c *compiler) done() {
	c.p, c.out, c.Buffer = nil, nil, plan.Buffer{}
	clear(c.colds) // which point to instructions
	c.jumps, c.colds = c.jumps[:0], c.colds[:0]
	compilers.Put(c)
}

// Compile generates the code of a program.
func Compile(p *plan.Program, t plan.Target, out *plan.Code) error {
	c := compilers.Get().(*compiler)
	defer c.done()
	c.p, c.base, c.out, c.calls, c.marks = p, t.Base, out, p.Calls, t.Marks
	c.Start(out.Text)
	c.Room(24*uint(len(p.Insns)) + 4*maxPiece)
	// A slot takes less than 64 bytes but for the rarest, and conditional branches reach 1 MB.
	c.far = len(p.Insns) > 1<<20/64
	c.prologue()
	c.exitCode()
	c.subroutines()
	insns, starts, entries := p.Insns, out.Starts, out.Entries
	for pc := int32(0); pc < int32(len(insns)); pc++ {
		in := &insns[pc]
		c.Room(maxPiece)
		c.pc = pc
		if in.Guard > 0 {
			c.to(c.branch(opB), in.Guard)
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
	if c.Len() >= maxCode {
		return errTooLong
	}
	for _, j := range c.jumps {
		c.patch(j.pos, int32(out.Starts[j.slot]))
	}
	out.Text = c.Code()
	return nil
}

// fused are flags of instructions that may be generated together with those behind, or not at all.
const fused = plan.FlagDead | plan.FlagPair | plan.FlagSelect | plan.FlagBound

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
		if c.marks {
			return 0
		}
		c.selects(in)
		return 1 + int(in.Size)
	case in.Kind == plan.KindGuard:
		return 0
	}
	rules[in.Op].emit(c, in, &rules[in.Op])
	c.bound(in)
	c.next(in)
	return 1
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

// mark records that a block was run to its last instruction.
func (c *compiler) mark(in *plan.Insn) {
	if in.Mark >= 0 && in.Kind != plan.KindInterpret {
		c.addImm(1, temp1, state, int64(unsafe.Sizeof(plan.State{}))+int64(in.Mark), temp2)
		c.constant(temp2, 1)
		c.mem(stores[0], temp2, temp1, 0, temp3)
	}
}

// next charges what is due at the next slot.
func (c *compiler) next(in *plan.Insn) { c.charge(in.Next) }

func (c *compiler) charge(n int32) {
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
	c.constant(temp1, c.base)
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
		if c.p.Used>>i&1 != 0 {
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
		if c.p.Used>>i&1 != 0 {
			c.mem(stores[3], i, temp1, int32(8*i), temp2)
		}
	}
	c.get(lr, offSP)
	c.word(opRet)
}

// leave leaves at a slot.
func (c *compiler) leave(why plan.Reason, pc int32) {
	c.constant(temp1, uint64(pc)<<plan.ReasonBits|uint64(why))
	c.patch(c.branch(opB), c.leaving)
}

// to makes a branch lead to a slot.
func (c *compiler) to(pos, slot int32) {
	if slot <= c.pc {
		c.patch(pos, int32(c.out.Starts[slot]))
		return
	}
	c.jumps = append(c.jumps, jump{pos, slot})
}

// taken generates the edge to the target of a branch on a condition.
func (c *compiler) taken(cc cond, in *plan.Insn) {
	switch {
	case in.Has(plan.FlagBack):
		over := c.near(cc.not())
		c.loop(in)
		c.land(over)
	case in.Taken == 0:
		c.to(c.jcc(cc), in.Target)
	default:
		c.colds = append(c.colds, cold{kind: coldEdge, from: [2]int32{c.jcc(cc)}, pc: in.Target, n: in.Taken})
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
		c.to(c.branch(opB), in.Target)
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
	c.colds = append(c.colds, cold{kind: coldLeave, from: [2]int32{c.branch(opB)}, pc: c.p.Insns[in.Target].Slot, n: int32(plan.OutOfRoom)})
}

// slot is the slot of the instruction.
func (c *compiler) slot() int32 { return c.p.Insns[c.pc].Slot }

// unless leaves with Interpret at this slot when the condition holds.
func (c *compiler) unless(cc cond) {
	c.colds = append(c.colds, cold{kind: coldLeave, from: [2]int32{c.jcc(cc)}, pc: c.slot(), n: int32(plan.Interpret)})
}

// coldCode generates what was put off.
func (c *compiler) coldCode() {
	for i := range c.colds {
		k := &c.colds[i]
		c.Room(maxPiece)
		for _, pos := range k.from {
			if pos != 0 {
				c.land(pos)
			}
		}
		switch k.kind {
		case coldLeave:
			c.leave(plan.Reason(k.n), k.pc)
		case coldUndo, coldRefuse:
			c.charge(-k.n)
			why := plan.OutOfRoom
			if k.kind == coldRefuse {
				why = plan.Interpret
			}
			c.leave(why, k.pc)
		case coldEdge:
			c.charge(k.n)
			c.patch(c.branch(opB), int32(c.out.Starts[k.pc]))
		case coldLoads, coldStores:
			c.checkCold(k)
		}
	}
}

// subroutine calls code that goes back by link.
func (c *compiler) subroutine(target int32) {
	back := c.branch(opAdr | uint32(link))
	c.patch(c.branch(opB), target)
	c.land(back)
}
