package verifier

import (
	"fmt"
	"math"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// badRange logs which values a register may have and which it should (verbose_invalid_scalar).
func (e *env) badRange(r *reg, rg retRange, where, name string) {
	if e.rel < since.R(6, 8) {
		t := r.Var.String()
		if r.Var.IsUnknown() {
			t = "unknown scalar value"
		}
		e.verbose("%s the register %s has value %s should have been in %s", where, name, t, e.tnumRange(rg))
		return
	}
	var b strings.Builder
	unknown := true
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
	e.verbose("%s the register %s has%s should have been in [%d, %d]", where, name, b.String(), rg.min, rg.max)
}

func (e *env) tnumRange(rg retRange) string {
	return fmt.Sprintf("(%s; %s)", hexText(uint64(rg.min)), hexText(uint64(rg.max^rg.min)))
}

func hexText(v uint64) string { return fmt.Sprintf("%#x", v) }

// lsmRange is what the LSM hook may return.
func (e *env) lsmRange() (retRange, bool) {
	if e.rel < since.R(6, 12) || e.prog.attachProto == nil {
		return retRange{}, false
	}
	if e.prog.attachProto.Ref == 0 {
		return retRange{}, false
	}
	switch strings.TrimPrefix(e.p.AttachTo, "bpf_lsm_") {
	case "xfrm_state_pol_flow_match", "audit_rule_known", "inode_xattr_skipcap":
		return retRange{0, 1}, true
	}
	return retRange{-maxErrno, 0}, true
}

// hookReturn is what the hook returns by its BTF.
func (e *env) hookReturn() progtype.HookReturn {
	t := e.prog.attachProto
	if t == nil {
		return progtype.UnknownReturn
	}
	if t.Ref == 0 {
		return progtype.ReturnsVoid
	}
	if e.prog.attachSpec.SkipMods(t.Ref).Kind == btf.KindPtr {
		return progtype.ReturnsPointer
	}
	return progtype.ReturnsNumber
}

// checkReturn judges the value a program, a callback or a global function returns (check_return_code).
func (e *env) checkReturn(n int, name string) {
	f := e.cur.frames[0]
	sub := f.sub != 0
	typ := e.prog.typ
	if !sub || f.inException {
		switch typ {
		case uapi.ProgTypeLSM:
			if e.p.Attach != uapi.AttachLSMCgroup && e.hookReturn() == progtype.ReturnsVoid {
				return
			}
		case uapi.ProgTypeStructOps:
			if e.hookReturn() == progtype.ReturnsVoid {
				return
			}
			if e.opsReturn(n) {
				return
			}
		}
	}
	if sub && !f.inException && !f.inAsync && e.rel >= since.R(7, 0) && e.returnsVoid(f.sub) {
		return
	}
	e.checkSrc(uint8(n))
	r := e.reg(n)
	if f.inAsync {
		rg := retRange{0, 0}
		if e.rel >= since.R(6, 18) {
			rg = f.callbackRet
		}
		e.enforce(r, n, rg, "At async callback return", name, false)
		return
	}
	if sub && !f.inException {
		if r.typ != scalar {
			e.refuse(uapi.EINVAL, "At subprogram exit the register R%d is not a scalar value (%s)", n, e.typeName(r.typ))
		}
		return
	}
	if typ == uapi.ProgTypeRawTracepoint && e.p.AttachID == 0 {
		return
	}
	row := progtype.Of(typ)
	attach := e.p.Attach
	if typ == uapi.ProgTypeExt {
		return
	}
	rg, bounded := row.ReturnRange(e.rel, attach, strings.TrimPrefix(e.p.AttachTo, "bpf_lsm_"), e.hookReturn())
	if !bounded {
		return
	}
	lo, hi := max(rg.Low, math.MinInt32), min(rg.High, math.MaxInt32)
	e.enforce(r, n, retRange{int32(lo), int32(hi)}, "At program exit", name, rg.Word)
}

func (e *env) returnsVoid(sub int) bool {
	if !e.funcInfo() {
		return false
	}
	fn := e.p.BTF.MustType(e.subs[sub].fn)
	return e.p.BTF.MustType(fn.Ref).Ref == 0
}

// opsReturn: a member of a struct_ops that returns a pointer may return a reference the program holds; true when r0 is one.
func (e *env) opsReturn(n int) bool {
	t := e.prog.attachProto
	if t == nil || e.hookReturn() != progtype.ReturnsPointer || e.rel < since.R(6, 16) {
		return false
	}
	r := e.reg(n)
	want := e.prog.attachSpec.SkipMods(e.prog.attachSpec.SkipMods(t.Ref).Ref)
	if r.typ.base() == ptrBTF && r.ref != 0 && e.specs[r.spec-1] == e.prog.attachSpec && btf.ID(r.tid) == want.ID {
		e.checkOffset(r, n, false)
		return true
	}
	return false
}

func (e *env) enforce(r *reg, n int, rg retRange, where, name string, word bool) {
	if r.typ != scalar {
		e.refuse(uapi.EINVAL, "%s the register R%d is not a known value (%s)", where, n, e.typeName(r.typ))
	}
	if e.rel >= since.R(6, 8) {
		e.precise(n)
	}
	ok := int64(rg.min) <= r.SMin && r.SMax <= int64(rg.max)
	if word {
		ok = rg.min <= r.SMin32 && r.SMax32 <= rg.max
	}
	if e.rel < since.R(6, 8) {
		ok = rangeTnum(rg).Contains(r.Var)
	}
	if !ok {
		e.badRange(r, rg, where, name)
		if e.prog.typ == uapi.ProgTypeLSM && e.p.Attach == uapi.AttachLSMCgroup && e.hookReturn() == progtype.ReturnsVoid {
			e.verbose("Note, BPF_LSM_CGROUP that attach to void LSM hooks can't modify return value!")
		}
		panic(refusal{uapi.EINVAL})
	}
}
