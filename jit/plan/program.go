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
)

// Check says how an access is checked.
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
)

// Insn is one slot of a [Program].
type Insn struct {
	Kind     Kind
	Op       decode.Op
	Dst, Src uint8
	Flags    Flag
	Check    Check
	Size     uint8 // bytes accessed
	Base     uint8 // register with the address of the access
	Off      int16 // offset of the access from Base
	StackOff int16 // of CheckNone
	Cell     int16 // number of the CheckRange's Cell, -1 for none
	Lo, Hi   int32 // of CheckRange
	Mark     int32 // number of the block whose last instruction this is, -1 for others
	Target   int32 // slot jumped to or called

	// Saves are the registers that a KindCall has to save and a KindExit to restore: bit r-6 for r6 to r9.
	Saves uint8

	// Count is what State.Room has been charged too little before this instruction. Taken and Next are what it has to be
	// charged when the instruction is left by its jump and to the next slot; Next is 0 inside of blocks.
	Count, Taken, Next int32

	Imm uint64
}

// Has reports whether the instruction has a flag.
func (in *Insn) Has(f Flag) bool { return in.Flags&f != 0 }

// Program is what a backend generates code for.
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
	// MayGoto says that may_goto occurs, so that calls have to save State.May.
	MayGoto bool

	// Inlines are the calls that generated code makes itself, in order. Ledger accounts for them, nil without any; they can only be
	// made on CPUs from 0 up to CPUs, unless that is 0.
	Inlines []Inline
	Ledger  vm.Ledger
	CPUs    int

	blocks []block
	scan   scan
	fold   folder
}

// Len is the number of slots.
func (p *Program) Len() int { return len(p.Insns) }

// Blocks is the number of blocks.
func (p *Program) Blocks() int { return len(p.blocks) }

// Block returns the slots from start up to end of block i.
func (p *Program) Block(i int) (start, end int) {
	return int(p.blocks[i].start), int(p.blocks[i].end)
}

// Slack is how much more than State.Room the caller has to allow for: code may execute that many instructions after it
// last looked at Room.
func (p *Program) Slack() int64 { return 2*int64(len(p.Insns)) + 2 }

// MaxLen is the longest program that is worth native code.
const MaxLen = 1 << 20

// New analyses a program, in time linear in its length. It returns nil for programs it does not take: those longer than MaxLen.
// A Program made before may be given to have its memory used again.
func New(img *vm.Image, old *Program) *Program {
	n := img.Len()
	if n > MaxLen {
		return nil
	}
	p := old
	if p == nil {
		p = &Program{}
	}
	p.Image, p.Used, p.MayGoto = img, 0, false
	if cap(p.Insns) < n {
		p.Insns = make([]Insn, n)
	}
	p.Insns = p.Insns[:n]
	p.decode()
	p.inlines()
	p.findBlocks()
	p.charge()
	p.saves()
	p.judge()
	return p
}

// decode fills in what each instruction says by itself.
func (p *Program) decode() {
	img, insns := p.Image, p.Insns
	wild := false // r10 is written, so that it says nothing of the stack
	used, mayGoto := uint16(0), false
	for pc := range insns {
		s := img.Slot(pc)
		in := &insns[pc]
		*in = Insn{Op: s.Op, Dst: s.Dst, Src: s.Src, Imm: s.Imm, Mark: -1}
		switch s.Kind {
		case vm.SlotSecond:
			in.Kind = KindSecond
			continue
		case vm.SlotTrap:
			continue
		case vm.SlotCall:
			in.Kind = KindCallFunc
			used |= 0x3f
			continue
		}
		row := &rows[s.Op]
		in.Kind, in.Size = row.kind, row.size
		used |= 1<<(s.Dst&15) | 1<<(s.Src&15)
		if s.Dst == 10 || s.Src == 10 {
			wild = wild || row.writesDst && s.Dst == 10 || row.writesSrc && s.Src == 10
			if s.Dst == 10 && row.readsDst || s.Src == 10 && row.readsSrc {
				in.Kind = r10Kind(in)
			}
		}
		switch in.Kind {
		case KindLoad:
			in.Base = in.Src
		case KindStore, KindAtomic:
			in.Base = in.Dst
		case KindJump, KindBranch, KindCall, KindMayGoto:
			in.Target = s.Off
			mayGoto = mayGoto || in.Kind == KindMayGoto
			continue
		}
		in.Off = int16(s.Off)
	}
	p.Used, p.MayGoto = used, mayGoto
	if wild {
		// No compiler makes such a program and no kernel takes it.
		for pc := range insns {
			if insns[pc].Kind != KindSecond {
				insns[pc].Kind = KindInterpret
			}
		}
	}
}

// r10Kind leaves instructions that compute with r10 to the interpreter: all but copies of it and accesses through it.
func r10Kind(in *Insn) Kind {
	switch in.Kind {
	case KindLoad:
		return in.Kind
	case KindStore, KindAtomic:
		if in.Src != 10 || !rows[in.Op].readsSrc {
			return in.Kind
		}
	case KindOp:
		if in.Op == decode.OpMov64Reg && in.Dst != 10 {
			return in.Kind
		}
	}
	return KindInterpret
}

// row is what the analysis knows of an op.
type row struct {
	kind                 Kind
	size                 uint8
	writesDst, writesSrc bool
	writesR0             bool
	readsDst, readsSrc   bool
	width                uint8
	shift                int8 // 1 for a shift left by a constant, -1 for a logical one right
	joins                bool // or, xor, add of registers
}

var rows = func() (t [decode.NumOps]row) {
	for i := range t {
		op := decode.Op(i)
		info := op.Info()
		t[i] = row{
			kind: kindOf(op, info), size: info.Size, writesDst: info.Writes&decode.RegDst != 0,
			writesSrc: info.Writes&decode.RegSrc != 0, writesR0: info.Writes&decode.RegR0 != 0,
			readsDst: info.Reads&decode.RegDst != 0, readsSrc: info.Reads&decode.RegSrc != 0, width: info.Width,
		}
		switch op {
		case decode.OpLsh64Imm, decode.OpLsh32Imm:
			t[i].shift = 1
		case decode.OpRsh64Imm, decode.OpRsh32Imm:
			t[i].shift = -1
		case decode.OpOr64Reg, decode.OpOr32Reg, decode.OpXor64Reg, decode.OpXor32Reg, decode.OpAdd64Reg, decode.OpAdd32Reg:
			t[i].joins = true
		}
	}
	return t
}()

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
