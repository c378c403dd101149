package race

import (
	"fmt"
	"slices"
	"strings"

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
}

// SocketHooks are those that are known. That inet_stream_connect, tcp_v4_rcv and tcp_write_timer
// hold the lock was read in source; the rest is from memory. Not here are functions that also get a listening socket, whose packets need no
// lock (tcp_v4_do_rcv, tcp_rcv_state_process), and those that take the lock themselves
// (tcp_sendmsg, tcp_recvmsg, tcp_close).
var SocketHooks = []SocketHook{
	{[]string{"tcp_v4_connect", "tcp_v6_connect", "tcp_connect"}, "inet_stream_connect"},
	{[]string{"tcp_rcv_established", "tcp_data_queue", "tcp_queue_rcv", "tcp_ack", "tcp_fin", "tcp_reset", "tcp_finish_connect", "tcp_probe"}, "tcp_v4_rcv, tcp_v6_rcv, or release_sock for the backlog"},
	{[]string{"tcp_sendmsg_locked"}, "tcp_sendmsg"},
	{[]string{"tcp_cleanup_rbuf", "tcp_rcv_space_adjust"}, "tcp_recvmsg"},
	{[]string{"__tcp_close"}, "tcp_close"},
	{[]string{"tcp_retransmit_timer", "tcp_write_timer_handler", "tcp_delack_timer_handler"}, "tcp_write_timer, tcp_delack_timer, or release_sock"},
	{[]string{"inet_sock_set_state", "tcp_set_state", "tcp_write_xmit", "tcp_send_fin", "tcp_enter_loss", "tcp_retransmit_skb", "__tcp_retransmit_skb", "tcp_cong_state_set"}, "any of these"},
}

// socketTypes are the types that a socket of these hooks has.
var socketTypes = []string{"sock", "inet_sock", "inet_connection_sock", "tcp_sock"}

// locksSocket reports whether a hook is reached with the lock of its socket held.
func locksSocket(hook string) bool {
	return slices.ContainsFunc(SocketHooks, func(h SocketHook) bool { return slices.Contains(h.Names, hook) })
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

// SocketTable writes the hooks as a table.
func SocketTable() string {
	var b strings.Builder
	b.WriteString("|functions and tracepoints|who takes the lock|\n|---|---|\n")
	for _, h := range SocketHooks {
		names := slices.Clone(h.Names)
		for i := range names {
			names[i] = "`" + names[i] + "`"
		}
		fmt.Fprintf(&b, "|%s|%s|\n", strings.Join(names, ", "), h.By)
	}
	return b.String()
}
