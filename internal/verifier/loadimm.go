package verifier

import (
	"slices"
	"strconv"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

func itoa(n int) string { return strconv.Itoa(n) }
func sortInts(s []int)  { slices.Sort(s) }

// loadImm checks the load of a 64-bit immediate, a map, a function or a kernel variable
// (check_ld_imm).
func (e *explorer) loadImm(in *decode.Insn) {
	if sizeOf(in) != 8 {
		e.refuse(refusal.InvalidBPFLDIMMInsn)
	}
	if in.Off != 0 {
		e.refuse(refusal.BPFLDImm64UsesReservedFields)
	}
	e.values.checkDst(in.Dst, true)
	d := e.reg(int(in.Dst))
	a := e.curAux()
	switch in.Src {
	case 0:
		v := decode.Imm64(e.insns, e.insn)
		if ref, ok := e.p.Refs[e.insn]; ok && v == 0 && ref.Kind == RefKsym && !ref.Missing {
			// The address of the symbol does not matter, but no two symbols have the same.
			v = 0xffffffff81000000 + uint64(e.insn)<<8
		}
		d.constant(v)
	case 3:
		d.value = a.btfVar
		d.id, d.ref = 0, 0
	case 4:
		sub := e.subprogFrom(callTarget(e.insn, in))
		if !e.funcInfo() {
			e.refuse(refusal.MissingBtfFuncInfo)
		}
		// A global function is verified without its callers, and so without what a callback gets.
		if e.subs[sub].linkage != funcStatic {
			e.refuse(refusal.CallbackFunctionNotStatic)
		}
		// It has no caller, and so no frame to return to.
		if sub == 0 && e.has(since.NoMainCallback) {
			e.refuse(refusal.CallbackFunctionCannotMainProgram)
		}
		d.pointer(ptrFunc)
		d.sub = uint16(sub)
	case 1, 5:
		d.pointer(constMap)
		d.mapp = a.mapp
	case 2, 6:
		m := e.maps[a.mapp-1]
		// The address is that of user space, a number until it is cast.
		if m.Type == uapi.MapTypeArena {
			d.unknown()
			return
		}
		d.pointer(ptrMapValue)
		d.mapp = a.mapp
		d.off = int32(a.off)
		if m.rec.has(fieldSpinLock) && !e.has(since.LockIdentity) {
			d.id = e.newID()
		}
	}
}

// loadPacket checks the legacy loads from the packet (check_ld_abs). They are calls in disguise:
// they take the context in R6, return in R0, clobber R1 to R5, and end the program if the packet is
// too short.
func (e *explorer) loadPacket(in *decode.Insn) stepResult {
	switch e.prog.typ {
	case uapi.ProgTypeSocketFilter, uapi.ProgTypeSchedCls, uapi.ProgTypeSchedAct:
		// Only their contexts are packets in the form that the load expects (may_access_skb).
	default:
		e.refuse(refusal.BPFLDABSINDInstructionsNot)
	}
	s := e.cur
	for i := s.curFrame; i > 0; i-- {
		if s.frames[i].inCallback && e.has(since.NoLoadPacketInCallback) {
			e.refuse(refusal.CannotUseBPFLDABSIND)
		}
	}
	e.packetFields(in)
	e.values.checkSrc(6)
	// Nothing could release what is held then.
	if e.has(since.StateRefs) {
		e.resources.resourceLeak(true, true, "BPF_LD_[ABS|IND]")
	} else {
		if e.resources.leak(false) {
			e.refuse(refusal.BPFLDABSINDCannotMixed)
		}
		if s.lock != (lockKey{}) {
			e.refuse(refusal.BPFLDABSINDCannotUsed)
		}
		if s.rcu > 0 {
			e.refuse(refusal.BPFLDABSINDCannotUsed2)
		}
		if s.preempt > 0 {
			e.refuse(refusal.BPFLDABSINDCannotUsed3)
		}
	}
	// The instruction names no register for the context: by convention it is R6.
	r6 := e.reg(6)
	if r6.typ != ptrCtx {
		e.refuse(refusal.TimeBPFLDABSINDR6)
	}
	if mode(in) == modeIND {
		e.values.checkSrc(in.Src)
	}
	e.memory.checkOffset(r6, 6, false)
	e.values.clobber(e.regs())
	e.reg(0).unknown()
	if s.curFrame > 0 && e.has(since.LoadPacketReturns) {
		// A load outside the packet ends the function with 0.
		e.pool.push(e.insn+1, e.insn)
		e.reg(0).constant(0)
		if e.liveness.live != nil {
			e.liveness.live.update(e.position)
		}
		e.frames.leaveFunc()
		return stepJumped // the log does not say so
	}
	return stepNext
}
