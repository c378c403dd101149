package configs

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

// compare is a branch that compares a constant, or some of its bits, with a number.
type compare struct {
	constant int
	op       decode.Op
	imm      uint64
	view     view
}

// view is what a register has of a constant: the bits of mask, shifted right.
type view struct {
	mask  uint64
	shift uint8
}

// maxScan limits how far the value of a load is followed.
const maxScan = 4096

// scan follows the value of a load to comparisons. It needs not be exact: a place where values are
// split that does not matter costs a pass.
func (e *explorer) scan(load, constant int) {
	in := e.p.Insns[load]
	type step struct {
		pc   int
		regs [11]view       // mask 0: not the value
		slot map[int16]view // spilled
	}
	size := e.constants[constant].Size
	var first step
	first.regs[min(in.Dst, 10)] = view{mask: ^uint64(0) >> (64 - 8*size)}
	first.slot = map[int16]view{}
	seen := map[int]bool{}
	var next []int
	queue := func(todo []step, s step) []step {
		for _, to := range decode.Successors(next[:0], e.p.Insns, s.pc) {
			if to < 0 || to >= len(e.p.Insns) || seen[to] {
				continue
			}
			seen[to] = true
			n := s
			n.pc = to
			n.slot = map[int16]view{}
			for k, v := range s.slot {
				n.slot[k] = v
			}
			todo = append(todo, n)
		}
		return todo
	}
	first.pc = load
	for todo := queue(nil, first); len(todo) > 0 && len(seen) < maxScan; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		in := &e.p.Insns[s.pc]
		info := in.Info()
		dst, src := min(in.Dst, 10), min(in.Src, 10)
		switch info.Form {
		case decode.FormJumpImm:
			if s.regs[dst].mask != 0 {
				e.add(s.pc, compare{constant: constant, op: in.Op(), imm: uint64(int64(in.Imm)), view: s.regs[dst]})
			}
		case decode.FormCall, decode.FormCallKfunc:
			for r := range 6 {
				s.regs[r] = view{}
			}
		case decode.FormStoreReg:
			if in.Op() == decode.OpStxDW && dst == 10 {
				s.slot[in.Off] = s.regs[src]
			}
		case decode.FormLoad:
			s.regs[dst] = view{}
			if in.Op() == decode.OpLdxDW && src == 10 {
				s.regs[dst] = s.slot[in.Off]
			}
		case decode.FormALUImm, decode.FormALUReg:
			s.regs[dst] = s.regs[dst].after(in, s.regs[src])
		case decode.FormNeg, decode.FormMovSX, decode.FormEnd, decode.FormAddrCast, decode.FormLoadAcq, decode.FormImm64:
			s.regs[dst] = view{}
		}
		todo = queue(todo, s)
	}
}

// after is the view of the destination after an operation.
func (v view) after(in *decode.Insn, src view) view {
	imm := uint64(int64(in.Imm))
	switch in.Op() {
	case decode.OpMov64Reg, decode.OpMov32Reg:
		return src
	case decode.OpAnd64Imm, decode.OpAnd32Imm:
		return view{v.mask & (imm << v.shift), v.shift}
	case decode.OpLsh64Imm: // by 32 there and back
		if imm == 32 && v.mask <= 1<<32-1 && v.shift == 0 {
			return v
		}
	case decode.OpRsh64Imm, decode.OpRsh32Imm:
		if imm == 32 && v.mask <= 1<<32-1 && v.shift == 0 {
			return v
		}
		if shift := uint64(v.shift) + imm; imm < 64 && shift < 64 {
			return view{v.mask &^ (1<<shift - 1), uint8(shift)}
		}
	}
	return view{}
}

func (e *explorer) add(at int, c compare) {
	for _, x := range e.compares[at] {
		if x == c {
			return
		}
	}
	e.compares[at] = append(e.compares[at], c)
}

// split returns the values that give the comparison one result each, or the values as they are.
func (c *compare) split(v Values) []Values {
	if v.single() {
		return nil
	}
	size := bits.Len64(v.Hi)
	whole := c.view.shift == 0 && c.view.mask&(1<<size-1) == 1<<size-1
	if c.op == decode.OpJset64Imm || c.op == decode.OpJset32Imm {
		return splitBits(v, c.view.mask&(c.imm<<c.view.shift))
	}
	if !whole && c.view.shift == 0 {
		if c.imm&^c.view.mask != 0 && c.view.mask>>32 == 0 {
			return nil // always the same
		}
		return splitBits(v, c.view.mask)
	}
	at := c.imm
	if c.view.mask>>32 == 0 || c.op.Info().Width == 32 {
		at = uint64(uint32(at))
	}
	at <<= c.view.shift
	end := at | (1<<c.view.shift - 1)
	return v.cut(at, end)
}

// cut separates the values from lo to hi from those below and above.
func (v Values) cut(lo, hi uint64) []Values {
	var out []Values
	if lo > v.Lo && lo <= v.Hi {
		out = append(out, Values{v.Lo, lo - 1, v.Bits})
		v.Lo = lo
	}
	if hi >= v.Lo && hi < v.Hi {
		out = append(out, Values{v.Lo, hi, v.Bits}, Values{hi + 1, v.Hi, v.Bits})
	} else {
		out = append(out, v)
	}
	return out
}

// maxBits is how many bits of a mask are split one by one.
const maxBits = 8

// splitBits separates the values by the lowest bit of a mask that they have both ways.
func splitBits(v Values, mask uint64) []Values {
	open := mask & v.Bits.Mask & (1<<bits.Len64(v.Hi) - 1)
	if open == 0 || bits.OnesCount64(mask) > maxBits {
		return nil
	}
	bit := open & -open
	zero := num.Tnum{Value: v.Bits.Value, Mask: v.Bits.Mask &^ bit}
	one := num.Tnum{Value: v.Bits.Value | bit, Mask: v.Bits.Mask &^ bit}
	return []Values{{v.Lo, v.Hi, zero}, {v.Lo, v.Hi, one}}
}

// allCompares returns the comparisons that were found, by instruction.
func (e *explorer) allCompares() []compare {
	var out []compare
	for _, at := range slices.Sorted(maps.Keys(e.compares)) {
		out = append(out, e.compares[at]...)
	}
	return out
}
