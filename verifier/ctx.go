package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/num"
	"github.com/bpfrun/bpfrun/verifier/since"
)

const flowKeysSize = 56

func rangeTnum(rg retRange) num.Tnum { return num.Range(uint64(rg.min), uint64(rg.max)) }

// ctxValue is what a load of the context yields.
type ctxValue struct {
	typ    regType
	spec   uint8
	tid    uint32
	ref    uint32
	mem    uint32
	ranged bool
	ret    retRange
}

// packetAccess reports whether the program may use the packet directly, or pass it to a helper (may_access_direct_pkt_data).
func (e *env) packetAccess(m *callMeta, t accessType) bool {
	switch e.prog.typ {
	case uapi.ProgTypeLwtIn, uapi.ProgTypeLwtOut, uapi.ProgTypeLwtSeg6local, uapi.ProgTypeSkReuseport, uapi.ProgTypeFlowDissector, uapi.ProgTypeCgroupSkb:
		if t == write {
			return false
		}
		fallthrough
	case uapi.ProgTypeSchedCls, uapi.ProgTypeSchedAct, uapi.ProgTypeXDP, uapi.ProgTypeLwtXmit, uapi.ProgTypeSkSkb, uapi.ProgTypeSkMsg:
		return m == nil || m.packet
	case uapi.ProgTypeCgroupSockopt:
		return true
	}
	return false
}

// varCtx: the context is plain memory that no instruction has to be rewritten for.
func (e *env) varCtx() bool { return e.prog.typ == uapi.ProgTypeSyscall }

// fixedCtx: the context may be moved by a constant.
func (e *env) fixedCtx() bool { return e.rel >= since.R(7, 0) }

// ctxAccess judges an access to the context.
func (e *env) ctxAccess(off, size int, t accessType, sx bool) (ctxValue, bool) {
	if off < 0 {
		return ctxValue{}, false
	}
	row := progtype.Of(e.prog.typ)
	c := row.Context
	switch c.Layout {
	case progtype.StructLayout:
		return e.ctxStruct(row, off, size, t, sx)
	case progtype.ArgsLayout:
		return e.ctxArgs(off, size, t)
	case progtype.RegsLayout:
		return ctxValue{typ: scalar}, t == read && off%size == 0 && off+size <= e.ptRegs()
	case progtype.SampleLayout:
		return ctxValue{typ: scalar}, t == read && e.samplePart(off, size)
	case progtype.NumberLayout:
		if e.prog.typ == uapi.ProgTypeRawTracepointWritable && off == 0 {
			if size != 8 || t != read {
				return ctxValue{}, false
			}
			return ctxValue{typ: ptrTPBuffer}, true
		}
		return ctxValue{typ: scalar}, t == read && off%size == 0 && off < 8*12
	}
	_, err := row.CheckAccess(e.rel, e.p.Attach, off, size, t == write)
	return ctxValue{typ: scalar}, err == nil
}

func (e *env) ptRegs() int {
	if e.k.Arch == "arm64" {
		return 272 + 64
	}
	return 21 * 8
}

func (e *env) samplePart(off, size int) bool {
	n := e.ptRegs()
	if off >= n+16 || off%size != 0 {
		// sample_period and addr are words that may be loaded in parts, too.
		return false
	}
	return true
}

// ctxStruct judges an access to a context of the user API.
func (e *env) ctxStruct(row *progtype.Row, off, size int, t accessType, sx bool) (ctxValue, bool) {
	f, err := row.CheckAccess(e.rel, e.p.Attach, off, size, t == write)
	if err != nil || f == nil {
		return ctxValue{}, false
	}
	v := ctxValue{typ: scalar}
	switch f.Yields {
	case progtype.PacketData:
		v.typ = ptrPacket
	case progtype.PacketEnd:
		v.typ = ptrPacketEnd
	case progtype.PacketMeta:
		v.typ = ptrPacketMeta
	case progtype.Socket:
		v.typ = ptrSocket
	case progtype.SocketOrNull:
		v.typ = ptrSocket | maybeNull
	case progtype.SockCommonOrNull:
		v.typ = ptrSockCommon | maybeNull
	case progtype.FlowKeys:
		v.typ = ptrFlowKeys
	case progtype.EventBuffer:
		v.typ = ptrTPBuffer
	case progtype.BTFObject:
		v.typ = ptrBTF | ptrTrusted
		id, ok := e.kernelType(f.BTF)
		if !ok {
			e.unknown("struct %s, which the kernel's BTF does not have", f.BTF)
		}
		v.spec, v.tid = e.kernelSpec(), uint32(id)
	}
	if v.typ != scalar && v.typ.isPacketAny() && (sx || size == 4 && t == write) {
		return ctxValue{}, false
	}
	return v, true
}

// sockAccess judges a load of a field of struct bpf_sock and its like.
func (e *env) sockAccess(t regType, off, size int) bool {
	switch t {
	case ptrSocket, ptrSockCommon:
		return sockField(off, size, t == ptrSockCommon)
	case ptrTCPSock:
		if off < 0 || off >= 120 || off%size != 0 {
			return false
		}
		// bytes_received and bytes_acked have eight bytes, the others four.
		if off >= 80 && off < 96 {
			return size == 8
		}
		return size == 4
	case ptrXDPSock:
		return size == 4 && off%4 == 0 && off >= 0 && off < 4
	}
	return false
}

// sockField: struct bpf_sock has words; ports, addresses, state, protocol and family may be loaded in parts.
func sockField(off, size int, common bool) bool {
	if off < 0 || off >= 80 || off%size != 0 || size > 4 {
		return size == 8 && false
	}
	limit := 4
	part := false
	switch {
	case off >= 4 && off < 16: // family, type, protocol
		part = true
	case off >= 24 && off < 44: // src_ip4, src_ip6
		part = true
	case off >= 44 && off < 48: // src_port
		part = true
	case off >= 48 && off < 52: // dst_port and its padding
		if off >= 50 {
			return false
		}
		limit = 2
		part = true
		if off == 48 && size == 4 {
			return true
		}
	case off >= 52 && off < 72, off >= 72 && off < 76, off >= 76:
		part = true
	}
	if common {
		switch {
		case off >= 8 && off < 24:
			return false
		}
	}
	if part {
		return size <= limit
	}
	return size == 4 && off%4 == 0
}

// isCtxType reports whether a pointer type is that of the program's context (btf_is_prog_ctx_type).
func (e *env) isCtxType(s *btf.Spec, ptr *btf.Type) bool {
	t := s.MustType(ptr.Ref)
	typ := e.prog.typ
	if typ == uapi.ProgTypeKprobe {
		for t.Kind.IsMod() && t.Kind != btf.KindTypedef {
			t = s.MustType(t.Ref)
		}
		if t.Kind == btf.KindTypedef && t.Name == "bpf_user_pt_regs_t" {
			return true
		}
	}
	t = s.SkipMods(ptr.Ref)
	if t.Kind != btf.KindStruct || t.Name == "" {
		return false
	}
	want := ctxNames[typ]
	if t.Name == want {
		return true
	}
	if typ == uapi.ProgTypeKprobe && t.Name == "bpf_user_pt_regs_t" {
		return true
	}
	if typ == uapi.ProgTypePerfEvent && (t.Name == "bpf_perf_event_data" || t.Name == "bpf_user_pt_regs") {
		return true
	}
	return false
}

// ctxNames are the structs that BPF_PROG_TYPE in include/linux/bpf_types.h names as contexts of the user API.
var ctxNames = func() map[uapi.ProgType]string {
	m := map[uapi.ProgType]string{}
	for _, r := range progtype.All() {
		m[r.Type] = r.Context.User
	}
	m[uapi.ProgTypeKprobe] = "pt_regs"
	m[uapi.ProgTypePerfEvent] = "bpf_perf_event_data"
	return m
}()

// kernelCtx is the kernel's own struct behind the context.
func (e *env) kernelCtx() uint32 {
	row := progtype.Of(e.prog.typ)
	name := row.Context.Kernel
	if name == "" {
		e.refuse(uapi.EINVAL, "")
	}
	name = strings.TrimPrefix(name, "struct ")
	if id, ok := e.kernelType(name); ok {
		return uint32(id)
	}
	if e.k.BTF != nil {
		if id, ok := e.k.BTF.FindID(btf.KindTypedef, name); ok {
			return uint32(e.k.BTF.SkipMods(id).ID)
		}
		if id, ok := e.k.BTF.FindID(btf.KindInt, name); ok {
			return uint32(id)
		}
	}
	e.unknown("struct %s, which the kernel's BTF does not have", name)
	return 0
}

// ctxArgs judges a load of an argument of a hook that is typed by BTF (btf_ctx_access).
func (e *env) ctxArgs(off, size int, t accessType) (ctxValue, bool) {
	if t != read || off >= 8*12 || off%size != 0 {
		return ctxValue{}, false
	}
	name := e.prog.attachName
	fp, s := e.prog.attachProto, e.prog.attachSpec
	bad := func(format string, args ...any) (ctxValue, bool) {
		e.verbose(format, args...)
		return ctxValue{}, false
	}
	if off%8 != 0 {
		return bad("func '%s' offset %d is not multiple of 8", name, off)
	}
	if fp == nil {
		if e.p.AttachProg == nil {
			e.unknown("arguments of %s", e.p.AttachTo)
		}
		return ctxValue{typ: scalar}, off/8 <= 5
	}
	arg := argIndex(s, fp, off)
	params := fp.Params
	if e.prog.attachTrace && len(params) > 0 {
		params = params[1:]
	}
	n := len(params)
	if arg > n {
		return bad("func '%s' doesn't have %d-th argument", name, arg+1)
	}
	v := ctxValue{typ: scalar}
	var pt *btf.Type
	pname := ""
	if arg == n {
		switch e.p.Attach {
		case uapi.AttachLSMMac:
			if rg, ok := e.lsmRange(); ok {
				v.ranged, v.ret = true, rg
			}
			pt = s.MustType(fp.Ref)
		case uapi.AttachLSMCgroup, uapi.AttachTraceFexit, uapi.AttachTraceFsession:
			pt = s.MustType(fp.Ref)
		case uapi.AttachModifyReturn:
			pt = s.SkipMods(fp.Ref)
			if pt.Kind != btf.KindInt || pt.Size > 8 {
				return bad("ret type %s not allowed for fmod_ret", strings.ToUpper(pt.Kind.String()))
			}
		default:
			return bad("func '%s' doesn't have %d-th argument", name, arg+1)
		}
	} else {
		pt = s.MustType(params[arg].Type)
		pname = params[arg].Name
	}
	pt = s.SkipMods(pt.ID)
	if isScalarType(pt) || pt.Kind == btf.KindStruct || pt.Kind == btf.KindUnion && e.rel >= since.R(6, 3) {
		return v, true
	}
	if pt.Kind == btf.KindVoid && arg == n {
		return bad("func '%s' arg%d '%s' has type %s. Only pointer access is allowed", name, arg, "", "UNKNOWN")
	}
	if pt.Kind != btf.KindPtr {
		return bad("func '%s' arg%d '%s' has type %s. Only pointer access is allowed", name, arg, pt.Name, strings.ToUpper(pt.Kind.String()))
	}
	if size != 8 {
		return bad("func '%s' size %d must be 8", name, size)
	}
	v.ranged = false
	return e.ctxPointer(off, arg, s, pt, pname, v)
}

// argIndex is the argument at an offset of the context: structs passed by value take several words.
func argIndex(s *btf.Spec, fp *btf.Type, off int) int {
	sum := 0
	for i := range fp.Params {
		n := 8
		if t := s.SkipMods(fp.Params[i].Type); t.Kind == btf.KindStruct || t.Kind == btf.KindUnion {
			n = (int(t.Size) + 7) / 8 * 8
		}
		sum += n
		if off < sum {
			return i
		}
	}
	return len(fp.Params) + (off-sum)/8
}

// ctxPointer is what a pointer argument is worth.
func (e *env) ctxPointer(off, arg int, s *btf.Spec, ptr *btf.Type, pname string, v ctxValue) (ctxValue, bool) {
	if a, ok := e.prog.ctxArgs[off]; ok && a.typ.base() == ptrBuf && a.typ.mayBeNull() {
		v.typ = a.typ
		return v, true
	}
	target := s.SkipMods(ptr.Ref)
	isStruct := target.Kind == btf.KindStruct || target.Kind == btf.KindUnion
	if !isStruct {
		return v, true
	}
	if a, ok := e.prog.ctxArgs[off]; ok {
		v.typ, v.spec, v.tid, v.ref = a.typ, a.spec, a.tid, a.ref
		return v, true
	}
	v.typ = ptrBTF
	if e.argsTrusted() {
		v.typ |= ptrTrusted
	}
	if strings.HasSuffix(pname, "__nullable") && e.rel >= since.R(6, 12) {
		v.typ |= maybeNull
	}
	scalarInstead := false
	if e.p.Attach == uapi.AttachTraceRawTp && e.rel >= since.R(6, 13) {
		if m, ok := rawTpNull[strings.TrimPrefix(e.prog.attachName, "btf_trace_")]; ok {
			if m>>(4*arg)&1 != 0 {
				v.typ |= maybeNull
			}
			if m>>(4*arg)&2 != 0 {
				scalarInstead = true
			}
		} else if s != e.k.BTF {
			v.typ |= maybeNull
		}
	}
	if e.p.AttachProg != nil {
		id, ok := e.kernelCtxOf(e.p.AttachProg.Type, s, target)
		if !ok {
			return v, false
		}
		v.spec, v.tid = e.kernelSpec(), id
		return v, true
	}
	v.spec = e.addSpec(s)
	t := s.MustType(ptr.Ref)
	for t.Kind.IsMod() {
		if t.Kind == btf.KindTypeTag && !t.Flag {
			switch t.Name {
			case "user":
				v.typ |= memUser
			case "percpu":
				v.typ |= memPercpu
			}
		}
		t = s.MustType(t.Ref)
	}
	v.tid = uint32(t.ID)
	if e.prog.opsStruct == "tcp_congestion_ops" && t.Name == "sock" {
		// Sockets of a congestion control are TCP sockets.
		if id, ok := e.kernelType("tcp_sock"); ok {
			v.tid = uint32(id)
		}
	}
	if scalarInstead {
		return ctxValue{typ: scalar}, true
	}
	return v, true
}

// kernelCtxOf: a program that traces another one sees the context of that as the kernel has it.
func (e *env) kernelCtxOf(t uapi.ProgType, s *btf.Spec, target *btf.Type) (uint32, bool) {
	row := progtype.Of(t)
	if target.Name != row.Context.User && target.Name != "" {
		return 0, false
	}
	id, ok := e.kernelType(row.Context.Kernel)
	return uint32(id), ok
}

// argsTrusted: arguments of the hook are valid objects (prog_args_trusted).
func (e *env) argsTrusted() bool {
	if e.rel < since.R(6, 2) {
		return false
	}
	switch e.prog.typ {
	case uapi.ProgTypeTracing:
		return e.p.Attach == uapi.AttachTraceRawTp || e.p.Attach == uapi.AttachTraceIter
	case uapi.ProgTypeLSM:
		return e.trustedHook()
	case uapi.ProgTypeStructOps:
		return true
	}
	return false
}

// trustedHook: LSM hooks that are called while an object is torn down (bpf_lsm_is_trusted).
func (e *env) trustedHook() bool {
	switch strings.TrimPrefix(e.p.AttachTo, "bpf_lsm_") {
	case "bpf_prog_free_security", "bpf_prog_free", "bpf_map_free_security", "bpf_map_free", "bpf_token_free", "file_free_security",
		"sk_alloc_security", "sk_free_security", "task_free", "inode_free_security":
		return false
	}
	return true
}
