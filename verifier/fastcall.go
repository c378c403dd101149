package verifier

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// markFastcalls finds spills and fills around calls that keep registers: the kernel removes them, and their slots do not count
// (mark_fastcall_patterns).
func (e *env) markFastcalls() {
	for n := 0; n < e.nsubs(); n++ {
		lowest := 0
		lo, hi := e.subs[n].start, e.subs[n+1].start
		for i := lo; i < hi; i++ {
			if in := &e.insns[i]; in.Code == clsSTX|modeMEM|sizeDW && in.Dst == 10 {
				lowest = min(lowest, int(in.Off))
			}
		}
		for i := lo; i < hi; i++ {
			if e.insns[i].Code == codeCall {
				e.markFastcall(n, i, lowest)
			}
		}
	}
}

func (e *env) markFastcall(sub, i, lowest int) {
	in := &e.insns[i]
	clobbered := uint32(0x3f)
	inlined := false
	switch {
	case isHelperCall(in):
		h, ok := proto.Lookup(uapi.FuncID(in.Imm))
		if !ok || !h.In(e.rel) {
			return
		}
		p := h.For(e.rel, e.prog.caller)
		if p == nil {
			return
		}
		clobbered = 1<<(len(p.Args)+1) - 2
		if p.Ret.Kind != proto.Void {
			clobbered |= 1
		}
		inlined = p.Attr&proto.FastCall != 0 && e.inlinesHelper(h.ID)
	case isKfuncCall(in):
		k := e.kfuncAt(i)
		if k == nil || k.proto == nil || !k.allowed {
			return
		}
		clobbered = 1<<(min(len(k.proto.Params), 5)+1) - 2
		if k.proto.Ref != 0 {
			clobbered |= 1
		}
		inlined = k.is("bpf_cast_to_kern_ctx", "bpf_rdonly_cast") || proto.KfuncFlags(k.flags)&proto.KfuncFastCall != 0
	}
	if bits.OnesCount32(clobbered) == 6 {
		return
	}
	expected := ^clobbered & 0x3f
	n, off := 1, lowest
	for ; n <= 6; n, off = n+1, off+8 {
		if i-n < 0 || i+n >= len(e.insns) || e.aux[i-n+1].target || e.aux[i+n].target {
			break
		}
		st, ld := &e.insns[i-n], &e.insns[i+n]
		if st.Code != clsSTX|modeMEM|sizeDW || ld.Code != clsLDX|modeMEM|sizeDW || st.Dst != 10 || ld.Src != 10 || st.Src != ld.Dst ||
			expected>>st.Src&1 == 0 || int(st.Off) != off || int(ld.Off) != off {
			break
		}
		expected &^= 1 << st.Src
		e.aux[i-n].fastcall, e.aux[i+n].fastcall = true, true
	}
	if n == 1 {
		return
	}
	if inlined {
		e.aux[i].fastSpills = uint8(n - 1)
	} else {
		e.subs[sub].keepFastcall = true
	}
	e.subs[sub].fastcallOff = min(e.subs[sub].fastcallOff, off)
}

func (e *env) inlinesHelper(id uapi.FuncID) bool {
	switch id {
	case uapi.FuncGetSmpProcessorId:
		return true
	case uapi.FuncGetCurrentTask, uapi.FuncGetCurrentTaskBtf:
		return e.rel >= since.R(7, 0)
	}
	return false
}
