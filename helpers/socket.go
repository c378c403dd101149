package helpers

import (
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var socketHelpers = []Helper{
	{ID: uapi.FuncSkFullsock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skFullsock},
	{ID: uapi.FuncTcpSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: tcpSock},
	{ID: uapi.FuncGetListenerSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: getListenerSock},
	{ID: uapi.FuncSkLookupTcp, Topic: "sockets", Args: []Arg{ArgCtx, ArgMem, ArgSize, ArgAny, ArgAny}, Fn: skLookup(ipprotoTCP, true), Note: "among the sockets of the scenario"},
	{ID: uapi.FuncSkLookupUdp, Topic: "sockets", Args: []Arg{ArgCtx, ArgMem, ArgSize, ArgAny, ArgAny}, Fn: skLookup(ipprotoUDP, true), Note: "among the sockets of the scenario"},
	{ID: uapi.FuncSkcLookupTcp, Topic: "sockets", Args: []Arg{ArgCtx, ArgMem, ArgSize, ArgAny, ArgAny}, Fn: skLookup(ipprotoTCP, false), Note: "among the sockets of the scenario"},
	{ID: uapi.FuncSkRelease, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skRelease},
	{ID: uapi.FuncSkAssign, Topic: "sockets", Args: []Arg{ArgCtx, ArgObject, ArgAny}, Fn: skAssign, Note: "recorded as an event"},
	{ID: uapi.FuncGetSocketCookie, Topic: "sockets", Args: []Arg{ArgCtx}, Fn: getSocketCookie, Note: "from the seed"},
	{ID: uapi.FuncGetSocketUid, Topic: "sockets", Args: []Arg{ArgCtx}, Fn: getSocketUID},
	{ID: uapi.FuncGetNetnsCookie, Topic: "sockets", Args: []Arg{ArgCtx}, Fn: getNetnsCookie, Note: "one network namespace, cookie 1"},
	{ID: uapi.FuncBind, Topic: "sockets", Args: []Arg{ArgCtx, ArgMem, ArgSize}, Fn: bind, Note: "of the simulated socket"},
	{ID: uapi.FuncSkcToTcpSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s *kernel.Socket) bool { return s.Full() && s.Protocol() == ipprotoTCP })},
	{ID: uapi.FuncSkcToTcp6Sock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s *kernel.Socket) bool {
		return s.Full() && s.Protocol() == ipprotoTCP && s.Family() == afInet6
	})},
	{ID: uapi.FuncSkcToUdp6Sock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s *kernel.Socket) bool {
		return s.Full() && s.Protocol() == ipprotoUDP && s.Type() == sockDgram && s.Family() == afInet6
	})},
	{ID: uapi.FuncSkcToUnixSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s *kernel.Socket) bool { return s.Full() && s.Family() == afUnix })},
	{ID: uapi.FuncSkcToTcpTimewaitSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s *kernel.Socket) bool {
		return s.State() == tcpTimeWait && (s.Family() == afInet || s.Family() == afInet6)
	})},
	{ID: uapi.FuncSkcToTcpRequestSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s *kernel.Socket) bool { return s.State() == tcpNewSynRecv })},
}

// Numbers of sockets.
const (
	afUnix        = 1
	afInet        = 2
	afInet6       = 10
	ipprotoTCP    = 6
	ipprotoUDP    = 17
	sockDgram     = 2
	tcpListen     = 10
	tcpClosed     = 7
	tcpTimeWait   = 6
	tcpNewSynRecv = 12
)

// contextAt returns the context at an address, nil when none starts there.
func (e *Env) contextAt(addr uint64) *kernel.Context {
	if r := e.Mem.Find(addr); r != nil && r.Base == e.Mem.Truncate(addr) {
		if c, ok := r.Owner.(*kernel.Context); ok && c.Region == r {
			return c
		}
	}
	return nil
}

// socketAt returns the socket a pointer is to.
func (e *Env) socketAt(addr uint64) (*kernel.Socket, *vm.Action) {
	if s := e.Kernel.SocketAt(addr); s != nil {
		return s, nil
	}
	return nil, badArg("%#x is no socket", addr)
}

// contextSocket returns the socket of a context, or the one at addr for helpers that take either.
func (e *Env) contextSocket(addr uint64) (*kernel.Socket, *vm.Action) {
	if c := e.contextAt(addr); c != nil {
		if s := c.Socket(); s != nil {
			return s, nil
		}
	}
	return e.socketAt(addr)
}

func skFullsock(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	s, f := envOf(t).socketAt(a[0])
	if f != nil || !s.Full() {
		return 0, f
	}
	return s.FullAddr(), nil
}

func tcpSock(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	s, f := envOf(t).socketAt(a[0])
	if f != nil || !s.Full() || s.Protocol() != ipprotoTCP {
		return 0, f
	}
	return s.TCPAddr(), nil
}

func getListenerSock(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	s, f := envOf(t).socketAt(a[0])
	if f != nil || s.State() != tcpListen {
		return 0, f
	}
	return s.FullAddr(), nil
}

// Lengths of the two forms of struct bpf_sock_tuple: addresses, then ports, of the sender and of the receiver.
const (
	tupleIPv4 = 12
	tupleIPv6 = 36
)

// skLookup is bpf_sk_lookup_tcp and its kin; full ones find no time-wait and request sockets (__bpf_skc_lookup).
func skLookup(protocol uint16, full bool) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		e := envOf(t)
		c := e.contextAt(a[0])
		if c == nil {
			return 0, badArg("%#x is not the program's context", a[0])
		}
		tuple, f := e.read(a[1], a[2]&0xffffffff)
		if f != nil {
			return 0, f
		}
		n := 4
		switch len(tuple) {
		case tupleIPv4:
		case tupleIPv6:
			n = 16
		default:
			return 0, nil
		}
		if current := int32(uint32(a[3])) < 0; a[4] != 0 || !current {
			return 0, nil // unknown flags, or the id of another namespace: there is none
		}
		dev, _ := c.DeviceOf()
		s := e.Kernel.LookupSocket(protocol, tuple[:n], be16(tuple[2*n:]), tuple[n:2*n], be16(tuple[2*n+2:]), dev.Index)
		if s == nil || full && !s.Full() {
			return 0, nil
		}
		addr := s.Addr()
		if full {
			addr = s.FullAddr()
		}
		e.Run.hold(s.FullAddr(), "socket "+s.Role())
		return addr, nil
	}
}

func skRelease(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	s, f := e.socketAt(a[0])
	if f != nil {
		return 0, f
	}
	if !e.Run.release(s.FullAddr()) {
		return 0, badArg("bpf_sk_release of %#x, to which this program holds no reference", a[0])
	}
	return 0, nil
}

// skAssign is bpf_sk_assign: of sk_lookup programs it selects the socket, NULL for none; of tc programs the packet gets it.
func skAssign(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	c := e.contextAt(a[0])
	if c == nil {
		return 0, badArg("%#x is not the program's context", a[0])
	}
	var s *kernel.Socket
	if a[1] != 0 {
		var f *vm.Action
		if s, f = e.socketAt(a[1]); f != nil {
			return 0, f
		}
	}
	errno, flags := uapi.Errno(0), a[2]
	if e.Run.ProgType == uapi.ProgTypeSkLookup {
		errno = c.Select(s, flags)
	} else {
		errno = c.Assign(s, flags)
	}
	if errno == 0 {
		name := "none"
		if s != nil {
			name = s.Role()
		}
		return 0, e.Run.emit(Event{Kind: "sk-assign", Detail: name})
	}
	return errnoRet(errno), nil
}

// getSocketCookie takes a context with a socket, or the socket itself; NULL has cookie 0.
func getSocketCookie(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	if a[0] == 0 {
		return 0, nil
	}
	if c := e.contextAt(a[0]); c != nil && c.Socket() == nil {
		return 0, nil
	}
	s, f := e.contextSocket(a[0])
	if f != nil {
		return 0, badArg("bpf_get_socket_cookie of %#x, which is no socket", a[0])
	}
	return s.Cookie(), nil
}

// overflowUID is the owner of what has none (/proc/sys/kernel/overflowuid).
const overflowUID = 65534

func getSocketUID(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	c, f := envOf(t).packetOf(a[0])
	if f != nil {
		return 0, f
	}
	s := c.Socket()
	if s == nil || !s.Full() {
		return overflowUID, nil
	}
	return uint64(s.UID()), nil
}

func getNetnsCookie(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).Kernel.NetnsCookie(), nil
}

// bind is bpf_bind: the socket that connects gets a local address.
func bind(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	s, f := e.contextSocket(a[0])
	if f != nil {
		return 0, f
	}
	addr, f := e.read(a[1], a[2]&0xffffffff)
	if f != nil {
		return 0, f
	}
	const inet, inet6 = 16, 24 // sizeof(struct sockaddr_in), SIN6_LEN_RFC2133
	if len(addr) < 2 {
		return errnoRet(uapi.EINVAL), nil
	}
	var errno uapi.Errno
	switch e.order().Uint16(addr) {
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
		return 0, e.Run.emit(Event{Kind: "bind", Number: uint64(be16(addr[2:])), Detail: s.Role(), Data: append([]byte(nil), addr...)})
	}
	return errnoRet(errno), nil
}

// skcTo casts a socket to a more precise type of the kernel when it is one, else NULL. The result is the kernel's struct.
func skcTo(is func(*kernel.Socket) bool) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		e := envOf(t)
		if a[0] == 0 {
			return 0, nil
		}
		s, f := e.socketAt(a[0])
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
