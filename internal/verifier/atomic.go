package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// atomicOK reports whether atomic instructions are allowed on the memory that a register points to.
func (a *memory) atomicOK(n uint8) bool {
	switch t := a.reg(int(n)).typ; {
	case t == ptrCtx, t.isPacket(), t == ptrFlowKeys, t.isSock():
		return false
	case t == ptrArena:
		return a.has(since.ArenaAtomics)
	}
	return true
}

func (a *memory) atomic(in *decode.Insn) {
	size := sizeOf(in)
	switch in.Imm {
	case opAdd:
	case opAdd | fetch, opAnd, opAnd | fetch, opOr, opOr | fetch, opXor, opXor | fetch, xchg, cmpxchg:
		if !a.has(since.AtomicsFull) {
			a.refuse(refusal.BPFSTXUsesReservedFields)
		}
	case loadAcq:
		if a.has(since.LoadAcquire) {
			a.orderedLoad(in)
			return
		}
		a.refuse(refusal.BPFAtomicUsesInvalidAtomicOpcode, in.Imm)
	case storeRel:
		if a.has(since.LoadAcquire) {
			a.orderedStore(in)
			return
		}
		a.refuse(refusal.BPFAtomicUsesInvalidAtomicOpcode, in.Imm)
	default:
		if !a.has(since.AtomicsFull) {
			a.refuse(refusal.BPFSTXUsesReservedFields)
		}
		a.refuse(refusal.BPFAtomicUsesInvalidAtomicOpcode, in.Imm)
	}
	if size < 4 {
		a.refuse(refusal.InvalidAtomicOperandSize)
	}
	a.values.checkSrc(in.Src)
	a.values.checkSrc(in.Dst)
	if in.Imm == cmpxchg {
		a.values.checkSrc(0)
	}
	if !a.atomicOK(in.Dst) {
		a.refuse(refusal.BPFAtomicStoresIntoRNot, in.Dst, a.typeName(a.reg(int(in.Dst)).typ))
	}
	loadReg := -1
	if in.Imm&fetch != 0 {
		loadReg = int(in.Src)
		if in.Imm == cmpxchg {
			loadReg = 0
		}
	}
	// The loaded value is derived from the memory before the destination register changes.
	if loadReg >= 0 {
		a.values.checkDst(uint8(loadReg), true)
	}
	a.access(a.insn, int(in.Dst), int(in.Off), size, read, -1, true, false)
	if loadReg >= 0 {
		a.access(a.insn, int(in.Dst), int(in.Off), size, read, loadReg, true, false)
	}
	if a.has(since.AtomicPointerTypes) {
		a.samePointer(a.reg(int(in.Dst)).typ, false)
	}
	a.access(a.insn, int(in.Dst), int(in.Off), size, write, -1, true, false)
}

func (a *memory) orderedLoad(in *decode.Insn) {
	a.values.checkSrc(in.Src)
	if !a.atomicOK(in.Src) {
		a.refuse(refusal.BPFAtomicLoadsRNotAllowed, in.Src, a.typeName(a.reg(int(in.Src)).typ))
	}
	a.values.checkDst(in.Dst, false)
	t := a.reg(int(in.Src)).typ
	a.access(a.insn, int(in.Src), int(in.Off), sizeOf(in), read, int(in.Dst), true, false)
	a.samePointer(t, false)
	a.values.sane(a.reg(int(in.Dst)))
}

func (a *memory) orderedStore(in *decode.Insn) {
	a.values.checkSrc(in.Src)
	a.values.checkSrc(in.Dst)
	if !a.atomicOK(in.Dst) {
		a.refuse(refusal.BPFAtomicStoresIntoRNot, in.Dst, a.typeName(a.reg(int(in.Dst)).typ))
	}
	t := a.reg(int(in.Dst)).typ
	a.access(a.insn, int(in.Dst), int(in.Off), sizeOf(in), write, int(in.Src), true, false)
	a.samePointer(t, false)
}
