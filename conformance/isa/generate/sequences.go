package generate

import (
	"sync"

	"github.com/bpfrun/bpfrun/decode"
)

// sequences lists sequences of instructions that compilers emit often and that fast interpreters
// therefore fuse.
var sequences = sync.OnceValue(allSequences)

func allSequences() [][]decode.Op {
	out := [][]decode.Op{
		{decode.OpMov64Reg, decode.OpAdd64Reg}, {decode.OpMov64Reg, decode.OpAdd64Imm}, {decode.OpMov64Reg, decode.OpMul64Reg},
		{decode.OpMov64Reg, decode.OpSub64Reg}, {decode.OpMov64Reg, decode.OpXor64Reg}, {decode.OpMov64Reg, decode.OpOr64Reg},
		{decode.OpMov64Reg, decode.OpAnd64Reg}, {decode.OpMov64Reg, decode.OpMov64Reg}, {decode.OpMov64Reg, decode.OpMov64Imm},
		{decode.OpMov64Reg, decode.OpMov32Imm}, {decode.OpMov64Imm, decode.OpMov64Reg}, {decode.OpMov64Imm, decode.OpMov64Imm},
		{decode.OpMov64Imm, decode.OpMov32Imm}, {decode.OpMov64Reg, decode.OpAnd64Imm}, {decode.OpMov64Reg, decode.OpLsh64Imm},
		{decode.OpMov64Reg, decode.OpRsh64Imm}, {decode.OpMov32Reg, decode.OpAnd32Imm}, {decode.OpMov32Reg, decode.OpLsh32Imm},
		{decode.OpMov32Reg, decode.OpRsh32Imm}, {decode.OpLsh64Imm, decode.OpRsh64Imm}, {decode.OpLsh64Imm, decode.OpArsh64Imm},
		{decode.OpMov64Reg, decode.OpLsh64Imm, decode.OpRsh64Imm}, {decode.OpMov64Reg, decode.OpLsh64Imm, decode.OpArsh64Imm},
		{decode.OpMul64Imm, decode.OpAdd64Imm}, {decode.OpMul64Reg, decode.OpXor64Reg}, {decode.OpXor64Reg, decode.OpMul64Reg},
		{decode.OpLsh64Imm, decode.OpOr64Reg}, {decode.OpLsh64Imm, decode.OpAdd64Reg}, {decode.OpRsh64Imm, decode.OpOr64Reg},
		{decode.OpRsh64Imm, decode.OpAnd64Imm}, {decode.OpRsh64Imm, decode.OpXor64Reg}, {decode.OpMul64Reg, decode.OpAdd64Reg},
		{decode.OpMul64Imm, decode.OpAdd64Reg}, {decode.OpAnd64Imm, decode.OpAdd64Reg}, {decode.OpMul32Reg, decode.OpAdd32Reg},
		{decode.OpXor32Reg, decode.OpMul32Imm}, {decode.OpLsh32Imm, decode.OpOr32Reg}, {decode.OpRsh32Imm, decode.OpAnd32Imm},
		{decode.OpLsh32Imm, decode.OpAdd32Reg}, {decode.OpRsh32Imm, decode.OpXor32Reg}, {decode.OpAnd32Imm, decode.OpAdd32Reg},
		{decode.OpAnd32Imm, decode.OpOr32Reg}, {decode.OpXor64Reg, decode.OpAdd64Reg}, {decode.OpAdd64Reg, decode.OpXor64Reg},
		{decode.OpAdd64Imm, decode.OpAdd64Reg}, {decode.OpAdd64Reg, decode.OpAdd64Reg}, {decode.OpAdd64Imm, decode.OpAdd64Imm},
		{decode.OpAdd64Imm, decode.OpMov64Reg}, {decode.OpLdxW, decode.OpAdd64Imm}, {decode.OpLdxDW, decode.OpAdd64Imm},
		{decode.OpLdxDW, decode.OpLdxDW}, {decode.OpLdxW, decode.OpLdxW}, {decode.OpStxDW, decode.OpStxDW}, {decode.OpStxW, decode.OpStxW},
		{decode.OpJeq64Imm, decode.OpLdxW}, {decode.OpJeq64Imm, decode.OpLdxDW}, {decode.OpJeq64Imm, decode.OpMov64Imm},
		{decode.OpMov32Reg, decode.OpJeq64Imm}, {decode.OpMov32Reg, decode.OpJgt64Imm},
		{decode.OpMov64Reg, decode.OpJeq64Imm}, {decode.OpMov64Reg, decode.OpJgt64Imm},
		{decode.OpAdd64Imm, decode.OpJeq32Imm}, {decode.OpAdd64Imm, decode.OpJne32Imm},
	}
	for _, load := range []decode.Op{decode.OpLdxB, decode.OpLdxH, decode.OpLdxW, decode.OpLdxDW} {
		for _, op := range []decode.Op{
			decode.OpAdd64Reg, decode.OpAdd32Reg, decode.OpOr64Reg, decode.OpOr32Reg, decode.OpXor64Reg, decode.OpXor32Reg, decode.OpAnd64Reg,
			decode.OpJeq64Imm, decode.OpJeq32Imm, decode.OpJne64Imm, decode.OpJne32Imm,
		} {
			out = append(out, []decode.Op{load, op})
		}
	}
	for _, op := range []decode.Op{
		decode.OpJeq64Imm, decode.OpJeq64Reg, decode.OpJne64Imm, decode.OpJne64Reg, decode.OpJgt64Imm, decode.OpJgt64Reg,
		decode.OpJlt64Imm, decode.OpJlt64Reg, decode.OpJge64Imm, decode.OpJle64Imm, decode.OpJsgt64Imm, decode.OpJslt64Imm,
	} {
		out = append(out, []decode.Op{decode.OpAdd64Imm, op})
	}
	for _, op := range []decode.Op{
		decode.OpJeq32Imm, decode.OpJeq32Reg, decode.OpJne32Imm, decode.OpJne32Reg, decode.OpJgt32Imm, decode.OpJgt32Reg, decode.OpJlt32Imm, decode.OpJlt32Reg,
	} {
		out = append(out, []decode.Op{decode.OpAdd32Imm, op})
	}
	return out
}

// sequenceForm generates a program that tests one sequence.
func (p *program) sequenceForm(seq []decode.Op) {
	p.usesScratch = true
	p.prologue()
	for i := range p.between(4, 6) {
		a := p.dst()
		b := p.dstNot(a)
		p.reload(a)
		p.reload(b)
		p.apart(a, b)
		// The sequence may write only these two registers, and both are stored.
		for r := range 9 {
			p.busy[r] = r != a && r != b
		}
		p.sequence(seq, a)
		p.busy = [11]bool{}
		p.emit(decode.OpStxDW, regValue, a, slot(2*i), 0)
		p.emit(decode.OpStxDW, regValue, b, slot(2*i+1), 0)
	}
	p.epilogue()
}

// sequenceName joins the names of the sequence's instructions.
func sequenceName(seq []decode.Op) string {
	s := ""
	for i, op := range seq {
		if i > 0 {
			s += "+"
		}
		s += op.String()
	}
	return s
}
