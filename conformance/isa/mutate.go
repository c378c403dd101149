package isa

import (
	"errors"

	"github.com/bpfrun/bpfrun/conformance/isa/generate"
	"github.com/bpfrun/bpfrun/decode"
)

// anyDepth returns err, an error of decode.Check, unless it is about the depth of calls. That check
// comes last, and calls that are too deep fault at run time.
func anyDepth(err error) error {
	if errors.Is(err, decode.ErrCallDepth) {
		return nil
	}
	return err
}

// fuzzable reports whether the program can run on all runners: it passes the structural checks, and
// has no indirect jumps or calls through registers, which the reference evaluator does not
// implement.
func fuzzable(insns []decode.Insn) bool {
	err := decode.Check(insns, decode.CheckConfig{
		Lenient: true, Helper: func(id int32) bool { return id == helperLookup || id == helperLoop },
		Kfunc: func(decode.Insn) bool { return false },
	})
	if anyDepth(err) != nil {
		return false
	}
	for pc := 0; pc < len(insns); pc += insns[pc].Len() {
		switch insns[pc].Op() {
		case decode.OpGotoX, decode.OpCallX:
			return false
		}
	}
	return true
}

// mutate changes a few instructions of a case, chosen by its index. In every second case of kind
// Walk it instead adds some bytes to the address of the map value, so that accesses reach just
// beyond its end.
func mutate(c *generate.Case) {
	if c.Cat == generate.Walk && c.Index%2 == 0 {
		c.Insns[1].Imm = int32(c.Index / 2 % 48)
		return
	}
	x := c.Index*0x9e3779b97f4a7c15 + 1
	next := func(n int) int {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		return int(x % uint64(n))
	}
	for range 1 + next(4) {
		in := &c.Insns[next(len(c.Insns))]
		switch next(6) {
		case 0:
			in.Dst = uint8(next(10))
		case 1:
			in.Src = uint8(next(11))
		case 2:
			in.Off = int16(next(600) - 300)
		case 3:
			in.Imm = int32(x)
		case 4:
			in.Imm ^= 1 << next(32)
		case 5:
			other := c.Insns[next(len(c.Insns))]
			if !other.IsLdImm64() && !in.IsLdImm64() {
				*in = other
			}
		}
	}
}
