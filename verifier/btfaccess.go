package verifier

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

func (e *env) kernelSpec() uint8 {
	if e.k.BTF == nil {
		e.unknown("types of the kernel: no BTF")
	}
	return e.addSpec(e.k.BTF)
}

// isKernelSpec: the types are those of the kernel or a module.
func (e *env) isKernelSpec(n uint8) bool {
	return n == 0 || e.specs[n-1] != e.p.BTF && e.specs[n-1] != e.targetBTF()
}

func (e *env) targetBTF() *btf.Spec {
	if e.p.AttachProg != nil {
		return e.p.AttachProg.BTF
	}
	return nil
}

func (e *env) kernelType(name string) (btf.ID, bool) {
	if e.k.BTF == nil {
		return 0, false
	}
	return e.k.BTF.FindID(btf.KindStruct, name)
}

func (e *env) specName(spec uint8, id uint32) string {
	if spec == 0 {
		return ""
	}
	return e.specs[spec-1].SkipMods(btf.ID(id)).Name
}

// sameType compares types of different BTF by name.
func (e *env) sameType(a uint8, aid btf.ID, b uint8, bid btf.ID) bool {
	return e.specs[a-1] == e.specs[b-1] && aid == bid
}

// structMatch reports whether a pointer into a struct is a pointer to another one: the same, or the first member at that offset
// (btf_struct_ids_match).
func (e *env) structMatch(spec uint8, id btf.ID, off int, want uint8, wantID btf.ID, strict, flex bool) bool {
	if off == 0 && e.sameType(spec, id, want, wantID) {
		return true
	}
	if strict {
		return false
	}
	for depth := 0; depth < 64; depth++ {
		w := e.walkStruct(spec, id, off, 1, flex, true)
		if w.kind != walkStruct {
			return false
		}
		if e.sameType(spec, w.id, want, wantID) {
			return true
		}
		id, off = w.id, 0
	}
	return false
}

type walkKind uint8

const (
	walkError walkKind = iota
	walkScalar
	walkPtr
	walkPtrUntrusted
	walkStruct
)

// walked is where an offset in a struct leads.
type walked struct {
	kind  walkKind
	id    btf.ID
	flags regType
	field string
	errno uapi.Errno
}

// walkStruct finds what lies at an offset of a struct (btf_struct_walk).
func (e *env) walkStruct(spec uint8, id btf.ID, off, size int, flex, quiet bool) walked {
	s := e.specs[spec-1]
	t := s.SkipMods(id)
	var flags regType
	fail := func(errno uapi.Errno, format string, args ...any) walked {
		if !quiet {
			e.verbose(format, args...)
		}
		return walked{errno: errno}
	}
again:
	if t.Kind != btf.KindStruct && t.Kind != btf.KindUnion {
		return fail(uapi.EINVAL, "Type '%s' is not a struct", t.Name)
	}
	if t.Kind == btf.KindUnion && len(t.Members) != 1 && e.rel >= since.R(6, 3) {
		flags |= ptrUntrusted
	}
	if off+size > int(t.Size) {
		n := len(t.Members)
		if flex && n > 0 {
			m := &t.Members[n-1]
			a := s.SkipMods(m.Type)
			b, _ := s.MemberBits(t, m)
			if a.Kind == btf.KindArray && a.Array.Nelems == 0 && off >= int(b/8) {
				el := s.SkipMods(a.Ref)
				if el.Kind == btf.KindInt {
					return walked{kind: walkScalar}
				}
				if (el.Kind == btf.KindStruct || el.Kind == btf.KindUnion) && el.Size > 0 {
					off = (off - int(b/8)) % int(el.Size)
					t = el
					goto again
				}
			}
		}
		return fail(uapi.EACCES, "access beyond struct %s at off %d size %d", t.Name, off, size)
	}
	for i := range t.Members {
		m := &t.Members[i]
		b, width := s.MemberBits(t, m)
		moff := int(b / 8)
		if off+size <= moff {
			break
		}
		if width != 0 {
			end := int(b+width+7) / 8
			if off <= moff && end <= off+size {
				return walked{kind: walkScalar}
			}
			continue
		}
		if off < moff {
			break
		}
		mt := s.SkipMods(m.Type)
		n, err := s.Sizeof(m.Type)
		if err != nil {
			return fail(uapi.EFAULT, "field %s doesn't have size", m.Name)
		}
		msize := int(n)
		end := moff + msize
		if off >= end {
			continue
		}
		if mt.Kind == btf.KindArray {
			total := 1
			for mt.Kind == btf.KindArray {
				total *= int(mt.Array.Nelems)
				mt = s.SkipMods(mt.Ref)
			}
			if moff == end || total == 0 {
				continue
			}
			msize /= total
			moff += (off - moff) / msize * msize
		}
		if mt.Kind == btf.KindStruct || mt.Kind == btf.KindUnion {
			t = mt
			if off == moff {
				return walked{kind: walkStruct, id: mt.ID, flags: flags}
			}
			off -= moff
			goto again
		}
		if mt.Kind == btf.KindPtr {
			if msize != size || off != moff {
				return fail(uapi.EACCES, "cannot access ptr member %s with moff %d in struct %s with off %d size %d", m.Name, moff, t.Name, off, size)
			}
			return e.walkPointer(s, mt, m.Name, flags)
		}
		if off+size > end && flags&ptrUntrusted == 0 {
			return fail(uapi.EACCES, "access beyond the end of member %s (mend:%d) in struct %s with off %d size %d", m.Name, end, t.Name, off, size)
		}
		return walked{kind: walkScalar}
	}
	return fail(uapi.EINVAL, "struct %s doesn't have field at offset %d", t.Name, off)
}

// walkPointer reads the type tags of a pointer member.
func (e *env) walkPointer(s *btf.Spec, ptr *btf.Type, name string, flags regType) walked {
	t := s.MustType(ptr.Ref)
	var tag regType
	for t.Kind.IsMod() {
		if t.Kind == btf.KindTypeTag && !t.Flag {
			switch t.Name {
			case "user":
				tag = memUser
			case "percpu":
				tag = memPercpu
			case "rcu":
				tag = memRCU
			}
		}
		t = s.MustType(t.Ref)
	}
	if t.Kind == btf.KindStruct || t.Kind == btf.KindUnion {
		return walked{kind: walkPtr, id: t.ID, flags: flags | tag, field: name}
	}
	return walked{kind: walkPtrUntrusted}
}

// structAccess walks until it is clear what a load yields (btf_struct_access).
func (e *env) structAccess(r *reg, off, size int) walked {
	id := btf.ID(r.tid)
	if r.typ.isAlloc() {
		if rec := e.objectRecord(r.spec, id); rec != nil {
			for i := range rec.fields {
				f := &rec.fields[i]
				if off < int(f.off+f.size) && int(f.off) < off+size {
					e.verbose("direct access to %s is disallowed", f.kind)
					panic(refusal{uapi.EACCES})
				}
			}
		}
	}
	var flags regType
	for depth := 0; depth < 64; depth++ {
		w := e.walkStruct(r.spec, id, off, size, !r.typ.isAlloc(), false)
		flags |= w.flags
		switch w.kind {
		case walkPtr:
			if r.typ.isAlloc() {
				return walked{kind: walkScalar}
			}
			w.flags = flags
			return w
		case walkStruct:
			id, off = w.id, 0
		case walkError:
			panic(refusal{w.errno})
		default:
			return w
		}
	}
	panic(refusal{uapi.EINVAL})
}

// trusted: the pointer is valid for as long as the program runs, or its reference is held (is_trusted_reg).
func (e *env) trusted(r *reg) bool {
	if r.ref != 0 {
		return true
	}
	if e.socketType(r.typ) != "" && !r.typ.unsafeMods() {
		return true
	}
	return r.typ&trustedFlags != 0 && !r.typ.unsafeMods()
}

// socketType is the kernel struct that pointers of the user API stand for.
func (e *env) socketType(t regType) string {
	switch t.base() {
	case ptrSocket:
		return "sock"
	case ptrSockCommon:
		return "sock_common"
	case ptrTCPSock:
		return "tcp_sock"
	case constMap:
		if e.rel >= since.R(6, 10) {
			return "bpf_map"
		}
	}
	return ""
}

// accessBTF judges a load or store through a pointer to a kernel object or an allocated one (check_ptr_to_btf_access).
func (e *env) accessBTF(n, off, size int, t accessType, value int) {
	r := e.reg(n)
	name := e.specName(r.spec, r.tid)
	if !e.prog.gpl && e.isKernelSpec(r.spec) && e.rel >= since.R(6, 2) {
		e.refuse(uapi.EINVAL, "Cannot access kernel 'struct %s' from non-GPL compatible program", name)
	}
	switch {
	case off < 0:
		e.refuse(uapi.EACCES, "R%d is ptr_%s invalid negative access: off=%d", n, name, off)
	case !r.Var.Equals(0):
		e.refuse(uapi.EACCES, "R%d is ptr_%s invalid variable offset: off=%d, var_off=%s", n, name, off, e.bits(r))
	case r.typ&memUser != 0:
		e.refuse(uapi.EACCES, "R%d is ptr_%s access user memory: off=%d", n, name, off)
	case r.typ&memPercpu != 0:
		e.refuse(uapi.EACCES, "R%d is ptr_%s access percpu memory: off=%d", n, name, off)
	case t == write && r.typ&ptrUntrusted != 0:
		e.refuse(uapi.EACCES, "only read is supported")
	}
	if t == write && !r.typ.isAlloc() {
		if !e.writableField(r, off, size) {
			e.refuse(uapi.EACCES, "only read is supported")
		}
		return
	}
	w := e.structAccess(r, off, size)
	if t != read || value < 0 {
		return
	}
	v := e.reg(value)
	switch w.kind {
	case walkScalar:
		v.unknown()
	case walkPtrUntrusted:
		if !e.has(since.UntrustedMem) {
			v.unknown()
			return
		}
		v.pointer(ptrMem | memRdonly | ptrUntrusted)
	case walkPtr:
		f := e.fieldTrust(r, &w)
		spec, id := r.spec, w.id
		v.pointer(ptrBTF | f)
		v.spec, v.tid = spec, uint32(id)
		if f.mayBeNull() {
			v.id = e.newID()
		}
	}
}

// fieldTrust is how far a pointer that was loaded of a kernel object can be trusted.
func (e *env) fieldTrust(r *reg, w *walked) regType {
	flag := w.flags
	name := e.specName(r.spec, r.tid)
	if e.rel < since.R(6, 2) {
		if r.typ&ptrUntrusted != 0 {
			flag |= ptrUntrusted
		}
		return flag &^ memRCU
	}
	if r.typ&ptrUntrusted != 0 {
		if e.rel < since.R(6, 4) {
			return flag&^(ptrTrusted|memRCU) | ptrUntrusted
		}
		return ptrUntrusted
	}
	if e.rel < since.R(6, 4) {
		return e.fieldTrustOld(r, w, flag)
	}
	if !e.trusted(r) && !r.isRCU() {
		return flag &^ (trustedFlags | memRCU)
	}
	switch {
	case e.fieldIn(safeTrusted, name, w):
		return flag | ptrTrusted
	case e.fieldIn(safeTrustedOrNull, name, w):
		return flag | ptrTrusted | maybeNull
	case !e.inRCU() || r.typ.mayBeNull():
		return ptrUntrusted
	case e.fieldIn(safeRCU, name, w):
		return flag | memRCU
	case flag&memRCU != 0 || e.fieldIn(safeRCUOrNull, name, w):
		flag |= memRCU | maybeNull
		if e.fieldIn(safeRCUOrNull, name, w) && flag&ptrUntrusted != 0 {
			flag &^= ptrUntrusted
		}
		return flag
	case flag&(memPercpu|memUser) != 0:
		return flag
	}
	return flag &^ (trustedFlags | memRCU)
}

func (e *env) fieldTrustOld(r *reg, w *walked, flag regType) regType {
	if flag&memRCU != 0 {
		if e.inRCU() && e.trusted(r) && e.cur.rcu > 0 {
			return flag | memRCU | ptrTrusted
		}
		return flag &^ memRCU
	}
	return flag
}

// safeField is a member that keeps trust, from a release on.
type safeField struct {
	field string
	since since.Release
	until since.Release
}

type safeTable map[string][]safeField

// Members of kernel structs whose pointers stay valid (BTF_TYPE_SAFE_RCU and so on in kernel/bpf/verifier.c).
var (
	safeRCU = safeTable{
		"task_struct":         {{field: "cpus_ptr", since: since.R(6, 4)}, {field: "cgroups", since: since.R(6, 4)}, {field: "real_parent", since: since.R(6, 4)}, {field: "group_leader", since: since.R(6, 4)}},
		"cgroup":              {{field: "kn", since: since.R(6, 4)}},
		"css_set":             {{field: "dfl_cgrp", since: since.R(6, 4)}},
		"cgroup_subsys_state": {{field: "cgroup", since: since.R(6, 14)}},
	}
	safeRCUOrNull = safeTable{
		"mm_struct":    {{field: "exe_file", since: since.R(6, 4)}},
		"sk_buff":      {{field: "sk", since: since.R(6, 4)}},
		"request_sock": {{field: "sk", since: since.R(6, 4)}},
	}
	safeTrusted = safeTable{
		"bpf_iter_meta":    {{field: "seq", since: since.R(6, 4)}},
		"bpf_iter__task":   {{field: "meta", since: since.R(6, 4)}, {field: "task", since: since.R(6, 4)}},
		"linux_binprm":     {{field: "file", since: since.R(6, 4)}},
		"file":             {{field: "f_inode", since: since.R(6, 4)}},
		"dentry":           {{field: "d_inode", since: since.R(6, 4), until: since.R(6, 18)}},
		"bpf_iter__dmabuf": nil,
	}
	safeTrustedOrNull = safeTable{
		"socket":         {{field: "sk", since: since.R(6, 5)}},
		"dentry":         {{field: "d_inode", since: since.R(6, 18)}},
		"vm_area_struct": {{field: "vm_mm", since: since.R(6, 18)}, {field: "vm_file", since: since.R(6, 18)}},
	}
)

func (e *env) fieldIn(t safeTable, name string, w *walked) bool {
	for _, f := range t[name] {
		if f.field == w.field && f.since <= e.rel && (f.until == 0 || e.rel < f.until) {
			return true
		}
	}
	return false
}

// writableField tells which members of kernel structs a program may store to (btf_struct_access of its type).
func (e *env) writableField(r *reg, off, size int) bool {
	name := e.specName(r.spec, r.tid)
	s := e.specs[r.spec-1]
	allow := func(fields ...string) bool {
		for _, f := range fields {
			x, err := s.ResolvePath(btf.ID(r.tid), f)
			if err != nil {
				continue
			}
			n, err := s.Sizeof(x.Type)
			if err != nil {
				continue
			}
			lo, hi := int(x.Offset()), int(x.Offset())+int(n)
			if x.BitSize != 0 {
				hi = lo + 1
			}
			if off >= lo && off+size <= hi {
				return true
			}
		}
		e.refuse(uapi.EACCES, "no write support to %s at off %d", strings.TrimSuffix(name, "___init"), off)
		return false
	}
	switch {
	case e.prog.opsStruct == "tcp_congestion_ops":
		switch name {
		case "sock", "tcp_sock", "inet_connection_sock":
			if !e.tcpField(r, off, size) {
				e.refuse(uapi.EACCES, "no write support to tcp_sock at off %d", off)
			}
			return true
		}
	case e.prog.opsStruct == "sched_ext_ops" && name == "task_struct":
		return allow("scx.slice", "scx.dsq_vtime", "scx.disallow")
	case e.prog.opsStruct == "Qdisc_ops":
		switch name {
		case "sk_buff":
			return allow("tstamp", "cb")
		case "Qdisc":
			return allow("limit", "qstats", "q.qlen")
		}
	case e.prog.opsStruct == "bpf_dummy_ops" && name == "bpf_dummy_ops_state":
		return true
	case e.prog.opsStruct == "hid_bpf_ops" && name == "hid_device":
		return allow("name", "uniq", "phys", "quirks")
	case strings.HasPrefix(name, "nf_conn"):
		switch e.prog.typ {
		case uapi.ProgTypeXDP, uapi.ProgTypeSchedCls:
			return allow("mark", "ct.mark")
		}
	}
	return false
}

// tcpField: a pointer to a sock in a congestion control is one to a tcp_sock.
func (e *env) tcpField(r *reg, off, size int) bool {
	for _, x := range []struct{ typ, path string }{
		{"inet_connection_sock", "icsk_ca_priv"}, {"inet_connection_sock", "icsk_ack.pending"}, {"tcp_sock", "snd_cwnd"}, {"tcp_sock", "snd_cwnd_cnt"},
		{"tcp_sock", "snd_cwnd_stamp"}, {"tcp_sock", "snd_ssthresh"}, {"tcp_sock", "ecn_flags"}, {"tcp_sock", "app_limited"}, {"sock", "sk_pacing_rate"}, {"sock", "sk_pacing_status"},
	} {
		id, ok := e.kernelType(x.typ)
		if !ok {
			continue
		}
		f, err := e.k.BTF.ResolvePath(id, x.path)
		if err != nil {
			continue
		}
		n, err := e.k.BTF.Sizeof(f.Type)
		if err != nil {
			continue
		}
		if lo := int(f.Offset()); off >= lo && off+size <= lo+int(n) {
			return true
		}
	}
	return false
}

// accessMapPtr judges a load of a field of struct bpf_map (check_ptr_to_map_access).
func (e *env) accessMapPtr(n, off, size int, t accessType, value int) {
	r := e.reg(n)
	m := e.mapOf(r)
	if e.k.BTF == nil {
		e.unknown("struct bpf_map: no BTF of the kernel")
	}
	name, ok := mapStructs[m.Type]
	if !ok {
		name = "bpf_map"
	}
	if off < 0 {
		e.refuse(uapi.EACCES, "R%d is %s invalid negative access: off=%d", n, name, off)
	}
	if t != read {
		e.refuse(uapi.EACCES, "only read from %s is supported", name)
	}
	id, found := e.kernelType(name)
	if !found {
		e.unknown("struct %s, which the kernel's BTF does not have", name)
	}
	var mr reg
	mr.pointer(ptrBTF)
	mr.spec, mr.tid = e.kernelSpec(), uint32(id)
	w := e.structAccess(&mr, off, size)
	if value < 0 {
		return
	}
	v := e.reg(value)
	switch w.kind {
	case walkPtr:
		v.pointer(ptrBTF | w.flags)
		v.spec, v.tid = mr.spec, uint32(w.id)
		if w.flags.mayBeNull() {
			v.id = e.newID()
		}
	case walkPtrUntrusted:
		if e.has(since.UntrustedMem) {
			v.pointer(ptrMem | memRdonly | ptrUntrusted)
		} else {
			v.unknown()
		}
	default:
		v.unknown()
	}
}

// mapStructs are the structs behind struct bpf_map by map type (map_btf_id).
var mapStructs = map[uapi.MapType]string{
	uapi.MapTypeHash: "bpf_htab", uapi.MapTypePercpuHash: "bpf_htab", uapi.MapTypeLRUHash: "bpf_htab", uapi.MapTypeLRUPercpuHash: "bpf_htab",
	uapi.MapTypeHashOfMaps: "bpf_htab", uapi.MapTypeArray: "bpf_array", uapi.MapTypePercpuArray: "bpf_array", uapi.MapTypeProgArray: "bpf_array",
	uapi.MapTypePerfEventArray: "bpf_array", uapi.MapTypeCgroupArray: "bpf_array", uapi.MapTypeArrayOfMaps: "bpf_array",
	uapi.MapTypeLPMTrie: "lpm_trie", uapi.MapTypeQueue: "bpf_queue_stack", uapi.MapTypeStack: "bpf_queue_stack", uapi.MapTypeStackTrace: "bpf_stack_map",
	uapi.MapTypeRingbuf: "bpf_ringbuf_map", uapi.MapTypeUserRingbuf: "bpf_ringbuf_map", uapi.MapTypeDevmap: "bpf_dtab", uapi.MapTypeDevmapHash: "bpf_dtab",
	uapi.MapTypeCpumap: "bpf_cpu_map", uapi.MapTypeXskmap: "xsk_map", uapi.MapTypeSockmap: "bpf_stab", uapi.MapTypeSockhash: "bpf_shtab",
	uapi.MapTypeReuseportSockarray: "reuseport_array", uapi.MapTypeSkStorage: "bpf_local_storage_map", uapi.MapTypeInodeStorage: "bpf_local_storage_map",
	uapi.MapTypeTaskStorage: "bpf_local_storage_map", uapi.MapTypeCgrpStorage: "bpf_local_storage_map", uapi.MapTypeBloomFilter: "bpf_bloom_filter",
	uapi.MapTypeCgroupStorage: "bpf_cgroup_storage_map", uapi.MapTypePercpuCgroupStorage: "bpf_cgroup_storage_map", uapi.MapTypeArena: "bpf_arena",
}

// bits are the known bits of a register's value as the release writes them.
func (e *env) bits(r *reg) string {
	if e.rel >= since.R(6, 8) {
		return r.Var.Text()
	}
	return r.Var.String()
}
