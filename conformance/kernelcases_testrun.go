package conformance

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
)

// Limits on the input of BPF_PROG_TEST_RUN (net/bpf/test_run.c).
const (
	leastPacket = 14 // an Ethernet header
	xdpLinear   = 4096 - 256 - 320
	version511  = 5<<16 | 11<<8
	version518  = 5<<16 | 18<<8 // data that does not fit into a page becomes fragments
	version612  = 6<<16 | 12<<8
)

// networkHeader returns the minimum size in bytes of the header that the Ethernet frame's protocol requires. Since 6.12 the kernel refuses
// packets that are too short for it.
func networkHeader(frame []byte) int {
	switch {
	case frame[12] == 0x08 && frame[13] == 0x00:
		return 20 // struct iphdr
	case frame[12] == 0x86 && frame[13] == 0xdd:
		return 40 // struct ipv6hdr
	}
	return 0
}

// testRunErrno returns the error with which the system call refuses a run, or 0.
func testRunErrno(p *loader.Program, version uint32, run *CaseRun) uapi.Errno {
	n := len(run.Data)
	row := progtype.Of(p.Type)
	switch row.Context.User {
	case "__sk_buff":
		if n > 0 && (n < leastPacket || version >= version612 && n < leastPacket+networkHeader(run.Data)) {
			return uapi.EINVAL
		}
	case "bpf_raw_tracepoint_args":
		if len(run.Ctx) < contextReach(p.Insns) {
			return uapi.EINVAL
		}
	case "": // syscall programs define their context
		if row.Context.Layout == progtype.BytesLayout && len(run.Ctx) > 0 && len(run.Ctx) < contextReach(p.Insns) {
			return uapi.EINVAL
		}
	case "bpf_sk_lookup":
		if len(run.Ctx) == 0 {
			return uapi.EINVAL
		}
	case "xdp_md":
		if p.Attach != row.Attach {
			return uapi.EINVAL
		}
		if n > 0 && n < leastPacket && version >= version511 || n > xdpLinear && version < version518 {
			return uapi.EINVAL
		}
	}
	return 0
}

// contextReach returns the number of context bytes that a program reads or writes (max_ctx_offset). It considers accesses through r1 and
// its copies, as far as a linear pass over the instructions can follow them.
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
