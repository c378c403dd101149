package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// progInfo is what follows from how the program is attached.
type progInfo struct {
	typ         uapi.ProgType // of an extension: that of the program it extends
	gpl         bool
	caller      proto.Caller
	attachName  string
	attachProto *btf.Type
	attachSpec  *btf.Spec
	attachTrace bool
	ctxArgs     map[int]ctxValue
	opsStruct   string
	opsMember   string

	kfuncs  map[string]*kfunc
	records map[typeKey]*record
	tags    map[tagKey][]string
	tagged  map[uint8]bool
}

// gplLicenses are compatible with the GPL (include/linux/license.h).
func gplLicense(l string) bool {
	switch l {
	case "GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL":
		return true
	}
	return false
}

func (e *env) setupProg() {
	p := e.p
	i := &e.prog
	i.typ = p.Type
	if p.Type == uapi.ProgTypeExt && p.AttachProg != nil {
		i.typ = p.AttachProg.Type
	}
	i.gpl = gplLicense(p.License)
	i.caller = proto.Caller{Type: i.typ, Attach: p.Attach}
	switch {
	case p.Type == uapi.ProgTypeLSM:
		i.caller.Target = strings.TrimPrefix(p.AttachTo, "bpf_lsm_")
	case p.Type == uapi.ProgTypeTracing && p.Attach == uapi.AttachTraceIter:
		i.caller.Target = strings.TrimPrefix(p.AttachTo, "bpf_iter_")
	case p.StructOps != nil:
		i.opsStruct, i.opsMember = p.StructOps.Struct, p.StructOps.Member
		i.caller.Target, i.caller.Member = i.opsStruct, i.opsMember
	}
}

// onlyHook judges the restrictions of a helper to some hooks.
func (e *env) onlyHook(o proto.Only) bool {
	name := strings.TrimPrefix(e.prog.attachName, "bpf_lsm_")
	switch o {
	case proto.DPathTargets:
		switch {
		case e.prog.typ == uapi.ProgTypeTracing && e.p.Attach == uapi.AttachTraceIter:
			return true
		case e.prog.typ == uapi.ProgTypeLSM:
			return progtype.SleepableLSM(name, e.rel)
		}
		for _, f := range proto.DPathFunctions {
			if f == e.prog.attachName {
				return true
			}
		}
		return false
	case proto.SleepableHooks:
		return e.prog.typ != uapi.ProgTypeLSM || progtype.SleepableLSM(name, e.rel)
	case proto.SockStorageTracing:
		if e.prog.typ == uapi.ProgTypeTracing {
			switch e.p.Attach {
			case uapi.AttachTraceRawTp, uapi.AttachTraceIter:
				return true
			case uapi.AttachTraceFentry, uapi.AttachTraceFexit:
				return e.p.AttachProg == nil && !strings.HasPrefix(e.prog.attachName, "bpf_sk_storage")
			}
			return false
		}
	}
	return true
}

// checkAttach finds what the program attaches to, and refuses what cannot be attached (check_attach_btf_id).
func (e *env) checkAttach() {
	p := e.p
	row := progtype.Of(p.Type)
	if p.Type == uapi.ProgTypeSyscall {
		if !p.Sleepable {
			e.refuse(uapi.EINVAL, "Syscall programs can only be sleepable")
		}
		return
	}
	if p.Sleepable && !row.MaySleep(e.rel, p.Attach) {
		switch {
		case e.rel >= since.R(6, 1):
			e.refuse(uapi.EINVAL, "Only fentry/fexit/fmod_ret, lsm, iter, uprobe, and struct_ops programs can be sleepable")
		default:
			e.refuse(uapi.EINVAL, "Only fentry/fexit/fmod_ret and lsm programs can be sleepable")
		}
	}
	switch p.Type {
	case uapi.ProgTypeStructOps:
		e.attachOps()
	case uapi.ProgTypeTracing, uapi.ProgTypeLSM, uapi.ProgTypeExt:
		e.attachBTF()
	case uapi.ProgTypeRawTracepoint, uapi.ProgTypeRawTracepointWritable:
		// Without a BTF id arguments are numbers.
	}
}

func (e *env) attachOps() {
	so := e.p.StructOps
	if !e.prog.gpl {
		e.refuse(uapi.EINVAL, "struct ops programs must have a GPL compatible license")
	}
	if so == nil {
		e.unknown("a struct_ops program without its member")
	}
	s := e.moduleSpec(so.Module)
	if s == nil {
		e.unknown("BTF of %s", so.Module)
	}
	t := s.SkipMods(so.Type)
	if so.Index >= len(t.Members) {
		e.refuse(uapi.EINVAL, "attach to invalid member idx %d of struct %s", so.Index, so.Struct)
	}
	m := &t.Members[so.Index]
	pt := s.SkipMods(m.Type)
	if pt.Kind != btf.KindPtr || s.SkipMods(pt.Ref).Kind != btf.KindFuncProto {
		e.refuse(uapi.EINVAL, "attach to invalid member %s(@idx %d) of struct %s", m.Name, so.Index, so.Struct)
	}
	if errno := e.unsupportedOp(so.Struct, m.Name); errno != 0 {
		e.refuse(errno, "attach to unsupported member %s of struct %s", m.Name, so.Struct)
	}
	e.prog.attachProto, e.prog.attachSpec, e.prog.attachName = s.SkipMods(pt.Ref), s, m.Name
	e.opsArgs(s, so)
}

// unsupportedOp: members that the kernel does not let programs implement, or not as sleepable ones.
func (e *env) unsupportedOp(st, member string) uapi.Errno {
	switch {
	case st == "tcp_congestion_ops" && member == "get_info":
		return uapi.ENOTSUPP
	case st == "bpf_dummy_ops" && e.p.Sleepable && member != "test_sleepable":
		return uapi.EINVAL
	case st == "sched_ext_ops" && e.p.Sleepable:
		switch member {
		case "init_task", "cgroup_init", "cgroup_exit", "cgroup_prep_move", "cpu_online", "cpu_offline", "init", "exit", "sub_attach", "sub_detach":
		default:
			return uapi.EINVAL
		}
	}
	return 0
}

// opsArgs reads the stub of a member, whose parameters' suffixes say which arguments may be null or are references.
func (e *env) opsArgs(s *btf.Spec, so *StructOpsMember) {
	e.prog.ctxArgs = map[int]ctxValue{}
	if e.rel < since.R(6, 9) {
		return
	}
	id, ok := s.FindID(btf.KindFunc, so.Struct+"__"+so.Member)
	if !ok {
		return
	}
	stub := s.MustType(s.MustType(id).Ref)
	off := 0
	for i := range stub.Params {
		if i >= len(e.prog.attachProto.Params) {
			break
		}
		p := &stub.Params[i]
		real := s.SkipMods(e.prog.attachProto.Params[i].Type)
		if real.Kind == btf.KindPtr {
			target := s.SkipMods(real.Ref)
			v := ctxValue{spec: e.addSpec(s), tid: uint32(target.ID)}
			switch {
			case strings.HasSuffix(p.Name, "__nullable"):
				v.typ = ptrBTF | ptrTrusted | maybeNull
			case strings.HasSuffix(p.Name, "__ref") && e.rel >= since.R(6, 15):
				v.typ = ptrBTF | ptrTrusted
				v.ref = refLater
			}
			if v.typ != 0 && target.Kind == btf.KindStruct {
				e.prog.ctxArgs[off] = v
			}
			off += 8
			continue
		}
		n := 8
		if real.Kind == btf.KindStruct || real.Kind == btf.KindUnion {
			n = (int(real.Size) + 7) / 8 * 8
		}
		off += n
	}
}

// refLater marks an argument that holds a reference from the start; its identity is known when the walk begins.
const refLater = 1<<32 - 1

// startRefs takes the references that arguments hold from the start.
func (e *env) startRefs() {
	for off := 0; off < 8*12; off += 8 {
		if a, ok := e.prog.ctxArgs[off]; ok && a.ref != 0 {
			a.ref = e.acquire()
			e.prog.ctxArgs[off] = a
		}
	}
}

// attachBTF finds the function, tracepoint or program of a tracing program (bpf_check_attach_target).
func (e *env) attachBTF() {
	p := e.p
	s := e.moduleSpec(p.AttachModule)
	id := p.AttachID
	if p.AttachProg != nil {
		s = p.AttachProg.BTF
	} else if id == 0 {
		s, id = e.attachByName()
	}
	if id == 0 {
		e.refuse(uapi.EINVAL, "Tracing programs must provide btf_id")
	}
	if s == nil {
		if p.AttachProg != nil || p.Type == uapi.ProgTypeExt {
			e.refuse(uapi.EINVAL, "FENTRY/FEXIT program can only be attached to another program annotated with BTF")
		}
		e.unknown("BTF of %s", p.AttachModule)
	}
	if int(id) >= s.NumTypes() {
		e.refuse(uapi.EINVAL, "attach_btf_id %d is invalid", id)
	}
	t := s.MustType(id)
	i := &e.prog
	i.attachSpec, i.attachName = s, t.Name
	if p.AttachProg != nil {
		e.attachToProg(s, t)
		return
	}
	if p.Type == uapi.ProgTypeExt {
		e.refuse(uapi.EINVAL, "Cannot replace kernel functions")
	}
	switch p.Attach {
	case uapi.AttachTraceRawTp:
		e.attachRawTp(s, t)
	case uapi.AttachTraceIter:
		i.attachProto = e.funcProto(s, t)
		e.iterArgs(s)
	case uapi.AttachModifyReturn, uapi.AttachLSMMac, uapi.AttachLSMCgroup, uapi.AttachTraceFentry, uapi.AttachTraceFexit, uapi.AttachTraceFsession:
		i.attachProto = e.funcProto(s, t)
		e.attachFunc(s, t)
	default:
		panic(refusal{uapi.EINVAL})
	}
}

// attachByName finds what the section names, as libbpf does.
func (e *env) attachByName() (*btf.Spec, btf.ID) {
	kind, prefix := btf.KindFunc, ""
	switch e.p.Attach {
	case uapi.AttachTraceRawTp:
		kind, prefix = btf.KindTypedef, "btf_trace_"
	case uapi.AttachTraceIter:
		prefix = "bpf_iter_"
	case uapi.AttachLSMMac, uapi.AttachLSMCgroup:
		prefix = "bpf_lsm_"
	}
	if e.p.AttachTo == "" || e.k.BTF == nil {
		return e.k.BTF, 0
	}
	name := prefix + strings.TrimPrefix(e.p.AttachTo, prefix)
	if id, ok := e.k.BTF.FindID(kind, name); ok {
		return e.k.BTF, id
	}
	for _, m := range e.k.Modules {
		if id, ok := m.BTF.FindID(kind, name); ok {
			return m.BTF, id
		}
	}
	return e.k.BTF, 0
}

func (e *env) funcProto(s *btf.Spec, t *btf.Type) *btf.Type {
	if t.Kind != btf.KindFunc {
		e.refuse(uapi.EINVAL, "attach_btf_id %d is not a function", t.ID)
	}
	return s.MustType(t.Ref)
}

func (e *env) attachRawTp(s *btf.Spec, t *btf.Type) {
	i := &e.prog
	if t.Kind != btf.KindTypedef {
		e.refuse(uapi.EINVAL, "attach_btf_id %d is not a typedef", t.ID)
	}
	name, ok := strings.CutPrefix(t.Name, "btf_trace_")
	if !ok {
		e.refuse(uapi.EINVAL, "attach_btf_id %d points to wrong type name %s", t.ID, t.Name)
	}
	i.attachTrace = true
	// The template of the tracepoint has names of parameters, which suffixes are part of.
	if e.rel >= since.R(6, 12) {
		if id, ok := s.FindID(btf.KindFunc, "__bpf_trace_"+name); ok {
			i.attachProto = s.MustType(s.MustType(id).Ref)
			return
		}
	}
	pt := s.SkipMods(t.Ref)
	if pt.Kind != btf.KindPtr {
		panic(refusal{uapi.EINVAL})
	}
	i.attachProto = s.SkipMods(pt.Ref)
}

// attachFunc judges programs on kernel functions: whether the function can be traced, changed, or called where one may sleep.
func (e *env) attachFunc(s *btf.Spec, t *btf.Type) {
	p := e.p
	fp := e.prog.attachProto
	if len(fp.Params) > 12 {
		e.refuse(uapi.EINVAL, "The function %s has %d arguments. Too many.", t.Name, len(fp.Params))
	}
	if fp.Variadic() {
		e.refuse(uapi.EINVAL, "The function %s with variable args is unsupported.", t.Name)
	}
	if r := s.SkipMods(fp.Ref); r.Kind == btf.KindStruct || r.Kind == btf.KindUnion {
		e.refuse(uapi.EINVAL, "The function %s return type %s is unsupported.", t.Name, strings.ToUpper(r.Kind.String()))
	}
	if e.rel < since.R(6, 1) {
		for i := range fp.Params {
			if a := s.SkipMods(fp.Params[i].Type); a.Kind == btf.KindStruct || a.Kind == btf.KindUnion {
				e.refuse(uapi.EINVAL, "The function %s arg%d type %s is unsupported.", t.Name, i, strings.ToUpper(a.Kind.String()))
			}
		}
	}
	if p.Type == uapi.ProgTypeLSM {
		if !e.prog.gpl {
			e.refuse(uapi.EINVAL, "LSM programs must have a GPL compatible license")
		}
		if p.Sleepable && !progtype.SleepableLSM(strings.TrimPrefix(t.Name, "bpf_lsm_"), e.rel) {
			e.refuse(uapi.EINVAL, "%s is not sleepable", t.Name)
		}
		if progtype.DisabledLSM(strings.TrimPrefix(t.Name, "bpf_lsm_"), e.rel) {
			e.refuse(uapi.EINVAL, "attach_btf_id %d points to disabled hook %s", t.ID, t.Name)
		}
		return
	}
	if p.Sleepable {
		if !e.errorInjectable(t.Name) {
			e.refuse(uapi.EINVAL, "%s is not sleepable", t.Name)
		}
		return
	}
	if p.Attach == uapi.AttachModifyReturn && !strings.HasPrefix(t.Name, "security_") && !e.errorInjectable(t.Name) {
		e.refuse(uapi.EINVAL, "%s() is not modifiable", t.Name)
	}
	if deniedFunc(t.Name) {
		panic(refusal{uapi.EINVAL})
	}
	if (p.Attach == uapi.AttachTraceFexit || p.Attach == uapi.AttachModifyReturn) && noreturnFunc(t.Name) && e.rel >= since.R(6, 15) {
		if e.rel >= since.R(7, 0) {
			e.refuse(uapi.EINVAL, "Attaching fexit/fsession/fmod_ret to __noreturn function '%s' is rejected.", t.Name)
		}
		e.refuse(uapi.EINVAL, "Attaching fexit/fmod_ret to __noreturn function '%s' is rejected.", t.Name)
	}
}

func deniedFunc(name string) bool {
	switch name {
	case "migrate_disable", "migrate_enable", "rcu_read_unlock_strict", "preempt_count_add", "preempt_count_sub", "__rcu_read_lock", "__rcu_read_unlock":
		return true
	}
	return false
}

func noreturnFunc(name string) bool {
	switch name {
	case "__ia32_sys_exit", "__ia32_sys_exit_group", "__kunit_abort", "kunit_try_catch_throw", "__module_put_and_kthread_exit", "__x64_sys_exit",
		"__x64_sys_exit_group", "do_exit", "do_group_exit", "kthread_complete_and_exit", "kthread_exit", "make_task_dead":
		return true
	}
	return false
}

// errorInjectable: the function is in the kernel's list of those whose return value may be changed. That list is not in BTF; system
// calls are on it.
func (e *env) errorInjectable(name string) bool {
	if syscallEntry(name) {
		return e.rel >= since.R(7, 0) || e.errorInjection()
	}
	if !e.errorInjection() && !modifyReturnTest(name) {
		return false
	}
	switch name {
	case "should_fail_bio", "should_failslab", "should_fail_alloc_page", "io_ctl_init", "btrfs_check_leaf_full", "open_ctree", "bpf_fentry_test1", "bpf_modify_return_test",
		"bpf_modify_return_test2", "bpf_modify_return_test_tp", "bpf_fentry_shadow_test", "bpf_override_return", "hid_bpf_device_event", "hid_bpf_rdesc_fixup", "hidp_send_report",
		"update_socket_protocol", "__filemap_add_folio", "set_memory_x", "bpf_testmod_fentry_test1", "blk_should_fake_timeout", "unpoison_memory", "cgroup_rstat_flush":
		return true
	}
	if modifyReturnTest(name) {
		return true
	}
	e.unknown("whether the return value of %s can be changed", name)
	return false
}

// syscallEntry: system calls can be injected with errors, and from 7.0 on traced by sleepable programs whatever the configuration.
func syscallEntry(name string) bool {
	return strings.HasPrefix(name, "__x64_sys_") || strings.HasPrefix(name, "__ia32_sys_") || strings.HasPrefix(name, "__arm64_sys_")
}

// modifyReturnTest: functions of the kernel's own tests, which kfunc sets make modifiable whatever the configuration.
func modifyReturnTest(name string) bool {
	switch name {
	case "bpf_modify_return_test", "bpf_modify_return_test2", "bpf_modify_return_test_tp", "update_socket_protocol", "hid_bpf_device_event", "hid_bpf_rdesc_fixup":
		return true
	}
	return strings.HasPrefix(name, "bpf_fentry_test")
}

// errorInjection reports whether the kernel was built with CONFIG_FUNCTION_ERROR_INJECTION. Without its configuration the function
// that looks up the list tells.
func (e *env) errorInjection() bool {
	if v, ok := e.k.Kconfig["CONFIG_FUNCTION_ERROR_INJECTION"]; ok {
		return v == "y"
	}
	if e.k.BTF == nil {
		return true
	}
	_, ok := e.k.BTF.FindID(btf.KindFunc, "within_error_injection_list")
	return ok
}

// attachToProg judges extensions and programs that trace other programs.
func (e *env) attachToProg(s *btf.Spec, t *btf.Type) {
	p, tgt := e.p, e.p.AttachProg
	i := &e.prog
	sub := -1
	for n := range tgt.Funcs {
		if tgt.Funcs[n].Type == p.AttachID {
			sub = n
		}
	}
	if sub < 0 {
		e.refuse(uapi.EINVAL, "Subprog %s doesn't exist", t.Name)
	}
	if p.Type == uapi.ProgTypeExt {
		if sub > 0 && t.Linkage != funcGlobal {
			e.refuse(uapi.EINVAL, "Cannot replace static functions")
		}
		if tgt.Type == uapi.ProgTypeTracing && (tgt.Attach == uapi.AttachTraceFentry || tgt.Attach == uapi.AttachTraceFexit) {
			e.refuse(uapi.EINVAL, "Cannot extend fentry/fexit")
		}
		if tgt.Type == uapi.ProgTypeExt {
			e.refuse(uapi.EINVAL, "Cannot recursively attach")
		}
		i.attachProto = e.funcProto(s, t)
		return
	}
	i.attachProto = e.funcProto(s, t)
	if sub > 0 && t.Linkage != funcGlobal {
		i.attachProto = nil
	}
}
