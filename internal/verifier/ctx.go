package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

const flowKeysSize = 56

func rangeTnum(rg retRange) num.Tnum { return num.Range(uint64(rg.min), uint64(rg.max)) }

// ctxValue is the value that a load of the context yields.
type ctxValue struct {
	typ    regType
	spec   uint8
	tid    uint32
	ref    uint32
	mem    uint32
	ranged bool
	ret    retRange
}

// packetAccess reports whether the program may access the packet directly, or pass it to a helper
// (may_access_direct_pkt_data).
func (x *contexts) packetAccess(m *callMeta, t accessType) bool {
	row := progtype.Of(x.prog.typ)
	if row.Packet == progtype.NoPacket || row.Packet == progtype.ReadsPacket && t == write {
		return false
	}
	// The buffer of sockopt programs is memory that every helper can access, and no packet.
	return m == nil || m.packet || row.Context.User == "bpf_sockopt"
}

// varCtx reports whether the context is plain memory, so that accesses to it need not be rewritten.
func (x *contexts) varCtx() bool { return x.prog.typ == uapi.ProgTypeSyscall }

// fixedCtx reports whether a constant may be added to the context pointer, because no access to it
// is rewritten (check_ctx_reg, __check_ptr_off_reg). A rewritten access has its offset in the
// instruction, and one through a moved pointer could not be found there.
func (x *contexts) fixedCtx() bool {
	switch progtype.Of(x.prog.typ).Context.Layout {
	case progtype.StructLayout, progtype.SampleLayout:
		return false
	}
	return x.has(since.FixedCtx)
}

// ctxAccess checks an access to the context (check_ctx_access, and is_valid_access of the program
// type).
func (x *contexts) ctxAccess(off, size int, t accessType, sx bool) (ctxValue, bool) {
	if off < 0 {
		return ctxValue{}, false
	}
	row := progtype.Of(x.prog.typ)
	c := row.Context
	switch c.Layout {
	case progtype.StructLayout:
		return x.ctxStruct(row, off, size, t, sx)
	case progtype.ArgsLayout:
		return x.ctxArgs(off, size, t)
	case progtype.RegsLayout:
		// Programs see the registers of the traced code. Later releases let those on user space
		// change them (kprobe_prog_is_valid_access).
		writes := row.AccessOf(x.p.Attach).Writes
		return ctxValue{typ: scalar}, (t == read || writes != 0 && x.rel.Has(writes)) && off%size == 0 && off+size <= x.ptRegs()
	case progtype.SampleLayout:
		return ctxValue{typ: scalar}, t == read && x.samplePart(off, size)
	case progtype.NumberLayout:
		// The tracepoint's first argument is the buffer that such a program may write; how much of
		// it is checked when the program is attached (raw_tp_writable_prog_is_valid_access).
		if x.prog.typ == uapi.ProgTypeRawTracepointWritable && off == 0 {
			if size != 8 || t != read {
				return ctxValue{}, false
			}
			return ctxValue{typ: ptrTPBuffer}, true
		}
		// Arguments of raw tracepoints are numbers as far as the verifier knows: pointers among
		// them are read with bpf_probe_read (raw_tp_prog_is_valid_access).
		return ctxValue{typ: scalar}, t == read && off%size == 0 && off < 8*12
	}
	_, err := row.CheckAccess(x.rel, x.p.Attach, off, size, t == write)
	return ctxValue{typ: scalar}, err == nil
}

// ptRegs is the size of struct pt_regs, by the kernel's types if they have it.
func (x *contexts) ptRegs() int {
	if n, ok := x.sizeOfStruct("pt_regs"); ok {
		return n
	}
	if x.k.Arch == "arm64" {
		return 272 + 64
	}
	return 21 * 8
}

// sizeOfStruct returns the size of a struct of the kernel.
func (x *contexts) sizeOfStruct(name string) (int, bool) {
	if x.k.BTF == nil {
		return 0, false
	}
	t, ok := x.k.BTF.Find(btf.KindStruct, name)
	if !ok {
		return 0, false
	}
	return int(t.Size), true
}

// samplePart checks a load from struct bpf_perf_event_data (pe_prog_is_valid_access).
func (x *contexts) samplePart(off, size int) bool {
	n, ok := x.sizeOfStruct("bpf_perf_event_data")
	if !ok {
		n = x.ptRegs() + 16
	}
	if off >= n || off%size != 0 {
		// sample_period and addr are words that may also be loaded in parts.
		return false
	}
	return true
}

// ctxStruct checks an access to a context that is a struct of the user API.
func (x *contexts) ctxStruct(row *progtype.Row, off, size int, t accessType, sx bool) (ctxValue, bool) {
	// Which fields there are, who may write them and in which widths, is a table of the program
	// type.
	f, err := row.CheckAccess(x.rel, x.p.Attach, off, size, t == write)
	if err != nil || f == nil {
		return ctxValue{}, false
	}
	v := ctxValue{typ: scalar}
	switch f.Yields {
	case progtype.PacketData:
		// Some fields are addresses in the kernel's struct, whatever their width in the user's: the
		// load yields a pointer, with the rules of what it points to.
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
		id, ok := x.kernelType(f.BTF)
		if !ok {
			x.unknown("struct %s, which the kernel's BTF does not have", f.BTF)
		}
		v.spec, v.tid = x.kernelSpec(), uint32(id)
	}
	// Packet pointers are 32-bit fields in the user's struct and pointers in the kernel's: the load
	// is rewritten, which has no form for a sign extension, and nothing can be stored there.
	if v.typ != scalar && v.typ.isPacketAny() && (sx && x.has(since.PacketPointersWhole) || size == 4 && t == write) {
		return ctxValue{}, false
	}
	return v, true
}

// sockAccess checks a load of a field of struct bpf_sock and similar structs.
func (x *contexts) sockAccess(t regType, off, size int) bool {
	switch t {
	case ptrSocket, ptrSockCommon:
		return sockField(off, size, t == ptrSockCommon)
	case ptrTCPSock:
		// struct bpf_tcp_sock: words, but for two counters (bpf_tcp_sock_is_valid_access).
		if off < 0 || off >= 120 || off%size != 0 {
			return false
		}
		// bytes_received and bytes_acked are eight bytes wide, the others four.
		if off >= 80 && off < 96 {
			return size == 8
		}
		return size == 4
	case ptrXDPSock:
		// struct bpf_xdp_sock has one field, the queue (bpf_xdp_sock_is_valid_access).
		return size == 4 && off%4 == 0 && off >= 0 && off < 4
	}
	return false
}

// sockField: struct bpf_sock consists of words; ports, addresses, state, protocol and family may be
// loaded in parts.
func sockField(off, size int, common bool) bool {
	if off < 0 || off >= 80 || off%size != 0 || size > 4 {
		return size == 8 && false
	}
	// Which fields may be read in parts is what the kernel's conversion can express
	// (bpf_sock_is_valid_access with bpf_sock_convert_ctx_access).
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

// ctxArgs checks a load of a hook argument that BTF types (btf_ctx_access).
func (x *contexts) ctxArgs(off, size int, t accessType) (ctxValue, bool) {
	// There are at most twelve arguments (MAX_BPF_FUNC_ARGS), and nobody reads them after the
	// program.
	if t != read || off >= 8*12 || off%size != 0 {
		return ctxValue{}, false
	}
	name := x.prog.attachName
	fp, s := x.prog.attachProto, x.prog.attachSpec
	bad := func(r refusal.ID, args ...any) (ctxValue, bool) {
		x.say(r, args...)
		return ctxValue{}, false
	}
	// Each argument has a place of eight bytes in the trampoline's array, and parts of one are not
	// read.
	if off%8 != 0 {
		return bad(refusal.FuncOffsetNotMultiple8, name, off)
	}
	// The traced function's types may be wrong: each argument is a number.
	if fp == nil {
		if x.p.AttachProg == nil {
			x.unknown("arguments of %s", x.p.AttachTo)
		}
		return ctxValue{typ: scalar}, off/8 <= 5
	}
	arg := argIndex(s, fp, off)
	params := fp.Params
	// The first parameter of a tracepoint's prototype is the probe's own data.
	if x.prog.attachTrace && len(params) > 0 {
		params = params[1:]
	}
	n := len(params)
	if arg > n {
		return bad(refusal.FuncNotThArgument, name, arg+1)
	}
	v := ctxValue{typ: scalar}
	var pt *btf.Type
	pname := ""
	// The result comes after the arguments, for programs that run when the function returns.
	if arg == n {
		switch x.p.Attach {
		case uapi.AttachLSMMac:
			// Here it is what the programs before this one returned, which is in the hook's range.
			if rg, ok := x.lsmRange(); ok {
				v.ranged, v.ret = true, rg
			}
			pt = s.MustType(fp.Ref)
		case uapi.AttachLSMCgroup, uapi.AttachTraceFexit, uapi.AttachTraceFsession:
			pt = s.MustType(fp.Ref)
		case uapi.AttachModifyReturn:
			// Such a program decides whether the function runs: there is no result yet but its own
			// kind of value, an integer that fits a register.
			pt = s.SkipMods(fp.Ref)
			if pt.Kind != btf.KindInt || pt.Size > 8 {
				return bad(refusal.RetTypeNotAllowedFmodRet, kindText(pt.Kind))
			}
		default:
			return bad(refusal.FuncNotThArgument, name, arg+1)
		}
	} else {
		pt = s.MustType(params[arg].Type)
		pname = params[arg].Name
	}
	pt = s.SkipMods(pt.ID)
	// Numbers, and structs that are passed by value in one or two places.
	if isScalarType(pt) || pt.Kind == btf.KindStruct || pt.Kind == btf.KindUnion && x.has(since.UnionArgs) {
		return v, true
	}
	if pt.Kind == btf.KindVoid && arg == n {
		return bad(refusal.FuncArgTypeOnlyPointerAccess, name, arg, "", "UNKNOWN")
	}
	if pt.Kind != btf.KindPtr {
		return bad(refusal.FuncArgTypeOnlyPointerAccess, name, arg, pt.Name, kindText(pt.Kind))
	}
	// Half a pointer is no pointer.
	if size != 8 {
		return bad(refusal.FuncSizeMust8, name, size)
	}
	v.ranged = false
	return x.ctxPointer(off, arg, s, pt, pname, v)
}

// argIndex returns the argument at an offset of the context. Structs passed by value take several
// words.
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

// readsPointerTo reports whether programs may read an argument that points to something other than
// a struct; the result is a number. From 7.1 on this holds for every pointer.
func (x *contexts) readsPointerTo(ptr, target *btf.Type) bool {
	switch target.Kind {
	case btf.KindVoid:
		return ptr.Ref == 0 || x.has(since.VoidPointerArgs) // const void
	case btf.KindInt:
		return target.Size == 1 || x.has(since.IntPointerArgs)
	}
	return x.has(since.AllPointerArgs)
}

// ctxPointer returns the register type for a pointer argument.
func (x *contexts) ctxPointer(off, arg int, s *btf.Spec, ptr *btf.Type, pname string, v ctxValue) (ctxValue, bool) {
	// Iterators say themselves which arguments are buffers, and which may be NULL (ctx_arg_info).
	if a, ok := x.prog.ctxArgs[off]; ok && a.typ.base() == ptrBuf && a.typ.mayBeNull() {
		v.typ = a.typ
		return v, true
	}
	if id, ok := x.freeList(arg); ok {
		v.typ, v.spec, v.tid = ptrBTF|ptrTrusted, x.kernelSpec(), id
		return v, true
	}
	target := s.SkipMods(ptr.Ref)
	isStruct := target.Kind == btf.KindStruct || target.Kind == btf.KindUnion
	if !isStruct {
		if _, known := x.prog.ctxArgs[off]; !known && !x.readsPointerTo(ptr, target) {
			x.say(refusal.FuncArgTypeNotStruct, x.prog.attachName, arg, kindText(target.Kind))
			return v, false
		}
		return v, true
	}
	if a, ok := x.prog.ctxArgs[off]; ok {
		v.typ, v.spec, v.tid, v.ref = a.typ, a.spec, a.tid, a.ref
		return v, true
	}
	v.typ = ptrBTF
	// The kernel holds these objects for as long as the call takes; arguments of other functions
	// may be in any state, such as freed ones.
	if x.argsTrusted() {
		v.typ |= ptrTrusted
	}
	// The tracepoint's source says that the argument may be NULL.
	if strings.HasSuffix(pname, "__nullable") && x.has(since.NullableTracepointArgs) {
		v.typ |= maybeNull
	}
	flags, scalarInstead := x.rawTpArg(s, arg)
	v.typ |= flags
	// The argument of a traced program is its context: the user's struct in its BTF, the kernel's
	// struct in memory (btf_translate_to_vmlinux).
	if x.p.AttachProg != nil {
		id, ok := x.kernelCtxOf(x.p.AttachProg.actsAs(), s, target)
		if !ok {
			return v, false
		}
		v.spec, v.tid = x.kernelSpec(), id
		return v, true
	}
	v.spec = x.addSpec(s)
	t := s.MustType(ptr.Ref)
	// A pointer to user memory or to per-CPU data must not be followed as it is (btf_ctx_access).
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
	if x.prog.opsStruct == "tcp_congestion_ops" && t.Name == "sock" {
		// Sockets of a congestion control algorithm are TCP sockets.
		if id, ok := x.kernelType("tcp_sock"); ok {
			v.tid = uint32(id)
		}
	}
	x.log.printf("func '%s' arg%d has btf_id %d type %s '%s'\n", x.prog.attachName, arg, t.ID, kindText(t.Kind), t.Name)
	if scalarInstead {
		return ctxValue{typ: scalar}, true
	}
	return v, true
}

// rawTpArg returns what is known of an argument of a raw tracepoint whose source does not say
// whether it may be NULL: the kernel has a list of those that pass NULL, or an error as a pointer,
// which must not be followed at all (raw_tp_null_args in btf_ctx_access).
func (x *contexts) rawTpArg(s *btf.Spec, arg int) (flags regType, scalarInstead bool) {
	if x.p.Attach != uapi.AttachTraceRawTp || !x.has(since.RawTpNullArgs) {
		return 0, false
	}
	m, ok := rawTpNull[x.prog.attachName]
	if later, is := rawTpLater[x.prog.attachName]; is && !x.has(later) {
		ok = false
	}
	switch {
	case ok:
		if m>>(4*arg)&1 != 0 {
			flags = maybeNull
		}
		return flags, m>>(4*arg)&2 != 0
	case s != x.k.BTF:
		// Of a module's tracepoints nothing is listed, so each pointer may be NULL.
		return maybeNull, false
	}
	return 0, false
}

// argsTrusted reports whether arguments of the hook are valid objects (prog_args_trusted).
func (x *contexts) argsTrusted() bool {
	if !x.has(since.TrustedArgs) {
		return false
	}
	switch x.prog.typ {
	case uapi.ProgTypeTracing:
		// Functions may be traced while their arguments are being set up or freed; tracepoints and
		// iterators are placed where objects are valid.
		return x.p.Attach == uapi.AttachTraceRawTp || x.p.Attach == uapi.AttachTraceIter
	case uapi.ProgTypeLSM:
		return x.trustedHook()
	case uapi.ProgTypeStructOps:
		return true
	}
	return false
}

// trustedHook is false for LSM hooks that are called while an object is torn down, when its fields
// may be freed already (bpf_lsm_is_trusted).
func (x *contexts) trustedHook() bool {
	switch strings.TrimPrefix(x.p.AttachTo, "bpf_lsm_") {
	case "bpf_prog_free_security", "bpf_prog_free", "bpf_map_free_security", "bpf_map_free", "bpf_token_free", "file_free_security",
		"sk_alloc_security", "sk_free_security", "task_free", "inode_free_security":
		return false
	}
	return true
}
