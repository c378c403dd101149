package helpers

import (
	"net/netip"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfunc of the module nf_flow_table (net/netfilter/nf_flow_table_bpf.c).
var flowKfuncs = []kfuncRow{
	{Name: "bpf_xdp_flow_lookup", Wide: true, Args: []proto.Arg{argCtx, argPtr, argPtr, argAny}, Do: flowLookup, Note: "among the flows of the scenario (`!flow`), whose interfaces have one flow table; a flow ends with its time, not when the kernel next collects"},
}

// sizeofFlowOpts is sizeof(struct bpf_flowtable_opts): the error.
const sizeofFlowOpts = 4

// Offsets into struct bpf_fib_lookup, of what a flow lookup reads.
const fibFamily, fibProtocol, fibSport, fibDport = 0, 1, 2, 4

// flowLookup is bpf_xdp_flow_lookup. It stores an error even in options of another size.
func flowLookup(c *Call) (uint64, *vm.Action) {
	p, f := c.guest.Read(c.Args[1], sizeofFib)
	if f != nil {
		return 0, f
	}
	fail := func(errno uapi.Errno) (uint64, *vm.Action) {
		return 0, c.guest.WriteU32(c.Args[2], uint32(errno.Neg()))
	}
	if c.Args[3]&0xffffffff != sizeofFlowOpts {
		return fail(uapi.EINVAL)
	}
	t := net.FlowTuple{Index: c.guest.Order().Uint32(p[fibIfindex:]), Family: p[fibFamily]}
	if t.Family != uapi.AFInet && t.Family != uapi.AFInet6 {
		return fail(uapi.EAFNOSUPPORT)
	}
	six := t.Family == uapi.AFInet6
	t.Protocol = p[fibProtocol]
	t.Source = netip.AddrPortFrom(address(p[fibSource:], six), be16(p[fibSport:]))
	t.Dest = netip.AddrPortFrom(address(p[fibDest:], six), be16(p[fibDport:]))
	ctx := c.contextAt(c.Args[0])
	if ctx == nil {
		return 0, badArg("bpf_xdp_flow_lookup of %#x, which is not the context", c.Args[0])
	}
	dev, ok := ctx.DeviceOf()
	if !ok {
		return fail(uapi.ENOENT)
	}
	addr, err := c.Kernel.Flow(t, dev.Index, c.ticks(), uint32(c.Kernel.Clock().HZ))
	switch {
	case err != nil:
		return 0, notSimulated("bpf_xdp_flow_lookup: " + err.Error())
	case addr == 0:
		return fail(uapi.ENOENT)
	}
	return addr, nil
}
