package kernel

// sockVal names a value of a socket. Programs read them as fields of struct bpf_sock, bpf_tcp_sock, bpf_sock_ops and
// __sk_buff; in the kernel they lie in struct sock and what follows it.
type sockVal uint8

const (
	sockBoundDev sockVal = iota
	sockFamily
	sockType
	sockProtocol
	sockMark
	sockPriority
	sockSrcIP4
	sockSrcIP6 // four words
	_
	_
	_
	sockSrcPort
	sockDstPort // in network order
	sockDstIP4
	sockDstIP6 // four words
	_
	_
	_
	sockState
	sockRxQueue
	sockUID
	sockReuseport
	sockIPv6Only
	sockTxhash
	sockCookie
	sockCBFlags // bpf_sock_ops_cb_flags
	tcpSndCwnd
	tcpSrtt
	tcpRttMin
	tcpSsthresh
	tcpRcvNxt
	tcpSndNxt
	tcpSndUna
	tcpMSS
	tcpECN
	tcpRateDelivered
	tcpRateInterval
	tcpPacketsOut
	tcpRetransOut
	tcpTotalRetrans
	tcpSegsIn
	tcpDataSegsIn
	tcpSegsOut
	tcpDataSegsOut
	tcpLostOut
	tcpSackedOut
	tcpBytesReceived
	tcpBytesAcked
	tcpDsackDups
	tcpDelivered
	tcpDeliveredCE
	tcpRetransmits
	tcpSndCwndClamp
	numSockVals
)

// sockPlace is where a value lies in the kernel's types.
type sockPlace struct {
	val  sockVal
	in   string // the type of path: "sock", "tcp_sock"
	path string // alternatives separated by |
	at   int    // bytes from the start of the field, of a word of an address
}

// sockPlaces lists the values that the kernel keeps in struct sock and struct tcp_sock.
var sockPlaces = func() []sockPlace {
	p := []sockPlace{
		{sockBoundDev, "sock", "__sk_common.skc_bound_dev_if", 0}, {sockFamily, "sock", "__sk_common.skc_family", 0},
		{sockType, "sock", "sk_type", 0}, {sockProtocol, "sock", "sk_protocol", 0}, {sockMark, "sock", "sk_mark", 0},
		{sockPriority, "sock", "sk_priority", 0}, {sockSrcIP4, "sock", "__sk_common.skc_rcv_saddr", 0},
		{sockSrcPort, "sock", "__sk_common.skc_num", 0}, {sockDstPort, "sock", "__sk_common.skc_dport", 0},
		{sockDstIP4, "sock", "__sk_common.skc_daddr", 0}, {sockState, "sock", "__sk_common.skc_state", 0},
		{sockUID, "sock", "sk_uid.val", 0}, {sockReuseport, "sock", "__sk_common.skc_reuseport", 0},
		{sockIPv6Only, "sock", "__sk_common.skc_ipv6only", 0}, {sockTxhash, "sock", "sk_txhash", 0},
		{sockCookie, "sock", "__sk_common.skc_cookie.counter", 0},
		{sockCBFlags, "tcp_sock", "bpf_sock_ops_cb_flags", 0}, {tcpSndCwnd, "tcp_sock", "snd_cwnd", 0}, {tcpSrtt, "tcp_sock", "srtt_us", 0},
		{tcpRttMin, "tcp_sock", "rtt_min.s[0].v", 0}, {tcpSsthresh, "tcp_sock", "snd_ssthresh", 0}, {tcpRcvNxt, "tcp_sock", "rcv_nxt", 0},
		{tcpSndNxt, "tcp_sock", "snd_nxt", 0}, {tcpSndUna, "tcp_sock", "snd_una", 0}, {tcpMSS, "tcp_sock", "mss_cache", 0},
		{tcpECN, "tcp_sock", "ecn_flags", 0}, {tcpRateDelivered, "tcp_sock", "rate_delivered", 0},
		{tcpRateInterval, "tcp_sock", "rate_interval_us", 0}, {tcpPacketsOut, "tcp_sock", "packets_out", 0},
		{tcpRetransOut, "tcp_sock", "retrans_out", 0}, {tcpTotalRetrans, "tcp_sock", "total_retrans", 0}, {tcpSegsIn, "tcp_sock", "segs_in", 0},
		{tcpDataSegsIn, "tcp_sock", "data_segs_in", 0}, {tcpSegsOut, "tcp_sock", "segs_out", 0}, {tcpDataSegsOut, "tcp_sock", "data_segs_out", 0},
		{tcpLostOut, "tcp_sock", "lost_out", 0}, {tcpSackedOut, "tcp_sock", "sacked_out", 0}, {tcpBytesReceived, "tcp_sock", "bytes_received", 0},
		{tcpBytesAcked, "tcp_sock", "bytes_acked", 0}, {tcpDsackDups, "tcp_sock", "dsack_dups", 0}, {tcpDelivered, "tcp_sock", "delivered", 0},
		{tcpDeliveredCE, "tcp_sock", "delivered_ce", 0}, {tcpRetransmits, "tcp_sock", "inet_conn.icsk_retransmits", 0},
		{tcpSndCwndClamp, "tcp_sock", "snd_cwnd_clamp", 0},
	}
	for i := range sockVal(4) {
		p = append(p, sockPlace{sockSrcIP6 + i, "sock", "__sk_common.skc_v6_rcv_saddr", 4 * int(i)},
			sockPlace{sockDstIP6 + i, "sock", "__sk_common.skc_v6_daddr", 4 * int(i)})
	}
	return p
}()

// sockField is a field of a user ABI struct that shows a value of the view's socket.
func sockField(name string, off, size uint16, v sockVal) uapiField {
	return uapiField{name: name, off: off, size: size, from: func(w *uapiView) uint64 { return w.sock.vals[v] }}
}

// bpfSockFields are the fields of struct bpf_sock (bpf_sock_is_valid_access).
var bpfSockFields = func() []uapiField {
	fields := []uapiField{
		sockField("bound_dev_if", 0, 4, sockBoundDev), sockField("family", 4, 4, sockFamily), sockField("type", 8, 4, sockType),
		sockField("protocol", 12, 4, sockProtocol), sockField("mark", 16, 4, sockMark), sockField("priority", 20, 4, sockPriority),
		sockField("src_ip4", 24, 4, sockSrcIP4), sockField("src_port", 44, 4, sockSrcPort), sockField("dst_port", 48, 2, sockDstPort),
		sockField("dst_ip4", 52, 4, sockDstIP4), sockField("state", 72, 4, sockState), sockField("rx_queue_mapping", 76, 4, sockRxQueue),
	}
	for i := range uint16(4) {
		n := string(rune('0' + i))
		fields = append(fields, sockField("src_ip6["+n+"]", 28+4*i, 4, sockSrcIP6+sockVal(i)), sockField("dst_ip6["+n+"]", 56+4*i, 4, sockDstIP6+sockVal(i)))
	}
	for i := range fields {
		f := &fields[i]
		switch f.name {
		case "bound_dev_if", "mark", "priority":
		case "dst_port":
			f.narrow, f.loose = true, true
		default:
			f.narrow = true
		}
	}
	return fields
}()

const bpfSockSize = 80

// tcpSockFields are the fields of struct bpf_tcp_sock, all of which are read whole (bpf_tcp_sock_is_valid_access).
var tcpSockFields = func() []uapiField {
	fields := make([]uapiField, 0, len(tcpNumbers))
	for i, n := range tcpNumbers {
		fields = append(fields, sockField(n.name, uint16(4*i), 4, n.val))
	}
	return append(fields, sockField("bytes_received", 80, 8, tcpBytesReceived), sockField("bytes_acked", 88, 8, tcpBytesAcked),
		sockField("dsack_dups", 96, 4, tcpDsackDups), sockField("delivered", 100, 4, tcpDelivered),
		sockField("delivered_ce", 104, 4, tcpDeliveredCE), sockField("icsk_retransmits", 108, 4, tcpRetransmits))
}()

const tcpSockSize = 112

// tcpNumber is a value of a connection with the name programs know it by.
type tcpNumber struct {
	name string
	val  sockVal
}

// tcpNumbers are the counters of a connection in the order of struct bpf_tcp_sock.
var tcpNumbers = [...]tcpNumber{
	{"snd_cwnd", tcpSndCwnd}, {"srtt_us", tcpSrtt}, {"rtt_min", tcpRttMin}, {"snd_ssthresh", tcpSsthresh}, {"rcv_nxt", tcpRcvNxt},
	{"snd_nxt", tcpSndNxt}, {"snd_una", tcpSndUna}, {"mss_cache", tcpMSS}, {"ecn_flags", tcpECN}, {"rate_delivered", tcpRateDelivered},
	{"rate_interval_us", tcpRateInterval}, {"packets_out", tcpPacketsOut}, {"retrans_out", tcpRetransOut}, {"total_retrans", tcpTotalRetrans},
	{"segs_in", tcpSegsIn}, {"data_segs_in", tcpDataSegsIn}, {"segs_out", tcpSegsOut}, {"data_segs_out", tcpDataSegsOut},
	{"lost_out", tcpLostOut}, {"sacked_out", tcpSackedOut},
}

func selectedSocket(v *uapiView) uint64 {
	if v.sock == nil {
		return 0
	}
	return v.sock.FullAddr()
}
