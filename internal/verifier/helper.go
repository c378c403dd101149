package verifier

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// callHelper checks a helper call (check_helper_call).
func (c *helpers) callHelper(in *decode.Insn) stepResult {
	id := uapi.FuncID(in.Imm)
	h, p := c.helperOf(id)
	// These helpers use functions of the kernel that are exported to GPL code only.
	if p.Attr&proto.GPLOnly != 0 && !c.prog.gpl {
		c.refuse(refusal.CannotCallGPLRestrictedFunctionNon)
	}
	if c.mightSleep(id, p) {
		c.checkMaySleep("helper", h.Name(), int32(id))
	}
	m := &callMeta{id: id, packet: p.Attr&proto.PacketAccess != 0}
	for i := range p.Args {
		c.arguments.helperArg(i, p, m)
	}
	c.recordMap(m)
	c.recordKey(m)
	// Memory that the helper fills need not be initialised before the call, and is after it: for
	// the stack this marks each byte as written (check_helper_call).
	for i := 0; i < m.accessSize; i++ {
		c.memory.access(c.insn, m.regno, i, 1, write, -1, false, false)
	}
	c.arguments.releaseArg(h, p, m)
	changes := h.Has(proto.ChangesPacket, c.rel) && id != uapi.FuncTailCall || id == uapi.FuncTailCall && c.has(since.TailCallInvalidates)
	changes = c.helperSpecial(id, m, changes)
	regs := c.regs()
	// Before the registers are clobbered.
	percpuObj := (id == uapi.FuncPerCpuPtr || id == uapi.FuncThisCpuPtr) && regs[1].isRCU()
	c.values.clobber(regs)
	c.helperResult(h, p, m, percpuObj)
	c.checkMapFunc(m, id)
	if id == uapi.FuncGetFuncIp {
		c.checkFuncIP(h)
	}
	// The tail call may fail, and then goes on behind it; if it succeeds, another program returns
	// to the caller of this function, with any number in R0.
	if id == uapi.FuncTailCall && c.has(since.TailCallReturns) {
		// In the program itself nothing is left that could go on after the other program.
		if c.cur.curFrame == 0 {
			return stepNext
		}
		if c.frame().inCallback && c.has(since.CallbackTailCalls) {
			c.refuse(refusal.CannotTailCallWithinCallback)
		}
		// The program that is tail-called may return to this function's caller.
		c.pool.push(c.insn+1, c.insn)
		c.resources.forgetPackets()
		c.reg(0).unknown()
		if c.liveness.live != nil {
			c.liveness.live.update(c.position)
		}
		c.frames.leaveFunc()
		return stepJumped // without a line of where from
	}
	if changes {
		c.resources.forgetPackets()
	}
	return c.frames.enterCallback()
}

// checkMaySleep checks that sleeping is allowed at a call (check_helper_call): under spin locks,
// RCU or with preemption or interrupts off, it would stop the CPU or end the section early.
func (c *helpers) checkMaySleep(kind, name string, id int32) {
	s := c.cur
	if c.has(since.NonSleepableWords) {
		if !c.resources.inSleepable() {
			what := c.resources.nonSleepable()
			if kind == "helper" {
				c.refuse(refusal.SleepableIn, kind, name, id, what)
			}
		}
		return
	}
	if !c.resources.sleepable() {
		c.refuse(refusal.HelperCallMightSleepInNon)
	}
	if s.rcu > 0 {
		c.refuse(refusal.SleepableHelperInRcuReadLock, name, id)
	}
	if s.preempt > 0 {
		c.refuse(refusal.SleepableHelperInNonPreemptibleRegion, name, id)
	}
	if s.irqID != 0 {
		c.refuse(refusal.SleepableHelperInIRQDisabledRegion, name, id)
	}
}

// helperSpecial performs the checks specific to one helper; it returns whether the packet may have
// changed.
func (c *helpers) helperSpecial(id uapi.FuncID, m *callMeta, changes bool) bool {
	regs := c.regs()
	switch id {
	case uapi.FuncTailCall:
		c.tailCall()
	case uapi.FuncGetLocalStorage:
		// The only flags are 0, and the verifier need not know of others to come.
		if !regs[2].isNull() {
			c.refuse(refusal.GetLocalStorageNotSupportNon)
		}
		c.precision.precise(2)
	case uapi.FuncForEachMapElem:
		// Callbacks run within the call, but for those of timers.
		c.frames.callback(m.sub, cbMapElem)
	case uapi.FuncTimerSetCallback:
		c.frames.callback(m.sub, cbTimer)
	case uapi.FuncFindVma:
		c.frames.callback(m.sub, cbVMA)
	case uapi.FuncUserRingbufDrain:
		c.frames.callback(m.sub, cbUserRing)
	case uapi.FuncSnprintf:
		c.checkFormat(regs)
	case uapi.FuncLoop:
		c.frames.loopCall(m)
	case uapi.FuncDynptrFromMem:
		// Other memory may go away while the dynptr points to it.
		if regs[1].typ != ptrMapValue {
			c.refuse(refusal.UnsupportedRegTypeBpfDynptrFrom, c.typeName(regs[1].typ))
		}
	case uapi.FuncSetRetval:
		// What is set here is what the hook returns, in its own range.
		c.checkSetRetval(regs)
	case uapi.FuncDynptrData:
		// The slice becomes invalid with the dynptr and with what that holds.
		r := &regs[1]
		m.dyn, m.ref = c.arguments.dynptrID(r), c.arguments.dynptrRef(r)
	case uapi.FuncDynptrWrite:
		t := c.arguments.dynptrType(&regs[1])
		// A write to a packet's data may first make it linear, which moves it.
		if t == dynTypeSkb || t == dynTypeSkbMeta {
			return true
		}
	}
	return changes
}

// tailCall: nothing runs after a tail call that could release what is held (check_resource_leak).
func (c *helpers) tailCall() {
	// Older releases have a check, and a message, for each kind.
	if c.has(since.LeaksTogether) {
		c.resources.resourceLeak(true, true, "tail_call")
		return
	}
	s := c.cur
	if s.lock != (lockKey{}) && c.has(since.TailCallUnderLock) {
		c.refuse(refusal.TailCallCannotUsedInsideBpf)
	}
	if c.resources.leak(false) {
		c.refuse(refusal.TailCallWouldLeadReferenceLeak)
	}
	if s.rcu > 0 {
		c.refuse(refusal.TailCallCannotUsedInsideBpf2)
	}
	if s.preempt > 0 {
		c.refuse(refusal.TailCallCannotUsedInsideBpf3)
	}
}

// recordMap records the map that a call uses (record_func_map). If it is the same on all paths, the
// kernel calls the map's operation directly.
func (c *helpers) recordMap(m *callMeta) {
	switch m.id {
	case uapi.FuncTailCall, uapi.FuncMapLookupElem, uapi.FuncMapUpdateElem, uapi.FuncMapDeleteElem, uapi.FuncMapPushElem, uapi.FuncMapPopElem,
		uapi.FuncMapPeekElem, uapi.FuncForEachMapElem, uapi.FuncRedirectMap, uapi.FuncMapLookupPercpuElem:
	default:
		return
	}
	if m.mapp == nil {
		c.refuse(refusal.KernelSubsystemMisconfiguredVerifier)
	}
	// The flag protects the map from programs; user space can still write.
	if m.mapp.Flags&flagRdonlyProg != 0 {
		switch m.id {
		case uapi.FuncMapDeleteElem, uapi.FuncMapUpdateElem, uapi.FuncMapPushElem, uapi.FuncMapPopElem:
			c.refuse(refusal.WriteIntoMapForbidden)
		}
	}
	a := c.curAux()
	// Callbacks get pointers into the map, so it must be the same on all paths.
	if m.id == uapi.FuncForEachMapElem && a.lookup != 0 && a.lookup != m.mapp.index && !c.has(since.EachMap) {
		c.refuse(refusal.TailCallAbusingMapPtr)
	}
	a.lookup = m.mapp.index
}

// recordKey: a tail call with the same constant index on all paths becomes a jump
// (record_func_key), so the index must be compared exactly.
func (c *helpers) recordKey(m *callMeta) {
	if m.id != uapi.FuncTailCall {
		return
	}
	if m.mapp.Type != uapi.MapTypeProgArray {
		c.refuse(refusal.KernelSubsystemMisconfiguredVerifier)
	}
	// Any other index leaves the call as it is (BPF_MAP_KEY_POISON).
	if r := c.reg(3); r.isConst() && r.Var.Value < uint64(m.mapp.MaxEntries) {
		c.precision.precise(3)
	}
}

// checkFuncIP: only these attachments keep the address of the function that they trace
// (check_get_func_ip).
func (c *helpers) checkFuncIP(h *proto.Helper) {
	switch c.prog.typ {
	case uapi.ProgTypeTracing:
		switch c.p.Attach {
		case uapi.AttachTraceFentry, uapi.AttachTraceFexit, uapi.AttachModifyReturn, uapi.AttachTraceFsession,
			uapi.AttachTraceFentryMulti, uapi.AttachTraceFexitMulti, uapi.AttachTraceFsessionMulti:
		default:
			if c.has(since.SessionWords) {
				c.refuse(refusal.FuncSupportedOnlyFentryFexitFsession, h.Name(), int32(h.ID))
			}
			c.refuse(refusal.FuncSupportedOnlyFentryFexitFmod, h.Name(), int32(h.ID))
		}
	case uapi.ProgTypeKprobe:
	default:
		c.refuse(refusal.FuncNotSupportedProgramType, h.Name(), int32(h.ID), c.prog.typ)
	}
}

// checkSetRetval checks the value that a hook shall return, as 32 bits, since 7.2. Programs of
// getsockopt set any.
func (c *helpers) checkSetRetval(regs *[11]reg) {
	// The kernel takes the value for a negated error, of which there are 4095.
	if c.has(since.RetvalForAll) {
		c.checkRetval32(&regs[1])
		return
	}
	if c.prog.typ != uapi.ProgTypeLSM || c.p.Attach != uapi.AttachLSMCgroup {
		return
	}
	if c.prog.attachProto != nil && c.prog.attachProto.Ref == 0 {
		c.refuse(refusal.BPFLSMCgroupAttachVoidLSM)
	}
}

// checkRetval32 checks the value as the 32-bit number that it is for the kernel (from 7.2 on).
func (c *helpers) checkRetval32(r *reg) {
	if r.typ != scalar {
		c.refuse(refusal.R1NotScalar)
	}
	rg := retRange{-maxErrno, 0}
	switch {
	case c.prog.typ == uapi.ProgTypeCgroupSockopt && c.p.Attach == uapi.AttachCgroupGetsockopt:
		return
	case c.prog.typ == uapi.ProgTypeLSM && c.p.Attach == uapi.AttachLSMCgroup:
		if c.prog.attachProto != nil && c.prog.attachProto.Ref == 0 {
			c.refuse(refusal.BPFLSMCgroupAttachVoidLSM)
		}
		if lsm, ok := c.lsmRange(); ok {
			rg = lsm
		}
	}
	c.precision.precise(1)
	if int64(rg.min) > int64(r.Low.SMin) || int64(r.Low.SMax) > int64(rg.max) {
		c.frames.badRange(r, rg, "At bpf_set_retval", "R1")
		panic(refused{uapi.EINVAL})
	}
}
