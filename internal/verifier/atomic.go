package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// atomicOK reports whether atomic instructions are allowed on the memory that a register points to
// (atomic_ptr_type_ok). Accesses to contexts, sockets and flow keys are rewritten when the program
// is loaded, which an atomic operation cannot be; what is in packets need not be aligned.
func (a *memory) atomicOK(n uint8) bool {
	switch t := a.reg(int(n)).typ; {
	case t == ptrCtx, t.isPacket(), t == ptrFlowKeys, t.isSock():
		return false
	case t == ptrArena:
		return a.has(since.ArenaAtomics)
	}
	return true
}

// atomic checks read-modify-write operations (check_atomic). Before 5.12 the only one was an
// addition, so that every other immediate was a reserved field.
func (a *memory) atomic(in *decode.Insn) {
	size := sizeOf(in)
	switch in.Imm {
	case opAdd:
	case opAdd | fetch, opAnd, opAnd | fetch, opOr, opOr | fetch, opXor, opXor | fetch, xchg, cmpxchg:
		// All of these came with 5.12, and CPU version 3 in compilers.
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
		// Before 5.12 imm had no meaning but that of a reserved field.
		if !a.has(since.AtomicsFull) {
			a.refuse(refusal.BPFSTXUsesReservedFields)
		}
		a.refuse(refusal.BPFAtomicUsesInvalidAtomicOpcode, in.Imm)
	}
	// No architecture's JIT has operations on less than a word. Loads and stores with an order have
	// all sizes, which is why this check is not theirs.
	if size < 4 {
		a.refuse(refusal.InvalidAtomicOperandSize)
	}
	a.values.checkSrc(in.Src)
	a.values.checkSrc(in.Dst)
	if in.Imm == cmpxchg {
		a.values.checkSrc(0)
	}
	// The old value goes to the source register, and with CMPXCHG to R0, which also holds the value
	// to compare with.
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
	// Both directions must be allowed, so the location is checked as read and as written. What is
	// fetched from the stack may be a spill, so that the second read gives the register its value
	// (check_atomic_rmw).
	a.access(a.insn, int(in.Dst), int(in.Off), size, read, -1, true, false)
	if loadReg >= 0 {
		a.access(a.insn, int(in.Dst), int(in.Off), size, read, loadReg, true, false)
	}
	// The rewriting of an access depends on the type of its pointer, so an instruction must see the
	// same one on all paths (save_aux_ptr_type).
	if a.has(since.AtomicPointerTypes) {
		a.samePointer(a.reg(int(in.Dst)).typ, false)
	}
	a.access(a.insn, int(in.Dst), int(in.Off), size, write, -1, true, false)
}

// orderedLoad checks a load-acquire, which is a load in all that matters here, although its class
// is that of stores (check_atomic_load).
func (a *memory) orderedLoad(in *decode.Insn) {
	a.values.checkSrc(in.Src)
	if !a.atomicOK(in.Src) {
		a.refuse(refusal.BPFAtomicLoadsRNotAllowed, in.Src, a.typeName(a.reg(int(in.Src)).typ))
	}
	a.values.checkDst(in.Dst, false)
	t := a.reg(int(in.Src)).typ
	a.access(a.insn, int(in.Src), int(in.Off), sizeOf(in), read, int(in.Dst), true, false)
	// The type from before the load, because the destination may be the register with the address.
	a.samePointer(t, false)
	a.values.sane(a.reg(int(in.Dst)))
}

// orderedStore checks a store-release: a store that may spill (check_atomic_store).
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
