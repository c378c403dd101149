package verdicts

import (
	"slices"

	"github.com/bpfrun/bpfrun/decode"
)

// Minimise shortens a generated program for as long as holds returns true, by removing instructions
// one by one and in groups. It calls holds a few hundred times.
func Minimise(l *Line, holds func(*Line) bool) (*Line, error) {
	insns, err := l.Generated.Insns()
	if err != nil {
		return nil, err
	}
	try := func(insns []decode.Insn) *Line {
		c := *l
		g := *l.Generated
		g.SetInsns(insns)
		c.Generated, c.Insns = &g, len(insns)
		if !holds(&c) {
			return nil
		}
		return &c
	}
	best := l
	for size := max(len(insns)/4, 1); ; {
		shorter := false
		for at := len(insns) - size; at >= 0; at -= size {
			next, ok := without(insns, at, min(at+size, len(insns)))
			if !ok || len(next) == 0 {
				continue
			}
			if c := try(next); c != nil {
				best, insns, shorter = c, next, true
				at = min(at, len(insns))
			}
		}
		switch {
		case size > 1:
			size /= 2
		case !shorter:
			return best, nil
		}
	}
}

// without removes the instructions from at to end. Jumps and calls across them are adjusted; those
// into them are redirected to the next instruction. It fails if that would split an LD_IMM64 or
// move a jump target out of the program.
func without(insns []decode.Insn, at, end int) ([]decode.Insn, bool) {
	for pc := 0; pc < len(insns); pc += max(insns[pc].Len(), 1) {
		if n := insns[pc].Len(); n > 1 && (pc+1 == at || pc+1 == end) {
			return nil, false
		}
	}
	moved := func(pc int) int {
		switch {
		case pc < at:
			return pc
		case pc < end:
			return at
		}
		return pc - (end - at)
	}
	out := slices.Clone(insns)
	for pc := 0; pc < len(insns); pc += max(insns[pc].Len(), 1) {
		in := &out[pc]
		local := in.Code == 0x85 && in.Src == decode.PseudoCall
		to, jumps := in.Target(pc)
		if local {
			to, jumps = pc+1+int(in.Imm), true
		}
		if !jumps || pc >= at && pc < end {
			continue
		}
		target := moved(to)
		if target >= len(insns)-(end-at) {
			return nil, false
		}
		off := target - moved(pc) - 1
		switch {
		case local, in.Code == 0x06, in.IsLdImm64(): // including gotol and function addresses
			in.Imm = int32(off)
		default:
			in.Off = int16(off)
		}
	}
	return slices.Delete(out, at, end), true
}
