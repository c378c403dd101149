package net

import (
	"github.com/bpfrun/bpfrun/internal/progtype"
	"sync"
)

// Value identifies a value of a socket. Programs read them as fields of struct bpf_sock,
// bpf_tcp_sock, bpf_sock_ops and __sk_buff; the kernel stores them in struct sock and the structs
// that contain it.
type Value uint8

const (
	SockBoundDev Value = iota
	SockFamily
	SockType
	SockProtocol
	SockMark
	SockPriority
	SockSrcIP4
	SockSrcIP6 // four words
	_
	_
	_
	SockSrcPort
	SockDstPort // in network order
	SockDstIP4
	SockDstIP6 // four words
	_
	_
	_
	SockState
	sockRxQueue
	sockUID
	sockReuseport
	sockIPv6Only
	SockTxhash
	sockCookie
	SockCBFlags // bpf_sock_ops_cb_flags
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
	TCPBytesReceived
	TCPBytesAcked
	tcpDsackDups
	tcpDelivered
	tcpDeliveredCE
	tcpRetransmits
	tcpSndCwndClamp
	numSockVals
)

// sockPlace locates a value in the kernel's types.
type sockPlace struct {
	val  Value
	in   string // the type of path: "sock", "tcp_sock"
	path string // alternatives separated by |
	at   int    // bytes from the start of the field, of a word of an address
}

// sockPlaces lists the values that the kernel stores in struct sock and struct tcp_sock.
var sockPlaces = func() []sockPlace {
	p := []sockPlace{
		{SockBoundDev, "sock", "__sk_common.skc_bound_dev_if", 0}, {SockFamily, "sock", "__sk_common.skc_family", 0},
		{SockType, "sock", "sk_type", 0}, {SockProtocol, "sock", "sk_protocol", 0}, {SockMark, "sock", "sk_mark", 0},
		{SockPriority, "sock", "sk_priority", 0}, {SockSrcIP4, "sock", "__sk_common.skc_rcv_saddr", 0},
		{SockSrcPort, "sock", "__sk_common.skc_num", 0}, {SockDstPort, "sock", "__sk_common.skc_dport", 0},
		{SockDstIP4, "sock", "__sk_common.skc_daddr", 0}, {SockState, "sock", "__sk_common.skc_state", 0},
		{sockUID, "sock", "sk_uid.val", 0}, {sockReuseport, "sock", "__sk_common.skc_reuseport", 0},
		{sockIPv6Only, "sock", "__sk_common.skc_ipv6only", 0}, {SockTxhash, "sock", "sk_txhash", 0},
		{sockCookie, "sock", "__sk_common.skc_cookie.counter", 0},
		{SockCBFlags, "tcp_sock", "bpf_sock_ops_cb_flags", 0}, {tcpSndCwnd, "tcp_sock", "snd_cwnd", 0}, {tcpSrtt, "tcp_sock", "srtt_us", 0},
		{tcpRttMin, "tcp_sock", "rtt_min.s[0].v", 0}, {tcpSsthresh, "tcp_sock", "snd_ssthresh", 0}, {tcpRcvNxt, "tcp_sock", "rcv_nxt", 0},
		{tcpSndNxt, "tcp_sock", "snd_nxt", 0}, {tcpSndUna, "tcp_sock", "snd_una", 0}, {tcpMSS, "tcp_sock", "mss_cache", 0},
		{tcpECN, "tcp_sock", "ecn_flags", 0}, {tcpRateDelivered, "tcp_sock", "rate_delivered", 0},
		{tcpRateInterval, "tcp_sock", "rate_interval_us", 0}, {tcpPacketsOut, "tcp_sock", "packets_out", 0},
		{tcpRetransOut, "tcp_sock", "retrans_out", 0}, {tcpTotalRetrans, "tcp_sock", "total_retrans", 0}, {tcpSegsIn, "tcp_sock", "segs_in", 0},
		{tcpDataSegsIn, "tcp_sock", "data_segs_in", 0}, {tcpSegsOut, "tcp_sock", "segs_out", 0}, {tcpDataSegsOut, "tcp_sock", "data_segs_out", 0},
		{tcpLostOut, "tcp_sock", "lost_out", 0}, {tcpSackedOut, "tcp_sock", "sacked_out", 0}, {TCPBytesReceived, "tcp_sock", "bytes_received", 0},
		{TCPBytesAcked, "tcp_sock", "bytes_acked", 0}, {tcpDsackDups, "tcp_sock", "dsack_dups", 0}, {tcpDelivered, "tcp_sock", "delivered", 0},
		{tcpDeliveredCE, "tcp_sock", "delivered_ce", 0}, {tcpRetransmits, "tcp_sock", "inet_conn.icsk_retransmits", 0},
		{tcpSndCwndClamp, "tcp_sock", "snd_cwnd_clamp", 0},
	}
	for i := range Value(4) {
		p = append(p, sockPlace{SockSrcIP6 + i, "sock", "__sk_common.skc_v6_rcv_saddr", 4 * int(i)},
			sockPlace{SockDstIP6 + i, "sock", "__sk_common.skc_v6_daddr", 4 * int(i)})
	}
	return p
}()

// OfSocket binds a field to a value of the view's socket.
func OfSocket(v Value) Source {
	return Source{From: func(w *View) uint64 { return w.Socket.vals[v] }}
}

// SockFields are the values of struct bpf_sock.
var SockFields = sync.OnceValue(func() []Field {
	m := map[string]Source{
		"bound_dev_if": OfSocket(SockBoundDev), "family": OfSocket(SockFamily), "type": OfSocket(SockType), "protocol": OfSocket(SockProtocol),
		"mark": OfSocket(SockMark), "priority": OfSocket(SockPriority), "src_ip4": OfSocket(SockSrcIP4), "src_port": OfSocket(SockSrcPort),
		"dst_port": OfSocket(SockDstPort), "dst_ip4": OfSocket(SockDstIP4), "state": OfSocket(SockState), "rx_queue_mapping": OfSocket(sockRxQueue),
	}
	for i := range Value(4) {
		n := string(rune('0' + i))
		m["src_ip6["+n+"]"], m["dst_ip6["+n+"]"] = OfSocket(SockSrcIP6+i), OfSocket(SockDstIP6+i)
	}
	return Bind(progtype.Sock, m)
})

var tcpSockFields = sync.OnceValue(func() []Field {
	m := map[string]Source{
		"bytes_received": OfSocket(TCPBytesReceived), "bytes_acked": OfSocket(TCPBytesAcked), "dsack_dups": OfSocket(tcpDsackDups),
		"delivered": OfSocket(tcpDelivered), "delivered_ce": OfSocket(tcpDeliveredCE), "icsk_retransmits": OfSocket(tcpRetransmits),
	}
	for _, n := range TCPNumbers {
		m[n.Name] = OfSocket(n.Val)
	}
	return Bind(progtype.TCPSock, m)
})

// tcpNumber is a value of a connection with its name in programs.
type tcpNumber struct {
	Name string
	Val  Value
}

// TCPNumbers are the counters of a connection that struct bpf_tcp_sock and struct bpf_sock_ops
// have.
var TCPNumbers = [...]tcpNumber{
	{"snd_cwnd", tcpSndCwnd}, {"srtt_us", tcpSrtt}, {"rtt_min", tcpRttMin}, {"snd_ssthresh", tcpSsthresh}, {"rcv_nxt", tcpRcvNxt},
	{"snd_nxt", tcpSndNxt}, {"snd_una", tcpSndUna}, {"mss_cache", tcpMSS}, {"ecn_flags", tcpECN}, {"rate_delivered", tcpRateDelivered},
	{"rate_interval_us", tcpRateInterval}, {"packets_out", tcpPacketsOut}, {"retrans_out", tcpRetransOut}, {"total_retrans", tcpTotalRetrans},
	{"segs_in", tcpSegsIn}, {"data_segs_in", tcpDataSegsIn}, {"segs_out", tcpSegsOut}, {"data_segs_out", tcpDataSegsOut},
	{"lost_out", tcpLostOut}, {"sacked_out", tcpSackedOut},
}

func Selected(v *View) uint64 {
	if v.Socket == nil {
		return 0
	}
	return v.Socket.FullAddr()
}
