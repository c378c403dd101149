package verifier

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// objectSpi returns the slot where an object of n slots on the stack starts, its highest
// (stack_slot_obj_get_spi). The errno is EINVAL if it cannot be one, ERANGE if the stack is not
// that deep.
func (k *stack) objectSpi(r *reg, what string, n int) (int, uapi.Errno) {
	if !k.has(since.DynptrSlots) { // the constant part of the offset counts
		spi := spiOf(int(r.off))
		if f := k.funcOf(r); spi-n+1 < 0 || spi >= len(f.stack) {
			return 0, uapi.EINVAL
		}
		return spi, 0
	}
	// Which slots are the object must be known, or any store might change it.
	if !r.Var.IsConst() {
		k.say(refusal.ConstantOffset, what)
		return 0, uapi.EINVAL
	}
	off := int(r.offset())
	spi := spiOf(off)
	if off%8 != 0 || spi+1 < n || off >= 0 && k.has(since.StackObjectsBelow) {
		k.say(refusal.CannotPassInOffset, what, off)
		return 0, uapi.EINVAL
	}
	if f := k.funcOf(r); spi-n+1 < 0 || spi >= len(f.stack) {
		return 0, uapi.ERANGE
	}
	return spi, 0
}

func (k *stack) dynptrSpi(r *reg) (int, uapi.Errno) { return k.objectSpi(r, "dynptr", 2) }

// dynRefcounted reports whether dynptrs of a type must be released (dynptr_type_refcounted).
func dynRefcounted(t uint8) bool { return t == dynTypeRingbuf || t == dynTypeFile }

func dynTypeOf(t regType) uint8 {
	switch t & dynMask {
	case dynLocal:
		return dynTypeLocal
	case dynRingbuf:
		return dynTypeRingbuf
	case dynSkb:
		return dynTypeSkb
	case dynXDP:
		return dynTypeXDP
	case dynSkbMeta:
		return dynTypeSkbMeta
	case dynFile:
		return dynTypeFile
	}
	return dynInvalid
}

func dynFlag(t uint8) regType {
	return [...]regType{dynInvalid: 0, dynTypeLocal: dynLocal, dynTypeRingbuf: dynRingbuf, dynTypeSkb: dynSkb, dynTypeXDP: dynXDP, dynTypeSkbMeta: dynSkbMeta, dynTypeFile: dynFile}[t]
}

var dynNames = [...]string{dynInvalid: "<invalid>", dynTypeLocal: "local", dynTypeRingbuf: "ringbuf", dynTypeSkb: "skb", dynTypeXDP: "xdp", dynTypeSkbMeta: "skb_meta", dynTypeFile: "file"}

// markDynReg makes a register or a slot half of a dynptr (__mark_dynptr_reg).
func markDynReg(r *reg, t uint8, first bool, id uint32) {
	r.pointer(constDynptr)
	r.id = id
	r.dtype, r.first = t, first
}

// markDynptr turns two stack slots into a dynptr (mark_stack_slots_dynptr).
func (k *stack) markDynptr(r *reg, t regType, clone uint32) {
	f := k.funcOf(r)
	spi, errno := k.dynptrSpi(r)
	if errno != 0 {
		panic(refused{errno})
	}
	// Half of another dynptr may be there.
	k.destroyDynptr(f, spi)
	k.destroyDynptr(f, spi-1)
	a, b := f.own(spi), f.own(spi-1)
	for i := range a.t {
		a.t[i], b.t[i] = slotDynptr, slotDynptr
	}
	d := dynTypeOf(t)
	if d == dynInvalid {
		k.refuse(refusal.DynptrWithoutType)
	}
	refcounted := dynRefcounted(d)
	refFirst := k.has(since.DerivedDynptrs) // the order shows in identities
	if refcounted && clone == 0 && refFirst {
		clone = k.resources.acquire()
	}
	// Slices of the dynptr have its id, to end with it.
	id := k.newID()
	if refcounted && clone == 0 {
		clone = k.resources.acquire()
	}
	markDynReg(&a.reg, d, true, id)
	markDynReg(&b.reg, d, false, id)
	// Clones share the reference of the original.
	if refcounted {
		a.reg.ref, b.reg.ref = clone, clone
	}
	k.liveness.wroteSlot(f, spi)
	k.liveness.wroteSlot(f, spi-1)
	k.log.touchSlot(spi)
	k.log.touchSlot(spi - 1)
}

// derive notes the reference to the packet that a new dynptr is about: with it, the dynptr ends
// (parent_id, from 7.2 on).
func (k *stack) derive(r *reg, t regType, parent uint32) {
	// Dynptrs with a reference of their own end with that.
	if d := dynTypeOf(t); t&memUninit == 0 || parent == 0 || !k.has(since.DerivedDynptrs) || d == dynInvalid || dynRefcounted(d) {
		return
	}
	f := k.funcOf(r)
	if spi, errno := k.dynptrSpi(r); errno == 0 {
		f.own(spi).reg.ref, f.own(spi-1).reg.ref = parent, parent
	}
}

// endDerived ends the dynptrs of a packet that was released, with their slices (release_reference,
// from 7.2 on).
func (k *stack) endDerived(parent uint32) {
	if !k.has(since.DerivedDynptrs) {
		return
	}
	for _, f := range k.cur.frames[:k.cur.curFrame+1] {
		for spi := 1; spi < len(f.stack); spi++ {
			s := f.stack[spi]
			if s.t[0] == slotDynptr && s.reg.first && s.reg.ref == parent && !dynRefcounted(s.reg.dtype) {
				k.destroyDynptr(f, spi)
			}
		}
	}
}

// clearDynptr makes the two slots ordinary stack that nobody wrote.
func (k *stack) clearDynptr(f *frame, spi int) {
	f.replace(spi, clearedSlot)
	f.replace(spi-1, clearedSlot)
	k.liveness.wroteSlot(f, spi)
	k.liveness.wroteSlot(f, spi-1)
}

// unmarkDynptr ends a dynptr; all clones of one with a reference end with it
// (unmark_stack_slots_dynptr).
func (k *stack) unmarkDynptr(r *reg) {
	f := k.funcOf(r)
	spi, errno := k.dynptrSpi(r)
	if errno != 0 {
		panic(refused{errno})
	}
	if !dynRefcounted(f.stack[spi].reg.dtype) {
		k.clearDynptr(f, spi)
		return
	}
	id := f.stack[spi].reg.ref
	k.resources.release(id)
	for i := 1; i < len(f.stack); i++ {
		if s := f.stack[i]; s.reg.ref == id && s.t[0] == slotDynptr && s.reg.first {
			k.clearDynptr(f, i)
		}
	}
}

// destroyDynptr: a store into a dynptr ends it (destroy_if_dynptr_stack_slot): its two slots are no
// dynptr any more, and its slices nothing that can be checked.
func (k *stack) destroyDynptr(f *frame, spi int) {
	if spi < 0 || spi >= len(f.stack) || f.stack[spi].t[0] != slotDynptr || !k.has(since.DynptrSlots) {
		return
	}
	// Either half stands for both.
	if !f.stack[spi].reg.first {
		spi++
	}
	s := f.stack[spi]
	// The reference could never be released, unless a clone still can.
	if dynRefcounted(s.reg.dtype) {
		ok := false
		if k.has(since.SharedDynptrs) {
			for i := range f.stack {
				ok = ok || i != spi && f.stack[i].t[0] == slotDynptr && f.stack[i].reg.first && f.stack[i].reg.ref == s.reg.ref
			}
		}
		if !ok {
			k.refuse(refusal.CannotOverwriteReferencedDynptr)
		}
	}
	id := s.reg.id
	k.cur.eachReg(spillMask, func(x *reg) bool {
		return (x.typ == ptrMem|maybeNull || x.typ == ptrMem || k.has(since.DynptrSliceTypes) && x.typ.base() == ptrMem) && x.dyn == id && id != 0
	}, k.resources.invalidate)
	k.clearDynptr(f, spi)
}
