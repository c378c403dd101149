package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
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

// argFlags translates a prototype's flags.
func argFlags(f proto.Flags) regType {
	var t regType
	for _, x := range [...]struct {
		f proto.Flags
		t regType
	}{{proto.MaybeNull, maybeNull}, {proto.ReadOnly, memRdonly}, {proto.Uninit, memUninit}, {proto.Write, memWrite}, {proto.Release, objRelease},
		{proto.LocalDynptr, dynLocal}, {proto.RingbufDynptr, dynRingbuf}, {proto.Trusted, ptrTrusted}} {
		if f&x.f != 0 {
			t |= x.t
		}
	}
	return t
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

// helperArg judges an argument of a helper (check_func_arg).
func (e *env) helperArg(i int, p *proto.Proto, m *callMeta) {
	a := p.Args[i]
	n := i + 1
	e.checkSrc(uint8(n))
	if a.Kind == proto.Anything {
		return
	}
	r := e.reg(n)
	if r.typ.isPacket() && !e.packetAccess(m, read) {
		e.refuse(uapi.EACCES, "helper access to the packet is not allowed")
	}
	kind := a.Kind
	if kind == proto.MapValue {
		kind = e.mapValueKind(a, m)
	}
	if r.isNull() && a.Flags&proto.MaybeNull != 0 {
		e.precise(n)
	} else {
		e.checkArgType(n, a, kind, m)
		e.argOffset(r, n, a, kind)
	}
	if a.Flags&proto.Release != 0 {
		e.checkReleaseArg(n, r, kind)
		m.release = n
	}
	if r.ref != 0 && kind != proto.Kptr {
		if m.ref != 0 {
			e.refuse(uapi.EFAULT, "verifier internal error: more than one arg with ref_obj_id R%d %d %d", n, r.ref, m.ref)
		}
		m.ref = r.ref
	}
	acc := read
	if a.Flags&proto.Write != 0 {
		acc = write
	}
	switch kind {
	case proto.ConstMap:
		mp := e.mapOf(r)
		if m.mapp != nil && (m.mapp != mp || m.uid != r.uid) {
			e.refuse(uapi.EINVAL, "timer pointer in R1 map_uid=%d doesn't match map pointer in R2 map_uid=%d", m.uid, r.uid)
		}
		m.mapp, m.uid = mp, r.uid
	case proto.MapKey:
		e.needMap(m, "key")
		e.helperMem(n, int(m.mapp.KeySize), read, false, e.oldMeta(nil))
		e.noteKey(n, m)
	case proto.MapValue:
		if r.isNull() && a.Flags&proto.MaybeNull != 0 {
			return
		}
		e.needMap(m, "value")
		m.raw = a.Flags&proto.Uninit != 0
		e.helperMem(n, int(m.mapp.ValueSize), acc, false, m)
	case proto.PercpuBTFID:
		if r.tid == 0 {
			e.refuse(uapi.EACCES, "Helper has invalid btf_id in R%d", n)
		}
		m.retSpec, m.retID = r.spec, r.tid
	case proto.SpinLock:
		if e.inTreeCallback() {
			e.refuse(uapi.EACCES, "can't spin_{lock,unlock} in rbtree cb")
		}
		flags := 0
		if m.id == uapi.FuncSpinLock {
			flags = lockTake
		}
		e.spinLock(n, flags)
	case proto.Timer:
		e.timerArg(n, m)
	case proto.Func:
		m.sub = int(r.sub)
	case proto.Mem:
		m.raw = a.Flags&proto.Uninit != 0
	case proto.FixedMem:
		m.raw = a.Flags&proto.Uninit != 0
		if !(r.isNull() && a.Flags&proto.MaybeNull != 0) {
			e.helperMem(n, int(a.Size), acc, false, m)
			if a.Flags&proto.Aligned != 0 {
				e.checkAlign(r, 0, int(a.Size), true)
			}
		}
	case proto.ConstSize, proto.ConstSizeOrZero:
		t := read
		if p.Args[i-1].Flags&proto.Write != 0 {
			t = write
		}
		e.memSize(n, t, kind == proto.ConstSizeOrZero, m)
	case proto.Dynptr:
		e.dynptrArg(n, argFlags(a.Flags), 0)
	case proto.AllocSize:
		if !r.Var.IsConst() {
			e.refuse(uapi.EACCES, "R%d is not a known constant'", n)
		}
		m.memSize = r.Var.Value
		e.precise(n)
	case proto.ConstString:
		e.constString(n)
	case proto.Kptr:
		e.kptrArg(n, m)
	}
}

func (e *env) oldMeta(m *callMeta) *callMeta { return m }

func (e *env) needMap(m *callMeta, what string) {
	if m.mapp == nil {
		e.refuse(uapi.EACCES, "invalid map_ptr to access map->%s", what)
	}
}

// mapValueKind: values of sockmaps are sockets.
func (e *env) mapValueKind(a proto.Arg, m *callMeta) proto.ArgKind {
	if m.mapp == nil {
		e.refuse(uapi.EACCES, "invalid map_ptr to access map->type")
	}
	if t := m.mapp.Type; t == uapi.MapTypeSockmap || t == uapi.MapTypeSockhash {
		if a.Flags&^proto.ReadOnly == 0 {
			return proto.BTFSockCommon
		}
		e.refuse(uapi.EINVAL, "invalid arg_type for sockmap/sockhash")
	}
	return proto.MapValue
}

var memKinds = []regType{ptrStack, ptrPacket, ptrPacketMeta, ptrMapKey, ptrMapValue, ptrMem, ptrMem | memRingbuf, ptrBuf, ptrBTF | ptrTrusted}

var argKinds = map[proto.ArgKind][]regType{
	proto.MapKey: memKinds, proto.MapValue: memKinds, proto.Mem: memKinds, proto.FixedMem: memKinds,
	proto.ConstSize: {scalar}, proto.ConstSizeOrZero: {scalar}, proto.AllocSize: {scalar}, proto.Scalar: {scalar},
	proto.ConstMap: {constMap}, proto.Ctx: {ptrCtx},
	proto.SockCommon:    {ptrSockCommon, ptrSocket, ptrTCPSock, ptrXDPSock},
	proto.BTFSockCommon: {ptrSockCommon, ptrSocket, ptrTCPSock, ptrXDPSock, ptrBTF, ptrBTF | ptrTrusted},
	proto.Socket:        {ptrSocket},
	proto.BTFID:         {ptrBTF, ptrBTF | ptrTrusted, ptrBTF | memRCU},
	proto.SpinLock:      {ptrMapValue, ptrBTF | memAlloc},
	proto.RingbufMem:    {ptrMem | memRingbuf},
	proto.PercpuBTFID:   {ptrBTF | memPercpu, ptrBTF | memPercpu | memRCU, ptrBTF | memPercpu | ptrTrusted},
	proto.Func:          {ptrFunc}, proto.Stack: {ptrStack}, proto.ConstString: {ptrMapValue, ptrMapKey}, proto.Timer: {ptrMapValue},
	proto.Kptr: {ptrMapValue, ptrBTF | memAlloc}, proto.Dynptr: {ptrStack, constDynptr},
}

// checkArgType demands a register of a kind that fits an argument (check_reg_type).
func (e *env) checkArgType(n int, a proto.Arg, kind proto.ArgKind, m *callMeta) {
	r := e.reg(n)
	t := r.typ
	if a.Flags&proto.ReadOnly != 0 || kind == proto.MapKey || kind == proto.ConstString {
		t &^= memRdonly
	}
	if kind == proto.MapValue && e.rel < since.R(6, 13) {
		t &^= 0
	}
	if a.Flags&proto.MaybeNull != 0 {
		t &^= maybeNull
	}
	if kind == proto.Mem || kind == proto.FixedMem {
		t &^= dynMask
	}
	xchg := m.id == uapi.FuncKptrXchg && n == 2
	if xchg && t.isAlloc() {
		t &^= memAlloc | memPercpu
	}
	list := argKinds[kind]
	if kind == proto.ConstString {
		list = []regType{ptrMapValue}
	}
	found := false
	for _, x := range list {
		if x != notInit && x == t {
			found = true
			break
		}
	}
	if !found {
		text := ""
		for _, x := range list {
			if x == notInit {
				continue
			}
			if text != "" {
				text += ", "
			}
			text += e.typeName(x)
		}
		e.refuse(uapi.EACCES, "R%d type=%s expected=%s", n, e.typeName(r.typ), text)
	}
	if r.typ.base() != ptrBTF {
		return
	}
	switch kind {
	case proto.MapKey, proto.MapValue, proto.Mem, proto.FixedMem:
		if a.Flags&proto.ReadOnly == 0 && kind != proto.MapKey {
			e.refuse(uapi.EACCES, "%s() may write into memory pointed by R%d type=%s", m.id, n, e.typeName(r.typ))
		}
		return
	}
	e.checkArgBTF(n, r, a, kind, m)
}

// checkArgBTF demands the kernel struct an argument points to.
func (e *env) checkArgBTF(n int, r *reg, a proto.Arg, kind proto.ArgKind, m *callMeta) {
	if r.typ.isAllocObj() {
		if m.id == uapi.FuncKptrXchg && n == 2 && !e.kptrMatch(m.kptr, r, n) {
			panic(refusal{uapi.EACCES})
		}
		return
	}
	if r.typ&memPercpu != 0 {
		return
	}
	if r.typ.mayBeNull() && (a.Flags&proto.MaybeNull == 0 || a.Flags&proto.Release != 0) {
		e.refuse(uapi.EACCES, "Possibly NULL pointer passed to helper arg%d", n)
	}
	if m.id == uapi.FuncKptrXchg {
		if !e.kptrMatch(m.kptr, r, n) {
			panic(refusal{uapi.EACCES})
		}
		return
	}
	want := a.BTF
	if kind == proto.BTFSockCommon {
		want = "sock_common"
	}
	if want == "" {
		e.unknown("the type of argument %d of %s", n, m.id)
	}
	strict := a.Flags&proto.Release != 0 && m.id != uapi.FuncSkRelease
	id, ok := e.kernelType(want)
	if !ok {
		e.unknown("struct %s, which the kernel's BTF does not have", want)
	}
	if !e.structMatch(r.spec, btf.ID(r.tid), int(r.off), e.kernelSpec(), id, strict, true) {
		e.refuse(uapi.EACCES, "R%d is of type %s but %s is expected", n, e.specName(r.spec, r.tid), want)
	}
}

// argOffset demands that a pointer was not moved where the function would be told another address (check_func_arg_reg_off).
func (e *env) argOffset(r *reg, n int, a proto.Arg, kind proto.ArgKind) {
	if a.Flags&proto.Release != 0 {
		if kind == proto.Dynptr && r.typ == ptrStack {
			return
		}
		if r.off != 0 {
			e.refuse(uapi.EINVAL, "R%d must have zero offset when passed to release func or trusted arg to kfunc", n)
		}
		e.checkOffset(r, n, false)
		return
	}
	e.plainOffset(r, n)
}

func (e *env) plainOffset(r *reg, n int) {
	switch r.typ {
	case ptrStack, ptrPacket, ptrPacketMeta, ptrMapKey, ptrMapValue, ptrMem, ptrMem | memRdonly, ptrMem | memRingbuf, ptrBuf, ptrBuf | memRdonly, ptrArena, scalar:
		return
	case ptrBTF, ptrBTF | memAlloc, ptrBTF | ptrTrusted, ptrBTF | memRCU, ptrBTF | memAlloc | nonOwnRef, ptrBTF | memAlloc | nonOwnRef | memRCU:
		e.checkOffset(r, n, true)
		return
	case ptrCtx:
		if e.varCtx() && e.rel >= since.R(7, 0) {
			return
		}
	}
	e.checkOffset(r, n, false)
}

func (e *env) checkReleaseArg(n int, r *reg, kind proto.ArgKind) {
	if kind == proto.Dynptr {
		if r.typ != ptrStack {
			e.refuse(uapi.EINVAL, "cannot release unowned const bpf_dynptr")
		}
		spi, err := e.dynptrSpi(r)
		if err != 0 || e.funcOf(r).stack[spi].reg.ref == 0 {
			e.refuse(uapi.EINVAL, "arg %d is an unacquired reference", n)
		}
		return
	}
	if r.ref == 0 && !r.isNull() {
		e.refuse(uapi.EINVAL, "R%d must be referenced when passed to release function", n)
	}
}

// releaseArg gives the argument's reference back.
func (e *env) releaseArg(h *proto.Helper, p *proto.Proto, m *callMeta) {
	if m.release == 0 {
		return
	}
	r := e.reg(m.release)
	ok := false
	switch {
	case p.Args[m.release-1].Kind == proto.Dynptr:
		e.unmarkDynptr(r)
		ok = true
	case m.id == uapi.FuncKptrXchg && m.ref != 0 && e.rel >= since.R(6, 7):
		id := m.ref
		rcu := e.inRCU()
		if ok = e.dropRef(e.cur, id); ok {
			e.cur.eachReg(spillMask, func(x *reg) {
				if x.ref != id {
					return
				}
				if rcu && x.typ&memAlloc != 0 && x.typ&memPercpu != 0 {
					x.ref = 0
					x.typ = x.typ&^memAlloc | memRCU
					return
				}
				e.invalidate(x)
			})
		}
	case m.ref != 0:
		ok = e.release(m.ref)
	case r.isNull():
		ok = true
	}
	if !ok {
		e.refuse(uapi.EINVAL, "func %s#%d reference has not been acquired before", h.Name(), int32(m.id))
	}
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

// helperResult makes r0 what a helper returns.
func (e *env) helperResult(h *proto.Helper, p *proto.Proto, m *callMeta, percpuObj bool) {
	r0 := e.reg(0)
	flag := argFlags(p.Ret.Flags)
	switch p.Ret.Kind {
	case proto.Integer:
		r0.unknown()
	case proto.Void:
		r0.typ = notInit
	case proto.RetMapValue:
		if m.mapp == nil {
			e.refuse(uapi.EINVAL, "kernel subsystem misconfigured verifier")
		}
		if flag&maybeNull != 0 && e.knownElement(m) {
			flag &^= maybeNull
		}
		r0.pointer(ptrMapValue | flag)
		r0.mapp, r0.uid = m.mapp.index, m.uid
		if flag&maybeNull == 0 && (m.mapp.rec.has(fieldSpinLock) || m.mapp.rec.has(fieldResSpinLock)) {
			r0.id = e.newID()
		}
	case proto.RetSocket:
		r0.pointer(ptrSocket | flag)
	case proto.RetSockCommon:
		r0.pointer(ptrSockCommon | flag)
	case proto.RetTCPSock:
		r0.pointer(ptrTCPSock | flag)
	case proto.RetRingbufMem:
		r0.pointer(ptrMem | memRingbuf | flag)
		r0.mem = uint32(m.memSize)
	case proto.RetDynptrMem:
		r0.pointer(ptrMem | flag)
		r0.mem = uint32(m.memSize)
	case proto.RetMemOrBTFID:
		e.percpuResult(r0, m, flag, percpuObj)
	case proto.RetBTFID:
		e.btfResult(r0, p, m, flag)
	}
	if r0.typ.mayBeNull() {
		r0.id = e.newID()
	}
	id := h.ID
	if id == uapi.FuncDynptrData {
		r0.dyn = m.dyn
	}
	switch {
	case h.Effects&proto.Casts != 0, id == uapi.FuncDynptrData:
		r0.ref = m.ref
	case e.acquires(h, m):
		r := e.acquire()
		r0.id, r0.ref = r, r
	}
	e.refineResult(id, p, m)
}

// knownElement: a lookup in an array with a constant key below its size finds something.
func (e *env) knownElement(m *callMeta) bool {
	if m.id != uapi.FuncMapLookupElem || m.constKey == 0 {
		return false
	}
	return m.constKey-1 < uint64(m.mapp.MaxEntries)
}

// noteKey remembers a key that is constant (get_constant_map_key): arrays have an element for it.
func (e *env) noteKey(n int, m *callMeta) {
	if !e.has(since.KnownKeyLookup) {
		return
	}
	if t := m.mapp.Type; t != uapi.MapTypeArray && t != uapi.MapTypePercpuArray {
		return
	}
	r := e.reg(n)
	if r.typ != ptrStack || !r.Var.IsConst() {
		return
	}
	size := int(m.mapp.KeySize)
	off := int(r.offset())
	slotOff := -off - 1
	spi := slotOff / 8
	f := e.funcOf(r)
	if spi < 0 || spi >= len(f.stack) {
		return
	}
	s := &f.stack[spi]
	at := slotOff % 8
	zeros, spills := 0, 0
	for i := at; i >= 0 && at-i < size; i-- {
		if s.t[i] != slotZero {
			break
		}
		zeros++
	}
	if zeros >= size {
		m.constKey = 1
		return
	}
	if !s.isScalarSpill() {
		return
	}
	for i := at; i >= 0; i-- {
		if s.t[i] != slotSpill {
			break
		}
		spills++
	}
	if spills != size {
		return
	}
	if !s.reg.Var.IsConst() {
		return
	}
	key := s.reg.Var.Value
	// The key has to be compared exactly from now on.
	e.bt.stacks[r.frame] |= 1 << spi
	e.bt.frame = e.cur.curFrame
	e.markChain(e.cur, e.insn, nil)
	if key < uint64(m.mapp.MaxEntries) {
		m.constKey = key + 1
	}
}

func (e *env) acquires(h *proto.Helper, m *callMeta) bool {
	if h.Effects&proto.Acquires != 0 {
		return true
	}
	return h.Effects&proto.AcquiresSocket != 0 && m.mapp != nil && (m.mapp.Type == uapi.MapTypeSockmap || m.mapp.Type == uapi.MapTypeSockhash)
}

func (e *env) percpuResult(r0 *reg, m *callMeta, flag regType, obj bool) {
	s := e.specs[m.retSpec-1]
	t := s.SkipMods(btf.ID(m.retID))
	if t.Kind != btf.KindStruct && t.Kind != btf.KindUnion {
		n, err := s.Sizeof(t.ID)
		if err != nil {
			e.refuse(uapi.EINVAL, "unable to resolve the size of type '%s': %d", t.Name, -22)
		}
		r0.pointer(ptrMem | flag)
		r0.mem = uint32(n)
		return
	}
	if obj {
		r0.pointer(ptrBTF | memAlloc | memRCU)
	} else {
		r0.pointer(ptrBTF | flag&^memRdonly)
	}
	r0.spec, r0.tid = m.retSpec, m.retID
}

func (e *env) btfResult(r0 *reg, p *proto.Proto, m *callMeta, flag regType) {
	r0.pointer(ptrBTF | flag)
	if m.id == uapi.FuncKptrXchg {
		r0.spec, r0.tid = m.kptr.spec, uint32(m.kptr.tid)
		if !e.isKernelSpec(r0.spec) {
			r0.typ |= memAlloc
			if m.kptr.kind == fieldKptrPercpu {
				r0.typ |= memPercpu
			}
		}
		return
	}
	id, ok := e.kernelType(p.Ret.BTF)
	if !ok {
		e.unknown("struct %s, which the kernel's BTF does not have", p.Ret.BTF)
	}
	r0.spec, r0.tid = e.kernelSpec(), uint32(id)
}

// refineResult narrows what some helpers return (do_refine_retval_range).
func (e *env) refineResult(id uapi.FuncID, p *proto.Proto, m *callMeta) {
	if p.Ret.Kind != proto.Integer {
		return
	}
	r := e.reg(0)
	switch id {
	case uapi.FuncGetStack, uapi.FuncGetTaskStack, uapi.FuncProbeReadStr, uapi.FuncProbeReadKernelStr, uapi.FuncProbeReadUserStr:
		r.SMax, r.SMax32 = int64(m.maxSize), int32(m.maxSize)
		r.SMin, r.SMin32 = -maxErrno, -maxErrno
		r.Sync(e.rules)
	case uapi.FuncGetSmpProcessorId:
		if e.rel < since.R(6, 8) {
			return
		}
		n := uint64(e.cpus() - 1)
		r.UMax, r.UMax32, r.SMax, r.SMax32 = n, uint32(n), int64(n), int32(n)
		r.UMin, r.UMin32, r.SMin, r.SMin32 = 0, 0, 0, 0
		r.Sync(e.rules)
	case uapi.FuncGetRetval:
		if e.rel >= since.R(6, 19) && e.prog.typ == uapi.ProgTypeLSM && e.p.Attach == uapi.AttachLSMCgroup {
			if rg, ok := e.lsmRange(); ok {
				r.SMin, r.SMin32, r.SMax, r.SMax32 = int64(rg.min), rg.min, int64(rg.max), rg.max
				r.Sync(e.rules)
			}
		}
	}
	e.sane(r)
}

// cpus is nr_cpu_ids.
func (e *env) cpus() int { return 2 }

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

func (e *env) constString(n int) {
	r := e.reg(n)
	m := e.mapOf(r)
	if m.Frozen == nil || m.Flags&flagRdonlyProg == 0 {
		e.refuse(uapi.EACCES, "R%d does not point to a readonly map'", n)
	}
	if !r.Var.IsConst() {
		e.refuse(uapi.EACCES, "R%d is not a constant address'", n)
	}
	if !hasDirectValue(m.Type) {
		e.refuse(uapi.EACCES, "no direct value access support for this map type")
	}
	e.checkMapAccess(n, int(r.off), int(m.ValueSize)-int(r.off), false, accessHelper)
	at := r.offset()
	for i := at; i < int64(len(m.Frozen)); i++ {
		if m.Frozen[i] == 0 {
			return
		}
	}
	e.refuse(uapi.EINVAL, "string is not zero-terminated")
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
