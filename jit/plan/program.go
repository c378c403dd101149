package plan

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// Kind classifies instructions by what a backend generates for them.
type Kind uint8

const (
	// KindInterpret: generated code always leaves the instruction to the interpreter.
	KindInterpret Kind = iota
	// KindSecond is the second slot of a KindImm64 and generates nothing.
	KindSecond
	// KindOp is an operation on registers: Op, Dst, Src, Imm.
	KindOp
	// KindImm64 sets Dst to Imm.
	KindImm64
	// KindLoad, KindStore and KindAtomic access memory; see Insn.Check.
	KindLoad
	KindStore
	KindAtomic
	// KindJump always jumps to Target, KindBranch only if the condition holds.
	KindJump
	KindBranch
	// KindMayGoto jumps to Target if State.May is 0, and decrements it otherwise.
	KindMayGoto
	// KindCall is a bpf-to-bpf call of Target.
	KindCall
	// KindCallFunc calls a helper or kfunc: generated code exits with CallFunc.
	KindCallFunc
	// KindCallInline calls a function that generated code executes itself; see Program.Inline.
	KindCallInline
	// KindTailCall is a tail call that generated code makes itself if it can; see Program.Inline.
	KindTailCall
	// KindExit returns.
	KindExit
	// KindGuard falls through if the bytes [Lo, Hi) relative to the value of Base are accessible,
	// checked as by CheckRange. If they are not, or if the check is expensive, it jumps to Target.
	// It is not an instruction of the program.
	KindGuard
)

// Check selects how an access is checked.
type Check uint8

const (
	// CheckNone: the access is in the running function's stack, at Frame.Host + Off.
	CheckNone Check = iota
	// CheckRange: the bytes [Lo, Hi) relative to the value of the base register are checked before
	// the access, for writing if Insn.RangeStore.
	CheckRange
	// CheckDone: an earlier CheckRange covers the access, and no instruction in between invalidates
	// it.
	CheckDone
)

// Flag is a set of properties of an instruction.
type Flag uint16

const (
	// FlagLeader marks the first instruction of a block, a possible jump target.
	FlagLeader Flag = 1 << iota
	// FlagEntry marks instructions at which generated code may be entered: those that depend only
	// on the registers.
	FlagEntry
	// FlagRangeStore: the range of a CheckRange is also written.
	FlagRangeStore
	// FlagPair: this instruction and the next one, an operation on the same register, may be
	// generated as one. Code is never entered between them.
	FlagPair
	// FlagBack marks a jump or branch that checks State.Room.
	FlagBack
	// FlagDead marks an instruction without an observable effect. No code is generated for it.
	FlagDead
	// FlagRotate marks a shift by a constant that is generated as a rotation in the same direction.
	FlagRotate
	// FlagWord marks a load that may read word number Target of Program.Words. If its base equals
	// State.Context and State.Words has an address for that number, generated code loads the 64
	// bits at that address unchecked. Otherwise it is an ordinary load.
	FlagWord
	// FlagSelect marks a branch that skips the single operation after it: the branch target is the
	// slot after that operation, or, if Size is 2, the target of the jump after the operation.
	// Without Target.Marks, the operation may be generated as a conditional move between its result
	// and the old value of its register. Code is never entered at the operation.
	FlagSelect
	// FlagRemainder marks a division that may be generated together with the Size operations that
	// follow it. Code is never entered at those. Dst holds the same value as Src of the previous
	// instruction. The last operation leaves the remainder in its Dst, and Dst of the division ends
	// up with the subtracted product.
	FlagRemainder
	// FlagBound marks an addition in the copy of a loop, after which register Base is compared with
	// Bound of the Cell. If it is not below (unsigned), code continues at the next slot. On a
	// KindGuard, the flag requests that Bound be computed.
	FlagBound
	// FlagWayTaken and FlagWayFell mark a branch whose taken or fall-through edge is recorded, with
	// Target.Ways, because no block's mark implies it.
	FlagWayTaken
	FlagWayFell
	// flagTrust marks a 32-bit operation whose result is assumed not to wrap; see Optimise.
	flagTrust
	// flagNeeded marks the instructions that CopyLoops tracks in a loop.
	flagNeeded
	// FlagTurns marks a KindCallFunc of a helper that calls the function at Target, see
	// Program.Inline. Code makes those calls itself if the function is at that target, until it
	// returns something else than 0.
	FlagTurns
)

// FlagSwap is FlagRotate of a load: the bytes of the number that it reads are in the opposite order.
const FlagSwap = FlagRotate

// SavesHost in Insn.Saves: the function uses its Frame.Host, so the caller's has to be restored
// after it.
const SavesHost = 1 << 4

// Align in Insn.Guard: a loop starts here that is worth aligning.
const Align = -1

// NoBase is the Base of a guard whose base is the value at Frame.Host + Off.
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
	// Saves are the registers that a KindCall or a call with FlagTurns saves and a KindExit
	// restores: bit r-6 for r6 to r9, and SavesHost.
	Saves  uint8
	Off    int32 // offset of the access from Base, or of CheckNone from Frame.Host
	Cell   int16 // number of the CheckRange's Cell, -1 for none
	Lo, Hi int32 // of CheckRange
	Mark   int32 // number of the block that ends with this instruction, -1 if none does
	Target int32 // index in Insns of the jump target or callee
	Slot   int32 // slot of the program
	// Guard, if not 0, is the index in Insns where the previous instruction falls through to
	// instead of here, or Align.
	Guard int32

	// Count is the number of executed instructions not yet charged to State.Room before this
	// instruction. Taken and Next are what to charge when its jump is taken and when it falls
	// through. Next is 0 inside blocks.
	Count, Taken, Next int32

	reads, writes uint16 // registers

	Imm uint64
}

// Has reports whether the instruction has a flag.
func (in *Insn) Has(f Flag) bool { return in.Flags&f != 0 }

// Program is the input of a backend. Insns holds the slots of the program, followed by copies of
// loops, in which Slot identifies the original slot. Code is never entered at copies; only jumps
// lead there.
//
// Executed instructions are charged to State.Room, but not one by one. Every block starts with a
// fixed number of instructions executed but not yet charged: Count of its first instruction. A jump
// charges only the difference to the Count of its target block: Taken or Next, often 0. If code is
// entered at slot a with Room = r + Insns[a].Count and left at slot b with Room = q, then it
// executed r - (q - Insns[b].Count) instructions. Room is checked, after charging, at jumps with
// FlagBack, at calls and at exits. If it is negative, code exits with OutOfRoom at the target of
// the jump (which stays charged), or at the call or exit (whose charge is undone). OutOfRoom at the
// target of the jump (which is charged), or at the call or exit (whose charge is taken back).
type Program struct {
	Image *vm.Image
	Insns []Insn
	// Used has bit r set for each register r that occurs.
	Used uint16
	// Cells is the number of cells in use.
	Cells int
	// MayGoto: the program contains may_goto, so calls have to save State.May.
	MayGoto bool
	// Calls: the program contains bpf-to-bpf calls, or calls with FlagTurns.
	Calls bool

	// Inlines are the calls that generated code executes itself, in program order. Ledger accounts
	// for them and is nil if there are none. If CPUs is not 0, they are executed inline only on
	// CPUs below CPUs.
	Inlines []Inline
	Ledger  vm.Ledger
	CPUs    int
	// Timed: one of Inlines reads the time, so all of them have to advance it.
	Timed bool
	// Locks: one of Inlines takes or releases spin locks.
	Locks bool
	// Stocks are the records that Inlines reserve.
	Stocks []Stock

	// Computed: the program contains indirect jumps, which may lead into the middle of a block.
	Computed bool

	// Loops: the program may contain loops that Optimise improves.
	Loops bool

	// Words are the context words that loads with FlagWord may read, as offsets in units of four
	// bytes.
	Words []int32

	leaders slotSet
	ors     []int32 // slots of bitwise ors of registers
	blocks  []block
	count   int32 // number of instructions
	scan    scan
	loop    looper
	len     int
}

// Len returns the number of slots of the program.
func (p *Program) Len() int { return p.len }

// Blocks returns the number of blocks.
func (p *Program) Blocks() int { return len(p.blocks) }

// Block returns the slots [start, end) of block i.
func (p *Program) Block(i int) (start, end int) {
	return int(p.blocks[i].start), int(p.blocks[i].end)
}

// Slack returns by how many instructions execution may exceed State.Room, at most: code may execute
// that many after it last checked Room.
func (p *Program) Slack() int64 { return 2*int64(p.len) + 2 }

// MaxLen is the longest program, in slots, that is compiled.
const MaxLen = 1 << 20

// New analyses a program in time linear in its length. It returns nil for programs longer than
// MaxLen. words are those of vm.Thread.SetContext; they may be loaded without a call of the
// context. An old Program may be given for reuse of its memory.
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
	p.fills()
	return p
}

// decode fills in what follows from each instruction alone, and marks the leaders. Until judge
// computes the final value, Count is the number of preceding instructions.
func (p *Program) decode() {
	img, insns := p.Image, p.Insns
	p.leaders.reset(len(insns))
	p.ors = p.ors[:0]
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
		in.Dst, in.Src, in.Base, in.Off, in.Imm = dst, src, dst&^row.baseSrc|src&row.baseSrc, int32(s.Off()), s.Imm()
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
		if row.class == classOr {
			p.ors = append(p.ors, int32(pc))
		}
	}
	p.Used, p.count = uint16(used|written), count // some instructions write r0 implicitly
	if written>>10 != 0 {
		p.leave()
	}
}

// special decodes an instruction whose slot is not SlotPlain.
func (in *Insn) special(kind vm.SlotKind) {
	*in = rows[decode.OpInvalid].blank
	switch kind {
	case vm.SlotSecond:
		in.Kind = KindSecond
	case vm.SlotCall:
		in.Kind, in.Flags, in.writes = KindCallFunc, FlagEntry, 0x3f
	}
}

// control decodes an instruction that ends a block.
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

// leave leaves the whole program to the interpreter because it writes r10, which no compiler
// generates and the kernel refuses.
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

// r10Fine reports whether an instruction may read r10. Copies of it and accesses through it may;
// arithmetic on it is left to the interpreter.
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

// row is the analysis's description of an op.
type row struct {
	blank              Insn   // without operands
	dstRead, srcRead   uint32 // all bits set if the register in dst or src is read
	dstWrite, srcWrite uint32
	r0Write            uint32 // 1 if r0 is written as well
	baseSrc            uint8  // all bits set if the base of accesses is in src
	width              uint8
	shift              int8  // 1 for a left shift by a constant, -1 for a logical right shift
	class              class // of KindOp
	control            bool  // ends a block
}

// class groups the operations that judge distinguishes.
type class uint8

const (
	classOther class = iota
	classMov64
	classMov32
	classAdd
	classSub
	classJoin // xor, add of registers
	classOr   // of registers
	classCast
	classLsh // by a constant
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
			r.shift, r.class = 1, classLsh
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
		case decode.OpOr64Reg, decode.OpOr32Reg:
			r.class = classOr
		case decode.OpXor64Reg, decode.OpXor32Reg, decode.OpAdd64Reg, decode.OpAdd32Reg:
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
