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

// fibTuple is a struct bpf_fib_lookup with what a flow lookup reads.
func fibTuple(family uint8, protocol uint8, index uint32, source, dest string) []byte {
	b := make([]byte, sizeofFib)
	b[fibFamily], b[fibProtocol] = family, protocol
	binary.LittleEndian.PutUint32(b[fibIfindex:], index)
	from, to := netip.MustParseAddrPort(source), netip.MustParseAddrPort(dest)
	binary.BigEndian.PutUint16(b[fibSport:], from.Port())
	binary.BigEndian.PutUint16(b[fibDport:], to.Port())
	copy(b[fibSource:], from.Addr().AsSlice())
	copy(b[fibDest:], to.Addr().AsSlice())
	return b
}

func (r *rig) flow(source, dest string, in, out, expires uint32) *object.Object {
	r.t.Helper()
	now := uint32(r.kernel.Clock().Jiffies())
	t := net.ConnTuple{Protocol: 6, Source: netip.MustParseAddrPort(source), Dest: netip.MustParseAddrPort(dest)}
	o, err := r.kernel.NewFlow("flow", t, in, out, now+expires)
	require.NoError(r.t, err)
	require.NoError(r.t, r.kernel.OpenFlow(o, now))
	return o
}

// TestFlowLookup: what bpf_xdp_flow_lookup finds at interface 1, and its errors
// (bpf_xdp_flow_tuple_lookup, flow_offload_lookup).
func TestFlowLookup(t *testing.T) {
	const client, server, six, seven = "10.0.0.1:1000", "10.0.0.2:80", "[fd00::6]:6", "[fd00::7]:7"
	for _, tt := range []struct {
		name  string
		fib   []byte
		size  uint64
		found string // the part of the flow
		errno uapi.Errno
	}{
		{"first direction", fibTuple(2, 6, 1, client, server), 4, "f tuplehash[0]", 0},
		{"replies, at another interface", fibTuple(2, 6, 2, server, client), 4, "f tuplehash[1]", 0},
		{"IPv6", fibTuple(10, 6, 1, six, seven), 4, "six tuplehash[0]", 0},
		{"a wrong interface", fibTuple(2, 6, 2, client, server), 4, "", uapi.ENOENT},
		{"a wrong port", fibTuple(2, 6, 1, "10.0.0.1:1001", server), 4, "", uapi.ENOENT},
		{"a wrong protocol", fibTuple(2, 17, 1, client, server), 4, "", uapi.ENOENT},
		{"about to end", fibTuple(2, 6, 1, "10.0.0.3:1", server), 4, "", uapi.ENOENT},
		{"its connection about to end", fibTuple(2, 6, 1, "10.0.0.4:1", server), 4, "", uapi.ENOENT},
		{"its time over", fibTuple(2, 6, 1, "10.0.0.5:1", server), 4, "", uapi.ENOENT},
		{"a tag", fibTuple(2, 6, 1, "10.0.0.6:1", server), 4, "", uapi.ENOENT},
		{"no size", fibTuple(2, 6, 1, client, server), 0, "", uapi.EINVAL},
		{"a smaller size", fibTuple(2, 6, 1, client, server), 3, "", uapi.EINVAL},
		{"a larger size", fibTuple(2, 6, 1, client, server), 5, "", uapi.EINVAL},
		{"no family", fibTuple(0, 6, 1, client, server), 4, "", uapi.EAFNOSUPPORT},
		{"another family", fibTuple(17, 6, 1, client, server), 4, "", uapi.EAFNOSUPPORT},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := moduleRig(t, uapi.VersionCode(7, 2), "nf_flow_table")
			flows := map[string]*object.Object{"f": r.flow(client, server, 1, 2, 100), "six": r.flow(six, seven, 1, 1, 100)}
			require.NoError(t, r.flow("10.0.0.3:1", server, 1, 1, 100).SetUint("flags", 1<<3))
			dying := r.kernel.ObjectAt(r.flow("10.0.0.4:1", server, 1, 1, 100).Num("ct"))
			require.NoError(t, dying.SetUint("status", net.ConnDying))
			r.flow("10.0.0.5:1", server, 1, 1, 1)
			require.NoError(t, r.flow("10.0.0.6:1", server, 1, 1, 100).SetUint("tuplehash[0].tuple.encap[0].id", 7))
			r.kernel.Clock().Advance(8e6)
			ctx := r.context(uapi.ProgTypeXDP, hook.ContextSpec{Packet: make([]byte, 64)})
			opts := r.alloc(make([]byte, 4))
			ret := r.kok("bpf_xdp_flow_lookup", ctx.Addr, r.alloc(tt.fib), opts, tt.size)
			assert.Equal(t, uint32(tt.errno.Neg()), binary.LittleEndian.Uint32(r.bytes(opts, 4)))
			want := uint64(0)
			for name, o := range flows {
				for _, part := range []string{"tuplehash[0]", "tuplehash[1]"} {
					if tt.found == name+" "+part {
						at, err := o.FieldAddr(part)
						require.NoError(t, err)
						want = at
						assert.Equal(t, (r.kernel.Clock().Jiffies()+30*r.kernel.Clock().HZ)&0xffffffff, o.Num("timeout"), "its time begins anew")
					}
				}
			}
			assert.Equal(t, want, ret)
		})
	}
}

// TestFlowTables: without flows there is none; with flows it belongs to their interfaces
// (nf_flowtable_by_dev). A flow's connection is tracked.
func TestFlowTables(t *testing.T) {
	r := moduleRig(t, uapi.VersionCode(7, 2), "nf_flow_table")
	lookup := func() (uint64, uint32) {
		ctx := r.context(uapi.ProgTypeXDP, hook.ContextSpec{Packet: make([]byte, 64)})
		opts := r.alloc(make([]byte, 4))
		ret := r.kok("bpf_xdp_flow_lookup", ctx.Addr, r.alloc(fibTuple(2, 6, 7, "10.0.0.1:1", "10.0.0.2:2")), opts, 4)
		return ret, binary.LittleEndian.Uint32(r.bytes(opts, 4))
	}
	missing := uint32(uapi.ENOENT.Neg())
	ret, errno := lookup()
	assert.Zero(t, ret)
	assert.Equal(t, missing, errno, "no flow table")
	o := r.flow("10.0.0.1:1", "10.0.0.2:2", 7, 7, 100)
	ret, errno = lookup()
	assert.Zero(t, ret)
	assert.Equal(t, missing, errno, "the table of another interface")
	r.flow("10.0.0.9:1", "10.0.0.2:2", 7, 1, 100)
	before := o.Num("timeout")
	ret, errno = lookup()
	assert.NotZero(t, ret)
	assert.Zero(t, errno)
	assert.Greater(t, o.Num("timeout"), before)

	conn, dir := r.kernel.Tracked(net.ConnTuple{Protocol: 6, Source: netip.MustParseAddrPort("10.0.0.2:2"), Dest: netip.MustParseAddrPort("10.0.0.1:1")}, inBothDirs, uint32(r.kernel.Clock().Jiffies()))
	require.NotNil(t, conn)
	assert.Equal(t, conn.Addr(), o.Num("ct"))
	assert.EqualValues(t, 1, dir)
	assert.EqualValues(t, 1<<14, conn.Num("status")&(1<<14), "offloaded")
	assert.Error(t, r.kernel.OpenFlow(conn, 0), "no flow")
}

// TestFlowLookupFaults: arguments that are not mapped, and a kernel without the module's types.
func TestFlowLookupFaults(t *testing.T) {
	r := moduleRig(t, uapi.VersionCode(7, 2), "nf_flow_table")
	ctx := r.context(uapi.ProgTypeXDP, hook.ContextSpec{Packet: make([]byte, 64)})
	fib, opts := r.alloc(fibTuple(2, 6, 1, "10.0.0.1:1", "10.0.0.2:2")), r.alloc(make([]byte, 4))
	for _, args := range [][]uint64{{ctx.Addr, 0, opts, 4}, {ctx.Addr, 1 << 63, opts, 4}, {ctx.Addr, fib, 0, 4}, {ctx.Addr, fib, 1 << 63, 4}, {ctx.Addr, fib, 0, 0}, {0, fib, opts, 4}} {
		_, f := r.kfunc("bpf_xdp_flow_lookup", args...)
		assert.NotNil(t, f, "%#x", args)
	}
	old := newRig(t, newest)
	_, err := old.kernel.NewFlow("flow", net.ConnTuple{}, 1, 1, 1)
	assert.ErrorContains(t, err, "flow_offload is not in the kernel's BTF")
}
