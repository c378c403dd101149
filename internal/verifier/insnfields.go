package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// checkFields checks that unused fields of an instruction are 0. From 7.1 on all instructions are
// checked in advance (check_insn_fields); earlier releases check an instruction when they reach it.
// What is refused today may get a meaning tomorrow, and old programs must not mean something else
// then.
func (u *subject) checkFields(in *decode.Insn) {
	switch class(in) {
	case clsALU, clsALU64:
		u.aluFields(in)
	case clsJMP, clsJMP32:
		switch opOf(in) {
		case opCall, opJA, opExit:
			u.jumpFields(in)
		case opJCOND:
			u.mayGotoFields(in)
		default:
			u.condFields(in)
		}
	case clsLD:
		u.packetFields(in)
	default:
		u.memFields(in)
	}
}

// checkRegisters checks register numbers.
func (u *subject) checkRegisters(in *decode.Insn) {
	if n := max(in.Dst, in.Src); n > 10 {
		u.refuse(refusal.Invalid, n)
	}
}

// aluFields checks arithmetic (check_alu_op). Later instruction sets took fields that were
// reserved: off of a division says whether it has a sign, off of a move how many bits it extends.
func (u *subject) aluFields(in *decode.Insn) {
	alu64 := class(in) == clsALU64
	switch op := opOf(in); {
	case op == opNeg:
		if isX(in) || in.Src != 0 || in.Off != 0 || in.Imm != 0 {
			u.refuse(refusal.BPFNEGUsesReservedFields)
		}
	case op == opEnd:
		if in.Src != 0 || in.Off != 0 || in.Imm != 16 && in.Imm != 32 && in.Imm != 64 || alu64 && (isX(in) || !u.has(since.CPUv4)) {
			u.refuse(refusal.BPFENDUsesReservedFields)
		}
	case op == opMov:
		u.movFields(in, alu64)
	case op > opEnd:
		u.refuse(refusal.InvalidBPFALUOpcode, op)
	default:
		signed := in.Off == 1 && (op == opDiv || op == opMod) && u.has(since.CPUv4)
		// The first releases with signed division asked whether the offset was greater than 1.
		unasked := in.Off < 0 && u.has(since.CPUv4) && !u.has(since.ALUOffsets)
		if isX(in) && in.Imm != 0 || !isX(in) && in.Src != 0 || in.Off != 0 && !signed && !unasked {
			u.refuse(refusal.BPFALUUsesReservedFields)
		}
	}
}

// movFields checks moves: of a constant, of a register as a whole or of its low bits with their
// sign, and between address spaces.
func (u *subject) movFields(in *decode.Insn, alu64 bool) {
	ok := true
	switch {
	case !isX(in):
		ok = in.Src == 0 && in.Off == 0
	case isAddrCast(in) && u.has(since.AddrCast):
		if in.Imm != 1 && in.Imm != 1<<16 {
			u.refuse(refusal.AddrSpaceCastInsnOnlyConvert)
		}
	default:
		ok = in.Imm == 0 && (in.Off == 0 || u.has(since.CPUv4) && (in.Off == 8 || in.Off == 16 || in.Off == 32 && alu64))
	}
	if !ok {
		u.refuse(refusal.BPFMOVUsesReservedFields)
	}
}

// memFields checks loads and stores (do_check). The operation of an atomic instruction is in its
// imm.
func (u *subject) memFields(in *decode.Insn) {
	switch m := mode(in); {
	case class(in) == clsLDX:
		if m != modeMEM && !(m == modeMEMSX && u.has(since.CPUv4)) || in.Imm != 0 {
			u.refuse(refusal.BPFLDXUsesReservedFields)
		}
	case class(in) == clsST:
		if m != modeMEM || in.Src != 0 {
			u.refuse(refusal.BPFSTUsesReservedFields)
		}
	case m == modeATOMIC && (in.Imm == 0 || u.has(since.AtomicsFull)):
		// The operation is checked when the instruction is reached.
	case m != modeMEM || in.Imm != 0:
		u.refuse(refusal.BPFSTXUsesReservedFields)
	}
}

// jumpFields checks calls, jumps without a condition and exits (do_check). The long jump has its
// offset in imm, and the indirect one its register in dst.
func (u *subject) jumpFields(in *decode.Insn) {
	w32 := class(in) == clsJMP32
	switch opOf(in) {
	case opCall:
		if isX(in) || in.Src != 2 && in.Off != 0 || in.Src > 2 || in.Src == 2 && !u.has(since.Kfuncs) || in.Dst != 0 || w32 {
			u.refuse(refusal.BPFCALLUsesReservedFields)
		}
	case opJA:
		if isX(in) && u.has(since.Gotox) {
			if in.Src != 0 || in.Imm != 0 || in.Off != 0 {
				u.refuse(refusal.BPFJABPFXUsesReserved)
			}
			return
		}
		if isX(in) || in.Src != 0 || in.Dst != 0 || !w32 && in.Imm != 0 || w32 && (in.Off != 0 || !u.has(since.LongJump)) {
			u.refuse(refusal.BPFJAUsesReservedFields)
		}
	case opExit:
		if isX(in) || in.Imm != 0 || in.Src != 0 || in.Dst != 0 || w32 {
			u.refuse(refusal.BPFEXITUsesReservedFields)
		}
	}
}

// condFields: of the second operand, a register or a constant, the other must be 0.
func (u *subject) condFields(in *decode.Insn) {
	if isX(in) && in.Imm != 0 || !isX(in) && in.Src != 0 {
		u.refuse(refusal.BPFJMPJmp32UsesReservedFields)
	}
}

// mayGotoFields checks a may_goto, which has nothing but a target.
func (u *subject) mayGotoFields(in *decode.Insn) {
	if in.Code == clsJMP|opJCOND && in.Src == 0 && in.Dst == 0 && in.Imm == 0 && (in.Off != 0 || u.has(since.MayGotoZero)) {
		return
	}
	if u.has(since.InsnBeforeWalk) {
		u.refuse(refusal.InvalidMayGotoImm, in.Imm)
	}
	u.refuse(refusal.InvalidMayGotoOffImm, in.Off, in.Imm)
}

// packetFields checks the fields of absolute and indirect loads.
func (u *subject) packetFields(in *decode.Insn) {
	switch m := mode(in); {
	case m == modeABS || m == modeIND:
		if in.Dst != 0 || in.Off != 0 || sizeOf(in) == 8 || m == modeABS && in.Src != 0 {
			u.refuse(refusal.BPFLDABSINDUsesReserved)
		}
	case m != modeIMM:
		u.refuse(refusal.InvalidBPFLDMode)
	}
}
