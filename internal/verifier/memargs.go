package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

func (a *memory) plainOffset(r *reg, n int) { a.argOffset(r, n, false) }

// argOffset is plainOffset for an argument that may have to be the context: programs that are
// called with it rely on its beginning (check_func_arg_reg_off). Memory of known size may have any
// offset, kernel objects a constant one, which leads to a member.
func (a *memory) argOffset(r *reg, n int, context bool) {
	switch r.typ {
	case ptrStack, ptrPacket, ptrPacketMeta, ptrMapKey, ptrMapValue, ptrMem, ptrMem | memRdonly, ptrMem | memRingbuf, ptrBuf, ptrBuf | memRdonly, ptrArena, scalar:
		return
	case ptrBTF, ptrBTF | memAlloc, ptrBTF | ptrTrusted, ptrBTF | memRCU, ptrBTF | memAlloc | nonOwnRef, ptrBTF | memAlloc | nonOwnRef | memRCU:
		a.checkOffset(r, n, true)
		return
	case ptrCtx:
		if !context && a.contexts.varCtx() && a.has(since.SyscallVarCtx) {
			return
		}
	}
	a.checkOffset(r, n, false)
}

// helperMem checks size bytes of memory that a helper reads or writes (check_helper_mem_access).
func (a *memory) helperMem(n, size int, t accessType, zeroOK bool, m *callMeta) {
	r := a.reg(n)
	switch r.typ.base() {
	case ptrPacket, ptrPacketMeta:
		a.checkPacket(n, int(r.off), size, zeroOK)
	case ptrMapKey:
		// Keys are the map's.
		if t == write || m != nil && m.raw && !a.has(since.HelperWrites) {
			a.refuse(refusal.CannotWriteInto, n, a.typeName(r.typ))
		}
		a.checkRegion(n, int(r.off), size, a.mapOf(r).KeySize, false)
	case ptrMapValue:
		// Before it was known whether a helper writes, memory that need not be initialised was
		// taken for written, and all other for read.
		acc := t
		if !a.has(since.HelperWrites) {
			acc = read
			if m != nil && m.raw {
				acc = write
			}
		}
		a.checkMapFlags(n, int(r.off), size, acc)
		a.checkMapAccess(n, int(r.off), size, zeroOK, accessHelper)
	case ptrMem:
		if r.typ.isRdonlyMem() && t == write {
			a.refuse(refusal.CannotWriteInto, n, a.typeName(r.typ))
		}
		a.checkRegion(n, int(r.off), size, r.mem, zeroOK)
	case ptrBuf:
		// How much there is, is known when the program is attached.
		what := "rdwr"
		if r.typ.isRdonlyMem() {
			what = "rdonly"
			if t == write {
				a.refuse(refusal.CannotWriteInto, n, a.typeName(r.typ))
			}
		}
		a.checkBuffer(what, r, n, int(r.off), size)
	case ptrStack:
		// Stack that is passed must be initialised, unless the helper fills it
		// (check_stack_range_initialized).
		a.stack.stackInit(n, int(r.off), size, zeroOK, accessHelper, t, m)
	case ptrBTF:
		// The object's type bounds the access (check_ptr_to_btf_access).
		if !a.has(since.BTFMemWrites) {
			t = read
		}
		a.kernelMem.accessBTF(n, int(r.off), size, t, -1)
	case ptrCtx:
		if a.contexts.varCtx() && a.has(since.ContextMemArgs) {
			if r.off < 0 {
				a.refuse(refusal.MinValueNegativeEitherUseUnsigned, n)
			}
			a.checkRegion(n, int(r.off), size, math.MaxUint16, zeroOK)
			return
		}
		if a.contexts.varCtx() {
			if size == 0 {
				if !zeroOK {
					a.refuse(refusal.EmptyContextAccess)
				}
				return
			}
			a.access(a.insn, n, size-1, 1, t, -1, false, false)
			return
		}
		fallthrough
	default:
		// Nothing is accessed, so that any address will do.
		if zeroOK && size == 0 && r.isNull() {
			return
		}
		a.say(refusal.TypeExpected3, n, a.typeName(r.typ), a.typeName(ptrStack))
		panic(refused{uapi.EACCES})
	}
}

// memSize checks a pair of pointer and size arguments (check_mem_size_reg). The memory is checked
// for the greatest length that is possible.
func (a *memory) memSize(n int, t accessType, zeroOK bool, m *callMeta) {
	r := a.reg(n)
	m.maxSize = r.UMax
	use := m
	// If the length varies, the helper may leave a part unwritten, so that all must be initialised
	// before.
	if !r.Var.IsConst() {
		use = nil
	}
	// Taken as a length without sign, it would be enormous.
	if r.SMin < 0 {
		a.refuse(refusal.MinValueNegativeEitherUseUnsigned2, n)
	}
	// The helper does not expect to get nothing.
	if r.UMin == 0 && !zeroOK {
		if a.has(since.ZeroReadWords) {
			a.refuse(refusal.InvalidZeroSizedReadU64, n, int64(r.UMin), int64(r.UMax))
		}
		a.helperMem(n-1, 0, t, zeroOK, use)
	}
	if r.UMax >= maxVarSize {
		a.refuse(refusal.UnboundedMemoryAccessUseVarConst, n)
	}
	a.helperMem(n-1, int(r.UMax), t, zeroOK, use)
	// A state with a greater length must not be taken for this one.
	a.precision.precise(n)
}

// memReg checks memory of a fixed size that is both read and written (check_mem_reg). Functions
// that take such memory check for NULL by themselves.
func (a *memory) memReg(n int, size uint32) {
	r := a.reg(n)
	if r.isNull() {
		return
	}
	saved := *r
	if r.typ.mayBeNull() {
		a.values.notNull(r)
	}
	a.stack.byType = true
	a.helperMem(n, int(size), read, true, &callMeta{})
	if a.has(since.GlobalMemWrites) {
		// As memory that a helper fills, which for map values was the mark of a write.
		a.helperMem(n, int(size), write, true, &callMeta{raw: !a.has(since.HelperWrites)})
	}
	a.stack.byType = false
	if saved.typ.mayBeNull() {
		*r = saved
	}
}
