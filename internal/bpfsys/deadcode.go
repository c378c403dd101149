package bpfsys

import (
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// The kernel keeps of a program what some input may reach, and tells no more of it: branches that
// are always taken, or never, become jumps, instructions that no path reaches are removed, and then
// jumps to the next one (kernel/bpf/verifier.c bpf_check: opt_hard_wire_dead_code_branches,
// opt_remove_dead_code, opt_remove_nops).

// Codes of instructions that the removal looks at.
const (
	codeJa, codeGotol, codeMayGoto, codeCall, codeExit, codeImm64 = 0x05, 0x06, 0xe5, 0x85, 0x95, 0x18
	classOf, classJmp, classJmp32                                 = 0x07, 0x05, 0x06
	pseudoCall, pseudoFunc                                        = 1, 4 // source registers
)

// slots are the instructions of a program, 8 bytes each.
type slots []byte

func (p slots) code(i int) byte   { return p[8*i] }
func (p slots) source(i int) byte { return p[8*i+1] >> 4 }
func (p slots) off(i int) int     { return int(int16(le.Uint16(p[8*i+2:]))) }
func (p slots) imm(i int) int     { return int(int32(le.Uint32(p[8*i+4:]))) }
func (p slots) setOff(i, off int) { le.PutUint16(p[8*i+2:], uint16(off)) }
func (p slots) setImm(i, imm int) { le.PutUint32(p[8*i+4:], uint32(imm)) }
func (p slots) conditional(i int) bool {
	switch class := p.code(i) & classOf; {
	case class == classJmp32:
		return p.code(i) != codeGotol
	case class != classJmp:
		return false
	}
	return p.code(i) != codeJa && p.code(i) != codeExit && p.code(i)&0xf0 != codeCall&0xf0
}

// distance returns how far an instruction's target is from the next one; byImm says which field has
// it.
func (p slots) distance(i int) (far int, byImm, jumps bool) {
	switch code := p.code(i); {
	case code == codeGotol, code == codeCall && p.source(i) == pseudoCall, code == codeImm64 && p.source(i) == pseudoFunc:
		return p.imm(i), true, true
	case code == codeJa, p.conditional(i):
		return p.off(i), false, true
	}
	return 0, false, false
}

// removal are the instructions of a program that stay.
type removal struct {
	insns slots
	stays []bool
	place []int // of each instruction, and of the end, among those that stay
	after []int // a later instruction, at most the next one that stays
}

// withoutDead removes from what a program's information has what the kernel removed. reached are
// the instructions that some input may reach.
func (s *System) withoutDead(p *Prog, reached []bool) {
	n := len(p.insns) / 8
	if len(reached) != n || n == 0 {
		return
	}
	r := removal{insns: p.insns, stays: append([]bool{}, reached...), place: make([]int, n+1), after: make([]int, n)}
	for i := range r.after {
		r.after[i] = i + 1
	}
	r.hardWire(reached)
	r.dropNops(s.has(since.MayGotoZero))
	for i, stays := range r.stays {
		r.place[i+1] = r.place[i]
		if stays {
			r.place[i+1]++
		}
	}
	if r.place[n] == n {
		return
	}
	p.insns, p.funcs, p.lines = r.code(), r.records(p.funcs, int(p.funcRec)), r.records(p.lines, int(p.lineRec))
}

// hardWire makes jumps of branches of which one side is never reached.
func (r *removal) hardWire(reached []bool) {
	at := func(i int) bool { return i >= 0 && i < len(reached) && reached[i] }
	for i := range reached {
		if !r.insns.conditional(i) {
			continue
		}
		off := r.insns.off(i)
		switch {
		case !at(i + 1):
		case !at(i + 1 + off):
			off = 0
		default:
			continue
		}
		copy(r.insns[8*i:], []byte{codeJa, 0, 0, 0, 0, 0, 0, 0})
		r.insns.setOff(i, off)
	}
}

// next returns the first instruction from i on that stays. What was passed once is passed in fewer
// steps the next time, as long runs of may_goto are looked at again and again.
func (r *removal) next(i int) int {
	for i < len(r.stays) && !r.stays[i] {
		if j := r.after[i]; j < len(r.stays) && !r.stays[j] {
			r.after[i] = r.after[j]
		}
		i = r.after[i]
	}
	return i
}

// dropNops removes jumps to the next instruction, and may_goto that lead there. Removing one of
// these makes the kernel look at the one before it again.
func (r *removal) dropNops(mayGoto bool) {
	var before []int // those that stay, up to the one that is looked at
	for i := r.next(0); i < len(r.stays); i = r.next(i + 1) {
		again := r.nop(i, mayGoto)
		if !again && !r.stays[i] {
			continue
		}
		for again && len(before) > 0 {
			last := before[len(before)-1]
			if again = r.nop(last, mayGoto); r.stays[last] {
				break
			}
			before = before[:len(before)-1]
		}
		if r.stays[i] {
			before = append(before, i)
		}
	}
}

// nop removes an instruction that leads nowhere but to the next one; again is set for a may_goto.
func (r *removal) nop(i int, mayGoto bool) (again bool) {
	code, off := r.insns.code(i), r.insns.off(i)
	if code != codeJa && !(mayGoto && code == codeMayGoto) || off < 0 || r.insns[8*i+1] != 0 || r.insns.imm(i) != 0 {
		return false
	}
	if r.next(i+1) < i+1+off { // something between them stays
		return false
	}
	r.stays[i] = false
	return code == codeMayGoto
}

// code returns the instructions that stay, with the distances that they have then.
func (r *removal) code() []byte {
	var out []byte
	for i, stays := range r.stays {
		if !stays {
			continue
		}
		if far, byImm, jumps := r.insns.distance(i); jumps && i+1+far >= 0 && i+1+far < len(r.place) {
			far = r.place[i+1+far] - r.place[i] - 1
			if byImm {
				r.insns.setImm(i, far)
			} else {
				r.insns.setOff(i, far)
			}
		}
		out = append(out, r.insns[8*i:8*i+8]...)
	}
	return out
}

// records returns the records, of functions or of lines, that an instruction stays of. Each begins
// with the first instruction that it is about, and the first one of them that stays inherits it
// (adjust_subprog_starts_after_remove, bpf_adj_linfo_after_remove).
func (r *removal) records(all []byte, size int) []byte {
	var out []byte
	for at := 0; size > 0 && at+size <= len(all); at += size {
		start, end := int(le.Uint32(all[at:])), len(r.stays)
		if at+2*size <= len(all) {
			end = int(le.Uint32(all[at+size:]))
		}
		if start < end && end <= len(r.stays) && r.place[start] < r.place[end] {
			out = append(le.AppendUint32(out, uint32(r.place[start])), all[at+4:at+size]...)
		}
	}
	return out
}
