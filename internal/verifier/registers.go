package verifier

import (
	"strconv"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// bits formats the known bits of a register's value as the release does.
func (a *values) bits(r *reg) string {
	if v := int64(r.Var.Value); a.has(since.SignedBitsWords) && r.Var.IsConst() && v == int64(int16(v)) {
		return strconv.FormatInt(v, 10)
	}
	if a.has(since.BitsWords) {
		return r.Var.Text()
	}
	return r.Var.String()
}

// sane drops ranges that contradict each other, as the kernel does outside its own tests
// (reg_bounds_sanity_check): any number is a safe answer.
func (a *values) sane(r *reg) {
	if a.r.mixed && r.typ == scalar && r.Broken() != "" {
		r.Forget()
	}
}

// notNull marks a pointer that may be null as not null (mark_ptr_not_null_reg). Lookups in maps of
// maps and of sockets become what such elements are.
func (a *values) notNull(r *reg) {
	if r.typ.base() != ptrMapValue {
		r.typ &^= maybeNull
		return
	}
	m := a.mapOf(r)
	switch {
	case m.inner != nil:
		// An element of a map of maps is a map, which nothing but helpers access.
		r.typ = constMap
		r.mapp = m.inner.index
		// Each lookup may find another inner map: a timer must be used with the one it is in.
		if a.innerUID(m.inner) {
			r.uid = r.id
		}
	case m.Type == uapi.MapTypeArrayOfMaps || m.Type == uapi.MapTypeHashOfMaps:
		a.unknown("the inner map of %s, which user space sets", m.Name)
	case m.Type == uapi.MapTypeXskmap:
		r.typ = ptrXDPSock
	case m.Type == uapi.MapTypeSockmap || m.Type == uapi.MapTypeSockhash:
		r.typ = ptrSocket
	default:
		r.typ = ptrMapValue
	}
}

// innerUID reports inner maps of which the program must show that it means the same one twice.
func (a *values) innerUID(m *mapInfo) bool {
	return m.rec.has(fieldTimer) || m.rec.has(fieldWorkqueue) || m.rec.has(fieldTaskWork)
}

// identify gives a scalar an identity before it is copied (assign_scalar_id_before_mov).
func (a *values) identify(r *reg) {
	if r.typ != scalar {
		return
	}
	// A copy of a sum would be a third distance to the base, so the copies are linked to each
	// other.
	if a.r.linked && r.id&addConst != 0 {
		r.clearID()
	}
	// Copies of a constant need no link: nothing narrows them.
	if r.id == 0 && !(a.r.constID && r.Var.IsConst()) {
		r.id = a.newID()
	}
}

// checkSrc checks that a register may be read (check_reg_arg): what nothing set holds what the
// kernel left there.
func (a *values) checkSrc(n uint8) {
	if n > 10 {
		a.refuse(refusal.Invalid, n)
	}
	a.log.touch(int(n))
	r := a.reg(int(n))
	if r.typ == notInit {
		a.refuse(refusal.ReadOk, n)
	}
	if n != 10 {
		a.liveness.readReg(r)
	}
}

// checkDst checks that a register may be written; mark makes it unknown (check_reg_arg). R10 is
// where the kernel finds the program's stack.
func (a *values) checkDst(n uint8, mark bool) {
	if n > 10 {
		a.refuse(refusal.Invalid, n)
	}
	if n == 10 {
		a.refuse(refusal.FramePointerReadOnly)
	}
	a.log.touch(int(n))
	r := a.reg(int(n))
	r.wrote()
	if mark {
		r.unknown()
	}
}

// clobber marks the registers that a call does not preserve as uninitialised (caller_saved).
func (a *values) clobber(regs *[11]reg) {
	for i := 0; i <= 5; i++ {
		regs[i].notInit()
		regs[i].wrote()
		a.log.touch(i)
	}
}
