package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// resolve resolves the maps and variables of LD_IMM64, and refuses unknown opcodes
// (resolve_pseudo_ldimm64).
func (l *layout) resolve() {
	used := map[*mapInfo]bool{}
	all := l.has(since.InsnBeforeWalk)
	for i := 0; i < len(l.insns); i++ {
		in := &l.insns[i]
		if all {
			l.checkRegisters(in)
		} else if class(in) == clsLDX || class(in) == clsSTX && !l.has(since.StoreFieldsLate) {
			l.memFields(in)
		}
		if in.Code != codeLdImm64 {
			if !l.opcodeKnown(in) {
				l.refuse(refusal.UnknownOpcode2x, in.Code)
			}
			if all {
				l.checkFields(in)
			}
			continue
		}
		// The instruction has two slots, whose second holds nothing but the upper half of the
		// number.
		if i == len(l.insns)-1 || l.insns[i+1].Code != 0 || l.insns[i+1].Dst != 0 || l.insns[i+1].Src != 0 || l.insns[i+1].Off != 0 {
			l.refuse(refusal.InvalidBpfLdImm64Insn)
		}
		l.resolveRef(i, in, used)
		i++
	}
}

// resolveRef finds what a two-slot load refers to. From here on the instruction stands for an
// address in the kernel, of which the program gets a pointer of a known type.
func (l *layout) resolveRef(i int, in *decode.Insn, used map[*mapInfo]bool) {
	a := &l.aux[i]
	ref, ok := l.p.Refs[i]
	switch in.Src {
	case 0:
		return
	case 3:
		l.resolveVar(i, &ref)
		return
	case 4:
		if !l.has(since.FuncPointers) {
			l.refuse(refusal.UnrecognizedBpfLdImm64Insn)
		}
		a.ptrType = ptrFunc
		return
	case 1, 2, 5, 6:
	default:
		l.refuse(refusal.UnrecognizedBpfLdImm64Insn)
	}
	if !ok || ref.Map == nil {
		l.refuse(refusal.FdNotPointingValidBpfMap, in.Imm)
	}
	m := l.addMap(ref.Map)
	a.mapp = m.index
	if !used[m] {
		if len(used) >= maxUsedMaps {
			l.refuse(refusal.TotalNumberMapsPerProgramReached, maxUsedMaps)
		}
	}
	l.checkMapProg(m)
	if in.Src == 2 || in.Src == 6 {
		// The place in the value is added to its address, which must not overflow.
		off := ref.Off
		// From 7.0 on libbpf places the variables of an arena at its end.
		if off >= maxVarOff && !l.has(since.ArenaOffsets) {
			l.refuse(refusal.DirectValueOffsetNotAllowed, off)
		}
		// Only these maps keep all values in one piece of memory, so that their address is known at
		// load time (map_direct_value_addr).
		if !hasDirectValue(m.Type) {
			l.refuse(refusal.NoDirectValueAccessSupportMap2)
		}
		limit := m.ValueSize
		if m.Type == uapi.MapTypeInsnArray {
			limit = m.MaxEntries * 8
		}
		// The address is of the first element; a pointer into an array of several would have no
		// known index.
		if m.Type == uapi.MapTypeArray && m.MaxEntries != 1 {
			l.refuse(refusal.InvalidAccessMapValuePointerValue, m.ValueSize, off)
		}
		if m.Type != uapi.MapTypeArena && off >= limit {
			l.refuse(refusal.InvalidAccessMapValuePointerValue2, m.ValueSize, off)
		}
		a.off = off
	}
	if used[m] {
		return
	}
	used[m] = true
	if m.Type == uapi.MapTypeArena {
		// The JIT keeps the arena's base in one register.
		if l.arena != nil {
			l.refuse(refusal.OnlyOneArenaPerProgram)
		}
		l.arena = m.Map
	}
	// The storage of a cgroup is found by its type when the program runs
	// (bpf_cgroup_storage_assign).
	if m.Type == uapi.MapTypeCgroupStorage || m.Type == uapi.MapTypePercpuCgroupStorage {
		for x := range used {
			if x != m && x.Type == m.Type {
				l.refuse(refusal.OnlyOneCgroupStorageEachType)
			}
		}
	}
}

// resolveVar resolves a kernel variable (check_pseudo_btf_id).
func (l *layout) resolveVar(i int, ref *Ref) {
	a := &l.aux[i]
	if ref.Kind != RefBTF || ref.Missing {
		l.refuse(refusal.InvalidModuleBTFObjectFDSpecified)
	}
	s := l.moduleSpec(ref.Module)
	if s == nil {
		l.unknown("BTF of %s", ref.Module)
	}
	spec := l.addSpec(s)
	t := s.MustType(ref.TypeID)
	// The address of a kernel function can be compared and passed on, but not read.
	if t.Kind == btf.KindFunc && l.has(since.FuncSymbols) {
		a.btfVar.typ = ptrMem | memRdonly
		a.btfVar.Set(0)
		return
	}
	if t.Kind != btf.KindVar {
		kinds := "KIND_VAR or KIND_FUNC"
		if !l.has(since.FuncSymbols) {
			kinds = "KIND_VAR."
		}
		l.refuse(refusal.PseudoBtfIdInLdimm64Not, ref.TypeID, kinds)
	}
	// Which variables exist for each CPU is told by their section.
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
		// The address is an offset until a CPU is chosen (bpf_per_cpu_ptr).
		v.typ = ptrBTF | memPercpu
		v.spec, v.tid = spec, uint32(t.Ref)
	case vt.Kind != btf.KindStruct && vt.Kind != btf.KindUnion:
		// A variable without members is memory of its size. The kernel's own variables are not
		// written.
		n, err := s.Sizeof(vt.ID)
		if err != nil {
			l.refuse(refusal.Ldimm64UnableResolveSizeType, vt.Name, -22)
		}
		v.typ = ptrMem | memRdonly
		v.mem = uint32(n)
	default:
		v.typ = ptrBTF
		v.spec, v.tid = spec, uint32(t.Ref)
	}
}

// tracer reports whether programs of a type may interrupt any code of the kernel, also in an NMI
// (is_tracing_prog_type).
func tracer(t uapi.ProgType) bool {
	switch t {
	case uapi.ProgTypeKprobe, uapi.ProgTypeTracepoint, uapi.ProgTypePerfEvent, uapi.ProgTypeRawTracepoint, uapi.ProgTypeRawTracepointWritable:
		return true
	}
	return false
}

// checkMapProg checks that a program of this type may use the map (check_map_prog_compatibility). A
// program that interrupts the holder of a lock, such as those of maps, timers and queues, would
// wait for it for ever.
func (l *layout) checkMapProg(m *mapInfo) {
	t := l.prog.typ
	if m.rec.has(fieldListHead|fieldRBRoot) && tracer(t) {
		l.refuse(refusal.TracingProgsCannotUseBpfList)
	}
	if m.rec.has(fieldSpinLock | fieldResSpinLock) {
		if t == uapi.ProgTypeSocketFilter {
			l.refuse(refusal.SocketFilterProgsCannotUseBpf)
		}
		if tracer(t) && m.rec.has(fieldSpinLock) {
			l.refuse(refusal.TracingProgsCannotUseBpfSpin)
		}
		// Such programs may be preempted, which was not yet ruled out while a lock is held.
		if l.p.Sleepable && !l.has(since.SleepableLocks) {
			l.refuse(refusal.SleepableProgsCannotUseBpfSpin)
		}
	}
	if m.rec.has(fieldTimer) && tracer(t) && !l.has(since.TracingTimers) {
		l.refuse(refusal.TracingProgsCannotUseBpfTimer)
	}
	if m.rec.has(fieldWorkqueue) && tracer(t) && !l.has(since.TracingTimers) {
		l.refuse(refusal.TracingProgsCannotUseBpfWq)
	}
	if m.Type == uapi.MapTypeStructOps {
		l.refuse(refusal.BpfStructOpsMapCannotUsed)
	}
	// An allocation in an NMI may deadlock in the allocator.
	preallocated := m.preallocated() && (m.inner == nil || m.inner.preallocated())
	if !preallocated && t == uapi.ProgTypePerfEvent && !l.has(since.RuntimeElements) {
		l.refuse(refusal.PerfEventProgramsOnlyUsePreallocated)
	}
	// Elements are freed after an RCU grace period, which does not wait for programs that sleep;
	// these maps take care of those.
	if !l.p.Sleepable {
		return
	}
	ok := false
	switch m.Type {
	case uapi.MapTypeHash, uapi.MapTypeLRUHash, uapi.MapTypeArray:
		ok = true
	case uapi.MapTypePercpuHash, uapi.MapTypePercpuArray, uapi.MapTypeLRUPercpuHash, uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps, uapi.MapTypeRingbuf:
		ok = l.has(since.SleepableMapKinds)
	case uapi.MapTypeInodeStorage, uapi.MapTypeSkStorage, uapi.MapTypeTaskStorage:
		ok = l.has(since.SleepableStorage)
	case uapi.MapTypeUserRingbuf:
		ok = l.has(since.SleepableUserRingbuf)
	case uapi.MapTypeCgrpStorage:
		ok = l.has(since.SleepableCgroupStorage)
	case uapi.MapTypeQueue, uapi.MapTypeStack:
		ok = l.has(since.SleepableQueues)
	case uapi.MapTypeArena:
		ok = true
	case uapi.MapTypeInsnArray, uapi.MapTypeProgArray:
		ok = l.has(since.SleepableProgArrays) || m.Type == uapi.MapTypeInsnArray
	default:
		ok = l.has(since.SleepableTries) && (m.Type == uapi.MapTypeLPMTrie || m.Type == uapi.MapTypeRhash)
	}
	if !ok {
		l.refuse(refusal.SleepableProgramsOnlyUseArrayHash)
	}
	if !preallocated && !l.has(since.RuntimeElements) {
		what := "maps"
		if !l.has(since.SleepableMapKinds) {
			what = "hash maps"
		}
		l.refuse(refusal.SleepableProgramsOnlyUsePreallocated, what)
	}
}

// preallocated reports whether the map's elements are there from the start (check_map_prealloc).
func (m *mapInfo) preallocated() bool {
	switch m.Type {
	case uapi.MapTypeHash, uapi.MapTypePercpuHash, uapi.MapTypeHashOfMaps:
		return m.Flags&uapi.MapNoPrealloc == 0
	}
	return true
}

// opcodeKnown reports whether the release's instruction table has the opcode
// (bpf_opcode_in_insntable).
func (l *layout) opcodeKnown(in *decode.Insn) bool {
	c := in.Code
	switch class(in) {
	case clsALU, clsALU64:
		op := opOf(in)
		switch {
		case op > opEnd:
			return false
		case op == opEnd:
			return class(in) == clsALU || !isX(in) && l.has(since.CPUv4)
		case op == opNeg:
			return !isX(in)
		}
		return true
	case clsJMP:
		switch op := opOf(in); {
		case op == opJA:
			return !isX(in) || l.has(since.Gotox)
		case op == opCall || op == opExit:
			return !isX(in)
		case op == opJCOND:
			return l.has(since.MayGoto) && !isX(in)
		case op > opJCOND:
			return false
		}
		return true
	case clsJMP32:
		switch op := opOf(in); {
		case op == opJA:
			return !isX(in) && l.has(since.LongJump)
		case op == opCall, op == opExit, op >= opJCOND:
			return false
		}
		return true
	case clsLDX:
		// There is no sign to extend in eight bytes.
		return mode(in) == modeMEM || mode(in) == modeMEMSX && sizeOf(in) < 8
	case clsST:
		return mode(in) == modeMEM
	case clsSTX:
		if mode(in) == modeATOMIC {
			// Loads and stores with an order have all sizes.
			return sizeOf(in) >= 4 || l.has(since.LoadAcquire)
		}
		return mode(in) == modeMEM
	}
	// LD: absolute and indirect loads of 1, 2 and 4 bytes.
	return (mode(in) == modeABS || mode(in) == modeIND) && c&0x18 != sizeDW
}
