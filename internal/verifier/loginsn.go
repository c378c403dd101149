package verifier

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

var (
	aluSigns    = [16]string{"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "endian"}
	jumpSigns   = [16]string{"jmp", "==", ">", ">=", "&", "!=", "s>", "s>=", "call", "exit", "<", "<=", "s<", "s<="}
	atomicNames = map[int32]string{opAdd | fetch: "fetch_add", opAnd | fetch: "fetch_and", opOr | fetch: "fetch_or", opXor | fetch: "fetch_xor", xchg: "xchg", cmpxchg: "cmpxchg"}
)

// insnText is an instruction as the kernel's log has it.
func insnText(e *position, i int) string {
	return InsnText(e.insns, i, func(i int) string {
		if k := e.aux[i].kfunc; k != nil {
			return k.name
		}
		return ""
	})
}

// InsnText returns an instruction as kernels' logs and bpftool have it (print_bpf_insn): "r1 =
// *(u64 *)(r1 +0)". Addresses are 0, as in the logs of loads that may not see them. kfunc names the
// kernel function that a call leads to, "" where it is not known.
func InsnText(insns []decode.Insn, i int, kfunc func(i int) string) string {
	in := &insns[i]
	switch class(in) {
	case clsALU, clsALU64:
		return aluText(in)
	case clsLD:
		return loadImmText(insns, i)
	case clsLDX:
		signed := ""
		if mode(in) == modeMEMSX {
			signed = "s"
		}
		return fmt.Sprintf("r%d = *(%s *)(r%d %+d)", in.Dst, memSize(in, signed), in.Src, in.Off)
	case clsST:
		return fmt.Sprintf("*(%s *)(r%d %+d) = %d", memSize(in, ""), in.Dst, in.Off, in.Imm)
	case clsSTX:
		if mode(in) == modeATOMIC {
			return atomicText(in)
		}
		return fmt.Sprintf("*(%s *)(r%d %+d) = r%d", memSize(in, ""), in.Dst, in.Off, in.Src)
	}
	if opOf(in) == opCall {
		name := ""
		if isKfuncCall(in) {
			name = kfunc(i)
		}
		return callText(in, name)
	}
	return jumpText(in)
}

// memSize returns the type of an access; signed is "s" for sign-extending loads.
func memSize(in *decode.Insn, signed string) string {
	if signed == "" {
		signed = "u"
	}
	return fmt.Sprintf("%s%d", signed, 8*sizeOf(in))
}

// regLetter: 32-bit operations name the register w.
func regLetter(in *decode.Insn) byte {
	if c := class(in); c == clsALU || c == clsJMP32 {
		return 'w'
	}
	return 'r'
}

// aluText is arithmetic as print_bpf_insn has it: 32-bit registers are w, the result is the first
// operand.
func aluText(in *decode.Insn) string {
	w := regLetter(in)
	switch opOf(in) {
	case opEnd:
		order := "le"
		if isX(in) {
			order = "be"
		}
		if class(in) == clsALU64 {
			order = "bswap"
		}
		return fmt.Sprintf("r%d = %s%d r%d", in.Dst, order, in.Imm, in.Dst)
	case opNeg:
		return fmt.Sprintf("%c%d = -%c%d", w, in.Dst, w, in.Dst)
	}
	if isAddrCast(in) {
		return fmt.Sprintf("r%d = addr_space_cast(r%d, %d, %d)", in.Dst, in.Src, uint32(in.Imm)>>16, uint16(in.Imm))
	}
	sign := aluSigns[in.Code>>4]
	if in.Off == 1 && (opOf(in) == opDiv || opOf(in) == opMod) {
		sign = "s" + sign
	}
	if !isX(in) {
		return fmt.Sprintf("%c%d %s %d", w, in.Dst, sign, in.Imm)
	}
	extend := ""
	if opOf(in) == opMov && in.Off >= 8 {
		extend = fmt.Sprintf("(s%d)", in.Off)
	}
	return fmt.Sprintf("%c%d %s %s%c%d", w, in.Dst, sign, extend, w, in.Src)
}

// loadImmText is a two-slot load or a load from the packet, which the kernel writes as an access to
// skb.
func loadImmText(insns []decode.Insn, i int) string {
	in := &insns[i]
	switch {
	case mode(in) == modeABS:
		return fmt.Sprintf("r0 = *(%s *)skb[%d]", memSize(in, ""), in.Imm)
	case mode(in) == modeIND:
		return fmt.Sprintf("r0 = *(%s *)skb[r%d + %d]", memSize(in, ""), in.Src, in.Imm)
	case !isLdImm64(in) || i+1 >= len(insns):
		return fmt.Sprintf("BUG_ld_%02x", in.Code)
	case isFuncRef(in):
		return fmt.Sprintf("r%d = %#x", in.Dst, uint64(int64(in.Imm)))
	case in.Src != 0:
		return fmt.Sprintf("r%d = 0x0", in.Dst)
	}
	return fmt.Sprintf("r%d = %#x", in.Dst, decode.Imm64(insns, i))
}

// atomicText is an atomic operation; those with a result are written as functions.
func atomicText(in *decode.Insn) string {
	at := fmt.Sprintf("(%s *)(r%d %+d)", memSize(in, ""), in.Dst, in.Off)
	wide := ""
	if sizeOf(in) == 8 {
		wide = "64"
	}
	switch in.Imm {
	case opAdd, opAnd, opOr, opXor:
		return fmt.Sprintf("lock *%s %s r%d", at, aluSigns[in.Imm>>4], in.Src)
	case cmpxchg:
		return fmt.Sprintf("r0 = atomic%s_cmpxchg(%s, r0, r%d)", wide, at, in.Src)
	case loadAcq:
		return fmt.Sprintf("r%d = load_acquire((%s *)(r%d %+d))", in.Dst, memSize(in, ""), in.Src, in.Off)
	case storeRel:
		return fmt.Sprintf("store_release(%s, r%d)", at, in.Src)
	}
	if name, ok := atomicNames[in.Imm]; ok {
		return fmt.Sprintf("r%d = atomic%s_%s(%s, r%d)", in.Src, wide, name, at, in.Src)
	}
	return fmt.Sprintf("BUG_%02x", in.Code)
}

// callText is a call, with the name of what is called (print_bpf_insn by way of disasm_kfunc_name).
func callText(in *decode.Insn, kfunc string) string {
	name := "unknown"
	switch {
	case isLocalCall(in):
		return fmt.Sprintf("call pc%+d", in.Imm)
	case isHelperCall(in):
		if h, ok := proto.Lookup(uapi.FuncID(in.Imm)); ok {
			name = "bpf_" + strings.TrimPrefix(h.Name(), "bpf_")
		}
	case isKfuncCall(in):
		name = "kernel-function"
		if kfunc != "" {
			name = kfunc
		}
	}
	return fmt.Sprintf("call %s#%d", name, in.Imm)
}

// jumpText is a jump; offsets count from the next instruction.
func jumpText(in *decode.Insn) string {
	w := regLetter(in)
	switch op := opOf(in); {
	case op == opJA && isX(in):
		return fmt.Sprintf("gotox r%d", in.Dst)
	case op == opJA && class(in) == clsJMP32:
		return fmt.Sprintf("gotol pc%+d", in.Imm)
	case op == opJA:
		return fmt.Sprintf("goto pc%+d", in.Off)
	case isMayGoto(in):
		return fmt.Sprintf("may_goto pc%+d", in.Off)
	case op == opExit:
		return "exit"
	case isX(in):
		return fmt.Sprintf("if %c%d %s %c%d goto pc%+d", w, in.Dst, jumpSigns[in.Code>>4], w, in.Src, in.Off)
	}
	return fmt.Sprintf("if %c%d %s %#x goto pc%+d", w, in.Dst, jumpSigns[in.Code>>4], uint32(in.Imm), in.Off)
}
