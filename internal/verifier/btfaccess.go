package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// structMatch reports whether a pointer into a struct matches another struct type: the same, or the
// type of the first member at that offset (btf_struct_ids_match).
func (k *kernelMem) structMatch(spec uint8, id btf.ID, off int, want uint8, wantID btf.ID, strict, flex bool) bool {
	if off == 0 && k.sameType(spec, id, want, wantID) {
		return true
	}
	// References are counted by type: the first member is another type, though at the same address.
	if strict {
		return false
	}
	for depth := 0; depth < 64; depth++ {
		// A pointer into a struct is as good as one to the member there, and a pointer to a struct
		// as good as one to its first member.
		w := k.walkStruct(spec, id, off, 1, 0, flex, true)
		if w.kind != walkStruct {
			return false
		}
		if k.sameType(spec, w.id, want, wantID) {
			return true
		}
		id, off = w.id, 0
	}
	return false
}

// beyond reports whether accesses may be beyond a type's size, in an array without a length at its
// end. Objects of the program have exactly that size.
func (k *kernelMem) beyond(r *reg) bool { return !r.typ.isAlloc() || !k.has(since.AllocatedSize) }

// walkKind is what an offset in a struct leads to (enum bpf_struct_walk_result).
type walkKind uint8

const (
	walkError        walkKind = iota
	walkScalar                // a number
	walkPtr                   // a pointer to a struct
	walkPtrUntrusted          // a pointer to anything else
	walkStruct                // a struct that begins there
)

// walked is the member that an offset in a struct leads to.
type walked struct {
	kind  walkKind
	id    btf.ID
	flags regType
	field string
	errno uapi.Errno
}

// walkStruct finds the member at an offset of a struct (btf_struct_walk). flags are those of the
// structs around it: what lies in a union with several members is not trusted, so that loads may be
// larger than the member.
func (k *kernelMem) walkStruct(spec uint8, id btf.ID, off, size int, flags regType, flex, quiet bool) walked {
	s := k.specs[spec-1]
	t := s.SkipMods(id)
	fail := func(r refusal.ID, args ...any) walked {
		if !quiet {
			k.say(r, args...)
		}
		return walked{errno: r.Row().Errno}
	}
again:
	if t.Kind != btf.KindStruct && t.Kind != btf.KindUnion {
		return fail(refusal.TypeNotStruct, anon(t.Name))
	}
	if t.Kind == btf.KindUnion && len(t.Members) != 1 && k.has(since.UnionsUntrusted) {
		flags |= ptrUntrusted
	}
	if off+size > int(t.Size) {
		n := len(t.Members)
		// What is behind the struct may be an array without a length at its end; its elements are
		// walked as if the first one were meant.
		if flex && n > 0 {
			m := &t.Members[n-1]
			a := s.SkipMods(m.Type)
			b, _ := s.MemberBits(t, m)
			if a.Kind == btf.KindArray && a.Array.Nelems == 0 && off >= int(b/8) {
				el := s.SkipMods(a.Ref)
				// Numbers at the end are read as far as one likes: a load is probed.
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
		return fail(refusal.AccessBeyondStructOffSize, anon(t.Name), off, size)
	}
	for i := range t.Members {
		m := &t.Members[i]
		b, width := s.MemberBits(t, m)
		moff := int(b / 8)
		// Members are in ascending order.
		if off+size <= moff {
			break
		}
		// Compilers load a bitfield in the unit that holds it, which may begin before it and end
		// behind it.
		if width != 0 {
			end := int(b+width+7) / 8
			if off <= moff && end <= off+size {
				return walked{kind: walkScalar}
			}
			continue
		}
		// Between two members is padding.
		if off < moff {
			break
		}
		mt := s.SkipMods(m.Type)
		n, err := s.Sizeof(m.Type)
		if err != nil {
			return fail(refusal.FieldNotSize, anon(m.Name))
		}
		msize := int(n)
		end := moff + msize
		if off >= end {
			continue
		}
		// An array is walked as the element at the offset, however many dimensions it has.
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
			// A struct within is walked like the one around it, unless the access begins where it
			// does: then the caller decides whether that struct is meant, or its first member.
			t = mt
			if off == moff {
				return walked{kind: walkStruct, id: mt.ID, flags: flags}
			}
			off -= moff
			goto again
		}
		if mt.Kind == btf.KindPtr {
			// Half a pointer would be a number of no meaning, and a store to it a forged pointer.
			if msize != size || off != moff {
				return fail(refusal.CannotAccessPtrMemberMoffIn, anon(m.Name), moff, anon(t.Name), off, size)
			}
			return k.walkPointer(s, mt, m.Name, flags)
		}
		// A load across two members has no type of either. In a union of several members, what is
		// loaded is only a number.
		if off+size > end && flags&ptrUntrusted == 0 {
			return fail(refusal.AccessBeyondEndMemberMendIn, anon(m.Name), end, anon(t.Name), off, size)
		}
		return walked{kind: walkScalar}
	}
	return fail(refusal.StructNotFieldOffset, anon(t.Name), off)
}

// walkPointer reads the type tags of a pointer member: memory of user space, an offset into per-CPU
// areas, or an object that lives as long as an RCU read-side section.
func (k *kernelMem) walkPointer(s *btf.Spec, ptr *btf.Type, name string, flags regType) walked {
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

// structAccess walks until the type of the loaded value is known (btf_struct_access).
func (k *kernelMem) structAccess(r *reg, off, size int) walked {
	id := btf.ID(r.tid)
	// Locks, nodes and the like in an object that the program allocated are accessed by their
	// functions only: stores could free what is linked, and loads could copy a lock.
	if r.typ.isAlloc() {
		if rec := k.objectRecord(r.spec, id); rec != nil {
			for i := range rec.fields {
				f := &rec.fields[i]
				if off < int(f.off+f.size) && int(f.off) < off+size {
					k.say(refusal.DirectAccessDisallowed, f.kind)
					panic(refused{uapi.EACCES})
				}
			}
		}
	}
	var flags regType
	for depth := 0; depth < 64; depth++ {
		w := k.walkStruct(r.spec, id, off, size, flags, k.beyond(r), false)
		flags |= w.flags
		switch w.kind {
		case walkPtr:
			// A program may have stored anything there, so that it is only a number.
			if r.typ.isAlloc() {
				return walked{kind: walkScalar}
			}
			w.flags = flags
			return w
		case walkStruct:
			id, off = w.id, 0
		case walkError:
			panic(refused{w.errno})
		default:
			return w
		}
	}
	k.refuse(refusal.NestedTooDeep)
	panic("unreachable")
}

// trusted reports whether the pointer is valid for as long as the program runs, or its reference is
// held (is_trusted_reg).
func (k *kernelMem) trusted(r *reg) bool {
	// The object is the program's until it releases it.
	if r.ref != 0 {
		return true
	}
	// Sockets that helpers return are referenced, or belong to the packet or context of the
	// program.
	if k.socketType(r.typ) != "" && !r.typ.unsafeMods() {
		return true
	}
	return r.typ&trustedFlags != 0 && !r.typ.unsafeMods()
}

// socketType returns the kernel struct behind a pointer type of the user API.
func (k *kernelMem) socketType(t regType) string {
	switch t.base() {
	case ptrSocket:
		return "sock"
	case ptrSockCommon:
		return "sock_common"
	case ptrTCPSock:
		return "tcp_sock"
	case constMap:
		// Maps of a program live as long as the program.
		if k.has(since.MapAsStruct) {
			return "bpf_map"
		}
	}
	return ""
}

// accessBTF checks a load or store through a pointer to a kernel object or to an allocated one
// (check_ptr_to_btf_access).
func (k *kernelMem) accessBTF(n, off, size int, t accessType, value int) {
	r := k.reg(n)
	name := k.specName(r.spec, r.tid)
	// The kernel's structs are its inside, for GPL code only.
	if !k.prog.gpl && k.isKernelSpec(r.spec) && k.has(since.KernelStructsGPL) {
		k.refuse(refusal.CannotAccessKernelStructNonGPL, name)
	}
	// The type of what is loaded follows from the place, which must be known; memory that the
	// kernel itself reads by other means is read by helpers, such as bpf_probe_read_user and
	// bpf_per_cpu_ptr.
	switch {
	case off < 0:
		k.refuse(refusal.PtrInvalidNegativeAccessOff, n, name, off)
	case !r.Var.Equals(0):
		rest, bits := k.values.apart(r, off)
		k.refuse(refusal.PtrInvalidVariableOffsetOffVar, n, name, rest, bits)
	case r.typ&memUser != 0:
		k.refuse(refusal.PtrAccessUserMemoryOff, n, name, off)
	case r.typ&memPercpu != 0:
		k.refuse(refusal.PtrAccessPercpuMemoryOff, n, name, off)
	case t == write && r.typ&ptrUntrusted != 0 && (k.has(since.UntrustedWrites) || r.typ.isAlloc() && !k.allocated(r)):
		// What an untrusted pointer leads to need not be of its type.
		k.refuse(refusal.OnlyReadSupported)
	}
	// Kernel objects are written only where the program's type allows it, field by field.
	if t == write && !r.typ.isAlloc() {
		if !k.writableField(r, off, size) {
			k.refuse(refusal.OnlyReadSupported)
		}
		return
	}
	w := k.structAccess(r, off, size)
	// A helper's access needs no more: what it reads goes to memory.
	if t != read || value < 0 {
		return
	}
	v := k.reg(value)
	switch w.kind {
	case walkScalar:
		v.unknown()
	case walkPtrUntrusted:
		// Such loads are probed at run time: a bad address yields 0, so that no range needs to be
		// known.
		if !k.has(since.UntrustedMem) {
			v.unknown()
			return
		}
		v.pointer(ptrMem | memRdonly | ptrUntrusted)
	case walkPtr:
		f := k.fieldTrust(r, &w)
		spec, id := r.spec, w.id
		v.pointer(ptrBTF | f)
		v.spec, v.tid = spec, uint32(id)
		// Copies share the id, so that a check of one holds for all.
		if f.mayBeNull() {
			v.id = k.newID()
		}
	}
}

// Members of kernel structs whose pointers stay valid (BTF_TYPE_SAFE_RCU and others in
// kernel/bpf/verifier.c). Types do not say it, and the kernel guarantees it for these: for as long
// as an RCU read-side section, or for as long as the object that they are in.
var (
	safeRCU = safeTable{
		"task_struct":         {{field: "cpus_ptr", since: since.SafePointers}, {field: "cgroups", since: since.SafePointers}, {field: "real_parent", since: since.SafePointers}, {field: "group_leader", since: since.SafePointers}},
		"cgroup":              {{field: "kn", since: since.SafePointers}},
		"css_set":             {{field: "dfl_cgrp", since: since.SafePointers}},
		"cgroup_subsys_state": {{field: "cgroup", since: since.SafeSubsysCgroup}},
	}
	safeRCUOrNull = safeTable{
		"mm_struct":    {{field: "exe_file", since: since.SafePointers}, {field: "owner", since: since.SafeOwner}},
		"sk_buff":      {{field: "sk", since: since.SafePointers}},
		"request_sock": {{field: "sk", since: since.SafePointers}},
	}
	safeTrusted = safeTable{
		"bpf_iter_meta":  {{field: "seq", since: since.SafePointers}},
		"bpf_iter__task": {{field: "meta", since: since.SafePointers}, {field: "task", since: since.SafePointers}},
		"linux_binprm":   {{field: "file", since: since.SafePointers}},
		"file":           {{field: "f_inode", since: since.SafePointers}},
		"dentry":         {{field: "d_inode", since: since.SafePointers, until: since.DentryInodeNullable}},
		"socket":         {{field: "sk", since: since.SafePointers, until: since.SocketSkNullable}},
	}
	safeTrustedOrNull = safeTable{
		"socket":         {{field: "sk", since: since.SocketSkNullable}},
		"dentry":         {{field: "d_inode", since: since.DentryInodeNullable}},
		"vm_area_struct": {{field: "vm_mm", since: since.SafeVMAFields}, {field: "vm_file", since: since.SafeVMAFields}},
	}
)

// accessMapPtr checks a load of a field of struct bpf_map (check_ptr_to_map_access). Maps live as
// long as the program, so that only stores could do harm.
func (k *kernelMem) accessMapPtr(n, off, size int, t accessType, value int) {
	r := k.reg(n)
	m := k.mapOf(r)
	if k.k.BTF == nil {
		k.unknown("struct bpf_map: no BTF of the kernel")
	}
	// The struct that embeds struct bpf_map depends on the map's type (map_btf_id).
	name := m.Type.Struct()
	if off < 0 {
		k.refuse(refusal.InvalidNegativeAccessOff, n, name, off)
	}
	// Programs change maps by helpers, which keep them consistent.
	if t != read {
		k.refuse(refusal.OnlyReadSupported2, name)
	}
	id, found := k.kernelType(name)
	if !found {
		k.unknown("struct %s, which the kernel's BTF does not have", name)
	}
	var mr reg
	// The rest is like a load from a kernel object of that type.
	mr.pointer(ptrBTF)
	mr.spec, mr.tid = k.kernelSpec(), uint32(id)
	w := k.structAccess(&mr, off, size)
	if value < 0 {
		return
	}
	v := k.reg(value)
	switch w.kind {
	case walkPtr:
		v.pointer(ptrBTF | w.flags)
		v.spec, v.tid = mr.spec, uint32(w.id)
		if w.flags.mayBeNull() {
			v.id = k.newID()
		}
	case walkPtrUntrusted:
		if k.has(since.UntrustedMem) {
			v.pointer(ptrMem | memRdonly | ptrUntrusted)
		} else {
			v.unknown()
		}
	default:
		v.unknown()
	}
}

// anon returns a name as the kernel's log has it (kernel/bpf/btf.c __btf_name_by_offset).
func anon(name string) string {
	if name == "" {
		return "(anon)"
	}
	return name
}
