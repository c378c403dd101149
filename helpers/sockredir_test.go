package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestSocketRedirects: a redirect passes when the map has a socket that takes data, and drops for
// anything else.
func TestSocketRedirects(t *testing.T) {
	r := newRig(t, newest)
	_, conn := r.open("conn", net.SockSpec{})
	_, listener := r.open("listener", net.SockSpec{State: tcpListen, SourcePort: 80})
	_, udp := r.open("udp", net.SockSpec{Protocol: ipprotoUDP, Type: sockDgram, SourcePort: 53})
	m := r.newMap(maps.Spec{Type: uapi.MapTypeSockmap, KeySize: 4, ValueSize: 4, MaxEntries: 4})
	h := r.newMap(maps.Spec{Type: uapi.MapTypeSockhash, KeySize: 4, ValueSize: 4, MaxEntries: 4})
	keys := make([]uint64, 4)
	for i, s := range []*net.Socket{conn, listener, udp} {
		key := []byte{byte(i), 0, 0, 0}
		require.Zero(t, m.(maps.SockMap).SetSock(key, s, 0))
		require.Zero(t, h.(maps.SockMap).SetSock(key, s, 0))
		keys[i] = r.alloc(key)
	}
	keys[3] = r.alloc([]byte{3, 0, 0, 0})
	const drop, pass = 0, 1
	for _, tt := range []struct {
		typ       uapi.ProgType
		byIndex   uapi.FuncID
		byKey     uapi.FuncID
		ownWanted [4]uint64 // to a connection, a listener, a UDP socket, nothing
	}{
		{uapi.ProgTypeSkSkb, uapi.FuncSkRedirectMap, uapi.FuncSkRedirectHash, [4]uint64{pass, drop, drop, drop}},
		{uapi.ProgTypeSkMsg, uapi.FuncMsgRedirectMap, uapi.FuncMsgRedirectHash, [4]uint64{pass, drop, drop, drop}},
	} {
		c := r.context(tt.typ, hook.ContextSpec{})
		for i, want := range tt.ownWanted {
			r.env.Run.Events, r.env.Run.target = nil, 0
			assert.Equal(t, want, r.ok(tt.byIndex, c.Addr, m.Addr(), uint64(i), 0), "%v of socket %d", tt.byIndex, i)
			assert.Len(t, r.env.Run.Events, int(want))
			r.env.Run.Events, r.env.Run.target = nil, 0
			assert.Equal(t, want, r.ok(tt.byKey, c.Addr, h.Addr(), keys[i], 1), "%v of socket %d", tt.byKey, i)
			if want == pass {
				require.Len(t, r.env.Run.Events, 1)
				assert.Equal(t, Redirect, r.env.Run.Events[0].Kind)
				assert.Contains(t, r.env.Run.Events[0].Detail, "[0], ingress")
			}
		}
		assert.EqualValues(t, drop, r.ok(tt.byIndex, c.Addr, m.Addr(), 0, 2), "unknown flags")
		assert.EqualValues(t, drop, r.ok(tt.byIndex, c.Addr, m.Addr(), 1<<31, 0), "beyond the map")
		_, f := r.call(tt.byIndex, c.Addr, r.newMap(maps.Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}).Addr(), 0, 0)
		assert.NotNil(t, f, "another map type")
	}
	c := r.context(uapi.ProgTypeSkMsg, hook.ContextSpec{})
	r.env.Run.Events = nil
	assert.Zero(t, r.ok(uapi.FuncMsgApplyBytes, c.Addr, 100))
	assert.Zero(t, r.ok(uapi.FuncMsgCorkBytes, c.Addr, 200))
	require.Len(t, r.env.Run.Events, 2)
	assert.EqualValues(t, 200, r.env.Run.Events[1].Number)
}

// TestSelectReuseport: a socket of the packet's group is selected; others are refused with the
// kernel's errors (sk_select_reuseport).
func TestSelectReuseport(t *testing.T) {
	r := newRig(t, newest)
	open := func(name string, spec net.SockSpec) (*object.Object, *net.Socket) {
		o, s := r.open(name, spec)
		s.SetNumber("reuseport", 1)
		return o, s
	}
	udp := net.SockSpec{Protocol: 17, SourcePort: 53}
	own, sk := open("own", udp)
	_, twin := open("twin", udp)
	_, elsewhere := open("elsewhere", net.SockSpec{Protocol: 17, SourcePort: 54})
	_, v6 := open("v6", net.SockSpec{Protocol: 17, SourcePort: 53, Family: 10, Source: make([]byte, 16), Dest: make([]byte, 16)})
	_, tcp := open("tcp", net.SockSpec{Protocol: 6, SourcePort: 53, State: 10})
	_, alone := r.open("alone", udp)
	array := r.newMap(maps.Spec{Type: uapi.MapTypeReuseportSockarray, KeySize: 4, ValueSize: 8, MaxEntries: 8}).(maps.RefArray)
	table := r.newMap(maps.Spec{Type: uapi.MapTypeSockmap, KeySize: 4, ValueSize: 4, MaxEntries: 8}).(maps.SockMap)
	all := []*net.Socket{sk, twin, elsewhere, v6, tcp, alone}
	for i, s := range all {
		require.Zero(t, array.SetRef(uint32(i), s))
	}
	require.Zero(t, table.SetSock([]byte{0, 0, 0, 0}, alone, 0))
	c := r.context(uapi.ProgTypeSkReuseport, hook.ContextSpec{NetSpec: hook.NetSpec{Socket: own}})
	key := func(n byte) uint64 { return r.alloc([]byte{n, 0, 0, 0}) }
	for _, x := range []struct {
		name  string
		m     maps.Map
		key   byte
		flags uint64
		want  uapi.Errno
	}{
		{"its own socket", array, 0, 0, 0}, {"another of the group", array, 1, 0, 0}, {"flags are not looked at", array, 1, 7, 0},
		{"another port", array, 2, 0, uapi.EBADFD}, {"another family", array, 3, 0, uapi.EAFNOSUPPORT}, {"another protocol", array, 4, 0, uapi.EPROTOTYPE},
		{"left its group", array, 5, 0, uapi.ENOENT}, {"in no group", table, 0, 0, uapi.EINVAL},
		{"an empty slot", array, 6, 0, uapi.ENOENT}, {"beyond the array", array, 9, 0, uapi.ENOENT}, {"not in the map", table, 3, 0, uapi.ENOENT},
	} {
		r.env.Run.Socket = SocketVerdict{}
		before := len(r.env.Run.Events)
		got := r.ok(uapi.FuncSkSelectReuseport, c.Addr, x.m.Addr(), key(x.key), x.flags)
		if x.want != 0 {
			assert.Equal(t, neg(x.want), got, x.name)
			assert.Nil(t, r.env.Run.Socket.Target, x.name)
			assert.Len(t, r.env.Run.Events, before, x.name)
			continue
		}
		assert.Zero(t, got, x.name)
		assert.Equal(t, all[x.key], r.env.Run.Socket.Target, x.name)
		assert.NotEmpty(t, r.env.Run.Events, x.name)
	}
}

// TestCastToKernelContext: the kernel's struct agrees with the context, and helpers take it in its
// place.
func TestCastToKernelContext(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	skb := r.kok("bpf_cast_to_kern_ctx", c.Addr)
	o := r.kernel.ObjectAt(skb)
	require.NotNil(t, o)
	assert.Equal(t, "sk_buff", o.TypeName())
	for field, want := range map[string]uint64{"data": c.Packet.Data(), "len": uint64(c.Packet.Len()), "data_len": 0} {
		v, err := o.Uint(field)
		require.NoError(t, err)
		assert.Equal(t, want, v, field)
	}
	out := r.space(4)
	assert.Zero(t, r.ok(uapi.FuncSkbLoadBytes, skb, 0, out, 4), "helpers take it")
	assert.Equal(t, c.Packet.Bytes()[:4], r.bytes(out, 4))
	_, f := r.kfunc("bpf_cast_to_kern_ctx", out)
	assert.NotNil(t, f, "not a context")
	c = r.context(uapi.ProgTypeXDP, hook.ContextSpec{})
	o = r.kernel.ObjectAt(r.kok("bpf_cast_to_kern_ctx", c.Addr))
	require.NotNil(t, o)
	assert.Equal(t, "xdp_buff", o.TypeName())
	end, err := o.Uint("data_end")
	require.NoError(t, err)
	assert.Equal(t, c.Packet.DataEnd(), end)
}

// TestReadonlyCastLeadsToTheKernelsStruct: a cast of what the user ABI shows gives the kernel's own
// struct; other addresses stay.
func TestReadonlyCastLeadsToTheKernelsStruct(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	o := r.kernel.ObjectAt(r.kok("bpf_rdonly_cast", c.Addr, 0))
	require.NotNil(t, o)
	assert.Equal(t, "sk_buff", o.TypeName())
	sk, ok := c.Field("sk")
	require.True(t, ok)
	require.NotZero(t, sk)
	require.Nil(t, r.kernel.ObjectAt(sk), "struct bpf_sock")
	o = r.kernel.ObjectAt(r.kok("bpf_rdonly_cast", sk, 0))
	require.NotNil(t, o)
	assert.Equal(t, "sock", o.TypeName())
	buf := r.space(8)
	assert.Equal(t, buf, r.kok("bpf_rdonly_cast", buf, 0))
	assert.Zero(t, r.kok("bpf_rdonly_cast", 0, 0))
}

func TestSockDestroy(t *testing.T) {
	r := newRig(t, newest)
	o, s := r.open("sk", net.SockSpec{})
	assert.Zero(t, r.kok("bpf_sock_destroy", o.Addr()))
	assert.EqualValues(t, tcpClosed, s.State())
	assert.Equal(t, uint64(uint32(neg(uapi.ENOENT))), r.kok("bpf_sock_destroy", o.Addr()), "closed already")
}

// TestObjectsByTheNamesOf72: since Linux 7.1 the functions for objects have their names without
// _impl, and no argument for what the verifier fills in.
func TestObjectsByTheNamesOf72(t *testing.T) {
	r := newRig(t, uapi.VersionCode(7, 2))
	typ := r.withLocal()
	p := r.kok("bpf_obj_new", typ)
	require.NotZero(t, p)
	assert.Equal(t, p, r.kok("bpf_refcount_acquire", p))
	head, root := r.space(16), r.space(16)
	assert.Zero(t, r.kok("bpf_list_push_front", head, p+nodeAt))
	assert.Equal(t, p+nodeAt, r.kok("bpf_list_pop_front", head))
	assert.Zero(t, r.kok("bpf_list_push_back", head, p+nodeAt))
	assert.Equal(t, p+nodeAt, r.kok("bpf_list_pop_back", head))
	cb, err := decode.Assemble("r0 = 1; exit")
	require.NoError(t, err)
	q := r.kok("bpf_obj_new", typ)
	assert.Zero(t, r.kok("bpf_rbtree_add", root, q+nodeAt, r.lower(cb, nil).FuncAddr(0)))
	assert.Equal(t, q+nodeAt, r.kok("bpf_rbtree_remove", root, q+nodeAt))
	for _, o := range []uint64{q, p, p} {
		r.kok("bpf_obj_drop", o)
	}
	assert.Empty(t, r.env.Run.Held.Things())
	pc := r.kok("bpf_percpu_obj_new", typ)
	require.NotZero(t, pc)
	r.kok("bpf_percpu_obj_drop", pc)
	assert.Empty(t, r.env.Run.Held.Things())
}
