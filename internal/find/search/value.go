package search

import (
	"math"

	"github.com/bpfrun/bpfrun/decode"
)

// Source is where a value came from: an input that an [Override] can change.
type Source struct {
	Kind Kind
	// Addr and Size are bytes of memory that the program read and did not write; Place names them.
	Addr  uint64
	Size  int
	Place Place
	// packet is the offset in the packet as it was at the start, -1 for other memory.
	packet int
	// Map is the address of the map in which a lookup, the Nth from 0, did not find Key.
	Map uint64
	Nth int
	Key string
	// matches are changes with which the key is that of an element.
	matches [][]Wish
	// Helper is the helper that returned it.
	Helper string
}

// Step is an operation on the way from a source to a value, with one operand that is constant in
// the run.
type Step struct {
	Op       decode.Op
	Constant uint64
	// Right means that the value is the right operand.
	Right bool
}

// Value is what the program computed from one source.
type Value struct {
	From  *Source
	Was   uint64 // of the source
	Steps []Step
	// Beside are other values that operations on the way took in, as they were then: whoever
	// changes only the source leaves them constant.
	Beside []*Value
}

// mostBeside limits the values beside one.
const mostBeside = 4

// maxSteps limits how long a computation is followed.
const maxSteps = 24

// then adds an operation.
func (v *Value) then(s Step) *Value {
	if v == nil || len(v.Steps) >= maxSteps {
		return nil
	}
	return &Value{v.From, v.Was, append(v.Steps[:len(v.Steps):len(v.Steps)], s), v.Beside}
}

// beside returns the value with another one that an operation took in.
func (v *Value) beside(o *Value) *Value {
	if v == nil || o == nil {
		return v
	}
	out := *v
	out.Beside = append(append(out.Beside[:len(out.Beside):len(out.Beside)], o), o.Beside...)
	out.Beside = out.Beside[:min(len(out.Beside), mostBeside)]
	return &out
}

// At computes the value for another value of its source.
func (v *Value) At(x uint64) (uint64, bool) {
	ok := true
	for _, s := range v.Steps {
		if s.Right {
			x, ok = s.Op.Compute(s.Constant, x)
		} else {
			x, ok = s.Op.Compute(x, s.Constant)
		}
		if !ok {
			return 0, false
		}
	}
	return x, true
}

// before returns operands with which a step may give a result; were is the operand in the run,
// whose bits stay where the result does not say. Callers check what comes out.
func (s Step) before(result, were uint64) uint64 {
	switch s.Op {
	case decode.OpAdd64Imm, decode.OpAdd64Reg, decode.OpAdd32Imm, decode.OpAdd32Reg:
		return result - s.Constant
	case decode.OpSub64Imm, decode.OpSub64Reg, decode.OpSub32Imm, decode.OpSub32Reg:
		if s.Right {
			return s.Constant - result
		}
		return result + s.Constant
	case decode.OpXor64Imm, decode.OpXor64Reg, decode.OpXor32Imm, decode.OpXor32Reg:
		return result ^ s.Constant
	case decode.OpAnd64Imm, decode.OpAnd64Reg, decode.OpAnd32Imm, decode.OpAnd32Reg:
		return result&s.Constant | were&^s.Constant
	case decode.OpLsh64Imm, decode.OpLsh64Reg, decode.OpLsh32Imm, decode.OpLsh32Reg:
		n := s.Constant & 63
		return result>>n | were&^(math.MaxUint64>>n)
	case decode.OpRsh64Imm, decode.OpRsh64Reg, decode.OpRsh32Imm, decode.OpRsh32Reg, decode.OpArsh64Imm, decode.OpArsh64Reg, decode.OpArsh32Imm, decode.OpArsh32Reg:
		n := s.Constant & 63
		return result<<n | were&(1<<n-1)
	case decode.OpMul64Imm, decode.OpMul64Reg, decode.OpMul32Imm, decode.OpMul32Reg:
		if s.Constant != 0 {
			return result / s.Constant
		}
	case decode.OpDiv64Imm, decode.OpDiv64Reg, decode.OpDiv32Imm, decode.OpDiv32Reg:
		return result * s.Constant
	case decode.OpNeg64, decode.OpNeg32:
		return -result
	case decode.OpLE16, decode.OpLE32, decode.OpLE64, decode.OpBE16, decode.OpBE32, decode.OpBE64, decode.OpBswap16, decode.OpBswap32, decode.OpBswap64:
		x, _ := s.Op.Compute(result, 0)
		return x
	}
	return result
}

// Solve returns a value of the source with which the comparison op has the outcome want. other is
// the other operand; right means that v is the right one.
func (v *Value) Solve(op decode.Op, other uint64, right, want bool) (uint64, bool) {
	for _, target := range []uint64{other, other + 1, other - 1, 0, 1, math.MaxUint64, other | 1, ^other, 1 << 31, math.MaxUint32} {
		x, ok := v.reach(target)
		if !ok {
			continue
		}
		short := x & math.MaxUint32 // if the upper half does not matter
		if n := int64(x); n < 0 && n >= -4095 {
			short = x // an error
		}
		for _, x := range [...]uint64{short, x} {
			if x != v.Was && v.makes(x, op, other, right, want) {
				return x, true
			}
		}
	}
	return 0, false
}

// makes reports whether a comparison has an outcome for another value of the source.
func (v *Value) makes(x uint64, op decode.Op, other uint64, right, want bool) bool {
	left, ok := v.At(x)
	if !ok {
		return false
	}
	r := other
	if right {
		left, r = other, left
	}
	taken, ok := op.Holds(left, r)
	return ok && taken == want
}

// reach inverts the steps from a target. The result fits the source; whether it leads to the target
// is for the caller to check.
func (v *Value) reach(target uint64) (uint64, bool) {
	were := make([]uint64, len(v.Steps))
	x, ok := v.Was, true
	for i, s := range v.Steps {
		were[i] = x
		if s.Right {
			x, ok = s.Op.Compute(s.Constant, x)
		} else {
			x, ok = s.Op.Compute(x, s.Constant)
		}
		if !ok {
			return 0, false
		}
	}
	for i := len(v.Steps) - 1; i >= 0; i-- {
		target = v.Steps[i].before(target, were[i])
	}
	if v.From.Kind == Memory && v.From.Size < 8 {
		target &= 1<<(8*v.From.Size) - 1
	}
	return target, true
}
