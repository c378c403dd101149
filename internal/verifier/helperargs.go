package verifier

import (
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// argFlags translates a prototype's flags.
func argFlags(f proto.Flags) regType {
	var t regType
	for _, x := range [...]struct {
		f proto.Flags
		t regType
	}{{proto.MaybeNull, maybeNull}, {proto.ReadOnly, memRdonly}, {proto.Uninit, memUninit}, {proto.Write, memWrite}, {proto.Release, objRelease},
		{proto.LocalDynptr, dynLocal}, {proto.RingbufDynptr, dynRingbuf}, {proto.Trusted, ptrTrusted}} {
		if f&x.f != 0 {
			t |= x.t
		}
	}
	return t
}

// helperArg checks an argument of a helper (check_func_arg).
func (g *arguments) helperArg(i int, p *proto.Proto, m *callMeta) {
	a := p.Args[i]
	n := i + 1
	if m.id == uapi.FuncLoop && i == 0 {
		a.Kind = g.loopCount()
	}
	g.values.checkSrc(uint8(n))
	// It must be initialised and nothing else; only programs without capabilities must not pass
	// pointers, which would show addresses.
	if a.Kind == proto.Anything {
		return
	}
	r := g.reg(n)
	// Helpers that may be given packet memory say so (pkt_access): others could change the packet
	// while they use it.
	if r.typ.isPacket() && !g.contexts.packetAccess(m, read) {
		g.refuse(refusal.HelperAccessPacketNotAllowed)
	}
	kind := a.Kind
	if kind == proto.MapValue {
		kind = g.mapValueKind(a, m)
		if m.id == uapi.FuncMapPeekElem && m.mapp.Type == uapi.MapTypeBloomFilter {
			a.Flags &^= proto.Uninit | proto.Write // the value to look for
		}
	}
	// NULL is of no type. That the number is 0 decided it.
	if r.isNull() && a.Flags&proto.MaybeNull != 0 {
		if g.has(since.NullPrecise) {
			g.precision.precise(n)
		}
	} else {
		g.checkArgType(n, a, kind, m)
		g.argOffset(r, n, a, kind)
	}
	if a.Flags&proto.Release != 0 {
		g.checkReleaseArg(n, r, kind, m.id)
		m.release = n
	}
	// A release function takes one reference: with two it would not be clear which.
	if r.ref != 0 && kind != proto.Kptr {
		if m.ref != 0 && !g.has(since.SeveralReferences) {
			if g.has(since.ReferenceWords) {
				g.refuse(refusal.MoreOneArgWithReference, n, r.ref, m.ref)
			}
			g.refuse(refusal.VerifierInternalErrorMoreOneArg, n, r.ref, m.ref)
		}
		m.ref = r.ref
	}
	g.argByKind(i, p, a, kind, m)
}

// loopCount is what bpf_loop takes for the number of rounds, which decides how often the callback is
// explored.
func (g *arguments) loopCount() proto.ArgKind {
	if g.has(since.LoopCounts) {
		return proto.Scalar
	}
	return proto.Anything
}

// argByKind checks what an argument of a kind leads to, or means for the call (check_func_arg).
func (g *arguments) argByKind(i int, p *proto.Proto, a proto.Arg, kind proto.ArgKind, m *callMeta) {
	n := i + 1
	r := g.reg(n)
	// Whether the helper writes decides about read-only maps, and about spilled registers.
	acc := read
	if a.Flags&proto.Write != 0 {
		acc = write
	}
	switch kind {
	case proto.ConstMap:
		mp := g.mapOf(r)
		// The timer is initialised with this map and calls back with its elements: two inner maps
		// of the same kind are different ones, which the uid of the lookup tells.
		if m.mapp != nil && (m.mapp != mp || m.uid != r.uid) {
			g.refuse(refusal.TimerPointerInR1MapUid, m.uid, r.uid)
		}
		m.mapp, m.uid = mp, r.uid
	case proto.MapKey:
		// Prototypes have the map before its keys and values, whose sizes it determines.
		g.needMap(m, "key")
		g.memory.helperMem(n, int(m.mapp.KeySize), read, false, nil)
		g.noteKey(n, m)
	case proto.MapValue:
		if r.isNull() && a.Flags&proto.MaybeNull != 0 {
			return
		}
		g.needMap(m, "value")
		m.raw = a.Flags&proto.Uninit != 0
		g.memory.helperMem(n, int(m.mapp.ValueSize), acc, false, m)
	case proto.PercpuBTFID:
		// The result is the same variable on one CPU, so that its type goes with it.
		if r.tid == 0 {
			g.refuse(refusal.HelperInvalidBtfIdInR, n)
		}
		m.retSpec, m.retID = r.spec, r.tid
	case proto.SpinLock:
		// The tree's lock is held while the tree compares.
		if g.resources.inTreeCallback() {
			g.refuse(refusal.CannotSpinLockUnlockInRbtree)
		}
		flags := 0
		if m.id == uapi.FuncSpinLock {
			flags = lockTake
		}
		g.fieldErrno(func() { g.resources.spinLock(n, flags) })
	case proto.Timer:
		g.fieldErrno(func() { g.timerArg(n, m) })
	case proto.Func:
		m.sub = int(r.sub) // queued by what is particular to the helper
	case proto.Mem:
		m.raw = a.Flags&proto.Uninit != 0 // checked with its length, the next argument
	case proto.FixedMem:
		m.raw = a.Flags&proto.Uninit != 0
		if !(r.isNull() && a.Flags&proto.MaybeNull != 0) {
			g.memory.helperMem(n, int(a.Size), acc, false, m)
			if a.Flags&proto.Aligned != 0 { // accessed as one number, on any machine
				g.memory.checkAlign(r, 0, int(a.Size), true)
			}
		}
	case proto.ConstSize, proto.ConstSizeOrZero:
		t := read
		if p.Args[i-1].Flags&proto.Write != 0 {
			t = write
		}
		g.memory.memSize(n, t, kind == proto.ConstSizeOrZero, m)
	case proto.Dynptr:
		g.dynptrArg(n, argFlags(a.Flags), 0)
	case proto.AllocSize:
		// The size of what is reserved bounds later accesses to it.
		if !r.Var.IsConst() {
			g.refuse(refusal.NotKnownConstant, n)
		}
		m.memSize = r.Var.Value
		g.precision.precise(n)
	case proto.ConstString:
		g.constString(n)
	case proto.Kptr:
		g.fieldErrno(func() { g.kptrArg(n, m) })
	}
}

// fieldErrno checks an argument that points to a lock, timer or kptr. Until 6.2 check_func_arg
// returned an error of its own, whatever was wrong with it.
func (g *arguments) fieldErrno(check func()) {
	if !g.has(since.FieldErrno) {
		defer func() {
			if x := recover(); x != nil {
				if _, is := x.(refused); is {
					x = refused{uapi.EACCES}
				}
				panic(x)
			}
		}()
	}
	check()
}

// needMap refuses a key or value without a map before it: prototypes have it first.
func (g *arguments) needMap(m *callMeta, what string) {
	if m.mapp == nil {
		g.refuse(refusal.InvalidMapPtrAccessMap, what)
	}
}

// mapValueKind: values of sockmaps are sockets (resolve_map_arg_type), which programs cannot copy
// as bytes.
func (g *arguments) mapValueKind(a proto.Arg, m *callMeta) proto.ArgKind {
	if m.mapp == nil {
		g.refuse(refusal.InvalidMapPtrAccessMapType)
	}
	// A lookup returns a referenced socket, and an update takes one.
	if t := m.mapp.Type; t == uapi.MapTypeSockmap || t == uapi.MapTypeSockhash {
		if a.Flags&^proto.ReadOnly == 0 {
			return proto.BTFSockCommon
		}
		g.refuse(refusal.InvalidArgTypeSockmapSockhash)
	}
	return proto.MapValue
}

// memKinds are the registers that point to memory of known size (mem_types in check_reg_type); the
// later ones were not accepted from the start.
var memKinds = []regType{ptrStack, ptrPacket, ptrPacketMeta, ptrMapKey, ptrMapValue, ptrMem, ptrMem | memRingbuf, ptrBuf, ptrBTF | ptrTrusted, ptrCtx}

// memKinds returns the registers that a memory argument accepts.
func (g *arguments) memKinds(kind proto.ArgKind) []regType {
	list := memKinds
	switch {
	case !g.has(since.MapArgsAnyMemory) && (kind == proto.MapKey || kind == proto.MapValue):
		list = memKinds[:5]
	case !g.has(since.BTFMemArgs):
		list = memKinds[:8]
	case !g.has(since.ContextMemArgs):
		list = memKinds[:9]
	}
	if !g.has(since.MapKeyPointers) { // no keys of maps
		list = append(append([]regType(nil), list[:3]...), list[4:]...)
	}
	return list
}

// argKinds are the registers that other arguments accept (compatible_reg_types). Trusted and RCU
// pointers are listed beside plain ones: a flag that is not listed is refused.
var argKinds = map[proto.ArgKind][]regType{
	proto.ConstSize: {scalar}, proto.ConstSizeOrZero: {scalar}, proto.AllocSize: {scalar}, proto.Scalar: {scalar},
	proto.ConstMap: {constMap}, proto.Ctx: {ptrCtx},
	proto.SockCommon:    {ptrSockCommon, ptrSocket, ptrTCPSock, ptrXDPSock},
	proto.BTFSockCommon: {ptrSockCommon, ptrSocket, ptrTCPSock, ptrXDPSock, ptrBTF, ptrBTF | ptrTrusted},
	proto.Socket:        {ptrSocket},
	proto.BTFID:         {ptrBTF, ptrBTF | ptrTrusted, ptrBTF | memRCU},
	proto.SpinLock:      {ptrMapValue, ptrBTF | memAlloc},
	proto.RingbufMem:    {ptrMem | memRingbuf},
	proto.PercpuBTFID:   {ptrBTF | memPercpu, ptrBTF | memPercpu | memRCU, ptrBTF | memPercpu | ptrTrusted},
	proto.Func:          {ptrFunc}, proto.Stack: {ptrStack}, proto.ConstString: {ptrMapValue, ptrMapKey}, proto.Timer: {ptrMapValue},
	proto.Kptr: {ptrMapValue, ptrBTF | memAlloc}, proto.Dynptr: {ptrStack, constDynptr},
}

// checkArgType checks that a register is of a type that an argument accepts (check_reg_type).
func (g *arguments) checkArgType(n int, a proto.Arg, kind proto.ArgKind, m *callMeta) {
	r := g.reg(n)
	t := r.typ
	// What the helper only reads may be read-only, what it takes NULL for may be NULL; the reverse
	// does not hold, so only these flags are ignored (check_reg_type).
	if a.Flags&proto.ReadOnly != 0 || kind == proto.ConstString {
		t &^= memRdonly
	}
	if a.Flags&proto.MaybeNull != 0 {
		t &^= maybeNull
	}
	// A slice of a dynptr is memory like any other, for as long as it is valid.
	if kind == proto.Mem || kind == proto.FixedMem {
		t &^= dynMask
	}
	// Objects of the program and of the kernel are exchanged alike; the field's type decides.
	xchg := m.id == uapi.FuncKptrXchg && n == 2
	if xchg && t.isAlloc() {
		t &^= memAlloc | memPercpu
	}
	list := argKinds[kind]
	switch kind {
	case proto.MapKey, proto.MapValue, proto.Mem, proto.FixedMem:
		list = g.memKinds(kind)
	}
	if kind == proto.Kptr {
		list = g.kptrKinds(list)
	}
	if kind == proto.ConstString {
		list = []regType{ptrMapValue}
	}
	found := false
	for _, x := range list {
		if x != notInit && x == t {
			found = true
			break
		}
	}
	if !found {
		text := ""
		for _, x := range list {
			if x == notInit {
				continue
			}
			if text != "" {
				text += ", "
			}
			text += g.typeName(x)
		}
		g.refuse(refusal.TypeExpected2, n, g.typeName(r.typ), text)
	}
	// For kernel objects the type alone says little: the struct is compared.
	if r.typ.base() != ptrBTF {
		return
	}
	switch kind {
	case proto.MapKey, proto.MapValue, proto.Mem, proto.FixedMem:
		// A helper that writes would overwrite any field of a kernel object.
		if a.Flags&proto.ReadOnly == 0 && kind != proto.MapKey {
			g.refuse(refusal.MayWriteIntoMemoryPointedR, m.id, n, g.typeName(r.typ))
		}
		return
	}
	g.checkArgBTF(n, r, a, kind, m)
}

// kptrKinds returns which memory a kptr may be in of the kinds in a list (kptr_xchg_dest_types).
func (g *arguments) kptrKinds(list []regType) []regType {
	switch {
	case g.has(since.XchgNonOwning):
		return append(slices.Clone(list), ptrBTF|memAlloc|nonOwnRef, ptrBTF|memAlloc|nonOwnRef|memRCU)
	case g.has(since.XchgLocalKptr):
		return list
	}
	return list[:1] // map values only
}

// checkArgBTF checks the kernel struct that an argument points to.
func (g *arguments) checkArgBTF(n int, r *reg, a proto.Arg, kind proto.ArgKind, m *callMeta) {
	// Helpers take objects of the program for the lock in them, or to exchange them.
	if r.typ.isAllocObj() {
		if m.id == uapi.FuncKptrXchg && n == 2 && !g.memory.kptrMatch(m.kptr, r, n) {
			panic(refused{uapi.EACCES})
		}
		return
	}
	if r.typ&memPercpu != 0 {
		return
	}
	// A release of NULL would release nothing, and the reference would stay.
	if r.typ.mayBeNull() && (a.Flags&proto.MaybeNull == 0 || a.Flags&proto.Release != 0) {
		g.refuse(refusal.PossiblyNULLPointerPassedHelperArg, g.argFromOne(n))
	}
	if m.id == uapi.FuncKptrXchg {
		if !g.memory.kptrMatch(m.kptr, r, n) {
			panic(refused{uapi.EACCES})
		}
		return
	}
	want := a.BTF
	if kind == proto.BTFSockCommon {
		want = "sock_common"
	}
	if want == "" {
		g.unknown("the type of argument %d of %s", n, m.id)
	}
	// A reference is released by the function for its own type: a pointer to its first member would
	// reach the function for another. Sockets have one function for all types.
	strict := a.Flags&proto.Release != 0 && m.id != uapi.FuncSkRelease
	id, ok := g.kernelType(want)
	if !ok {
		g.unknown("struct %s, which the kernel's BTF does not have", want)
	}
	if !g.kernelMem.structMatch(r.spec, btf.ID(r.tid), int(r.off), g.kernelSpec(), id, strict, true) {
		g.refuse(refusal.TypeButExpected2, n, g.specName(r.spec, r.tid), want)
	}
}

// argOffset checks that a pointer has no offset where the function expects the object's own address
// (check_func_arg_reg_off): what is released is found by the address that was acquired.
func (g *arguments) argOffset(r *reg, n int, a proto.Arg, kind proto.ArgKind) {
	if a.Flags&proto.Release != 0 {
		// The offset is where on the stack the dynptr is.
		if kind == proto.Dynptr && r.typ == ptrStack {
			return
		}
		// Older releases check no offset of memory.
		if !g.has(since.MemOffsets) && r.typ.base() == ptrMem {
			return
		}
		// The kernel computes from the address where the object begins, and would corrupt what is
		// before.
		if r.off != 0 {
			g.refuse(refusal.MustZeroOffsetWhenPassedRelease, n)
		}
		g.memory.checkOffset(r, n, false)
		return
	}
	g.memory.argOffset(r, n, kind == proto.Ctx)
}

// argFromOne names an argument where messages count from 1.
func (g *arguments) argFromOne(n int) string {
	if g.has(since.RegisterWords) {
		return "R" + itoa(n)
	}
	return "arg" + itoa(n)
}

// checkReleaseArg: only what the program acquired is its own to release; NULL is nothing.
func (g *arguments) checkReleaseArg(n int, r *reg, kind proto.ArgKind, id uapi.FuncID) {
	if kind == proto.Dynptr {
		if g.has(since.ConstDynptr) { // as any dynptr, of which only the helpers know the type
			return
		}
		if r.typ != ptrStack {
			g.refuse(refusal.CannotReleaseUnownedConstBpfDynptr)
		}
		// The reference is that of the dynptr, kept in its slot.
		spi, err := g.stack.dynptrSpi(r)
		if err != 0 || g.funcOf(r).stack[spi].reg.ref == 0 {
			g.refuse(refusal.ArgUnacquiredReference, n)
		}
		return
	}
	if r.ref == 0 && !r.isNull() {
		if g.has(since.ReleaseWords) {
			g.refuse(refusal.ReleaseHelperExpectsReferenced, id, g.argFromOne(n))
		}
		g.refuse(refusal.MustReferencedWhenPassedReleaseFunction, n)
	}
}

// releaseArg releases the argument's reference, and with it all registers that hold it or were
// derived from it: the object may be gone (release_reference).
func (g *arguments) releaseArg(h *proto.Helper, p *proto.Proto, m *callMeta) {
	if m.release == 0 {
		return
	}
	r := g.reg(m.release)
	ok := false
	switch {
	case p.Args[m.release-1].Kind == proto.Dynptr:
		// All clones of the dynptr and their slices end with it.
		g.stack.unmarkDynptr(r)
		ok = true
	case m.id == uapi.FuncKptrXchg && m.ref != 0 && g.has(since.XchgKeepsRCU):
		id := m.ref
		rcu := g.resources.inRCU()
		if ok = g.resources.dropRef(g.cur, id); ok {
			// The map holds the object now. In an RCU read-side section it stays until the end of
			// that, so the program may still use it, without owning it
			// (ref_convert_alloc_rcu_protected).
			g.cur.eachReg(spillMask, func(x *reg) bool { return x.ref == id }, func(x *reg) {
				if rcu && x.typ&memAlloc != 0 && x.typ&memPercpu != 0 {
					x.ref = 0
					x.typ = x.typ&^memAlloc | memRCU
					return
				}
				g.resources.invalidate(x)
			})
		}
	case m.ref != 0:
		ok = g.resources.release(m.ref)
		// Dynptrs of a packet end with the packet.
		g.stack.endDerived(m.ref)
	case r.isNull():
		ok = true
	}
	if !ok {
		g.refuse(refusal.FuncReferenceNotBeenAcquiredBefore, h.Name(), int32(m.id))
	}
}

// constString: a format is parsed by the verifier, so its bytes must be known and stay as they are,
// and it must end within the map's value (check_reg_const_str).
func (g *arguments) constString(n int) {
	r := g.reg(n)
	m := g.mapOf(r)
	// Neither programs nor user space may change the text after it was checked (bpf_map_is_rdonly).
	if m.Frozen == nil || m.Flags&flagRdonlyProg == 0 {
		g.refuse(refusal.DoesNotPointReadonlyMap, n)
	}
	if !r.Var.IsConst() {
		g.refuse(refusal.NotConstantAddress, n)
	}
	// The text is read when the program is loaded, by its address.
	if !hasDirectValue(m.Type) {
		g.refuse(refusal.NoDirectValueAccessSupportMap)
	}
	g.memory.checkMapAccess(n, int(r.off), int(m.ValueSize)-int(r.off), false, accessHelper)
	at := r.offset()
	for i := at; i < int64(len(m.Frozen)); i++ {
		if m.Frozen[i] == 0 {
			return
		}
	}
	g.refuse(refusal.StringNotZeroTerminated)
}

// noteKey records a constant key (get_constant_map_key): an array certainly has an element for it.
func (g *arguments) noteKey(n int, m *callMeta) {
	if !g.has(since.KnownKeyLookup) {
		return
	}
	// Elements of other maps come and go.
	if t := m.mapp.Type; t != uapi.MapTypeArray && t != uapi.MapTypePercpuArray {
		return
	}
	// Another inner map may have fewer elements.
	if m.mapp.Flags&uapi.MapInnerMap != 0 && g.has(since.InnerMapLookups) {
		return
	}
	r := g.reg(n)
	// Only what is on the stack is known.
	if r.typ != ptrStack || !r.Var.IsConst() {
		return
	}
	size := int(m.mapp.KeySize)
	off := int(r.offset())
	slotOff := -off - 1
	spi := slotOff / 8
	f := g.funcOf(r)
	if spi < 0 || spi >= len(f.stack) {
		return
	}
	s := f.stack[spi]
	at := slotOff % 8
	zeros, spills := 0, 0
	// Bytes of the key that are 0, or a spilled number that covers it exactly, are known.
	for i := at; i >= 0 && at-i < size; i-- {
		if s.t[i] != slotZero {
			break
		}
		zeros++
	}
	if zeros >= size {
		m.constKey = 1
		return
	}
	if !s.isScalarSpill() {
		return
	}
	for i := at; i >= 0; i-- {
		if s.t[i] != slotSpill {
			break
		}
		spills++
	}
	if spills != size {
		return
	}
	if !s.reg.Var.IsConst() {
		return
	}
	key := s.reg.Var.Value
	// The key must be compared exactly from now on.
	g.precision.bt.stacks[r.frame] |= 1 << spi
	g.precision.bt.frame = g.cur.curFrame
	g.precision.markChain(g.cur, g.insn, nil)
	// 0 stands for a key that is not known.
	if key < uint64(m.mapp.MaxEntries) {
		m.constKey = key + 1
	}
}
