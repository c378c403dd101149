package conformance

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// testRunErrno returns the error with which the system call refuses a context that is plain bytes
// and shorter than what the program accesses, or
// 0. The context's maker (internal/kernel/hook) decides about all other contexts.
func testRunErrno(p *loader.Program, run *CaseRun) uapi.Errno {
	layout := progtype.Of(p.Type).Context.Layout
	bytes := layout == progtype.BytesLayout && len(run.Ctx) > 0
	if (bytes || layout == progtype.NumberLayout) && len(run.Ctx) < contextReach(p.Insns) {
		return uapi.EINVAL
	}
	return 0
}

// contextReach returns the number of context bytes that a program reads or writes (max_ctx_offset).
// It considers accesses through r1 and its copies, as far as a linear pass over the instructions
// can follow them.
func contextReach(insns []decode.Insn) int {
	var context [16]bool // by register number
	context[1] = true
	reach := 0
	for _, in := range insns {
		info := in.Op().Info()
		dst, src := in.Dst&15, in.Src&15
		class := info.Class()
		if class == decode.ClassLDX && context[src] || (class == decode.ClassSTX || class == decode.ClassST) && context[dst] {
			reach = max(reach, int(in.Off)+int(info.Size))
		}
		switch {
		case in.Op() == decode.OpMov64Reg:
			context[dst] = context[src]
		case info.Writes&decode.RegArgs != 0: // calls
			clear(context[:6])
		case info.Writes&decode.RegDst != 0:
			context[dst] = false
		}
	}
	return reach
}
