package net

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Numbers of sockets.
const (
	sockStream    = 1
	SockDgram     = 2
	socketOpen    = 3 // SS_CONNECTED
	ethernetIndex = 2 // interface of the default network device
)

// SockSpec describes a TCP or UDP socket to build. Addresses are in network byte order; zero fields
// get default values.
type SockSpec struct {
	Family               uint16 // 2 IPv4 (default), 10 IPv6
	Protocol             uint16 // 6 TCP (default), 17 UDP
	Type                 uint16 // 1 stream (default), 2 datagram
	State                uint8  // TCP state; 1 = established (default)
	Source, Dest         []byte // 4 or 16 bytes
	SourcePort, DestPort uint16
}

// storage returns the type the kernel allocates for such a socket.
func (s *SockSpec) storage() string {
	name := "tcp"
	if s.Protocol == ProtoUDP {
		name = "udp"
	}
	if s.Family == uapi.AFInet6 {
		name += "6"
	}
	return name + "_sock"
}

// NewSock builds a struct sock within the tcp_sock, udp_sock, tcp6_sock or udp6_sock that contains
// it.
func (h *Host) NewSock(role string, s SockSpec) (*object.Object, error) {
	o, err := h.NewIn(role, "sock", s.storage(), "")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	return o, h.SetSock(o, s)
}

// SetSock sets what is given of a socket that [Host.NewSock] built.
func (h *Host) SetSock(o *object.Object, s SockSpec) error {
	b := object.Build(o)
	if s.Family != 0 {
		b.Num("__sk_common.skc_family", uint64(s.Family))
	}
	if s.Protocol != 0 {
		b.Num("sk_protocol", uint64(s.Protocol))
	}
	if s.Type != 0 {
		b.Num("sk_type", uint64(s.Type))
	}
	if s.State != 0 {
		b.Num("__sk_common.skc_state", uint64(s.State))
	}
	if s.SourcePort != 0 {
		b.Num("__sk_common.skc_num", uint64(s.SourcePort))
		b.As("inet_sock").Bytes("inet_sport", []byte{byte(s.SourcePort >> 8), byte(s.SourcePort)})
	}
	if s.DestPort != 0 {
		b.Bytes("__sk_common.skc_dport", []byte{byte(s.DestPort >> 8), byte(s.DestPort)})
	}
	if s.State == TCPListen || s.State == TCPClose || s.Protocol == ProtoUDP && s.State == 0 && s.Dest == nil && s.DestPort == 0 {
		unconnected(b, &s)
	}
	h.sockAddress(b, s.Source, "__sk_common.skc_rcv_saddr", "__sk_common.skc_v6_rcv_saddr")
	h.sockAddress(b, s.Dest, "__sk_common.skc_daddr", "__sk_common.skc_v6_daddr")
	return h.Err()
}

// unconnected turns a socket into one without a peer, bound to any address unless one is given.
func unconnected(b object.Builder, s *SockSpec) {
	if s.State == 0 {
		b.Num("__sk_common.skc_state", TCPClose)
	}
	b.Num("__sk_common.skc_daddr", 0)
	b.Bytes("__sk_common.skc_v6_daddr", make([]byte, 16))
	if s.DestPort == 0 {
		b.Num("__sk_common.skc_dport", 0)
	}
	if s.Source == nil {
		b.Num("__sk_common.skc_rcv_saddr", 0)
		b.Bytes("__sk_common.skc_v6_rcv_saddr", make([]byte, 16))
	}
}

func (h *Host) sockAddress(b object.Builder, a []byte, v4, v6 string) {
	switch len(a) {
	case 4:
		b.Bytes(v4, a)
	case 16:
		b.Bytes(v6, a)
	}
}

// fillSock connects a socket: addresses and ports differ between the two ends.
func (h *Host) fillSock(b object.Builder) {
	b = b.As("sock")
	local, remote := h.IPv4(b.Object.Role()+".local"), h.IPv4(b.Object.Role()+".remote")
	lport, rport := h.Port(b.Object.Role()+".local"), h.Port(b.Object.Role()+".remote")
	b.Num("__sk_common.skc_family", uapi.AFInet)
	b.Num("__sk_common.skc_state", TCPEstablished)
	b.Bytes("__sk_common.skc_rcv_saddr", local[:])
	b.Bytes("__sk_common.skc_daddr", remote[:])
	b.Num("__sk_common.skc_num", uint64(lport))
	b.Bytes("__sk_common.skc_dport", []byte{byte(rport >> 8), byte(rport)})
	// IPv4 addresses as IPv6 ones.
	b.Bytes("__sk_common.skc_v6_rcv_saddr", mapped(local))
	b.Bytes("__sk_common.skc_v6_daddr", mapped(remote))
	b.Num("__sk_common.skc_bound_dev_if", 0)
	b.Num("__sk_common.skc_hash", b.Within("hash", 1, 1<<31))
	b.Num("__sk_common.skc_reuse", 0)
	b.Num("__sk_common.skc_ipv6only", 0)
	b.Num("__sk_common.skc_cookie.counter", b.Within("cookie", 1, 1<<16))
	b.Ptr("__sk_common.skc_net.net", h.Singleton("net"))
	b.Num("sk_protocol", ProtoTCP)
	b.Num("sk_type", sockStream)
	b.Num("sk_uid.val", b.Within("uid", 1000, 9000))
	b.Num("sk_err", 0)
	b.Num("sk_err_soft", 0)
	b.Num("sk_shutdown", 0)
	b.Num("sk_mark", 0)
	b.Num("sk_ack_backlog", b.Within("ack_backlog", 0, 8))
	b.Num("sk_max_ack_backlog", b.Within("max_ack_backlog", 128, 128))
	h.emptyQueues(b)
	p := b.Object.Parent()
	if p != nil && p.TypeName() == "socket" {
		h.fitSocket(b, p)
	}
	h.operations(b)
	if b.Object.Num("sk_protocol") == ProtoTCP {
		h.hashSock(b)
	}
	if p != nil && p.TypeName() == "socket" {
		b.Ptr("sk_socket", p)
		b.Num("sk_wq", object.Fill(p).AddrOf("wq"))
	} else if s := b.Child("sk_socket"); s != nil {
		object.Fill(s).Ptr("sk", b.Object)
	}
	b.Null("sk_user_data sk_security sk_bpf_storage sk_filter sk_reuseport_cb sk_frag.page sk_rx_skb_cache sk_tx_skb_cache sk_send_head")
}

// emptyQueues gives a socket queues without packets (skb_queue_head_init).
func (h *Host) emptyQueues(b object.Builder) {
	for _, q := range [...]string{"sk_receive_queue", "sk_write_queue", "sk_error_queue"} {
		f, ok := b.Field(q)
		if !ok {
			continue
		}
		at := b.Object.Base() + f.Off
		b.Num(q+".next", at)
		b.Num(q+".prev", at)
		b.Num(q+".qlen", 0)
	}
	b.Num("sk_wmem_alloc.refs.counter|sk_wmem_alloc.counter", 1) // sk_alloc
	b.Num("sk_rmem_alloc.counter|sk_backlog.rmem_alloc.counter", 0)
	b.Num("sk_rcvbuf", defaultRoom)
	b.Num("sk_sndbuf", defaultRoom)
	b.Num("__sk_common.skc_refcnt.refs.counter|__sk_common.skc_refcnt.counter", 1)
}

const defaultRoom = 212992 // of net.core.rmem_default and wmem_default

// operations lets the sockets of one protocol and family have the same operations, which have the
// protocol's name.
func (h *Host) operations(b object.Builder) {
	name := "TCP"
	if b.Object.Num("sk_protocol") == ProtoUDP {
		name = "UDP"
	}
	if b.Object.Num("__sk_common.skc_family") == uapi.AFInet6 {
		name += "v6"
	}
	if ops := h.Builtin(strings.ToLower(name)+"_prot", "proto"); ops != nil {
		object.Fill(ops).Text("name", name)
		b.Ptr("__sk_common.skc_prot", ops)
		b.Ptr("sk_prot_creator", ops)
		if !since.Of(h.Version()).Has(since.TCPHashPerNetwork) && name[:3] == "TCP" {
			object.Fill(ops).Ptr("h.hashinfo", h.socketHash())
		}
	}
}

// fitSocket makes a sock what its socket is: a connection, a listening socket or one of UDP that is
// bound to a port.
func (h *Host) fitSocket(b object.Builder, socket *object.Object) {
	datagram := socket.Num("type") == SockDgram
	if !datagram && socket.Num("state") == socketOpen {
		return
	}
	b.Num("__sk_common.skc_state", TCPListen)
	if datagram {
		b.Num("__sk_common.skc_state", TCPClose)
		b.Num("sk_protocol", ProtoUDP)
		b.Num("sk_type", SockDgram)
	}
	b.Num("__sk_common.skc_daddr", 0)
	b.Num("__sk_common.skc_dport", 0)
	b.Bytes("__sk_common.skc_v6_daddr", make([]byte, 16))
}

// mapped returns an IPv4 address as an IPv6 one (RFC 4291 section 2.5.5.2).
func mapped(ip [4]byte) []byte {
	return append(append(make([]byte, 10), 0xff, 0xff), ip[:]...)
}

// fillInetSock repeats what inet_sock keeps besides sock_common.
func (h *Host) fillInetSock(b object.Builder) {
	role := b.Object.Role()
	b = b.As("inet_sock")
	local := h.IPv4(role + ".local")
	lport := uint64(h.Port(role + ".local"))
	b.Bytes("inet_saddr", local[:])
	common := b.As("sock")
	if f, ok := common.Field("__sk_common.skc_rcv_saddr"); ok && b.Taken(f) {
		b.Num("inet_saddr", b.Object.LoadField(f))
	}
	if f, ok := common.Field("__sk_common.skc_num"); ok && b.Taken(f) {
		lport = b.Object.LoadField(f)
	}
	b.Bytes("inet_sport", []byte{byte(lport >> 8), byte(lport)})
	b.Num("uc_ttl", 64)
	b.Num("tos", 0)
	b.Null("inet_opt pinet6 mc_list")
}

// fillTCPSock sets a connection's counters.
func (h *Host) fillTCPSock(b object.Builder) {
	b = b.As("tcp_sock")
	h.bind(b.As("inet_connection_sock"))
	for _, n := range [...]string{"snd_una", "snd_nxt", "write_seq"} { // all is acknowledged
		b.Num(n, b.Within("snd", 1, 1<<32-1))
	}
	for _, n := range [...]string{"rcv_nxt", "copied_seq", "rcv_wup"} { // all is read
		b.Num(n, b.Within("rcv", 1, 1<<32-1))
	}
	b.Num("srtt_us", b.Within("srtt", 1000, 500000))
	b.Num("mdev_us", b.Within("mdev", 100, 50000))
	b.Num("snd_cwnd", 10)
	b.Num("snd_ssthresh", 0x7fffffff)
	b.Num("mss_cache", 1448)
	b.Num("bytes_acked", b.Within("acked", 1000, 1<<20))
	b.Num("bytes_received", b.Within("received", 1000, 1<<20))
	b.Num("bytes_sent", b.Within("sent", 1000, 1<<20))
	b.Num("total_retrans", b.Within("retrans", 0, 4))
	b.Num("segs_in", b.Within("segs_in", 1, 1000))
	b.Num("segs_out", b.Within("segs_out", 1, 1000))
}

// bind binds a TCP socket to its port, and gives it the usual congestion control.
func (h *Host) bind(b object.Builder) {
	if port := b.Child("icsk_bind_hash"); port != nil {
		object.Fill(port).Num("port", b.Object.Num("__sk_common.skc_num|inet_conn.icsk_inet.sk.__sk_common.skc_num"))
	}
	if ca := h.Builtin("cubictcp", "tcp_congestion_ops"); ca != nil {
		object.Fill(ca).Text("name", "cubic")
		b.Ptr("icsk_ca_ops", ca)
	}
}

// fillUDPSock makes a socket one on which nothing waits to be sent and that carries no tunnel.
func (h *Host) fillUDPSock(b object.Builder) {
	b = b.As("udp_sock")
	for _, f := range [...]string{"pending", "corkflag", "encap_type", "encap_enabled", "gro_enabled", "len", "gso_size", "pcslen", "pcrlen", "forward_deficit"} {
		b.Num(f, 0)
	}
	b.Null("encap_rcv encap_err_rcv encap_err_lookup encap_destroy gro_receive gro_complete")
}

func (h *Host) fillSocket(b object.Builder) {
	p := b.Object.Parent()
	if p != nil && p.TypeName() == "file" { // it has made the socket what it is
		b.Ptr("file", p)
	} else {
		b.Num("state", socketOpen)
		b.Num("type", sockStream)
	}
	b.Num("flags", 0)
	nobody := b.AddrOf("wq.wait.head")
	b.Num("wq.wait.head.next", nobody)
	b.Num("wq.wait.head.prev", nobody)
	switch {
	case p != nil && p.Layout() != nil && p.Layout().Name == "sock":
		b.Ptr("sk", p)
	case b.Object.Num("type") == SockDgram:
		if sk, err := h.NewIn(b.Role("sk"), "sock", "udp_sock", ""); err == nil {
			sk.MarkBuiltin()
			sk.Below(b.Object)
			b.Ptr("sk", sk)
		}
	default:
		b.Child("sk")
	}
	if f := b.Child("file"); f != nil {
		object.Fill(f).Ptr("private_data", b.Object)
	}
}

// fillSkb sets up the default packet of a sk_buff: data points to the IP header, as most functions
// see it.
func (h *Host) fillSkb(b object.Builder) {
	const head, shared = 64, 512
	frame := DefaultPacket()
	size := head + len(frame)
	room, err := h.MakeBytes(b.Role("head"), uint64(size+shared), b.Object)
	if err != nil {
		h.Fail(err)
		return
	}
	room.Poke(0, make([]byte, size+shared), object.Made)
	if l := h.LayoutNamed("skb_shared_info"); l != nil && l.Size <= shared {
		info, err := room.Embed(b.Role("skb_shared_info"), l, uint64(size), 0)
		if err != nil {
			h.Fail(err)
			return
		}
		info.MarkBuiltin()
		s := object.Fill(info)
		s.All(make([]byte, l.Size))
		s.Num("dataref.counter", 1)
	}
	room.Poke(head, frame, object.Made)
	b.Ptr("head", room)
	data := room.Addr() + head + EthHeader
	b.Num("data", data)
	pos := func(field string, off uint64) { // an offset, or a pointer on 32-bit kernels
		f, ok := b.Field(field)
		if !ok {
			return
		}
		if t := object.Strip(f.Spec, f.Type); t != nil && f.Size == 4 && t.Size != 4 || object.Target(f.Spec, f.Type).Fine {
			off += room.Addr()
		}
		b.Num(field, off)
	}
	pos("tail", uint64(size))
	pos("end", uint64(size))
	b.Num("mac_header", head)
	b.Num("network_header", head+EthHeader)
	b.Num("transport_header", head+EthHeader+20)
	b.Num("mac_len", EthHeader)
	b.Num("len", uint64(len(frame)-EthHeader))
	b.Num("data_len", 0)
	b.Num("truesize", uint64(size+shared)+256)
	b.Bytes("protocol", []byte{EtherIPv4 >> 8, EtherIPv4 & 0xff})
	b.Num("pkt_type", 0)
	b.Num("ip_summed", 1)
	b.Num("skb_iif", ethernetIndex)
	b.Num("mark", 0)
	b.Num("priority", 0)
	b.Num("queue_mapping", 0)
	b.Num("vlan_tci", 0)
	b.Num("vlan_proto", 0)
	b.Num("users.refs.counter", 1)
	b.Num("tstamp", h.Began().Real()-b.Within("tstamp", 1000, 1_000_000))
	b.Child("dev")
	if f, ok := b.Field("sk"); ok && !b.Taken(f) {
		if l := h.LayoutNamed("sock"); l != nil {
			b.Ptr("sk", h.Shared("sk", l))
		}
	}
	b.Bytes("cb", make([]byte, 48))
	b.Null("next prev destructor frag_list _nfct extensions active_extensions")
}

// fillMsghdr sets a message's address.
func (h *Host) fillMsghdr(b object.Builder) {
	if l := h.LayoutNamed("sockaddr_in"); l != nil {
		if o, err := h.Make(b.Role("msg_name"), l, 1, b.Object); err == nil {
			o.MarkBuiltin()
			b.Ptr("msg_name", o)
		}
	}
	b.Num("msg_namelen", 16)
	b.Num("msg_flags", 0)
	b.Num("msg_controllen", 0)
	h.fillIter(b, "msg_iter.")
	b.Null("msg_control msg_iocb msg_ubuf sg_from_iter")
}

// fillIter sets up an iterator over one piece of user memory.
func (h *Host) fillIter(b object.Builder, prefix string) {
	count := b.Within("count", 16, 240)
	if v := b.Array(prefix+"__iov|"+prefix+"iov", 1); v != nil {
		v.MarkBuiltin()
		count = v.Num("iov_len")
	}
	kind := uint64(1) // ITER_IOVEC (include/linux/uio.h)
	switch {
	case !since.Of(h.Version()).Has(since.IovecZero):
		kind = 4
	case !since.Of(h.Version()).Has(since.IovecOne):
		kind = 0
	}
	b.Num(prefix+"iter_type|"+prefix+"type", kind)
	b.Num(prefix+"count", count)
	b.Num(prefix+"nr_segs", 1)
	b.Num(prefix+"iov_offset", 0)
}

// fillSockaddr sets family, port and address.
func (h *Host) fillSockaddr(b object.Builder) {
	role := strings.TrimPrefix(b.Object.Role(), "args.")
	b.Num("sin_family", uapi.AFInet)
	port, ip := h.Port(role), h.IPv4(role)
	b.Bytes("sin_port", []byte{byte(port >> 8), byte(port)})
	b.Bytes("sin_addr.s_addr", ip[:])
}

// netFillers set the default content of network objects, by type name.
var netFillers = map[string]func(*Host, object.Builder){
	"sock":          (*Host).fillSock,
	"inet_sock":     (*Host).fillInetSock,
	"tcp_sock":      (*Host).fillTCPSock,
	"udp_sock":      (*Host).fillUDPSock,
	"socket":        (*Host).fillSocket,
	"sk_buff":       (*Host).fillSkb,
	"net_device":    (*Host).fillNetDevice,
	"sockaddr_in":   (*Host).fillSockaddr,
	"msghdr":        (*Host).fillMsghdr,
	"iov_iter":      func(h *Host, b object.Builder) { h.fillIter(b, "") },
	"net":           (*Host).fillNet,
	"inet_hashinfo": (*Host).fillHashinfo,
}

// Fill sets the default content of a type; it returns false if the host has none for it.
func (h *Host) Fill(typ string, b object.Builder) bool {
	f := netFillers[typ]
	if f != nil {
		f(h, b)
	}
	return f != nil
}
