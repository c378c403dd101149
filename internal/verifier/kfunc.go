package verifier

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// kfFlags are the flags with which the kernel registered a kfunc (KF_*).
type kfFlags proto.KfuncFlags

const flagDevBound = 1 << 6 // BPF_F_XDP_DEV_BOUND_ONLY

const (
	kfAcquire      = kfFlags(proto.Acquire)
	kfRelease      = kfFlags(proto.ReleaseArg)
	kfRetNull      = kfFlags(proto.ReturnsNull)
	kfTrusted      = kfFlags(proto.TrustedArgs)
	kfSleepable    = kfFlags(proto.Sleepable)
	kfDestructive  = kfFlags(proto.Destructive)
	kfRCU          = kfFlags(proto.RCU)
	kfIterNew      = kfFlags(proto.IterNew)
	kfIterNext     = kfFlags(proto.IterNext)
	kfIterDestroy  = kfFlags(proto.IterDestroy)
	kfRCUProtected = kfFlags(proto.RCUProtected)
	kfImplicit     = kfFlags(proto.ImplicitArgs)
	kfKptrGet      = kfFlags(proto.KptrGet)
)

func (f kfFlags) has(x kfFlags) bool { return f&x != 0 }

// kfunc is a kernel function that the program calls.
type kfunc struct {
	name          string
	row           *proto.Kfunc // what is known about it, nil if nothing is
	flags         kfFlags      // KF_* of its registration
	allowed       bool         // it is registered for programs of this type
	missing       bool         // the kernel does not have it
	none          bool         // the BTF tags kfuncs, but not this function
	spec          uint8
	id            btf.ID
	proto         *btf.Type // FUNC_PROTO
	changesPacket bool
}

func (k *kfunc) allowedLocked(r Release) bool { return k.row != nil && k.row.InLock(r) }

// async reports whether the function takes a callback that runs later.
func (k *kfunc) async() bool {
	return k.is(proto.SetsWorkCallback | proto.SchedulesTaskWork)
}

func (k *kfunc) taskWork() bool { return k.is(proto.SchedulesTaskWork) }

// is reports whether the function has one of the roles.
func (k *kfunc) is(r proto.Role) bool { return k != nil && k.row.Is(r) }

// callKfunc checks a call of a kernel function (check_kfunc_call).
func (c *kfuncs) callKfunc(in *decode.Insn) stepResult {
	k := c.kfuncAt(c.insn)
	if k == nil || k.missing {
		// The kernel accepts such a call in code that the verifier never reaches.
		c.refuse(refusal.InvalidKernelFunctionCallNotEliminated)
	}
	switch {
	case k.none || k.row == nil && proto.OnlyTraced(k.name):
		// A function of the kernel that is no kfunc.
		c.refuse(refusal.CallingKernelFunctionNotAllowed, k.name)
	case k.row == nil:
		c.unknown("kernel function %s", k.name)
	case k.row.AnyCaller:
		c.doubt = fmt.Sprintf("which programs may call kernel function %s: the file does not tell, and the table does not know it", k.name)
	}
	if !k.allowed {
		c.refuse(refusal.CallingKernelFunctionNotAllowed, k.name)
	}
	c.curAux().iterNext = k.flags.has(kfIterNext)
	if k.is(proto.TakesResLock) {
		c.queueLockFailure()
	}
	// Compilers put this call where a program's behaviour is undefined.
	if k.is(proto.Traps) {
		c.refuse(refusal.UnexpectedBpfTrapDueUninitializedVariable)
	}
	if k.flags.has(kfSleepable) && !c.resources.sleepable() {
		c.refuse(refusal.ProgramMustSleepableCallSleepableKfunc, k.name)
	}
	// RCU sections are for pointers that the kernel's types mark, which only clang does.
	if k.is(proto.EntersRCU|proto.LeavesRCU) && !c.has(since.RCUWithoutTags) && !c.rcuTagged() {
		c.refuse(refusal.NoVmlinuxBTFRcuTagSupport, k.name)
	}
	m := &callMeta{k: k}
	c.kfuncArgs(m)
	c.dropInTracing(m)
	if k.is(proto.AddsToTree) {
		c.frames.callback(m.sub, cbTreeLess)
	}
	// The result is the address of eight bytes that entry and return share.
	if k.is(proto.SessionCookie) {
		m.retSize, m.retRdonly = 8, false
	}
	if k.async() {
		if k.taskWork() {
			c.frames.callback(m.sub, cbTaskWork)
		} else {
			c.frames.callback(m.sub, cbTimer)
		}
	}
	c.kfuncSections(k)
	regs := c.regs()
	if m.release != 0 {
		c.kfuncRelease(m)
	}
	// The list or tree owns the node now. The program may use it while it holds the lock, as nobody
	// can remove it (ref_convert_owning_non_owning).
	if k.is(proto.PushesNode) {
		c.resources.disown(regs[2].ref)
	}
	if k.is(proto.Throws) {
		c.throwing(k)
	}
	for i := 0; i <= 5; i++ {
		regs[i].notInit()
		c.log.touch(i)
	}
	c.kfuncResult(m)
	if k.changesPacket {
		c.resources.forgetPackets()
	}
	regs[0].wrote()
	if k.flags.has(kfIterNext) {
		c.iterNextCall(m)
	}
	if k.is(proto.Throws) {
		return c.frames.exit(true)
	}
	return c.frames.enterCallback()
}

// rcuTagged reports whether the kernel's types say which pointers RCU protects.
func (c *kfuncs) rcuTagged() bool {
	_, ok := c.k.BTF.FindID(btf.KindTypeTag, "rcu")
	return ok
}

// throwing checks a call of bpf_throw.
func (c *kfuncs) throwing(k *kfunc) {
	if c.framePointerUnwinder() {
		c.refuse(refusal.JITNotSupportCallingKfunc, k.name, k.id)
	}
	// Without an exception callback the program ends with what was thrown, which must be a result
	// that it may return.
	if c.exceptionSub == 0 {
		c.defaultThrow = true
		c.frames.checkReturn(1, "R1")
	}
}

// framePointerUnwinder reports whether the kernel walks stacks by frame pointers, as Ubuntu's on
// x86 do. Exceptions unwind programs, for which that kernel's JIT needs CONFIG_UNWINDER_ORC
// (bpf_jit_supports_exceptions). The state of that unwinder has no next_bp.
func (c *kfuncs) framePointerUnwinder() bool {
	if c.k.BTF == nil {
		return false
	}
	id, ok := c.k.BTF.FindID(btf.KindStruct, "unwind_state")
	return ok && slices.ContainsFunc(c.k.BTF.MustType(id).Members, func(m btf.Member) bool { return m.Name == "next_bp" })
}

// queueLockFailure queues the path on which a resilient lock is not taken, for example in a
// deadlock: R0 has the error there (check_kfunc_call).
func (c *kfuncs) queueLockFailure() {
	b := c.pool.push(c.insn+1, c.insn)
	regs := b.regs()
	for i := 0; i <= 5; i++ {
		regs[i].notInit()
	}
	r := &regs[0]
	r.unknown()
	r.Low.SMin, r.SMin, r.Low.SMax, r.SMax = -maxErrno, -maxErrno, -1, -1
	r.Sync(c.rules)
}

// kfuncSections counts entered RCU and preemption sections (check_kfunc_call).
func (c *kfuncs) kfuncSections(k *kfunc) {
	s := c.cur
	lock, unlock := k.is(proto.EntersRCU), k.is(proto.LeavesRCU)
	off, on := k.is(proto.DisablesPreemption), k.is(proto.EnablesPreemption)
	// The callback runs under the tree's lock, and must leave things as it finds them.
	if c.resources.inTreeCallback() && (lock || unlock) && (s.rcu > 0 || c.has(since.TreeCallbackRCU)) {
		c.refuse(refusal.CallingBpfRcuReadLockUnlock)
	}
	switch {
	case lock:
		// Older releases have a flag, no count.
		if s.rcu > 0 && !c.has(since.NestedRCU) {
			c.refuse(refusal.NestedRcuReadLockKernelFunction, k.name)
		}
		s.rcu++
	case unlock:
		if s.rcu == 0 {
			c.refuse(refusal.UnmatchedRcuReadUnlockKernelFunction, k.name)
		}
		s.rcu--
		if s.rcu == 0 {
			// What was protected by the section may be freed from here on: it can be read by
			// probing only.
			s.eachReg(1<<slotSpill|1<<slotIter, func(r *reg) bool { return r.typ&memRCU != 0 }, func(r *reg) {
				r.typ = r.typ&^(memRCU|maybeNull) | ptrUntrusted
			})
		}
	case off:
		s.preempt++
	case on:
		if s.preempt == 0 {
			c.refuse(refusal.UnmatchedAttemptEnablePreemptionKernelFunction, k.name)
		}
		s.preempt--
	}
	if !k.flags.has(kfSleepable) {
		if k.flags.has(kfRCUProtected) && !c.resources.inRCU() && c.has(since.RCUProtectedKfuncs) {
			c.refuse(refusal.KernelFuncRequiresRCUCriticalSection, k.name)
		}
		return
	}
	// Sleeping would end the grace period too early, or schedule where the kernel must not.
	switch {
	case s.rcu > 0:
		c.refuse(refusal.KernelFuncSleepableWithinRcuRead, k.name)
	case s.preempt > 0:
		c.refuse(refusal.KernelFuncSleepableWithinNonPreemptible, k.name)
	case s.irqID != 0:
		c.refuse(refusal.KernelFuncSleepableWithinIRQDisabled, k.name)
	}
}

// kfuncRelease releases the argument that the function takes over (check_kfunc_call).
func (c *kfuncs) kfuncRelease(m *callMeta) {
	r := c.reg(m.release)
	if m.k.is(proto.DiscardsFileDynptr) {
		c.stack.unmarkDynptr(r)
		return
	}
	id := r.ref
	if !c.resources.release(id) {
		c.refuse(refusal.KfuncReferenceNotBeenAcquiredBefore, m.k.name, m.k.id)
	}
	c.stack.endDerived(id)
}
