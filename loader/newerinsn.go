package loader

import (
	"fmt"

	"github.com/bpfrun/bpfrun/decode"
)

// withoutInsn says how to do without an instruction that the kernel does not know. -mcpu chooses
// the instructions of compiled code; others come from what the source uses.
func withoutInsn(in decode.Insn) string {
	info := in.Info()
	switch info.Op {
	case decode.OpLdFunc:
		return "functions that helpers call back (bpf_loop, bpf_for_each_map_elem, timers) cannot be used: write a loop with a constant bound, or load such programs only where the kernel has them"
	case decode.OpCallKfunc:
		return "kernel functions cannot be called: load such programs only where the kernel has them"
	case decode.OpMayGoto:
		return "loops cannot be bounded by can_loop and cond_break: write a loop with a constant bound"
	case decode.OpAddrSpaceCast:
		return "arenas cannot be used: load such programs only where the kernel has them"
	case decode.OpGotoX:
		return "compile without jump tables: -fno-jump-tables"
	case decode.OpLdMapIdx, decode.OpLdMapIdxValue:
		return "let the loader write file descriptors of maps, not indices of fd_array"
	}
	if info.ISA > 1 {
		return fmt.Sprintf("compile with -mcpu=v%d or lower", info.ISA-1)
	}
	return ""
}
