package helpers

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// open makes a socket that lookups find.
func (r *rig) open(role string, s net.SockSpec) (*object.Object, *net.Socket) {
	r.t.Helper()
	o, err := r.kernel.NewSock(role, s)
	require.NoError(r.t, err)
	require.NoError(r.t, r.kernel.OpenSocket(o))
	sk, err := r.kernel.SocketOf(o)
	require.NoError(r.t, err)
	return o, sk
}

// field loads a field of a context, as a program does.
func (r *rig) field(addr uint64, size int) uint64 {
	r.t.Helper()
	v, f := r.mem.Load(addr, size)
	require.Nil(r.t, f)
	return v
}

func be32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// tuple is a struct bpf_sock_tuple for IPv4.
func tuple(from, to uint32, sport, dport uint16) []byte {
	b := append(be32(from), be32(to)...)
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, sport), dport)
}

func TestSocketLookups(t *testing.T) {
	r := newRig(t, newest)
	_, listener := r.open("listener", net.SockSpec{State: 10, SourcePort: 80})
	_, conn := r.open("connection", net.SockSpec{Source: []byte{10, 0, 0, 1}, Dest: []byte{10, 0, 0, 2}, SourcePort: 80, DestPort: 999})
	_, dns := r.open("dns", net.SockSpec{Protocol: ipprotoUDP, Type: sockDgram, SourcePort: 53})
	_, wait := r.open("time wait", net.SockSpec{State: tcpTimeWait, Source: []byte{10, 0, 0, 1}, Dest: []byte{10, 0, 0, 3}, SourcePort: 80, DestPort: 7})
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	const self, peer, other = 0x0a000001, 0x0a000002, 0x0a000003
	for _, x := range []struct {
		name  string
		id    uapi.FuncID
		tuple []byte
		netns uint64
		flags uint64
		want  *net.Socket
	}{
		{"connection", uapi.FuncSkLookupTcp, tuple(peer, self, 999, 80), ^uint64(0), 0, conn},
		{"listener", uapi.FuncSkLookupTcp, tuple(peer, self, 998, 80), ^uint64(0), 0, listener},
		{"other port", uapi.FuncSkLookupTcp, tuple(peer, self, 999, 81), ^uint64(0), 0, nil},
		{"udp", uapi.FuncSkLookupUdp, tuple(peer, self, 999, 53), ^uint64(0), 0, dns},
		{"tcp socket by udp", uapi.FuncSkLookupUdp, tuple(peer, self, 999, 80), ^uint64(0), 0, nil},
		{"time wait is none", uapi.FuncSkLookupTcp, tuple(other, self, 7, 80), ^uint64(0), 0, nil},
		{"time wait", uapi.FuncSkcLookupTcp, tuple(other, self, 7, 80), ^uint64(0), 0, wait},
		{"other namespace", uapi.FuncSkLookupTcp, tuple(peer, self, 999, 80), 3, 0, nil},
		{"flags", uapi.FuncSkLookupTcp, tuple(peer, self, 999, 80), ^uint64(0), 1, nil},
		{"length", uapi.FuncSkLookupTcp, tuple(peer, self, 999, 80)[:8], ^uint64(0), 0, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := r.ok(x.id, c.Addr, r.alloc(x.tuple), uint64(len(x.tuple)), x.netns, x.flags)
			if x.want == nil {
				assert.Zero(t, got)
				return
			}
			require.Same(t, x.want, r.kernel.SocketAt(got))
			require.Len(t, r.env.Run.Held.Things(), 1, "a reference")
			assert.Zero(t, r.ok(uapi.FuncSkRelease, got))
			assert.Empty(t, r.env.Run.Held.Things())
			_, f := r.call(uapi.FuncSkRelease, got)
			assert.NotNil(t, f, "released twice")
		})
	}
	assert.Equal(t, listener.FullAddr(), r.ok(uapi.FuncGetListenerSock, listener.FullAddr()))
	assert.Zero(t, r.ok(uapi.FuncGetListenerSock, conn.FullAddr()))
	tcp := r.ok(uapi.FuncTcpSock, conn.FullAddr())
	assert.EqualValues(t, 10, r.field(tcp, 4), "snd_cwnd")
	assert.Zero(t, r.ok(uapi.FuncTcpSock, wait.Addr()))
	cast := r.ok(uapi.FuncSkcToTcpSock, conn.FullAddr())
	assert.Equal(t, conn, r.kernel.SocketAt(cast), "the kernel's struct is the same socket")
	_, f := r.mem.Load(conn.Addr()+12, 4)
	assert.NotNil(t, f, "the protocol of a sock_common")
	v, f := r.mem.Load(conn.FullAddr()+12, 4)
	require.Nil(t, f)
	assert.EqualValues(t, ipprotoTCP, v)
	v, f = r.mem.Load(conn.FullAddr()+48, 4)
	require.Nil(t, f)
	assert.EqualValues(t, uint16(999)>>8|uint16(999)&0xff<<8, v, "dst_port in network order")
	_, f = r.mem.Load(conn.FullAddr()+50, 2)
	assert.NotNil(t, f, "what lies behind dst_port")
}

func TestSkAssign(t *testing.T) {
	r := newRig(t, newest)
	_, listener := r.open("listener", net.SockSpec{State: 10, SourcePort: 80})
	_, conn := r.open("connection", net.SockSpec{SourcePort: 81, DestPort: 5})
	_, dns := r.open("dns", net.SockSpec{Protocol: ipprotoUDP, Type: sockDgram, SourcePort: 53})
	c := r.context(uapi.ProgTypeSkLookup, hook.ContextSpec{Attach: uapi.AttachSkLookup})
	assign := func(sk, flags uint64) uint64 { return r.ok(uapi.FuncSkAssign, c.Addr, sk, flags) }
	assert.Equal(t, neg(uapi.ESOCKTNOSUPPORT), assign(conn.FullAddr(), 0))
	assert.Equal(t, neg(uapi.EPROTOTYPE), assign(dns.FullAddr(), 0))
	assert.Equal(t, neg(uapi.EINVAL), assign(listener.FullAddr(), 4))
	assert.Zero(t, assign(listener.FullAddr(), 0))
	assert.Equal(t, neg(uapi.EEXIST), assign(listener.FullAddr(), 0))
	assert.Equal(t, listener.FullAddr(), r.field(c.Addr, 8))
	assert.Equal(t, listener.Cookie(), binary.LittleEndian.Uint64(c.CtxOut()))
	assert.Zero(t, assign(0, uapi.SkLookupReplace))
	assert.Zero(t, r.field(c.Addr, 8))

	c = r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	assert.Equal(t, neg(uapi.EOPNOTSUPP), assign(conn.FullAddr(), 0), "not at ingress, as in a test run")
	c = r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{Attach: uapi.AttachTcxIngress})
	assert.Equal(t, neg(uapi.EINVAL), assign(conn.FullAddr(), 1))
	assert.Zero(t, assign(conn.FullAddr(), 0))
	sk, _ := c.Field("sk")
	assert.Same(t, conn, r.kernel.SocketAt(sk))
}

func TestSocketOptions(t *testing.T) {
	r := newRig(t, newest)
	o, sk := r.open("sk", net.SockSpec{})
	c := r.context(uapi.ProgTypeSockOps, hook.ContextSpec{NetSpec: hook.NetSpec{Socket: o}})
	set := func(level, name uint64, v int32) uint64 {
		return r.ok(uapi.FuncSetsockopt, c.Addr, level, name, r.alloc(binary.LittleEndian.AppendUint32(nil, uint32(v))), 4)
	}
	get := func(level, name uint64) (uint64, int32) {
		out := r.alloc([]byte{9, 9, 9, 9})
		ret := r.ok(uapi.FuncGetsockopt, c.Addr, level, name, out, 4)
		return ret, int32(r.u32(out))
	}
	einval := neg(uapi.EINVAL)
	for _, x := range []struct {
		name       string
		level, opt uint64
		v          int32
		ret        uint64
		now        int32
	}{
		{"keepalive is a flag", solSocket, 9, 7, 0, 1},
		{"send buffer doubles", solSocket, 7, 10000, 0, 20000},
		{"send buffer has a least", solSocket, 7, 1, 0, leastSendBuffer},
		{"mark", solSocket, 36, 0x77, 0, 0x77},
		{"priority", solSocket, 12, 5, 0, 5},
		{"lowat", solSocket, 18, -1, 0, 1<<31 - 1},
		{"keepidle", solTCP, 4, 30, 0, 30},
		{"keepidle range", solTCP, 4, 0, einval, 30},
		{"tos keeps ecn", solIP, ipTOS, 0x13, 0, 0x10},
		{"callbacks", solTCP, tcpBPFCallbacks, 0x7f, 0, 0x7f},
		{"unknown callbacks", solTCP, tcpBPFCallbacks, 0x80, einval, 0x7f},
	} {
		t.Run(x.name, func(t *testing.T) {
			assert.Equal(t, x.ret, set(x.level, x.opt, x.v))
			ret, v := get(x.level, x.opt)
			assert.Zero(t, ret)
			assert.Equal(t, x.now, v)
		})
	}
	mark, err := o.Uint("sk_mark")
	require.NoError(t, err)
	assert.EqualValues(t, 0x77, mark, "the kernel's struct follows")
	assert.Equal(t, einval, set(solIPv6, ipv6TClass, 1), "not an IPv6 socket")
	assert.Equal(t, einval, set(99, 1, 1))
	ret, v := get(99, 1)
	assert.Equal(t, einval, ret)
	assert.Zero(t, v, "zeroed on errors")
	ret, v = get(solTCP, 5)
	assert.Zero(t, ret)
	assert.EqualValues(t, 75, v, "the default")
	assert.Equal(t, neg(uapi.ENOENT), r.ok(uapi.FuncSetsockopt, c.Addr, solTCP, tcpCongestion, r.str("vegas"), 6))
	assert.Zero(t, r.ok(uapi.FuncSetsockopt, c.Addr, solTCP, tcpCongestion, r.str("reno"), 5))
	out := r.space(8)
	assert.Zero(t, r.ok(uapi.FuncGetsockopt, c.Addr, solTCP, tcpCongestion, out, 8))
	assert.Equal(t, "reno\x00\x00\x00\x00", string(r.bytes(out, 8)))
	assert.Zero(t, r.ok(uapi.FuncSetsockopt, c.Addr, solSocket, soBindToDevice, r.str("eth0"), 5))
	dev, _ := sk.Number("bound_dev_if")
	assert.EqualValues(t, 2, dev)
	assert.Equal(t, neg(uapi.ENODEV), r.ok(uapi.FuncSetsockopt, c.Addr, solSocket, soBindToDevice, r.str("eth9"), 5))
	assert.EqualValues(t, 0x100, r.ok(uapi.FuncSockOpsCbFlagsSet, c.Addr, 0x103))
	assert.EqualValues(t, 3, sk.CallbackFlags())
	_, f := r.call(uapi.FuncSetsockopt, r.space(4), solSocket, 9, r.space(4), 4)
	require.NotNil(t, f)
	assert.Equal(t, vm.BadArgument, f.Kind)
}

func TestHeaderOptions(t *testing.T) {
	syn := net.DefaultPacket()
	syn = append(syn[:54:54], 2, 4, 5, 0xb4, 1, 1, 253, 6, 0xeb, 0x9f, 1, 2) // MSS, two NOPs, an experimental one
	syn[46] = 0x80                                                           // 32 bytes of header
	event := func(op uint64) (*rig, *hook.Context) {
		r := newRig(t, newest)
		return r, r.context(uapi.ProgTypeSockOps, hook.ContextSpec{Packet: syn, NetSpec: hook.NetSpec{Fields: map[string]uint64{"op": op}}})
	}
	r, c := event(13)
	load := func(want []byte, flags uint64) (uint64, []byte) {
		at := r.alloc(want)
		return r.ok(uapi.FuncLoadHdrOpt, c.Addr, at, uint64(len(want)), flags), r.bytes(at, len(want))
	}
	ret, opt := load([]byte{2, 0, 0, 0}, 0)
	assert.EqualValues(t, 4, ret)
	assert.Equal(t, []byte{2, 4, 5, 0xb4}, opt)
	ret, opt = load([]byte{253, 4, 0xeb, 0x9f, 0, 0}, 0)
	assert.EqualValues(t, 6, ret)
	assert.Equal(t, []byte{253, 6, 0xeb, 0x9f, 1, 2}, opt)
	for name, x := range map[string]struct {
		want  []byte
		flags uint64
		errno uapi.Errno
	}{
		"absent": {[]byte{8, 0, 0, 0}, 0, uapi.ENOMSG}, "no room": {[]byte{2, 0}, 0, uapi.ENOSPC}, "nop": {[]byte{1, 0}, 0, uapi.EINVAL},
		"length given": {[]byte{2, 4, 0, 0}, 0, uapi.EINVAL}, "flags": {[]byte{2, 0}, 2, uapi.EINVAL}, "saved SYN": {[]byte{2, 0}, 1, uapi.ENOENT},
		"magic": {[]byte{253, 4, 1, 1}, 0, uapi.ENOMSG},
	} {
		ret, _ := load(x.want, x.flags)
		assert.Equal(t, neg(x.errno), ret, name)
	}
	assert.Equal(t, neg(uapi.EPERM), r.ok(uapi.FuncStoreHdrOpt, c.Addr, r.alloc([]byte{2, 4, 0, 0}), 4, 0))
	assert.Equal(t, neg(uapi.EPERM), r.ok(uapi.FuncReserveHdrOpt, c.Addr, 4, 0))

	r, c = event(14)
	assert.Zero(t, r.ok(uapi.FuncReserveHdrOpt, c.Addr, 12, 0))
	assert.Equal(t, neg(uapi.ENOSPC), r.ok(uapi.FuncReserveHdrOpt, c.Addr, 29, 0))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncReserveHdrOpt, c.Addr, 1, 0))
	assert.Equal(t, neg(uapi.EPERM), r.ok(uapi.FuncLoadHdrOpt, c.Addr, r.alloc([]byte{2, 0, 0, 0}), 4, 0))

	r, c = event(15)
	assert.Equal(t, neg(uapi.EEXIST), r.ok(uapi.FuncStoreHdrOpt, c.Addr, r.alloc([]byte{2, 4, 0, 0}), 4, 0))
	assert.Zero(t, r.ok(uapi.FuncStoreHdrOpt, c.Addr, r.alloc([]byte{254, 4, 7, 7}), 4, 0))
	assert.Equal(t, []byte{254, 4, 7, 7}, c.TCPHeader()[32:])
	data, end := r.field(c.Addr+192, 8), r.field(c.Addr+200, 8)
	assert.EqualValues(t, 36, end-data)
	_, f := r.mem.Load(end, 1)
	assert.NotNil(t, f)
	assert.Equal(t, neg(uapi.ENOSPC), r.ok(uapi.FuncStoreHdrOpt, c.Addr, r.alloc(append([]byte{99, 25}, make([]byte, 23)...)), 25, 0))
}

func TestSysctl(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeCgroupSysctl, hook.ContextSpec{NetSpec: hook.NetSpec{
		Sysctl: &hook.Sysctl{Name: "net/ipv4/tcp_mem", Write: true, Value: []byte("1 2 3\n"), New: []byte("4 5 6")}}})
	out := r.space(32)
	assert.EqualValues(t, 16, r.ok(uapi.FuncSysctlGetName, c.Addr, out, 32, 0))
	assert.Equal(t, "net/ipv4/tcp_mem\x00", string(r.bytes(out, 17)))
	assert.EqualValues(t, 7, r.ok(uapi.FuncSysctlGetName, c.Addr, out, 8, uapi.SysctlBaseName))
	assert.Equal(t, neg(uapi.E2BIG), r.ok(uapi.FuncSysctlGetName, c.Addr, out, 7, uapi.SysctlBaseName))
	assert.Equal(t, "tcp_me\x00", string(r.bytes(out, 7)))
	assert.EqualValues(t, 6, r.ok(uapi.FuncSysctlGetCurrentValue, c.Addr, out, 8))
	assert.Equal(t, "1 2 3\n\x00\x00", string(r.bytes(out, 8)))
	assert.Equal(t, neg(uapi.E2BIG), r.ok(uapi.FuncSysctlGetNewValue, c.Addr, out, 5))
	assert.Equal(t, "4 5 \x00", string(r.bytes(out, 5)))
	assert.Zero(t, r.ok(uapi.FuncSysctlSetNewValue, c.Addr, r.str("600 900 1200"), 12))
	assert.Equal(t, "600 900 1200", string(c.Sysctl().New))
	c = r.context(uapi.ProgTypeCgroupSysctl, hook.ContextSpec{})
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSysctlSetNewValue, c.Addr, r.str("1"), 1), "a read")
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncSysctlGetNewValue, c.Addr, out, 8))
}

func TestSockMaps(t *testing.T) {
	r := newRig(t, newest)
	o, sk := r.open("sk", net.SockSpec{})
	m := r.newMap(maps.Spec{Type: uapi.MapTypeSockmap, KeySize: 4, ValueSize: 4, MaxEntries: 2})
	h := r.newMap(maps.Spec{Type: uapi.MapTypeSockhash, KeySize: 8, ValueSize: 4, MaxEntries: 1})
	c := r.context(uapi.ProgTypeSockOps, hook.ContextSpec{NetSpec: hook.NetSpec{Socket: o}})
	key := r.alloc([]byte{1, 0, 0, 0, 0, 0, 0, 0})
	assert.Zero(t, r.ok(uapi.FuncSockMapUpdate, c.Addr, m.Addr(), key, 0))
	assert.Equal(t, neg(uapi.EEXIST), r.ok(uapi.FuncSockMapUpdate, c.Addr, m.Addr(), key, uapi.NoExist))
	assert.Equal(t, neg(uapi.ENOENT), r.ok(uapi.FuncSockHashUpdate, c.Addr, h.Addr(), key, uapi.Exist))
	assert.Zero(t, r.ok(uapi.FuncSockHashUpdate, c.Addr, h.Addr(), key, 0))
	assert.Equal(t, neg(uapi.E2BIG), r.ok(uapi.FuncSockMapUpdate, c.Addr, m.Addr(), r.alloc([]byte{2, 0, 0, 0}), 0))
	got := r.ok(uapi.FuncMapLookupElem, m.Addr(), key)
	assert.Same(t, sk, r.kernel.SocketAt(got))
	require.Len(t, r.env.Run.Held.Things(), 1)
	assert.Zero(t, r.ok(uapi.FuncSkRelease, got))
	assert.Zero(t, r.ok(uapi.FuncMapDeleteElem, h.Addr(), key))
	assert.Zero(t, r.ok(uapi.FuncMapLookupElem, h.Addr(), key))
	r.ok(uapi.FuncSockOpsCbFlagsSet, c.Addr, 0)
	c = r.context(uapi.ProgTypeSockOps, hook.ContextSpec{NetSpec: hook.NetSpec{Socket: o, Fields: map[string]uint64{"op": 10}}})
	assert.Equal(t, neg(uapi.EOPNOTSUPP), r.ok(uapi.FuncSockMapUpdate, c.Addr, m.Addr(), key, 0), "at another event")
}

// TestAddressesToBindTo: an address has the length of its family at least, and the call is noted
// when it was made.
func TestAddressesToBindTo(t *testing.T) {
	for _, tt := range []struct {
		name           string
		socket, family uint16
		length         int
		want           uapi.Errno
	}{
		{"nothing", afInet, afInet, 0, uapi.EINVAL},
		{"half a family", afInet, afInet, 1, uapi.EINVAL},
		{"a family alone", afInet, afInet, 2, uapi.EINVAL},
		{"IPv4, too short", afInet, afInet, 15, uapi.EINVAL},
		{"IPv4", afInet, afInet, 16, 0},
		{"IPv4, longer", afInet, afInet, 28, 0},
		{"IPv6, too short", afInet6, afInet6, 23, uapi.EINVAL},
		{"IPv6 without a scope", afInet6, afInet6, 24, 0},
		{"IPv6", afInet6, afInet6, 28, 0},
		{"a path", afInet, afUnix, 28, uapi.EAFNOSUPPORT},
		{"a family alone of another kind", afInet, afUnix, 2, uapi.EAFNOSUPPORT},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, newest)
			o, s := r.open("sk", net.SockSpec{Family: tt.socket, Source: make([]byte, 16)[:4+12*(tt.socket/afInet6)]})
			c := r.context(uapi.ProgTypeCgroupSockAddr, hook.ContextSpec{Attach: uapi.AttachCgroupInet4Connect, NetSpec: hook.NetSpec{Socket: o}})
			s.SetNumber("src_port", 0)
			addr := binary.LittleEndian.AppendUint16(nil, tt.family)
			addr = append(addr, 0x1f, 0x90, 10, 0, 0, 9)
			addr = append(addr, make([]byte, 20)...)[:tt.length]
			got := r.ok(uapi.FuncBind, c.Addr, r.alloc(append([]byte{}, addr...)), uint64(tt.length))
			if tt.want != 0 {
				assert.Equal(t, neg(tt.want), got)
				assert.Empty(t, r.env.Run.Events)
				return
			}
			assert.Zero(t, got)
			port, _ := s.Number("src_port")
			assert.EqualValues(t, 8080, port)
			require.Len(t, r.env.Run.Events, 1)
			assert.Equal(t, Event{Kind: Bind, Number: 8080, Detail: s.Role(), Data: addr}, r.env.Run.Events[0])
		})
	}
}

// TestWhichSocketsAreWhat: bpf_skc_to_* answer for sockets of their kind, with all that belongs to
// it: a datagram socket of another protocol is no UDP socket, one that waits is no full socket.
func TestWhichSocketsAreWhat(t *testing.T) {
	const raw, icmp6, sctp = 3, 58, 132
	all := []uapi.FuncID{uapi.FuncSkcToTcpSock, uapi.FuncSkcToTcp6Sock, uapi.FuncSkcToUdp6Sock, uapi.FuncSkcToUnixSock,
		uapi.FuncSkcToTcpTimewaitSock, uapi.FuncSkcToTcpRequestSock, uapi.FuncSkcToMptcpSock}
	r := newRig(t, newest)
	for _, tt := range []struct {
		name string
		spec net.SockSpec
		is   []uapi.FuncID
	}{
		{"TCP", net.SockSpec{}, []uapi.FuncID{uapi.FuncSkcToTcpSock}},
		{"TCP that listens", net.SockSpec{State: 10}, []uapi.FuncID{uapi.FuncSkcToTcpSock}},
		{"TCP over IPv6", net.SockSpec{Family: afInet6}, []uapi.FuncID{uapi.FuncSkcToTcpSock, uapi.FuncSkcToTcp6Sock}},
		{"TCP that waits", net.SockSpec{State: tcpTimeWait}, []uapi.FuncID{uapi.FuncSkcToTcpTimewaitSock}},
		{"TCP over IPv6 that waits", net.SockSpec{Family: afInet6, State: tcpTimeWait}, []uapi.FuncID{uapi.FuncSkcToTcpTimewaitSock}},
		{"a request", net.SockSpec{State: tcpNewSynRecv}, []uapi.FuncID{uapi.FuncSkcToTcpRequestSock}},
		{"a request over IPv6", net.SockSpec{Family: afInet6, State: tcpNewSynRecv}, []uapi.FuncID{uapi.FuncSkcToTcpRequestSock}},
		{"SCTP over IPv6", net.SockSpec{Family: afInet6, Protocol: sctp}, nil},
		{"UDP", net.SockSpec{Protocol: ipprotoUDP, Type: sockDgram}, nil},
		{"UDP over IPv6", net.SockSpec{Family: afInet6, Protocol: ipprotoUDP, Type: sockDgram}, []uapi.FuncID{uapi.FuncSkcToUdp6Sock}},
		{"raw UDP over IPv6", net.SockSpec{Family: afInet6, Protocol: ipprotoUDP, Type: raw}, nil},
		{"ping over IPv6", net.SockSpec{Family: afInet6, Protocol: icmp6, Type: sockDgram}, nil},
		{"Unix", net.SockSpec{Family: afUnix, Protocol: 255, Type: sockDgram}, []uapi.FuncID{uapi.FuncSkcToUnixSock}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := r.kernel.NewSock(tt.name, tt.spec)
			require.NoError(t, err)
			for _, id := range all {
				want := uint64(0)
				if slices.Contains(tt.is, id) {
					want = o.Addr()
				}
				assert.Equal(t, want, r.ok(id, o.Addr()), "%v", id)
			}
		})
	}
}

func TestBind(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeCgroupSockAddr, hook.ContextSpec{Attach: uapi.AttachCgroupInet4Connect})
	s := c.Socket()
	s.SetNumber("src_port", 0)
	addr := []byte{2, 0, 0x1f, 0x90, 10, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0}
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncBind, c.Addr, r.alloc(addr), 8))
	assert.Equal(t, neg(uapi.EAFNOSUPPORT), r.ok(uapi.FuncBind, c.Addr, r.alloc([]byte{1, 0}), 2))
	assert.Zero(t, r.ok(uapi.FuncBind, c.Addr, r.alloc(addr), 16))
	port, _ := s.Number("src_port")
	assert.EqualValues(t, 8080, port)
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncBind, c.Addr, r.alloc(addr), 16), "bound already")
}
