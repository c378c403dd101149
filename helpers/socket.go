package helpers

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var socketHelpers = []Helper{
	{ID: uapi.FuncSkFullsock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skFullsock},
	{ID: uapi.FuncTcpSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: tcpSock, Note: "the socket of a test run is no TCP socket: NULL"},
	{ID: uapi.FuncGetListenerSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: noSocket, Note: "the socket of a test run does not listen: NULL"},
	{ID: uapi.FuncSkLookupTcp, Topic: "sockets", Args: []Arg{ArgCtx, ArgMem, ArgSize, ArgAny, ArgAny}, Fn: skLookup, Note: "no sockets are open: NULL"},
	{ID: uapi.FuncSkLookupUdp, Topic: "sockets", Args: []Arg{ArgCtx, ArgMem, ArgSize, ArgAny, ArgAny}, Fn: skLookup, Note: "no sockets are open: NULL"},
	{ID: uapi.FuncSkcLookupTcp, Topic: "sockets", Args: []Arg{ArgCtx, ArgMem, ArgSize, ArgAny, ArgAny}, Fn: skLookup, Note: "no sockets are open: NULL"},
	{ID: uapi.FuncSkcToTcpSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s sockFacts) bool { return s.full() && s.protocol == ipprotoTCP })},
	{ID: uapi.FuncSkcToTcp6Sock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s sockFacts) bool { return s.full() && s.protocol == ipprotoTCP && s.family == afInet6 })},
	{ID: uapi.FuncSkcToUdp6Sock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s sockFacts) bool {
		return s.full() && s.protocol == ipprotoUDP && s.typ == sockDgram && s.family == afInet6
	})},
	{ID: uapi.FuncSkcToUnixSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s sockFacts) bool { return s.full() && s.family == afUnix })},
	{ID: uapi.FuncSkcToTcpTimewaitSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s sockFacts) bool {
		return s.state == tcpTimeWait && s.family == afInet || s.state == tcpTimeWait && s.family == afInet6
	})},
	{ID: uapi.FuncSkcToTcpRequestSock, Topic: "sockets", Args: []Arg{ArgObject}, Fn: skcTo(func(s sockFacts) bool { return s.state == tcpNewSynRecv })},
}

// Numbers of sockets.
const (
	afUnix        = 1
	afInet        = 2
	afInet6       = 10
	ipprotoTCP    = 6
	ipprotoUDP    = 17
	sockDgram     = 2
	tcpTimeWait   = 6
	tcpNewSynRecv = 12
)

// sockFacts is what decides of which type a socket is.
type sockFacts struct{ state, family, protocol, typ uint64 }

// full is sk_fullsock: neither a time-wait nor a request socket.
func (s sockFacts) full() bool { return s.state != tcpTimeWait && s.state != tcpNewSynRecv }

// skFullsock takes the socket of a context, which is a full one.
func skFullsock(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	if !envOf(t).Kernel.IsSocket(a[0]) {
		return 0, badArg("bpf_sk_fullsock of %#x, which is no socket of a context", a[0])
	}
	return a[0], nil
}

// tcpSock would give the TCP part of a socket; the one a test run makes has no protocol.
func tcpSock(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) { return noSocket(t, a) }

func noSocket(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	if !envOf(t).Kernel.IsSocket(a[0]) {
		return 0, badArg("%#x is no socket of a context", a[0])
	}
	return 0, nil
}

// skLookup finds no socket: the simulated machine has none open.
func skLookup(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	_, f := e.read(a[1], a[2]&0xffffffff)
	return 0, f
}

// skcTo casts a socket of the kernel to a more precise type when it is one, else NULL.
func skcTo(is func(sockFacts) bool) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		e := envOf(t)
		if a[0] == 0 {
			return 0, nil
		}
		if e.Kernel.IsSocket(a[0]) {
			return 0, nil // of a test run: without protocol
		}
		o := e.Kernel.ObjectAt(a[0])
		if o == nil {
			return 0, badArg("%#x is no socket", a[0])
		}
		var s sockFacts
		for _, f := range [...]struct {
			to   *uint64
			path string
		}{{&s.state, "__sk_common.skc_state"}, {&s.family, "__sk_common.skc_family"}, {&s.protocol, "sk_protocol"}, {&s.typ, "sk_type"}} {
			v, err := o.Uint(f.path)
			if err != nil {
				return 0, badArg("%#x is no socket: %v", a[0], err)
			}
			*f.to = v
		}
		if !is(s) {
			return 0, nil
		}
		return a[0], nil
	}
}
