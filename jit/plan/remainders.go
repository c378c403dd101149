package plan

import "github.com/bpfrun/bpfrun/decode"

// findRemainders marks divisions that compute a remainder, as compilers write it if the instruction
// set has no modulo or they do not use it: q = n; q /= d; q *= d; then n -= q, or r = n; r -= q.
func (p *Program) findRemainders() {
	for i := range p.blocks {
		b := &p.blocks[i]
		for pc := b.start + 1; pc < b.end-2; pc++ {
			if op := p.Insns[pc].Op; op == decode.OpDiv64Reg || op == decode.OpDiv32Reg {
				p.remainder(b, pc)
			}
		}
	}
}

// remainder marks the division at pc if it computes a remainder.
func (p *Program) remainder(b *block, pc int32) {
	mov, mul, sub := decode.OpMov64Reg, decode.OpMul64Reg, decode.OpSub64Reg
	if p.Insns[pc].Op == decode.OpDiv32Reg {
		mov, mul, sub = decode.OpMov32Reg, decode.OpMul32Reg, decode.OpSub32Reg
	}
	is := func(pc int32, op decode.Op, dst, src uint8) bool {
		in := &p.Insns[pc]
		return pc < b.end && in.Kind == KindOp && in.Op == op && in.Dst == dst && in.Src == src && in.Flags&(FlagDead|FlagPair) == 0
	}
	in := &p.Insns[pc]
	q, d, n := in.Dst, in.Src, p.Insns[pc-1].Src
	if in.Kind != KindOp || !is(pc-1, mov, q, n) || !is(pc+1, mul, q, d) || q == n || q == d || n == d || n == 10 || in.Flags&FlagDead != 0 {
		return
	}
	switch next := &p.Insns[pc+2]; {
	case is(pc+2, sub, n, q):
		in.Size = 2
	case is(pc+2, mov, next.Dst, n) && next.Dst != q && next.Dst != d && next.Dst != n && is(pc+3, sub, next.Dst, q):
		in.Size = 3
	default:
		return
	}
	in.Flags |= FlagRemainder
	for i := pc; i <= pc+int32(in.Size); i++ {
		p.Insns[i].Flags &^= FlagEntry
	}
}
