package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var sockRedirectHelpers = []row{
	{ID: uapi.FuncSkRedirectMap, Do: sockRedirectMap(false), Note: "recorded as an event; delivered in runs with `sockets:`"},
	{ID: uapi.FuncSkRedirectHash, Do: sockRedirectHash(false), Note: "recorded as an event; delivered in runs with `sockets:`"},
	{ID: uapi.FuncMsgRedirectMap, Do: sockRedirectMap(true), Note: "recorded as an event; delivered in runs with `sockets:`"},
	{ID: uapi.FuncMsgRedirectHash, Do: sockRedirectHash(true), Note: "recorded as an event; delivered in runs with `sockets:`"},
	{ID: uapi.FuncMsgApplyBytes, Do: msgBytes("verdict applies to the next %d bytes", func(v *SocketVerdict, n *uint32) { v.Apply = n }), Note: "recorded as an event; delivered in runs with `sockets:`"},
	{ID: uapi.FuncMsgCorkBytes, Do: msgBytes("called again at %d bytes", func(v *SocketVerdict, n *uint32) { v.Cork = n }), Note: "recorded as an event; delivered in runs with `sockets:`"},
	{ID: uapi.FuncMsgPullData, Do: onPacket(msgChange(func(p *net.Packet, from, to int) uapi.Errno { return p.PullMessage(from, to) }))},
	{ID: uapi.FuncMsgPushData, Do: onPacket(msgChange(func(p *net.Packet, at, n int) uapi.Errno { return p.PushMessage(at, n) })), Note: "the new bytes are zero"},
	{ID: uapi.FuncMsgPopData, Do: onPacket(msgChange(func(p *net.Packet, at, n int) uapi.Errno { return p.PopMessage(at, n) }))},
	{ID: uapi.FuncSkSelectReuseport, Do: selectReuseport, Note: "recorded as an event; `expect.receiver` of a scenario has the socket that gets the packet"},
}

// SocketVerdict is what programs of sockets ask for with helpers: the socket of a redirect or that
// a sk_reuseport program selects, nil for none, and how many bytes of messages the verdict is about
// (bpf_msg_apply_bytes) and how many the next call waits for (bpf_msg_cork_bytes), nil if the
// program did not say.
type SocketVerdict struct {
	Target      *net.Socket
	Ingress     bool
	Apply, Cork *uint32
}

// Verdicts of socket programs.
const (
	skDrop = 0
	skPass = 1
)

// keyText names an element in events.
func (c *Call) keyText(m maps.Map, key []byte) string {
	if len(key) == 4 {
		return fmt.Sprintf("map %s[%d]", m.Spec().Name, c.guest.Order().Uint32(key))
	}
	return fmt.Sprintf("map %s[%x]", m.Spec().Name, key)
}

// keyNumber returns a key of four bytes as a number, 0 for others.
func (c *Call) keyNumber(key []byte) uint64 {
	if len(key) != 4 {
		return 0
	}
	return uint64(c.guest.Order().Uint32(key))
}

// sockRedirectMap implements bpf_sk_redirect_map and bpf_msg_redirect_map (net/core/sock_map.c):
// the target of SK_PASS is a socket in a map.
func sockRedirectMap(message bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		key := make([]byte, 4)
		c.guest.Order().PutUint32(key, uint32(c.Args[2]))
		return c.redirectTo(c.ref.m, key, c.Args[3], message)
	}
}

// sockRedirectHash is bpf_sk_redirect_hash and bpf_msg_redirect_hash.
func sockRedirectHash(message bool) Impl {
	return func(c *Call) (uint64, *vm.Action) { return c.redirectTo(c.ref.m, c.key, c.Args[3], message) }
}

func (c *Call) redirectTo(m maps.Map, key []byte, flags uint64, message bool) (uint64, *vm.Action) {
	sm, ok := m.(maps.SockMap)
	if !ok {
		return 0, wrongMap(m)
	}
	v, found := sm.Sock(key)
	if flags&^uint64(uapi.RedirectIngress) != 0 || !found {
		return skDrop, nil
	}
	s := v.(*net.Socket)
	const established = 1
	tcp := s.Protocol() == ipprotoTCP
	switch { // sock_map_redirect_allowed; only TCP sends on egress
	case message && flags&uapi.RedirectIngress == 0 && !tcp, tcp && s.State() == tcpListen, !tcp && s.State() != established:
		return skDrop, nil
	}
	c.Run.Socket.Target, c.Run.Socket.Ingress = s, flags&uapi.RedirectIngress != 0
	text := c.keyText(m, key)
	if flags&uapi.RedirectIngress != 0 {
		text += ", ingress"
	}
	c.Run.redirect(Event{Kind: Redirect, Number: c.keyNumber(key), Detail: text})
	return skPass, nil
}

// msgBytes records how many bytes of a message a verdict applies to, or waits for.
func msgBytes(format string, set func(v *SocketVerdict, n *uint32)) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		n := uint32(c.Args[1])
		set(&c.Run.Socket, &n)
		c.Run.Events = append(c.Run.Events, Event{Kind: Message, Number: uint64(n), Detail: fmt.Sprintf(format, n)})
		return 0, nil
	}
}

// msgChange is a helper that changes a message, or what the program sees of it; it takes no flags.
func msgChange(do func(p *net.Packet, a, b int) uapi.Errno) func(*Call, *hook.Context) (uint64, *vm.Action) {
	return func(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
		if c.Args[3] != 0 {
			return errnoRet(uapi.EINVAL), nil
		}
		const most = 1 << 30 // more than any message has
		return errnoRet(do(ctx.Packet, int(min(uint32(c.Args[1]), most)), int(min(uint32(c.Args[2]), most)))), nil
	}
}

// selectReuseport implements bpf_sk_select_reuseport: it chooses the socket of a group that
// receives the packet (net/core/filter.c sk_select_reuseport, which does not look at flags).
func selectReuseport(c *Call) (uint64, *vm.Action) {
	m, key := c.ref.m, c.key
	var found any
	var none uapi.Errno // of a socket that is in no group
	switch t := m.(type) {
	case maps.SockMap:
		found, _ = t.Sock(key)
		none = uapi.EINVAL
	case maps.RefArray:
		found, _ = t.Ref(c.guest.Order().Uint32(key))
		none = uapi.ENOENT
	default:
		return 0, wrongMap(m)
	}
	s, ok := found.(*net.Socket)
	if !ok {
		return errnoRet(uapi.ENOENT), nil
	}
	if !s.Grouped() {
		return errnoRet(none), nil
	}
	own, f := c.contextSocket(c.Args[0])
	switch {
	case f != nil:
		return 0, f
	case s.SharesPort(own):
	case s.Protocol() != own.Protocol():
		return errnoRet(uapi.EPROTOTYPE), nil
	case s.Family() != own.Family():
		return errnoRet(uapi.EAFNOSUPPORT), nil
	default:
		return errnoRet(uapi.EBADFD), nil
	}
	c.Run.Socket.Target = s
	c.Run.redirect(Event{Kind: Redirect, Number: c.keyNumber(key), Detail: "socket " + c.keyText(m, key)})
	return 0, nil
}

// castToKernel implements bpf_cast_to_kern_ctx: it returns the kernel's struct for the program's
// context. The verifier turns the call into a move.
func castToKernel(c *Call) (uint64, *vm.Action) {
	ctx := c.contextAt(c.Args[0])
	if ctx == nil {
		return 0, badArg("%#x is not the program's context", c.Args[0])
	}
	o, err := c.Kernel.KernelContext(ctx)
	if err != nil {
		return 0, notSimulated(err.Error())
	}
	return o.Addr(), nil
}

// sockDestroy is bpf_sock_destroy: the socket is aborted (net/core/filter.c, tcp_abort, udp_abort).
func sockDestroy(c *Call) (uint64, *vm.Action) {
	s, f := c.socketAt(c.Args[0])
	if f != nil {
		return 0, f
	}
	switch s.Protocol() {
	case ipprotoTCP, ipprotoUDP:
	default:
		return errnoRet(uapi.EOPNOTSUPP), nil
	}
	if s.Protocol() == ipprotoTCP && s.State() == tcpClosed {
		return errnoRet(uapi.ENOENT), nil
	}
	s.Abort()
	return 0, nil
}
