package plan

import "github.com/bpfrun/bpfrun/decode"

// selects are operations that a branch may skip and that cost less than a mispredicted branch.
var selects = func() (t [decode.NumOps]bool) {
	for _, op := range []decode.Op{
		decode.OpMov64Imm, decode.OpMov64Reg, decode.OpMov32Imm, decode.OpMov32Reg,
		decode.OpAdd64Imm, decode.OpAdd64Reg, decode.OpAdd32Imm, decode.OpAdd32Reg,
		decode.OpSub64Imm, decode.OpSub64Reg, decode.OpSub32Imm, decode.OpSub32Reg,
		decode.OpAnd64Imm, decode.OpAnd64Reg, decode.OpAnd32Imm, decode.OpAnd32Reg,
		decode.OpOr64Imm, decode.OpOr64Reg, decode.OpOr32Imm, decode.OpOr32Reg,
		decode.OpXor64Imm, decode.OpXor64Reg, decode.OpXor32Imm, decode.OpXor32Reg,
	} {
		t[op] = true
	}
	return t
}()

// Selects calls found with the slots of branches that could have FlagSelect: they skip one
// operation, after which code reaches the target of the branch.
func (p *Program) Selects(found func(slot int32)) {
	entered := make([]bool, len(p.blocks))
	for i := range p.blocks {
		switch b := &p.blocks[i]; b.kind {
		case KindJump, KindBranch, KindMayGoto, KindCall:
			entered[b.target] = true
		}
	}
	for _, s := range p.Image.Subprograms() {
		entered[p.leaders.index(int32(s))] = true
	}
	for i := range p.blocks[:len(p.blocks)-1] {
		b, f := &p.blocks[i], &p.blocks[i+1]
		if b.kind != KindBranch || entered[i+1] || f.length > 2 {
			continue
		}
		in, op := &p.Insns[b.last], &p.Insns[f.start]
		if comparisons[in.Op].is == noRelation || op.Kind != KindOp || !selects[op.Op] || op.Src == 10 || op.Flags&(FlagDead|FlagPair|FlagRotate) != 0 {
			continue
		}
		switch {
		case f.length == 1 && f.end == in.Target:
		case f.length == 2 && f.kind == KindJump && f.target == b.target && p.Insns[f.last].Has(FlagBack) == in.Has(FlagBack):
		default:
			continue
		}
		found(b.last)
	}
}

// markSelect gives a branch FlagSelect.
func (p *Program) markSelect(pc int32) {
	in, f := &p.Insns[pc], &p.blocks[p.leaders.index(pc)+1]
	in.Flags |= FlagSelect
	in.Size = uint8(f.length)
	for pc := f.start; pc < f.end; pc++ {
		p.Insns[pc].Flags &^= FlagEntry
	}
}

// ComparesImm reports whether a branch compares with Imm.
func (in *Insn) ComparesImm() bool { return comparisons[in.Op].imm }

// TakesReg reports whether an operation with two operands takes the second one from Src.
func (in *Insn) TakesReg() bool { return rows[in.Op].srcRead != 0 }
