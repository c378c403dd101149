package helpers

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// sharedInfo reads a member of the struct at skb_end_pointer of a context's packet, as programs do:
// head + end.
func (r *rig) sharedInfo(ctx *hook.Context) func(member string) uint64 {
	r.t.Helper()
	skb := r.kernel.ObjectAt(r.kok("bpf_cast_to_kern_ctx", ctx.Addr))
	require.NotNil(r.t, skb)
	at := skb.Num("head") + skb.Num("end")
	assert.Zero(r.t, skb.Num("end")%64, "the buffer ends at a cache line")
	l := r.kernel.LayoutNamed("skb_shared_info")
	return func(member string) uint64 {
		f, rest, err := l.Place(member)
		require.NoError(r.t, err, member)
		require.Empty(r.t, rest)
		v, fault := r.mem.Load(at+f.Off, int(f.Size))
		require.Nil(r.t, fault, member)
		return v
	}
}

// TestSharedInfoFollowsTheBuffer: skb_shared_info is where skb_shinfo looks for it and agrees with
// __sk_buff and the fragments.
func TestSharedInfoFollowsTheBuffer(t *testing.T) {
	r := newRig(t, newest)
	in := make([]byte, 192)
	binary.LittleEndian.PutUint32(in[164:], 3)    // gso_segs
	binary.LittleEndian.PutUint32(in[176:], 1400) // gso_size
	binary.LittleEndian.PutUint64(in[184:], 99)   // hwtstamp
	for name, c := range map[string]struct {
		spec hook.ContextSpec
		want map[string]uint64
	}{
		"plain":     {hook.ContextSpec{}, map[string]uint64{"nr_frags": 0, "gso_size": 0, "frag_list": 0, "dataref.counter": 1, "meta_len": 0, "tx_flags": 0}},
		"segmented": {hook.ContextSpec{Bytes: in}, map[string]uint64{"gso_segs": 3, "gso_size": 1400, "hwtstamps.hwtstamp": 99, "gso_type": 0}},
		"fragments": {hook.ContextSpec{NetSpec: hook.NetSpec{Frags: [][]byte{make([]byte, 100), make([]byte, 4096)}}}, map[string]uint64{"nr_frags": 2, "frags[0].len|": 100, "frags[1].len|": 4096, "frags[1].offset|": 0}},
	} {
		read := r.sharedInfo(r.context(uapi.ProgTypeSchedCls, c.spec))
		for member, want := range c.want {
			switch member { // bio_vec before 6.10
			case "frags[0].len|":
				member = r.member("frags[0].len", "frags[0].bv_len")
			case "frags[1].len|":
				member = r.member("frags[1].len", "frags[1].bv_len")
			case "frags[1].offset|":
				member = r.member("frags[1].offset", "frags[1].bv_offset")
			}
			assert.Equal(t, want, read(member), "%s: %s", name, member)
		}
	}
}

// member returns the first member that skb_shared_info has.
func (r *rig) member(names ...string) string {
	for _, n := range names {
		if _, rest, err := r.kernel.LayoutNamed("skb_shared_info").Place(n); err == nil && rest == "" {
			return n
		}
	}
	return names[0]
}

// TestSharedInfoStaysWithThePacket: it follows the packet to a new place, ends with the old one,
// and never overlaps the tailroom.
func TestSharedInfoStaysWithThePacket(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{NetSpec: hook.NetSpec{Frags: [][]byte{make([]byte, 3000)}}})
	read, old := r.sharedInfo(c), c.Packet.BufferEnd()
	assert.EqualValues(t, 1, read("nr_frags"))
	require.Zero(t, r.ok(uapi.FuncSkbPullData, c.Addr, 3064))
	require.NotEqual(t, old, c.Packet.BufferEnd())
	_, f := r.mem.Load(old, 1)
	require.NotNil(t, f, "the old buffer is gone")
	read = r.sharedInfo(c)
	assert.Zero(t, read("nr_frags"), "the packet is linear")
	require.Zero(t, r.ok(uapi.FuncSkbChangeTail, c.Addr, uint64(c.Packet.Len()+c.Packet.Tailroom()), 0), "to the end of the buffer")
	read = r.sharedInfo(c)
	assert.EqualValues(t, 1, read("dataref.counter"))
	f = r.mem.Store(c.Packet.BufferEnd()+4, 2, 1)
	require.NotNil(t, f, "programs do not write it")

	for range 5 { // each ends with its packet
		c.Free()
		c = r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
		r.sharedInfo(c)
	}
	n := 0
	for _, o := range r.kernel.Objects() {
		if o.Role() == "skb_shared_info" {
			n++
		}
	}
	assert.Equal(t, 1, n)
}

// TestSharedInfoIsReadByProbes: bpf_probe_read_kernel of skb_shinfo(skb) copies the struct of the
// program's packet and of a traced function's.
func TestSharedInfoIsReadByProbes(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	r.sharedInfo(c)
	foreign, err := r.kernel.NewObjectNamed("skb", "sk_buff")
	require.NoError(t, err)
	foreign.MarkBuiltin()
	for name, at := range map[string]uint64{"own": c.Packet.BufferEnd(), "foreign": foreign.Num("head") + foreign.Num("end")} {
		out := r.alloc([]byte("................"))
		require.Zero(t, r.ok(uapi.FuncProbeReadKernel, out, 16, at), name)
		assert.Equal(t, make([]byte, 16), r.bytes(out, 16), name)
	}
}

// TestDynptrOfAForeignSkb: the bytes of an sk_buff that a traced function got can be read through a
// dynptr, and only read.
func TestDynptrOfAForeignSkb(t *testing.T) {
	r := newRig(t, newest)
	skb, err := r.kernel.NewObjectNamed("skb", "sk_buff")
	require.NoError(t, err)
	skb.MarkBuiltin()
	d, out := r.space(16), r.space(4)
	assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_dynptr_from_skb", skb.Addr(), 1, d), "flags")
	require.Zero(t, r.kok("bpf_dynptr_from_skb", skb.Addr(), 0, d))
	n := skb.Num("len")
	assert.Equal(t, n, r.kok("bpf_dynptr_size", d))
	assert.EqualValues(t, 1, r.kok("bpf_dynptr_is_rdonly", d))
	require.Zero(t, r.ok(uapi.FuncDynptrRead, out, 4, d, 0, 0))
	want := make([]byte, 4)
	require.Nil(t, r.mem.Read(skb.Num("data"), want))
	assert.Equal(t, want, r.bytes(out, 4))
	assert.EqualValues(t, 0x45, want[0], "an IPv4 header")
	for name, c := range map[string]struct {
		off, n uint64
		want   uapi.Errno
	}{"nothing at the end": {n, 0, 0}, "the last byte": {n - 1, 1, 0}, "past the end": {n, 1, uapi.E2BIG}, "too long": {0, n + 1, uapi.E2BIG}} {
		assert.Equal(t, neg(c.want), r.ok(uapi.FuncDynptrRead, r.space(int(n)+8), c.n, d, c.off, 0), name)
	}
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncDynptrWrite, d, 0, out, 4, 0))
	assert.Zero(t, r.ok(uapi.FuncDynptrData, d, 0, 4))

	require.NoError(t, skb.Set("data_len", 8))
	_, f := r.kfunc("bpf_dynptr_from_skb", skb.Addr(), 0, d)
	require.NotNil(t, f, "fragments of a foreign packet are refused by name")
	assert.Equal(t, vm.NotSimulated, f.Kind)
}
