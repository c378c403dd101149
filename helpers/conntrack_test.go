package helpers

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

const clientAddr, serverAddr = 0x0a000001, 0x0a000002

// ctOpts is a struct bpf_ct_opts of 16 bytes for TCP in the current namespace; at lists offsets and
// values of other bytes.
func ctOpts(at ...byte) []byte {
	b := make([]byte, 16)
	binary.LittleEndian.PutUint32(b, ^uint32(0))
	b[8] = ipprotoTCP
	for i := 0; i < len(at); i += 2 {
		b[at[i]] = at[i+1]
	}
	return b
}

// track enters a connection from the client to port 80 of the server.
func (r *rig) track(zone net.ConnZone, sport uint16) *object.Object {
	r.t.Helper()
	at := func(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
	now := uint32(r.kernel.Clock().Jiffies())
	client := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), sport)
	o, err := r.kernel.NewConnection("connection", net.ConnTuple{Protocol: 6, Source: client, Dest: at("10.0.0.2:80")}, zone, now+100)
	require.NoError(r.t, err)
	require.NoError(r.t, r.kernel.OpenConnection(o, now))
	return o
}

// connCall calls a lookup or an allocation and returns its result and opts as they are after it.
func (r *rig) connCall(fn string, ctx *hook.Context, tuple, opts []byte) (uint64, []byte) {
	r.t.Helper()
	at, where := uint64(0), uint64(0)
	if tuple != nil {
		where = r.alloc(tuple)
	}
	if opts != nil {
		at = r.alloc(opts)
	}
	ret := r.kok(fn, ctx.Addr, where, uint64(len(tuple)), at, uint64(len(opts)))
	if opts != nil {
		opts = r.bytes(at, len(opts))
	}
	return ret, opts
}

func errorOf(opts []byte) uapi.Errno { return uapi.Errno(-int32(binary.LittleEndian.Uint32(opts[4:]))) }

var inBothDirs = net.ConnZone{Dir: net.ZoneBothDirs}

func TestConnectionErrors(t *testing.T) {
	forward := tuple(clientAddr, serverAddr, 1000, 80)
	for _, x := range []struct {
		name          string
		version       uint32
		tuple, opts   []byte
		lookup, alloc uapi.Errno
	}{
		{"no tuple", newest, nil, ctOpts(), uapi.EINVAL, uapi.EINVAL},
		{"size between", newest, forward, ctOpts()[:13], uapi.EINVAL, uapi.EINVAL},
		{"size beyond", newest, forward, append(ctOpts(), 0), uapi.EINVAL, uapi.EINVAL},
		{"16 bytes before 6.11", uapi.VersionCode(6, 10), forward, ctOpts(), uapi.EINVAL, uapi.EINVAL},
		{"16 bytes from 6.11", uapi.VersionCode(6, 11), forward, ctOpts(), uapi.ENOENT, 0},
		{"reserved", newest, forward, ctOpts(13, 1), uapi.EINVAL, uapi.EINVAL},
		{"reserved, last", newest, forward, ctOpts(15, 1), uapi.EINVAL, uapi.EINVAL},
		{"reserved before 6.11, zone without its direction since", newest, forward, ctOpts(10, 1)[:12], uapi.EINVAL, uapi.EINVAL},
		{"the same before", uapi.VersionCode(6, 1), forward, ctOpts(11, 1)[:12], uapi.EINVAL, uapi.EINVAL},
		{"protocol", newest, forward, ctOpts(8, 1), uapi.EPROTO, uapi.EPROTO},
		{"namespace", newest, forward, ctOpts(0, 0xfe), uapi.EINVAL, uapi.EINVAL},
		{"protocol and namespace", newest, forward, ctOpts(0, 0xfe, 8, 1), uapi.EPROTO, uapi.EINVAL},
		{"unknown id", newest, forward, ctOpts(0, 5, 1, 0, 2, 0, 3, 0), uapi.ENONET, uapi.ENONET},
		{"id 0", newest, forward, ctOpts(0, 0, 1, 0, 2, 0, 3, 0), uapi.ENONET, uapi.ENONET},
		{"size of the tuple", newest, forward[:11], ctOpts(), uapi.EAFNOSUPPORT, uapi.EAFNOSUPPORT},
		{"size before namespace", newest, forward[:11], ctOpts(0, 5, 1, 0, 2, 0, 3, 0), uapi.EAFNOSUPPORT, uapi.EAFNOSUPPORT},
		{"not tracked", newest, forward, ctOpts(), uapi.ENOENT, 0},
		{"not tracked, IPv6", newest, make([]byte, 36), ctOpts()[:12], uapi.ENOENT, 0},
		{"UDP", newest, forward, ctOpts(8, ipprotoUDP), uapi.ENOENT, 0},
	} {
		r := newRig(t, x.version)
		r.track(inBothDirs, 999)
		for fn, want := range map[string]uapi.Errno{"lookup": x.lookup, "alloc": x.alloc} {
			for kind, typ := range map[string]uapi.ProgType{"bpf_xdp_ct_": xdp, "bpf_skb_ct_": tc} {
				ret, opts := r.connCall(kind+fn, r.context(typ, hook.ContextSpec{}), x.tuple, x.opts)
				assert.Equal(t, want, errorOf(opts), "%s: %s%s", x.name, kind, fn)
				assert.Equal(t, want == 0, ret != 0, "%s: %s%s", x.name, kind, fn)
			}
		}
	}
	r := newRig(t, newest)
	c := r.context(tc, hook.ContextSpec{})
	ret, _ := r.connCall("bpf_skb_ct_lookup", c, forward, nil)
	assert.Zero(t, ret)
	_, opts := r.connCall("bpf_skb_ct_lookup", c, forward, ctOpts())
	assert.EqualValues(t, 3, opts[12], "the zone's direction is stored even if nothing is found")
}

// TestErrorsWithoutRoom: until 7.2 kernels store the error beyond options that are too short for
// it.
func TestErrorsWithoutRoom(t *testing.T) {
	for _, x := range []struct {
		version uint32
		size    uint64
		want    uapi.Errno
	}{{uapi.VersionCode(7, 1), 7, uapi.EINVAL}, {uapi.VersionCode(7, 2), 7, 0}, {uapi.VersionCode(7, 2), 8, uapi.EINVAL}} {
		r := newRig(t, x.version)
		c, opts := r.context(tc, hook.ContextSpec{}), r.alloc(ctOpts())
		assert.Zero(t, r.kok("bpf_skb_ct_lookup", c.Addr, r.alloc(tuple(clientAddr, serverAddr, 1000, 80)), 12, opts, x.size))
		assert.Equal(t, x.want, errorOf(r.bytes(opts, 16)), "%+v", x)
	}
}

func TestConnectionLookups(t *testing.T) {
	r := newRig(t, newest)
	o := r.track(inBothDirs, 1000)
	zoned := r.track(net.ConnZone{ID: 7, Dir: net.ZoneBothDirs}, 1000)
	half := r.track(net.ConnZone{ID: 9, Dir: 1}, 2000)
	forward, reply := tuple(clientAddr, serverAddr, 1000, 80), tuple(serverAddr, clientAddr, 80, 1000)
	c := r.context(xdp, hook.ContextSpec{})
	for _, x := range []struct {
		name        string
		tuple, opts []byte
		want        *object.Object
		dir         byte
	}{
		{"first direction", forward, ctOpts(9, 5), o, 0},
		{"reply", reply, ctOpts(), o, 1},
		{"12 bytes", reply, ctOpts()[:12], o, 1},
		{"other port", tuple(clientAddr, serverAddr, 1001, 80), ctOpts(), nil, 0},
		{"zone", forward, ctOpts(10, 7), zoned, 0},
		{"other zone", forward, ctOpts(10, 8), nil, 0},
		{"zone of no direction", forward, ctOpts(10, 7, 12, 4), o, 0},
		{"zone of one direction", tuple(clientAddr, serverAddr, 2000, 80), ctOpts(10, 9), half, 0},
		{"its reply is in no zone", tuple(serverAddr, clientAddr, 80, 2000), ctOpts(10, 9), nil, 0},
		{"so it is found there", tuple(serverAddr, clientAddr, 80, 2000), ctOpts(), half, 1},
	} {
		ret, opts := r.connCall("bpf_xdp_ct_lookup", c, x.tuple, x.opts)
		if x.want == nil {
			assert.Zero(t, ret, x.name)
			continue
		}
		require.Equal(t, x.want.Addr(), ret, x.name)
		assert.Equal(t, x.dir, opts[9], x.name)
		assert.Zero(t, errorOf(opts), x.name)
		assert.EqualValues(t, 2, x.want.Num("ct_general.use.refs.counter"), "the table's and the program's reference")
		require.Len(t, r.env.Run.Held.Things(), 1, x.name)
		r.kok("bpf_ct_release", ret)
		assert.Empty(t, r.env.Run.Held.Things(), x.name)
		assert.EqualValues(t, 1, x.want.Num("ct_general.use.refs.counter"))
	}
	_, f := r.kfunc("bpf_ct_release", o.Addr())
	assert.NotNil(t, f, "released twice")
	_, f = r.kfunc("bpf_ct_release", r.space(256))
	assert.NotNil(t, f, "no connection")
}

// TestConnectionsOfPrograms: a program's connection is found once it is inserted, with the timeout
// that it was given.
func TestConnectionsOfPrograms(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(tc, hook.ContextSpec{})
	forward, reply := tuple(clientAddr, serverAddr, 1000, 80), tuple(serverAddr, clientAddr, 80, 1000)
	ct, opts := r.connCall("bpf_skb_ct_alloc", c, forward, ctOpts())
	require.NotZero(t, ct)
	assert.EqualValues(t, 3, opts[12])
	o := r.kernel.ObjectAt(ct)
	require.NotNil(t, o)
	hz := r.kernel.Clock().HZ
	assert.EqualValues(t, 10*hz, o.Num("timeout"), "ten seconds")
	assert.EqualValues(t, 6, o.Num("tuplehash[1].tuple.dst.protonum"))
	found, _ := r.connCall("bpf_skb_ct_lookup", c, forward, ctOpts())
	assert.Zero(t, found, "not inserted")

	busy := uint64(uint32(neg(uapi.EBUSY)))
	for _, x := range []struct{ status, ret, after uint64 }{{1, busy, 0}, {8, busy, 0}, {0x200, busy, 0}, {0x2030, 0, 0x2000}, {2, 0, 0x2002}, {0xfff0d9f6, 0, 0x2006}, {6, 0, 0x2006}} {
		assert.Equal(t, x.ret, r.kok("bpf_ct_set_status", ct, x.status), "%#x", x.status)
		assert.Equal(t, x.after, o.Num("status"), "%#x", x.status)
	}
	assert.Equal(t, busy, r.kok("bpf_ct_set_status", ct, 2), "assured cannot be cleared")

	for ms, ticks := range map[uint64]uint64{0: 0, 1: 1, 4: 1, 5: 2, 1000: hz, 0x80000000: 1<<31 - 1} {
		r.kok("bpf_ct_set_timeout", ct, ms)
		assert.EqualValues(t, ticks, o.Num("timeout"), "%d ms", ms)
	}
	r.kok("bpf_ct_set_timeout", ct, 1000)
	now := r.kernel.Clock().Jiffies()
	require.Equal(t, ct, r.kok("bpf_ct_insert_entry", ct))
	assert.EqualValues(t, uint32(now+hz), o.Num("timeout"))
	assert.EqualValues(t, 8, o.Num("status")&8)
	assert.EqualValues(t, 2, o.Num("ct_general.use.refs.counter"))
	r.kok("bpf_ct_release", ct)
	found, opts = r.connCall("bpf_skb_ct_lookup", c, reply, ctOpts())
	require.Equal(t, ct, found)
	assert.EqualValues(t, 1, opts[9])

	// One with the tuples of another is not inserted, in either direction; it is freed.
	for _, tu := range [][]byte{forward, reply} {
		second, _ := r.connCall("bpf_skb_ct_alloc", c, tu, ctOpts())
		require.NotZero(t, second)
		require.NotEqual(t, ct, second)
		assert.Zero(t, r.kok("bpf_ct_insert_entry", second))
		_, f := r.kfunc("bpf_ct_release", second)
		assert.NotNil(t, f, "the program does not hold it any more")
	}

	assert.Zero(t, r.kok("bpf_ct_change_timeout", ct, 2000))
	assert.EqualValues(t, uint32(r.kernel.Clock().Jiffies()+2*hz), o.Num("timeout"))
	assert.Zero(t, r.kok("bpf_ct_change_status", ct, o.Num("status")|0x400))
	assert.Equal(t, uint64(uint32(neg(uapi.EPERM))), r.kok("bpf_ct_change_timeout", ct, 1000), "fixed")
	assert.Equal(t, busy, r.kok("bpf_ct_change_status", ct, 0))
	r.kok("bpf_ct_release", ct)

	r.kernel.Clock().Advance(3e9)
	found, _ = r.connCall("bpf_skb_ct_lookup", c, reply, ctOpts())
	assert.Zero(t, found, "its time is over")
	again, _ := r.connCall("bpf_skb_ct_alloc", c, forward, ctOpts())
	assert.Equal(t, ct, r.kok("bpf_ct_insert_entry", again), "memory of a freed connection is used again")
	assert.Zero(t, o.Num("mark"))
}

// TestDyingConnections: one that leaves the table while a program holds it stays, and says so.
func TestDyingConnections(t *testing.T) {
	r := newRig(t, newest)
	o := r.track(inBothDirs, 1000)
	c := r.context(tc, hook.ContextSpec{})
	forward := tuple(clientAddr, serverAddr, 1000, 80)
	ct, _ := r.connCall("bpf_skb_ct_lookup", c, forward, ctOpts())
	require.NotZero(t, ct)
	r.kernel.Clock().Advance(1e9)
	gone, opts := r.connCall("bpf_skb_ct_lookup", c, forward, ctOpts())
	assert.Zero(t, gone)
	assert.Equal(t, uapi.ENOENT, errorOf(opts))
	assert.Equal(t, uint64(uint32(neg(uapi.ETIME))), r.kok("bpf_ct_change_timeout", ct, 1000))
	assert.EqualValues(t, 1, o.Num("ct_general.use.refs.counter"))
	r.kok("bpf_ct_release", ct)
}

// TestConnectionsAreRestored: a snapshot has the table.
func TestConnectionsAreRestored(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(tc, hook.ContextSpec{})
	s, m := r.kernel.Snapshot(), r.mem.Snapshot()
	forward := tuple(clientAddr, serverAddr, 1000, 80)
	ct, _ := r.connCall("bpf_skb_ct_alloc", c, forward, ctOpts())
	require.NotZero(t, r.kok("bpf_ct_insert_entry", ct))
	r.mem.Restore(m)
	r.kernel.Restore(s)
	found, _ := r.connCall("bpf_skb_ct_lookup", c, forward, ctOpts())
	assert.Zero(t, found)
}

// TestTranslatedConnections: the reply comes to the translated address, and programs find the
// connection there.
func TestTranslatedConnections(t *testing.T) {
	const natAddr = 0x0a000009
	r := newRig(t, newest)
	c := r.context(tc, hook.ContextSpec{})
	forward := tuple(clientAddr, serverAddr, 1000, 80)
	addr := r.alloc([]byte{10, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	const source, dest = 0, 1
	for _, x := range []struct {
		name   string
		port   uint64
		manip  uint64
		reply  []byte
		status uint64
	}{
		{"source", 2000, source, tuple(serverAddr, natAddr, 80, 2000), 1<<4 | 1<<7},
		{"source, its port kept", 0, source, tuple(serverAddr, natAddr, 80, 1000), 1<<4 | 1<<7},
		{"destination", 8080, dest, tuple(natAddr, clientAddr, 8080, 1000), 1<<5 | 1<<8},
		{"destination, its port kept", uint64(0xffffffff), dest, tuple(natAddr, clientAddr, 80, 1000), 1<<5 | 1<<8},
	} {
		ct, _ := r.connCall("bpf_skb_ct_alloc", c, forward, ctOpts())
		require.NotZero(t, ct, x.name)
		assert.Equal(t, uint64(uint32(neg(uapi.EINVAL))), r.kok("bpf_ct_set_nat_info", ct, addr, x.port, 2), x.name)
		require.Zero(t, r.kok("bpf_ct_set_nat_info", ct, addr, x.port, x.manip), x.name)
		o := r.kernel.ObjectAt(ct)
		assert.Equal(t, x.status, o.Num("status"), x.name)
		assert.Equal(t, uint64(uint32(neg(uapi.ENOMEM))), r.kok("bpf_ct_set_nat_info", ct, addr, x.port, x.manip), "%s: again", x.name)
		r.kok("bpf_ct_set_timeout", ct, 1000)
		require.Equal(t, ct, r.kok("bpf_ct_insert_entry", ct), x.name)
		assert.Zero(t, r.kok("bpf_ct_set_nat_info", ct, addr, 1, 1-x.manip), "%s: in the table", x.name)
		assert.Equal(t, x.status, o.Num("status")&^uint64(net.ConnConfirmed), x.name)
		for _, at := range []struct {
			tuple []byte
			dir   byte
		}{{forward, 0}, {x.reply, 1}} {
			found, opts := r.connCall("bpf_skb_ct_lookup", c, at.tuple, ctOpts())
			require.Equal(t, ct, found, x.name)
			assert.Equal(t, at.dir, opts[9], x.name)
			r.kok("bpf_ct_release", ct)
		}
		r.kok("bpf_ct_release", ct)
		r.kernel.Clock().Advance(2e9)
	}
}
