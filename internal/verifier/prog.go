package verifier

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// progInfo is derived from how the program is attached.
type progInfo struct {
	typ         uapi.ProgType    // for an extension, the type of the program it extends
	gpl         bool             // its license allows helpers and kernel structs for GPL code only
	caller      proto.Caller     // what decides which helpers and kfuncs there are
	attachName  string           // function, tracepoint or member that it attaches to
	attachProto *btf.Type        // the types of its arguments and result; nil: numbers
	attachSpec  *btf.Spec        // where these types are
	attachTrace bool             // a tracepoint, whose first parameter is not an argument
	ctxArgs     map[int]ctxValue // arguments of which more is known than their types, by offset
	opsStruct   string           // struct_ops: the struct
	opsMember   string           // and the member that it implements

	kfuncs  map[string]*kfunc
	records map[typeKey]*record
	tags    map[tagKey][]string
	tagged  map[uint8]bool
}

// gplLicense reports whether a license is compatible with the GPL (include/linux/license.h).
func gplLicense(l string) bool {
	switch l {
	case "GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL":
		return true
	}
	return false
}

// setupProg notes what the program's type, license and target decide.
func (h *attachment) setupProg() {
	p := h.p
	i := &h.prog
	i.typ = p.actsAs()
	i.gpl = gplLicense(p.License)
	i.caller = proto.Caller{Type: i.typ, Attach: p.Attach, Arch: h.k.Arch}
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

// checkAttach finds the attach target, and refuses targets that cannot be attached to
// (check_attach_btf_id).
func (h *attachment) checkAttach() {
	p := h.p
	row := progtype.Of(p.Type)
	// Such programs make system calls, which sleep.
	if p.Type == uapi.ProgTypeSyscall {
		if !p.Sleepable {
			h.refuse(refusal.SyscallProgramsOnlySleepable)
		}
		return
	}
	// Hooks run in atomic context unless the kernel takes care of it.
	if p.Sleepable && !row.MaySleep(h.rel, p.Attach) {
		switch {
		case h.has(since.CannotSleepWords):
			h.refuse(refusal.TypeCannotSleep)
		case h.has(since.AttachWords):
			h.refuse(refusal.OnlyFsessionFmodRetLsm)
		case h.has(since.SleepableWords):
			h.refuse(refusal.OnlyFentryFexitFmodRetLsm)
		default:
			h.refuse(refusal.OnlyFentryFexitFmodRetLsm2)
		}
	}
	switch p.Type {
	case uapi.ProgTypeStructOps:
		h.attachOps()
	case uapi.ProgTypeTracing, uapi.ProgTypeLSM, uapi.ProgTypeExt:
		h.attachBTF()
	case uapi.ProgTypeRawTracepoint, uapi.ProgTypeRawTracepointWritable:
		// Without a BTF id, arguments are scalars.
	}
}

// attachOps finds the member of the kernel's struct that a program implements
// (check_struct_ops_btf_id): its prototype has the types of the arguments and of the result.
func (h *attachment) attachOps() {
	so := h.p.StructOps
	// Such programs stand in for functions of the kernel's inside.
	if !h.prog.gpl {
		h.refuse(refusal.StructOpsProgramsMustGPLCompatible)
	}
	if so == nil {
		h.unknown("a struct_ops program without a struct member")
	}
	s := h.moduleSpec(so.Module)
	if s == nil {
		h.unknown("BTF of %s", so.Module)
	}
	t := s.SkipMods(so.Type)
	// The member must be one that is called: a pointer to a function.
	if so.Index >= len(t.Members) {
		h.refuse(refusal.AttachInvalidMemberIdxStruct, so.Index, so.Struct)
	}
	m := &t.Members[so.Index]
	pt := s.SkipMods(m.Type)
	if pt.Kind != btf.KindPtr || s.SkipMods(pt.Ref).Kind != btf.KindFuncProto {
		h.refuse(refusal.AttachInvalidMemberIdxStruct2, m.Name, so.Index, so.Struct)
	}
	if errno := h.unsupportedOp(so.Struct, m.Name); errno != 0 {
		h.refuseAs(errno, refusal.AttachUnsupportedMemberStruct, m.Name, so.Struct)
	}
	h.prog.attachProto, h.prog.attachSpec, h.prog.attachName = s.SkipMods(pt.Ref), s, m.Name
	h.opsArgs(s, so)
}

// unsupportedOp: members that programs may not implement, or not as sleepable programs
// (check_member of the struct's subsystem): what the kernel calls with locks or from interrupts
// must not sleep.
func (h *attachment) unsupportedOp(st, member string) uapi.Errno {
	switch {
	case st == "tcp_congestion_ops" && member == "get_info":
		return uapi.ENOTSUPP
	case st == qdiscOps && !slices.Contains(qdiscMembers, member):
		return uapi.ENOTSUPP
	case st == "bpf_dummy_ops" && h.p.Sleepable && member != "test_sleepable":
		return uapi.EINVAL
	}
	if op, ok := proto.SchedOp(st, member); ok && h.p.Sleepable {
		switch op {
		case "init_task", "cgroup_init", "cgroup_exit", "cgroup_prep_move", "cpu_online", "cpu_offline", "init", "exit", "sub_attach", "sub_detach":
		default:
			return uapi.EINVAL
		}
	}
	return 0
}

// opsArgs reads the stub of a member; the suffixes of its parameters mark arguments that may be
// null or that are references (prepare_arg_info): the struct's own prototype cannot say so, as its
// parameters have no names.
func (h *attachment) opsArgs(s *btf.Spec, so *StructOpsMember) {
	h.prog.ctxArgs = map[int]ctxValue{}
	if !h.has(since.OpsArgSuffixes) {
		return
	}
	id, ok := s.FindID(btf.KindFunc, so.Struct+"__"+so.Member)
	// Most stubs of sched_ext_ops_cid are those of sched_ext_ops.
	if op, sched := proto.SchedOp(so.Struct, so.Member); sched && !ok {
		id, ok = s.FindID(btf.KindFunc, "sched_ext_ops__"+op)
	}
	if !ok {
		return
	}
	stub := s.MustType(s.MustType(id).Ref)
	off := 0
	for i := range stub.Params {
		if i >= len(h.prog.attachProto.Params) {
			break
		}
		p := &stub.Params[i]
		real := s.SkipMods(h.prog.attachProto.Params[i].Type)
		if real.Kind == btf.KindPtr {
			target := s.SkipMods(real.Ref)
			v := ctxValue{spec: h.addSpec(s), tid: uint32(target.ID)}
			switch {
			case strings.HasSuffix(p.Name, "__nullable"):
				v.typ = ptrBTF | ptrTrusted | maybeNull
			case strings.HasSuffix(p.Name, "__ref") && h.has(since.OpsRefArgs):
				v.typ = ptrBTF | ptrTrusted
				// The program must release it, or hand it on, on every path.
				v.ref = refLater
			}
			if v.typ != 0 && target.Kind == btf.KindStruct {
				h.prog.ctxArgs[off] = v
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
