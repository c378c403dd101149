package helpers

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestReleasesOfFibLookupFlags: each flag of bpf_fib_lookup is -EINVAL in the release before the
// one that added it.
func TestReleasesOfFibLookupFlags(t *testing.T) {
	for _, tt := range []struct {
		flag         uint64
		major, minor uint32
	}{
		{uapi.FibLookupSkipNeigh, 6, 3}, {uapi.FibLookupTbid, 6, 5}, {uapi.FibLookupSrc, 6, 7}, {uapi.FibLookupMark, 6, 10},
	} {
		for _, minor := range []uint32{tt.minor - 1, tt.minor, tt.minor + 1} {
			r := newRig(t, uapi.VersionCode(tt.major, minor))
			c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
			p := make([]byte, sizeofFib)
			p[0] = afInet
			r.mem.ByteOrder().PutUint32(p[fibIfindex:], 1)
			got := r.ok(uapi.FuncFibLookup, c.Addr, r.alloc(p), sizeofFib, tt.flag)
			assert.Equal(t, minor < tt.minor, got == neg(uapi.EINVAL), "flag %#x on %d.%d: %d", tt.flag, tt.major, minor, int64(got))
		}
	}
}

// TestMostIterationsOfLoops: bpf_loop makes up to 2^23 iterations (BPF_MAX_LOOPS) and refuses one
// more before it calls anything.
func TestMostIterationsOfLoops(t *testing.T) {
	r := newRig(t, newest)
	tooMany := uint64(uint32(neg(uapi.E2BIG)))
	assert.Equal(t, tooMany, r.ok(uapi.FuncLoop, 8<<20+1, 0x1234, 0, 0))
	assert.Zero(t, r.ok(uapi.FuncLoop, 0, 0x1234, 0, 0))
	_, f := r.call(uapi.FuncLoop, 8<<20, 0x1234, 0, 0) // calls back where nothing is
	assert.NotNil(t, f)
}

// TestLongestTunnelOptions: up to 255 bytes, in words, so 252.
func TestLongestTunnelOptions(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	data := r.alloc(make([]byte, 512))
	assert.Zero(t, r.ok(uapi.FuncSkbSetTunnelKey, c.Addr, data, tunnelSize, 0))
	for n, want := range map[uint64]uint64{4: 0, 6: neg(uapi.EINVAL), 252: 0, 256: neg(uapi.ENOMEM), 260: neg(uapi.ENOMEM)} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			assert.Equal(t, want, r.ok(uapi.FuncSkbSetTunnelOpt, c.Addr, data, n))
		})
	}
}

// TestRangesOfXDPPackets: offsets and lengths above 16 bits are EFAULT, those behind the packet's
// end EINVAL (bpf_xdp_pointer).
func TestRangesOfXDPPackets(t *testing.T) {
	r := newRig(t, newest)
	c := r.context(uapi.ProgTypeXDP, hook.ContextSpec{Packet: make([]byte, 100)})
	to := r.space(1 << 16)
	for _, x := range []struct {
		off, n uint64
		want   uapi.Errno
	}{
		{0, 100, 0}, {0, 101, uapi.EINVAL}, {99, 1, 0}, {100, 1, uapi.EINVAL}, {0xffff, 1, uapi.EINVAL}, {0x10000, 1, uapi.EFAULT}, {0, 0xffff, uapi.EINVAL}, {0, 0x10000, uapi.EFAULT},
	} {
		for _, id := range []uapi.FuncID{uapi.FuncXDPLoadBytes, uapi.FuncXDPStoreBytes} {
			assert.Equal(t, neg(x.want), r.ok(id, c.Addr, x.off, to, x.n), "%v %+v", id, x)
		}
	}
}

// TestSavedSynsAreOfSockOps: other programs have no such option (bpf_sock_ops_getsockopt).
func TestSavedSynsAreOfSockOps(t *testing.T) {
	r := newRig(t, newest)
	o, _ := r.open("sk", net.SockSpec{})
	out := r.space(16)
	for typ, want := range map[uapi.ProgType]uapi.Errno{uapi.ProgTypeSockOps: uapi.ENOENT, uapi.ProgTypeCgroupSockAddr: uapi.EINVAL} {
		spec := hook.ContextSpec{NetSpec: hook.NetSpec{Socket: o}}
		if typ == uapi.ProgTypeCgroupSockAddr {
			spec.Attach = uapi.AttachCgroupInet4Connect
		}
		c := r.context(typ, spec)
		for name := uint64(tcpBPFSyn); name <= tcpBPFSynMac; name++ {
			assert.Equal(t, neg(want), r.ok(uapi.FuncGetsockopt, c.Addr, solTCP, name, out, 4), "%v %d", typ, name)
		}
	}
}
