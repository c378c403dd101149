package verifier

import (
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// stackInit checks that stack read by a helper, or by a load at an unknown offset, has been written
// (check_stack_range_initialized).
func (k *stack) stackInit(ptr, off, size int, zeroOK bool, src accessSource, t accessType, m *callMeta) {
	r := k.reg(ptr)
	f := k.funcOf(r)
	what := ""
	if src == accessHelper {
		what = " indirect"
		if k.has(since.HelperStackWords) {
			what = ""
		}
	}
	if size == 0 && !zeroOK {
		k.refuse(refusal.InvalidZeroSizedRead)
	}
	// A helper that writes may leave anything in the bytes, and older releases do not know whether
	// one writes.
	bounds, clobber := read, false
	if src == accessHelper {
		bounds = write
		if k.has(since.HelperStackWrites) {
			bounds, clobber = t, t == write
		} else {
			clobber = true
		}
	}
	k.stackBounds(ptr, off, size, src, bounds)
	var lo, hi int
	if r.Var.IsConst() {
		lo = int(int64(r.Var.Value)) + off
		hi = lo
	} else {
		// The place is not known, so that each byte that may be read must be initialised.
		if m != nil && m.raw {
			m = nil
		}
		lo, hi = int(r.SMin)+off, int(r.SMax)+off
	}
	// The helper only writes: nothing need be initialised, and callHelper marks the bytes as
	// written. A dynptr there would be overwritten without ending.
	if m != nil && m.raw {
		for i := lo; i < hi+size; i++ {
			at := -i - 1
			if at >= len(f.stack)*8 {
				continue
			}
			if f.stack[at/8].t[at%8] == slotDynptr {
				k.refuse(refusal.PotentialWriteDynptrOffDisallowed, i)
			}
		}
		m.accessSize, m.regno = size, ptr
		return
	}
	for i := lo; i < hi+size; i++ {
		at := -i - 1
		below := at >= len(f.stack)*8
		if below && k.r.uninitGrows {
			k.refuse(refusal.VerifierBugAllocatedStackTooSmall)
		}
		if below {
			k.unreadable(ptr, lo, i, size, what)
		}
		s := f.stack[at/8]
		b := s.t[at%8]
		switch {
		case b == slotMisc:
		case b == slotZero, (b == slotInvalid || b == slotPoison) && k.r.uninit:
			// Memory that nobody wrote may be passed by programs that may see what is there.
			// What a function may read according to BTF, it need not read.
			if b == slotPoison && !clobber && !k.byType {
				k.refuse(refusal.ReadingStackROffSizeSlot, ptr, lo, i-lo, size)
			}
			if clobber {
				f.own(at / 8).t[at%8] = slotMisc
			}
		case k.isSpilled(s):
			// Passing a spilled pointer shows the helper an address, which programs with all
			// capabilities may. What the helper may have written is no longer the register; older
			// releases keep pointers to kernel objects, which helpers were not thought to
			// overwrite.
			if clobber && !(!k.has(since.ClobberBTFSpills) && s.reg.typ&^ptrTrusted == ptrBTF) {
				s = f.own(at / 8)
				s.reg.unknown()
				for j := range s.t {
					if s.t[j] != slotInvalid {
						s.t[j] = slotMisc
					}
				}
			}
		default:
			k.unreadable(ptr, lo, i, size, what)
		}
		// A byte of a slot that is read makes the whole slot count as read.
		k.liveness.readSlot(f, at/8)
	}
}

// unreadable refuses a read of unwritten stack, at i in a read starting at lo.
func (k *stack) unreadable(ptr, lo, i, size int, what string) {
	r := k.reg(ptr)
	if r.Var.IsConst() {
		k.refuse(refusal.InvalidReadStackROffSize, what, ptr, lo, i-lo, size)
	}
	_, bits := k.values.apart(r, 0)
	k.refuse(refusal.InvalidReadStackRVarOff, what, ptr, bits, i-lo, size)
}
