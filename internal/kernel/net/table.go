package net

import (
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Table returns the sockets of a small system as visited by an iterator: for "tcp" a listener,
// connections over IPv4 and IPv6, a time-wait socket and a request socket; for "udp" a bound socket
// of each family. It returns nil for other names.
func (h *Host) Table(protocol string) []*object.Object {
	var out []*object.Object
	add := func(role string, build func(role string) (*object.Object, error)) *object.Object {
		role = protocol + " " + role
		o := h.Kept(role)
		if o == nil {
			var err error
			if o, err = build(role); err != nil {
				return nil // the target's BTF lacks the type
			}
			h.Keep(role, o)
		}
		out = append(out, o)
		return o
	}
	sock := func(s SockSpec) func(string) (*object.Object, error) {
		return func(role string) (*object.Object, error) { return h.NewSock(role, s) }
	}
	host := func(n byte) []byte { return []byte{0x20, 0x01, 0x0d, 0xb8, 15: n} } // 2001:db8::n
	switch protocol {
	case "tcp":
		listener := add("listener", sock(SockSpec{State: TCPListen, SourcePort: 22}))
		add("connection", sock(SockSpec{}))
		add("connection over IPv6", sock(SockSpec{Family: uapi.AFInet6, Source: host(1), Dest: host(2)}))
		add("time-wait", func(role string) (*object.Object, error) {
			return h.minisock(role, "tcp_timewait_sock", "tw_sk.__tw_common", TCPTimeWait)
		})
		add("request", func(role string) (*object.Object, error) {
			o, err := h.minisock(role, "tcp_request_sock", "req.req.__req_common", TCPNewSynRecv)
			if err == nil {
				object.Build(o).As("tcp_request_sock").Ptr("req.req.rsk_listener|req.req.__req_common.skc_listener", listener)
			}
			return o, err
		})
	case "udp":
		add("socket", sock(SockSpec{Protocol: ProtoUDP, Type: SockDgram, SourcePort: 53}))
		add("socket over IPv6", sock(SockSpec{Family: uapi.AFInet6, Protocol: ProtoUDP, Type: SockDgram, SourcePort: 547}))
	}
	return out
}

// minisock builds the object of a connection that is not, or no longer, a full socket.
func (h *Host) minisock(role, typ, common string, state uint64) (*object.Object, error) {
	o, err := h.NewIn(role, "sock_common", typ, "")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	b := object.Build(o).As(typ)
	local, remote := h.IPv4(role+".local"), h.IPv4(role+".remote")
	lport, rport := h.Port(role+".local"), h.Port(role+".remote")
	b.Num(common+".skc_family", uapi.AFInet)
	b.Num(common+".skc_state", state)
	b.Bytes(common+".skc_rcv_saddr", local[:])
	b.Bytes(common+".skc_daddr", remote[:])
	b.Num(common+".skc_num", uint64(lport))
	b.Bytes(common+".skc_dport", []byte{byte(rport >> 8), byte(rport)})
	b.Bytes(common+".skc_v6_rcv_saddr", mapped(local))
	b.Bytes(common+".skc_v6_daddr", mapped(remote))
	b.Num(common+".skc_bound_dev_if", 0)
	b.Ptr(common+".skc_net.net", h.Singleton("net"))
	return o, nil
}
