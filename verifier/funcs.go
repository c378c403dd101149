package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/num"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// Linkage of functions.
const (
	funcStatic = 0
	funcGlobal = 1
)

// funcArg is what a function takes by its BTF.
type funcArg struct {
	kind argKind
	typ  regType // flags
	mem  uint32
	tid  btf.ID
}

type argKind uint8

const (
	argScalar argKind = iota
	argCtx
	argMem
	argDynptr
	argBTF
	argArena
)

// enterFunc adds a frame to s.
func (e *env) enterFunc(s *state, sub, callsite int, setup func(caller, callee *frame)) {
	if s.curFrame+1 >= maxFrames {
		e.refuse(uapi.E2BIG, "the call stack of %d frames is too deep", s.curFrame+2)
	}
	caller := s.frames[s.curFrame]
	f := s.frames[s.curFrame+1]
	if f == nil {
		f = e.newFrame()
		s.frames[s.curFrame+1] = f
	}
	e.initFrame(f, callsite, s.curFrame+1, sub)
	f.refs = append(f.refs[:0], caller.refs...)
	setup(caller, f)
	s.curFrame++
}

func copyArgs(caller, callee *frame) { copy(callee.regs[1:6], caller.regs[1:6]) }

// callFunc judges a call of a function of the program (check_func_call).
func (e *env) callFunc(in *decode.Insn) stepResult {
	target := callTarget(e.insn, in)
	sub := e.subprogFrom(target)
	if sub < 0 {
		e.refuse(uapi.EFAULT, "verifier bug. No program starts at insn %d", target)
	}
	s := e.cur
	sp := &e.subs[sub]
	caller := s.frame()
	if sp.linkage == funcGlobal && e.funcInfo() {
		return e.callGlobal(sub)
	}
	// Static functions are judged in the state of the caller; that their arguments fit their types matters for nothing else.
	e.enterFunc(s, sub, e.insn, copyArgs)
	e.clobber(&caller.regs)
	e.insn = sp.start
	if e.live != nil {
		e.live.forget()
	}
	e.log.called(e)
	return stepJumped
}

func (e *env) funcInfo() bool { return len(e.p.Funcs) > 0 && e.p.BTF != nil }

// callGlobal judges a call of a function that is judged by itself.
func (e *env) callGlobal(sub int) stepResult {
	s := e.cur
	sp := &e.subs[sub]
	errno := e.tryArgs(sub)
	if e.holdsLock() && e.rel >= since.R(6, 8) {
		e.refuse(uapi.EINVAL, "global function calls are not allowed while holding a lock,\nuse static function instead")
	}
	if e.has(since.GlobalEffects) && e.rel >= since.R(6, 15) {
		if sp.mightSleep && !e.inSleepable() && (e.cur.rcu > 0 || e.cur.preempt > 0 || e.cur.irqID != 0 || !e.sleepable() || e.cur.locks > 0) {
			if e.rel >= since.R(7, 0) {
				e.refuse(uapi.EINVAL, "sleepable global function %s() called in %s", sp.name, e.nonSleepable())
			}
			e.refuse(uapi.EINVAL, "global functions that may sleep are not allowed in non-sleepable context,\ni.e., in a RCU/IRQ/preempt-disabled section, or in\na non-sleepable BPF program context")
		}
	} else {
		if s.preempt > 0 {
			e.refuse(uapi.EINVAL, "global function calls are not allowed with preemption disabled,\nuse static function instead")
		}
	}
	if errno != 0 {
		e.refuse(errno, "Caller passes invalid args into func#%d ('%s')", sub, sp.name)
	}
	e.verbose("Func#%d ('%s') is global and assumed valid.", sub, sp.name)
	if sp.changesPacket {
		e.forgetPackets()
	}
	sp.called = true
	e.clobber(e.regs())
	e.reg(0).unknown()
	if sp.mightThrow && e.rel >= since.R(6, 19) {
		// The way that throws ends here; the other one waits.
		e.push(e.insn+1, e.insn)
		return e.exit(true)
	}
	return stepNext
}

// tryArgs is matchArgs, where what it refuses is the caller's mistake.
func (e *env) tryArgs(sub int) (errno uapi.Errno) {
	defer func() {
		if x := recover(); x != nil {
			r, ok := x.(refusal)
			if !ok || r.errno == uapi.EFAULT {
				panic(x)
			}
			errno = r.errno
		}
	}()
	return e.matchArgs(sub)
}

// matchArgs checks what is passed to a global function against its prototype (btf_check_func_arg_match).
func (e *env) matchArgs(sub int) uapi.Errno {
	e.prepareArgs(sub)
	for i, a := range e.subs[sub].args {
		n := i + 1
		r := e.reg(n)
		switch a.kind {
		case argScalar:
			if r.typ != scalar {
				e.verbose("R%d is not a scalar", n)
				return uapi.EINVAL
			}
		case argCtx:
			e.plainOffset(r, n)
			if r.typ != ptrCtx {
				e.verbose("%s expects pointer to ctx", e.argName(i))
				return uapi.EINVAL
			}
		case argMem:
			e.plainOffset(r, n)
			if !e.tryMem(n, a.mem) {
				return uapi.EINVAL
			}
			if a.typ&maybeNull == 0 && r.typ.mayBeNull() {
				e.verbose("%s is expected to be non-NULL", e.argName(i))
				return uapi.EINVAL
			}
		case argArena:
			if r.typ != ptrArena && r.typ != scalar {
				e.verbose("R%d is not a pointer to arena or scalar.", n)
				return uapi.EINVAL
			}
		case argDynptr:
			e.plainOffset(r, n)
			e.dynptrArg(n, memRdonly, 0)
		case argBTF:
			if r.isNull() && a.typ&maybeNull != 0 {
				continue
			}
			if errno := e.matchBTFArg(r, n, a); errno != 0 {
				return errno
			}
		}
	}
	return 0
}

func (e *env) argName(i int) string {
	if e.rel >= since.R(7, 0) {
		return "R" + itoa(i+1)
	}
	return "arg#" + itoa(i)
}

// tryMem reports whether a register points to memory of that size, where the kernel continues with an error of its own.
func (e *env) tryMem(n int, size uint32) (ok bool) {
	defer func() {
		if x := recover(); x != nil {
			if _, is := x.(refusal); !is {
				panic(x)
			}
			ok = false
		}
	}()
	e.memReg(n, size)
	return true
}

func (e *env) matchBTFArg(r *reg, n int, a funcArg) uapi.Errno {
	t := r.typ
	if a.typ&maybeNull != 0 {
		t &^= maybeNull
	}
	if t != ptrBTF && t != ptrBTF|ptrTrusted && t != ptrBTF|memRCU {
		e.verbose("R%d type=%s expected=%s, %s, %s", n, e.typeName(r.typ), e.typeName(ptrBTF), e.typeName(ptrBTF|ptrTrusted), e.typeName(ptrBTF|memRCU))
		return uapi.EACCES
	}
	if !e.structMatch(r.spec, btf.ID(r.tid), int(r.off), e.kernelSpec(), a.tid, false, true) {
		e.verbose("R%d is of type %s but %s is expected", n, e.specName(r.spec, r.tid), e.k.BTF.MustType(a.tid).Name)
		return uapi.EACCES
	}
	e.plainOffset(r, n)
	return 0
}

// prepareArgs reads a function's prototype (btf_prepare_func_args). It refuses global functions that it does not understand.
func (e *env) prepareArgs(sub int) bool {
	sp := &e.subs[sub]
	if sp.argsKnown {
		return true
	}
	global := sp.linkage == funcGlobal
	s := e.p.BTF
	spec := e.addSpec(s)
	fn := s.MustType(sp.fn)
	fp := s.MustType(fn.Ref)
	if len(fp.Params) > 5 {
		if global {
			e.refuse(uapi.EINVAL, "Global function %s() with %d > %d args. Buggy compiler.", sp.name, len(fp.Params), 5)
		}
		return false
	}
	ret := s.SkipMods(fp.Ref)
	if !isScalarType(ret) && !(ret.Kind == btf.KindVoid && e.rel >= since.R(7, 0)) {
		if global {
			if e.rel >= since.R(7, 0) {
				e.refuse(uapi.EINVAL, "Global function %s() return value not void or scalar. Only those are supported.", sp.name)
			}
			e.refuse(uapi.EINVAL, "Global function %s() doesn't return scalar. Only those are supported.", sp.name)
		}
		return false
	}
	var args []funcArg
	for i := range fp.Params {
		a, ok := e.prepareArg(sub, spec, fn, &fp.Params[i], i)
		if !ok {
			return false
		}
		args = append(args, a)
	}
	sp.args, sp.argsKnown = args, true
	return true
}

func (e *env) prepareArg(sub int, spec uint8, fn *btf.Type, p *btf.Param, i int) (funcArg, bool) {
	s := e.specs[spec-1]
	sp := &e.subs[sub]
	global := sp.linkage == funcGlobal
	tags := map[string]bool{}
	if e.rel >= since.R(6, 8) {
		for _, t := range e.declTags(spec, fn.ID, i) {
			tag, ok := strings.CutPrefix(t, "arg:")
			if !ok {
				continue
			}
			if !global {
				e.refuse(uapi.EOPNOTSUPP, "arg#%d type tag is not supported in static functions", i)
			}
			switch tag {
			case "ctx", "nonnull":
			case "trusted", "nullable", "arena":
				if e.rel < since.R(6, 9) {
					e.refuse(uapi.EOPNOTSUPP, "arg#%d has unsupported set of tags", i)
				}
			case "untrusted":
				if e.rel < since.R(6, 17) {
					e.refuse(uapi.EOPNOTSUPP, "arg#%d has unsupported set of tags", i)
				}
			default:
				e.refuse(uapi.EOPNOTSUPP, "arg#%d has unsupported set of tags", i)
			}
			tags[tag] = true
		}
	}
	badTags := func() { e.refuse(uapi.EINVAL, "arg#%d has invalid combination of tags", i) }
	t := s.SkipMods(p.Type)
	if t.Kind != btf.KindPtr {
		if len(tags) > 0 {
			e.refuse(uapi.EINVAL, "arg#%d has pointer tag, but is not a pointer type", i)
		}
		if isScalarType(t) {
			return funcArg{kind: argScalar}, true
		}
		if global {
			if e.rel >= since.R(7, 0) {
				e.refuse(uapi.EINVAL, "R%d type %s in %s() is not supported yet.", i+1, strings.ToUpper(t.Kind.String()), sp.name)
			}
			e.refuse(uapi.EINVAL, "Arg#%d type %s in %s() is not supported yet.", i, strings.ToUpper(t.Kind.String()), sp.name)
		}
		return funcArg{}, false
	}
	if tags["ctx"] || e.isCtxType(s, t) {
		if len(tags) > 1 || len(tags) == 1 && !tags["ctx"] {
			badTags()
		}
		return funcArg{kind: argCtx}, true
	}
	target := s.SkipMods(t.Ref)
	if target.Kind == btf.KindStruct && (target.Name == "bpf_dynptr" || target.Name == "bpf_dynptr_kern") && e.rel >= since.R(6, 5) {
		if len(tags) > 0 {
			badTags()
		}
		return funcArg{kind: argDynptr}, true
	}
	switch {
	case tags["trusted"]:
		if tags["nonnull"] || tags["untrusted"] {
			badTags()
		}
		id, ok := btf.ID(0), false
		if e.k.BTF != nil {
			id, ok = e.k.BTF.FindID(target.Kind, btf.EssentialName(target.Name))
		}
		if !ok {
			e.refuse(uapi.EINVAL, "arg#%d: expected a kernel type", i)
		}
		a := funcArg{kind: argBTF, typ: ptrTrusted, tid: id}
		if tags["nullable"] {
			a.typ |= maybeNull
		}
		return a, true
	case tags["untrusted"]:
		if len(tags) > 1 {
			e.refuse(uapi.EINVAL, "arg#%d untrusted cannot be combined with any other tags", i)
		}
		if isScalarType(target) || target.Kind == btf.KindVoid {
			return funcArg{kind: argMem, typ: ptrUntrusted | memRdonly}, true
		}
		if e.k.BTF != nil {
			if id, ok := e.k.BTF.FindID(target.Kind, btf.EssentialName(target.Name)); ok {
				return funcArg{kind: argBTF, typ: ptrUntrusted, tid: id}, true
			}
		}
		e.unknown("argument %d of %s: an untrusted pointer to a type of the program", i, sp.name)
	case tags["arena"]:
		if len(tags) > 1 {
			e.refuse(uapi.EINVAL, "arg#%d arena cannot be combined with any other tags", i)
		}
		return funcArg{kind: argArena}, true
	}
	if !global {
		return funcArg{}, false
	}
	if tags["nullable"] {
		badTags()
	}
	size, err := s.Sizeof(target.ID)
	if err != nil || target.Kind == btf.KindVoid || target.Kind == btf.KindFuncProto || target.Kind == btf.KindFwd {
		e.refuse(uapi.EINVAL, "arg#%d reference type('%s %s') size cannot be determined: %d", i, strings.ToUpper(target.Kind.String()), target.Name, -22)
	}
	a := funcArg{kind: argMem, typ: maybeNull, mem: uint32(size)}
	if tags["nonnull"] {
		a.typ = 0
	}
	return a, true
}

// cbKind is what a callback is called with.
type cbKind uint8

const (
	cbMapElem cbKind = iota
	cbLoop
	cbTimer
	cbVMA
	cbUserRing
	cbTreeLess
	cbTaskWork
)

// callback queues the call of a callback (push_callback_call).
func (e *env) callback(sub int, kind cbKind) {
	sp := &e.subs[sub]
	sp.isCallback = true
	s := e.cur
	caller := s.frame()
	if kind == cbTimer || kind == cbTaskWork {
		sp.isAsync = true
		sleepable := kind == cbTaskWork
		if k := e.kfuncAt(e.insn); k != nil {
			sleepable = true
		}
		a := e.pushAsync(sp.start, e.insn, sub, sleepable)
		f := a.frames[0]
		f.asyncEntry = caller.asyncEntry + 1
		e.setCallback(caller, f, kind)
		return
	}
	if !e.has(since.CallbackChains) {
		// The callback is walked once, as a function that the call enters when everything else is judged.
		e.enterFunc(s, sub, e.insn, func(caller, callee *frame) { e.setCallback(caller, callee, kind) })
		s.curFrame--
		e.calledBack = true
		return
	}
	q := e.push(sp.start, e.insn)
	cur := e.cur
	e.cur = q
	e.enterFunc(q, sub, e.insn, func(caller, callee *frame) { e.setCallback(caller, callee, kind) })
	e.cur = cur
	q.unroll++
	q.frames[q.curFrame-1].callbackDepth++
	caller.callbackDepth = 0
}

// enterCallback continues with the callback of a call that was judged, if there is one to be walked now.
func (e *env) enterCallback() stepResult {
	if !e.calledBack {
		return stepNext
	}
	e.calledBack = false
	e.cur.curFrame++
	e.insn = e.subs[e.frame().sub].start
	e.log.called(e)
	return stepJumped
}

// setCallback gives a callback its arguments.
func (e *env) setCallback(caller, f *frame, kind cbKind) {
	c := &caller.regs
	r := &f.regs
	f.inCallback = true
	f.callbackRet = retRange{0, 1}
	switch kind {
	case cbMapElem:
		m := e.maps[e.curAux().lookup-1]
		switch m.Type {
		case uapi.MapTypeHash, uapi.MapTypePercpuHash, uapi.MapTypeLRUHash, uapi.MapTypeLRUPercpuHash, uapi.MapTypeArray, uapi.MapTypePercpuArray:
		default:
			e.refuse(uapi.ENOTSUPP, "callback function not allowed for map")
		}
		r[1] = c[1]
		e.mapPtrs(&r[2], &r[3], &c[1])
		r[4] = c[3]
		r[5].notInit()
	case cbLoop:
		r[1].unknown()
		r[1].typ = scalar
		r[2] = c[3]
		r[3].notInit()
		r[4].notInit()
		r[5].notInit()
	case cbTimer, cbTaskWork:
		f.inCallback, f.inAsync = false, true
		f.callbackRet = retRange{0, 0}
		src := c[1]
		if kind == cbTaskWork {
			src = c[3]
			f.callbackRet = retRange{-1 << 31, 1<<31 - 1}
		}
		r[1].pointer(constMap)
		r[1].mapp, r[1].uid = src.mapp, src.uid
		e.mapPtrs(&r[2], &r[3], &src)
		r[4].notInit()
		r[5].notInit()
	case cbVMA:
		r[1] = c[1]
		id, ok := e.kernelType("vm_area_struct")
		if !ok {
			e.unknown("struct vm_area_struct, which the kernel's BTF does not have")
		}
		r[2].pointer(ptrBTF)
		r[2].spec, r[2].tid = e.kernelSpec(), uint32(id)
		r[3] = c[4]
		r[4].notInit()
		r[5].notInit()
	case cbUserRing:
		r[0].notInit()
		markDynReg(&r[1], dynTypeLocal, true, e.newID())
		r[2] = c[3]
		r[3].notInit()
		r[4].notInit()
		r[5].notInit()
	case cbTreeLess:
		rec := e.recordOf(&c[1])
		fl := rec.find(uint32(c[1].offset()), fieldRBRoot)
		if fl == nil {
			panic(refusal{uapi.EFAULT})
		}
		graphNode(&r[1], fl)
		e.nonOwning(&r[1])
		graphNode(&r[2], fl)
		e.nonOwning(&r[2])
		r[3].notInit()
		r[4].notInit()
		r[5].notInit()
	}
	for i := 1; i <= 5; i++ {
		if !e.r.static {
			// Arguments that are the caller's registers are read where those are.
			continue
		}
		r[i].parent = nil
	}
}

func (e *env) mapPtrs(key, value, m *reg) {
	key.pointer(ptrMapKey)
	key.mapp, key.uid = m.mapp, m.uid
	value.pointer(ptrMapValue)
	value.mapp, value.uid = m.mapp, m.uid
}

// loopCall judges bpf_loop: the callback is explored as long as the number of turns allows.
func (e *env) loopCall(m *callMeta) {
	// The compiler of the kernel inlines loops without flags: it has to know.
	if r := e.reg(4); r.isNull() && e.inlineLoop(m.sub) {
		e.precise(4)
	}
	if !e.has(since.CallbackChains) {
		e.callback(m.sub, cbLoop)
		return
	}
	e.precise(1)
	f := e.frame()
	if uint64(f.callbackDepth) < e.reg(1).UMax {
		e.callback(m.sub, cbLoop)
		return
	}
	f.callbackDepth = 0
	e.log.note("frame%d bpf_loop iteration limit reached", e.cur.curFrame)
}

// inlineLoop tells whether the flags of the loop still matter (update_loop_inline_state).
func (e *env) inlineLoop(sub int) bool {
	a := e.curAux()
	if a.loopState == loopUnseen {
		a.loopState, a.loopSub = loopNever, sub
		if e.reg(4).isNull() {
			a.loopState = loopFits
		}
		return true
	}
	if a.loopState != loopFits {
		return false
	}
	if !e.reg(4).isNull() || a.loopSub != sub {
		a.loopState = loopNever
	}
	return true
}

const (
	loopUnseen = iota
	loopFits
	loopNever
)

// leaveFunc returns from a function, or from a callback (prepare_func_exit).
func (e *env) leaveFunc() {
	s := e.cur
	callee := s.frame()
	caller := s.frames[s.curFrame-1]
	r0 := &callee.regs[0]
	if r0.typ == ptrStack {
		e.refuse(uapi.EINVAL, "cannot return stack pointer to the caller")
	}
	if callee.inCallback {
		if r0.typ != scalar {
			e.refuse(uapi.EACCES, "R0 not a scalar value")
		}
		e.readReg(r0)
		e.precise(0)
		rg := callee.callbackRet
		bad := int64(rg.min) > r0.SMin || r0.SMax > int64(rg.max)
		if e.rel < since.R(6, 8) { // by bits; all ranges there are 0 to 1 or 0
			bad = !num.Tnum{Mask: uint64(rg.max)}.Contains(r0.Var)
		}
		if bad {
			e.badRange(r0, rg, "At callback return", "R0")
			panic(refusal{uapi.EINVAL})
		}
	} else {
		live, parent := r0.live, r0.parent
		caller.regs[0] = *r0
		caller.regs[0].live, caller.regs[0].parent = live, parent
		caller.refs = append(caller.refs[:0], callee.refs...)
	}
	site := callee.callsite
	e.insn = site + 1
	again := callee.inCallback && e.has(since.CallbackChains)
	if again {
		e.insn = site
	}
	e.freeFrame(callee)
	s.frames[s.curFrame] = nil
	s.curFrame--
	if again {
		if prev := e.findEntry(s, e.insn); prev != nil {
			e.widen(prev, s)
		}
	}
}
