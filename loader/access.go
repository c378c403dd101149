package loader

import (
	"slices"

	"github.com/bpfrun/bpfrun/decode"
)

// AccessRelocs returns the CO-RE relocations that may determine the offset of the load, store or helper call at pc:
// that of the instruction itself, or those in the computation of the address on some path to it. The address is the
// third argument of a probe read helper, and the second argument of other calls. The search ends at an address loaded
// from memory.
func (lp *LinkedProgram) AccessRelocs(pc int) []*Reloc {
	if pc < 0 || pc >= len(lp.Insns) {
		return nil
	}
	if r, ok := lp.fieldReloc(pc); ok {
		return []*Reloc{r}
	}
	info := lp.Insns[pc].Info()
	switch {
	case info.Flags&decode.FlagCall != 0:
		if found := lp.addressRelocs(pc, 3); found != nil {
			return found
		}
		return lp.addressRelocs(pc, 2)
	case info.Flags&decode.FlagLoad != 0:
		return lp.addressRelocs(pc, lp.Insns[pc].Src)
	case info.Flags&decode.FlagStore != 0:
		return lp.addressRelocs(pc, lp.Insns[pc].Dst)
	}
	return nil
}

// fieldReloc returns the relocation of an instruction if it is for a field that the target has.
func (lp *LinkedProgram) fieldReloc(pc int) (*Reloc, bool) {
	r, ok := lp.RelocAt(pc)
	if !ok || r.Err != nil || r.Relocation == nil || !r.Kind.IsField() || r.Poisoned() || r.Target == nil {
		return nil, false
	}
	return r, true
}

// sliceStates limits the states that one search visits.
const sliceStates = 4096

// slicePlace is a position of the backward search, with the set of registers whose values are followed.
type slicePlace struct {
	pc     int
	wanted uint16
}

// addressRelocs finds the relocations in the computation of a register's value at pc, backward along all paths that
// lead there.
func (lp *LinkedProgram) addressRelocs(pc int, reg uint8) []*Reloc {
	f, ok := lp.FuncAt(pc)
	if !ok {
		return nil
	}
	ways := lp.predecessors(f)
	var found []*Reloc
	start := slicePlace{pc, 1 << reg}
	seen := map[slicePlace]bool{start: true}
	queue := []slicePlace{start}
	for len(queue) > 0 && len(seen) < sliceStates {
		at := queue[0]
		queue = queue[1:]
		for _, prev := range ways[at.pc-f.Start] {
			wanted, r := lp.backward(prev, at.wanted)
			if r != nil {
				if !slices.Contains(found, r) {
					found = append(found, r)
				}
				continue
			}
			next := slicePlace{prev, wanted}
			if wanted != 0 && !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return found
}

// backward steps back over one instruction: it returns the registers to follow before it, or the relocation that ends
// the search.
func (lp *LinkedProgram) backward(pc int, wanted uint16) (uint16, *Reloc) {
	const frame = 1 << 10 // r10 is never written
	in := lp.Insns[pc]
	info := in.Info()
	if info.Flags&decode.FlagCall != 0 {
		return wanted &^ 0x3f, nil // a call overwrites r0 to r5
	}
	dst := uint16(1) << in.Dst
	if wanted&dst == 0 || info.Flags&(decode.FlagJump|decode.FlagBranch|decode.FlagStore|decode.FlagExit) != 0 {
		return wanted, nil
	}
	if r, ok := lp.fieldReloc(pc); ok {
		return 0, r
	}
	fromRegister := in.Code&8 != 0
	switch {
	case info.Flags&decode.FlagLoad != 0, in.Code == 0x18:
		wanted &^= dst
	case in.Code&0xf0 == 0xb0: // mov
		wanted &^= dst
		if fromRegister {
			wanted |= 1 << in.Src
		}
	case fromRegister:
		wanted |= 1 << in.Src
	}
	return wanted &^ frame, nil
}

// predecessors lists, for each instruction of a function, those that may execute immediately before it.
func (lp *LinkedProgram) predecessors(f Func) [][]int {
	ways := make([][]int, f.Len+1)
	add := func(to, from int) {
		if i := to - f.Start; i >= 0 && i < len(ways) {
			ways[i] = append(ways[i], from)
		}
	}
	end := min(f.Start+f.Len, len(lp.Insns))
	for pc := f.Start; pc < end; pc += max(lp.Insns[pc].Len(), 1) {
		in := lp.Insns[pc]
		flags := in.Info().Flags
		if flags&(decode.FlagJump|decode.FlagBranch) != 0 {
			to := pc + 1 + int(in.Off)
			if in.Op() == decode.OpJa32 {
				to = pc + 1 + int(in.Imm)
			}
			add(to, pc)
		}
		if flags&(decode.FlagJump|decode.FlagExit) == 0 {
			add(pc+max(in.Len(), 1), pc)
		}
	}
	return ways
}
