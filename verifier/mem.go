package verifier

import (
	"encoding/binary"
	"math"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// checkAlign demands alignment where the machine or the kernel's bookkeeping needs it.
func (e *env) checkAlign(r *reg, off, size int, strict bool) {
	desc := ""
	switch r.typ {
	case ptrPacket, ptrPacketMeta:
		if (strict || e.p.Flags&uapi.ProgStrictAlignment != 0) && size != 1 {
			t := r.Var.Add(constOf(int64(2 + int(r.off) + off)))
			if !t.Aligned(uint64(size)) {
				e.refuse(uapi.EACCES, "misaligned packet access off %d+%s+%d+%d size %d", 2, e.bits(r), r.off, off, size)
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
	if strict = strict || e.p.Flags&uapi.ProgStrictAlignment != 0; !strict || size == 1 {
		return
	}
	if t := r.Var.Add(constOf(int64(int(r.off) + off))); !t.Aligned(uint64(size)) {
		e.refuse(uapi.EACCES, "misaligned %saccess off %s+%d+%d size %d", desc, e.bits(r), r.off, off, size)
	}
}

// regionError logs why an access is outside of an object.
func (e *env) regionError(n int, off int64, size int, limit uint32) {
	r := e.reg(n)
	switch r.typ {
	case ptrMapKey:
		e.verbose("invalid access to map key, key_size=%d off=%d size=%d", limit, off, size)
	case ptrMapValue:
		e.verbose("invalid access to map value, value_size=%d off=%d size=%d", limit, off, size)
	case ptrPacket, ptrPacketMeta, ptrPacketEnd:
		e.verbose("invalid access to packet, off=%d size=%d, R%d(id=%d,off=%d,r=%d)", off, size, n, r.id, off, limit)
	default:
		e.verbose("invalid access to memory, mem_size=%d off=%d size=%d", limit, off, size)
	}
}

func inRegion(off int64, size int, limit uint32, zeroOK bool) bool {
	return off >= 0 && (size > 0 || size == 0 && zeroOK) && uint64(off)+uint64(size) <= uint64(limit)
}

// checkRegion demands that an access at any offset the register may have is inside of an object (check_mem_region_access).
func (e *env) checkRegion(n, off, size int, limit uint32, zeroOK bool) {
	r := e.reg(n)
	sum := r.SMin + int64(off)
	if r.SMin < 0 && (r.SMin == math.MinInt64 || sum != int64(int32(sum)) || sum < 0) {
		e.refuse(uapi.EACCES, "R%d min value is negative, either use unsigned index or do a if (index >=0) check.", n)
	}
	if !inRegion(sum, size, limit, zeroOK) {
		e.regionError(n, sum, size, limit)
		e.refuse(uapi.EACCES, "R%d min value is outside of the allowed memory range", n)
	}
	if r.UMax >= maxVarOff {
		e.refuse(uapi.EACCES, "R%d unbounded memory access, make sure to bounds check any such access", n)
	}
	if hi := int64(r.UMax) + int64(off); !inRegion(hi, size, limit, zeroOK) {
		e.regionError(n, hi, size, limit)
		e.refuse(uapi.EACCES, "R%d max value is outside of the allowed memory range", n)
	}
}

// checkOffset demands a pointer that was not moved (check_ptr_off_reg).
func (e *env) checkOffset(r *reg, n int, fixedOK bool) {
	switch {
	case r.off < 0:
		e.refuse(uapi.EACCES, "negative offset %s ptr R%d off=%d disallowed", e.typeName(r.typ), n, r.off)
	case !fixedOK && r.off != 0:
		e.refuse(uapi.EACCES, "dereference of modified %s ptr R%d off=%d disallowed", e.typeName(r.typ), n, r.off)
	case !r.Var.Equals(0):
		e.refuse(uapi.EACCES, "variable %s access var_off=%s disallowed", e.typeName(r.typ), e.bits(r))
	}
}

const (
	flagRdonly     = 1 << 3
	flagWronly     = 1 << 4
	flagRdonlyProg = 1 << 7
	flagWronlyProg = 1 << 8
)

// checkMapFlags demands that the program may access a map's values that way.
func (e *env) checkMapFlags(n, off, size int, t accessType) {
	m := e.mapOf(e.reg(n))
	if t == write && m.Flags&flagRdonlyProg != 0 {
		e.refuse(uapi.EACCES, "write into map forbidden, value_size=%d off=%d size=%d", m.ValueSize, off, size)
	}
	if t == read && m.Flags&flagWronlyProg != 0 && m.Flags&flagRdonlyProg == 0 {
		e.refuse(uapi.EACCES, "read from map forbidden, value_size=%d off=%d size=%d", m.ValueSize, off, size)
	}
}

// checkMapAccess demands that an access to a map's value touches no special field.
func (e *env) checkMapAccess(n, off, size int, zeroOK bool, src accessSource) {
	r := e.reg(n)
	m := e.mapOf(r)
	limit := m.ValueSize
	if m.Type == uapi.MapTypeInsnArray {
		if src != accessDirect {
			e.refuse(uapi.EACCES, "invalid access to insn_array map")
		}
		limit = m.MaxEntries * 8
	}
	e.checkRegion(n, off, size, limit, zeroOK)
	for i := range m.rec.fields {
		f := &m.rec.fields[i]
		p := int64(f.off)
		if r.SMin+int64(off) >= p+int64(f.size) || p >= int64(r.UMax)+int64(off)+int64(size) {
			continue
		}
		switch f.kind {
		case fieldKptrUnref, fieldKptrRef, fieldKptrPercpu, fieldUptr:
			what := "kptr"
			if src != accessDirect {
				e.refuse(uapi.EACCES, "%s cannot be accessed indirectly by helper", e.fieldName(f, what))
			}
			if !r.Var.IsConst() {
				e.refuse(uapi.EACCES, "%s access cannot have variable offset", e.fieldName(f, what))
			}
			if at := int64(off) + int64(r.Var.Value); p != at {
				e.refuse(uapi.EACCES, "%s access misaligned expected=%d off=%d", e.fieldName(f, what), p, at)
			}
			if size != 8 {
				e.refuse(uapi.EACCES, "%s access size must be BPF_DW", e.fieldName(f, what))
			}
		default:
			e.refuse(uapi.EACCES, "%s cannot be accessed directly by load/store", f.kind)
		}
	}
}

func (e *env) fieldName(f *field, old string) string {
	if e.rel >= since.R(6, 13) {
		return f.kind.String()
	}
	return old
}

// checkPacket demands that an access is inside of what was compared with the end of the packet.
func (e *env) checkPacket(n, off, size int, zeroOK bool) {
	r := e.reg(n)
	if e.has(since.OffsetInBounds) {
		// The fixed part of the offset is one with the rest there.
		if r.rng < 0 {
			e.refuse(uapi.EINVAL, "R%d offset is outside of the packet", n)
		}
		e.checkRegion(n, off, size, uint32(r.rng), zeroOK)
		return
	}
	if r.SMin < 0 {
		e.refuse(uapi.EACCES, "R%d min value is negative, either use unsigned index or do a if (index >=0) check.", n)
	}
	if r.rng < 0 {
		e.refuse(uapi.EINVAL, "R%d offset is outside of the packet", n)
	}
	if !inRegion(int64(off), size, uint32(r.rng), zeroOK) {
		e.regionError(n, int64(off), size, uint32(r.rng))
		e.refuse(uapi.EACCES, "R%d offset is outside of the packet", n)
	}
}

// access judges a load or store of size bytes at off from register n; value is the register that is loaded or stored, -1 without
// (check_mem_access).
func (e *env) access(insn, n, off, size int, t accessType, value int, strict, sx bool) {
	r := e.reg(n)
	e.checkAlign(r, off, size, strict)
	off += int(r.off)
	var v *reg
	if value >= 0 {
		v = e.reg(value)
	}
	load := t == read && v != nil
	switch b := r.typ.base(); {
	case r.typ == ptrMapKey:
		if t == write {
			e.refuse(uapi.EACCES, "write to change key R%d not allowed", n)
		}
		e.checkRegion(n, off, size, e.mapOf(r).KeySize, false)
		if v != nil {
			v.unknown()
		}
	case r.typ == ptrMapValue:
		e.accessMapValue(insn, n, off, size, t, value, sx)
	case b == ptrMem:
		e.accessMem(n, off, size, t, value)
	case r.typ == ptrCtx:
		e.accessCtx(insn, n, off, size, t, value, sx)
	case r.typ == ptrStack:
		e.accessStack(n, off, size, t, value, insn)
	case r.typ.isPacket():
		if t == write && !e.packetAccess(nil, write) {
			e.refuse(uapi.EACCES, "cannot write into packet")
		}
		e.checkPacket(n, off, size, false)
		if load {
			v.unknown()
		}
	case r.typ == ptrFlowKeys:
		if off < 0 || size < 0 || off+size > flowKeysSize {
			e.refuse(uapi.EACCES, "invalid access to flow keys off=%d size=%d", off, size)
		}
		if load {
			v.unknown()
		}
	case r.typ.isSock():
		if t == write {
			e.refuse(uapi.EACCES, "R%d cannot write into %s", n, e.typeName(r.typ))
		}
		if r.SMin < 0 {
			e.refuse(uapi.EACCES, "R%d min value is negative, either use unsigned index or do a if (index >=0) check.", n)
		}
		if !e.sockAccess(r.typ, off, size) {
			e.refuse(uapi.EACCES, "R%d invalid %s access off=%d size=%d", n, e.typeName(r.typ), off, size)
		}
		if v != nil {
			v.unknown()
		}
	case r.typ == ptrTPBuffer:
		e.checkBuffer("tracepoint", r, n, off, size)
		if load {
			v.unknown()
		}
	case b == ptrBTF && !r.typ.mayBeNull():
		e.accessBTF(n, off, size, t, value)
	case r.typ == constMap:
		e.accessMapPtr(n, off, size, t, value)
	case b == ptrBuf && !r.typ.mayBeNull():
		what := "rdwr"
		if r.typ.isRdonlyMem() {
			what = "rdonly"
			if t == write {
				e.refuse(uapi.EACCES, "R%d cannot write into %s", n, e.typeName(r.typ))
			}
		}
		e.checkBuffer(what, r, n, off, size)
		if v != nil && (r.typ.isRdonlyMem() || t == read) {
			v.unknown()
		}
	case r.typ == ptrArena:
		if load {
			v.unknown()
		}
	case r.typ == ptrInsn:
		e.refuse(uapi.EACCES, "R%d invalid mem access '%s'", n, e.typeName(r.typ))
	default:
		e.refuse(uapi.EACCES, "R%d invalid mem access '%s'", n, e.typeName(r.typ))
	}
	if load && size < 8 && v.typ == scalar {
		if sx {
			v.SignExtend(size)
		} else {
			v.Truncate(size, e.rules)
		}
	}
}

func (e *env) checkBuffer(what string, r *reg, n, off, size int) {
	if off < 0 {
		e.refuse(uapi.EACCES, "R%d invalid %s buffer access: off=%d, size=%d", n, what, off, size)
	}
	if !r.Var.Equals(0) {
		e.refuse(uapi.EACCES, "R%d invalid variable buffer offset: off=%d, var_off=%s", n, off, e.bits(r))
	}
}

func (e *env) accessMapValue(insn, n, off, size int, t accessType, value int, sx bool) {
	r := e.reg(n)
	e.checkMapFlags(n, off, size, t)
	e.checkMapAccess(n, off, size, false, accessDirect)
	m := e.mapOf(r)
	if r.Var.IsConst() {
		if f := m.rec.find(uint32(int64(off)+int64(r.Var.Value)), kptrKinds); f != nil {
			e.accessKptr(insn, value, f)
			return
		}
	}
	if t != read || value < 0 {
		return
	}
	v := e.reg(value)
	if m.Type == uapi.MapTypeInsnArray {
		m16 := r.mapp
		old := *r
		if off%8 != 0 || size != 8 {
			e.refuse(uapi.EACCES, "Invalid read of %d bytes from insn_array", size)
		}
		v.value = old.value
		v.id, v.ref = 0, 0
		v.typ, v.mapp = ptrInsn, m16
		return
	}
	if r.Var.IsConst() && m.Frozen != nil {
		at := int64(off) + int64(r.Var.Value)
		if at < 0 || at+int64(size) > int64(len(m.Frozen)) {
			e.refuse(uapi.EINVAL, "")
		}
		x := readInt(m.Frozen[at:], size, sx && e.rel >= since.R(6, 9), e.order())
		v.constant(x)
		return
	}
	v.unknown()
}

func (e *env) order() binary.ByteOrder {
	if e.p.BTF != nil {
		return e.p.BTF.ByteOrder()
	}
	return binary.LittleEndian
}

func readInt(b []byte, size int, sx bool, bo binary.ByteOrder) uint64 {
	switch size {
	case 1:
		if sx {
			return uint64(int64(int8(b[0])))
		}
		return uint64(b[0])
	case 2:
		if sx {
			return uint64(int64(int16(bo.Uint16(b))))
		}
		return uint64(bo.Uint16(b))
	case 4:
		if sx {
			return uint64(int64(int32(bo.Uint32(b))))
		}
		return uint64(bo.Uint32(b))
	}
	return bo.Uint64(b)
}

func (e *env) accessMem(n, off, size int, t accessType, value int) {
	r := e.reg(n)
	if r.typ&ptrUntrusted != 0 {
		if t == write {
			e.refuse(uapi.EACCES, "R%d cannot write into %s", n, e.typeName(r.typ))
		}
		if value >= 0 {
			e.reg(value).unknown()
		}
		return
	}
	if r.typ.mayBeNull() {
		e.refuse(uapi.EACCES, "R%d invalid mem access '%s'", n, e.typeName(r.typ))
	}
	if t == write && r.typ.isRdonlyMem() {
		e.refuse(uapi.EACCES, "R%d cannot write into %s", n, e.typeName(r.typ))
	}
	e.checkRegion(n, off, size, r.mem, false)
	if value >= 0 && (t == read || r.typ.isRdonlyMem()) {
		e.reg(value).unknown()
	}
}

func (e *env) accessCtx(insn, n, off, size int, t accessType, value int, sx bool) {
	r := e.reg(n)
	// Stores to the context of a syscall program may be at any offset.
	if e.varCtx() {
		e.checkRegion(n, off, size, math.MaxUint16, false)
		if t == read && value >= 0 {
			e.reg(value).unknown()
		}
		return
	}
	e.checkOffset(r, n, e.fixedCtx())
	got, ok := e.ctxAccess(off, size, t, sx)
	if !ok {
		e.refuse(uapi.EACCES, "invalid bpf_context access off=%d size=%d", off, size)
	}
	if t != read || value < 0 {
		return
	}
	v := e.reg(value)
	if got.typ == scalar {
		v.unknown()
		if got.ranged {
			v.SMin32, v.SMax32 = max(v.SMin32, got.ret.min), min(v.SMax32, got.ret.max)
			v.SMin, v.SMax = max(v.SMin, int64(got.ret.min)), min(v.SMax, int64(got.ret.max))
			v.Sync(e.rules)
			e.sane(v)
		}
		return
	}
	v.pointer(got.typ)
	if got.typ.mayBeNull() {
		v.id = e.newID()
	}
	if got.typ.base() == ptrBTF {
		v.spec, v.tid, v.ref = got.spec, got.tid, got.ref
	}
	if got.typ.base() == ptrMem {
		v.mem = got.mem
	}
}

// sane forgets ranges that contradict each other, as the kernel does outside of its tests.
func (e *env) sane(r *reg) {
	if e.r.mixed && r.typ == scalar && r.Broken() != "" {
		r.Forget()
	}
}

// load judges a load instruction.
func (e *env) load(in *decode.Insn, dst, src uint8, sx bool) {
	e.checkSrc(src)
	e.checkDst(dst, false)
	t := e.reg(int(src)).typ
	if sx && t == ptrArena && !e.has(since.LoadAcquire) {
		e.refuse(uapi.EOPNOTSUPP, "sign extending loads from arena are not supported yet")
	}
	e.access(e.insn, int(src), int(in.Off), sizeOf(in), read, int(dst), false, sx)
	e.samePointer(t, true)
	e.sane(e.reg(int(dst)))
}

func (e *env) store(in *decode.Insn) {
	e.checkSrc(in.Src)
	e.checkSrc(in.Dst)
	t := e.reg(int(in.Dst)).typ
	e.access(e.insn, int(in.Dst), int(in.Off), sizeOf(in), write, int(in.Src), false, false)
	e.samePointer(t, false)
}

// atomicOK tells where atomic instructions work.
func (e *env) atomicOK(n uint8) bool {
	switch t := e.reg(int(n)).typ; {
	case t == ptrCtx, t.isPacket(), t == ptrFlowKeys, t.isSock():
		return false
	case t == ptrArena:
		return e.rel >= since.R(6, 10)
	}
	return true
}

func (e *env) atomic(in *decode.Insn) {
	size := sizeOf(in)
	switch in.Imm {
	case opAdd:
	case opAdd | fetch, opAnd, opAnd | fetch, opOr, opOr | fetch, opXor, opXor | fetch, xchg, cmpxchg:
		if !e.has(since.AtomicsFull) {
			e.refuse(uapi.EINVAL, "BPF_STX uses reserved fields")
		}
	case loadAcq:
		if e.has(since.LoadAcquire) {
			e.orderedLoad(in)
			return
		}
		e.refuse(uapi.EINVAL, "BPF_ATOMIC uses invalid atomic opcode %02x", in.Imm)
	case storeRel:
		if e.has(since.LoadAcquire) {
			e.orderedStore(in)
			return
		}
		e.refuse(uapi.EINVAL, "BPF_ATOMIC uses invalid atomic opcode %02x", in.Imm)
	default:
		if !e.has(since.AtomicsFull) {
			e.refuse(uapi.EINVAL, "BPF_STX uses reserved fields")
		}
		e.refuse(uapi.EINVAL, "BPF_ATOMIC uses invalid atomic opcode %02x", in.Imm)
	}
	if size < 4 {
		e.refuse(uapi.EINVAL, "invalid atomic operand size")
	}
	e.checkSrc(in.Src)
	e.checkSrc(in.Dst)
	if in.Imm == cmpxchg {
		e.checkSrc(0)
	}
	if !e.atomicOK(in.Dst) {
		e.refuse(uapi.EACCES, "BPF_ATOMIC stores into R%d %s is not allowed", in.Dst, e.typeName(e.reg(int(in.Dst)).typ))
	}
	loadReg := -1
	if in.Imm&fetch != 0 {
		loadReg = int(in.Src)
		if in.Imm == cmpxchg {
			loadReg = 0
		}
	}
	// The value that is loaded is known from the memory before the register that it goes to is.
	if loadReg >= 0 {
		e.checkDst(uint8(loadReg), true)
	}
	e.access(e.insn, int(in.Dst), int(in.Off), size, read, -1, true, false)
	if loadReg >= 0 {
		e.access(e.insn, int(in.Dst), int(in.Off), size, read, loadReg, true, false)
	}
	if e.rel >= since.R(6, 10) {
		e.samePointer(e.reg(int(in.Dst)).typ, false)
	}
	e.access(e.insn, int(in.Dst), int(in.Off), size, write, -1, true, false)
}

func (e *env) orderedLoad(in *decode.Insn) {
	e.checkSrc(in.Src)
	if !e.atomicOK(in.Src) {
		e.refuse(uapi.EACCES, "BPF_ATOMIC loads from R%d %s is not allowed", in.Src, e.typeName(e.reg(int(in.Src)).typ))
	}
	e.checkDst(in.Dst, false)
	t := e.reg(int(in.Src)).typ
	e.access(e.insn, int(in.Src), int(in.Off), sizeOf(in), read, int(in.Dst), true, false)
	e.samePointer(t, false)
	e.sane(e.reg(int(in.Dst)))
}

func (e *env) orderedStore(in *decode.Insn) {
	e.checkSrc(in.Src)
	e.checkSrc(in.Dst)
	if !e.atomicOK(in.Dst) {
		e.refuse(uapi.EACCES, "BPF_ATOMIC stores into R%d %s is not allowed", in.Dst, e.typeName(e.reg(int(in.Dst)).typ))
	}
	t := e.reg(int(in.Dst)).typ
	e.access(e.insn, int(in.Dst), int(in.Off), sizeOf(in), write, int(in.Src), true, false)
	e.samePointer(t, false)
}

// helperMem judges memory of size bytes that a helper reads or writes (check_helper_mem_access).
func (e *env) helperMem(n, size int, t accessType, zeroOK bool, m *callMeta) {
	r := e.reg(n)
	switch r.typ.base() {
	case ptrPacket, ptrPacketMeta:
		e.checkPacket(n, int(r.off), size, zeroOK)
	case ptrMapKey:
		if t == write || m != nil && m.raw && e.rel < since.R(6, 13) {
			e.refuse(uapi.EACCES, "R%d cannot write into %s", n, e.typeName(r.typ))
		}
		e.checkRegion(n, int(r.off), size, e.mapOf(r).KeySize, false)
	case ptrMapValue:
		acc := t
		if e.rel < since.R(6, 13) {
			acc = read
			if m != nil && m.raw {
				acc = write
			}
		}
		e.checkMapFlags(n, int(r.off), size, acc)
		e.checkMapAccess(n, int(r.off), size, zeroOK, accessHelper)
	case ptrMem:
		if r.typ.isRdonlyMem() && t == write {
			e.refuse(uapi.EACCES, "R%d cannot write into %s", n, e.typeName(r.typ))
		}
		e.checkRegion(n, int(r.off), size, r.mem, zeroOK)
	case ptrBuf:
		what := "rdwr"
		if r.typ.isRdonlyMem() {
			what = "rdonly"
			if t == write {
				e.refuse(uapi.EACCES, "R%d cannot write into %s", n, e.typeName(r.typ))
			}
		}
		e.checkBuffer(what, r, n, int(r.off), size)
	case ptrStack:
		e.stackInit(n, int(r.off), size, zeroOK, accessHelper, t, m)
	case ptrBTF:
		e.accessBTF(n, int(r.off), size, read, -1)
	case ptrCtx:
		if e.varCtx() {
			if size == 0 {
				if !zeroOK {
					panic(refusal{uapi.EACCES})
				}
				return
			}
			e.access(e.insn, n, size-1, 1, t, -1, false, false)
			return
		}
		fallthrough
	default:
		if zeroOK && size == 0 && r.isNull() {
			return
		}
		e.verbose("R%d type=%s expected=%s", n, e.typeName(r.typ), e.typeName(ptrStack))
		panic(refusal{uapi.EACCES})
	}
}

// memSize judges a pair of memory and size (check_mem_size_reg).
func (e *env) memSize(n int, t accessType, zeroOK bool, m *callMeta) {
	r := e.reg(n)
	m.maxSize = r.UMax
	use := m
	if !r.Var.IsConst() {
		use = nil
	}
	if r.SMin < 0 {
		e.refuse(uapi.EACCES, "R%d min value is negative, either use unsigned or 'var &= const'", n)
	}
	if r.UMin == 0 && !zeroOK {
		if e.rel >= since.R(6, 8) {
			e.refuse(uapi.EACCES, "R%d invalid zero-sized read: u64=[%d,%d]", n, int64(r.UMin), int64(r.UMax))
		}
		e.helperMem(n-1, 0, t, zeroOK, use)
	}
	if r.UMax >= maxVarSize {
		e.refuse(uapi.EACCES, "R%d unbounded memory access, use 'var &= const' or 'if (var < const)'", n)
	}
	e.helperMem(n-1, int(r.UMax), t, zeroOK, use)
	e.precise(n)
}

// memReg judges memory of a fixed size that is read and written (check_mem_reg).
func (e *env) memReg(n int, size uint32) {
	r := e.reg(n)
	if r.isNull() {
		return
	}
	saved := *r
	if r.typ.mayBeNull() {
		e.notNull(r)
	}
	e.byType = true
	e.helperMem(n, int(size), read, true, &callMeta{})
	e.helperMem(n, int(size), write, true, &callMeta{})
	e.byType = false
	if saved.typ.mayBeNull() {
		*r = saved
	}
}

// notNull makes a pointer that may be null one that is not (mark_ptr_not_null_reg).
func (e *env) notNull(r *reg) {
	if r.typ.base() != ptrMapValue {
		r.typ &^= maybeNull
		return
	}
	m := e.mapOf(r)
	switch {
	case m.inner != nil:
		r.typ = constMap
		r.mapp = m.inner.index
		if e.innerUID(m.inner) {
			r.uid = r.id
		}
	case m.Type == uapi.MapTypeArrayOfMaps || m.Type == uapi.MapTypeHashOfMaps:
		e.unknown("the inner map of %s, which user space sets", m.Name)
	case m.Type == uapi.MapTypeXskmap:
		r.typ = ptrXDPSock
	case m.Type == uapi.MapTypeSockmap || m.Type == uapi.MapTypeSockhash:
		r.typ = ptrSocket
	default:
		r.typ = ptrMapValue
	}
}

func (e *env) innerUID(m *mapInfo) bool {
	return m.rec.has(fieldTimer) || m.rec.has(fieldWorkqueue) || m.rec.has(fieldTaskWork)
}
