package loader

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// copies reports whether the instruction calls a helper that copies from its third argument to its
// first.
func (lp *LinkedProgram) copies(pc int) bool {
	in := lp.Insns[pc]
	if in.Op() != decode.OpCallHelper {
		return false
	}
	h, ok := proto.Lookup(uapi.FuncID(in.Imm))
	return ok && h.Effects&proto.Copies != 0
}

// writes reports whether a call gets the address of the stack slot at an offset from r10, or of a
// buffer that covers it.
func (lp *LinkedProgram) writes(pc int, slot int64) bool {
	for reg := uint8(1); reg <= 5; reg++ {
		at, ok := lp.frameAddress(pc, reg)
		if !ok || at > slot {
			continue
		}
		size, known := lp.constantIn(pc, reg+1)
		if at == slot || known && slot < at+size {
			return true
		}
	}
	return false
}

// argumentInsns is how far before a call its arguments are looked for.
const argumentInsns = 64

// frameAddress returns the offset from r10 that a register holds before pc, if the instructions
// just before show it.
func (lp *LinkedProgram) frameAddress(pc int, reg uint8) (int64, bool) {
	off := int64(0)
	for at := pc - 1; at >= max(pc-argumentInsns, 0); at-- {
		in := lp.Insns[at]
		flags := in.Info().Flags
		if flags&(decode.FlagJump|decode.FlagExit) != 0 || flags&decode.FlagCall != 0 && reg <= 5 {
			return 0, false
		}
		if in.Dst != reg || flags&(decode.FlagStore|decode.FlagBranch|decode.FlagCall) != 0 {
			continue
		}
		switch in.Op() {
		case decode.OpAdd64Imm:
			off += int64(in.Imm)
		case decode.OpMov64Reg:
			if in.Src == 10 {
				return off, true
			}
			reg = in.Src
		default:
			return 0, false
		}
	}
	return 0, false
}

// constantIn returns the constant that a register holds before pc, if the instructions just before
// show it.
func (lp *LinkedProgram) constantIn(pc int, reg uint8) (int64, bool) {
	for at := pc - 1; at >= max(pc-argumentInsns, 0); at-- {
		in := lp.Insns[at]
		flags := in.Info().Flags
		if flags&(decode.FlagJump|decode.FlagExit|decode.FlagCall) != 0 {
			return 0, false
		}
		if in.Dst != reg || flags&(decode.FlagStore|decode.FlagBranch) != 0 {
			continue
		}
		op := in.Op()
		return int64(in.Imm), op == decode.OpMov64Imm || op == decode.OpMov32Imm
	}
	return 0, false
}
