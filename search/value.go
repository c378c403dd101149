package search

import (
	"math"

	"github.com/bpfrun/bpfrun/decode"
)

// source is where a value came from: what an [Override] can change.
type source struct {
	kind Kind
	// addr and size are bytes of memory that the program read and did not write.
	addr uint64
	size int
	// mapAddr, nth and key are the nth lookup in a map (from 0), which found nothing.
	mapAddr uint64
	nth     int
	key     string
	// helper is the helper that returned it.
	helper string
}

// step is an operation on the way from a source to a value, with one operand that is constant in the run.
type step struct {
	op decode.Op
	c  uint64
	// right means that the value is the right operand.
	right bool
}

// value is what the program computed from one source.
type value struct {
	from  *source
	was   uint64 // of the source
	steps []step
}

// maxSteps limits how long a computation is followed.
const maxSteps = 24

// then adds an operation.
func (v *value) then(s step) *value {
	if v == nil || len(v.steps) >= maxSteps {
		return nil
	}
	return &value{v.from, v.was, append(v.steps[:len(v.steps):len(v.steps)], s)}
}

// at computes the value for another value of its source.
func (v *value) at(x uint64) (uint64, bool) {
	ok := true
	for _, s := range v.steps {
		if s.right {
			x, ok = s.op.Compute(s.c, x)
		} else {
			x, ok = s.op.Compute(x, s.c)
		}
		if !ok {
			return 0, false
		}
	}
	return x, true
}

// before returns operands with which a step may give a result; were is the operand in the run, whose bits stay where the result
// does not say. Callers check what comes out.
func (s step) before(result, were uint64) uint64 {
	switch s.op {
	case decode.OpAdd64Imm, decode.OpAdd64Reg, decode.OpAdd32Imm, decode.OpAdd32Reg:
		return result - s.c
	case decode.OpSub64Imm, decode.OpSub64Reg, decode.OpSub32Imm, decode.OpSub32Reg:
		if s.right {
			return s.c - result
		}
		return result + s.c
	case decode.OpXor64Imm, decode.OpXor64Reg, decode.OpXor32Imm, decode.OpXor32Reg:
		return result ^ s.c
	case decode.OpAnd64Imm, decode.OpAnd64Reg, decode.OpAnd32Imm, decode.OpAnd32Reg:
		return result&s.c | were&^s.c
	case decode.OpLsh64Imm, decode.OpLsh64Reg, decode.OpLsh32Imm, decode.OpLsh32Reg:
		n := s.c & 63
		return result>>n | were&^(math.MaxUint64>>n)
	case decode.OpRsh64Imm, decode.OpRsh64Reg, decode.OpRsh32Imm, decode.OpRsh32Reg, decode.OpArsh64Imm, decode.OpArsh64Reg, decode.OpArsh32Imm, decode.OpArsh32Reg:
		n := s.c & 63
		return result<<n | were&(1<<n-1)
	case decode.OpMul64Imm, decode.OpMul64Reg, decode.OpMul32Imm, decode.OpMul32Reg:
		if s.c != 0 {
			return result / s.c
		}
	case decode.OpDiv64Imm, decode.OpDiv64Reg, decode.OpDiv32Imm, decode.OpDiv32Reg:
		return result * s.c
	case decode.OpNeg64, decode.OpNeg32:
		return -result
	case decode.OpLE16, decode.OpLE32, decode.OpLE64, decode.OpBE16, decode.OpBE32, decode.OpBE64, decode.OpBswap16, decode.OpBswap32, decode.OpBswap64:
		x, _ := s.op.Compute(result, 0)
		return x
	}
	return result
}

// solve returns a value of the source with which the comparison op has the outcome want. other is the other operand; right means
// that v is the right one.
func (v *value) solve(op decode.Op, other uint64, right, want bool) (uint64, bool) {
	for _, target := range []uint64{other, other + 1, other - 1, 0, 1, math.MaxUint64, other | 1, ^other, 1 << 31, math.MaxUint32} {
		x, ok := v.reach(target)
		if !ok || x == v.was {
			continue
		}
		got, ok := v.at(x)
		if !ok {
			continue
		}
		left, r := got, other
		if right {
			left, r = other, got
		}
		if taken, ok := op.Holds(left, r); ok && taken == want {
			return x, true
		}
	}
	return 0, false
}

// reach inverts the steps from a target. The result fits the source; whether it leads to the target is for the caller to check.
func (v *value) reach(target uint64) (uint64, bool) {
	were := make([]uint64, len(v.steps))
	x, ok := v.was, true
	for i, s := range v.steps {
		were[i] = x
		if s.right {
			x, ok = s.op.Compute(s.c, x)
		} else {
			x, ok = s.op.Compute(x, s.c)
		}
		if !ok {
			return 0, false
		}
	}
	for i := len(v.steps) - 1; i >= 0; i-- {
		target = v.steps[i].before(target, were[i])
	}
	if v.from.kind == Memory && v.from.size < 8 {
		target &= 1<<(8*v.from.size) - 1
	}
	return target, true
}
