package mem

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newMem(t testing.TB, cfg Config) *Memory {
	t.Helper()
	m, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

func alloc(t testing.TB, m *Memory, size uint64, kind RegionKind, name string) *Region {
	t.Helper()
	r, err := m.Alloc(size, Region{Kind: kind, Name: name})
	require.NoError(t, err)
	return r
}

func TestLoadStore(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, ptr := range []int{4, 8} {
			t.Run(fmt.Sprint(order, ptr), func(t *testing.T) {
				m := newMem(t, Config{ByteOrder: order, PointerSize: ptr})
				r := alloc(t, m, 64, Stack, "")
				assert.Zero(t, r.Base%16)
				for _, size := range []int{1, 2, 4, 8} {
					for off := uint64(0); off+uint64(size) <= 64; off++ {
						v := uint64(0x8899aabbccddeeff) >> (64 - 8*size)
						require.Nil(t, m.Store(r.Base+off, size, v))
						got, f := m.Load(r.Base+off, size)
						require.Nil(t, f)
						require.Equal(t, v, got)
						b := make([]byte, 8)
						require.Nil(t, m.Read(r.Base+off, b[:size]))
						want := make([]byte, 8)
						order.PutUint64(want, v)
						if order == binary.BigEndian {
							want = want[8-size:]
						}
						require.Equal(t, want[:size], b[:size])
						require.Equal(t, b[:size], m.Bytes(r)[off:off+uint64(size)])
					}
				}
			})
		}
	}
}

func TestFaults(t *testing.T) {
	m := newMem(t, Config{})
	a := alloc(t, m, 20, MapValue, "conf")
	arr, err := m.AllocArray(8, 12, 24, Region{Kind: MapValue, Name: "counters"})
	require.NoError(t, err)
	ro, err := m.Alloc(16, Region{Kind: Global, Name: ".rodata", ReadOnly: true})
	require.NoError(t, err)
	gone := alloc(t, m, 32, RingbufRecord, "rb")
	m.Free(gone)
	_, err = m.AddWindow(Window{Base: 0x10000, Size: 1 << 40, Kind: WindowUser, Name: "user"})
	require.NoError(t, err)
	_, err = m.AddWindow(Window{Base: 0xffffc90000000000, Size: 1 << 30, Kind: WindowKernel, Name: "vmalloc"})
	require.NoError(t, err)
	_, err = m.AddWindow(Window{Base: 0xffffffff81000000, Size: 1 << 20, Kind: WindowText, Name: "kernel"})
	require.NoError(t, err)
	cases := []struct {
		name  string
		addr  uint64
		size  int
		write bool
		kind  FaultKind
		delta int64
		text  string
	}{
		{"just past", a.Base + 20, 4, false, OutOfBounds, 0, "just past the end of map value conf"},
		{"8 past", a.Base + 28, 1, true, OutOfBounds, 8, "8 bytes past the end of map value conf"},
		{"runs over", a.Base + 16, 8, false, OutOfBounds, 0, "the last 4 bytes of the access are past the end of map value conf"},
		{"before", a.Base - 8, 8, false, OutOfBounds, -8, "8 bytes before the start of map value conf"},
		{"straddles start", a.Base - 4, 8, false, OutOfBounds, -4, "the first 4 bytes are before the start of map value conf"},
		{"element", arr.Base + 3*24 + 12, 4, false, OutOfBounds, 0, "just past the end of map value counters[3]"},
		{"element 8", arr.Base + 3*24 + 16, 1, false, OutOfBounds, 4, "4 bytes past the end of map value counters[3]"},
		{"next element", arr.Base + 4*24 - 2, 1, false, OutOfBounds, -2, "2 bytes before the start of map value counters[4]"},
		{"last element", arr.Base + 7*24 + 20, 4, false, OutOfBounds, 8, "8 bytes past the end of map value counters[7]"},
		{"read-only", ro.Base, 4, true, ReadOnly, 0, "global data .rodata is read-only"},
		{"freed", gone.Base + 8, 8, false, UseAfterFree, 8, "offset 8 of ring buffer record rb, which was freed"},
		{"null", 0, 8, false, NullPointer, 0, "null pointer"},
		{"null plus", 0x60, 8, true, NullPointer, 0, "null pointer plus 96"},
		{"errno", ^uint64(0) - 21, 1, false, Unmapped, 0, "error pointer -22"},
		{"wild", 0xdead000000000000, 4, false, Unmapped, 0, "no memory there"},
		{"wraps", ^uint64(0) - 1, 8, false, Unmapped, 0, "wraps"},
		{"user", 0x20000, 4, false, UserPointer, 0x10000, "bpf_probe_read_user"},
		{"absent page", 0xffffc90000001000, 4, false, Unmapped, 0x1000, "page not present in kernel object vmalloc"},
		{"text store", 0xffffffff81000000, 4, true, ReadOnly, 0, "text kernel is read-only"},
		{"before arena", m.Base() - 1, 8, false, Unmapped, 0, "no memory there"},
		{"arena start", m.Base(), 8, false, OutOfBounds, -16, "16 bytes before the start of map value conf"},
		{"arena end", m.Base() + DefaultSize - 4, 8, false, OutOfBounds, 0, "outside any region"},
		{"limit", m.Base() + m.Limit() - 4, 8, false, OutOfBounds, 0, ""},
		{"behind limit", m.Base() + m.Limit(), 8, false, OutOfBounds, 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var f *Fault
			if c.write {
				f = m.Store(c.addr, c.size, 1)
			} else {
				_, f = m.Load(c.addr, c.size)
			}
			require.NotNil(t, f)
			if c.name == "limit" || c.name == "behind limit" {
				return
			}
			if c.name == "arena end" {
				assert.Equal(t, Unmapped, f.Kind)
				return
			}
			assert.Equal(t, c.kind, f.Kind, f.Error())
			assert.Contains(t, f.Error(), c.text)
			if c.delta != 0 {
				assert.Equal(t, c.delta, f.Delta)
			}
			assert.Equal(t, c.write, f.Write)
			p := make([]byte, c.size)
			if c.write {
				assert.NotNil(t, m.Write(c.addr, p))
			} else {
				assert.NotNil(t, m.Read(c.addr, p))
			}
		})
	}
	v, f := m.Load(ro.Base+8, 8)
	assert.Nil(t, f)
	assert.Zero(t, v)
	for i := range uint64(8) {
		assert.Nil(t, m.Write(arr.Base+i*24, make([]byte, 12)))
	}
	i, off, ok := arr.Elem(arr.Base + 3*24 + 5)
	assert.True(t, ok)
	assert.Equal(t, [2]uint64{3, 5}, [2]uint64{i, off})
}

func TestTruncate32(t *testing.T) {
	m := newMem(t, Config{PointerSize: 4})
	r := alloc(t, m, 16, Stack, "")
	require.Less(t, r.Base, uint64(1)<<32)
	require.Nil(t, m.Store(r.Base|0xabcd<<32, 4, 7))
	v, f := m.Load(r.Base, 4)
	require.Nil(t, f)
	assert.EqualValues(t, 7, v)
	assert.Equal(t, r, m.Find(r.Base|1<<40))
}

func TestLimits(t *testing.T) {
	m := newMem(t, Config{})
	for _, size := range []uint64{1 << 31, 1 << 40, ^uint64(0), ^uint64(0) - 100} {
		_, err := m.Alloc(size, Region{Name: "big"})
		var le *LimitError
		require.True(t, errors.As(err, &le), "%v", err)
		assert.Equal(t, size, le.Requested)
	}
	for _, c := range [][2]uint64{{1 << 32, 1 << 32}, {^uint64(0), 8}, {1 << 20, 1 << 20}, {2, ^uint64(0)}} {
		_, err := m.AllocArray(c[0], c[1], 0, Region{})
		var le *LimitError
		require.True(t, errors.As(err, &le), "%v", err)
	}
	_, err := m.AllocArray(4, 12, 8, Region{})
	assert.Error(t, err)
	r, err := m.Alloc(64<<20, Region{Name: "large"})
	require.NoError(t, err)
	require.Nil(t, m.Store(r.Base+r.Size-8, 8, 1))
	_, err = New(Config{PointerSize: 3})
	assert.Error(t, err)
	_, err = New(Config{Base: 12345})
	assert.Error(t, err)
}

func TestFreeAndReuse(t *testing.T) {
	m := newMem(t, Config{})
	first := alloc(t, m, 48, LocalObject, "first")
	require.Nil(t, m.Store(first.Base, 8, 42))
	m.Free(first)
	m.Free(first)
	assert.Nil(t, m.Bytes(first))
	assert.Nil(t, m.Find(first.Base))
	seen := false
	for range 3 * quarantineCount {
		r, err := m.Alloc(48, Region{Kind: LocalObject})
		if err != nil {
			t.Fatal(err)
		}
		if v, f := m.Load(r.Base, 8); f != nil || v != 0 {
			t.Fatalf("reused memory is not zero: %#x %v", v, f)
		}
		seen = seen || r.Base == first.Base
		m.Store(r.Base, 8, 1)
		m.Free(r)
	}
	assert.True(t, seen, "addresses are reused in the end")
	assert.Less(t, m.Used(), uint64(2<<20))
}

func TestSetBounds(t *testing.T) {
	m := newMem(t, Config{})
	r := alloc(t, m, 1024, Packet, "pkt")
	base, size := r.Extent()
	require.NoError(t, m.SetBounds(r, base+256, base+256+60))
	for _, lo := range []uint64{256, 236, 250, 255, 261} {
		for n := uint64(1); n < 40; n++ {
			require.NoError(t, m.SetBounds(r, base+lo, base+lo+n))
			for at := lo - 9; at < lo+n+9; at++ {
				_, f := m.Load(base+at, 1)
				assert.Equal(t, at >= lo && at < lo+n, f == nil, "lo %d n %d at %d", lo, n, at)
				_, f = m.Load(base+at, 4)
				assert.Equal(t, at >= lo && at+4 <= lo+n, f == nil, "lo %d n %d at %d", lo, n, at)
			}
		}
	}
	assert.Error(t, m.SetBounds(r, base-1, base+5))
	assert.Error(t, m.SetBounds(r, base+5, base+size+1))
	_, f := m.Load(base+300, 1)
	assert.ErrorContains(t, f, "packet pkt")
}

type byteView struct{ b []byte }

func (v byteView) Load(off uint64, size int) (uint64, *Fault) { return uint64(v.b[off]) + 1000, nil }
func (v byteView) Store(off uint64, size int, x uint64) *Fault {
	if off == 3 {
		return &Fault{Kind: NotPermitted, Detail: "field locked"}
	}
	v.b[off] = byte(x)
	return nil
}
func (v byteView) Read(off uint64, p []byte) *Fault  { copy(p, v.b[off:]); return nil }
func (v byteView) Write(off uint64, p []byte) *Fault { copy(v.b[off:], p); return nil }

func TestView(t *testing.T) {
	m := newMem(t, Config{})
	r, err := m.Alloc(12, Region{Kind: Context, Name: "xdp_md", View: byteView{make([]byte, 12)}})
	require.NoError(t, err)
	require.Nil(t, m.Store(r.Base+4, 4, 9))
	v, f := m.Load(r.Base+4, 4)
	require.Nil(t, f)
	assert.EqualValues(t, 1009, v)
	f = m.Store(r.Base+3, 1, 1)
	require.NotNil(t, f)
	assert.ErrorContains(t, f, "access to offset 3 of context xdp_md is not permitted; field locked")
	_, f = m.Load(r.Base+10, 4)
	require.NotNil(t, f)
	assert.Equal(t, OutOfBounds, f.Kind)
	require.Nil(t, m.Write(r.Base, []byte{1, 2, 3}))
	p := make([]byte, 3)
	require.Nil(t, m.Read(r.Base, p))
	assert.Equal(t, []byte{1, 2, 3}, p)
}

func TestUndefined(t *testing.T) {
	m := newMem(t, Config{})
	r := alloc(t, m, 20, Stack, "")
	m.MarkUndefined(r)
	_, f := m.Load(r.Base, 1)
	require.NotNil(t, f)
	assert.Equal(t, NeverSet, f.Kind)
	require.Nil(t, m.Store(r.Base+2, 2, 7))
	_, f = m.Load(r.Base+2, 2)
	assert.Nil(t, f)
	_, f = m.Load(r.Base, 4)
	assert.NotNil(t, f)
	require.Nil(t, m.Write(r.Base, make([]byte, 20)))
	require.Nil(t, m.Read(r.Base, make([]byte, 20)))
	assert.NotNil(t, m.Read(r.Base, make([]byte, 21)))
	assert.NotNil(t, m.Store(r.Base+20, 1, 0))
	assert.Empty(t, m.undef)
}

func TestWatch(t *testing.T) {
	m := newMem(t, Config{})
	r := alloc(t, m, 32, MapValue, "v")
	var hits []Hit
	m.OnWatch = func(h Hit) { hits = append(hits, h) }
	id := m.AddWatch(r.Base+4, 4, false, true)
	m.Load(r.Base+4, 4)
	m.Store(r.Base, 4, 1)
	assert.Empty(t, hits)
	m.Store(r.Base, 8, 0x100000000)
	require.Len(t, hits, 1)
	rd := m.AddWatch(r.Base+6, 1, true, false)
	v, f := m.Load(r.Base, 8)
	require.Nil(t, f)
	assert.EqualValues(t, uint64(0x100000000), v)
	require.Len(t, hits, 2)
	assert.Equal(t, rd, hits[1].Watch.ID)
	m.RemoveWatch(id)
	m.RemoveWatch(rd)
	m.Store(r.Base, 8, 1)
	assert.Len(t, hits, 2)
	assert.Equal(t, ClassPlain, m.class((r.Base-m.base)/8))
}

func TestUserAndWindows(t *testing.T) {
	m := newMem(t, Config{})
	w, err := m.AddWindow(Window{Base: 0x1000, Size: 1 << 30, Kind: WindowUser, Name: "user"})
	require.NoError(t, err)
	_, err = m.AddWindow(Window{Base: 0x2000, Size: 16, Kind: WindowUser})
	assert.Error(t, err)
	_, err = m.AddWindow(Window{Base: m.Base() + 100, Size: 16})
	assert.Error(t, err)
	require.NoError(t, w.Map(0x5ff0, 100))
	require.Nil(t, m.WriteUser(0x5ffe, []byte("hello")))
	p := make([]byte, 5)
	require.Nil(t, m.ReadUser(0x5ffe, p))
	assert.Equal(t, "hello", string(p))
	assert.NotNil(t, m.ReadUser(0x9000, p))
	assert.NotNil(t, m.ReadUser(m.Base(), p))
	assert.NotNil(t, m.Read(0x5ffe, p))
	arena, err := m.AddWindow(Window{Base: 0xffffc90000000000, Size: 1 << 32, Kind: WindowArena, Name: "arena"})
	require.NoError(t, err)
	v, f := m.Load(arena.Base+8, 8)
	assert.Nil(t, f)
	assert.Zero(t, v)
	assert.Nil(t, m.Store(arena.Base+8, 8, 5))
	require.NoError(t, arena.Map(arena.Base, 4096))
	assert.Nil(t, m.Store(arena.Base+8, 8, 5))
	v, _ = m.Load(arena.Base+8, 8)
	assert.EqualValues(t, 5, v)
	_, f = m.Load(arena.Base+1<<32-4, 8)
	assert.NotNil(t, f)
	var le *LimitError
	assert.ErrorAs(t, arena.Map(arena.Base, 2<<30), &le)
}

func TestSnapshot(t *testing.T) {
	m := newMem(t, Config{})
	a := alloc(t, m, 8192, MapValue, "a")
	b := alloc(t, m, 64, MapValue, "b")
	m.Store(a.Base, 8, 1)
	s := m.Snapshot()
	m.Store(a.Base, 8, 2)
	m.Store(a.Base+8000, 8, 3)
	m.Free(b)
	c := alloc(t, m, 100, Scratch, "c")
	base := c.Base
	s2 := m.Snapshot()
	m.Restore(s)
	assert.True(t, c.Freed)
	assert.False(t, b.Freed)
	v, f := m.Load(a.Base, 8)
	require.Nil(t, f)
	assert.EqualValues(t, 1, v)
	v, f = m.Load(a.Base+8000, 8)
	require.Nil(t, f)
	assert.Zero(t, v)
	assert.Nil(t, m.Store(b.Base, 8, 1))
	assert.NotNil(t, m.Store(base, 8, 1))
	d := alloc(t, m, 100, Scratch, "d")
	assert.Equal(t, base, d.Base, "the allocator's state is restored")
	v, f = m.Load(d.Base, 8)
	require.Nil(t, f)
	assert.Zero(t, v)
	_ = s2
}

func TestPoolIsClean(t *testing.T) {
	for i := range 20 {
		m, err := New(Config{})
		require.NoError(t, err)
		r, err := m.Alloc(uint64(100+i*100000), Region{})
		require.NoError(t, err)
		b := m.Bytes(r)
		require.Equal(t, len(b), bytes.Count(b, []byte{0}))
		for j := range b {
			b[j] = 0xaa
		}
		m.Free(r)
		m.Close()
		m.Close()
		_, err = m.Alloc(1, Region{})
		require.ErrorIs(t, err, ErrClosed)
		_, f := m.Load(r.Base, 8)
		require.NotNil(t, f)
	}
}

func TestManyRegions(t *testing.T) {
	m := newMem(t, Config{})
	var rs []*Region
	for i := range 50000 {
		r, err := m.Alloc(uint64(i%100+1), Region{Kind: MapValue})
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	for i := 0; i < len(rs); i += 7 {
		if m.Find(rs[i].Base+rs[i].Size-1) != rs[i] || m.Find(rs[i].Base+rs[i].Size) != nil {
			t.Fatalf("region %d", i)
		}
	}
}

// FuzzAccess checks every access against a plain model of which bytes are valid.
func FuzzAccess(f *testing.F) {
	f.Add(uint16(0), uint16(64), uint8(8), []byte{1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, lo, n uint16, size uint8, ops []byte) {
		m, err := New(Config{})
		require.NoError(t, err)
		defer m.Close()
		r, err := m.Alloc(256, Region{Kind: Packet})
		require.NoError(t, err)
		base, _ := r.Extent()
		l, h := uint64(lo)%256, uint64(lo)%256+uint64(n)%(257-uint64(lo)%256)
		require.NoError(t, m.SetBounds(r, base+l, base+h))
		for _, op := range ops {
			sz := uint64(1) << (size % 4)
			at := uint64(op)
			_, f := m.Load(base+at, int(sz))
			require.Equal(t, at >= l && at+sz <= h, f == nil)
			require.Equal(t, f == nil, m.Check(base+at, sz, true) == nil)
		}
	})
}

func BenchmarkShortRun(b *testing.B) {
	for b.Loop() {
		m, err := New(Config{})
		if err != nil {
			b.Fatal(err)
		}
		for i := range 10 {
			r, err := m.Alloc(uint64(64+i*100), Region{Kind: MapValue})
			if err != nil {
				b.Fatal(err)
			}
			m.Store(r.Base, 8, 1)
		}
		m.Close()
	}
}

func BenchmarkAllocFree(b *testing.B) {
	m := newMem(b, Config{})
	for b.Loop() {
		r, _ := m.Alloc(64, Region{Kind: RingbufRecord})
		m.Free(r)
	}
}

func BenchmarkSnapshot1MiB(b *testing.B) {
	m := newMem(b, Config{})
	r, _ := m.Alloc(1<<20, Region{})
	for i := range m.Bytes(r) {
		m.Bytes(r)[i] = byte(i)
	}
	for b.Loop() {
		s := m.Snapshot()
		m.Restore(s)
	}
}

func BenchmarkLoadView(b *testing.B) {
	m := newMem(b, Config{})
	r, _ := m.Alloc(16, Region{View: byteView{make([]byte, 16)}})
	for b.Loop() {
		m.Load(r.Base+4, 4)
	}
}

// TestFreedAddressesRest: an address serves again only after much else was freed, so that a
// dangling pointer meets freed memory and not somebody else's.
func TestFreedAddressesRest(t *testing.T) {
	m := newMem(t, Config{})
	first := alloc(t, m, 48, LocalObject, "first")
	at := first.Base
	m.Free(first)
	for i := range quarantineCount - 1 {
		r := alloc(t, m, 48, LocalObject, "next")
		require.NotEqual(t, at, r.Base, "reused after %d others", i)
		_, f := m.Load(at, 8)
		require.NotNil(t, f)
		require.Equal(t, UseAfterFree, f.Kind)
		m.Free(r)
	}
	big := alloc(t, m, quarantineBytes/2, LocalObject, "big")
	at = big.Base
	m.Free(big)
	r := alloc(t, m, quarantineBytes/2, LocalObject, "big")
	assert.NotEqual(t, at, r.Base)
}
