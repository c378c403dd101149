package plan

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// Kind sorts instructions by what a backend does with them.
type Kind uint8

const (
	// KindInterpret is what generated code always leaves to the interpreter.
	KindInterpret Kind = iota
	// KindSecond is the second slot of KindImm64; there is nothing to do.
	KindSecond
	// KindOp is an operation on registers: Op, Dst, Src, Imm.
	KindOp
	// KindImm64 sets Dst to Imm.
	KindImm64
	// KindLoad, KindStore and KindAtomic access memory, see Insn.Check.
	KindLoad
	KindStore
	KindAtomic
	// KindJump always goes to Target, KindBranch when the condition holds.
	KindJump
	KindBranch
	// KindMayGoto goes to Target when State.May is 0, and decrements it otherwise.
	KindMayGoto
	// KindCall is a bpf-to-bpf call of Target.
	KindCall
	// KindCallFunc is a call of a helper or kfunc: code leaves with CallFunc.
	KindCallFunc
	// KindCallInline is a call of a function that generated code executes itself, see Program.Inline.
	KindCallInline
	// KindExit returns.
	KindExit
	// KindGuard continues behind if the bytes from Lo up to Hi, counted from the value of Base, are accessible, as CheckRange says;
	// else, or if that takes long to find out, to Target. It is not an instruction of the program.
	KindGuard
)

// Check describes how an access is checked.
type Check uint8

const (
	// CheckNone: the access lies in the stack of the running function, at Frame.Host + StackOff.
	CheckNone Check = iota
	// CheckRange: the bytes from Lo up to Hi, counted from the value of the base register, have to be checked before
	// the access, for stores if Insn.RangeStore.
	CheckRange
	// CheckDone: a CheckRange above has checked the access, and nothing in between can have changed that.
	CheckDone
)

// Flag is what is special about an instruction.
type Flag uint16

const (
	// FlagLeader marks the first instruction of a block: jumps may lead here.
	FlagLeader Flag = 1 << iota
	// FlagEntry marks instructions where generated code may be entered: every one that depends on nothing but the registers.
	FlagEntry
	// FlagRangeStore: the range of CheckRange is also stored to.
	FlagRangeStore
	// FlagPair: this instruction and the next, which is an addition to (or another operation on) the same register, may be
	// generated as one; nothing enters between them.
	FlagPair
	// FlagBack marks a jump or branch whose target needs a look at State.Room.
	FlagBack
	// FlagDead marks an instruction that has no effect anyone can see; nothing is generated.
	FlagDead
	// FlagRotate marks a shift by a constant that is generated as a rotation in the same direction.
	FlagRotate
	// FlagWord marks a load of what may be word number Target of Program.Words: if its base is State.Context and State.Words has an address
	// for the number, it loads the 64 bits there, without a check. Otherwise it is a load as any.
	FlagWord
	// FlagSelect marks a branch that skips one operation, which follows: after it, or after the jump after it if Size is 2, code goes
	// where the branch goes. If there are no Target.Marks, the operation may be generated as a selection between its result and what its
	// register held; nothing enters it.
	FlagSelect
	// FlagRemainder marks a division that may be generated together with the Size operations after it, which nothing enters: Dst holds
	// the same as Src of the instruction before; the last operation leaves the remainder in its Dst, and Dst of this one holds what has
	// been subtracted.
	FlagRemainder
	// FlagBound marks an addition in the copy of a loop after which the register Base is compared with Bound of the Cell: if it is not
	// below (unsigned), code continues at the slot behind. On a KindGuard it says that Bound is needed.
	FlagBound
	// FlagWayTaken and FlagWayFell mark a branch of which that way is recorded, with Target.Ways: no block tells that it was gone.
	FlagWayTaken
	FlagWayFell
	// flagTrust marks an operation of 32 bits whose result is believed not to wrap, see Optimise.
	flagTrust
	// flagNeeded marks what CopyLoops follows in the loop it looks at.
	flagNeeded
)

// SavesHost in Insn.Saves says that a function needs its Frame.Host, which its caller's has to be restored after.
const SavesHost = 1 << 4

// Align in Insn.Guard says that a loop begins here whose code is worth a place of its own in caches.
const Align = -1

// NoBase is the Base of a guard whose base is the value at Frame.Host + StackOff.
const NoBase = 0xff

// Insn is one slot of a [Program], or of the copy of a loop.
type Insn struct {
	Kind     Kind
	Op       decode.Op
	Dst, Src uint8
	Flags    Flag
	Check    Check
	Size     uint8 // bytes accessed
	Base     uint8 // register with the address of the access
	// Saves are the registers that a KindCall has to save and a KindExit to restore: bit r-6 for r6 to r9, and SavesHost.
	Saves    uint8
	Off      int16 // offset of the access from Base
	StackOff int16 // of CheckNone
	Cell     int16 // number of the CheckRange's Cell, -1 for none
	Lo, Hi   int32 // of CheckRange
	Mark     int32 // number of the block whose last instruction this is, -1 for others
	Target   int32 // number in Insns of what is jumped to or called
	Slot     int32 // slot of the program
	// Guard is not 0 if what falls through to this instruction from the one before goes there instead, or Align.
	Guard int32

	// Count is what State.Room has been charged too little before this instruction. Taken and Next are what it has to be
	// charged when the instruction is left by its jump and to the next slot; Next is 0 inside blocks.
	Count, Taken, Next int32

	reads, writes uint16 // registers

	Imm uint64
}

// Has reports whether the instruction has a flag.
func (in *Insn) Has(f Flag) bool { return in.Flags&f != 0 }

// Program is what a backend generates code for. Insns are the slots of the program, and after them copies of loops, where
// Slot identifies which slot an instruction is. Code never enters at copies, and only jumps lead there.
//
// Instructions are counted in State.Room, but not one by one: every block has a fixed number of instructions that were executed
// at its start and are not yet charged, which is Count of its first instruction, and only where a jump leads to a block
// with another number than it would have, the difference is charged: Taken or Next, often 0. When code is entered at slot a with
// Room = r + Insns[a].Count and left at slot b with Room = q, r - (q - Insns[b].Count) instructions were executed in between.
// Room has to be looked at, after charging, at jumps with FlagBack, at calls and at exits; below 0 the code leaves with
// OutOfRoom at the target of the jump (which is charged), or at the call or exit (whose charge is taken back).
type Program struct {
	Image *vm.Image
	Insns []Insn
	// Used has bit r set for each register r that occurs.
	Used uint16
	// Cells is the number of cells in use.
	Cells int
	// MayGoto means that may_goto occurs, so that calls have to save State.May.
	MayGoto bool
	// Calls means that there are bpf-to-bpf calls.
	Calls bool

	// Inlines are the calls that generated code makes itself, in order. Ledger accounts for them, nil without any; they can only be
	// made on CPUs from 0 up to CPUs, unless that is 0.
	Inlines []Inline
	Ledger  vm.Ledger
	CPUs    int
	// Timed means that one of them tells the time, so that all have to advance it.
	Timed bool

	// Computed means that there are indirect jumps, which may lead into the middle of what is a block here.
	Computed bool

	// Loops means that there may be loops that Optimise improves.
	Loops bool

	// Words are the words of the context that loads with FlagWord may be of, by their number of four bytes.
	Words []int32

	leaders slotSet
	blocks  []block
	count   int32 // of instructions
	scan    scan
	loop    looper
	len     int
}

// Len returns the number of slots of the program.
func (p *Program) Len() int { return p.len }

// Blocks returns the number of blocks.
func (p *Program) Blocks() int { return len(p.blocks) }

// Block returns the slots from start up to end of block i.
func (p *Program) Block(i int) (start, end int) {
	return int(p.blocks[i].start), int(p.blocks[i].end)
}

// Slack returns how much more than State.Room the caller has to allow for: code may execute that many instructions after it
// last looked at Room.
func (p *Program) Slack() int64 { return 2*int64(p.len) + 2 }

// MaxLen is the longest program that is worth native code.
const MaxLen = 1 << 20

// New analyses a program, in time linear in its length. It returns nil for programs it does not take: those longer than MaxLen.
// Words are those of vm.Thread.SetContext, if loads of them are to be made without asking the context. A Program made before may be
// given to have its memory used again.
func New(img *vm.Image, words []*uint64, old *Program) *Program {
	n := img.Len()
	if n > MaxLen {
		return nil
	}
	p := old
	if p == nil {
		p = &Program{}
	}
	p.Image = img
	if cap(p.Insns) < n {
		p.Insns = make([]Insn, n)
	}
	p.Insns, p.len = p.Insns[:n], n
	p.decode()
	p.inlines()
	p.contextLoads(words)
	p.findBlocks()
	p.charge()
	p.saves()
	p.judge()
	return p
}

// decode fills in what each instruction says by itself, and marks the leaders. Until judge makes it what it is, Count is the number
// of instructions in front.
func (p *Program) decode() {
	img, insns := p.Image, p.Insns
	p.leaders.reset(len(insns))
	p.MayGoto, p.Calls, p.Loops, p.Computed = false, false, false, false
	used, written, count := uint32(0), uint32(0), int32(0)
	for pc := range insns {
		s, in := img.Slot(pc), &insns[pc]
		if s.Kind() != vm.SlotPlain {
			in.special(s.Kind())
			if in.Dst, in.Src, in.Imm, in.Count, in.Slot = s.Dst(), s.Src(), s.Imm(), count, int32(pc); in.Kind != KindSecond {
				count++
			}
			used |= uint32(in.writes)
			if in.Kind == KindInterpret {
				p.leaders.add(pc + 1)
			}
			continue
		}
		row := &rows[s.Op()]
		*in = row.blank
		dst, src := s.Dst(), s.Src()
		in.Dst, in.Src, in.Base, in.Off, in.Imm = dst, src, dst&^row.baseSrc|src&row.baseSrc, int16(s.Off()), s.Imm()
		in.Count, in.Slot = count, int32(pc)
		count++
		d, r := uint32(1)<<(dst&15), uint32(1)<<(src&15)
		reads, writes := d&row.dstRead|r&row.srcRead, d&row.dstWrite|r&row.srcWrite|row.r0Write
		in.reads, in.writes = uint16(reads), uint16(writes)
		used |= d | r
		written |= writes
		if reads>>10 != 0 && !r10Fine(in) {
			in.Kind, in.Flags = KindInterpret, 0
		}
		if row.control || in.Kind == KindInterpret {
			p.control(pc, in, s)
		}
	}
	p.Used, p.count = uint16(used|written), count // some write r0, which they do not name
	if written>>10 != 0 {
		p.leave()
	}
}

// special makes an instruction of a slot that is not SlotPlain.
func (in *Insn) special(kind vm.SlotKind) {
	*in = rows[decode.OpInvalid].blank
	switch kind {
	case vm.SlotSecond:
		in.Kind = KindSecond
	case vm.SlotCall:
		in.Kind, in.Flags, in.writes = KindCallFunc, FlagEntry, 0x3f
	}
}

// control is for an instruction that ends a block.
func (p *Program) control(pc int, in *Insn, s vm.Slot) {
	p.leaders.add(pc + 1)
	switch in.Kind {
	case KindJump, KindBranch, KindMayGoto, KindCall:
		target := pc + 1 + int(s.Skip())
		in.Off, in.Target = 0, int32(target)
		p.leaders.add(target)
		switch {
		case in.Kind == KindCall:
			p.Calls = true
		case target <= pc:
			in.Flags |= FlagBack
		}
		p.MayGoto = p.MayGoto || in.Kind == KindMayGoto
	case KindInterpret:
		p.Computed = p.Computed || in.Op == decode.OpGotoX
		if rows[in.Op].blank.Kind == KindBranch {
			p.leaders.add(pc + 1 + int(s.Skip()))
		}
	}
}

// leave makes the whole program the interpreter's, since it writes r10: no compiler makes such a program and no kernel takes it.
func (p *Program) leave() {
	p.leaders.reset(len(p.Insns))
	for pc := range p.Insns {
		if in := &p.Insns[pc]; in.Kind != KindSecond {
			in.Kind, in.Flags = KindInterpret, 0
			p.leaders.add(pc + 1)
		}
	}
	p.Calls = false
}

// r10Fine reports whether an instruction may read r10: copies of it and accesses through it may, what computes with it is left to the
// interpreter.
func r10Fine(in *Insn) bool {
	switch in.Kind {
	case KindLoad:
		return true
	case KindStore, KindAtomic:
		return in.Src != 10 || rows[in.Op].srcRead == 0
	case KindOp:
		return in.Op == decode.OpMov64Reg && in.Dst != 10
	}
	return false
}

// row is what the analysis knows of an op.
type row struct {
	blank              Insn   // without operands
	dstRead, srcRead   uint32 // all bits set if the register in dst or src is read
	dstWrite, srcWrite uint32
	r0Write            uint32 // 1 if r0 is written besides
	baseSrc            uint8  // all bits set if the base of accesses is in src
	width              uint8
	shift              int8  // 1 for a shift left by a constant, -1 for a logical one right
	class              class // of KindOp
	control            bool  // ends a block
}

// class tells apart the operations that judge looks at.
type class uint8

const (
	classOther class = iota
	classMov64
	classMov32
	classAdd
	classSub
	classJoin // or, xor, add of registers
	classCast
	classLsh // by a constant, of 64 bits
)

var rows [decode.NumOps]row

func init() {
	for i := range rows {
		op := decode.Op(i)
		info := op.Info()
		mask := func(set, r decode.Reg) uint32 {
			if set&r != 0 {
				return ^uint32(0)
			}
			return 0
		}
		r := &rows[i]
		*r = row{
			blank:   Insn{Kind: kindOf(op, info), Op: op, Size: info.Size, Mark: -1, Cell: -1},
			dstRead: mask(info.Reads, decode.RegDst), srcRead: mask(info.Reads, decode.RegSrc),
			dstWrite: mask(info.Writes, decode.RegDst), srcWrite: mask(info.Writes, decode.RegSrc),
			r0Write: mask(info.Writes, decode.RegR0) & 1, width: info.Width,
		}
		switch r.blank.Kind {
		case KindLoad:
			r.baseSrc = 0xff
		case KindJump, KindBranch, KindMayGoto, KindCall, KindExit, KindInterpret:
			r.control = true
		}
		if r.blank.Kind != KindInterpret {
			r.blank.Flags = FlagEntry
		}
		switch op {
		case decode.OpLsh64Imm, decode.OpLsh32Imm:
			r.shift = 1
			if op == decode.OpLsh64Imm {
				r.class = classLsh
			}
		case decode.OpRsh64Imm, decode.OpRsh32Imm:
			r.shift = -1
		case decode.OpMov64Reg:
			r.class = classMov64
		case decode.OpMov32Reg:
			r.class = classMov32
		case decode.OpAdd64Imm:
			r.class = classAdd
		case decode.OpSub64Imm:
			r.class = classSub
		case decode.OpOr64Reg, decode.OpOr32Reg, decode.OpXor64Reg, decode.OpXor32Reg, decode.OpAdd64Reg, decode.OpAdd32Reg:
			r.class = classJoin
		case decode.OpAddrSpaceCast:
			r.class = classCast
		}
	}
}

func kindOf(op decode.Op, info *decode.Info) Kind {
	switch op {
	case decode.OpInvalid, decode.OpGotoX, decode.OpCallX:
		return KindInterpret
	case decode.OpLdImm64:
		return KindImm64
	case decode.OpJa, decode.OpJa32:
		return KindJump
	case decode.OpMayGoto:
		return KindMayGoto
	case decode.OpCallLocal:
		return KindCall
	case decode.OpExit:
		return KindExit
	}
	switch info.Form {
	case decode.FormALUImm, decode.FormALUReg, decode.FormNeg, decode.FormMovSX, decode.FormEnd, decode.FormAddrCast:
		return KindOp
	case decode.FormLoad, decode.FormLoadAcq:
		return KindLoad
	case decode.FormStoreImm, decode.FormStoreReg, decode.FormStoreRel:
		return KindStore
	case decode.FormAtomic, decode.FormFetch, decode.FormXchg, decode.FormCmpXchg:
		return KindAtomic
	case decode.FormJumpImm, decode.FormJumpReg:
		return KindBranch
	}
	return KindInterpret
}
