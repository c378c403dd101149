package net

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// A Socket is a socket as seen by networking programs: through pointers to struct bpf_sock and
// struct bpf_tcp_sock, whose accesses the verifier rewrites. It is backed by a struct sock of the
// target's BTF, created on demand, which receives every change. The three kinds of pointers are
// three addresses, because an address has only one meaning in simulated memory: a socket of
// __sk_buff shows less than the result of bpf_sk_fullsock.
type Socket struct {
	k    *Host  `snapshot:"fixed"`
	role string `snapshot:"fixed"`
	obj  *object.Object
	made bool // obj was created for the socket, not the socket for obj
	vals [numSockVals]uint64
	was  [numSockVals]uint64 // before the first address was given out
	opts map[SockOption][]byte
	syn  []byte // the SYN's headers, when TCP_SAVE_SYN kept them
	open bool   // lookups find it
	key  uint64 // 0 until it is needed

	shown bool // a program has had its address
	age   int  `snapshot:"fixed"` // snapshots of the host before it was made
	// common, full and tcp are the addresses of a sock_common, a socket and a TCP socket.
	common, full, tcp *mem.Region
}

// SockOption is a socket option by level and name.
type SockOption struct{ Level, Name int32 }

// socketOf returns the socket for a struct sock, with its current values.
func (h *Host) socketOf(o *object.Object) *Socket {
	i := slices.IndexFunc(h.sockets, func(s *Socket) bool { return s.obj == o })
	if i < 0 {
		s := &Socket{k: h, role: o.Role(), obj: o}
		s.read()
		s.was = s.vals
		h.sockets = append(h.sockets, s)
		return s
	}
	s := h.sockets[i]
	s.read()
	return s
}

// DefaultSocket returns the default socket for a role. All contexts with that role share it.
func (h *Host) DefaultSocket(role string, spec SockSpec) *Socket {
	if s := h.defaults.Get(role); s != nil {
		if s.obj != nil {
			s.read()
		}
		return s
	}
	s := &Socket{k: h, role: role}
	if o, err := h.NewSock(role, spec); err == nil {
		s = h.socketOf(o)
	} else {
		s.plain(spec)
		h.sockets = append(h.sockets, s)
	}
	h.defaults.Set(role, s)
	return s
}

// SocketOf returns the socket of a struct sock, inet_sock or tcp_sock. The error names the type it
// has instead.
func (h *Host) SocketOf(o *object.Object) (*Socket, error) {
	if l := o.Storage(); l == nil || !socketTypes[l.Name] {
		return nil, &object.TypeError{Type: o.TypeName(), Role: o.Role(), Why: "is not a socket"}
	}
	return h.socketOf(o), nil
}

// socketTypes are the types that begin with a sock_common.
var socketTypes = map[string]bool{
	"sock_common": true, "sock": true, "inet_sock": true, "inet_connection_sock": true, "tcp_sock": true, "tcp6_sock": true, "udp_sock": true, "udp6_sock": true,
	"raw_sock": true, "raw6_sock": true, "unix_sock": true, "packet_sock": true, "netlink_sock": true, "vsock_sock": true, "mptcp_sock": true,
	"inet_timewait_sock": true, "tcp_timewait_sock": true, "request_sock": true, "inet_request_sock": true, "tcp_request_sock": true,
}

// OpenSocket makes lookups find an object's socket.
func (h *Host) OpenSocket(o *object.Object) error {
	s, err := h.SocketOf(o)
	if err == nil {
		s.open = true
	}
	return err
}

// socketContext is a context that shows a socket: for a program that gets a struct bpf_sock.
type socketContext interface {
	// SocketIn returns the socket that a region of the context shows, or nil.
	SocketIn(r *mem.Region) *Socket
}

// SocketAt returns the socket at an address used by a program, that of a struct bpf_sock or
// bpf_tcp_sock or of the struct sock itself, or nil.
func (h *Host) SocketAt(addr uint64) *Socket {
	r := h.Mem().Find(addr)
	if r == nil {
		return nil
	}
	switch owner := r.Owner.(type) {
	case *Socket:
		if r.Base == h.Mem().Truncate(addr) {
			return owner
		}
	case *object.Object:
		if h.Mem().Truncate(addr) == owner.Addr() {
			if s, err := h.SocketOf(owner); err == nil {
				return s
			}
		}
	case socketContext:
		if r.Base == h.Mem().Truncate(addr) {
			return owner.SocketIn(r)
		}
	}
	return nil
}

// SocketView returns the socket whose struct bpf_sock or bpf_tcp_sock is at addr, nil when there is
// none.
func (h *Host) SocketView(addr uint64) *Socket {
	r := h.Mem().Find(addr)
	if r == nil || r.Base != h.Mem().Truncate(addr) {
		return nil
	}
	s, _ := r.Owner.(*Socket)
	return s
}

// IsSocket reports whether addr is that of a struct bpf_sock or bpf_tcp_sock.
func (h *Host) IsSocket(addr uint64) bool {
	r := h.Mem().Find(addr)
	if r == nil || r.Base != h.Mem().Truncate(addr) {
		return false
	}
	_, ok := r.Owner.(*Socket)
	return ok
}

// read copies the values from the object.
func (s *Socket) read() {
	b := object.Build(s.obj)
	for i := range sockPlaces {
		p := &sockPlaces[i]
		if f, ok := b.As(p.in).Field(p.path); ok {
			s.vals[p.val] = s.k.scalar(s.obj, f, p.at)
		}
	}
}

// scalar returns a scalar field, or four bytes of a larger one.
func (h *Host) scalar(o *object.Object, f object.Field, at int) uint64 {
	if f.Size <= 8 {
		return o.LoadField(f)
	}
	b := o.Present(f.Off, f.Size)
	if at+4 > len(b) {
		return 0
	}
	return uint64(h.Order().Uint32(b[at:]))
}

// Set changes a value, in the object as well.
func (s *Socket) Set(v Value, x uint64) {
	s.vals[v] = x
	if s.obj == nil {
		return
	}
	b := object.Build(s.obj)
	for i := range sockPlaces {
		p := &sockPlaces[i]
		if p.val != v {
			continue
		}
		f, ok := b.As(p.in).Field(p.path)
		switch {
		case !ok:
		case f.Size <= 8:
			s.obj.StoreField(f, x, object.Given)
		default:
			w := make([]byte, 4)
			s.k.Order().PutUint32(w, uint32(x))
			s.obj.Poke(f.Off+uint64(p.at), w, object.Given)
		}
	}
}

// Abort closes a connection at once.
func (s *Socket) Abort() { s.Set(SockState, TCPClose) }

// view returns the address of the socket as one of its kinds.
func (s *Socket) view(at **mem.Region, layout *progtype.Context, fields []Field, rules *progtype.Access) uint64 {
	if *at != nil {
		return (*at).Base
	}
	v := &View{Host: s.k, Who: "BPF", Layout: layout, Rules: rules, Fields: fields, Socket: s}
	r, err := s.k.Mem().Alloc(uint64(layout.Size), mem.Region{Kind: mem.Context, Name: layout.User, View: v, Owner: s})
	if err != nil {
		s.k.Fail(fmt.Errorf("kernel: socket: %w", err))
		return 0
	}
	*at, s.shown = r, true
	if !slices.Contains(s.k.sockets, s) {
		s.was = s.vals
		s.k.sockets = append(s.k.sockets, s)
	}
	return r.Base
}

// Addr returns the address of the socket as a struct bpf_sock of unknown kind (PTR_TO_SOCK_COMMON).
func (s *Socket) Addr() uint64 {
	return s.view(&s.common, progtype.Sock, SockFields(), progtype.CommonSock)
}

// FullAddr returns the address of the socket as a struct bpf_sock (PTR_TO_SOCKET).
func (s *Socket) FullAddr() uint64 {
	return s.view(&s.full, progtype.Sock, SockFields(), progtype.FullSock)
}

// Key returns the address that identifies the socket, that of its struct sock if it has one.
func (s *Socket) Key() uint64 {
	switch {
	case s.key != 0:
	case s.obj != nil:
		s.key = s.obj.Addr()
	default:
		s.key = s.FullAddr()
	}
	return s.key
}

// TCPAddr returns the address of the socket as a struct bpf_tcp_sock.
func (s *Socket) TCPAddr() uint64 {
	return s.view(&s.tcp, progtype.TCPSock, tcpSockFields(), progtype.FullTCPSock)
}

// Object returns the struct sock, which is created if necessary. The error means that the target's
// BTF has no such type.
func (s *Socket) Object() (*object.Object, error) {
	if s.obj != nil {
		return s.obj, nil
	}
	o, err := s.k.NewObjectNamed(s.role, "sock")
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	object.Build(o).Null("sk_socket") // of no file (sock_init_data(NULL, sk))
	s.obj, s.made = o, true
	for v := range numSockVals {
		s.Set(v, s.vals[v])
	}
	return o, nil
}

// Family returns the socket's address family in the kernel's numbers.
func (s *Socket) Family() uint16 { return uint16(s.vals[SockFamily]) }

// Protocol returns the socket's protocol (IPPROTO_TCP).
func (s *Socket) Protocol() uint16 { return uint16(s.vals[SockProtocol]) }

// IsTCP reports whether it is a TCP socket.
func (s *Socket) IsTCP() bool { return s.Protocol() == ProtoTCP }

// Type returns the socket's type (SOCK_STREAM, SOCK_DGRAM).
func (s *Socket) Type() uint16 { return uint16(s.vals[SockType]) }

// State returns the TCP state.
func (s *Socket) State() uint8 { return uint8(s.vals[SockState]) }

// Full reports whether it is a full socket: neither a time-wait nor a request socket (sk_fullsock).
func (s *Socket) Full() bool { return s.State() != TCPTimeWait && s.State() != TCPNewSynRecv }

// RCUFree reports whether the socket is used without a reference: listening TCP and UDP sockets
// (SOCK_RCU_FREE).
func (s *Socket) RCUFree() bool { return s.State() == TCPListen || s.Protocol() == ProtoUDP }

// Refcounted reports whether a pointer to the socket counts as a reference (sk_is_refcounted).
func (s *Socket) Refcounted() bool { return !s.Full() || !s.RCUFree() }

// Reuseport reports whether the socket shares its address with others.
func (s *Socket) Reuseport() bool { return s.vals[sockReuseport] != 0 }

// Grouped reports whether the socket is in a group that shares an address: it has SO_REUSEPORT, and
// listens or is a bound UDP socket.
func (s *Socket) Grouped() bool {
	return s.Reuseport() && s.RCUFree() && s.vals[SockSrcPort] != 0
}

// SharesPort reports whether two sockets are in one group (reuseport_add_sock): same protocol,
// family, local address and port.
func (s *Socket) SharesPort(o *Socket) bool {
	if s == o {
		return s.Grouped()
	}
	if !s.Grouped() || !o.Grouped() || s.Protocol() != o.Protocol() || s.Family() != o.Family() {
		return false
	}
	v6 := s.Family() == uapi.AFInet6
	mine, _ := s.address(v6, SockSrcIP4, SockSrcIP6)
	its, _ := o.address(v6, SockSrcIP4, SockSrcIP6)
	return bytes.Equal(mine, its) && s.vals[SockSrcPort] == o.vals[SockSrcPort] && s.vals[SockBoundDev] == o.vals[SockBoundDev]
}

// IPv6Only reports whether an IPv6 socket refuses IPv4.
func (s *Socket) IPv6Only() bool { return s.vals[sockIPv6Only] != 0 }

// Cookie returns the socket's cookie.
func (s *Socket) Cookie() uint64 { return s.vals[sockCookie] }

// UID returns the socket's owner.
func (s *Socket) UID() uint32 { return uint32(s.vals[sockUID]) }

// CallbackFlags returns the events that a sockops program asked for (bpf_sock_ops_cb_flags).
func (s *Socket) CallbackFlags() uint32 { return uint32(s.vals[SockCBFlags]) }

// SetCallbackFlags sets the events.
func (s *Socket) SetCallbackFlags(flags uint32) { s.Set(SockCBFlags, uint64(flags)) }

// SavedSYN returns the SYN that the connection began with, starting with its network header, or nil
// if it was not saved.
func (s *Socket) SavedSYN() []byte { return s.syn }

// Role returns the socket's name in messages.
func (s *Socket) Role() string { return s.role }

// Bind sets the socket's local address, 4 or 16 bytes, and port (__inet_bind): -EINVAL for a socket
// that has a port or is connected, and for an address of another family.
func (s *Socket) Bind(addr []byte, port uint16) uapi.Errno {
	if s.vals[SockSrcPort] != 0 || s.State() != TCPClose && s.State() != TCPEstablished {
		return uapi.EINVAL
	}
	switch {
	case len(addr) == 4 && s.Family() == uapi.AFInet:
		s.Set(SockSrcIP4, uint64(s.k.Order().Uint32(addr)))
	case len(addr) == 16 && s.Family() == uapi.AFInet6:
		for i := range Value(4) {
			s.Set(SockSrcIP6+i, uint64(s.k.Order().Uint32(addr[4*i:])))
		}
	default:
		return uapi.EAFNOSUPPORT
	}
	if port != 0 {
		s.Set(SockSrcPort, uint64(port))
	}
	return 0
}

// forget reverts what a socket got after a snapshot.
func (s *Socket) forget() {
	s.common, s.full, s.tcp, s.vals, s.opts, s.key = nil, nil, nil, s.was, nil, 0
	if s.made {
		s.obj, s.made = nil, false
	}
}

// save returns a copy that shares nothing mutable.
func (s *Socket) save() Socket {
	was := *s
	was.opts = maps.Clone(s.opts)
	return was
}

// Free releases the addresses of a socket that lives as long as a context.
func (s *Socket) Free() {
	if s.key != 0 && s.k.OnSocketFree != nil {
		s.k.OnSocketFree(s.key)
	}
	s.key = 0
	for _, r := range [...]*mem.Region{s.common, s.full, s.tcp} {
		if r != nil {
			s.k.Mem().Free(r)
		}
	}
	s.common, s.full, s.tcp = nil, nil, nil
	s.k.sockets = slices.DeleteFunc(s.k.sockets, func(o *Socket) bool { return o == s })
}

// LookupSocket finds the open socket for a packet with these addresses, as the kernel's tables do:
// a connection by all of its addresses, else the listening or unconnected socket with the most
// specific binding. Addresses are 4 or 16 bytes; from is the sender's; ports are in host byte
// order.
func (h *Host) LookupSocket(protocol uint16, from []byte, fromPort uint16, to []byte, toPort uint16, device uint32) *Socket {
	var best *Socket
	most := -1
	for _, s := range h.sockets {
		if !s.open || s.Protocol() != protocol || s.vals[SockSrcPort] != uint64(toPort) {
			continue
		}
		if n := s.score(from, fromPort, to, device); n > most {
			best, most = s, n
		}
	}
	return best
}

// score rates how well a socket matches a packet for its port, -1 if it does not (compute_score in
// net/ipv4/udp.c and inet_hashtables.c).
func (s *Socket) score(from []byte, fromPort uint16, to []byte, device uint32) int {
	n := 0
	if s.Family() == uapi.AFInet {
		n++
	}
	local, ok := s.address(len(to) == 16, SockSrcIP4, SockSrcIP6)
	remote, also := s.address(len(to) == 16, SockDstIP4, SockDstIP6)
	if !ok || !also {
		return -1
	}
	connected := s.vals[SockDstPort] != 0 && s.State() != TCPListen
	if !ZeroBytes(local) {
		if string(local) != string(to) {
			return -1
		}
		n += 4
	}
	if connected {
		if s.k.netPort(s.vals[SockDstPort]) != fromPort || !ZeroBytes(remote) && string(remote) != string(from) {
			return -1
		}
		n += 16
	} else if s.Protocol() == ProtoTCP && s.State() != TCPListen {
		return -1
	}
	if dev := s.vals[SockBoundDev]; dev != 0 {
		if uint32(dev) != device {
			return -1
		}
		n += 4
	}
	return n
}

// netPort converts a port in network byte order, as loaded, to a number.
func (h *Host) netPort(v uint64) uint16 {
	var b [2]byte
	h.Order().PutUint16(b[:], uint16(v))
	return uint16(b[0])<<8 | uint16(b[1])
}

// address returns an address of the socket in network byte order, as IPv4 or IPv6. ok is false if
// it has none of that family. An IPv6 socket that is not restricted to IPv6 also has the IPv4
// address that its own embeds, and any IPv4 address if its own is any.
func (s *Socket) address(v6 bool, four, six Value) (addr []byte, ok bool) {
	words := s.vals[four : four+1]
	if s.Family() == uapi.AFInet6 {
		words = s.vals[six : six+4]
	}
	b := make([]byte, 4*len(words))
	for i, w := range words {
		s.k.Order().PutUint32(b[4*i:], uint32(w))
	}
	switch {
	case v6 == (len(b) == 16):
		return b, true
	case v6 || s.IPv6Only():
		return nil, false
	case ZeroBytes(b):
		return b[:4], true
	}
	return b[12:], ZeroBytes(b[:10]) && b[10] == 0xff && b[11] == 0xff
}

// Option returns the value set for an option; ok is false if the socket has the kernel's default.
func (s *Socket) Option(o SockOption) (value []byte, ok bool) {
	value, ok = s.opts[o]
	return value, ok
}

// SetOption stores the value of an option.
func (s *Socket) SetOption(o SockOption, value []byte) {
	if s.opts == nil {
		s.opts = map[SockOption][]byte{}
	}
	s.opts[o] = slices.Clone(value)
}

// Number returns a value of a socket by its name in struct bpf_sock ("mark") or bpf_tcp_sock
// ("snd_cwnd"). ok is false for an unknown name.
func (s *Socket) Number(name string) (v uint64, ok bool) {
	if i, ok := sockNames()[name]; ok {
		return s.vals[i], true
	}
	return 0, false
}

// SetNumber changes a value by name, in the kernel's struct as well.
func (s *Socket) SetNumber(name string, v uint64) {
	if i, ok := sockNames()[name]; ok {
		s.Set(i, v)
	}
}

// sockNames are the values that helpers and options access by name.
var sockNames = sync.OnceValue(func() map[string]Value {
	m := map[string]Value{
		"bound_dev_if": SockBoundDev, "mark": SockMark, "priority": SockPriority, "reuseport": sockReuseport, "state": SockState,
		"txhash": SockTxhash, "snd_cwnd_clamp": tcpSndCwndClamp, "src_port": SockSrcPort,
	}
	for _, n := range TCPNumbers {
		m[n.Name] = n.Val
	}
	return m
})

// PortWord returns a port in network byte order in the upper half of a number, as in __sk_buff and
// bpf_sock_ops.
func (h *Host) PortWord(v uint64) uint64 {
	if h.BigEndian() {
		return v
	}
	return v << 16
}

// plain sets the values of a socket without struct sock from a description.
func (s *Socket) plain(spec SockSpec) {
	or := func(v, otherwise uint64) uint64 {
		if v == 0 {
			return otherwise
		}
		return v
	}
	s.vals[SockFamily], s.vals[SockState] = or(uint64(spec.Family), uapi.AFInet), or(uint64(spec.State), TCPEstablished)
	s.vals[SockType] = or(uint64(spec.Type), sockStream)
	if spec.Family != uapi.AFUnix {
		s.vals[SockProtocol] = or(uint64(spec.Protocol), ProtoTCP)
	}
	s.vals[sockRxQueue] = 0xffffffff
	s.vals[sockCookie] = 1 + s.k.Hash(s.role, "cookie")%(1<<16)
	s.was = s.vals
}

func ZeroBytes(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
