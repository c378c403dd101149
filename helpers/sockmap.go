package helpers

import (
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var sockMapHelpers = []row{
	{ID: uapi.FuncSockMapUpdate, Do: onSockOps(sockMapUpdate)},
	{ID: uapi.FuncSockHashUpdate, Do: onSockOps(sockMapUpdate)},
}

// lookupSock acquires a reference to the socket of a key, as a lookup in a sockmap does; 0 if there
// is none.
func (c *Call) lookupSock(m maps.SockMap, key []byte) uint64 {
	v, ok := m.Sock(key)
	if !ok {
		return 0
	}
	s := v.(*net.Socket)
	c.takeSocket(s)
	return s.FullAddr()
}

// storeSock puts a socket into a map if it is allowed there (sock_map_sk_is_suitable,
// sock_map_sk_state_allowed).
func storeSock(m maps.SockMap, key []byte, s *net.Socket, flags uint64) uapi.Errno {
	const stream, established = 1, 1
	if !s.Full() {
		return uapi.EINVAL
	}
	switch tcp := s.Protocol() == ipprotoTCP && s.Type() == stream; {
	case tcp && s.State() != established && s.State() != tcpListen:
		return uapi.EOPNOTSUPP
	case s.Family() == afUnix && s.Type() == stream && s.State() != established:
		return uapi.EOPNOTSUPP
	}
	return m.SetSock(key, s, flags)
}

// sockMapUpdate stores the socket of a sockops program, at the events that complete a handshake or
// start listening (bpf_sock_map_update).
func sockMapUpdate(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	m := c.ref.m
	sm, ok := m.(maps.SockMap)
	if !ok {
		return 0, wrongMap(m)
	}
	const active, passive, listen = 4, 5, 11
	op := sockOp(ctx)
	if s := ctx.Socket(); s != nil && (op == active || op == passive || op == listen) {
		return errnoRet(storeSock(sm, c.key, s, c.Args[3])), nil
	}
	return errnoRet(uapi.EOPNOTSUPP), nil
}
