package offsets

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// finder analyses one program.
type finder struct {
	l    *loader.Linked
	p    *loader.LinkedProgram
	spec *btf.Spec
	// dwarf types registers that BTF does not, in programs that read kernel memory by helper
	// (reads).
	dwarf     *variables
	reads     bool
	relocs    map[int]bool
	args      []btf.ID
	registers map[int64]btf.ID
	caller    proto.Caller
	release   uapi.Release
	found     map[int]Access
	states    *states
}

// maxVisits bounds the visits of an instruction: joins only ever lose values.
const maxVisits = 3 * (11 + slots)

func (f *finder) walk() {
	n := len(f.p.Insns)
	for _, in := range f.p.Insns {
		if h := helperOf(in); h != nil && h.Effects&proto.Copies != 0 {
			f.reads = true
		}
	}
	joins := f.joins()
	defer f.states.reuse()
	states := make([]*state, n) // those of first instructions and of joins
	visits := make([]int, n)
	start := &state{}
	start.regs[10] = value{kind: frame}
	start.regs[1] = f.entry()
	states[0] = start
	work := []int{0}
	reach := func(pc int, s *state) {
		if pc < 0 || pc >= n || visits[pc] > maxVisits {
			return
		}
		if states[pc] == nil {
			states[pc] = f.states.copy(s)
			work = append(work, pc)
		} else if states[pc].join(s) {
			work = append(work, pc)
		}
	}
	var next []int
	for len(work) > 0 {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		for s, on := *states[pc], true; on; { // a straight line needs one state
			visits[pc]++
			delete(f.found, pc)
			in := f.p.Insns[pc]
			if in.Op() == decode.OpCallLocal {
				if target, ok := in.Target(pc); ok {
					reach(target, callee(&s))
				}
			}
			f.step(pc, in, &s)
			next = f.successors(next[:0], pc)
			if on = len(next) == 1 && next[0] >= 0 && next[0] < n && !joins[next[0]]; on {
				pc = next[0]
				continue
			}
			for _, to := range next {
				reach(to, &s)
			}
		}
	}
}

// successors is [decode.Successors], at once for the many instructions that are no jumps.
func (f *finder) successors(next []int, pc int) []int {
	in := f.p.Insns[pc]
	if in.Info().Flags&(decode.FlagBranch|decode.FlagJump|decode.FlagExit) == 0 {
		return append(next, pc+in.Len())
	}
	return decode.Successors(next, f.p.Insns, pc)
}

// joins returns which instructions have several predecessors. The first one of the program and
// those of called functions count as such.
func (f *finder) joins() []bool {
	reached, joins := make([]bool, len(f.p.Insns)), make([]bool, len(f.p.Insns))
	reached[0] = true
	mark := func(pc int) {
		if pc >= 0 && pc < len(reached) {
			joins[pc] = joins[pc] || reached[pc]
			reached[pc] = true
		}
	}
	var next []int
	for pc, in := range f.p.Insns {
		if in.Op() == decode.OpCallLocal {
			if target, ok := in.Target(pc); ok {
				mark(target)
				mark(target)
			}
		}
		next = f.successors(next[:0], pc)
		for _, to := range next {
			mark(to)
		}
	}
	return joins
}

// callee returns the state at the start of a called function: its arguments, without pointers to
// the caller's stack.
func callee(s *state) *state {
	var c state
	copy(c.regs[1:6], s.regs[1:6])
	for i := range c.regs {
		if c.regs[i].kind == frame {
			c.regs[i] = value{}
		}
	}
	c.regs[10] = value{kind: frame}
	return &c
}

// reg returns the value of a register, by DWARF if nothing else is known.
func (f *finder) reg(pc int, s *state, n uint8) value {
	v := s.regs[n%11]
	if v.kind == unknown {
		v = f.castTo(pc, n)
	}
	return v
}

// step applies an instruction to a state and notes its accesses.
func (f *finder) step(pc int, in decode.Insn, s *state) {
	info := in.Info()
	proved := f.relocs[pc]
	dst := &s.regs[in.Dst%11]
	constant := value{kind: number, off: int64(in.Imm), proved: proved}
	switch op := in.Op(); {
	case op == decode.OpMov64Imm, op == decode.OpMov32Imm, op == decode.OpLdImm64:
		*dst = constant
	case op == decode.OpMov64Reg:
		*dst = f.reg(pc, s, in.Src)
	case op == decode.OpAdd64Imm:
		*dst = add(f.reg(pc, s, in.Dst), constant)
	case op == decode.OpAdd64Reg:
		*dst = add(f.reg(pc, s, in.Dst), f.reg(pc, s, in.Src))
	case info.Form == decode.FormLoad || info.Form == decode.FormLoadAcq:
		*dst = f.load(pc, s, s.regs[in.Src%11], int64(in.Off), int(info.Size), proved)
	case info.Form == decode.FormStoreReg || info.Form == decode.FormStoreRel:
		if dst.kind == frame {
			s.put(dst.off+int64(in.Off), int(info.Size), f.reg(pc, s, in.Src))
		}
	case info.Flags&decode.FlagStore != 0:
		if dst.kind == frame {
			s.clear(dst.off+int64(in.Off), int64(info.Size))
		}
		f.forget(s, in, info)
	case info.Flags&decode.FlagCall != 0:
		f.call(pc, in, s)
	default:
		f.forget(s, in, info)
	}
}

// forget drops the registers that an instruction writes.
func (f *finder) forget(s *state, in decode.Insn, info *decode.Info) {
	if info.Writes&decode.RegDst != 0 {
		s.regs[in.Dst%11] = value{}
	}
	if info.Writes&decode.RegSrc != 0 {
		s.regs[in.Src%11] = value{}
	}
	if info.Writes&decode.RegR0 != 0 {
		s.regs[0] = value{}
	}
	if info.Writes&decode.RegArgs != 0 {
		clear(s.regs[1:6])
	}
}

// load returns the value that a load yields.
func (f *finder) load(pc int, s *state, src value, at int64, size int, proved bool) value {
	off := src.off + at
	switch src.kind {
	case pointer:
		f.note(pc, src, off, size, proved, "a direct read with preserve_access_index (vmlinux.h), or BPF_CORE_READ")
		return f.fieldPointer(src, off, size)
	case context:
		if size == 8 && at >= 0 && at%8 == 0 && int(at/8) < len(f.args) {
			return f.pointee(f.args[at/8])
		}
	case regs:
		if size == f.spec.PointerSize() {
			return f.pointee(f.registers[off])
		}
	case frame:
		if i, ok := slotOf(off); ok && size == 8 {
			return s.stack[i]
		}
	}
	return value{}
}

// helperOf returns the helper that an instruction calls, or nil.
func helperOf(in decode.Insn) *proto.Helper {
	if in.Op() != decode.OpCallHelper {
		return nil
	}
	h, _ := proto.Lookup(uapi.FuncID(in.Imm))
	return h
}
