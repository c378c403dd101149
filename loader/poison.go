package loader

import (
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
)

// Verdict classifies a poisoned instruction by its effect on the program.
type Verdict uint8

// Verdicts.
const (
	// Dead: constant propagation over relocated immediates, .rodata and .kconfig shows that no
	// input reaches it, so the kernel removes it.
	Dead Verdict = iota
	// MayBreak: some input may reach it, so the kernel's verifier may refuse the program.
	MayBreak
	// Break: every run executes it, or it is reached without an input-dependent branch.
	Break
)

// String returns the verdict as in reports.
func (v Verdict) String() string {
	switch v {
	case Dead:
		return "dead"
	case MayBreak:
		return "may-break"
	case Break:
		return "BREAK"
	}
	return "unknown"
}

// PoisonVerdict is the verdict on one poisoned instruction.
type PoisonVerdict struct {
	Insn    int // in LinkedProgram.Insns
	Kind    corerelo.PoisonKind
	Verdict Verdict
	Reloc   *Reloc // CO-RE poison
	Name    string // kfunc or map, for other kinds of poison
}

// maxAvoid limits the work of checking whether every run reaches a poison.
const maxAvoid = 1 << 26

// maxStraight limits the steps of the walk without input-dependent branches.
const maxStraight = 1 << 20

// flowOf runs the analysis once.
func (lp *LinkedProgram) flowOf() *flow {
	lp.flowOnce.Do(func() { lp.flow = lp.analyse() })
	return lp.flow
}

// Reachable reports, for each instruction slot, whether constant propagation leaves a path to it.
// The slice must not be modified.
func (lp *LinkedProgram) Reachable() []bool { return lp.flowOf().reach }

// PoisonVerdicts classifies the poisoned instructions of the program, in order. It does not know
// about runs: an instruction that a run has executed breaks the program, whatever the verdict here.
func (lp *LinkedProgram) PoisonVerdicts() []PoisonVerdict {
	var out []PoisonVerdict
	for pc := 0; pc < len(lp.Insns); pc++ {
		kind, _, ok := corerelo.ParsePoison(lp.Insns[pc])
		if !ok {
			if lp.Insns[pc].Code == codeLdImm {
				pc++
			}
			continue
		}
		v := PoisonVerdict{Insn: pc, Kind: kind}
		if r, ok := lp.RelocAt(pc); ok {
			v.Reloc = r
			if r.Patch.Slots == 2 {
				pc++
			}
		} else if ref, ok := lp.Refs[v.Insn]; ok {
			v.Name = ref.Name
		} else if kind == corerelo.PoisonMap {
			_, i, _ := corerelo.ParsePoison(lp.Insns[pc])
			if i >= 0 && i < len(lp.linked.Maps) {
				v.Name = lp.linked.Maps[i].Name
			}
			pc++
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		return nil
	}
	f := lp.flowOf()
	straight := f.straight()
	for i := range out {
		pc := out[i].Insn
		switch {
		case !f.reach[pc]:
			out[i].Verdict = Dead
		case straight[pc] || len(lp.Insns)*len(out) <= maxAvoid && f.unavoidable(pc):
			out[i].Verdict = Break
		default:
			out[i].Verdict = MayBreak
		}
	}
	return out
}

// straight follows the path from the start for as long as constants along this path decide every
// branch, loops included.
func (f *flow) straight() []bool {
	lp := f.lp
	seen := make([]bool, len(lp.Insns))
	type call struct {
		pc   int
		regs state
	}
	var stack []call
	var s state
	pc := 0
	for range maxStraight {
		if pc < 0 || pc >= len(lp.Insns) {
			break
		}
		seen[pc] = true
		kind, target := control(lp.Insns, pc)
		switch kind {
		case flowJump:
			pc = target
		case flowCond:
			switch edges := decide(lp.Insns[pc], &s); edges {
			case edgeNext:
				pc++
			case edgeJump:
				pc = target
			default:
				return seen
			}
		case flowCall:
			if len(stack) > 64 || f.funcIndex(target) < 0 {
				return seen
			}
			stack = append(stack, call{pc + 1, s})
			var args state
			copy(args[1:6], s[1:6])
			s, pc = args, target
		case flowExit:
			if len(stack) == 0 {
				return seen
			}
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			ret := s[0]
			s, pc = top.regs, top.pc
			s.clobber()
			s[0] = ret
		case flowTable:
			return seen
		default:
			lp.step(pc, &s)
			pc += slotsAt(lp.Insns, pc)
		}
	}
	return seen
}

// unavoidable reports whether every run executes pc: along the possible edges, no exit of the main
// function is reachable without it.
func (f *flow) unavoidable(pc int) bool {
	return !f.exitsAround(0, pc, map[int]bool{})
}

// exitsAround reports whether the function at start can return without executing pc. memo holds
// functions already decided or in progress (recursion counts as avoiding pc).
func (f *flow) exitsAround(start, pc int, memo map[int]bool) bool {
	if r, ok := memo[start]; ok {
		return r
	}
	memo[start] = true
	insns := f.lp.Insns
	seen := map[int]bool{}
	work := []int{start}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for at >= 0 && at < len(insns) && !seen[at] && at != pc {
			seen[at] = true
			kind, target := control(insns, at)
			next := at + slotsAt(insns, at)
			switch kind {
			case flowExit, flowTable:
				return true
			case flowJump:
				next = target
			case flowCond:
				if f.taken[at]&edgeJump != 0 {
					work = append(work, target)
				}
				if f.taken[at]&edgeNext == 0 {
					next = -1
				}
			case flowCall:
				if f.funcIndex(target) >= 0 && !f.exitsAround(target, pc, memo) {
					next = -1
				}
			}
			if insns[at].Info().Has(decode.FlagPacket) {
				return true
			}
			at = next
		}
	}
	memo[start] = false
	return false
}

// Ways reports which successors of the conditional jump at a slot constant propagation cannot rule
// out: its target and the next slot.
func (lp *LinkedProgram) Ways(pc int) (taken, fell bool) {
	edges := lp.flowOf().taken[pc]
	return edges&edgeJump != 0, edges&edgeNext != 0
}
