package verifier

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// dynptrArg checks a dynptr argument (process_dynptr_func). Where its two slots are is known, and
// nothing else may write them: programs could forge pointers and sizes otherwise.
func (g *arguments) dynptrArg(n int, t regType, clone uint32) {
	r := g.reg(n)
	if r.typ != ptrStack && r.typ != constDynptr {
		g.refuse(refusal.ArgExpectedPointerStackConstStruct, g.argAs("arg#", n))
	}
	if r.typ == constDynptr && !g.has(since.ConstDynptrChecked) {
		return
	}
	// A dynptr that holds a reference would be lost if it were overwritten, so the place must be
	// free.
	if t&memUninit != 0 {
		if !g.dynptrFree(r) {
			g.refuse(refusal.DynptrUninitializedDynptr)
		}
		// The place is written as ordinary stack first, which ends what was there.
		for i := 0; i < 16; i += 8 {
			g.memory.access(g.insn, n, i, 8, write, -1, false, false)
		}
		g.stack.markDynptr(g.reg(n), t, clone)
		return
	}
	// The dynptr of a callback belongs to the helper that calls it, which releases it.
	if r.typ == constDynptr && g.has(since.ConstDynptr) {
		if t&objRelease != 0 {
			g.refuse(refusal.ConstPTRTODynptrCannotReleased)
		}
	} else if r.typ == constDynptr && t&memRdonly == 0 && g.has(since.ConstDynptrChecked) {
		// A writable argument could change what the helper still uses, such as its size.
		g.refuse(refusal.CannotPassPointerConstBpfDynptr)
	}
	if !g.dynptrValid(r) {
		g.refuse(refusal.ExpectedInitializedDynptrArg, g.argAs("arg #", n))
	}
	// A function for one kind of memory would interpret another kind's pointer.
	if want := dynTypeOf(t); want != dynInvalid && g.dynptrType(r) != want {
		g.refuse(refusal.ExpectedDynptrTypeArg, dynNames[want], g.argAs("arg #", n))
	}
	if r.typ == constDynptr {
		return
	}
	// Older releases follow the reference only, and not the slots.
	if !g.has(since.DynptrSlots) {
		return
	}
	// Both slots count as read, or pruning would ignore them (mark_dynptr_read).
	spi, _ := g.stack.dynptrSpi(r)
	f := g.funcOf(r)
	g.liveness.readSlot(f, spi)
	g.liveness.readSlot(f, spi-1)
	if g.has(since.ReadObjectsLogged) {
		g.log.touchSlot(spi)
		g.log.touchSlot(spi - 1)
	}
}

// dynptrFree reports whether the slots may become a dynptr (is_dynptr_reg_valid_uninit). Slots
// beyond what the stack has so far are free (-ERANGE), and overwriting a dynptr is decided when it
// happens (destroy_if_dynptr_stack_slot).
func (g *arguments) dynptrFree(r *reg) bool {
	if r.typ == constDynptr {
		return false
	}
	spi, errno := g.stack.dynptrSpi(r)
	if g.has(since.DynptrSlots) {
		return errno == 0 || errno == uapi.ERANGE
	}
	if errno != 0 {
		return true
	}
	f := g.funcOf(r)
	for i := range f.stack[spi].t {
		if f.stack[spi].t[i] == slotDynptr || f.stack[spi-1].t[i] == slotDynptr {
			return false
		}
	}
	return true
}

// dynptrValid reports whether both slots are one initialised dynptr, and the pointer leads to its
// start: two halves of different ones would not be one (is_dynptr_reg_valid_init).
func (g *arguments) dynptrValid(r *reg) bool {
	if r.typ == constDynptr {
		return true
	}
	spi, errno := g.stack.dynptrSpi(r)
	if errno != 0 {
		return false
	}
	f := g.funcOf(r)
	if !f.stack[spi].reg.first || f.stack[spi].t[7] != slotDynptr {
		return false
	}
	for i := range f.stack[spi].t {
		if f.stack[spi].t[i] != slotDynptr || f.stack[spi-1].t[i] != slotDynptr {
			return false
		}
	}
	return true
}

// dynptrReg returns the register state of the dynptr that an argument points to.
func (g *arguments) dynptrReg(r *reg) *reg {
	if r.typ == constDynptr {
		return r
	}
	spi, errno := g.stack.dynptrSpi(r)
	if errno != 0 {
		panic(refused{errno})
	}
	return &g.funcOf(r).stack[spi].reg
}

func (g *arguments) dynptrID(r *reg) uint32  { return g.dynptrReg(r).id }
func (g *arguments) dynptrRef(r *reg) uint32 { return g.dynptrReg(r).ref }
func (g *arguments) dynptrType(r *reg) uint8 { return g.dynptrReg(r).dtype }

// timerArg checks the timer argument of a helper (process_timer_func).
func (g *arguments) timerArg(n int, m *callMeta) {
	r := g.reg(n)
	mp := g.mapOf(r)
	if !r.Var.IsConst() {
		g.refuse(refusal.NotConstantOffsetBpfTimerConstant, n)
	}
	// Without types the kernel does not know of a timer in the value, and would not cancel it.
	if mp.BTF == nil {
		g.refuse(refusal.MapBTFInOrderUseBpf, mp.Name)
	}
	g.specialField(n, mp, fieldTimer, "bpf_timer")
	m.mapp, m.uid = mp, r.uid
}

// specialField checks that an argument points to the one field of its kind in a map's value
// (check_map_field_pointer).
func (g *arguments) specialField(n int, mp *mapInfo, k fieldKind, name string) {
	r := g.reg(n)
	f := mp.rec.first(k)
	if f == nil {
		g.refuse(refusal.MapNoValid, mp.Name, name)
	}
	if at := r.offset(); int64(f.off) != at {
		g.refuse(refusal.OffNotPointStruct, at, name, f.off)
	}
}

// kptrArg checks the argument that points to the kptr to exchange (process_kptr_func).
func (g *arguments) kptrArg(n int, m *callMeta) {
	r := g.reg(n)
	var rec *record
	if r.typ.isAllocObj() {
		rec = g.recordOf(r)
	} else {
		m.mapp = g.mapOf(r)
		if m.mapp.BTF == nil {
			g.refuse(refusal.MapBTFInOrderUseBpf2, m.mapp.Name)
		}
		rec = &m.mapp.rec
	}
	// Which kptr is exchanged must be known, as its type decides what may be stored.
	if !r.Var.IsConst() {
		g.refuse(refusal.NotConstantOffsetKptrConstantOffset, n)
	}
	if !rec.has(kptrKinds) {
		if g.has(since.XchgLocalKptr) {
			g.refuse(refusal.NoValidKptr, n)
		}
		g.refuse(refusal.MapNoValidKptr, m.mapp.Name)
	}
	off := uint32(r.offset())
	f := rec.find(off, kptrKinds)
	if f == nil {
		g.refuse(refusal.OffNotPointKptr, off)
	}
	// An untrusted kptr owns nothing that could be exchanged.
	if f.kind != fieldKptrRef && f.kind != fieldKptrPercpu {
		g.refuse(refusal.OffKptrNotReferencedKptr, off)
	}
	m.kptr = f
}
