package decode

import (
	"fmt"
	"strconv"
	"strings"
)

// Symbols provides names for numbers in instructions. An empty string means that there is no name.
type Symbols interface {
	// HelperName returns the name of a helper: "bpf_map_lookup_elem" for 1.
	HelperName(id int32) string
	// RefName returns the name of the map, variable or function that the LD_IMM64, local call or
	// kfunc call at slot pc refers to.
	RefName(pc int) string
}

// Disassemble returns the instruction at slot i as pseudo-C, the syntax of LLVM's BPF assembler and
// of the kernel's verifier log:
//
//	r1 = *(u32 *)(r2 + 0)
//	if r1 s> 5 goto +3
//	w0 = w1
//	lock *(u64 *)(r1 + 8) += r2
//	call bpf_map_lookup_elem#1
//
// Where the two differ, the text is LLVM's: atomics with a result (`r0 = cmpxchg_64(r1 + 0, r0,
// r2)`, the kernel's atomic64_cmpxchg), targets without "pc", w registers for 32-bit atomics. Plain
// loads and stores of all sizes name r registers, as in the kernel and in LLVM without alu32.
// 64-bit immediates that need more than 32 bits are hexadecimal, as in llvm-objdump.
//
// LLVM has no syntax for what the source field of LD_IMM64 and call selects. These are `r1 =
// map_fd(3)`, `r1 = map_value(3, 16)`, `r1 = btf_id(7, 0)`, `r1 = func(+5)`, `r1 = map_idx(0)`, `r1
// = map_idx_value(0, 16)`; `call pc+5` is a local call, as in the kernel's log, and `call kfunc#7`
// or `call kfunc bpf_obj_new#7` calls a kernel function. Names of maps and functions replace
// numbers (`r1 = map_fd(events)`, `call parse`); such text cannot be assembled.
//
// LD_IMM64 covers slots i and i+1. Invalid instructions, and fields that the syntax cannot express,
// are written as `.insn code, dst, src, off, imm`, so that Assemble reproduces every slot exactly.
// sym may be nil. For i outside insns the result is "".
func Disassemble(insns []Insn, i int, sym Symbols) string {
	if i < 0 || i >= len(insns) {
		return ""
	}
	in := insns[i]
	info := in.Info()
	if !writable(insns, i, info) {
		return fmt.Sprintf(".insn 0x%02x, %d, %d, %d, %d", in.Code, in.Dst, in.Src, in.Off, in.Imm)
	}
	d, s := regName(in.Dst, info.Width), regName(in.Src, info.Width)
	switch info.Form {
	case FormALUImm:
		return d + " " + info.Text + " " + decimal(in.Imm)
	case FormALUReg:
		return d + " " + info.Text + " " + s
	case FormNeg:
		return d + " = -" + d
	case FormMovSX:
		return d + " = (" + info.Text + ")" + s
	case FormEnd:
		r := regName(in.Dst, 64)
		return r + " = " + info.Text + " " + r
	case FormAddrCast:
		return fmt.Sprintf("%s = addr_space_cast(%s, %d, %d)", d, s, uint32(in.Imm)>>16, in.Imm&0xffff)
	case FormLoad:
		return d + " = *" + deref(info, in.Src, in.Off)
	case FormStoreImm:
		return "*" + deref(info, in.Dst, in.Off) + " = " + decimal(in.Imm)
	case FormStoreReg:
		return "*" + deref(info, in.Dst, in.Off) + " = " + s
	case FormAtomic:
		return fmt.Sprintf("lock *(%s *)(%s) %s %s", sizeText(info.Size), address(in.Dst, in.Off), info.Text, s)
	case FormFetch:
		return fmt.Sprintf("%s = %s((%s *)(%s), %s)", s, info.Text, sizeText(info.Size), address(in.Dst, in.Off), s)
	case FormXchg:
		return fmt.Sprintf("%s = %s(%s, %s)", s, info.Text, address(in.Dst, in.Off), s)
	case FormCmpXchg:
		r0 := regName(0, info.Width)
		return fmt.Sprintf("%s = %s(%s, %s, %s)", r0, info.Text, address(in.Dst, in.Off), r0, s)
	case FormLoadAcq:
		return d + " = load_acquire(" + deref(info, in.Src, in.Off) + ")"
	case FormStoreRel:
		return "store_release(" + deref(info, in.Dst, in.Off) + ", " + s + ")"
	case FormLdAbs:
		return "r0 = *(" + info.Text + " *)skb[" + decimal(in.Imm) + "]"
	case FormLdInd:
		return "r0 = *(" + info.Text + " *)skb[" + s + signed(int64(in.Imm)) + "]"
	case FormImm64:
		return d + " = " + imm64Text(insns, i, info, sym)
	case FormGotoX:
		return info.Text + " " + d
	case FormGoto, FormMayGoto:
		return fmt.Sprintf("%s %+d", info.Text, in.Off)
	case FormGotoL:
		return fmt.Sprintf("%s %+d", info.Text, in.Imm)
	case FormJumpImm:
		return fmt.Sprintf("if %s %s %d goto %+d", d, info.Text, in.Imm, in.Off)
	case FormJumpReg:
		return fmt.Sprintf("if %s %s %s goto %+d", d, info.Text, s, in.Off)
	case FormCall, FormCallKfunc:
		return callText(in, i, info, sym)
	}
	return info.Text // exit
}

// DisassembleAll returns a program, one instruction per line.
func DisassembleAll(insns []Insn, sym Symbols) string {
	var b strings.Builder
	for i := 0; i < len(insns); {
		b.WriteString(Disassemble(insns, i, sym))
		b.WriteByte('\n')
		i += TextLen(insns, i)
	}
	return b.String()
}

// TextLen returns the number of slots that the text of Disassemble covers: 2 for a well-formed
// LD_IMM64, else 1.
func TextLen(insns []Insn, i int) int {
	if insns[i].IsLdImm64() && writable(insns, i, insns[i].Info()) {
		return 2
	}
	return 1
}

// writable reports whether the text form of an instruction expresses all of its fields.
func writable(insns []Insn, i int, info *Info) bool {
	in := insns[i]
	if info.Op == OpInvalid || in.Reserved() != 0 || in.Dst >= NumRegs || in.Src >= NumRegs {
		return false
	}
	switch info.Form {
	case FormAddrCast: // imm is two 16-bit numbers: always expressible
		return true
	case FormImm64:
		if i+1 >= len(insns) {
			return false
		}
		next := insns[i+1]
		return next.Code == 0 && next.Dst == 0 && next.Src == 0 && next.Off == 0
	}
	return true
}

func regName(r uint8, width uint8) string {
	if width == 32 {
		return "w" + strconv.Itoa(int(r))
	}
	return "r" + strconv.Itoa(int(r))
}

func decimal(v int32) string { return strconv.Itoa(int(v)) }

// signed formats " + 5" or " - 5".
func signed(v int64) string {
	if v < 0 {
		return " - " + strconv.FormatInt(-v, 10)
	}
	return " + " + strconv.FormatInt(v, 10)
}

func address(base uint8, off int16) string { return regName(base, 64) + signed(int64(off)) }

// deref formats "(u32 *)(r2 + 0)".
func deref(info *Info, base uint8, off int16) string {
	return "(" + info.Text + " *)(" + address(base, off) + ")"
}

func sizeText(size uint8) string { return "u" + strconv.Itoa(int(size)*8) }

func imm64Text(insns []Insn, i int, info *Info, sym Symbols) string {
	first, second := insns[i].Imm, insns[i+1].Imm
	if info.Op == OpLdImm64 {
		v := int64(Imm64(insns, i))
		if v == int64(int32(v)) {
			return strconv.FormatInt(v, 10) + " ll"
		}
		return "0x" + strconv.FormatUint(uint64(v), 16) + " ll"
	}
	arg := decimal(first)
	if info.Op == OpLdFunc {
		arg = fmt.Sprintf("%+d", first)
	}
	if sym != nil {
		if name := sym.RefName(i); name != "" {
			arg = name
		}
	}
	if second != 0 || info.Op == OpLdMapValue || info.Op == OpLdMapIdxValue || info.Op == OpLdBTFID {
		arg += ", " + decimal(second)
	}
	return info.Text + "(" + arg + ")"
}

func callText(in Insn, pc int, info *Info, sym Symbols) string {
	name := ""
	if sym != nil {
		if info.Op == OpCallHelper {
			name = sym.HelperName(in.Imm)
		} else {
			name = sym.RefName(pc)
		}
	}
	switch info.Op {
	case OpCallLocal:
		if name != "" {
			return "call " + name
		}
		return fmt.Sprintf("call pc%+d", in.Imm)
	case OpCallKfunc:
		text := "call kfunc"
		if name != "" {
			text += " " + name
		}
		text += "#" + decimal(in.Imm)
		if in.Off != 0 {
			text += ", " + strconv.Itoa(int(in.Off))
		}
		return text
	}
	if name == "" {
		return "call " + decimal(in.Imm)
	}
	return "call " + name + "#" + decimal(in.Imm)
}
