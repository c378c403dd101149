package loader

import (
	"errors"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// ErrArch means that the program reads registers of a different architecture than the target's.
var ErrArch = errors.New("compiled for another architecture")

// checkRegisters refuses a program that reads registers of a different architecture than the
// target's. The layout of struct pt_regs, and which register holds an argument, were fixed when it
// was compiled. Programs of other types, and programs that only pass their context on, run
// everywhere.
func (l *loading) checkRegisters(lp *LinkedProgram) *Error {
	if l.o.Arch == "" || l.t.Arch == "" || l.o.Arch == l.t.Arch {
		return nil
	}
	at := l.relocatedRegisterRead(lp)
	if at < 0 {
		at = l.contextRead(lp)
	}
	if at < 0 {
		return nil
	}
	e := failf(ErrArch, "it reads %s registers, but the kernel is %s", l.o.Arch, l.t.Arch)
	e.Insn, e.Source = at, l.sourceAt(lp, at)
	return e.hint("struct pt_regs is compiled for one architecture: compile the object with -D__TARGET_ARCH_%s, or use a hook with typed arguments such as fentry", l.t.Arch)
}

// relocatedRegisterRead returns the first reachable instruction whose CO-RE relocation is for a
// register that the target's pt_regs lacks, or -1.
func (l *loading) relocatedRegisterRead(lp *LinkedProgram) int {
	reach := lp.Reachable()
	for i := range lp.Relocs {
		r := &lp.Relocs[i]
		if !r.Poisoned() || r.Insn >= len(reach) || !reach[r.Insn] {
			continue
		}
		switch btf.EssentialName(l.o.BTF.Name(r.TypeID)) {
		case "pt_regs", "user_pt_regs":
			return r.Insn
		}
	}
	return -1
}

// probes reports whether an instruction calls a helper that reads kernel memory at its third
// argument.
func probes(in decode.Insn) bool {
	if in.Op() != decode.OpCallHelper {
		return false
	}
	h, ok := proto.Lookup(uapi.FuncID(in.Imm))
	return ok && h.Effects&proto.Copies != 0
}

// contextRead returns the first reachable instruction that reads registers through the context, or
// -1. A register counts as a context pointer if it is one on every path to the instruction.
func (l *loading) contextRead(lp *LinkedProgram) int {
	if layout := progtype.Of(lp.Type).Context.Layout; layout != progtype.RegsLayout && layout != progtype.SampleLayout {
		return -1
	}
	insns, reach := lp.Insns, lp.Reachable()
	const unseen = ^uint16(0)
	state := make([]uint16, len(insns)) // per instruction, the set of registers that hold the context
	for i := range state {
		state[i] = unseen
	}
	work := []int{0}
	state[0] = 1 << 1
	enter := func(pc int, regs uint16) {
		if pc >= len(insns) {
			return
		}
		if s := state[pc] & regs; s != state[pc] {
			state[pc] = s
			work = append(work, pc)
		}
	}
	var next []int
	for len(work) > 0 {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		in, regs := insns[pc], state[pc]
		if in.Op() == decode.OpCallLocal {
			enter(pc+1+int(in.Imm), regs&0x3e) // arguments only
		}
		for _, to := range decode.Successors(next[:0], insns, pc) {
			enter(to, contextAfter(in, regs))
		}
	}
	for pc, in := range insns {
		if state[pc] == unseen || pc >= len(reach) || !reach[pc] {
			continue
		}
		info := in.Info()
		loads := info.Class() == decode.ClassLDX && state[pc]&(1<<in.Src) != 0
		if loads || probes(in) && state[pc]&(1<<3) != 0 {
			return pc
		}
	}
	return -1
}

// contextAfter returns the registers that hold the context, or an address in it, after an
// instruction.
func contextAfter(in decode.Insn, regs uint16) uint16 {
	switch in.Op() {
	case decode.OpMov64Reg:
		if regs&(1<<in.Src) != 0 {
			return regs | 1<<in.Dst
		}
		return regs &^ (1 << in.Dst)
	case decode.OpAdd64Imm, decode.OpAdd64Reg:
		return regs
	case decode.OpCallHelper, decode.OpCallKfunc, decode.OpCallLocal:
		return regs &^ 0x3f
	}
	info := in.Info()
	if info.Writes&decode.RegDst != 0 {
		regs &^= 1 << in.Dst
	}
	if info.Writes&decode.RegSrc != 0 {
		regs &^= 1 << in.Src
	}
	return regs
}
