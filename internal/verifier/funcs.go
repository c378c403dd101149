package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// Linkage of functions.
const (
	funcStatic = 0
	funcGlobal = 1
)

const (
	argScalar argKind = iota
	argCtx            // the program's context
	argMem            // memory of the size of a type
	argDynptr         // an initialised dynptr
	argBTF            // an object of the kernel
	argArena          // an address in the arena
)

// enterFunc adds a frame to s (setup_func_entry). Before 6.14 each frame has the references that
// its callers hold, so that a callee can release them (copy_reference_state).
func (fs *frames) enterFunc(s *state, sub, callsite int, setup func(caller, callee *frame)) {
	// A state has room for that many frames, and recursion would never end.
	if s.curFrame+1 >= maxFrames {
		fs.refuse(refusal.CallStackFramesTooDeep, s.curFrame+2)
	}
	caller := s.frames[s.curFrame]
	f := s.frames[s.curFrame+1]
	if f == nil {
		f = fs.pool.newFrame()
		s.frames[s.curFrame+1] = f
	}
	fs.pool.initFrame(f, callsite, s.curFrame+1, sub)
	f.refs = append(f.refs[:0], caller.refs...)
	setup(caller, f)
	s.curFrame++
}

func copyArgs(caller, callee *frame) { copy(callee.regs[1:6], caller.regs[1:6]) }

// callFunc checks a call of a function of the program (check_func_call).
func (fs *frames) callFunc(in *decode.Insn) stepResult {
	target := callTarget(fs.insn, in)
	sub := fs.subprogFrom(target)
	if sub < 0 {
		fs.refuse(refusal.VerifierBugNoProgramStartsInsn, target)
	}
	s := fs.cur
	sp := &fs.subs[sub]
	caller := s.frame()
	if sp.linkage == funcGlobal && fs.funcInfo() {
		return fs.callGlobal(sub)
	}
	// Static functions are explored in the caller's state; whether their arguments match the
	// prototype matters only for programs that trace them.
	sp.entered = true
	sp.unreliable = sp.unreliable || !fs.reliableCall(sub, caller.regs[:])
	fs.enterFunc(s, sub, fs.insn, copyArgs)
	// R0 to R5 are the callee's to change; R6 to R9 it must keep, which the kernel's code for calls
	// does.
	fs.values.clobber(&caller.regs)
	fs.insn = sp.start
	if fs.liveness.live != nil {
		fs.liveness.live.forget()
	}
	fs.log.called(fs.position)
	return stepJumped
}

// callGlobal checks a call of a function that is verified on its own (check_func_call): once, with
// any arguments of its types. Its callers therefore see nothing of what it does but its prototype.
func (fs *frames) callGlobal(sub int) stepResult {
	s := fs.cur
	sp := &fs.subs[sub]
	// Arguments are compared first, though the error is reported last.
	errno := fs.tryArgs(sub)
	// Nobody knows how long the function runs, or what it locks.
	if fs.resources.holdsLock() && fs.has(since.NoGlobalsUnderLock) {
		fs.refuse(refusal.GlobalFunctionCallsNotAllowedWhile)
	}
	// It was verified as if sleeping were allowed, so it may only be called where it is.
	if fs.has(since.GlobalEffects) && fs.has(since.SleepyGlobals) {
		if sp.mightSleep && !fs.resources.inSleepable() && (fs.cur.rcu > 0 || fs.cur.preempt > 0 || fs.cur.irqID != 0 || !fs.resources.sleepable() || fs.cur.locks > 0) {
			if fs.has(since.NonSleepableWords) {
				fs.refuse(refusal.SleepableGlobalFunctionCalledIn, sp.name, fs.resources.nonSleepable())
			}
			fs.refuse(refusal.GlobalFunctionsMaySleepNotAllowed)
		}
	} else {
		if s.preempt > 0 {
			fs.refuse(refusal.GlobalFunctionCallsNotAllowedPreemption)
		}
	}
	if errno != 0 {
		if !fs.has(since.FuncNameWords) {
			fs.refuseAs(errno, refusal.InvalidArgsUnnamed, sub)
		}
		fs.refuseAs(errno, refusal.InvalidArgs, sub, sp.name)
	}
	fs.verbose("Func#%d ('%s') is global and assumed valid.", sub, sp.name)
	// The packet may be elsewhere when it returns, and of another length.
	if sp.changesPacket {
		fs.resources.forgetPackets()
	}
	// Functions that nothing calls need not be verified (do_check_subprogs).
	sp.called = true
	fs.values.clobber(fs.regs())
	if !fs.has(since.VoidGlobals) || !fs.returnsVoid(sub) {
		fs.reg(0).unknown()
	}
	if sp.mightThrow && fs.has(since.GlobalsThrow) {
		// The path on which the function throws ends here; the other one is queued.
		fs.pool.push(fs.insn+1, fs.insn)
		return fs.exit(true)
	}
	return stepNext
}

// tryArgs runs matchArgs, but reports a mismatch as an error of the caller.
func (fs *frames) tryArgs(sub int) (errno uapi.Errno) {
	defer func() {
		if x := recover(); x != nil {
			r, ok := x.(refused)
			if !ok || r.errno == uapi.EFAULT {
				panic(x)
			}
			errno = r.errno
		}
	}()
	return fs.matchArgs(sub)
}

// matchArgs checks the arguments passed to a global function against its prototype
// (btf_check_func_arg_match).
func (fs *frames) matchArgs(sub int) uapi.Errno {
	fs.layout.prepareArgs(sub)
	for i, a := range fs.subs[sub].args {
		n := i + 1
		r := fs.reg(n)
		switch a.kind {
		case argScalar:
			// The function may compute with the number, which would show a pointer.
			if r.typ != scalar {
				fs.say(refusal.NotScalar, n)
				return uapi.EINVAL
			}
		case argCtx:
			// The function reads fields at fixed places from the beginning.
			fs.memory.argOffset(r, n, true)
			if r.typ != ptrCtx {
				fs.say(refusal.ExpectsPointerCtx, fs.argName(i))
				return uapi.EINVAL
			}
		case argMem:
			fs.memory.plainOffset(r, n)
			if !fs.tryMem(n, a.mem) {
				return uapi.EINVAL
			}
			// The function was verified with plain memory, which does not go away when the packet
			// changes.
			if fs.has(since.PacketArgs) && (r.typ.isPacketAny() || r.typ.isDynSlicePkt()) && fs.subs[sub].changesPacket {
				fs.say(refusal.PacketPointerButFuncMayChange, fs.argName(i), sub)
				return uapi.EINVAL
			}
			// The function does not check for NULL.
			if a.typ&maybeNull == 0 && (r.typ.mayBeNull() || r.isNull() && fs.has(since.NonNullConstants)) {
				fs.say(refusal.ExpectedNonNULL, fs.argName(i))
				return uapi.EINVAL
			}
		case argArena:
			// Any address may be one in the arena.
			if r.typ != ptrArena && r.typ != scalar {
				fs.say(refusal.NotPointerArenaScalar, n)
				return uapi.EINVAL
			}
		case argDynptr:
			fs.memory.plainOffset(r, n)
			fs.arguments.dynptrArg(n, memRdonly, 0)
		case argBTF:
			if r.isNull() && a.typ&maybeNull != 0 {
				continue
			}
			if errno := fs.matchBTFArg(r, n, a); errno != 0 {
				return errno
			}
		}
	}
	return 0
}

// tryMem reports whether a register points to memory of the given size, where the kernel continues
// with an error of its own.
func (fs *frames) tryMem(n int, size uint32) (ok bool) {
	defer func() {
		if x := recover(); x != nil {
			if _, is := x.(refused); !is {
				panic(x)
			}
			ok = false
		}
	}()
	fs.memory.memReg(n, size)
	return true
}

// matchBTFArg checks an object of the kernel that is passed to a global function: it must be one
// that the function may trust as its prototype says.
func (fs *frames) matchBTFArg(r *reg, n int, a funcArg) uapi.Errno {
	t := r.typ
	if a.typ&maybeNull != 0 {
		t &^= maybeNull
	}
	if t != ptrBTF && t != ptrBTF|ptrTrusted && t != ptrBTF|memRCU {
		fs.say(refusal.TypeExpected, n, fs.typeName(r.typ), fs.typeName(ptrBTF), fs.typeName(ptrBTF|ptrTrusted), fs.typeName(ptrBTF|memRCU))
		return uapi.EACCES
	}
	if !fs.kernelMem.structMatch(r.spec, btf.ID(r.tid), int(r.off), fs.kernelSpec(), a.tid, false, true) {
		fs.say(refusal.TypeButExpected, n, fs.specName(r.spec, r.tid), fs.k.BTF.MustType(a.tid).Name)
		return uapi.EACCES
	}
	fs.memory.plainOffset(r, n)
	return 0
}

const (
	cbMapElem  cbKind = iota // bpf_for_each_map_elem
	cbLoop                   // bpf_loop
	cbTimer                  // timers and work queues
	cbVMA                    // bpf_find_vma
	cbUserRing               // bpf_user_ringbuf_drain
	cbTreeLess               // comparison of tree nodes
	cbTaskWork               // bpf_task_work_schedule_*
)

const (
	loopUnseen = iota
	loopFits   // all calls so far could be inlined
	loopNever  // one could not
)

// leaveFunc returns from a function, or from a callback (prepare_func_exit).
func (fs *frames) leaveFunc() {
	s := fs.cur
	callee := s.frame()
	caller := s.frames[s.curFrame-1]
	r0 := &callee.regs[0]
	// The frame that it points to is about to go.
	if r0.typ == ptrStack {
		fs.refuse(refusal.CannotReturnStackPointerCaller)
	}
	// A callback's result goes to the helper, which takes it for one of these numbers.
	if callee.inCallback {
		if r0.typ != scalar {
			fs.refuse(refusal.R0NotScalarValue)
		}
		fs.liveness.readReg(r0)
		fs.precision.precise(0)
		rg := callee.callbackRet
		bad := int64(rg.min) > r0.SMin || r0.SMax > int64(rg.max)
		if !fs.has(since.ReturnsByRange) { // compared by bits; all ranges are 0 to 1, or 0
			bad = !num.Tnum{Mask: uint64(rg.max)}.Contains(r0.Var)
		}
		if bad {
			fs.badRange(r0, rg, "At callback return", "R0")
			panic(refused{uapi.EINVAL})
		}
	} else {
		live, parent := r0.live, r0.parent
		caller.regs[0] = *r0
		// Whether R0 was read before is about the caller's register, and stays.
		caller.regs[0].live, caller.regs[0].parent = live, parent
		caller.refs = append(caller.refs[:0], callee.refs...)
	}
	// After a callback the call is processed once more, as it may call back again; when enough
	// rounds are explored, the path goes on behind it.
	site := callee.callsite
	fs.insn = site + 1
	again := callee.inCallback && fs.has(since.CallbackChains)
	if again {
		fs.insn = site
	}
	fs.log.returns(fs.position, fs.insn)
	fs.pool.freeFrame(callee)
	s.frames[s.curFrame] = nil
	s.curFrame--
	if again {
		// Numbers that differ from the last round and decided nothing are forgotten, or no round
		// would be like the one before (widen_imprecise_scalars).
		if prev := fs.checkpoints.findEntry(s, fs.insn); prev != nil {
			fs.checkpoints.widen(prev, s)
		}
	}
}

// exit leaves a function, or the program (process_bpf_exit). An exception leaves all functions at
// once, so that nothing may be held anywhere.
func (fs *frames) exit(throw bool) stepResult {
	s := fs.cur
	fs.resources.resourceLeak(throw && fs.has(since.ThrowWithLocks) || s.curFrame == 0, !throw, exitPrefix(throw))
	if throw {
		return stepEnd
	}
	if s.curFrame > 0 {
		if fs.liveness.live != nil {
			fs.liveness.live.update(fs.position)
		}
		fs.leaveFunc()
		return stepReturned
	}
	fs.checkReturn(0, "R0")
	return stepEnd
}

func exitPrefix(throw bool) string {
	if throw {
		return "bpf_throw"
	}
	return "BPF_EXIT instruction in main prog"
}
