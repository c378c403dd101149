package race

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// SocketHook are functions and tracepoints that the kernel reaches with the lock of the socket held
// that they hand out.
type SocketHook struct {
	Names []string
	// By is who takes the lock. A softirq that finds it taken by a task leaves its packet or its
	// timer to that task (tcp_add_backlog, tcp_release_cb).
	By string
	// Receives means that the packet that they hand out is one that the socket gets.
	Receives bool
}

// SocketHooks are those that are known. That inet_stream_connect, tcp_v4_rcv and tcp_write_timer
// hold the lock was read in source; the rest is from memory. Not here are functions that also get a listening socket, whose packets need no
// lock (tcp_v4_do_rcv, tcp_rcv_state_process), and those that take the lock themselves
// (tcp_sendmsg, tcp_recvmsg, tcp_close).
var SocketHooks = []SocketHook{
	{Names: []string{"tcp_v4_connect", "tcp_v6_connect", "tcp_connect"}, By: "inet_stream_connect"},
	{Names: []string{"tcp_rcv_established", "tcp_data_queue", "tcp_queue_rcv", "tcp_ack", "tcp_fin", "tcp_reset", "tcp_finish_connect", "tcp_probe"}, By: "tcp_v4_rcv, tcp_v6_rcv, or release_sock for the backlog", Receives: true},
	{Names: []string{"tcp_sendmsg_locked"}, By: "tcp_sendmsg"},
	{Names: []string{"tcp_cleanup_rbuf", "tcp_rcv_space_adjust"}, By: "tcp_recvmsg"},
	{Names: []string{"__tcp_close"}, By: "tcp_close"},
	{Names: []string{"tcp_retransmit_timer", "tcp_write_timer_handler", "tcp_delack_timer_handler"}, By: "tcp_write_timer, tcp_delack_timer, or release_sock"},
	{Names: []string{"inet_sock_set_state", "tcp_set_state", "tcp_write_xmit", "tcp_send_fin", "tcp_enter_loss", "tcp_retransmit_skb", "__tcp_retransmit_skb", "tcp_cong_state_set"}, By: "any of these"},
}

// ClosingHooks are functions that the kernel reaches when nobody has the socket's file any more, nor
// anything else in the kernel the socket for itself. UsingHooks are those that tasks reach with that
// file, also where they return. Read in the sources of Linux 5.10 and 7.1.
var (
	ClosingHooks = []string{"tcp_close", "__tcp_close", "udp_lib_close", "udp_destroy_sock"}
	UsingHooks   = []string{
		"tcp_sendmsg", "tcp_sendmsg_locked", "tcp_recvmsg", "tcp_cleanup_rbuf", "tcp_v4_connect", "tcp_v6_connect", "inet_csk_accept",
		"udp_sendmsg", "udpv6_sendmsg", "udp_recvmsg", "udpv6_recvmsg",
	}
)

// socketTypes are the types that a socket of these hooks has.
var socketTypes = []string{"sock", "inet_sock", "inet_connection_sock", "tcp_sock"}

// locksSocket reports whether a hook is reached with the lock of its socket held.
func locksSocket(hook string) bool {
	return slices.ContainsFunc(SocketHooks, func(h SocketHook) bool { return slices.Contains(h.Names, hook) })
}

// receives reports whether the packet that a hook hands out is one that its socket gets.
func receives(hook string) bool {
	return slices.ContainsFunc(SocketHooks, func(h SocketHook) bool { return h.Receives && slices.Contains(h.Names, hook) })
}

// socketsApart reports whether no two of the programs run for one TCP socket at the same time.
func socketsApart(progs []*loader.LinkedProgram) bool {
	closing, using, locked := false, true, true
	for _, lp := range progs {
		hook := hookOf(lp)
		closes := slices.Contains(ClosingHooks, hook)
		closing = closing || closes
		using = using && (closes || slices.Contains(UsingHooks, hook))
		locked = locked && (locksSocket(hook) || ofSockmap(lp))
	}
	return locked || closing && using
}

// ofSockmap reports whether a program is a parser or a verdict of a sockmap: those of one TCP socket
// run with its lock held. tcp_v4_rcv or lock_sock took it before sk_psock_strp_parse,
// sk_psock_strp_read and sk_psock_verdict_recv; tcp_bpf_sendmsg takes it before
// sk_psock_msg_verdict, also for what sk_psock_backlog sends for another socket.
func ofSockmap(lp *loader.LinkedProgram) bool {
	return progtype.SockMapPartOf(lp.Type, lp.Attach) != progtype.NoPart
}

// another makes a socket another connection, the nth: with a later local port, as no two have the
// same ports and addresses, and a cookie of its own.
func another(o *object.Object, nth uint64) {
	order := o.Space().Order()
	for _, prefix := range []string{"", "sk.", "icsk_inet.sk.", "inet_conn.icsk_inet.sk."} {
		f, data, ok := o.PeekStorage(prefix + "__sk_common.skc_num")
		if !ok || f.Size != 2 {
			continue
		}
		next := order.Uint16(data) + uint16(nth)
		order.PutUint16(data, next)
		o.SetStorage(prefix+"__sk_common.skc_num", data)
		o.SetStorage(strings.TrimSuffix(prefix, "sk.")+"inet_sport", []byte{byte(next >> 8), byte(next)})
		const cookie = "__sk_common.skc_cookie.counter"
		if f, data, ok := o.PeekStorage(prefix + cookie); ok && f.Size == 8 {
			order.PutUint64(data, order.Uint64(data)+nth)
			o.SetStorage(prefix+cookie, data)
		}
	}
}

// segment gives a packet of a connection the port of another one, the nth, to which it is sent. The
// packet gets memory of its own for that; one without a TCP header there stays as it is.
func segment(skb *object.Object, nth uint64) {
	k := skb.Space()
	word := func(field string) (uint64, int, bool) {
		f, data, ok := skb.PeekStorage(field)
		return endian.Uint(k.Order(), data), int(f.Size), ok
	}
	head, _, ok := word("head")
	room := k.ObjectAt(head)
	if !ok || room == nil || room.Addr() != head {
		return
	}
	own, err := k.Twin(room)
	if err != nil {
		return // no memory: they share it
	}
	for _, field := range []string{"head", "data", "tail", "end"} { // the last two are offsets on 64-bit kernels
		if at, size, ok := word(field); ok && at-head <= room.StorageSize() {
			moved := make([]byte, size)
			endian.PutUint(k.Order(), moved, at-head+own.Addr())
			skb.SetStorage(field, moved)
		}
	}
	at, _, ok := word("transport_header")
	if at-head <= room.StorageSize() {
		at -= head
	}
	if !ok || at+4 > own.StorageSize() {
		return
	}
	next := binary.BigEndian.Uint16(own.Present(at+2, 2)) + uint16(nth)
	own.Poke(at+2, []byte{byte(next >> 8), byte(next)}, object.Made)
}

// SocketTable writes the hooks as a table.
func SocketTable() string {
	var b strings.Builder
	b.WriteString("|functions and tracepoints|who takes the lock|\n|---|---|\n")
	for _, h := range SocketHooks {
		fmt.Fprintf(&b, "|%s|%s|\n", listing(h.Names), h.By)
	}
	return b.String()
}

// ApartTable writes what two programs at certain hooks never have in common at the same time.
func ApartTable() string {
	return "|functions and tracepoints|what others do not have|\n|---|---|\n" +
		fmt.Sprintf("|%s: with each other, and with %s|the socket: nobody has its file any more|\n", listing(ClosingHooks), listing(UsingHooks)) +
		fmt.Sprintf("|%s: with any program|the process: begin_new_exec has ended its other threads|\n", listing(AloneHooks))
}

// listing lists names of the kernel.
func listing(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
