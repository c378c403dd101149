package verifier

import (
	"fmt"
	"math"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// badRange logs the values that a register may have and those it must have
// (verbose_invalid_scalar).
func (fs *frames) badRange(r *reg, rg retRange, where, name string) {
	if !fs.has(since.ReturnRangeWords) {
		t := r.Var.String()
		if r.Var.IsUnknown() {
			t = "unknown scalar value"
		}
		fs.say(refusal.RegisterValueShouldBeenIn, where, name, t, fs.tnumRange(rg))
		return
	}
	var b strings.Builder
	unknown := true
	// Only what is known is printed.
	if r.SMin > math.MinInt64 {
		fmt.Fprintf(&b, " smin=%d", r.SMin)
		unknown = false
	}
	if r.SMax < math.MaxInt64 {
		fmt.Fprintf(&b, " smax=%d", r.SMax)
		unknown = false
	}
	if unknown {
		b.WriteString(" unknown scalar value")
	}
	fs.say(refusal.RegisterShouldBeenIn, where, name, b.String(), rg.min, rg.max)
}

func (fs *frames) tnumRange(rg retRange) string {
	return fmt.Sprintf("(%s; %s)", hexText(uint64(rg.min)), hexText(uint64(rg.max^rg.min)))
}

func hexText(v uint64) string { return fmt.Sprintf("%#x", v) }

// checkReturn checks the value returned by a program, a callback or a global function
// (check_return_code).
func (fs *frames) checkReturn(n int, name string) {
	f := fs.cur.frames[0]
	// An exception ends the program, wherever it is thrown.
	throws := n == 1 && fs.has(since.GlobalThrowRange)
	sub := f.sub != 0 && !throws
	typ := fs.prog.typ
	// Nothing reads R0 then, so that it need not have a value.
	if (!sub || f.inException) && !(throws && f.inAsync) {
		switch typ {
		case uapi.ProgTypeLSM:
			if fs.p.Attach != uapi.AttachLSMCgroup && fs.hookReturn() == progtype.ReturnsVoid {
				return
			}
		case uapi.ProgTypeStructOps:
			if fs.hookReturn() == progtype.ReturnsVoid {
				return
			}
			if fs.opsReturn(n) {
				return
			}
		}
		// An extension replaces only what returns nothing either.
		if fs.p.Type == uapi.ProgTypeExt && fs.has(since.VoidGlobals) && fs.returnsVoid(0) {
			return
		}
	}
	if sub && !f.inException && !f.inAsync && fs.has(since.VoidGlobals) && fs.returnsVoid(f.sub) {
		return
	}
	// Where there is a result, whoever called the program reads it: it must have a value, which
	// must not be the kernel's address.
	fs.values.checkSrc(uint8(n))
	r := fs.reg(n)
	// The kernel interprets what timers and work return.
	if f.inAsync {
		rg := retRange{0, 0}
		if fs.has(since.AsyncReturnRange) {
			rg = f.callbackRet
		}
		fs.enforce(r, n, rg, "At async callback return", name, false)
		return
	}
	// The callers of a global function were verified with any number in R0.
	if sub && !f.inException {
		if r.typ != scalar {
			fs.refuse(refusal.SubprogramExitRegisterRNotScalar, n, fs.typeName(r.typ))
		}
		return
	}
	if typ == uapi.ProgTypeRawTracepoint && fs.p.AttachID == 0 {
		return
	}
	row := progtype.Of(typ)
	attach := fs.p.Attach
	// What an extension may return depends on the function that it replaces.
	if typ == uapi.ProgTypeExt {
		return
	}
	rg, bounded := row.ReturnRange(fs.rel, attach, strings.TrimPrefix(fs.p.AttachTo, "bpf_lsm_"), fs.hookReturn())
	if !bounded {
		return
	}
	// The kernel keeps ranges in 32 bits (struct bpf_retval_range).
	lo, hi := max(rg.Low, math.MinInt32), min(rg.High, math.MaxInt32)
	fs.enforce(r, n, retRange{int32(lo), int32(hi)}, "At program exit", name, rg.Word)
	if typ == uapi.ProgTypeCgroupSkb && attach == uapi.AttachCgroupInetEgress && rangeTnum(retRange{2, 3}).Contains(r.Var) {
		fs.bound = true
	}
}

// returnsVoid reports whether a function has no result.
func (fs *frames) returnsVoid(sub int) bool {
	if !fs.funcInfo() {
		return false
	}
	fn := fs.p.BTF.MustType(fs.subs[sub].fn)
	return fs.p.BTF.MustType(fn.Ref).Ref == 0
}

// opsReturn: a struct_ops member that returns a pointer may return a reference that the program
// holds, which then belongs to the kernel. It returns true if r0 is one.
func (fs *frames) opsReturn(n int) bool {
	t := fs.prog.attachProto
	if t == nil || fs.hookReturn() != progtype.ReturnsPointer || !fs.has(since.OpsReturnKptr) {
		return false
	}
	r := fs.reg(n)
	want := fs.prog.attachSpec.SkipMods(fs.prog.attachSpec.SkipMods(t.Ref).Ref)
	// The type must be the member's, and the address the object's own.
	if r.typ.base() == ptrBTF && r.ref != 0 && fs.specs[r.spec-1] == fs.prog.attachSpec && btf.ID(r.tid) == want.ID {
		fs.memory.checkOffset(r, n, false)
		return true
	}
	return false
}

// enforce checks the range of a result (check_return_code). That the value is within the range is
// taken for granted by the hook's code, which may use it as an index or an error.
func (fs *frames) enforce(r *reg, n int, rg retRange, where, name string, word bool) {
	if r.typ != scalar {
		fs.refuse(refusal.RegisterRNotKnownValue, where, n, fs.typeName(r.typ))
	}
	// A state with another number here would pass by pruning.
	if fs.has(since.ReturnPrecise) {
		fs.precision.precise(n)
	}
	ok := int64(rg.min) <= r.SMin && r.SMax <= int64(rg.max)
	if word {
		ok = rg.min <= r.Low.SMin && r.Low.SMax <= rg.max
	}
	// Bits cannot describe all ranges: 1 to 2 admits 3 and 0, too.
	if !fs.has(since.ReturnsByRange) {
		ok = rangeTnum(rg).Contains(r.Var)
	}
	if !ok {
		fs.badRange(r, rg, where, name)
		if fs.prog.typ == uapi.ProgTypeLSM && fs.p.Attach == uapi.AttachLSMCgroup && fs.hookReturn() == progtype.ReturnsVoid {
			fs.say(refusal.NoteBPFLSMCgroupAttachVoid)
		}
		panic(refused{uapi.EINVAL})
	}
}
