package verifier

import "github.com/bpfrun/bpfrun/decode"

// Opcode bits.
const (
	clsLD, clsLDX, clsST, clsSTX       = 0, 1, 2, 3
	clsALU, clsJMP, clsJMP32, clsALU64 = 4, 5, 6, 7

	opJA, opCall, opExit, opJCOND  = 0x00, 0x80, 0x90, 0xe0
	opAdd, opSub, opMul, opDiv     = 0x00, 0x10, 0x20, 0x30
	opOr, opAnd, opLsh, opRsh      = 0x40, 0x50, 0x60, 0x70
	opNeg, opMod, opXor, opMov     = 0x80, 0x90, 0xa0, 0xb0
	opArsh, opEnd                  = 0xc0, 0xd0
	modeIMM, modeABS, modeIND      = 0x00, 0x20, 0x40
	modeMEM, modeMEMSX, modeATOMIC = 0x60, 0x80, 0xc0
	sizeW, sizeH, sizeB, sizeDW    = 0x00, 0x08, 0x10, 0x18
	srcX                           = 0x08
	fetch, cmpxchg, xchg           = 0x01, 0xf1, 0xe1
	loadAcq, storeRel              = 0x100, 0x110
	codeLdImm64                    = 0x18
	codeCall                       = 0x85
)

func class(in *decode.Insn) uint8 { return in.Code & 7 }
func opOf(in *decode.Insn) uint8  { return in.Code & 0xf0 }
func mode(in *decode.Insn) uint8  { return in.Code & 0xe0 }
func isX(in *decode.Insn) bool    { return in.Code&srcX != 0 }
func isJump(in *decode.Insn) bool { c := in.Code & 7; return c == clsJMP || c == clsJMP32 }

// sizeOf is the number of bytes that a load or store accesses (bpf_size_to_bytes).
func sizeOf(in *decode.Insn) int {
	switch in.Code & 0x18 {
	case sizeW:
		return 4
	case sizeH:
		return 2
	case sizeB:
		return 1
	}
	return 8
}

// isAddrCast recognises a move between address spaces, if the release has it.
func isAddrCast(in *decode.Insn) bool { return in.Code == clsALU64|opMov|srcX && in.Off == 1 }

func isLdImm64(in *decode.Insn) bool   { return in.Code == codeLdImm64 }
func isLocalCall(in *decode.Insn) bool { return in.Code == codeCall && in.Src == 1 }
func isKfuncCall(in *decode.Insn) bool { return in.Code == codeCall && in.Src == 2 }
func isHelperCall(in *decode.Insn) bool {
	return in.Code == codeCall && in.Src == 0
}
func isFuncRef(in *decode.Insn) bool { return in.Code == codeLdImm64 && in.Src == 4 }
func isMayGoto(in *decode.Insn) bool { return in.Code == clsJMP|opJCOND && in.Src == 0 }
func isFetch(in *decode.Insn) bool {
	return class(in) == clsSTX && mode(in) == modeATOMIC && in.Imm&fetch != 0
}
func isLoadAcq(in *decode.Insn) bool {
	return class(in) == clsSTX && mode(in) == modeATOMIC && in.Imm == loadAcq
}

// jumpOff is the offset of a jump: the long one has it in imm.
func jumpOff(in *decode.Insn) int {
	if in.Code == clsJMP32|opJA {
		return int(in.Imm)
	}
	return int(in.Off)
}

// callTarget returns the function that an instruction calls or takes the address of.
func callTarget(i int, in *decode.Insn) int { return i + int(in.Imm) + 1 }
