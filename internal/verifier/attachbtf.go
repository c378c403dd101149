package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// attachBTF finds the function, tracepoint or program of a tracing program
// (bpf_check_attach_target).
func (h *attachment) attachBTF() {
	p := h.p
	s := h.moduleSpec(p.AttachModule)
	id := p.AttachID
	switch {
	case progtype.TracesMany(p.Attach):
		s, id = h.multiFunc()
	case p.AttachProg != nil:
		s = p.AttachProg.BTF
	case id == 0:
		s, id = h.attachByName()
	}
	if id == 0 {
		h.refuse(refusal.TracingProgramsMustProvideBtfId)
	}
	// A target program without BTF has no types to check arguments against.
	if s == nil {
		if p.AttachProg != nil || p.Type == uapi.ProgTypeExt {
			if h.has(since.AttachWords) {
				h.refuse(refusal.TracingProgramOnlyAttachedAnother)
			}
			h.refuse(refusal.FentryFexitProgramOnlyAttachedAnother)
		}
		h.unknown("BTF of %s", p.AttachModule)
	}
	if int(id) >= s.NumTypes() {
		h.refuse(refusal.AttachBtfIdInvalid, id)
	}
	t := s.MustType(id)
	i := &h.prog
	i.attachSpec, i.attachName = s, t.Name
	if p.AttachProg != nil {
		h.attachToProg(s, t)
		return
	}
	// An extension replaces a function of another program: for one of the kernel, the kernel would
	// trust a program with what its own code does there.
	if p.Type == uapi.ProgTypeExt {
		h.refuse(refusal.CannotReplaceKernelFunctions)
	}
	switch p.Attach {
	case uapi.AttachTraceRawTp:
		h.attachRawTp(s, t)
	case uapi.AttachTraceIter:
		// An iterator's arguments are the fields of its context, whose types come from the
		// registered target.
		i.attachProto = h.funcProto(s, t)
		h.iterArgs(s)
	case uapi.AttachModifyReturn, uapi.AttachLSMMac, uapi.AttachLSMCgroup, uapi.AttachTraceFentry, uapi.AttachTraceFexit, uapi.AttachTraceFsession:
		i.attachProto = h.funcProto(s, t)
		h.attachFunc(s, t)
	case uapi.AttachTraceFentryMulti, uapi.AttachTraceFexitMulti, uapi.AttachTraceFsessionMulti:
		// Which functions it may trace, and whether it may sleep there, is decided when it is
		// attached.
		i.attachProto = h.funcProto(s, t)
	default:
		h.refuse(refusal.UnknownAttachType)
	}
}

// multiFunc is the function that stands for those that such a program is attached to later
// (bpf_multi_func): it has no arguments.
func (h *attachment) multiFunc() (*btf.Spec, btf.ID) {
	const name = "bpf_multi_func"
	if !h.has(since.MultiAttach) {
		h.refuse(refusal.UnknownAttachType) // an attach type that it does not know
	}
	if h.k.BTF == nil {
		h.unknown("the kernel's BTF")
	}
	id, ok := h.k.BTF.FindID(btf.KindFunc, name)
	if !ok {
		h.unknown("function %s in the kernel's BTF", name)
	}
	return h.k.BTF, id
}

// attachByName finds the target named by the section, as libbpf does: the kernel takes an id only.
// The prefixes are those of the types that the kernel makes for each kind (libbpf
// btf_get_kernel_prefix_kind).
func (h *attachment) attachByName() (*btf.Spec, btf.ID) {
	kind, prefix := btf.KindFunc, ""
	switch h.p.Attach {
	case uapi.AttachTraceRawTp:
		kind, prefix = btf.KindTypedef, "btf_trace_"
	case uapi.AttachTraceIter:
		prefix = "bpf_iter_"
	case uapi.AttachLSMMac, uapi.AttachLSMCgroup:
		prefix = "bpf_lsm_"
	}
	if h.p.AttachTo == "" || h.k.BTF == nil {
		return h.k.BTF, 0
	}
	name := prefix + strings.TrimPrefix(h.p.AttachTo, prefix)
	if id, ok := h.k.BTF.FindID(kind, name); ok {
		return h.k.BTF, id
	}
	for _, m := range h.k.Modules {
		if id, ok := m.BTF.FindID(kind, name); ok {
			return m.BTF, id
		}
	}
	return h.k.BTF, 0
}

// funcProto returns the prototype of the function that the id must be of.
func (h *attachment) funcProto(s *btf.Spec, t *btf.Type) *btf.Type {
	if t.Kind != btf.KindFunc {
		h.refuse(refusal.AttachBtfIdNotFunction, t.ID)
	}
	return s.MustType(t.Ref)
}

// attachRawTp reads the arguments of a tracepoint. BTF has no functions for tracepoints: the
// typedefs btf_trace_* stand for them, pointers to the prototype of the probe, with the context
// first.
func (h *attachment) attachRawTp(s *btf.Spec, t *btf.Type) {
	i := &h.prog
	if t.Kind != btf.KindTypedef {
		h.refuse(refusal.AttachBtfIdNotTypedef, t.ID)
	}
	name, ok := strings.CutPrefix(t.Name, "btf_trace_")
	if !ok {
		h.refuse(refusal.AttachBtfIdPointsWrongType, t.ID, t.Name)
	}
	// Probes run with preemption disabled unless the tracepoint may fault, as those of system calls
	// may (TRACE_EVENT_SYSCALL): a program that sleeps elsewhere would schedule in an atomic
	// section.
	if h.p.Sleepable && h.has(since.FaultableTracepoints) && name != "sys_enter" && name != "sys_exit" {
		h.refuse(refusal.SleepableProgramCannotAttachNonFaultable, name)
	}
	i.attachTrace, i.attachName = true, name
	// The prototype behind the typedef has no parameter names. The template's function has, and
	// their suffixes say which arguments may be NULL (btf_param_match_suffix in btf_ctx_access).
	if h.has(since.TracepointParamNames) {
		if id, ok := s.FindID(btf.KindFunc, "__bpf_trace_"+name); ok {
			i.attachProto = s.MustType(s.MustType(id).Ref)
			return
		}
	}
	pt := s.SkipMods(t.Ref)
	if pt.Kind != btf.KindPtr {
		h.refuse(refusal.TracepointNotPointer)
	}
	i.attachProto = s.SkipMods(pt.Ref)
}

// attachFunc checks programs on kernel functions: whether the function can be traced, its return
// value changed, or the program may sleep there (bpf_check_attach_target).
func (h *attachment) attachFunc(s *btf.Spec, t *btf.Type) {
	p := h.p
	h.distill(s, t)
	if p.Type == uapi.ProgTypeLSM {
		if !h.prog.gpl {
			h.refuse(refusal.LSMProgramsMustGPLCompatibleLicense)
		}
		// Some hooks are called in atomic context or with spin locks, so the hooks that allow sleep
		// are a list (bpf_lsm_is_sleepable_hook).
		if p.Sleepable && !progtype.SleepableLSM(strings.TrimPrefix(t.Name, "bpf_lsm_"), h.rel) {
			h.refuse(refusal.NotSleepable, t.Name)
		}
		// Results of these hooks mean more than success or an error, which programs could not
		// follow (bpf_lsm_disabled_hooks).
		if h.has(since.DisabledHooks) && progtype.DisabledLSM(strings.TrimPrefix(t.Name, "bpf_lsm_"), h.rel) {
			h.refuse(refusal.AttachBtfIdPointsDisabledHook, t.ID, t.Name)
		}
		return
	}
	// Any function may be called in atomic context. Those into which errors can be injected are
	// taken to be called where sleep is possible (check_non_sleepable_error_inject has the
	// exceptions).
	if p.Sleepable {
		if !h.errorInjectable(t.Name) {
			h.refuse(refusal.NotSleepable, t.Name)
		}
		return
	}
	// Skipping a function is safe only if its callers handle an error: security hooks, and
	// functions that are marked for error injection (check_attach_modify_return).
	if p.Attach == uapi.AttachModifyReturn && !strings.HasPrefix(t.Name, "security_") && !h.errorInjectable(t.Name) {
		h.refuse(refusal.NotModifiable, t.Name)
	}
	// The trampoline itself calls these functions, so tracing them would recurse (btf_id_deny).
	if deniedFunc(t.Name) {
		h.refuse(refusal.DeniedTarget)
	}
	// The trampoline holds a reference on its code while the function runs, which one that never
	// returns does not give back (noreturn_deny).
	if atReturn(p.Attach) && noreturnFunc(t.Name) && h.has(since.NoreturnTargets) {
		if h.has(since.SessionWords) {
			h.refuse(refusal.AttachingFexitFsessionFmodRetNoreturn, t.Name)
		}
		h.refuse(refusal.AttachingFexitFmodRetNoreturnFunction, t.Name)
	}
}

// distill checks whether the kernel can call programs with a function's arguments and result
// (btf_distill_func_proto).
func (h *attachment) distill(s *btf.Spec, t *btf.Type) {
	fp := h.prog.attachProto
	// The trampoline has that many places for arguments (MAX_BPF_FUNC_ARGS).
	if len(fp.Params) > 12 {
		h.refuse(refusal.FunctionArgumentsTooMany, t.Name, len(fp.Params))
	}
	// Where the further arguments are, is known only to the function.
	if fp.Variadic() {
		h.refuse(refusal.FunctionVariableArgsUnsupported, t.Name)
	}
	// The trampoline keeps one register of result.
	if r := s.SkipMods(fp.Ref); r.Kind == btf.KindStruct || r.Kind == btf.KindUnion {
		h.refuse(refusal.FunctionReturnTypeUnsupported, t.Name, kindText(r.Kind))
	}
	for i := range fp.Params {
		a := s.SkipMods(fp.Params[i].Type)
		if a.Kind == btf.KindStruct && !h.has(since.StructArgs) || a.Kind == btf.KindUnion && !h.has(since.UnionArgs) {
			h.refuse(refusal.FunctionArgTypeUnsupported, t.Name, i, kindText(a.Kind))
		}
	}
	if r := s.SkipMods(fp.Ref); h.has(since.WideReturns) && r.Kind == btf.KindInt && r.Size > 8 && atReturn(h.p.Attach) {
		h.refuse(refusal.AttachFunction8ByteReturnValue, t.Name)
	}
}

// atReturn reports whether programs of an attach type get the function's result
// (attach_uses_trampoline_retval).
func atReturn(a uapi.AttachType) bool {
	at := progtype.Of(uapi.ProgTypeTracing).Attached(a)
	return at != nil && at.Return
}

// deniedFunc reports the functions of btf_id_deny.
func deniedFunc(name string) bool {
	switch name {
	case "migrate_disable", "migrate_enable", "rcu_read_unlock_strict", "preempt_count_add", "preempt_count_sub", "__rcu_read_lock", "__rcu_read_unlock":
		return true
	}
	return false
}

// noreturnFunc reports the functions of noreturn_deny.
func noreturnFunc(name string) bool {
	switch name {
	case "__ia32_sys_exit", "__ia32_sys_exit_group", "__kunit_abort", "kunit_try_catch_throw", "__module_put_and_kthread_exit", "__x64_sys_exit",
		"__x64_sys_exit_group", "do_exit", "do_group_exit", "kthread_complete_and_exit", "kthread_exit", "make_task_dead":
		return true
	}
	return false
}

// modifyReturnTest recognises functions of the kernel's own tests, which kfunc sets make modifiable
// whatever the configuration.
func modifyReturnTest(name string) bool {
	switch name {
	case "bpf_modify_return_test", "bpf_modify_return_test2", "bpf_modify_return_test_tp", "update_socket_protocol", "hid_bpf_device_event", "hid_bpf_rdesc_fixup":
		return true
	}
	return strings.HasPrefix(name, "bpf_fentry_test")
}
