package decode

import "slices"

// program is code that is walked several times.
type program struct {
	insns []Insn
	// ops caches the operation of each slot. If nil, operations are looked up each time.
	ops []Op
}

func (p program) op(pc int) Op {
	if p.ops == nil {
		return p.insns[pc].Op()
	}
	return p.ops[pc]
}

func (p program) info(pc int) *Info { return p.op(pc).Info() }

// Subprograms returns the first slots of all functions of a program, ascending: 0, every target of
// a local call and of a function address, and extra entries (an exception callback, for example).
// Targets outside the program are left out; Check refuses them.
func Subprograms(insns []Insn, extra ...int) []int { return program{insns: insns}.subprograms(extra) }

func (p program) subprograms(extra []int) []int {
	insns := p.insns
	if len(insns) == 0 {
		return nil
	}
	starts := []int{0}
	for pc := 0; pc < len(insns); pc += insns[pc].Len() {
		switch p.op(pc) {
		case OpCallLocal, OpLdFunc:
			starts = append(starts, pc+1+int(insns[pc].Imm))
		}
	}
	starts = append(starts, extra...)
	slices.Sort(starts)
	starts = slices.Compact(starts)
	return slices.DeleteFunc(starts, func(pc int) bool { return pc < 0 || pc >= len(insns) })
}

// SubprogramAt returns the index in starts of the function that contains slot pc.
func SubprogramAt(starts []int, pc int) int {
	i, found := slices.BinarySearch(starts, pc)
	if found {
		return i
	}
	return i - 1
}

// Successors appends to next the slots that may be executed after the instruction at pc within its
// function: the fall-through and the jump target. A call falls through; exit and gotox have none.
// Slots may lie outside the program.
func Successors(next []int, insns []Insn, pc int) []int {
	in := insns[pc]
	info := in.Info()
	if target, ok := in.Target(pc); ok && info.Flags&(FlagBranch|FlagJump) != 0 {
		next = append(next, target)
	}
	if info.Flags&(FlagJump|FlagExit) == 0 {
		next = append(next, pc+in.Len())
	}
	return next
}

// Leaders marks the slots that begin a basic block: function entries, jump targets, and slots after
// a jump, branch, call or exit.
func Leaders(insns []Insn, extra ...int) []bool {
	leaders := make([]bool, len(insns))
	mark := func(pc int) {
		if pc >= 0 && pc < len(insns) {
			leaders[pc] = true
		}
	}
	mark(0)
	for _, pc := range extra {
		mark(pc)
	}
	for pc := 0; pc < len(insns); pc += insns[pc].Len() {
		in := insns[pc]
		if target, ok := in.Target(pc); ok {
			mark(target)
		}
		if in.Info().Flags&(FlagBranch|FlagJump|FlagCall|FlagExit) != 0 {
			mark(pc + 1)
		}
	}
	return leaders
}

// Reachable marks the slots that control flow reaches from slot 0 and the extra entries. Both sides
// of a branch count as reachable, and calls and function addresses reach their function
// (kernel/bpf/cfg.c bpf_check_cfg). The second slot of LD_IMM64 is not marked. The targets of gotox
// are not visible in the code: pass them as extra entries.
func Reachable(insns []Insn, extra ...int) []bool { return program{insns: insns}.reachable(extra) }

func (p program) reachable(extra []int) []bool {
	insns := p.insns
	seen := make([]bool, len(insns))
	var work []int
	push := func(pc int) {
		if pc >= 0 && pc < len(insns) && !seen[pc] {
			seen[pc] = true
			work = append(work, pc)
		}
	}
	push(0)
	for _, pc := range extra {
		push(pc)
	}
	for len(work) > 0 {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		info := p.info(pc)
		if target, ok := insns[pc].target(pc, info); ok {
			push(target)
		}
		if info.Flags&(FlagJump|FlagExit) == 0 {
			push(pc + insns[pc].Len())
		}
	}
	return seen
}

// StackDepth returns how many bytes below r10 the slots from start to end access directly through
// r10, 0 if none. It is a lower bound: accesses through copies of r10 are not counted.
func StackDepth(insns []Insn, start, end int) int {
	return program{insns: insns}.stackDepth(start, end)
}

func (p program) stackDepth(start, end int) int {
	insns := p.insns
	depth := 0
	for pc := start; pc < end && pc < len(insns); pc += insns[pc].Len() {
		if base, info := memoryBase(insns[pc], p.info(pc)); base == FramePointer && info != nil {
			depth = max(depth, -int(insns[pc].Off))
		}
	}
	return depth
}

// memoryBase returns the register that holds the address of a load or store; mem is nil for other
// instructions.
func memoryBase(in Insn, info *Info) (base uint8, mem *Info) {
	if info.Flags&(FlagLoad|FlagStore) == 0 || info.Flags&FlagPacket != 0 {
		return 0, nil
	}
	if info.Flags&FlagStore != 0 {
		return in.Dst, info
	}
	return in.Src, info
}
