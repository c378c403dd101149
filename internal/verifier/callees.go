package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// helperOf finds a helper's prototype for this program; it refuses calls of helpers that do not
// exist or are not allowed.
func (u *subject) helperOf(id uapi.FuncID) (*proto.Helper, *proto.Proto) {
	// Which helpers there are depends on the program's type, its attach point, the kernel's
	// configuration and its lockdown (get_func_proto of the type).
	h, p := u.offered(id)
	if p == nil {
		h, ok := proto.Lookup(id)
		switch {
		case ok && h.In(u.rel) && u.deniedHere(h):
			u.refuse(refusal.HelperCallNotAllowedInProbe)
		case !ok || !h.In(u.rel):
			u.refuse(refusal.InvalidFunc, "unknown", int32(id))
		case u.has(since.HelperOfTypeWords):
			u.refuse(refusal.ProgramTypeCannotUseHelper, h.Name(), int32(id))
		}
		u.refuse(refusal.UnknownFunc, h.Name(), int32(id))
	}
	if h.Locked == proto.Integrity && u.has(since.LockdownWrites) {
		u.unlocked = true
	}
	return h, p
}

// deniedHere reports whether programs of the type have a helper, but not at this hook (allowed of
// struct bpf_func_proto).
func (u *subject) deniedHere(h *proto.Helper) bool {
	p := h.For(u.rel, u.prog.caller)
	if p == nil || u.onlyHook(p.Only) {
		return false
	}
	switch p.Only {
	case proto.DPathTargets, proto.SleepableHooks, proto.SockStorageTracing:
		return true
	}
	return false
}

// offered returns the prototype of a helper that the kernel has for the program, else nil.
func (u *subject) offered(id uapi.FuncID) (*proto.Helper, *proto.Proto) {
	h, ok := proto.Lookup(id)
	if !ok || !h.In(u.rel) {
		return nil, nil
	}
	p := h.For(u.rel, u.prog.caller)
	if p == nil || !u.onlyHook(p.Only) || !u.built(id, h) {
		return nil, nil
	}
	return h, p
}

// built reports whether a kernel that has a helper gives it to the program: that may depend on its
// configuration, on its lockdown and on updates.
func (u *subject) built(id uapi.FuncID, h *proto.Helper) bool {
	switch {
	case id == uapi.FuncOverrideReturn:
		return u.errorInjection()
	case id == uapi.FuncSkbPullData && u.prog.typ == uapi.ProgTypeLwtSeg6local:
		return !u.has(since.NoSeg6PullData)
	case h.Locked == proto.NotLocked || h.Locked == proto.Integrity && !u.has(since.LockdownWrites):
		return true
	}
	return u.k.Lockdown < h.Locked
}

// changesPacket and helperMightSleep are used by the control flow check.
func (u *subject) changesPacket(id uapi.FuncID) bool {
	h, ok := proto.Lookup(id)
	if !ok || !h.In(u.rel) {
		return false
	}
	if id == uapi.FuncTailCall {
		// The program that runs instead may change the packet, and return to this function's
		// caller.
		return u.has(since.TailCallInvalidates)
	}
	return h.Has(proto.ChangesPacket, u.rel)
}

// helperMightSleep reports whether a helper may sleep (might_sleep of its prototype).
func (u *subject) helperMightSleep(id uapi.FuncID) bool {
	h, ok := proto.Lookup(id)
	if !ok {
		return false
	}
	p := h.For(u.rel, u.prog.caller)
	return p != nil && u.mightSleep(id, p)
}

// mightSleep reports whether a helper is known to sleep. Updates of releases found more that do.
func (u *subject) mightSleep(id uapi.FuncID, p *proto.Proto) bool {
	switch id {
	case uapi.FuncSysBpf, uapi.FuncSysClose:
		return u.has(since.SyscallsSleep)
	case uapi.FuncBtfFindByNameKind:
		return u.has(since.BTFSearchSleeps)
	case uapi.FuncGetTaskStack:
		return u.p.Sleepable && u.has(since.StacksSleep)
	case uapi.FuncGetStack:
		return u.p.Sleepable && u.prog.typ == uapi.ProgTypeKprobe && u.has(since.StacksSleep)
	}
	return p.Attr&proto.MightSleep != 0
}

// isSyncCallback reports whether a call runs a callback before it returns
// (is_sync_callback_calling_insn).
func (u *subject) isSyncCallback(in *decode.Insn, i int) bool {
	if isHelperCall(in) {
		h, ok := proto.Lookup(uapi.FuncID(in.Imm))
		return ok && h.Effects&proto.CallsBack != 0
	}
	if isKfuncCall(in) {
		k := u.kfuncAt(i)
		return k.is(proto.AddsToTree)
	}
	return false
}

// isAsyncCallback reports whether a call stores a callback that runs later
// (is_async_callback_calling_insn).
func (u *subject) isAsyncCallback(in *decode.Insn, i int) bool {
	if isHelperCall(in) {
		h, ok := proto.Lookup(uapi.FuncID(in.Imm))
		return ok && h.Effects&proto.CallsBackLater != 0
	}
	if isKfuncCall(in) {
		k := u.kfuncAt(i)
		return k != nil && k.async()
	}
	return false
}

// paramsOf returns the number of arguments of a call, if it is known in advance
// (bpf_get_call_summary, get_call_summary before). Otherwise all of R1 to R5 count as read.
func (u *subject) paramsOf(i int) (int, bool) {
	in := &u.insns[i]
	switch {
	case isHelperCall(in):
		_, p := u.offered(uapi.FuncID(in.Imm))
		if p == nil {
			return 0, false
		}
		return len(p.Args), true
	case isKfuncCall(in):
		if k := u.kfuncAt(i); k != nil && k.proto != nil && k.allowed {
			if k.flags.has(kfImplicit) { // those that the kernel passes count too
				if p, _, ok := u.specs[k.spec-1].FuncProto(k.name + "_impl"); ok {
					return len(p.Params), true
				}
			}
			return len(k.proto.Params), true
		}
	}
	return 0, false
}

func (u *subject) kfuncAt(i int) *kfunc { return u.aux[i].kfunc }

// onlyHook checks restrictions of a helper to certain hooks. bpf_d_path takes locks, so a list of
// functions says where these cannot be held already (btf_allowlist_d_path); helpers that sleep are
// for hooks that may sleep; tracing the functions of socket storage would recurse
// (bpf_sk_storage_tracing_allowed).
func (u *subject) onlyHook(o proto.Only) bool {
	name := strings.TrimPrefix(u.prog.attachName, "bpf_lsm_")
	switch o {
	case proto.DPathTargets:
		switch {
		case u.prog.typ == uapi.ProgTypeTracing && u.p.Attach == uapi.AttachTraceIter:
			// Iterators run in process context.
			return true
		case u.prog.typ == uapi.ProgTypeLSM:
			return progtype.SleepableLSM(name, u.rel)
		}
		for _, f := range proto.DPathFunctions {
			if f == u.prog.attachName {
				return true
			}
		}
		return false
	case proto.OneMeaning:
		return o.Permits(u.rel, u.prog.caller)
	case proto.SleepableHooks:
		return u.prog.typ != uapi.ProgTypeLSM || progtype.SleepableLSM(name, u.rel)
	case proto.SockStorageTracing:
		if u.prog.typ == uapi.ProgTypeTracing {
			switch u.p.Attach {
			case uapi.AttachTraceRawTp, uapi.AttachTraceIter:
				return true
			case uapi.AttachTraceFentry, uapi.AttachTraceFexit:
				return u.p.AttachProg == nil && !strings.HasPrefix(u.prog.attachName, "bpf_sk_storage")
			}
			return false
		}
	}
	return true
}

// errorInjectable reports whether the function is in the kernel's list of functions whose return
// value may be changed. BTF does not contain that list; it consists of system calls and of the
// functions that kernel sources from 5.10 to 7.2 mark with ALLOW_ERROR_INJECTION.
func (u *subject) errorInjectable(name string) bool {
	// System calls run in process context and may sleep.
	if syscallEntry(name) {
		return u.has(since.SyscallInjection) || u.errorInjection()
	}
	if !u.errorInjection() && !(u.has(since.ModifyReturnTests) && modifyReturnTest(name)) {
		return false
	}
	if name == "bpf_fentry_test1" && !u.has(since.FentryTestInjectable) {
		return false
	}
	switch name {
	case "should_fail_bio", "should_failslab", "should_fail_alloc_page", "should_fail_net_realloc_skb", "io_ctl_init", "btrfs_check_leaf", "btrfs_check_leaf_full", "btrfs_check_node",
		"btrfs_cow_block", "btrfs_search_slot", "btrfs_should_cancel_balance", "__add_to_page_cache_locked", "page_pool_alloc_pages", "page_pool_alloc_netmems", "nsim_setup_tc",
		"bpf_testmod_test_read", "bpf_testmod_test_write", "open_ctree", "bpf_fentry_test1", "bpf_modify_return_test",
		"bpf_modify_return_test2", "bpf_modify_return_test_tp", "bpf_fentry_shadow_test", "bpf_override_return", "hid_bpf_device_event", "hid_bpf_rdesc_fixup", "hidp_send_report",
		"update_socket_protocol", "__filemap_add_folio", "set_memory_x", "bpf_testmod_fentry_test1", "blk_should_fake_timeout", "unpoison_memory", "cgroup_rstat_flush":
		return true
	}
	if modifyReturnTest(name) {
		return true
	}
	if u.prog.attachSpec != nil && u.prog.attachSpec != u.k.BTF {
		u.unknown("whether the return value of %s, a function of a module, can be changed", name)
	}
	return false
}

// syscallEntry recognises system calls. Errors can be injected into them, and from 7.0 on sleepable
// programs may trace them whatever the configuration.
func syscallEntry(name string) bool {
	return strings.HasPrefix(name, "__x64_sys_") || strings.HasPrefix(name, "__ia32_sys_") || strings.HasPrefix(name, "__arm64_sys_")
}

// errorInjection reports whether the kernel was built with CONFIG_FUNCTION_ERROR_INJECTION. If its
// configuration is unknown, the presence of the lookup function decides.
func (u *subject) errorInjection() bool {
	if v, ok := u.k.Kconfig["CONFIG_FUNCTION_ERROR_INJECTION"]; ok {
		return v == "y"
	}
	if u.k.BTF == nil {
		return true
	}
	_, ok := u.k.BTF.FindID(btf.KindFunc, "within_error_injection_list")
	return ok
}
