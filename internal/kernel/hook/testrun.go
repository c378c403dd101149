package hook

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Contexts that BPF_PROG_TEST_RUN is given (ctx_in of net/bpf/test_run.c): what it accepts.

// Layout of struct nf_hook_state on 64-bit kernels: hook, pf, and five pointers
// (include/linux/netfilter.h).
const (
	hookStateSize     = 48
	hookStateHook     = 0
	hookStatePF       = 1
	hookStatePointers = 8
)

// Hooks and families of netfilter (include/uapi/linux/netfilter.h).
const (
	nfPreRouting, nfLocalOut = 0, 3
	nfIPv4, nfIPv6           = 2, 10
)

// contextInSize returns the size of the struct that ctx_in of a test run contains, or 0 if its
// length is the caller's choice.
func contextInSize(row *progtype.Row) int {
	switch c := row.Context; {
	case c == nil || c.Layout != progtype.StructLayout || !row.TestRun:
		return 0
	case c.Kernel == "bpf_flow_dissector":
		return flowKeysSize
	case c.User == "bpf_nf_ctx":
		return hookStateSize
	default:
		return c.Size
	}
}

// testRunIn checks the packet and the context of a test run. Of ctx_in it leaves the struct that it
// begins with (bpf_ctx_init, bpf_check_uarg_tail_zero).
func (h *Hooks) testRunIn(spec *ContextSpec) error {
	row, in := progtype.Of(spec.ProgType), spec.Bytes
	if spec.TestRun {
		if err := h.packetIn(row, spec); err != nil {
			return err
		}
	}
	size := contextInSize(row)
	if size == 0 || len(in) == 0 {
		return nil
	}
	if len(in) > uapi.PageSize || len(in) > size && !net.ZeroBytes(in[size:]) {
		return fmt.Errorf("kernel: ctx_in of %d bytes, where the context has %d: %w", len(in), size, uapi.E2BIG)
	}
	spec.Bytes = make([]byte, size)
	copy(spec.Bytes, in)
	return nil
}

// MostTestPacket is the length in bytes that no packet of a test run exceeds: a page, and all
// fragments.
const MostTestPacket = (1 + maxTestFrags) * uapi.PageSize

// Parts of the page that the linear part of a packet is in: its headroom, and struct
// skb_shared_info behind it.
const (
	testXDPHeadroom = 256
	testSkbHeadroom = 64 // NET_SKB_PAD
	testTailroom    = 320
	maxTestFrags    = 17 // MAX_SKB_FRAGS
)

// packetIn checks the lengths of a test run's packet and of a context that is plain bytes (the
// first checks of the functions bpf_prog_test_run_*).
func (h *Hooks) packetIn(row *progtype.Row, spec *ContextSpec) error {
	version, packet := since.Of(h.Version()), spec.Packet
	const any = 1 << 30
	least, most, room := 0, any, any // room: with fragments
	switch c := row.Context; {
	case c.Layout == progtype.BytesLayout:
		packet, most = spec.Bytes, 1<<16-1
	case c.Layout == progtype.NumberLayout:
		packet, most = spec.Bytes, 12*8 // MAX_BPF_FUNC_ARGS
	case c.User == "bpf_sk_lookup":
		packet, least = spec.Bytes, 1
	case c.User == "bpf_nf_ctx":
		packet = h.testPacket(packet)
		least, most = 20, uapi.PageSize-testSkbHeadroom-testTailroom
	case c.Kernel == "bpf_flow_dissector":
		packet = h.testPacket(packet)
		least, most = net.EthHeader, uapi.PageSize
	case c.User == "__sk_buff":
		packet = h.testPacket(packet)
		least, most = net.EthHeader, uapi.PageSize-testSkbHeadroom-testTailroom
		if version.Has(since.TestNetworkHeader) && len(packet) >= least {
			least += leastNetwork(packet)
		}
		if version.Has(since.TestFrags) {
			most, room = any, most+maxTestFrags*uapi.PageSize
		}
	case c.User == "xdp_md":
		packet = h.testPacket(packet)
		most = uapi.PageSize - testXDPHeadroom - testTailroom
		if version.Has(since.TestEthernetHeader) {
			least = net.EthHeader
		}
		if version.Has(since.XDPFrags) {
			most, room = any, most+maxTestFrags*uapi.PageSize
		}
		if at := row.Attached(spec.Attach); at != nil && at.Type != row.Attach {
			return fmt.Errorf("kernel: a test run of a program for another program's devmap or cpumap: %w", uapi.EINVAL)
		}
	}
	switch n := len(packet); {
	case n < least || n > most:
		return fmt.Errorf("kernel: a test run with %d bytes, want %d to %d: %w", n, least, most, uapi.EINVAL)
	case n > room:
		return fmt.Errorf("kernel: a test run with %d bytes, at most %d: %w", n, room, uapi.ENOMEM)
	}
	return nil
}

func (h *Hooks) testPacket(packet []byte) []byte {
	if len(packet) == 0 {
		return net.DefaultPacket()
	}
	return packet
}

// leastNetwork returns the size in bytes of the header that a frame's protocol requires behind the
// Ethernet header.
func leastNetwork(frame []byte) int {
	switch etherType(frame) {
	case net.EtherIPv4:
		return 20 // struct iphdr
	case net.EtherIPv6:
		return 40 // struct ipv6hdr
	}
	return 0
}

// deviceIn checks an interface that ctx_in names, and the receive queue; all interfaces have one.
func (h *Hooks) deviceIn(index, queue uint32) error {
	if _, ok := h.Device(index); !ok {
		return fmt.Errorf("kernel: ctx_in names interface %d, which does not exist: %w", index, uapi.ENODEV)
	}
	if queue > 0 {
		return fmt.Errorf("kernel: ctx_in names receive queue %d of interface %d, which has one: %w", queue, index, uapi.EINVAL)
	}
	return nil
}

// xdpIn checks the xdp_md of a test run with a packet of n bytes (bpf_prog_test_run_xdp,
// xdp_convert_md_to_buff), and returns the length of the metadata and of both it and the linear
// part.
func (h *Hooks) xdpIn(in []byte, n int) (meta, end int, err error) {
	le := h.Order()
	data, dataEnd, before := le.Uint32(in), le.Uint32(in[4:]), le.Uint32(in[8:])
	ingress, queue, egress := le.Uint32(in[12:]), le.Uint32(in[16:]), le.Uint32(in[20:])
	if before != 0 || uint64(dataEnd) > uint64(n) || data > dataEnd || data%4 != 0 || uint64(data) > h.MostMetaIn() || n-int(data) < net.EthHeader {
		return 0, 0, fmt.Errorf("kernel: xdp_md of data %d, data_end %d, data_meta %d for %d bytes: %w", data, dataEnd, before, n, uapi.EINVAL)
	}
	switch {
	case egress != 0 || ingress == 0 && queue != 0:
		return 0, 0, fmt.Errorf("kernel: xdp_md of ingress_ifindex %d, rx_queue_index %d, egress_ifindex %d: %w", ingress, queue, egress, uapi.EINVAL)
	case ingress != 0:
		err = h.deviceIn(ingress, queue)
	}
	return int(data), int(dataEnd), err
}

// linearIn returns the length of the linear part of a test run's packet of n bytes with an Ethernet
// header, for all but XDP. Since 6.19, data_end of ctx_in sets it.
func (h *Hooks) linearIn(row *progtype.Row, in []byte, n int) (int, error) {
	const dataField, dataEnd, dataMeta = 76, 80, 140
	if len(in) == 0 || !since.Of(h.Version()).Has(since.TestFrags) {
		return n, nil
	}
	le := h.Order()
	end := le.Uint32(in[dataEnd:])
	if uint64(end) > uint64(n) || le.Uint32(in[dataField:]) != 0 || le.Uint32(in[dataMeta:]) != 0 || end != 0 && row.Vocabulary == progtype.LwtCodes {
		return 0, fmt.Errorf("kernel: data_end %d of a packet of %d bytes: %w", end, n, uapi.EINVAL)
	}
	if end == 0 {
		return n, nil
	}
	return max(net.EthHeader, int(end)), nil
}

// flowIn checks the bpf_flow_keys of a test run, which set flags only (verify_user_bpf_flow_keys).
func flowIn(in []byte) error {
	if !net.ZeroBytes(in[:flowKeysFlags]) || !net.ZeroBytes(in[flowKeysFlags+4:]) {
		return fmt.Errorf("kernel: ctx_in sets other fields of bpf_flow_keys than flags: %w", uapi.EINVAL)
	}
	return nil
}

// hookStateIn checks the nf_hook_state of a test run with that packet, and returns how many bytes
// of it come before the network header (bpf_prog_test_run_nf).
func hookStateIn(in, packet []byte) (link int, err error) {
	refuse := func(e uapi.Errno, format string, args ...any) (int, error) {
		return 0, fmt.Errorf("kernel: "+format+": %w", append(args, e)...)
	}
	hook, pf := in[hookStateHook], in[hookStatePF]
	switch {
	case !net.ZeroBytes(in[hookStatePointers:]):
		return refuse(uapi.EINVAL, "ctx_in sets pointers of nf_hook_state")
	case pf != nfIPv4 && pf != nfIPv6:
		return refuse(uapi.EINVAL, "pf %d of nf_hook_state is neither IPv4 nor IPv6", pf)
	case hook == nfLocalOut:
		return 0, nil
	case len(packet) < net.EthHeader+20:
		return refuse(uapi.EINVAL, "packet of %d bytes with an Ethernet header for a netfilter program", len(packet))
	}
	switch etherType(packet) {
	case net.EtherIPv4:
		if pf != nfIPv4 {
			return refuse(uapi.EINVAL, "an IPv4 packet for pf %d", pf)
		}
	case net.EtherIPv6:
		if pf != nfIPv6 || len(packet) < net.EthHeader+leastNetwork(packet) {
			return refuse(uapi.EINVAL, "an IPv6 packet of %d bytes for pf %d", len(packet), pf)
		}
	default:
		return refuse(uapi.EPROTO, "a packet of protocol %#04x for a netfilter program", etherType(packet))
	}
	return net.EthHeader, nil
}
