package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// checkAlign checks alignment where the machine or the kernel's bookkeeping requires it
// (check_ptr_alignment).
func (a *memory) checkAlign(r *reg, off, size int, strict bool) {
	desc := ""
	switch r.typ {
	case ptrPacket, ptrPacketMeta:
		if (strict || a.p.Flags&uapi.ProgStrictAlignment != 0) && size != 1 {
			// Drivers put two bytes before the Ethernet header, so that the IP header is aligned
			// (NET_IP_ALIGN; the verifier takes 2 for every architecture).
			t := r.Var.Add(constOf(int64(2 + int(r.off) + off)))
			if !t.Aligned(uint64(size)) {
				if a.has(since.AlignmentWords) {
					a.refuse(refusal.MisalignedPacketAccess, 2, a.values.sumBits(r), off, size)
				}
				a.refuse(refusal.MisalignedPacketAccessOffSize, 2, a.values.bits(r), r.off, off, size)
			}
		}
		return
	case ptrFlowKeys:
		desc = "flow keys "
	case ptrMapKey:
		desc = "key "
	case ptrMapValue:
		desc = "value "
	case ptrCtx:
		desc = "context "
	case ptrStack:
		// What is spilled is kept by slots of eight bytes, which an unaligned access would
		// straddle.
		desc, strict = "stack ", true
	case ptrSocket:
		desc = "sock "
	case ptrSockCommon:
		desc = "sock_common "
	case ptrTCPSock:
		desc = "tcp_sock "
	case ptrXDPSock:
		desc = "xdp_sock "
	case ptrArena:
		return
	}
	// Machines of the architectures here access any address. Programs may ask for the rule of
	// others.
	if strict = strict || a.p.Flags&uapi.ProgStrictAlignment != 0; !strict || size == 1 {
		return
	}
	if t := r.Var.Add(constOf(int64(int(r.off) + off))); !t.Aligned(uint64(size)) {
		if a.has(since.AlignmentWords) {
			a.refuse(refusal.MisalignedAccess, desc, a.values.sumBits(r), off, size)
		}
		a.refuse(refusal.MisalignedAccessOffSize, desc, a.values.bits(r), r.off, off, size)
	}
}

// sumBits is the text of what is known of a pointer's offset, constants that were added included.
func (a *values) sumBits(r *reg) string {
	x := *r
	x.Var = r.Var.Add(constOf(int64(r.off)))
	return a.bits(&x)
}

// apart are an offset, which includes the constant part of a pointer's, and the text of the variable
// part, as messages have them: where the parts are one range, the constant is in the text.
func (a *values) apart(r *reg, off int) (rest int, bits string) {
	if a.has(since.OffsetInBounds) {
		return off - int(r.off), a.sumBits(r)
	}
	return off, a.bits(r)
}

// regionError logs why an access is outside an object.
func (a *memory) regionError(n int, off int64, size int, limit uint32) {
	r := a.reg(n)
	switch r.typ {
	case ptrMapKey:
		a.say(refusal.InvalidAccessMapKeyKeySize, limit, off, size)
	case ptrMapValue:
		a.say(refusal.InvalidAccessMapValueValueSize, limit, off, size)
	case ptrPacket, ptrPacketMeta, ptrPacketEnd:
		a.say(refusal.InvalidAccessPacketOffSizeR, off, size, n, r.id, off, limit)
	default:
		a.say(refusal.InvalidAccessMemoryMemSizeOff, limit, off, size)
	}
}

// inRegion reports whether an access is within an object (__check_mem_access).
func inRegion(off int64, size int, limit uint32, zeroOK bool) bool {
	return off >= 0 && (size > 0 || size == 0 && zeroOK) && uint64(off)+uint64(size) <= uint64(limit)
}

// checkRegion checks that an access, at any offset the register may have, lies within an object
// (check_mem_region_access).
func (a *memory) checkRegion(n, off, size int, limit uint32, zeroOK bool) {
	r := a.offsets(a.reg(n), &off)
	sum := r.SMin + int64(off)
	// The least offset decides about the start of the object, the largest about its end. A negative
	// number is refused with advice, as most come from a missing bound.
	if r.SMin < 0 && (r.SMin == math.MinInt64 || sum != int64(int32(sum)) || sum < 0) {
		a.refuse(refusal.MinValueNegativeEitherUseUnsigned, n)
	}
	if !inRegion(sum, size, limit, zeroOK) {
		a.regionError(n, sum, size, limit)
		a.refuse(refusal.MinValueOutsideAllowedMemoryRange, n)
	}
	// Beyond that sums of offsets might overflow.
	if r.UMax >= maxVarOff {
		a.refuse(refusal.UnboundedMemoryAccessMakeSureBounds, n)
	}
	if hi := int64(r.UMax) + int64(off); !inRegion(hi, size, limit, zeroOK) {
		a.regionError(n, hi, size, limit)
		a.refuse(refusal.MaxValueOutsideAllowedMemoryRange, n)
	}
}

// offsets returns the range of a pointer's variable offset. Where that is an arc, it has the
// constant part in it, which is taken from off then.
func (a *memory) offsets(r *reg, off *int) num.Bounds {
	if !a.rules.Arcs || r.off == 0 {
		return r.Bounds
	}
	*off -= int(r.off)
	return r.place()
}

// checkOffset checks that a pointer has no offset (__check_ptr_off_reg): what gets it takes it for
// the object's address.
func (a *memory) checkOffset(r *reg, n int, fixedOK bool) {
	switch {
	case r.off < 0:
		a.refuse(refusal.NegativeOffsetPtrROffDisallowed, a.typeName(r.typ), n, r.off)
	case !fixedOK && r.off != 0:
		a.refuse(refusal.DereferenceModifiedPtrROffDisallowed, a.typeName(r.typ), n, r.off)
	case !r.Var.Equals(0):
		_, bits := a.values.apart(r, 0)
		a.refuse(refusal.VariableAccessVarOffDisallowed, a.typeName(r.typ), bits)
	}
}

const (
	flagRdonly     = 1 << 3
	flagWronly     = 1 << 4
	flagRdonlyProg = 1 << 7
	flagWronlyProg = 1 << 8
)

// checkMapFlags checks that the program may access the map's values in this way
// (check_map_access_type).
func (a *memory) checkMapFlags(n, off, size int, t accessType) {
	m := a.mapOf(a.reg(n))
	// The map's creator restricted programs, and not user space.
	if t == write && m.Flags&flagRdonlyProg != 0 {
		a.refuse(refusal.WriteIntoMapForbiddenValueSize, m.ValueSize, off, size)
	}
	if t == read && m.Flags&flagWronlyProg != 0 && m.Flags&flagRdonlyProg == 0 {
		a.refuse(refusal.ReadMapForbiddenValueSizeOff, m.ValueSize, off, size)
	}
}

// checkMapAccess checks that an access to a map's value does not overlap special fields
// (check_map_access): a store there could forge a pointer or unlock a lock.
func (a *memory) checkMapAccess(n, off, size int, zeroOK bool, src accessSource) {
	r := a.reg(n)
	m := a.mapOf(r)
	limit := m.ValueSize
	// Its elements are addresses of the loaded program, which only gotox may use.
	if m.Type == uapi.MapTypeInsnArray {
		if src != accessDirect {
			a.refuse(refusal.InvalidAccessInsnArrayMap)
		}
		limit = m.MaxEntries * 8
	}
	a.checkRegion(n, off, size, limit, zeroOK)
	rest := off
	b := a.offsets(r, &rest)
	for i := range m.rec.fields {
		f := &m.rec.fields[i]
		p := int64(f.off)
		// An access that touches the field at any of its possible places.
		if b.SMin+int64(rest) >= p+int64(f.size) || p >= int64(b.UMax)+int64(rest)+int64(size) {
			continue
		}
		// A kptr is loaded and stored as one pointer, so that the verifier knows its type; helpers
		// would copy it as bytes.
		switch f.kind {
		case fieldKptrUnref, fieldKptrRef, fieldKptrPercpu, fieldUptr:
			what := "kptr"
			if src != accessDirect {
				a.refuse(refusal.CannotAccessedIndirectlyHelper, a.fieldName(f, what))
			}
			if !r.Var.IsConst() {
				a.refuse(refusal.AccessCannotVariableOffset, a.fieldName(f, what))
			}
			if at := int64(off) + int64(r.Var.Value); p != at {
				a.refuse(refusal.AccessMisalignedExpectedOff, a.fieldName(f, what), p, at)
			}
			if size != 8 {
				a.refuse(refusal.AccessSizeMustBPFDW, a.fieldName(f, what))
			}
		default:
			a.refuse(refusal.CannotAccessedDirectlyLoadStore, f.kind)
		}
	}
}

func (a *memory) fieldName(f *field, old string) string {
	if a.has(since.FieldNames) {
		return f.kind.String()
	}
	return old
}

// checkPacket checks that an access lies within the range compared with the end of the packet
// (check_packet_access). How long packets are is known at run time only.
func (a *memory) checkPacket(n, off, size int, zeroOK bool) {
	r := a.reg(n)
	if a.has(since.OffsetInBounds) {
		// From then on the constant part of the offset is not separate.
		if r.rng < 0 {
			a.refuse(refusal.OffsetOutsidePacket, n)
		}
		a.checkRegion(n, off, size, uint32(r.rng), zeroOK)
		return
	}
	if r.SMin < 0 {
		a.refuse(refusal.MinValueNegativeEitherUseUnsigned, n)
	}
	if r.rng < 0 {
		a.refuse(refusal.OffsetOutsidePacket, n)
	}
	if !inRegion(int64(off), size, uint32(r.rng), zeroOK) {
		a.regionError(n, int64(off), size, uint32(r.rng))
		a.refuse(refusal.OffsetOutsidePacket2, n)
	}
}

// access checks a load or store of size bytes at off from register n; value is the register that is
// loaded or stored, or -1 (check_mem_access). A load through a type without rules of its own yields
// any number of that size.
func (a *memory) access(insn, n, off, size int, t accessType, value int, strict, sx bool) {
	r := a.reg(n)
	a.checkAlign(r, off, size, strict)
	off += int(r.off)
	var v *reg
	if value >= 0 {
		v = a.reg(value)
	}
	load := t == read && v != nil
	switch b := r.typ.base(); {
	case r.typ == ptrMapKey:
		if t == write {
			// The map finds the element by its key.
			a.refuse(refusal.WriteChangeKeyRNotAllowed, n)
		}
		a.checkRegion(n, off, size, a.mapOf(r).KeySize, false)
		if v != nil {
			v.unknown()
		}
	case r.typ == ptrMapValue:
		a.accessMapValue(insn, n, off, size, t, value)
	case b == ptrMem:
		a.accessMem(n, off, size, t, value)
	case r.typ == ptrCtx:
		a.accessCtx(insn, n, off, size, t, value, sx)
	case r.typ == ptrStack:
		// The stack is the only memory whose contents are tracked.
		a.stack.accessStack(n, off, size, t, value, insn)
	case r.typ.isPacket():
		// Programs of some types only read packets (may_access_direct_pkt_data).
		if t == write && !a.contexts.packetAccess(nil, write) {
			a.refuse(refusal.CannotWriteIntoPacket)
		}
		a.checkPacket(n, off, size, false)
		if load {
			v.unknown()
		}
	case r.typ == ptrFlowKeys:
		// struct bpf_flow_keys is memory that a flow dissector fills (check_flow_keys_access).
		if off < 0 || size < 0 || off+size > flowKeysSize {
			a.refuse(refusal.InvalidAccessFlowKeysOffSize, off, size)
		}
		if load {
			v.unknown()
		}
	case r.typ.isSock():
		// These are structs of the user API: each load is rewritten to the kernel's field, and
		// there is none for a store.
		if t == write {
			a.refuse(refusal.CannotWriteInto, n, a.typeName(r.typ))
		}
		if r.SMin < 0 {
			a.refuse(refusal.MinValueNegativeEitherUseUnsigned, n)
		}
		if !a.contexts.sockAccess(r.typ, off, size) {
			a.refuse(refusal.InvalidAccessOffSize, n, a.typeName(r.typ), off, size)
		}
		if v != nil {
			v.unknown()
		}
	case r.typ == ptrTPBuffer:
		// The size is the tracepoint's, which is compared when the program is attached
		// (max_tp_access).
		a.checkBuffer("tracepoint", r, n, off, size)
		if load {
			v.unknown()
		}
	case b == ptrBTF && !r.typ.mayBeNull():
		a.kernelMem.accessBTF(n, off, size, t, value)
	case r.typ == constMap:
		a.kernelMem.accessMapPtr(n, off, size, t, value)
	case b == ptrBuf && (!r.typ.mayBeNull() || !a.has(since.BuffersChecked)):
		// As with tracepoints, the size is checked at attach time, by the greatest offset
		// (max_rdonly_access, max_rdwr_access).
		what := "rdwr"
		if r.typ.isRdonlyMem() {
			what = "rdonly"
			if t == write {
				a.refuse(refusal.CannotWriteInto, n, a.typeName(r.typ))
			}
		}
		a.checkBuffer(what, r, n, off, size)
		if v != nil && (r.typ.isRdonlyMem() || t == read) {
			v.unknown()
		}
	case r.typ == ptrArena:
		// Every address is one in the arena, and a page that is missing yields 0.
		if load {
			v.unknown()
		}
	default:
		a.refuse(refusal.InvalidMemAccess, n, a.typeName(r.typ))
	}
	// The rest of the register is cleared, or filled with the sign (coerce_reg_to_size).
	if load && size < 8 && v.typ == scalar {
		if sx {
			v.SignExtend(size)
		} else {
			v.Truncate(size, a.rules)
		}
	}
}

// checkBuffer checks an access whose size somebody compares later (__check_buffer_access): for that
// the offset must be known now.
func (a *memory) checkBuffer(what string, r *reg, n, off, size int) {
	own := a.has(since.NegativeBufferWords)
	if off < 0 && !own {
		a.refuse(refusal.InvalidBufferAccessOffSize, n, what, off, size)
	}
	if !r.Var.Equals(0) {
		rest, bits := a.values.apart(r, off)
		a.refuse(refusal.InvalidVariableBufferOffsetOffVar, n, rest, bits)
	}
	if off < 0 && own {
		a.refuse(refusal.InvalidNegativeBufferOffset, n, what, off-int(r.off), int(r.off))
	}
}

// accessMapValue checks an access to a value of a map (check_mem_access). Kptrs in it have rules of
// their own, and the contents of a constant map are known.
func (a *memory) accessMapValue(insn, n, off, size int, t accessType, value int) {
	r := a.reg(n)
	a.checkMapFlags(n, off, size, t)
	a.checkMapAccess(n, off, size, false, accessDirect)
	m := a.mapOf(r)
	if r.Var.IsConst() {
		if f := m.rec.find(uint32(int64(off)+int64(r.Var.Value)), pointerKinds); f != nil {
			a.accessKptr(insn, value, f)
			return
		}
	}
	if t != read || value < 0 {
		return
	}
	v := a.reg(value)
	// The load yields where gotox may go, and keeps which element it was.
	if m.Type == uapi.MapTypeInsnArray {
		m16 := r.mapp
		old := *r
		if off%8 != 0 || size != 8 {
			a.refuse(refusal.InvalidReadBytesInsnArray, size)
		}
		v.value = old.value
		v.id, v.ref = 0, 0
		v.typ, v.mapp = ptrInsn, m16
		v.off = int32(off) // that of the instruction included
		return
	}
	// Nobody can change the map any more, so its value is known, and branches on it are decided
	// (bpf_map_direct_read).
	if r.Var.IsConst() && m.Frozen != nil {
		at := int64(off) + int64(r.Var.Value)
		if at < 0 || at+int64(size) > int64(len(m.Frozen)) {
			a.refuse(refusal.ConstantOutsideMap)
		}
		if o, open := m.openAt(at, size); open {
			a.loadOpen(v, m.Map, o)
			return
		}
		b := m.Frozen[at : at+int64(size)]
		v.constant(endian.Uint(a.order(), b)) // what loads it extends the sign
		return
	}
	v.unknown()
}

// accessMem checks an access to memory whose size the register knows, such as a record of a ring
// buffer, a slice of a dynptr or an argument (check_mem_region_access).
func (a *memory) accessMem(n, off, size int, t accessType, value int) {
	r := a.reg(n)
	// Loads are probed at run time, wherever they lead.
	if r.typ&ptrUntrusted != 0 {
		if t == write {
			a.refuse(refusal.CannotWriteInto, n, a.typeName(r.typ))
		}
		if value >= 0 {
			a.reg(value).unknown()
		}
		return
	}
	if r.typ.mayBeNull() {
		a.refuse(refusal.InvalidMemAccess, n, a.typeName(r.typ))
	}
	if t == write && r.typ.isRdonlyMem() {
		a.refuse(refusal.CannotWriteInto, n, a.typeName(r.typ))
	}
	a.checkRegion(n, off, size, r.mem, false)
	if value >= 0 && (t == read || r.typ.isRdonlyMem()) {
		a.reg(value).unknown()
	}
}

// accessCtx checks an access to the context, and gives a loaded register what the field is.
func (a *memory) accessCtx(insn, n, off, size int, t accessType, value int, sx bool) {
	r := a.reg(n)
	// The context of a syscall program is a buffer of the caller's, of which no access is
	// rewritten. From 7.0 on accesses may be at any offset, aligned or not; how much there is, is
	// compared when it runs.
	if a.contexts.varCtx() && a.has(since.SyscallVarCtx) {
		a.checkRegion(n, off, size, math.MaxUint16, false)
		if t == read && value >= 0 {
			a.reg(value).unknown()
		}
		return
	}
	a.checkOffset(r, n, a.contexts.fixedCtx())
	got, ok := a.contexts.ctxAccess(off, size, t, sx)
	if !ok {
		a.refuse(refusal.InvalidBpfContextAccessOffSize, off, size)
	}
	// A run with less context than that is refused (max_ctx_offset).
	a.ctxSize = max(a.ctxSize, off+size)
	if t != read || value < 0 {
		return
	}
	v := a.reg(value)
	if got.typ == scalar {
		v.unknown()
		// The result of programs before this one is within the hook's range.
		if got.ranged {
			v.Low.SMin, v.Low.SMax = max(v.Low.SMin, got.ret.min), min(v.Low.SMax, got.ret.max)
			v.SMin, v.SMax = max(v.SMin, int64(got.ret.min)), min(v.SMax, int64(got.ret.max))
			v.Sync(a.rules)
			a.values.sane(v)
		}
		return
	}
	v.pointer(got.typ)
	if got.typ.mayBeNull() {
		v.id = a.newID()
	}
	if got.typ.base() == ptrBTF {
		v.spec, v.tid, v.ref = got.spec, got.tid, got.ref
	}
	if got.typ.base() == ptrMem {
		v.mem = got.mem
	}
}

// load checks a load instruction (check_load_mem).
func (a *memory) load(in *decode.Insn, dst, src uint8, sx bool) {
	a.values.checkSrc(src)
	a.values.checkDst(dst, false)
	// The load may overwrite the register.
	t := a.reg(int(src)).typ
	// The probing load that the JIT makes of it had no form with a sign.
	if sx && t == ptrArena && !a.has(since.SignedArenaLoads) {
		a.refuse(refusal.SignExtendingLoadsArenaNotSupported)
	}
	a.access(a.insn, int(src), int(in.Off), sizeOf(in), read, int(dst), false, sx)
	a.samePointer(t, true)
	a.values.sane(a.reg(int(dst)))
}

// store checks a store of a register (check_store_reg).
func (a *memory) store(in *decode.Insn) {
	a.values.checkSrc(in.Src)
	a.values.checkSrc(in.Dst)
	t := a.reg(int(in.Dst)).typ
	a.access(a.insn, int(in.Dst), int(in.Off), sizeOf(in), write, int(in.Src), false, false)
	a.samePointer(t, false)
}

// samePointer checks that an instruction which the kernel rewrites always works on the same kind of
// pointer (save_aux_ptr_type): convert_ctx_accesses rewrites each instruction once, for all paths.
func (a *memory) samePointer(t regType, trustMayDiffer bool) {
	p := &a.curAux().ptrType
	// The first path to get here decides.
	if *p == notInit {
		*p = t
		return
	}
	if t == *p || mismatchOK(t) && mismatchOK(*p) {
		return
	}
	// Loads that may fault become probing loads, which are right for valid pointers, too.
	if trustMayDiffer && t.base() == ptrBTF && (*p).base() == ptrBTF {
		*p = ptrBTF | ptrUntrusted
		return
	}
	if trustMayDiffer && a.has(since.MixedUntrusted) && isUntrusted(t) && isUntrusted(*p) {
		*p = ptrBTF | ptrUntrusted
		return
	}
	a.refuse(refusal.SameInsnCannotUsedDifferentPointers)
}

func isUntrusted(t regType) bool {
	return t.base() == ptrBTF || t.base() == ptrMem && t&ptrUntrusted != 0
}

// mismatchOK reports types whose accesses are not rewritten (reg_type_mismatch_ok).
func mismatchOK(t regType) bool {
	switch t.base() {
	case ptrCtx, ptrSocket, ptrSockCommon, ptrTCPSock, ptrXDPSock, ptrBTF, ptrArena:
		// These accesses are rewritten or become probing loads; those of other memory stay as they
		// are.
		return false
	case ptrMem:
		return t&ptrUntrusted == 0
	}
	return true
}
