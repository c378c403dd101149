package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestContextRules: which accesses of the contexts of sockets and cgroups the verifier lets through
// (the is_valid_access functions of net/core/filter.c and kernel/bpf/cgroup.c).
func TestContextRules(t *testing.T) {
	k := newEmbedded(t)
	const (
		addr, sock, opt, ops = uapi.ProgTypeCgroupSockAddr, uapi.ProgTypeCgroupSock, uapi.ProgTypeCgroupSockopt, uapi.ProgTypeSockOps
		sysctl, device       = uapi.ProgTypeCgroupSysctl, uapi.ProgTypeCgroupDevice
		connect4, connect6   = uapi.AttachCgroupInet4Connect, uapi.AttachCgroupInet6Connect
		send4, send6         = uapi.AttachCgroupUdp4Sendmsg, uapi.AttachCgroupUdp6Sendmsg
		create, bound4       = uapi.AttachCgroupInetSockCreate, uapi.AttachCgroupInet4PostBind
		get, set             = uapi.AttachCgroupGetsockopt, uapi.AttachCgroupSetsockopt
	)
	for _, c := range []struct {
		name   string
		typ    uapi.ProgType
		attach uapi.AttachType
		off    uint64
		size   int
		write  bool
		ok     bool
	}{
		{"user_ip4", addr, connect4, 4, 4, false, true},
		{"user_ip4 by bytes", addr, connect4, 5, 1, false, true},
		{"user_ip4 written", addr, connect4, 4, 4, true, true},
		{"half of user_ip4 written", addr, connect4, 4, 2, true, false},
		{"user_ip4 of connect6", addr, connect6, 4, 4, false, false},
		{"user_ip6 of connect4", addr, connect4, 8, 4, false, false},
		{"two words of user_ip6", addr, connect6, 8, 8, false, true},
		{"two words of user_ip6 written", addr, connect6, 16, 8, true, true},
		{"two words across the port", addr, connect6, 20, 8, false, false},
		{"msg_src_ip4 of sendmsg4", addr, send4, 40, 4, true, true},
		{"msg_src_ip4 of connect4", addr, connect4, 40, 4, false, false},
		{"two words of msg_src_ip6", addr, send6, 48, 8, false, true},
		{"family", addr, connect4, 28, 4, false, true},
		{"half of family", addr, connect4, 28, 2, false, false},
		{"family written", addr, connect4, 28, 4, true, false},
		{"sk", addr, connect4, 64, 8, false, true},
		{"half of sk", addr, connect4, 64, 4, false, false},
		{"user_ip4 of unix", addr, uapi.AttachCgroupUnixConnect, 4, 4, false, false},
		{"mark of a new socket", sock, create, 16, 4, true, true},
		{"family of a new socket", sock, create, 4, 4, false, true},
		{"family written", sock, create, 4, 4, true, false},
		{"port of a new socket", sock, create, 44, 4, false, false},
		{"port of a bound socket", sock, bound4, 44, 4, false, true},
		{"mark of a bound socket", sock, bound4, 16, 4, false, false},
		{"IPv6 address at post_bind4", sock, bound4, 28, 4, false, false},
		{"dst_port as a word", sock, create, 48, 4, false, true},
		{"behind dst_port", sock, create, 50, 2, false, false},
		{"level", opt, get, 24, 4, false, true},
		{"level written by getsockopt", opt, get, 24, 4, true, false},
		{"level written by setsockopt", opt, set, 24, 4, true, true},
		{"retval of setsockopt", opt, set, 36, 4, false, false},
		{"retval written by getsockopt", opt, get, 36, 4, true, true},
		{"optlen and retval at once", opt, get, 32, 8, true, false},
		{"optval", opt, set, 8, 8, false, true},
		{"half of optval", opt, set, 8, 4, false, false},
		{"op", ops, 0, 0, 4, false, true},
		{"op by bytes", ops, 0, 0, 1, false, false},
		{"reply", ops, 0, 4, 4, true, true},
		{"second argument written", ops, 0, 8, 4, true, false},
		{"sk_txhash written", ops, 0, 164, 4, true, true},
		{"sacked_out", ops, 0, 160, 4, false, true},
		{"sacked_out written", ops, 0, 160, 4, true, false},
		{"bytes_acked", ops, 0, 176, 8, false, true},
		{"half of bytes_acked", ops, 0, 176, 4, false, false},
		{"skb_tcp_flags by bytes", ops, 0, 212, 1, false, true},
		{"snd_cwnd written", ops, 0, 76, 4, true, false},
		{"write", sysctl, 0, 0, 1, false, true},
		{"write written", sysctl, 0, 0, 4, true, false},
		{"file_pos written", sysctl, 0, 4, 4, true, true},
		{"half of file_pos written", sysctl, 0, 4, 2, true, false},
		{"access_type by halves", device, 0, 2, 2, false, true},
		{"major by halves", device, 0, 4, 2, false, false},
		{"minor written", device, 0, 8, 4, true, false},
	} {
		t.Run(c.typ.String()+" "+c.name, func(t *testing.T) {
			ctx := newContext(t, k, hook.ContextSpec{ProgType: c.typ, Attach: c.attach})
			defer ctx.Free()
			var f *mem.Fault
			if c.write {
				f = k.Mem().Store(ctx.Addr+c.off, c.size, 1)
			} else {
				_, f = k.Mem().Load(ctx.Addr+c.off, c.size)
			}
			assert.Equal(t, c.ok, f == nil, "%v", f)
			if f != nil {
				assert.Equal(t, mem.NotPermitted, f.Kind)
			}
		})
	}
}

// TestContextsShowTheSocket: what a program writes through its context is the socket's, and the
// kernel's struct follows.
func TestContextsShowTheSocket(t *testing.T) {
	k := newEmbedded(t)
	o, err := k.NewSock("s", net.SockSpec{State: net.TCPClose, Family: uapi.AFInet})
	require.NoError(t, err)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeCgroupSock, Attach: uapi.AttachCgroupInetSockCreate, NetSpec: hook.NetSpec{Socket: o}})
	require.Nil(t, k.Mem().Store(c.Addr+16, 4, 0x55))
	assert.EqualValues(t, 0x55, uintAt(t, o, "sk_mark"))
	snap, state := k.Mem().Snapshot(), k.Snapshot()
	require.Nil(t, k.Mem().Store(c.Addr+16, 4, 0x66))
	k.Mem().Restore(snap)
	k.Restore(state)
	assert.EqualValues(t, 0x55, load(t, c, 16, 4))
	assert.EqualValues(t, 0x55, uintAt(t, o, "sk_mark"))
	_, err = k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeSockOps, NetSpec: hook.NetSpec{Fields: map[string]uint64{"snd_cwnd": 1}}})
	var field *hook.FieldError
	require.ErrorAs(t, err, &field)
}

// TestSocketLayerContexts: programs of the socket layer see the part of the packet their hook has,
// and the socket it is for.
func TestSocketLayerContexts(t *testing.T) {
	for _, tt := range []struct {
		typ   uapi.ProgType
		first string // of the bytes programs see
		len   int
	}{
		{uapi.ProgTypeSkSkb, "0123456789", 10}, {uapi.ProgTypeSkMsg, "0123456789", 10},
		{uapi.ProgTypeSkReuseport, "\x30\x39\x00\x50", 30}, // from port 12345 to 80
		{uapi.ProgTypeFlowDissector, "\x02\x00\x00\x00\x00\x01", 64},
		{uapi.ProgTypeNetfilter, "\x45\x00\x00\x32", 50},
	} {
		t.Run(tt.typ.String(), func(t *testing.T) {
			k := newEmbedded(t)
			assert.True(t, k.Simulates(tt.typ))
			c := newContext(t, k, hook.ContextSpec{ProgType: tt.typ})
			data := c.Packet.Bytes()
			assert.Len(t, data, tt.len)
			assert.Equal(t, tt.first, string(data[:len(tt.first)]))
			switch tt.typ {
			case uapi.ProgTypeSkSkb, uapi.ProgTypeSkMsg, uapi.ProgTypeSkReuseport:
				require.NotNil(t, c.Socket())
				sk, ok := c.Field("sk")
				assert.True(t, ok)
				assert.Equal(t, c.Socket(), k.SocketAt(sk))
			case uapi.ProgTypeFlowDissector:
				keys, ok := c.Field("flow_keys")
				require.True(t, ok)
				nhoff, f := k.Mem().Load(keys, 2)
				require.Nil(t, f)
				assert.EqualValues(t, 14, nhoff)
				require.Nil(t, k.Mem().Store(keys+9, 1, 17))
				assert.Len(t, c.Out(), 56, "a test run gives the keys back")
				assert.EqualValues(t, 17, c.Out()[9])
			case uapi.ProgTypeNetfilter:
				skb, _ := c.Field("skb")
				o := k.ObjectAt(skb)
				require.NotNil(t, o)
				assert.EqualValues(t, 50, uintAt(t, o, "len"))
				assert.Equal(t, c.Packet.Data(), uintAt(t, o, "data"))
				assert.Equal(t, c, k.ContextOfKernel(skb))
				state, _ := c.Field("state")
				assert.EqualValues(t, 2, uintAt(t, k.ObjectAt(state), "pf"))
			}
		})
	}
}

// TestSkbFragments: of a packet in pieces programs see the linear part; what pulls, moves bytes
// there.
func TestSkbFragments(t *testing.T) {
	k := newEmbedded(t)
	frags := hook.NetSpec{Frags: [][]byte{[]byte("abcdef"), []byte("ghijkl")}}
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls, Packet: net.DefaultPacket()[:40], NetSpec: frags})
	p := c.Packet
	assert.EqualValues(t, 52, load(t, c, 0, 4), "len is that of all pieces")
	assert.EqualValues(t, 40, load(t, c, 80, 4)-load(t, c, 76, 4))
	assert.Equal(t, "abcdefghijkl", string(p.Whole()[40:]))
	assert.Equal(t, uapi.ENOMEM, p.Pull(53))
	require.Zero(t, p.Pull(43))
	assert.Equal(t, 43, p.Linear())
	assert.Equal(t, 52, p.Len())
	assert.Equal(t, "abc", string(p.Bytes()[40:]))
	b := make([]byte, 6)
	p.ReadAt(b, 41)
	assert.Equal(t, "bcdefg", string(b))
	p.WriteAt([]byte("XYZ"), 42)
	assert.Equal(t, "abXYZfghijkl", string(p.Whole()[40:]))
	require.Zero(t, p.Resize(44, -3), "what is removed becomes linear")
	assert.Equal(t, uapi.EINVAL, p.Resize(48, -3))
	require.Zero(t, p.Resize(p.Len(), 2))
	assert.Zero(t, p.Fragments())
	assert.Len(t, c.Out(), p.Len())
	c.Free()

	_, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls, NetSpec: hook.NetSpec{Frags: [][]byte{make([]byte, 5000)}}})
	assert.Error(t, err, "more than a page")
	_, err = k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeXDP, Packet: make([]byte, 80000)})
	assert.ErrorIs(t, err, uapi.ENOMEM, "more fragments than a packet can have")
}

// TestSharedPackets: what writes to a packet another sk_buff shares moves it first.
func TestSharedPackets(t *testing.T) {
	k := newEmbedded(t)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls, NetSpec: hook.NetSpec{Cloned: true}})
	old := c.Packet.Data()
	require.Zero(t, c.Packet.Pull(14))
	assert.NotEqual(t, old, c.Packet.Data())
	_, f := k.Mem().Load(old, 1)
	require.NotNil(t, f)
	assert.Equal(t, mem.UseAfterFree, f.Kind)
	data := c.Packet.Data()
	require.Zero(t, c.Packet.Pull(14))
	assert.Equal(t, data, c.Packet.Data(), "once")
}

// TestSocketsOfLookups: which sockets bpf_sk_assign takes in a lookup (bpf_sk_lookup_assign).
func TestSocketsOfLookups(t *testing.T) {
	const tcp, udp = net.ProtoTCP, net.ProtoUDP
	for _, tt := range []struct {
		name  string
		spec  net.SockSpec
		proto uint32
		flags uint64
		had   bool
		want  uapi.Errno
	}{
		{"a listener", net.SockSpec{Protocol: tcp, State: net.TCPListen}, tcp, 0, false, 0},
		{"a connection", net.SockSpec{Protocol: tcp, State: net.TCPEstablished}, tcp, 0, false, uapi.ESOCKTNOSUPPORT},
		{"UDP", net.SockSpec{Protocol: udp, State: net.TCPClose}, udp, 0, false, 0},
		{"connected UDP", net.SockSpec{Protocol: udp, State: net.TCPEstablished}, udp, 0, false, uapi.ESOCKTNOSUPPORT},
		{"UDP for TCP", net.SockSpec{Protocol: udp, State: net.TCPClose}, tcp, 0, false, uapi.EPROTOTYPE},
		{"IPv6 for IPv4", net.SockSpec{Protocol: tcp, State: net.TCPListen, Family: uapi.AFInet6}, tcp, 0, false, 0},
		{"another one", net.SockSpec{Protocol: tcp, State: net.TCPListen}, tcp, 0, true, uapi.EEXIST},
		{"another one without a group", net.SockSpec{Protocol: tcp, State: net.TCPListen}, tcp, uapi.SkLookupNoReuseport, true, uapi.EEXIST},
		{"instead", net.SockSpec{Protocol: tcp, State: net.TCPListen}, tcp, uapi.SkLookupReplace, true, 0},
		{"all flags", net.SockSpec{Protocol: tcp, State: net.TCPListen}, tcp, uapi.SkLookupReplace | uapi.SkLookupNoReuseport, true, 0},
		{"other flags", net.SockSpec{Protocol: tcp, State: net.TCPListen}, tcp, 4, false, uapi.EINVAL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newEmbedded(t)
			in := make([]byte, 64)
			k.Order().PutUint32(in[8:], uapi.AFInet)
			k.Order().PutUint32(in[12:], tt.proto)
			c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSkLookup, Attach: uapi.AttachSkLookup, Bytes: in})
			if tt.had {
				require.Zero(t, c.Select(k.DefaultSocket("first", net.SockSpec{Protocol: tcp, State: net.TCPListen}), 0))
			}
			assert.Equal(t, tt.want, c.Select(k.DefaultSocket("second", tt.spec), tt.flags))
		})
	}
	k := newEmbedded(t)
	in := make([]byte, 64)
	k.Order().PutUint32(in[8:], uapi.AFInet6)
	k.Order().PutUint32(in[12:], tcp)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSkLookup, Attach: uapi.AttachSkLookup, Bytes: in})
	assert.Equal(t, uapi.EAFNOSUPPORT, c.Select(k.DefaultSocket("IPv4", net.SockSpec{Protocol: tcp, State: net.TCPListen}), 0))
	assert.Zero(t, c.Select(k.DefaultSocket("IPv6", net.SockSpec{Protocol: tcp, State: net.TCPListen, Family: uapi.AFInet6}), 0))
	assert.Equal(t, uapi.EEXIST, c.Select(nil, 0))
	assert.Zero(t, c.Select(nil, uapi.SkLookupReplace))
}
