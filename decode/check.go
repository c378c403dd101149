package decode

import (
	"fmt"
	"slices"
)

// Limits of the kernel's verifier.
const (
	MaxInsns       = 1000000 // BPF_COMPLEXITY_LIMIT_INSNS: longest program of a privileged loader
	MaxStack       = 512     // MAX_BPF_STACK, in bytes
	MaxFrames      = 8       // MAX_CALL_FRAMES
	MaxSubprograms = 256     // BPF_MAX_SUBPROGS
	tailCallStack  = 256     // most stack in use, in bytes, when entering a subprogram that tail-calls
	tailCallHelper = 12      // BPF_FUNC_tail_call
)

// CheckConfig selects the rules that Check applies. The zero value stands for the newest known
// kernel.
type CheckConfig struct {
	// Kernel is the version that must know the instructions; zero is the newest.
	Kernel Version
	// Lenient accepts what the public conformance suite contains although the kernel refuses it:
	// out-of-range immediate shifts, which are masked at run time, and callx.
	Lenient bool
	// PrivateStack disables the limit on the stack of a call chain: from 6.13 on, eligible tracing
	// programs have a stack per function.
	PrivateStack bool
	// Walked leaves to the verifier what the kernel checks only in instructions that its verifier
	// reaches: immediates of shifts and divisions, accesses through r10, writes to r10, and the
	// stack of call chains.
	Walked bool
	// Entries are the first slots of functions that are entered from outside, such as an exception
	// callback.
	Entries []int
	// JumpTargets are the slots that gotox may reach: the contents of the program's instruction
	// arrays. If it is empty, a program with gotox may contain otherwise unreachable code.
	JumpTargets []int
	// Helper reports whether a helper exists, Kfunc whether a kernel function does. A nil function
	// disables the check, which suits object files: the kernel tolerates calls of unknown functions
	// in code that its verifier proves dead.
	Helper func(id int32) bool
	Kfunc  func(in Insn) bool
}

// Check applies the kernel's structural rules, which do not depend on register contents: unknown
// opcodes, reserved fields, register numbers, writes to r10, shifts, divisions, jumps, falling off
// the end, unreachable code, call targets and depth, and direct stack accesses through r10. It
// returns nil, or a *CheckError for the first violation.
//
// Uninitialised registers, bounds and everything else that needs types is not structural. Check
// differs from the kernel in two ways by design: the kernel checks an instruction's fields only
// when its verifier reaches the instruction, Check checks all of them (but see CheckConfig.Walked);
// and for a program with several errors the two may report different ones first.
func Check(insns []Insn, cfg CheckConfig) error {
	c := checker{program: program{insns: insns}, cfg: cfg}
	for _, step := range []func() *CheckError{c.size, c.opcodes, c.functions, c.jumps, c.flow, c.fields, c.calls} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type checker struct {
	program
	cfg    CheckConfig
	starts []int // first slots of all functions, ascending
}

func fail(pc int, kind error, format string, args ...any) *CheckError {
	return &CheckError{Insn: pc, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

func (c *checker) size() *CheckError {
	switch {
	case len(c.insns) == 0:
		return &CheckError{Kind: ErrEmpty}
	case len(c.insns) > MaxInsns:
		return fail(0, ErrTooLong, "%d slots, the kernel takes %d", len(c.insns), MaxInsns)
	}
	return nil
}

// opcodes checks that every instruction exists, and that LD_IMM64 has its second slot
// (resolve_pseudo_ldimm64).
func (c *checker) opcodes() *CheckError {
	ops := make([]Op, len(c.insns))
	for pc := 0; pc < len(c.insns); pc += c.insns[pc].Len() {
		in := c.insns[pc]
		info := in.Info()
		ops[pc] = info.Op
		if info.Op == OpInvalid {
			return undefined(pc, in)
		}
		if info.Since == never && !c.cfg.Lenient {
			return fail(pc, ErrOpcode, "%#02x (%s)", in.Code, info.Name)
		}
		if c.cfg.Kernel != 0 && info.Since != never && info.Since > c.cfg.Kernel {
			return fail(pc, ErrNewerKernel, "%s needs Linux %s, target is %s", info.Name, info.Since, c.cfg.Kernel)
		}
		if in.IsLdImm64() {
			if err := c.ldImm64(pc, info); err != nil {
				return err
			}
			ops[pc+1] = c.insns[pc+1].Op()
		}
	}
	c.ops = ops
	return nil
}

// undefined explains why an instruction decodes to OpInvalid.
func undefined(pc int, in Insn) *CheckError {
	list := table.shared[in.Code]
	if len(list) == 0 {
		return fail(pc, ErrOpcode, "%#02x", in.Code)
	}
	switch list[0].sub {
	case SubOff:
		return fail(pc, ErrReserved, "opcode %#02x with offset %d", in.Code, in.Off)
	case SubSrc:
		if in.IsLdImm64() {
			return fail(pc, ErrLdImm64, "source register field is %d", in.Src)
		}
		return fail(pc, ErrReserved, "call with source register field %d", in.Src)
	}
	if in.Code&7 != ClassSTX {
		return fail(pc, ErrReserved, "byte order of %d bits", in.Imm)
	}
	word := Insn{Code: codeAtomicDW, Imm: in.Imm}
	if word.Op() != OpInvalid {
		return fail(pc, ErrAtomicSize, "%s on %d bytes", word.Op(), list[0].op.Info().Size)
	}
	return fail(pc, ErrAtomic, "%#x", uint32(in.Imm))
}

func (c *checker) ldImm64(pc int, info *Info) *CheckError {
	if pc+1 >= len(c.insns) {
		return fail(pc, ErrLdImm64, "second slot is missing")
	}
	next := c.insns[pc+1]
	if next.Code != 0 || next.Dst != 0 || next.Src != 0 || next.Off != 0 {
		return fail(pc, ErrLdImm64, "second slot has more than an immediate")
	}
	if (info.Op == OpLdMapFD || info.Op == OpLdMapIdx) && next.Imm != 0 {
		return fail(pc, ErrLdImm64, "%s with %d in the second slot", info.Name, next.Imm)
	}
	return nil
}

// functions finds the functions (add_subprog_and_kfunc).
func (c *checker) functions() *CheckError {
	for pc := 0; pc < len(c.insns); pc += c.insns[pc].Len() {
		if op := c.op(pc); op == OpCallLocal || op == OpLdFunc {
			if target := pc + 1 + int(c.insns[pc].Imm); target < 0 || target >= len(c.insns) {
				return fail(pc, ErrCallTarget, "slot %d of %d", target, len(c.insns))
			}
		}
	}
	c.starts = c.subprograms(c.cfg.Entries)
	if len(c.starts) > MaxSubprograms {
		return fail(c.starts[MaxSubprograms], ErrSubprograms, "%d, the kernel takes %d", len(c.starts), MaxSubprograms)
	}
	return nil
}

// end returns the slot after function i.
func (c *checker) end(i int) int {
	if i+1 < len(c.starts) {
		return c.starts[i+1]
	}
	return len(c.insns)
}

// jumps checks that jumps stay in their function and that functions end in an exit or jump
// (check_subprogs).
func (c *checker) jumps() *CheckError {
	for i, start := range c.starts {
		end := c.end(i)
		last := start
		for pc := start; pc < end; pc += c.insns[pc].Len() {
			last = pc
			info := c.info(pc)
			if info.Flags&(FlagBranch|FlagJump) == 0 {
				continue
			}
			if target, ok := c.insns[pc].target(pc, info); ok && (target < start || target >= end) {
				return fail(pc, ErrJump, "to slot %d, the function is %d to %d", target, start, end-1)
			}
		}
		if c.info(last).Flags&(FlagJump|FlagExit) == 0 {
			return fail(last, ErrFallThrough, "%s ends the function at slot %d", c.op(last), start)
		}
	}
	return nil
}

// flow checks that all code is reachable and no jump lands in the second slot of LD_IMM64
// (check_cfg).
func (c *checker) flow() *CheckError {
	seen := c.reachable(slices.Concat(c.cfg.Entries, c.cfg.JumpTargets))
	anywhere := len(c.cfg.JumpTargets) == 0 && slices.Contains(c.ops, OpGotoX)
	for pc := 0; pc < len(c.insns); pc += c.insns[pc].Len() {
		if !seen[pc] && !anywhere {
			return &CheckError{Insn: pc, Kind: ErrUnreachable}
		}
		if c.insns[pc].IsLdImm64() && seen[pc+1] {
			return &CheckError{Insn: pc, Kind: ErrJumpIntoImm64}
		}
	}
	return nil
}

// calls checks the depth and the stack of call chains (check_max_stack_depth).
func (c *checker) calls() *CheckError {
	g := newCallGraph(c)
	order, err := g.order()
	if err != nil {
		return err
	}
	return g.check(order, c.cfg)
}
