package kernel

import (
	"strings"

	"github.com/bpfrun/bpfrun/uapi"
)

// Numbers of sockets.
const (
	sockStream    = 1
	sockDgram     = 2
	socketOpen    = 3 // SS_CONNECTED
	ethernetIndex = 2 // interface of the default network device
)

// SockSpec describes a TCP or UDP socket to build. Addresses are in network order; zero fields get default values.
type SockSpec struct {
	Family               uint16 // 2 IPv4 (default), 10 IPv6
	Protocol             uint16 // 6 TCP (default), 17 UDP
	Type                 uint16 // 1 stream (default), 2 datagram
	State                uint8  // TCP state; 1 = established (default)
	Source, Dest         []byte // 4 or 16 bytes
	SourcePort, DestPort uint16
}

// NewSock builds a struct sock (in a tcp_sock).
func (h *Host) NewSock(role string, s SockSpec) (*Object, error) {
	o, err := h.NewObjectNamed(role, "sock")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	b := build(o)
	if s.Family != 0 {
		b.num("__sk_common.skc_family", uint64(s.Family))
	}
	if s.Protocol != 0 {
		b.num("sk_protocol", uint64(s.Protocol))
	}
	if s.Type != 0 {
		b.num("sk_type", uint64(s.Type))
	}
	if s.State != 0 {
		b.num("__sk_common.skc_state", uint64(s.State))
	}
	if s.SourcePort != 0 {
		b.num("__sk_common.skc_num", uint64(s.SourcePort))
		b.as("inet_sock").bytes("inet_sport", []byte{byte(s.SourcePort >> 8), byte(s.SourcePort)})
	}
	if s.DestPort != 0 {
		b.bytes("__sk_common.skc_dport", []byte{byte(s.DestPort >> 8), byte(s.DestPort)})
	}
	if s.State == tcpListen || s.State == tcpClose || s.Protocol == ipprotoUDP && s.State == 0 && s.Dest == nil && s.DestPort == 0 {
		unconnected(b, &s)
	}
	h.sockAddress(b, s.Source, "__sk_common.skc_rcv_saddr", "__sk_common.skc_v6_rcv_saddr")
	h.sockAddress(b, s.Dest, "__sk_common.skc_daddr", "__sk_common.skc_v6_daddr")
	return o, h.Err()
}

// unconnected makes a socket one without a peer, whose address is any unless it is given.
func unconnected(b builder, s *SockSpec) {
	if s.State == 0 {
		b.num("__sk_common.skc_state", tcpClose)
	}
	b.num("__sk_common.skc_daddr", 0)
	b.bytes("__sk_common.skc_v6_daddr", make([]byte, 16))
	if s.DestPort == 0 {
		b.num("__sk_common.skc_dport", 0)
	}
	if s.Source == nil {
		b.num("__sk_common.skc_rcv_saddr", 0)
		b.bytes("__sk_common.skc_v6_rcv_saddr", make([]byte, 16))
	}
}

func (h *Host) sockAddress(b builder, a []byte, v4, v6 string) {
	switch len(a) {
	case 4:
		b.bytes(v4, a)
	case 16:
		b.bytes(v6, a)
	}
}

// fillSock connects a socket: addresses and ports differ between the two ends.
func (h *Host) fillSock(b builder) {
	b = b.as("sock")
	local, remote := h.ipv4(b.o.role+".local"), h.ipv4(b.o.role+".remote")
	lport, rport := h.port(b.o.role+".local"), h.port(b.o.role+".remote")
	b.num("__sk_common.skc_family", uapi.AFInet)
	b.num("__sk_common.skc_state", tcpEstablished)
	b.bytes("__sk_common.skc_rcv_saddr", local[:])
	b.bytes("__sk_common.skc_daddr", remote[:])
	b.num("__sk_common.skc_num", uint64(lport))
	b.bytes("__sk_common.skc_dport", []byte{byte(rport >> 8), byte(rport)})
	// IPv4 addresses as IPv6 ones.
	b.bytes("__sk_common.skc_v6_rcv_saddr", mapped(local))
	b.bytes("__sk_common.skc_v6_daddr", mapped(remote))
	b.num("__sk_common.skc_bound_dev_if", 0)
	b.num("__sk_common.skc_hash", b.within("hash", 1, 1<<31))
	b.num("__sk_common.skc_reuse", 0)
	b.num("__sk_common.skc_ipv6only", 0)
	b.num("__sk_common.skc_cookie.counter", b.within("cookie", 1, 1<<16))
	b.ptr("__sk_common.skc_net.net", h.singleton("net"))
	b.num("sk_protocol", ipprotoTCP)
	b.num("sk_type", sockStream)
	b.num("sk_uid.val", b.within("uid", 1000, 9000))
	b.num("sk_err", 0)
	b.num("sk_err_soft", 0)
	b.num("sk_shutdown", 0)
	b.num("sk_mark", 0)
	b.num("sk_ack_backlog", b.within("ack_backlog", 0, 8))
	b.num("sk_max_ack_backlog", b.within("max_ack_backlog", 128, 128))
	if p := b.o.parent; p != nil && p.TypeName() == "socket" {
		b.ptr("sk_socket", p)
	} else if s := b.child("sk_socket"); s != nil {
		fill(s).ptr("sk", b.o)
	}
	b.null("sk_user_data sk_security sk_bpf_storage sk_filter sk_reuseport_cb sk_frag.page sk_rx_skb_cache sk_tx_skb_cache sk_send_head")
}

// mapped is an IPv4 address as an IPv6 one (RFC 4291 section 2.5.5.2).
func mapped(ip [4]byte) []byte {
	return append(append(make([]byte, 10), 0xff, 0xff), ip[:]...)
}

// fillInetSock repeats what inet_sock keeps besides sock_common.
func (h *Host) fillInetSock(b builder) {
	role := b.o.role
	b = b.as("inet_sock")
	local := h.ipv4(role + ".local")
	lport := h.port(role + ".local")
	b.bytes("inet_sport", []byte{byte(lport >> 8), byte(lport)})
	b.bytes("inet_saddr", local[:])
	b.num("uc_ttl", 64)
	b.num("tos", 0)
	b.null("inet_opt pinet6 mc_list")
}

// fillTCPSock gives a connection its counters.
func (h *Host) fillTCPSock(b builder) {
	b = b.as("tcp_sock")
	b.num("srtt_us", b.within("srtt", 1000, 500000))
	b.num("mdev_us", b.within("mdev", 100, 50000))
	b.num("snd_cwnd", 10)
	b.num("snd_ssthresh", 0x7fffffff)
	b.num("mss_cache", 1448)
	b.num("bytes_acked", b.within("acked", 1000, 1<<20))
	b.num("bytes_received", b.within("received", 1000, 1<<20))
	b.num("bytes_sent", b.within("sent", 1000, 1<<20))
	b.num("total_retrans", b.within("retrans", 0, 4))
	b.num("segs_in", b.within("segs_in", 1, 1000))
	b.num("segs_out", b.within("segs_out", 1, 1000))
}

func (h *Host) fillSocket(b builder) {
	b.num("state", socketOpen)
	b.num("type", sockStream)
	b.num("flags", 0)
	if p := b.o.parent; p != nil && p.outer() != nil && p.outer().name == "sock" {
		b.ptr("sk", p)
	} else {
		b.child("sk")
	}
	if f := b.child("file"); f != nil {
		fill(f).ptr("private_data", b.o)
	}
}

// fillNetDevice makes an Ethernet interface.
func (h *Host) fillNetDevice(b builder) {
	name, index, mtu := "eth0", uint64(ethernetIndex), uint64(1500)
	if lastName(b.o.role) == "loopback_dev" || b.o.role == "loopback_dev" {
		name, index, mtu = "lo", loopbackIndex, 65536
	}
	b.text("name", name)
	b.num("ifindex", index)
	b.num("mtu", mtu)
	b.num("type", 1)
	b.num("flags", 0x1043) // up, broadcast, running, multicast
	b.num("addr_len", 6)
	b.num("hard_header_len", ethHeader)
	b.num("reg_state", 1)
	b.num("num_rx_queues", 1)
	b.num("num_tx_queues", 1)
	b.num("real_num_rx_queues", 1)
	b.num("real_num_tx_queues", 1)
	b.ptr("nd_net.net", h.singleton("net"))
	mac, err := h.newBytes(b.role("dev_addr"), 8, b.o)
	if err == nil {
		mac.poke(0, []byte{2, 0, 0, byte(b.hash("mac") >> 8), byte(b.hash("mac")), byte(index), 0, 0}, made)
		b.ptr("dev_addr", mac)
	}
	b.null("ifalias master real_dev rtnl_link_ops xdp_prog ip6_ptr")
}

// fillSkb puts the default packet behind a sk_buff: data is the IP header, as most functions see it.
func (h *Host) fillSkb(b builder) {
	const head, shared = 64, 512
	frame := DefaultPacket()
	size := head + len(frame)
	room, err := h.newBytes(b.role("head"), uint64(size+shared), b.o)
	if err != nil {
		h.fail(err)
		return
	}
	room.poke(0, make([]byte, size+shared), made) // the shared info behind the data is all zero
	room.poke(head, frame, made)
	b.ptr("head", room)
	data := room.Addr() + head + ethHeader
	b.num("data", data)
	pos := func(field string, off uint64) { // an offset, or a pointer on 32-bit kernels
		f, ok := b.field(field)
		if !ok {
			return
		}
		if t := strip(f.Spec, f.Type); t != nil && f.Size == 4 && t.Size != 4 || target(f.Spec, f.Type).fine {
			off += room.Addr()
		}
		b.num(field, off)
	}
	pos("tail", uint64(size))
	pos("end", uint64(size))
	b.num("mac_header", head)
	b.num("network_header", head+ethHeader)
	b.num("transport_header", head+ethHeader+20)
	b.num("mac_len", ethHeader)
	b.num("len", uint64(len(frame)-ethHeader))
	b.num("data_len", 0)
	b.num("truesize", uint64(size+shared)+256)
	b.bytes("protocol", []byte{etherIPv4 >> 8, etherIPv4 & 0xff})
	b.num("pkt_type", 0)
	b.num("ip_summed", 1)
	b.num("skb_iif", ethernetIndex)
	b.num("mark", 0)
	b.num("priority", 0)
	b.num("queue_mapping", 0)
	b.num("vlan_tci", 0)
	b.num("vlan_proto", 0)
	b.num("users.refs.counter", 1)
	b.num("tstamp", h.began.Real()-b.within("tstamp", 1000, 1_000_000))
	b.child("dev")
	if f, ok := b.field("sk"); ok && !b.taken(f) {
		if l := h.layoutNamed("sock"); l != nil {
			b.ptr("sk", h.sharedArg("sk", l))
		}
	}
	b.bytes("cb", make([]byte, 48))
	b.null("next prev destructor frag_list _nfct extensions active_extensions")
}

// fillMsghdr gives a message an address.
func (h *Host) fillMsghdr(b builder) {
	if l := h.layoutNamed("sockaddr_in"); l != nil {
		if o, err := h.newObject(b.role("msg_name"), l, 1, b.o); err == nil {
			o.MarkBuiltin()
			b.ptr("msg_name", o)
		}
	}
	b.num("msg_namelen", 16)
	b.num("msg_flags", 0)
	b.num("msg_controllen", 0)
	b.num("msg_iter.count", b.within("count", 16, 1000))
	b.num("msg_iter.nr_segs", 1)
	b.num("msg_iter.iov_offset", 0)
	b.null("msg_control msg_iocb msg_ubuf sg_from_iter")
}

// fillSockaddr gives an address family, port and address.
func (h *Host) fillSockaddr(b builder) {
	role := strings.TrimPrefix(b.o.role, "args.")
	b.num("sin_family", uapi.AFInet)
	port, ip := h.port(role), h.ipv4(role)
	b.bytes("sin_port", []byte{byte(port >> 8), byte(port)})
	b.bytes("sin_addr.s_addr", ip[:])
}

// netFillers give objects of the network's types their default content, by type name.
var netFillers = map[string]func(*Host, builder){
	"sock":        (*Host).fillSock,
	"inet_sock":   (*Host).fillInetSock,
	"tcp_sock":    (*Host).fillTCPSock,
	"socket":      (*Host).fillSocket,
	"sk_buff":     (*Host).fillSkb,
	"net_device":  (*Host).fillNetDevice,
	"sockaddr_in": (*Host).fillSockaddr,
	"msghdr":      (*Host).fillMsghdr,
}

// Fill gives an object the default content of a type; false when the host has none for it.
func (k *Host) Fill(typ string, b builder) bool {
	f := netFillers[typ]
	if f != nil {
		f(k, b)
	}
	return f != nil
}
