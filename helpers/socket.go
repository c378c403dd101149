package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var socketHelpers = []row{
	{ID: uapi.FuncSkFullsock, Do: onSocket(skFullsock)},
	{ID: uapi.FuncTcpSock, Do: onSocket(tcpSock)},
	{ID: uapi.FuncGetListenerSock, Do: onSocket(getListenerSock)},
	{ID: uapi.FuncSkLookupTcp, Do: skLookup(ipprotoTCP, true), Note: "among the sockets of the scenario"},
	{ID: uapi.FuncSkLookupUdp, Do: skLookup(ipprotoUDP, true), Note: "among the sockets of the scenario"},
	{ID: uapi.FuncSkcLookupTcp, Do: skLookup(ipprotoTCP, false), Note: "among the sockets of the scenario"},
	{ID: uapi.FuncSkRelease, Do: onSocket(skRelease)},
	{ID: uapi.FuncSkAssign, Do: skAssign, Note: "recorded as an event"},
	{ID: uapi.FuncGetSocketCookie, Do: getSocketCookie, Note: "from the seed"},
	{ID: uapi.FuncGetSocketUid, Do: onPacket(getSocketUID)},
	{ID: uapi.FuncGetNetnsCookie, Do: getNetnsCookie, Note: "one network namespace, cookie 1"},
	{ID: uapi.FuncBind, Do: onContextSocket(bind), Note: "of the simulated socket"},
	{ID: uapi.FuncSkcToTcpSock, Do: skcTo(func(s *net.Socket) bool { return s.Full() && s.Protocol() == ipprotoTCP })},
	{ID: uapi.FuncSkcToTcp6Sock, Do: skcTo(func(s *net.Socket) bool {
		return s.Full() && s.Protocol() == ipprotoTCP && s.Family() == afInet6
	})},
	{ID: uapi.FuncSkcToUdp6Sock, Do: skcTo(func(s *net.Socket) bool {
		return s.Full() && s.Protocol() == ipprotoUDP && s.Type() == sockDgram && s.Family() == afInet6
	})},
	{ID: uapi.FuncSkcToUnixSock, Do: skcTo(func(s *net.Socket) bool { return s.Full() && s.Family() == afUnix })},
	{ID: uapi.FuncSkcToTcpTimewaitSock, Do: skcTo(func(s *net.Socket) bool {
		return s.State() == tcpTimeWait && (s.Family() == afInet || s.Family() == afInet6)
	})},
	{ID: uapi.FuncSkcToMptcpSock, Do: skcTo(func(*net.Socket) bool { return false }), Note: "no socket is one of MPTCP: NULL"},
	{ID: uapi.FuncSockFromFile, Do: sockFromFile},
	{ID: uapi.FuncSkcToTcpRequestSock, Do: skcTo(func(s *net.Socket) bool { return s.State() == tcpNewSynRecv })},
}

// Numbers of sockets.
const (
	afUnix        = uapi.AFUnix
	afInet        = uapi.AFInet
	afInet6       = uapi.AFInet6
	ipprotoTCP    = 6
	ipprotoUDP    = 17
	sockDgram     = 2
	tcpListen     = 10
	tcpClosed     = 7
	tcpTimeWait   = 6
	tcpNewSynRecv = 12
)

func skFullsock(c *Call, s *net.Socket) (uint64, *vm.Action) {
	if !s.Full() {
		return 0, nil
	}
	return s.FullAddr(), nil
}

func tcpSock(c *Call, s *net.Socket) (uint64, *vm.Action) {
	if !s.Full() || s.Protocol() != ipprotoTCP {
		return 0, nil
	}
	return s.TCPAddr(), nil
}

func getListenerSock(c *Call, s *net.Socket) (uint64, *vm.Action) {
	if s.State() != tcpListen {
		return 0, nil
	}
	return s.FullAddr(), nil
}

// Lengths of the two forms of struct bpf_sock_tuple: addresses, then ports, of sender and receiver.
const (
	tupleIPv4 = 12
	tupleIPv6 = 36
)

// skLookup implements bpf_sk_lookup_tcp and related helpers; those for full sockets do not find
// time-wait and request sockets (__bpf_skc_lookup).
func skLookup(protocol uint16, full bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		ctx := c.contextAt(c.Args[0])
		if ctx == nil {
			return 0, badArg("%#x is not the program's context", c.Args[0])
		}
		tuple := c.In(1)
		n := 4
		switch len(tuple) {
		case tupleIPv4:
		case tupleIPv6:
			n = 16
		default:
			return 0, nil
		}
		if current := int32(uint32(c.Args[3])) < 0; c.Args[4] != 0 || !current {
			return 0, nil // unknown flags, or the id of another namespace: there is none
		}
		dev, _ := ctx.DeviceOf()
		s := c.Kernel.LookupSocket(protocol, tuple[:n], be16(tuple[2*n:]), tuple[n:2*n], be16(tuple[2*n+2:]), dev.Index)
		if s == nil || full && !s.Full() {
			return 0, nil
		}
		addr := s.Addr()
		if full {
			addr = s.FullAddr()
		}
		c.takeSocket(s)
		return addr, nil
	}
}

func skRelease(c *Call, s *net.Socket) (uint64, *vm.Action) {
	return 0, c.give("bpf_sk_release", held.Reference, s.FullAddr())
}

func (c *Call) takeSocket(s *net.Socket) {
	c.Run.Held.Take(held.Reference, s.FullAddr(), "socket "+s.Role())
}

// skAssign implements bpf_sk_assign: in sk_lookup programs it selects the socket (NULL for none),
// in tc programs it assigns it to the packet.
func skAssign(c *Call) (uint64, *vm.Action) {
	ctx := c.contextAt(c.Args[0])
	if ctx == nil {
		return 0, badArg("%#x is not the program's context", c.Args[0])
	}
	var s *net.Socket
	if c.Args[1] != 0 {
		var f *vm.Action
		if s, f = c.socketAt(c.Args[1]); f != nil {
			return 0, f
		}
	}
	errno, flags := uapi.Errno(0), c.Args[2]
	if c.Run.ProgType == uapi.ProgTypeSkLookup {
		errno = ctx.Select(s, flags)
	} else {
		errno = ctx.Assign(s, flags)
	}
	if errno == 0 {
		name := "none"
		if s != nil {
			name = s.Role()
		}
		return 0, c.Run.emit(Event{Kind: SkAssign, Detail: name})
	}
	return errnoRet(errno), nil
}

// getSocketCookie accepts a context with a socket, or the socket itself; NULL has cookie 0.
func getSocketCookie(c *Call) (uint64, *vm.Action) {
	if c.Args[0] == 0 {
		return 0, nil
	}
	if ctx := c.contextAt(c.Args[0]); ctx != nil && ctx.Socket() == nil {
		return 0, nil
	}
	s, f := c.contextSocket(c.Args[0])
	if f != nil {
		return 0, badArg("bpf_get_socket_cookie of %#x, which is not a socket", c.Args[0])
	}
	return s.Cookie(), nil
}

// overflowUID is the owner of a socket without one (/proc/sys/kernel/overflowuid).
const overflowUID = 65534

func getSocketUID(c *Call, ctx *hook.Context) (uint64, *vm.Action) {
	s := ctx.Socket()
	if s == nil || !s.Full() {
		return overflowUID, nil
	}
	return uint64(s.UID()), nil
}

func getNetnsCookie(c *Call) (uint64, *vm.Action) {
	return c.Kernel.NetnsCookie(), nil
}

// bind implements bpf_bind: it sets the local address of the connecting socket.
func bind(c *Call, s *net.Socket) (uint64, *vm.Action) {
	addr := c.In(1)
	const inet, inet6 = 16, 24 // sizeof(struct sockaddr_in), SIN6_LEN_RFC2133
	if len(addr) < 2 {
		return errnoRet(uapi.EINVAL), nil
	}
	var errno uapi.Errno
	switch c.guest.Order().Uint16(addr) {
	case afInet:
		errno = uapi.EINVAL
		if len(addr) >= inet {
			errno = s.Bind(addr[4:8], be16(addr[2:]))
		}
	case afInet6:
		errno = uapi.EINVAL
		if len(addr) >= inet6 {
			errno = s.Bind(addr[8:24], be16(addr[2:]))
		}
	default:
		errno = uapi.EAFNOSUPPORT
	}
	if errno == 0 {
		return 0, c.Run.emit(Event{Kind: Bind, Number: uint64(be16(addr[2:])), Detail: s.Role(), Data: append([]byte(nil), addr...)})
	}
	return errnoRet(errno), nil
}

// sockFromFile returns a file's socket, or NULL for files other than sockets (which have
// socket_file_ops).
func sockFromFile(c *Call) (uint64, *vm.Action) {
	file := c.Kernel.ObjectAt(c.Args[0])
	if file == nil {
		return 0, badArg("bpf_sock_from_file of %#x, which is not a file", c.Args[0])
	}
	ops, err := file.Uint("f_op")
	if err != nil {
		return 0, notSimulated("bpf_sock_from_file: " + err.Error())
	}
	if ops == 0 || ops != c.Kernel.SymbolAddr("socket_file_ops") {
		return 0, nil
	}
	socket, err := file.Uint("private_data")
	if err != nil {
		return 0, notSimulated("bpf_sock_from_file: " + err.Error())
	}
	return socket, nil
}

// skcTo casts a socket to a more specific kernel type if it has that type, else returns NULL. The
// result is the kernel's struct.
func skcTo(is func(*net.Socket) bool) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		if c.Args[0] == 0 {
			return 0, nil
		}
		s, f := c.socketAt(c.Args[0])
		if f != nil || !is(s) {
			return 0, f
		}
		o, err := s.Object()
		if err != nil {
			return 0, notSimulated(err.Error())
		}
		return o.Addr(), nil
	}
}
