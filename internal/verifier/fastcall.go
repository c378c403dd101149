package verifier

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// markFastcalls finds spills and fills around calls that preserve registers: the kernel removes
// them, and their slots do not count (mark_fastcall_patterns).
func (l *layout) markFastcalls() {
	// Compilers put such spills at the far end of the stack, where nothing else is.
	for n := 0; n < l.nsubs(); n++ {
		lowest := 0
		lo, hi := l.subs[n].start, l.subs[n+1].start
		for i := lo; i < hi; i++ {
			if in := &l.insns[i]; in.Code == clsSTX|modeMEM|sizeDW && in.Dst == 10 {
				lowest = min(lowest, int(in.Off))
			}
		}
		for i := lo; i < hi; i++ {
			if l.insns[i].Code == codeCall {
				l.markFastcall(n, i, lowest)
			}
		}
	}
}

// dropFastcallStack subtracts the slots of removed spills from the stack that functions need
// (remove_fastcall_spills_fills).
func (l *layout) dropFastcallStack() {
	for n := 0; n < l.nsubs(); n++ {
		s := &l.subs[n]
		for i := s.start; i < l.subs[n+1].start && !s.keepFastcall; i++ {
			if l.aux[i].fastSpills > 0 {
				s.stackDepth = -s.fastcallOff
				break
			}
		}
	}
}

// markFastcall looks for spills before and fills behind a call, of the same registers in the same
// slots (mark_fastcall_pattern_for_call). Compilers put them there for kernels that do not know
// that the call preserves the registers.
func (l *layout) markFastcall(sub, i, lowest int) {
	in := &l.insns[i]
	// By the calling convention a call clobbers R0 to R5; these calls keep what is no argument or
	// result.
	clobbered := uint32(0x3f)
	inlined := false
	switch {
	case isHelperCall(in):
		h, p := l.offered(uapi.FuncID(in.Imm))
		if p == nil {
			return
		}
		clobbered = 1<<(len(p.Args)+1) - 2
		if p.Ret.Kind != proto.Void {
			clobbered |= 1
		}
		// Only an inlined call leaves the registers alone.
		inlined = p.Attr&proto.FastCall != 0 && inlinesHelper(h.ID)
	case isKfuncCall(in):
		k := l.kfuncAt(i)
		// A call that is refused anyway.
		if k == nil || k.proto == nil || !k.allowed {
			return
		}
		clobbered = 1<<(min(len(k.proto.Params), 5)+1) - 2
		if k.proto.Ref != 0 {
			clobbered |= 1
		}
		inlined = k.is(proto.CastsToContext|proto.CastsReadOnly) || proto.KfuncFlags(k.flags)&proto.KfuncFastCall != 0
	}
	if bits.OnesCount32(clobbered) == 6 {
		return
	}
	expected := ^clobbered & 0x3f
	n, off := 1, lowest
	for ; n <= 6; n, off = n+1, off+8 {
		// A jump between spill and fill would fill what was not spilled.
		if i-n < 0 || i+n >= len(l.insns) || (l.aux[i-n+1].target || l.aux[i+n].target) && l.has(since.FastCallEntry) {
			break
		}
		st, ld := &l.insns[i-n], &l.insns[i+n]
		if st.Code != clsSTX|modeMEM|sizeDW || ld.Code != clsLDX|modeMEM|sizeDW || st.Dst != 10 || ld.Src != 10 || st.Src != ld.Dst ||
			expected>>st.Src&1 == 0 || int(st.Off) != off || int(ld.Off) != off {
			break
		}
		// Each register is spilled once.
		expected &^= 1 << st.Src
		l.aux[i-n].fastcall, l.aux[i+n].fastcall = true, true
	}
	if n == 1 {
		return
	}
	// A call that is not inlined clobbers the registers after all: its spills stay (and those of
	// the function count).
	if inlined {
		l.aux[i].fastSpills = uint8(n - 1)
	} else {
		l.subs[sub].keepFastcall = true
	}
	l.subs[sub].fastcallOff = min(l.subs[sub].fastcallOff, off)
}

// inlinesHelper: the kernel replaces the call by instructions that change only r0
// (bpf_verifier_inlines_helper_call). From 7.0 on it inlines bpf_get_current_task and
// bpf_get_current_task_btf too, but their prototypes lack allow_fastcall, so that their calls still
// clobber r1 to r5 for the verifier.
func inlinesHelper(id uapi.FuncID) bool { return id == uapi.FuncGetSmpProcessorId }
