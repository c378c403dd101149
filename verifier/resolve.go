package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// resolve finds the maps and variables that LD_IMM64 refers to, and refuses opcodes that are none (resolve_pseudo_ldimm64).
func (e *env) resolve() {
	used := map[*mapInfo]bool{}
	for i := 0; i < len(e.insns); i++ {
		in := &e.insns[i]
		if class(in) == clsLDX && (mode(in) != modeMEM && !(mode(in) == modeMEMSX && e.has(since.CPUv4)) || in.Imm != 0) {
			e.refuse(uapi.EINVAL, "BPF_LDX uses reserved fields")
		}
		if class(in) == clsSTX && e.rel < since.R(6, 6) && (mode(in) != modeMEM && mode(in) != modeATOMIC || mode(in) == modeMEM && in.Imm != 0) {
			e.refuse(uapi.EINVAL, "BPF_STX uses reserved fields")
		}
		if in.Code != codeLdImm64 {
			if !e.opcodeKnown(in) {
				e.refuse(uapi.EINVAL, "unknown opcode %02x", in.Code)
			}
			continue
		}
		if i == len(e.insns)-1 || e.insns[i+1].Code != 0 || e.insns[i+1].Dst != 0 || e.insns[i+1].Src != 0 || e.insns[i+1].Off != 0 {
			e.refuse(uapi.EINVAL, "invalid bpf_ld_imm64 insn")
		}
		e.resolveRef(i, in, used)
		i++
	}
}

func (e *env) resolveRef(i int, in *decode.Insn, used map[*mapInfo]bool) {
	a := &e.aux[i]
	ref, ok := e.p.Refs[i]
	switch in.Src {
	case 0:
		return
	case 3:
		e.resolveVar(i, &ref)
		return
	case 4:
		if e.rel < since.R(5, 13) {
			e.refuse(uapi.EINVAL, "unrecognized bpf_ld_imm64 insn")
		}
		a.ptrType = ptrFunc
		return
	case 1, 2, 5, 6:
	default:
		e.refuse(uapi.EINVAL, "unrecognized bpf_ld_imm64 insn")
	}
	if !ok || ref.Map == nil {
		e.refuse(uapi.EBADF, "fd %d is not pointing to valid bpf_map", in.Imm)
	}
	m := e.addMap(ref.Map)
	a.mapp = m.index
	if !used[m] {
		if len(used) >= maxUsedMaps {
			e.refuse(uapi.E2BIG, "The total number of maps per program has reached the limit of %d", maxUsedMaps)
		}
	}
	e.checkMapProg(m)
	if in.Src == 2 || in.Src == 6 {
		off := ref.Off
		if off >= maxVarOff {
			e.refuse(uapi.EINVAL, "direct value offset of %d is not allowed", off)
		}
		if !hasDirectValue(m.Type) {
			e.refuse(uapi.EINVAL, "no direct value access support for this map type")
		}
		limit := m.ValueSize
		if m.Type == uapi.MapTypeInsnArray {
			limit = m.MaxEntries * 8
		}
		if m.Type == uapi.MapTypeArray && m.MaxEntries != 1 {
			e.refuse(uapi.ENOTSUPP, "invalid access to map value pointer, value_size=%d off=%d", m.ValueSize, off)
		}
		if m.Type != uapi.MapTypeArena && off >= limit {
			e.refuse(uapi.EINVAL, "invalid access to map value pointer, value_size=%d off=%d", m.ValueSize, off)
		}
		a.off = off
	}
	if used[m] {
		return
	}
	used[m] = true
	if m.Type == uapi.MapTypeArena {
		if e.arena != nil {
			e.refuse(uapi.EBUSY, "Only one arena per program")
		}
		e.arena = m.Map
	}
	if m.Type == uapi.MapTypeCgroupStorage || m.Type == uapi.MapTypePercpuCgroupStorage {
		for x := range used {
			if x != m && x.Type == m.Type {
				e.refuse(uapi.EBUSY, "only one cgroup storage of each type is allowed")
			}
		}
	}
}

// resolveVar finds what a kernel variable is (check_pseudo_btf_id).
func (e *env) resolveVar(i int, ref *Ref) {
	a := &e.aux[i]
	if e.rel < since.R(5, 10) {
		e.refuse(uapi.EINVAL, "unrecognized bpf_ld_imm64 insn")
	}
	if ref.Kind != RefBTF || ref.Missing {
		e.refuse(uapi.EINVAL, "invalid module BTF object FD specified.")
	}
	s := e.moduleSpec(ref.Module)
	if s == nil {
		e.unknown("BTF of %s", ref.Module)
	}
	spec := e.addSpec(s)
	t := s.MustType(ref.TypeID)
	if t.Kind == btf.KindFunc {
		a.btfVar.typ = ptrMem | memRdonly
		a.btfVar.Set(0)
		return
	}
	if t.Kind != btf.KindVar {
		e.refuse(uapi.EINVAL, "pseudo btf_id %d in ldimm64 isn't KIND_VAR or KIND_FUNC", ref.TypeID)
	}
	percpu := false
	for _, id := range s.IDs(btf.KindDatasec, ".data..percpu") {
		for _, v := range s.MustType(id).Vars {
			percpu = percpu || v.Type == ref.TypeID
		}
	}
	vt := s.SkipMods(t.Ref)
	v := &a.btfVar
	v.Set(0)
	switch {
	case percpu:
		v.typ = ptrBTF | memPercpu
		v.spec, v.tid = spec, uint32(t.Ref)
	case vt.Kind != btf.KindStruct && vt.Kind != btf.KindUnion:
		n, err := s.Sizeof(vt.ID)
		if err != nil {
			e.refuse(uapi.EINVAL, "ldimm64 unable to resolve the size of type '%s': %d", vt.Name, -22)
		}
		v.typ = ptrMem | memRdonly
		v.mem = uint32(n)
	default:
		v.typ = ptrBTF
		v.spec, v.tid = spec, uint32(t.Ref)
	}
}

func tracer(t uapi.ProgType) bool {
	switch t {
	case uapi.ProgTypeKprobe, uapi.ProgTypeTracepoint, uapi.ProgTypePerfEvent, uapi.ProgTypeRawTracepoint, uapi.ProgTypeRawTracepointWritable:
		return true
	}
	return false
}

// checkMapProg demands that a program of this type may use the map (check_map_prog_compatibility).
func (e *env) checkMapProg(m *mapInfo) {
	t := e.prog.typ
	if m.rec.has(fieldListHead|fieldRBRoot) && tracer(t) {
		e.refuse(uapi.EINVAL, "tracing progs cannot use bpf_{list_head,rb_root} yet")
	}
	if m.rec.has(fieldSpinLock | fieldResSpinLock) {
		if t == uapi.ProgTypeSocketFilter {
			e.refuse(uapi.EINVAL, "socket filter progs cannot use bpf_spin_lock yet")
		}
		if tracer(t) && m.rec.has(fieldSpinLock) {
			e.refuse(uapi.EINVAL, "tracing progs cannot use bpf_spin_lock yet")
		}
		if e.p.Sleepable && e.rel < since.R(6, 6) {
			e.refuse(uapi.EINVAL, "sleepable progs cannot use bpf_spin_lock yet")
		}
	}
	if m.rec.has(fieldTimer) && tracer(t) && e.rel < since.R(7, 0) {
		e.refuse(uapi.EINVAL, "tracing progs cannot use bpf_timer yet")
	}
	if m.rec.has(fieldWorkqueue) && tracer(t) && e.rel < since.R(7, 0) {
		e.refuse(uapi.EINVAL, "tracing progs cannot use bpf_wq yet")
	}
	if m.Type == uapi.MapTypeStructOps {
		e.refuse(uapi.EINVAL, "bpf_struct_ops map cannot be used in prog")
	}
	if !e.p.Sleepable {
		return
	}
	ok := false
	switch m.Type {
	case uapi.MapTypeHash, uapi.MapTypeLRUHash, uapi.MapTypeArray:
		ok = true
	case uapi.MapTypePercpuHash, uapi.MapTypePercpuArray, uapi.MapTypeLRUPercpuHash, uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps, uapi.MapTypeRingbuf:
		ok = e.rel >= since.R(5, 12)
	case uapi.MapTypeInodeStorage, uapi.MapTypeSkStorage, uapi.MapTypeTaskStorage:
		ok = e.rel >= since.R(5, 17)
	case uapi.MapTypeUserRingbuf:
		ok = e.rel >= since.R(6, 1)
	case uapi.MapTypeCgrpStorage:
		ok = e.rel >= since.R(6, 2)
	case uapi.MapTypeQueue, uapi.MapTypeStack:
		ok = e.rel >= since.R(6, 6)
	case uapi.MapTypeArena:
		ok = true
	case uapi.MapTypeInsnArray, uapi.MapTypeProgArray:
		ok = e.rel >= since.R(6, 18) || m.Type == uapi.MapTypeInsnArray
	default:
		ok = e.rel >= since.R(7, 1) && m.Type == uapi.MapTypeLPMTrie || e.rel >= since.R(7, 1) && m.Type == uapi.MapTypeRhash
	}
	if !ok {
		e.refuse(uapi.EINVAL, "Sleepable programs can only use array, hash, ringbuf and local storage maps")
	}
}

// opcodeKnown reports whether the release's instruction table has the opcode (bpf_opcode_in_insntable).
func (e *env) opcodeKnown(in *decode.Insn) bool {
	c := in.Code
	switch class(in) {
	case clsALU, clsALU64:
		op := opOf(in)
		switch {
		case op > opEnd:
			return false
		case op == opEnd:
			return class(in) == clsALU || !isX(in) && e.has(since.CPUv4)
		case op == opNeg:
			return !isX(in)
		}
		return true
	case clsJMP:
		switch op := opOf(in); {
		case op == opJA:
			return !isX(in) || e.has(since.Gotox)
		case op == opCall || op == opExit:
			return !isX(in)
		case op == opJCOND:
			return e.has(since.MayGoto) && !isX(in)
		case op > opJCOND:
			return false
		}
		return true
	case clsJMP32:
		switch op := opOf(in); {
		case op == opJA:
			return !isX(in) && e.has(since.LongJump)
		case op == opCall, op == opExit, op >= opJCOND:
			return false
		}
		return true
	case clsLDX:
		return mode(in) == modeMEM || mode(in) == modeMEMSX && sizeOf(in) < 8
	case clsST:
		return mode(in) == modeMEM
	case clsSTX:
		if mode(in) == modeATOMIC {
			return sizeOf(in) >= 4 || e.has(since.LoadAcquire)
		}
		return mode(in) == modeMEM
	}
	// LD: absolute and indirect loads of 1, 2 and 4 bytes.
	return (mode(in) == modeABS || mode(in) == modeIND) && c&0x18 != sizeDW
}
