package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// call judges a call of any kind.
func (e *env) call(in *decode.Insn) stepResult {
	e.checkLockedCall(in)
	switch in.Src {
	case 1:
		return e.callFunc(in)
	case 2:
		return e.callKfunc(in)
	}
	return e.callHelper(in)
}

// checkLockedCall: while a lock is held, few calls are allowed.
func (e *env) checkLockedCall(in *decode.Insn) {
	if !e.holdsLock() {
		return
	}
	ok := true
	switch in.Src {
	case 0:
		ok = uapi.FuncID(in.Imm) == uapi.FuncSpinUnlock || e.rel >= since.R(6, 13) && uapi.FuncID(in.Imm) == uapi.FuncKptrXchg
	case 1:
		ok = e.rel >= since.R(6, 2)
	case 2:
		k := e.kfuncAt(e.insn)
		ok = k != nil && k.allowedLocked(e.rel)
	}
	if !ok {
		e.refuse(uapi.EINVAL, "function calls are not allowed while holding a lock")
	}
}

// helperOf finds a helper's prototype for this program; it refuses calls of what is not there.
func (e *env) helperOf(id uapi.FuncID) (*proto.Helper, *proto.Proto) {
	h, ok := proto.Lookup(id)
	if !ok || !h.In(e.rel) {
		e.refuse(uapi.EINVAL, "invalid func %s#%d", helperName(h, ok), int32(id))
	}
	p := h.For(e.rel, e.callerOf(id))
	if p == nil || !e.onlyHook(p.Only) || id == uapi.FuncOverrideReturn && !e.errorInjection() {
		if e.rel >= since.R(6, 12) {
			e.refuse(uapi.EINVAL, "program of this type cannot use helper %s#%d", h.Name(), int32(id))
		}
		e.refuse(uapi.EINVAL, "unknown func %s#%d", h.Name(), int32(id))
	}
	return h, p
}

// callerOf is the program as the table of prototypes knows it. Programs on devices and sysctls that were loaded with their attach
// type may use the return value as those on sockets (kernel/bpf/cgroup.c cgroup_common_func_proto asks the attach type).
func (e *env) callerOf(id uapi.FuncID) proto.Caller {
	c := e.prog.caller
	if (id == uapi.FuncGetRetval || id == uapi.FuncSetRetval) && (c.Type == uapi.ProgTypeCgroupDevice && c.Attach == uapi.AttachCgroupDevice || c.Type == uapi.ProgTypeCgroupSysctl && c.Attach == uapi.AttachCgroupSysctl) {
		return proto.Caller{Type: uapi.ProgTypeCgroupSockopt, Attach: uapi.AttachCgroupSetsockopt}
	}
	return c
}

func helperName(h *proto.Helper, ok bool) string {
	return "unknown"
}

// changesPacket and helperMightSleep are what the walk over the control flow asks.
func (e *env) changesPacket(id uapi.FuncID) bool {
	h, ok := proto.Lookup(id)
	if !ok || !h.In(e.rel) {
		return false
	}
	if id == uapi.FuncTailCall {
		return e.has(since.TailCallInvalidates)
	}
	return h.Has(proto.ChangesPacket, e.rel)
}

func (e *env) helperMightSleep(id uapi.FuncID) bool {
	h, ok := proto.Lookup(id)
	if !ok {
		return false
	}
	p := h.For(e.rel, e.prog.caller)
	return p != nil && p.Attr&proto.MightSleep != 0
}

func (e *env) isSyncCallback(in *decode.Insn, i int) bool {
	if isHelperCall(in) {
		h, ok := proto.Lookup(uapi.FuncID(in.Imm))
		return ok && h.Effects&proto.CallsBack != 0
	}
	if isKfuncCall(in) {
		k := e.kfuncAt(i)
		return k != nil && k.name == "bpf_rbtree_add_impl" || k != nil && k.name == "bpf_rbtree_add"
	}
	return false
}

func (e *env) isAsyncCallback(in *decode.Insn, i int) bool {
	if isHelperCall(in) {
		h, ok := proto.Lookup(uapi.FuncID(in.Imm))
		return ok && h.Effects&proto.CallsBackLater != 0
	}
	if isKfuncCall(in) {
		k := e.kfuncAt(i)
		return k != nil && k.async()
	}
	return false
}

// paramsOf is how many arguments a call takes, if that is known beforehand.
func (e *env) paramsOf(i int) (int, bool) {
	in := &e.insns[i]
	switch {
	case isHelperCall(in):
		h, ok := proto.Lookup(uapi.FuncID(in.Imm))
		if !ok || !h.In(e.rel) {
			return 0, false
		}
		p := h.For(e.rel, e.prog.caller)
		if p == nil {
			return 0, false
		}
		return len(p.Args), true
	case isKfuncCall(in):
		if k := e.kfuncAt(i); k != nil && k.proto != nil && k.allowed {
			return len(k.proto.Params), true
		}
	}
	return 0, false
}

// callHelper judges a helper call (check_helper_call).
func (e *env) callHelper(in *decode.Insn) stepResult {
	id := uapi.FuncID(in.Imm)
	h, p := e.helperOf(id)
	if p.Attr&proto.GPLOnly != 0 && !e.prog.gpl {
		e.refuse(uapi.EINVAL, "cannot call GPL-restricted function from non-GPL compatible program")
	}
	if p.Attr&proto.MightSleep != 0 {
		e.checkMaySleep("helper", h.Name(), int32(id))
	}
	m := &callMeta{id: id, packet: p.Attr&proto.PacketAccess != 0}
	for i := range p.Args {
		e.helperArg(i, p, m)
	}
	e.recordMap(m)
	e.recordKey(m)
	for i := 0; i < m.accessSize; i++ {
		e.access(e.insn, m.regno, i, 1, write, -1, false, false)
	}
	e.releaseArg(h, p, m)
	changes := h.Has(proto.ChangesPacket, e.rel) && id != uapi.FuncTailCall || id == uapi.FuncTailCall && e.has(since.TailCallInvalidates)
	changes = e.helperSpecial(id, m, changes)
	regs := e.regs()
	percpuObj := (id == uapi.FuncPerCpuPtr || id == uapi.FuncThisCpuPtr) && regs[1].isRCU()
	e.clobber(regs)
	e.helperResult(h, p, m, percpuObj)
	e.checkMapFunc(m, id)
	if id == uapi.FuncGetFuncIp {
		e.checkFuncIP(h)
	}
	if id == uapi.FuncTailCall && e.has(since.TailCallReturns) {
		if e.cur.curFrame == 0 {
			return stepNext
		}
		// The program called instead may return for this function.
		e.push(e.insn+1, e.insn)
		e.forgetPackets()
		e.reg(0).unknown()
		if e.live != nil {
			e.live.update(e)
		}
		e.leaveFunc()
		return stepReturned
	}
	if changes {
		e.forgetPackets()
	}
	return e.enterCallback()
}

// checkMaySleep demands a place where a function may sleep.
func (e *env) checkMaySleep(kind, name string, id int32) {
	s := e.cur
	if e.rel >= since.R(7, 0) {
		if !e.inSleepable() {
			what := e.nonSleepable()
			if kind == "helper" {
				e.refuse(uapi.EINVAL, "sleepable %s %s#%d in %s", kind, name, id, what)
			}
		}
		return
	}
	if !e.sleepable() {
		e.refuse(uapi.EINVAL, "helper call might sleep in a non-sleepable prog")
	}
	if s.rcu > 0 {
		e.refuse(uapi.EINVAL, "sleepable helper %s#%d in rcu_read_lock region", name, id)
	}
	if s.preempt > 0 {
		e.refuse(uapi.EINVAL, "sleepable helper %s#%d in non-preemptible region", name, id)
	}
	if s.irqID != 0 {
		e.refuse(uapi.EINVAL, "sleepable helper %s#%d in IRQ-disabled region", name, id)
	}
}

// inSleepable: nothing forbids to sleep here.
func (e *env) inSleepable() bool {
	s := e.cur
	return e.sleepable() && s.rcu == 0 && s.preempt == 0 && s.irqID == 0 && s.locks == 0
}

func (e *env) nonSleepable() string {
	s := e.cur
	switch {
	case s.rcu > 0:
		return "rcu_read_lock region"
	case s.preempt > 0:
		return "non-preemptible region"
	case s.irqID != 0:
		return "IRQ-disabled region"
	case s.locks > 0:
		return "lock region"
	}
	return "non-sleepable prog"
}

// helperSpecial does what one helper alone needs; it returns whether the packet may have changed.
func (e *env) helperSpecial(id uapi.FuncID, m *callMeta, changes bool) bool {
	regs := e.regs()
	switch id {
	case uapi.FuncTailCall:
		e.tailCall()
	case uapi.FuncGetLocalStorage:
		if !regs[2].isNull() {
			e.refuse(uapi.EINVAL, "get_local_storage() doesn't support non-zero flags")
		}
		e.precise(2)
	case uapi.FuncForEachMapElem:
		e.callback(m.sub, cbMapElem)
	case uapi.FuncTimerSetCallback:
		e.callback(m.sub, cbTimer)
	case uapi.FuncFindVma:
		e.callback(m.sub, cbVMA)
	case uapi.FuncUserRingbufDrain:
		e.callback(m.sub, cbUserRing)
	case uapi.FuncSnprintf:
		e.checkFormat(regs)
	case uapi.FuncLoop:
		e.loopCall(m)
	case uapi.FuncDynptrFromMem:
		if regs[1].typ != ptrMapValue {
			e.refuse(uapi.EACCES, "Unsupported reg type %s for bpf_dynptr_from_mem data", e.typeName(regs[1].typ))
		}
	case uapi.FuncSetRetval:
		e.checkSetRetval(regs)
	case uapi.FuncDynptrData:
		r := &regs[1]
		m.dyn, m.ref = e.dynptrID(r), e.dynptrRef(r)
	case uapi.FuncDynptrWrite:
		t := e.dynptrType(&regs[1])
		if t == dynTypeSkb || t == dynTypeSkbMeta {
			return true
		}
	}
	return changes
}

func (e *env) tailCall() {
	if e.rel >= since.R(6, 14) {
		e.resourceLeak(true, true, "tail_call")
		return
	}
	s := e.cur
	if s.lock != (lockKey{}) && e.rel >= since.R(6, 2) {
		e.refuse(uapi.EINVAL, "tail_call cannot be used inside bpf_spin_lock-ed region")
	}
	if e.leak(false) {
		e.refuse(uapi.EINVAL, "tail_call would lead to reference leak")
	}
	if s.rcu > 0 {
		e.refuse(uapi.EINVAL, "tail_call cannot be used inside bpf_rcu_read_lock-ed region")
	}
	if s.preempt > 0 {
		e.refuse(uapi.EINVAL, "tail_call cannot be used inside bpf_preempt_disable-ed region")
	}
}

// recordMap remembers which map a call is for.
func (e *env) recordMap(m *callMeta) {
	switch m.id {
	case uapi.FuncTailCall, uapi.FuncMapLookupElem, uapi.FuncMapUpdateElem, uapi.FuncMapDeleteElem, uapi.FuncMapPushElem, uapi.FuncMapPopElem,
		uapi.FuncMapPeekElem, uapi.FuncForEachMapElem, uapi.FuncRedirectMap, uapi.FuncMapLookupPercpuElem:
	default:
		return
	}
	if m.mapp == nil {
		e.refuse(uapi.EINVAL, "kernel subsystem misconfigured verifier")
	}
	if m.mapp.Flags&flagRdonlyProg != 0 {
		switch m.id {
		case uapi.FuncMapDeleteElem, uapi.FuncMapUpdateElem, uapi.FuncMapPushElem, uapi.FuncMapPopElem:
			e.refuse(uapi.EACCES, "write into map forbidden")
		}
	}
	e.curAux().lookup = m.mapp.index
}

func (e *env) recordKey(m *callMeta) {
	if m.id != uapi.FuncTailCall {
		return
	}
	if m.mapp.Type != uapi.MapTypeProgArray {
		e.refuse(uapi.EINVAL, "kernel subsystem misconfigured verifier")
	}
	if r := e.reg(3); r.isConst() && r.Var.Value < uint64(m.mapp.MaxEntries) {
		e.precise(3)
	}
}

func (e *env) checkFuncIP(h *proto.Helper) {
	switch e.prog.typ {
	case uapi.ProgTypeTracing:
		switch e.p.Attach {
		case uapi.AttachTraceFentry, uapi.AttachTraceFexit, uapi.AttachModifyReturn:
		default:
			e.refuse(uapi.ENOTSUPP, "func %s#%d supported only for fentry/fexit/fmod_ret programs", h.Name(), int32(h.ID))
		}
	case uapi.ProgTypeKprobe:
	default:
		e.refuse(uapi.ENOTSUPP, "func %s#%d not supported for program type %d", h.Name(), int32(h.ID), e.prog.typ)
	}
}

func (e *env) checkSetRetval(regs *[11]reg) {
	if e.prog.typ != uapi.ProgTypeLSM || e.p.Attach != uapi.AttachLSMCgroup {
		return
	}
	if e.prog.attachProto != nil && e.prog.attachProto.Ref == 0 {
		e.refuse(uapi.EINVAL, "BPF_LSM_CGROUP that attach to void LSM hooks can't modify return value!")
	}
	if e.rel >= since.R(7, 0) {
		rg, ok := e.lsmRange()
		if !ok {
			rg = retRange{-maxErrno, 0}
		}
		e.precise(1)
		if r := &regs[1]; int64(rg.min) > r.SMin || r.SMax > int64(rg.max) {
			e.badRange(r, rg, "At bpf_set_retval", "R1")
			panic(refusal{uapi.EINVAL})
		}
	}
}
