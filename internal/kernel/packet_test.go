package kernel

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// recordedPacket is data_out of programs that leave the packet alone, recorded from a kernel.
const recordedPacket = "0200000000010200000000020800450000321234400040063c5bc0000201c6336402" +
	"3039005000000000000000005012faf0930d000030313233343536373839"

func TestDefaultPacket(t *testing.T) {
	assert.Equal(t, recordedPacket, hex.EncodeToString(net.DefaultPacket()))
	ip := net.DefaultPacket()[14:34]
	assert.Zero(t, net.Checksum(ip, 0))
	assert.EqualValues(t, 0xfffe, net.Checksum([]byte{0, 1}, 0))
	assert.EqualValues(t, ^uint16(0x0100), net.Checksum([]byte{1}, 0), "an odd byte is the upper half")
}

func load(t *testing.T, c *hook.Context, off uint64, size int) uint64 {
	t.Helper()
	v, f := c.Space().Mem().Load(c.Addr+off, size)
	require.Nil(t, f)
	return v
}

func TestXDP(t *testing.T) {
	k := newEmbedded(t)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeXDP})
	data, end, meta := load(t, c, 0, 4), load(t, c, 4, 4), load(t, c, 8, 4)
	assert.Greater(t, data, uint64(1)<<32, "a whole address whatever the width")
	assert.EqualValues(t, 64, end-data)
	assert.Equal(t, data, meta)
	assert.EqualValues(t, net.LoopbackIndex, load(t, c, 12, 4))
	v, f := k.Mem().Load(data+12, 2)
	require.Nil(t, f)
	assert.EqualValues(t, 8, v)
	require.Nil(t, k.Mem().Store(data, 1, 0x55))
	_, f = k.Mem().Load(end-4, 8)
	require.NotNil(t, f)
	_, f = k.Mem().Load(data-1, 1)
	require.NotNil(t, f)
	assert.EqualValues(t, 0x55, c.Out()[0])

	for name, bad := range map[string]struct {
		off   uint64
		size  int
		write bool
	}{
		"narrow": {0, 2, false}, "wide": {0, 8, false}, "unaligned": {2, 4, false}, "write": {12, 4, true}, "egress": {20, 4, false},
	} {
		if bad.write {
			f = k.Mem().Store(c.Addr+bad.off, bad.size, 1)
		} else {
			_, f = k.Mem().Load(c.Addr+bad.off, bad.size)
		}
		require.NotNil(t, f, name)
		assert.Equal(t, mem.NotPermitted, f.Kind, name)
	}
	d := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeXDP, Attach: uapi.AttachXDPDevmap})
	load(t, d, 20, 4)
}

func TestXDPAdjust(t *testing.T) {
	type step struct {
		what  string
		delta int32
		want  uapi.Errno
	}
	for _, c := range []struct {
		name  string
		steps []step
		out   int
	}{
		{"head to the limit", []step{{"head", -216, 0}, {"head", -1, uapi.EINVAL}}, 280},
		{"head into the packet", []step{{"head", 50, 0}, {"head", 1, uapi.EINVAL}}, 14},
		{"tail", []step{{"tail", -50, 0}, {"tail", -1, uapi.EINVAL}}, 14},
		{"tail grows to the frame", []step{{"tail", 3520 - 64, 0}, {"tail", 1, uapi.EINVAL}}, 3520},
		{"meta", []step{{"meta", -32, 0}, {"meta", -2, uapi.EACCES}, {"meta", 33, uapi.EINVAL}}, 96},
		{"meta moves with head", []step{{"meta", -8, 0}, {"head", -100, 0}}, 172},
		{"meta shrinks headroom", []step{{"meta", -32, 0}, {"head", -216, uapi.EINVAL}, {"head", -184, 0}}, 280},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newEmbedded(t)
			ctx := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeXDP})
			p := ctx.Packet
			for _, s := range c.steps {
				got := map[string]func(int32) uapi.Errno{"head": p.AdjustHead, "tail": p.AdjustTail, "meta": p.AdjustMeta}[s.what](s.delta)
				assert.Equal(t, s.want, got, "%s %d", s.what, s.delta)
			}
			assert.Len(t, ctx.Out(), c.out)
			assert.Equal(t, p.Data(), load(t, ctx, 0, 4))
			assert.Equal(t, p.DataEnd(), load(t, ctx, 4, 4))
			_, f := k.Mem().Load(p.DataEnd(), 1)
			assert.NotNil(t, f)
			_, f = k.Mem().Load(p.DataEnd()-1, 1)
			assert.Nil(t, f)
		})
	}
}

func TestXDPContextIn(t *testing.T) {
	k := newEmbedded(t)
	in := make([]byte, 24)
	in[0], in[4] = 8, 72
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeXDP, Packet: append([]byte("metadata"), net.DefaultPacket()...), Bytes: in})
	assert.EqualValues(t, 8, c.Packet.Data()-c.Packet.Meta())
	assert.Equal(t, 64, c.Packet.Len())
	assert.Equal(t, "metadata", string(c.Out()[:8]))
	assert.Equal(t, in[:8], c.CtxOut()[:8])
	in[8] = 1
	_, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeXDP, Bytes: in})
	assert.ErrorIs(t, err, uapi.EINVAL)
}

func TestSkb(t *testing.T) {
	k := newEmbedded(t)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls})
	assert.EqualValues(t, 64, load(t, c, 0, 4))
	assert.EqualValues(t, 8, load(t, c, 16, 4), "protocol in network order")
	assert.EqualValues(t, 3, load(t, c, 4, 4), "not for the loopback device")
	assert.EqualValues(t, net.LoopbackIndex, load(t, c, 40, 4))
	data, end := load(t, c, 76, 4), load(t, c, 80, 4)
	assert.EqualValues(t, 64, end-data)
	require.Nil(t, k.Mem().Store(c.Addr+8, 4, 0xabcd1234))
	assert.EqualValues(t, 0x34, load(t, c, 8, 1))
	assert.EqualValues(t, 0xabcd, load(t, c, 10, 2))
	require.Nil(t, k.Mem().Store(c.Addr+48, 8, 0x1122334455667788))
	assert.EqualValues(t, 0x11223344, load(t, c, 52, 4))
	require.Nil(t, k.Mem().Store(c.Addr+67, 1, 0xee))
	assert.EqualValues(t, uint64(0xee000000), load(t, c, 64, 4))
	sk := load(t, c, 168, 8)
	assert.True(t, k.IsSocket(sk))
	v, f := k.Mem().Load(sk+4, 4)
	require.Nil(t, f)
	assert.EqualValues(t, uapi.AFInet, v)
	out := c.CtxOut()
	assert.EqualValues(t, 0x34, out[8])
	assert.EqualValues(t, 1, out[40])
	assert.Equal(t, recordedPacket, hex.EncodeToString(c.Out()))
	assert.True(t, c.SetField("hash", 99))
	h, ok := c.Field("hash")
	assert.True(t, ok)
	assert.EqualValues(t, 99, h)
	assert.False(t, c.SetField("data", 1))
}

func TestSkbRules(t *testing.T) {
	k := newEmbedded(t)
	for _, c := range []struct {
		name  string
		typ   uapi.ProgType
		off   uint64
		size  int
		write bool
		ok    bool
	}{
		{"socket filter reads len", uapi.ProgTypeSocketFilter, 0, 4, false, true},
		{"socket filter reads data", uapi.ProgTypeSocketFilter, 76, 4, false, false},
		{"socket filter writes cb", uapi.ProgTypeSocketFilter, 48, 4, true, true},
		{"socket filter writes mark", uapi.ProgTypeSocketFilter, 8, 4, true, false},
		{"socket filter reads tstamp", uapi.ProgTypeSocketFilter, 152, 8, false, false},
		{"cgroup reads family", uapi.ProgTypeCgroupSkb, 88, 4, false, true},
		{"tc reads family", uapi.ProgTypeSchedCls, 88, 4, false, false},
		{"cgroup reads wire_len", uapi.ProgTypeCgroupSkb, 160, 4, false, false},
		{"tc writes queue_mapping", uapi.ProgTypeSchedCls, 12, 4, true, true},
		{"tc writes len", uapi.ProgTypeSchedCls, 0, 4, true, false},
		{"tc writes half of mark", uapi.ProgTypeSchedCls, 8, 2, true, false},
		{"tc reads half of data", uapi.ProgTypeSchedCls, 76, 2, false, false},
		{"tc reads tstamp as 4", uapi.ProgTypeSchedCls, 152, 4, false, false},
		{"flow keys", uapi.ProgTypeSchedCls, 144, 8, false, false},
		{"beyond", uapi.ProgTypeSchedCls, 192, 4, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := newContext(t, k, hook.ContextSpec{ProgType: c.typ})
			defer ctx.Free()
			var f *mem.Fault
			if c.write {
				f = k.Mem().Store(ctx.Addr+c.off, c.size, 1)
			} else {
				_, f = k.Mem().Load(ctx.Addr+c.off, c.size)
			}
			assert.Equal(t, c.ok, f == nil, "%v", f)
		})
	}
}

// TestNetworkLayer: programs that are not at layer 2 see the packet from the IP header on, and give
// it back after 14 zero bytes.
func TestNetworkLayer(t *testing.T) {
	k := newEmbedded(t)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeCgroupSkb})
	data := load(t, c, 76, 4)
	v, f := k.Mem().Load(data, 1)
	require.Nil(t, f)
	assert.EqualValues(t, 0x45, v)
	assert.NotNil(t, k.Mem().Store(data, 1, 0), "cgroup programs may not write packets")
	assert.Equal(t, make([]byte, 14), c.Out()[:14])
	assert.Len(t, c.Out(), 64)
	remote := load(t, c, 92, 4)
	assert.EqualValues(t, 0x026433c6, remote)
}

func TestSkbContextIn(t *testing.T) {
	k := newEmbedded(t)
	in := make([]byte, 192)
	k.Order().PutUint32(in[8:], 7)
	k.Order().PutUint32(in[48:], 9)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls, Bytes: in})
	assert.EqualValues(t, 7, load(t, c, 8, 4))
	assert.EqualValues(t, 9, load(t, c, 48, 4))
	assert.EqualValues(t, 64, load(t, c, 160, 4), "wire_len is the length once a context is given")
	for _, off := range []int{0, 4, 12, 44, 68, 140, 168} {
		bad := make([]byte, 192)
		bad[off] = 1
		_, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls, Bytes: bad})
		assert.ErrorIs(t, err, uapi.EINVAL, off)
	}
}

func TestPacketResize(t *testing.T) {
	k := newEmbedded(t)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls, Packet: []byte("abcdefghijklmnopqrst")})
	p := c.Packet
	assert.Zero(t, p.Resize(14, 2))
	assert.Equal(t, "abcdefghijklmn\x00\x00opqrst", string(p.Bytes()))
	assert.Zero(t, p.Resize(0, -3))
	assert.Equal(t, "defghijklmn\x00\x00opqrst", string(p.Bytes()))
	data := p.Data()
	assert.Zero(t, p.Resize(p.Len()-2, -2))
	assert.Equal(t, data, p.Data(), "cutting the end moves nothing")
	assert.Zero(t, p.Resize(p.Len(), 1))
	assert.Equal(t, "defghijklmn\x00\x00opqr\x00", string(p.Bytes()))
	assert.Equal(t, uapi.EINVAL, p.Resize(-1, 1))
	assert.Equal(t, uapi.EINVAL, p.Resize(0, -100))
	assert.Equal(t, uapi.EINVAL, p.Resize(0, net.MaxPacket))
	old := p.Data()
	assert.Zero(t, p.Resize(p.Len(), 5000))
	assert.Equal(t, 5018, p.Len())
	_, f := k.Mem().Load(old, 1)
	require.NotNil(t, f)
	assert.Equal(t, mem.UseAfterFree, f.Kind)
	assert.Equal(t, p.Data(), load(t, c, 76, 4))
	assert.Zero(t, p.Unclone(512, 0))
	assert.GreaterOrEqual(t, p.Headroom(), 512)
	assert.Equal(t, "defg", string(p.Bytes()[:4]))
}

func TestSocketBuffers(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		skb, err := k.NewObjectNamed("skb", "sk_buff")
		require.NoError(t, err)
		head, data := uintAt(t, skb, "head"), uintAt(t, skb, "data")
		assert.Equal(t, data-head, uintAt(t, skb, "network_header"))
		v, f := k.Mem().Load(head+uintAt(t, skb, "network_header"), 1)
		require.Nil(t, f)
		assert.EqualValues(t, 0x45, v)
		v, f = k.Mem().Load(head+uintAt(t, skb, "transport_header")+3, 1)
		require.Nil(t, f)
		assert.EqualValues(t, 80, v)
		proto, err := skb.GetBytes("protocol")
		require.NoError(t, err)
		assert.Equal(t, []byte{8, 0}, proto)
		name, err := skb.String("dev.name")
		require.NoError(t, err)
		assert.Equal(t, "eth0", name)
		sk, err := k.NewSock("s", net.SockSpec{Source: []byte{127, 0, 0, 1}, SourcePort: 80, DestPort: 443})
		require.NoError(t, err)
		assert.EqualValues(t, 80, uintAt(t, sk, "__sk_common.skc_num"))
		addr, err := sk.GetBytes("__sk_common.skc_rcv_saddr")
		require.NoError(t, err)
		assert.Equal(t, []byte{127, 0, 0, 1}, addr)
		assert.EqualValues(t, net.ProtoTCP, uintAt(t, sk, "sk_protocol"))
		assert.EqualValues(t, net.TCPEstablished, uintAt(t, sk, "__sk_common.skc_state"))
	})
}

// TestMovedPacketsAreFilledAgain: a packet that a helper gave another place needs no new context.
func TestMovedPacketsAreFilledAgain(t *testing.T) {
	for _, typ := range []uapi.ProgType{uapi.ProgTypeXDP, uapi.ProgTypeSchedCls} {
		k := newEmbedded(t)
		c, err := k.NewContext(hook.ContextSpec{ProgType: typ})
		require.NoError(t, err)
		r := c.Refill()
		require.NotNil(t, r)
		for i := range 5 {
			frame := net.DefaultPacket()
			frame[20] = byte(i)
			require.True(t, r.With(frame, i > 0), "%v %d", typ, i)
			assert.Equal(t, frame, c.Frame())
			room := [2]int{c.Packet.Headroom(), c.Packet.Tailroom()}
			old := c.Packet.Data()
			require.NoError(t, c.Packet.Move("moved"))
			require.NotEqual(t, old, c.Packet.Data())
			assert.Equal(t, frame, c.Frame())
			assert.Equal(t, room, [2]int{c.Packet.Headroom(), c.Packet.Tailroom()})
			assert.NotNil(t, k.Host.Mem().Store(old, 1, 1))
		}
	}
}
