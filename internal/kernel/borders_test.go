package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestStructsPassedByValue: a struct of up to 8 bytes takes one register, one of up to 16 two, and
// what is larger lies on the stack, where no context shows it (the ABI that the trampolines of x86
// and arm64 follow).
func TestStructsPassedByValue(t *testing.T) {
	b := btf.NewBuilder(nil)
	u64, u32, char := b.Int("unsigned long", 8, 0), b.Int("int", 4, btf.IntSigned), b.Int("char", 1, btf.IntSigned)
	member := func(name string, at uint32) btf.Member {
		return btf.Member{Name: name, Type: u64, BitOffset: at * 8}
	}
	small := b.Struct("small", 8, member("a", 0))
	odd := b.Struct("odd", 9, member("a", 0), btf.Member{Name: "b", Type: char, BitOffset: 64})
	pair := b.Struct("pair", 16, member("a", 0), member("b", 8))
	large := b.Struct("large", 24, member("a", 0), member("b", 8), member("c", 16))
	b.Struct("task_struct", 8, btf.Member{Name: "pid", Type: u32})
	for name, typ := range map[string]btf.ID{"takes_small": small, "takes_odd": odd, "takes_pair": pair, "takes_large": large} {
		proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: u32, Params: []btf.Param{{Name: "s", Type: typ}, {Name: "last", Type: u64}}})
		b.Add(btf.Type{Kind: btf.KindFunc, Name: name, Ref: proto})
	}
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	k := newKernel(t, targetBTF{"structs", spec, object.NewTypes()})
	for _, tt := range []struct {
		function string
		slots    int
		low      bool
		high     bool
	}{
		{"takes_small", 2, true, false}, {"takes_odd", 3, true, false}, {"takes_pair", 3, true, true}, {"takes_large", 2, false, false},
	} {
		t.Run(tt.function, func(t *testing.T) {
			c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeTracing, Attach: uapi.AttachTraceFentry, AttachTo: tt.function})
			require.Len(t, c.Args, 2)
			assert.Equal(t, tt.slots, c.Slots)
			assert.Equal(t, tt.low, c.Args[0].Value != 0, "%#x", c.Args[0].Value)
			if tt.high {
				assert.NotZero(t, c.Args[0].High)
				assert.Equal(t, c.Args[0].High, word(t, c, 1))
			}
			assert.Equal(t, c.Args[1].Value, word(t, c, tt.slots-1), "the argument after")
		})
	}
}

// TestXDPMetadataHasABorder: up to 216 bytes of metadata before the packet, in words
// (net/bpf/test_run.c).
func TestXDPMetadataHasABorder(t *testing.T) {
	k := newEmbedded(t)
	for _, tt := range []struct {
		first uint32
		ok    bool
	}{{0, true}, {4, true}, {6, false}, {212, true}, {216, true}, {220, false}, {252, false}, {256, false}} {
		packet := make([]byte, 400)
		in := make([]byte, 24)
		binary.LittleEndian.PutUint32(in, tt.first)
		binary.LittleEndian.PutUint32(in[4:], uint32(len(packet)))
		_, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeXDP, Packet: packet, Bytes: in})
		if tt.ok {
			assert.NoError(t, err, tt.first)
		} else {
			assert.ErrorIs(t, err, uapi.EINVAL, tt.first)
		}
	}
}

// TestBytesOfSkbContexts: which bytes of ctx_in a test run takes (convert___skb_to_skb); data_end says
// how long the linear part is from 6.19 on (bpf_prog_test_run_skb).
func TestBytesOfSkbContexts(t *testing.T) {
	type span struct{ from, to int }
	allowed := []span{{8, 12}, {32, 44}, {48, 68}, {152, 168}, {176, 180}, {184, 192}}
	for version, linear := range map[uint32]bool{6<<16 | 18<<8: false, 6<<16 | 19<<8: true} {
		k := newEmbedded(t, func(c *Config) { c.Version = version })
		for at := range 192 {
			in := make([]byte, 192)
			if linear {
				in[80] = 100 // all of the packet
			}
			in[at] = 60
			_, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls, Packet: make([]byte, 100), Bytes: in})
			ok := linear && at >= 80 && at < 84
			for _, s := range allowed {
				ok = ok || at >= s.from && at < s.to
			}
			if !ok {
				assert.ErrorIs(t, err, uapi.EINVAL, "byte %d on %#x", at, version)
			} else if err != nil { // of a value, such as a device that is not there
				assert.NotContains(t, err.Error(), "does not accept", "byte %d on %#x", at, version)
			}
		}
	}
}

// TestPortsOfLookups: local_port has 32 bits and takes numbers of 16.
func TestPortsOfLookups(t *testing.T) {
	k := newEmbedded(t)
	for port, want := range map[uint32]error{0: nil, 80: nil, 65535: nil, 65536: uapi.ERANGE, 1<<32 - 1: uapi.ERANGE} {
		in := make([]byte, 64)
		binary.LittleEndian.PutUint32(in[8:], uapi.AFInet)
		binary.LittleEndian.PutUint32(in[60:], port)
		_, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeSkLookup, Attach: uapi.AttachSkLookup, Bytes: in})
		if want == nil {
			assert.NoError(t, err, port)
		} else {
			assert.ErrorIs(t, err, want, port)
		}
	}
}

// TestRangesOfFields: a field takes the numbers of its width, signed or not, and no others.
func TestRangesOfFields(t *testing.T) {
	o := newEmbedded(t).Current()
	for _, tt := range []struct {
		path  string
		value int64
		ok    bool
	}{
		{"pid", 1<<32 - 1, true}, {"pid", 1 << 32, false}, {"pid", -1 << 31, true}, {"pid", -1<<31 - 1, false}, {"pid", -1 << 32, false},
		{"in_execve", 1, true}, {"in_execve", 2, false}, {"in_execve", -1, true}, {"in_execve", -2, false},
		{"comm[0]", 255, true}, {"comm[0]", 256, false}, {"comm[0]", -128, true}, {"comm[0]", -129, false},
		{"start_time", -1 << 63, true},
	} {
		err := o.Set(tt.path, tt.value)
		if tt.ok {
			assert.NoError(t, err, "%s %d", tt.path, tt.value)
		} else {
			assert.ErrorIs(t, err, object.ErrValue, "%s %d", tt.path, tt.value)
		}
	}
}

// TestWhichRouteIsTaken: of a table's routes the longest prefix, then the lowest metric; table 0 is
// the main one.
func TestWhichRouteIsTaken(t *testing.T) {
	k := newEmbedded(t)
	prefix := netip.MustParsePrefix
	k.SetNetwork(net.Network{Devices: []net.Device{{Index: 1, Name: "lo"}}, Routes: []net.Route{
		{Dest: prefix("0.0.0.0/0"), Device: 1, Metric: 1},
		{Dest: prefix("10.0.0.0/8"), Device: 2, Metric: 9},
		{Dest: prefix("10.0.0.0/8"), Device: 3, Metric: 5},
		{Dest: prefix("10.0.0.0/24"), Device: 4, Table: 100},
		{Dest: prefix("2001:db8::/32"), Device: 5, Table: 254},
	}})
	for _, tt := range []struct {
		to     string
		table  uint32
		device uint32
	}{
		{"8.8.8.8", 0, 1}, {"10.0.0.1", 0, 3}, {"10.0.0.1", 254, 3}, {"10.0.0.1", 100, 4}, {"10.0.1.1", 100, 0}, {"10.0.0.1", 7, 0}, {"2001:db8::1", 0, 5},
		{"fd00::1", 0, 0},
	} {
		r, ok := k.Route(netip.MustParseAddr(tt.to), tt.table)
		assert.Equal(t, tt.device != 0, ok, "%s in %d", tt.to, tt.table)
		assert.EqualValues(t, tt.device, r.Device, "%s in %d", tt.to, tt.table)
	}
}

// TestAreasEndBeforeTheirEnd: vm_end is the first address after an area.
func TestAreasEndBeforeTheirEnd(t *testing.T) {
	k := newEmbedded(t)
	mm, err := k.NewMM("a", model.MMSpec{})
	require.NoError(t, err)
	require.NoError(t, k.SetAreas(mm, []model.AreaSpec{{Start: 0x10000, End: 0x20000}}))
	for addr, inside := range map[uint64]bool{0xffff: false, 0x10000: true, 0x1ffff: true, 0x20000: false} {
		vma, err := k.VMAAt(mm, addr)
		require.NoError(t, err)
		assert.Equal(t, inside, vma != nil, "%#x", addr)
	}
}

// TestKindsOfIterators: what ITER_IOVEC is by release (include/linux/uio.h).
func TestKindsOfIterators(t *testing.T) {
	for _, tt := range []struct{ major, minor, kind uint32 }{{5, 13, 4}, {5, 14, 0}, {6, 6, 0}, {6, 7, 1}, {7, 1, 1}} {
		t.Run(fmt.Sprintf("%d.%d", tt.major, tt.minor), func(t *testing.T) {
			k := newEmbedded(t, func(c *Config) { c.Version = uapi.VersionCode(tt.major, tt.minor) })
			o, err := k.NewObjectNamed("iter", "iov_iter")
			require.NoError(t, err)
			assert.EqualValues(t, tt.kind, uintAt(t, o, "iter_type"))
		})
	}
}

// TestLengthsOfOptions: what a program may leave as optlen, at both sides of the buffer's size.
func TestLengthsOfOptions(t *testing.T) {
	k := newEmbedded(t)
	for optlen, want := range map[int32]int{-1: -1, 0: 0, 7: 7, 8: 8, 9: -1} {
		c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeCgroupSockopt, Attach: uapi.AttachCgroupGetsockopt, NetSpec: hook.NetSpec{Sockopt: &hook.Sockopt{Value: make([]byte, 8)}}})
		require.Nil(t, k.Mem().Store(c.Addr+32, 4, uint64(uint32(optlen))))
		value := c.OptionValue()
		assert.Equal(t, want <= 0, value == nil, "%d", optlen)
		assert.Len(t, value, max(want, 0), "%d", optlen)
		assert.Equal(t, optlen, c.Sockopt().Len)
		assert.Len(t, c.Sockopt().Value, min(max(int(optlen), 0), 8), "%d", optlen)
	}
	xdp := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeXDP})
	assert.Nil(t, xdp.OptionValue())
	assert.Nil(t, xdp.Sockopt())
	assert.False(t, xdp.SetSysctl(&hook.Sysctl{Name: "a"}))
}

// TestNamesOfSysctls: a path below /proc/sys, and values of at most a page.
func TestNamesOfSysctls(t *testing.T) {
	k := newEmbedded(t)
	page := make([]byte, uapi.PageSize)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeCgroupSysctl})
	for _, tt := range []struct {
		s  hook.Sysctl
		ok bool
	}{
		{hook.Sysctl{Name: "a/b"}, true}, {hook.Sysctl{}, false}, {hook.Sysctl{Name: "/a"}, false},
		{hook.Sysctl{Name: "a", Value: page, New: page}, true}, {hook.Sysctl{Name: "a", Value: append(page, 1)}, false}, {hook.Sysctl{Name: "a", New: append(page, 1)}, false},
	} {
		assert.Equal(t, tt.ok, tt.s.Check() == nil, "%q", tt.s.Name)
		assert.Equal(t, tt.ok, c.SetSysctl(&tt.s), "%q", tt.s.Name)
	}
	assert.Equal(t, "a", c.Sysctl().Name)
}
