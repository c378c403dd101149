package progtype

import (
	"slices"
	"strconv"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Layouts of the structs in include/uapi/linux/bpf.h, which only grow at the end. The permitted
// widths and the pointers that loads yield follow the is_valid_access functions of
// net/core/filter.c and kernel/bpf/cgroup.c.

// words returns consecutive 4-byte fields that start at off.
func words(off int, narrow bool, names ...string) []Field {
	out := make([]Field, len(names))
	for i, n := range names {
		out[i] = Field{Name: n, Off: off + 4*i, Size: 4, Narrow: narrow}
	}
	return out
}

// array returns the fields of an array of n 4-byte elements at off, with the other properties of
// like.
func array(name string, off, n int, like Field) []Field {
	out := make([]Field, n)
	for i := range out {
		f := like
		f.Name, f.Off, f.Size = name+"["+strconv.Itoa(i)+"]", off+4*i, 4
		out[i] = f
	}
	return out
}

func join(parts ...[]Field) []Field { return slices.Concat(parts...) }

func one(f Field) []Field { return []Field{f} }

// held sets how many bytes the kernel loads for fields of 4 bytes, by name.
func held(size int, fields []Field, names ...string) []Field {
	for i := range fields {
		if slices.Contains(names, fields[i].Name) {
			fields[i].Held = size
		}
	}
	return fields
}

var noContext = &Context{}

var xdpContext = &Context{User: "xdp_md", Kernel: "xdp_buff", Layout: StructLayout, Size: 24, Fields: join(
	one(Field{Name: "data", Off: 0, Size: 4, Yields: PacketData}), one(Field{Name: "data_end", Off: 4, Size: 4, Yields: PacketEnd}),
	one(Field{Name: "data_meta", Off: 8, Size: 4, Yields: PacketMeta}),
	words(12, false, "ingress_ifindex", "rx_queue_index", "egress_ifindex"),
)}

var skbFields = held(1, held(2, join(
	words(0, true, "len", "pkt_type", "mark", "queue_mapping", "protocol", "vlan_present", "vlan_tci", "vlan_proto", "priority",
		"ingress_ifindex", "ifindex", "tc_index"),
	array("cb", 48, 5, Field{Span: true}),
	words(68, true, "hash", "tc_classid"),
	one(Field{Name: "data", Off: 76, Size: 4, Yields: PacketData}), one(Field{Name: "data_end", Off: 80, Size: 4, Yields: PacketEnd}),
	words(84, true, "napi_id", "family"), words(92, false, "remote_ip4", "local_ip4"),
	array("remote_ip6", 100, 4, Field{}), array("local_ip6", 116, 4, Field{}),
	words(132, true, "remote_port", "local_port"),
	one(Field{Name: "data_meta", Off: 140, Size: 4, Yields: PacketMeta}),
	one(Field{Name: "flow_keys", Off: 144, Size: 8, Yields: FlowKeys}),
	one(Field{Name: "tstamp", Off: 152, Size: 8}), words(160, true, "wire_len", "gso_segs"),
	one(Field{Name: "sk", Off: 168, Size: 8, Yields: SockCommonOrNull}), words(176, true, "gso_size"),
	one(Field{Name: "tstamp_type", Off: 180, Size: 1, Since: uapi.R(5, 18)}),
	one(Field{Name: "hwtstamp", Off: 184, Size: 8, Since: uapi.R(5, 16)}),
), "queue_mapping", "protocol", "vlan_tci", "vlan_proto", "tc_index", "tc_classid", "family", "remote_port", "local_port", "gso_segs", "gso_size"), "pkt_type")

var skbContext = &Context{User: "__sk_buff", Kernel: "sk_buff", Layout: StructLayout, Size: 192, Fields: skbFields}

var flowContext = &Context{User: "__sk_buff", Kernel: "bpf_flow_dissector", Layout: StructLayout, Size: 192, Fields: skbFields}

// Sock is struct bpf_sock: the context of cgroup_sock programs, and the type of sockets in all
// other programs. [FullSock] has the rules for full sockets, [CommonSock] those for sockets that
// may be time-wait or request sockets.
var Sock = &Context{User: "bpf_sock", Kernel: "sock", Layout: StructLayout, Size: 80, Fields: sockFields}

// TCPSock is struct bpf_tcp_sock, whose fields can only be loaded at full width.
var TCPSock = &Context{User: "bpf_tcp_sock", Kernel: "tcp_sock", Layout: StructLayout, Size: 112, Fields: join(
	words(0, false, "snd_cwnd", "srtt_us", "rtt_min", "snd_ssthresh", "rcv_nxt", "snd_nxt", "snd_una", "mss_cache", "ecn_flags",
		"rate_delivered", "rate_interval_us", "packets_out", "retrans_out", "total_retrans", "segs_in", "data_segs_in", "segs_out",
		"data_segs_out", "lost_out", "sacked_out"),
	one(Field{Name: "bytes_received", Off: 80, Size: 8}), one(Field{Name: "bytes_acked", Off: 88, Size: 8}),
	words(96, false, "dsack_dups", "delivered", "delivered_ce", "icsk_retransmits"),
)}

// Access rules for sockets that are not a program's context (bpf_sock_is_valid_access,
// bpf_sock_common_is_valid_access, bpf_tcp_sock_is_valid_access).
var (
	FullSock    = &Access{}
	CommonSock  = &Access{Hidden: []string{"type", "protocol", "mark", "priority"}}
	FullTCPSock = &Access{}
	_           = func() bool { Sock.compile(FullSock, CommonSock); TCPSock.compile(FullTCPSock); return true }()
)

var sockFields = held(1, held(2, join(
	words(0, false, "bound_dev_if"), words(4, true, "family", "type", "protocol"), words(16, false, "mark", "priority"),
	words(24, true, "src_ip4"), array("src_ip6", 28, 4, Field{Narrow: true}), words(44, true, "src_port"),
	one(Field{Name: "dst_port", Off: 48, Size: 2, Narrow: true, Wider: true}),
	words(52, true, "dst_ip4"), array("dst_ip6", 56, 4, Field{Narrow: true}), words(72, true, "state", "rx_queue_mapping"),
), "family", "type", "protocol", "src_port"), "state")

var sockAddrContext = &Context{User: "bpf_sock_addr", Kernel: "bpf_sock_addr_kern", Layout: StructLayout, Size: 72, Fields: join(
	words(0, false, "user_family"), words(4, true, "user_ip4"), array("user_ip6", 8, 4, Field{Narrow: true, Pair: true}),
	one(Field{Name: "user_port", Off: 24, Size: 4, Narrow: true, Held: 2}), words(28, false, "family", "type", "protocol"), words(40, true, "msg_src_ip4"),
	array("msg_src_ip6", 44, 4, Field{Narrow: true, Pair: true}), one(Field{Name: "sk", Off: 64, Size: 8, Yields: Socket}),
)}

var sockOpsContext = &Context{User: "bpf_sock_ops", Kernel: "bpf_sock_ops_kern", Layout: StructLayout, Size: 224, Fields: join(
	words(0, false, "op", "reply", "args[1]", "args[2]", "args[3]", "family", "remote_ip4", "local_ip4"),
	array("remote_ip6", 32, 4, Field{}), array("local_ip6", 48, 4, Field{}),
	words(64, false, "remote_port", "local_port", "is_fullsock", "snd_cwnd", "srtt_us", "bpf_sock_ops_cb_flags", "state", "rtt_min",
		"snd_ssthresh", "rcv_nxt", "snd_nxt", "snd_una", "mss_cache", "ecn_flags", "rate_delivered", "rate_interval_us", "packets_out",
		"retrans_out", "total_retrans", "segs_in", "data_segs_in", "segs_out", "data_segs_out", "lost_out", "sacked_out", "sk_txhash"),
	one(Field{Name: "bytes_received", Off: 168, Size: 8}), one(Field{Name: "bytes_acked", Off: 176, Size: 8}),
	one(Field{Name: "sk", Off: 184, Size: 8, Yields: SocketOrNull}),
	one(Field{Name: "skb_data", Off: 192, Size: 8, Yields: PacketData}), one(Field{Name: "skb_data_end", Off: 200, Size: 8, Yields: PacketEnd}),
	words(208, false, "skb_len"), one(Field{Name: "skb_tcp_flags", Off: 212, Size: 4, Narrow: true, Held: 1}), one(Field{Name: "skb_hwtstamp", Off: 216, Size: 8, Since: uapi.R(6, 2)}),
)}

var skMsgContext = &Context{User: "sk_msg_md", Kernel: "sk_msg", Layout: StructLayout, Size: 80, Fields: join(
	one(Field{Name: "data", Off: 0, Size: 8, Yields: PacketData}), one(Field{Name: "data_end", Off: 8, Size: 8, Yields: PacketEnd}),
	words(16, false, "family", "remote_ip4", "local_ip4"), array("remote_ip6", 28, 4, Field{}), array("local_ip6", 44, 4, Field{}),
	words(60, false, "remote_port", "local_port", "size"), one(Field{Name: "sk", Off: 72, Size: 8, Yields: Socket}),
)}

var skReuseportContext = &Context{User: "sk_reuseport_md", Kernel: "sk_reuseport_kern", Layout: StructLayout, Size: 56, Fields: join(
	one(Field{Name: "data", Off: 0, Size: 8, Yields: PacketData}), one(Field{Name: "data_end", Off: 8, Size: 8, Yields: PacketEnd}),
	words(16, true, "len"), one(Field{Name: "eth_protocol", Off: 20, Size: 4, Narrow: true, Least: 2, Held: 2}),
	one(Field{Name: "ip_protocol", Off: 24, Size: 4, Narrow: true, Held: 2}), one(Field{Name: "bind_inany", Off: 28, Size: 4, Narrow: true, Held: 1}), words(32, false, "hash"),
	one(Field{Name: "sk", Off: 40, Size: 8, Yields: Socket, Since: uapi.R(5, 14)}),
	one(Field{Name: "migrating_sk", Off: 48, Size: 8, Yields: SockCommonOrNull, Since: uapi.R(5, 14)}),
)}

var skLookupContext = &Context{User: "bpf_sk_lookup", Kernel: "bpf_sk_lookup_kern", Layout: StructLayout, Size: 72, Fields: held(2, join(
	one(Field{Name: "sk", Off: 0, Size: 8, Yields: SocketOrNull}), words(8, true, "family", "protocol", "remote_ip4"),
	array("remote_ip6", 20, 4, Field{Narrow: true}),
	one(Field{Name: "remote_port", Off: 36, Size: 2, Narrow: true, Wider: true}), one(Field{Name: "padding", Off: 38, Size: 2, Narrow: true}),
	words(40, true, "local_ip4"), array("local_ip6", 44, 4, Field{Narrow: true}), words(60, true, "local_port"),
	one(Field{Name: "ingress_ifindex", Off: 64, Size: 4, Narrow: true, Since: uapi.R(5, 17)}),
), "family", "protocol", "local_port")}

var deviceContext = &Context{User: "bpf_cgroup_dev_ctx", Kernel: "bpf_cgroup_dev_ctx", Layout: StructLayout, Size: 12,
	Fields: join(words(0, true, "access_type"), words(4, false, "major", "minor"))}

var sysctlContext = &Context{User: "bpf_sysctl", Kernel: "bpf_sysctl_kern", Layout: StructLayout, Size: 8,
	Fields: words(0, true, "write", "file_pos")}

var sockoptContext = &Context{User: "bpf_sockopt", Kernel: "bpf_sockopt_kern", Layout: StructLayout, Size: 40, Fields: join(
	one(Field{Name: "sk", Off: 0, Size: 8, Yields: Socket}), one(Field{Name: "optval", Off: 8, Size: 8, Yields: PacketData}),
	one(Field{Name: "optval_end", Off: 16, Size: 8, Yields: PacketEnd}), words(24, false, "level", "optname", "optlen", "retval"),
)}

var netfilterContext = &Context{User: "bpf_nf_ctx", Kernel: "bpf_nf_ctx", Layout: StructLayout, Size: 16, Fields: []Field{
	{Name: "state", Off: 0, Size: 8, Yields: BTFObject, BTF: "nf_hook_state"}, {Name: "skb", Off: 8, Size: 8, Yields: BTFObject, BTF: "sk_buff"},
}}

// lircContext is a sample of an infrared receiver: a single number without a struct.
var lircContext = &Context{Layout: StructLayout, Size: 4, Fields: []Field{{Name: "sample", Off: 0, Size: 4}}}

var (
	regsContext   = &Context{User: "pt_regs", Kernel: "pt_regs", Layout: RegsLayout}
	recordContext = &Context{Layout: RecordLayout}
	numberContext = &Context{User: "bpf_raw_tracepoint_args", Layout: NumberLayout}
	argsContext   = &Context{Layout: ArgsLayout}
	sampleContext = &Context{User: "bpf_perf_event_data", Kernel: "bpf_perf_event_data_kern", Layout: SampleLayout}
	bytesContext  = &Context{Layout: BytesLayout}
)
