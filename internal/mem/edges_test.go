package mem

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHostMemoryIsLimited: all of it can be taken, and no byte more.
func TestHostMemoryIsLimited(t *testing.T) {
	for _, limit := range []uint64{0, 100} {
		h, all := &Host{Limit: limit}, limit
		if all == 0 {
			all = DefaultHostLimit
		}
		var wrong *HostLimitError
		require.ErrorAs(t, h.Take(all+1), &wrong)
		assert.Equal(t, all, wrong.Limit)
		assert.Zero(t, h.Used())
		require.NoError(t, h.Take(all-1))
		require.NoError(t, h.Take(1))
		assert.ErrorAs(t, h.Take(1), &wrong)
		assert.Equal(t, all, h.Used())
		h.Give(all - 1)
		assert.Equal(t, uint64(1), h.Used())
		h.Give(2)
		assert.Zero(t, h.Used())
		require.NoError(t, h.Take(all))
	}
}

func TestStringsOfC(t *testing.T) {
	m := newMem(t, Config{})
	r := alloc(t, m, 4, Stack, "")
	copy(m.Bytes(r), "ab\x00c")
	for _, tt := range []struct {
		at         uint64
		max        int
		want       string
		terminated bool
		faults     bool
	}{{0, 4, "ab", true, false}, {0, 3, "ab", true, false}, {0, 2, "ab", false, false}, {0, 0, "", false, false}, {2, 1, "", true, false}, {3, 1, "c", false, false}, {3, 2, "c", false, true}} {
		s, terminated, f := m.ReadCString(r.Base+tt.at, tt.max)
		assert.Equal(t, tt.want, string(s), "%+v", tt)
		assert.Equal(t, tt.terminated, terminated, "%+v", tt)
		assert.Equal(t, tt.faults, f != nil, "%+v", tt)
	}
}

// TestPagesOfWindows maps and unmaps pages, few and many at once.
func TestPagesOfWindows(t *testing.T) {
	m := newMem(t, Config{})
	const base, pages = 0x7000_0000, 8
	w, err := m.AddWindow(Window{Name: "user", Base: base, Size: pages * pageSize, Kind: WindowUser})
	require.NoError(t, err)
	require.NoError(t, w.Map(base, 0))
	assert.Empty(t, w.pages)
	assert.Error(t, w.Map(base-1, 1))
	assert.Error(t, w.Map(base, pages*pageSize+1))
	assert.Error(t, w.Map(base+pages*pageSize, 0))
	for _, tt := range []struct {
		addr, size uint64
		left       string // which pages are mapped then, of all
	}{
		{base, 1, "-1234567"}, {base, pageSize, "-1234567"}, {base, pageSize + 1, "--234567"}, {base + pageSize - 1, 2, "--234567"}, {base + pageSize, 1, "0-234567"},
		{base + 7*pageSize, pageSize, "0123456-"}, {base + 7*pageSize, 1 << 40, "0123456-"}, {base + 3*pageSize, 0, "01234567"}, {base + pages*pageSize, 1, "01234567"}, {base - 1, 2, "01234567"}, {base, 1 << 40, "--------"},
	} {
		require.NoError(t, w.Map(base, pages*pageSize))
		w.Unmap(tt.addr, tt.size)
		got := ""
		for p := range uint64(pages) {
			if w.Mapped(base + p*pageSize) {
				got += string(rune('0' + p))
			} else {
				got += "-"
			}
		}
		assert.Equal(t, tt.left, got, "%+v", tt)
	}
	// Fewer pages are mapped than unmapped: these are looked for.
	for _, mapped := range []uint64{0, 2, 3, 5, 6} {
		w.Unmap(base, pages*pageSize)
		require.NoError(t, w.Map(base+mapped*pageSize, 1))
		w.Unmap(base+3*pageSize, 3*pageSize)
		assert.Equal(t, mapped < 3 || mapped > 5, w.Mapped(base+mapped*pageSize), "page %d", mapped)
	}
	w.Unmap(base, pages*pageSize)
	require.NoError(t, w.Map(base+7*pageSize, 1))
	assert.True(t, w.Mapped(base+pages*pageSize-1))
	assert.False(t, w.Mapped(base+pages*pageSize))
	assert.False(t, w.Mapped(base-1))
	assert.True(t, m.IsUser(base))
	assert.True(t, m.IsUser(base+pages*pageSize-1))
	assert.False(t, m.IsUser(base+pages*pageSize))
	kernel, err := m.AddWindow(Window{Name: "text", Base: 0x6000_0000, Size: pageSize, Kind: WindowText})
	require.NoError(t, err)
	assert.False(t, m.IsUser(kernel.Base))
	assert.Equal(t, kernel.Region(), m.Find(kernel.Base))
	assert.Nil(t, m.Find(kernel.Base+pageSize))
}

func TestElementsOfRegions(t *testing.T) {
	m := newMem(t, Config{})
	r, err := m.AllocArray(3, 4, 16, Region{Kind: MapValue, Name: "m"})
	require.NoError(t, err)
	one := alloc(t, m, 8, Stack, "")
	for i := range uint64(3) {
		m.ElemBytes(r, i)[3] = byte(i + 1)
		assert.Equal(t, byte(i+1), m.Bytes(r)[i*16+3])
		assert.Len(t, m.ElemBytes(r, i), 4)
	}
	assert.Nil(t, m.ElemBytes(r, 3))
	assert.Nil(t, m.ElemBytes(nil, 0))
	count := 0
	m.Regions(func(*Region) bool { count++; return true })
	first := 0
	m.Regions(func(*Region) bool { first++; return false })
	assert.Equal(t, 1, first)
	m.Free(one)
	left := 0
	m.Regions(func(got *Region) bool { left++; assert.NotSame(t, one, got); return true })
	assert.Equal(t, count-1, left)
	m.SetView(one, constView(1))
	assert.Nil(t, one.View, "it is gone")
	m.Free(r)
	assert.Nil(t, m.ElemBytes(r, 0))
}

// TestWordsOfFaults: what messages say about each kind, at both sides of what they tell apart.
func TestWordsOfFaults(t *testing.T) {
	r := &Region{Kind: Stack, Base: 0x1000, Size: 512}
	value := &Region{Kind: MapValue, Name: "m", Base: 0x1000, Size: 8, why: "was deleted"}
	for _, tt := range []struct {
		f    Fault
		want string
	}{
		{Fault{Kind: OutOfBounds, Addr: 1, Size: 1}, "load of 1 byte at 0x1: outside any region"},
		{Fault{Kind: OutOfBounds, Addr: 1, Size: 2, Write: true, Detail: "why"}, "store of 2 bytes at 0x1: outside any region; why"},
		{Fault{Kind: OutOfBounds, Addr: 1, Size: 2, Write: true, Atomic: true}, "atomic operation of 2 bytes at 0x1: outside any region"},
		{Fault{Kind: OutOfBounds, Addr: 0xffe, Size: 3, Region: r, Delta: -2}, "the first 2 bytes are before the start of " + r.Describe(0)},
		{Fault{Kind: OutOfBounds, Addr: 0xffe, Size: 2, Region: r, Delta: -2}, "at 0xffe: 2 bytes before the start of " + r.Describe(0)},
		{Fault{Kind: UseAfterFree, Addr: 0x1001, Size: 1, Region: value, Delta: 1}, "offset 1 of " + value.Describe(0) + ", which was deleted"},
		{Fault{Kind: UseAfterFree, Addr: 0x1001, Size: 1, Region: r, Delta: 1}, "offset 1 of " + r.Describe(0) + ", which was freed"},
		{Fault{Kind: NullPointer, Size: 1}, "at 0x0: null pointer"},
		{Fault{Kind: NullPointer, Addr: 8, Size: 1}, "at 0x8: null pointer plus 8"},
		{Fault{Kind: NeverSet, Addr: 0x1008, Size: 1, Region: r, Delta: 8}, "byte r10-504 of " + r.Describe(0) + " was never set"},
		{Fault{Kind: NeverSet, Addr: 0x1002, Size: 1, Region: value, Delta: 2}, "offset 2 of " + value.Describe(0) + " was never set"},
		{Fault{Kind: Unmapped, Addr: ^uint64(0), Size: 1}, "it looks like the error pointer -1"},
		{Fault{Kind: Unmapped, Addr: ^uint64(4094), Size: 1}, "it looks like the error pointer -4095"},
		{Fault{Kind: Unmapped, Addr: ^uint64(4095), Size: 1}, "at 0xfffffffffffff000: no memory there"},
		{Fault{Kind: Unmapped, Addr: 5000, Size: 1, Region: value}, "page not present in " + value.Describe(0)},
	} {
		assert.Contains(t, tt.f.Error(), tt.want)
	}
	assert.NotContains(t, (&Fault{Kind: NullPointer, Size: 1}).Error(), ";")
	assert.Equal(t, "out-of-bounds", OutOfBounds.String())
	assert.Equal(t, "not-simulated", NotSimulated.String())
	assert.Equal(t, "fault(0)", FaultKind(0).String())
	assert.Equal(t, "fault(99)", FaultKind(99).String())
	assert.Equal(t, "fault(11)", (NotSimulated + 1).String())
}

// TestChangesAreKeptForAWhile: of the last epochs it is known what changed, of older ones not.
func TestChangesAreKeptForAWhile(t *testing.T) {
	m := newMem(t, Config{})
	for range Changes + 1 {
		m.Free(alloc(t, m, 8, Stack, ""))
	}
	lo, hi := m.Change(m.Epoch())
	assert.Less(t, hi-lo, uint64(1<<20))
	lo, hi = m.Change(m.Epoch() - Changes + 1)
	assert.Less(t, hi-lo, uint64(1<<20))
	lo, hi = m.Change(m.Epoch() - Changes)
	assert.Equal(t, everywhere, span{lo, hi})
}

// TestFreeingTwiceIsHarmless: the memory is given out once, however often it was freed.
func TestFreeingTwiceIsHarmless(t *testing.T) {
	m := newMem(t, Config{})
	r := alloc(t, m, 64, Stack, "")
	for range 3 {
		m.Free(r)
	}
	held := m.quarBytes
	m.Free(r)
	assert.Equal(t, held, m.quarBytes)
	for range 2 * quarantineCount {
		m.Free(alloc(t, m, 64, Stack, ""))
	}
	live := map[uint64]bool{}
	for range 2 * quarantineCount {
		r := alloc(t, m, 64, Stack, "")
		require.False(t, live[r.Base], "%#x twice", r.Base)
		live[r.Base] = true
	}
}

// TestAccessesAcrossTheEnd say how much of them is beyond it.
func TestAccessesAcrossTheEnd(t *testing.T) {
	m := newMem(t, Config{})
	r := alloc(t, m, 64, Stack, "")
	for _, tt := range []struct {
		off   uint64
		size  int
		want  string
		delta int64
	}{
		{60, 8, "the last 4 bytes of the access are past the end of ", 0}, {63, 2, "the last 1 byte of the access", 0}, {64, 1, "just past the end of ", 0}, {68, 4, "4 bytes past the end of ", 4},
	} {
		_, f := m.Load(r.Base+tt.off, tt.size)
		require.NotNil(t, f, "%+v", tt)
		assert.Equal(t, OutOfBounds, f.Kind)
		assert.Contains(t, f.Error(), tt.want, "%+v", tt)
		assert.Equal(t, tt.delta, f.Delta, "%+v", tt)
	}
}

// TestSnapshotsOfOtherMemory: only a snapshot of the memory itself is restored, while it has any.
func TestSnapshotsOfOtherMemory(t *testing.T) {
	m, other := newMem(t, Config{}), newMem(t, Config{})
	r := alloc(t, m, 8, Stack, "")
	alloc(t, other, 64, Stack, "")
	own := m.Snapshot()
	require.Nil(t, m.Store(r.Base, 8, 7))
	for _, s := range []*Snapshot{nil, other.Snapshot()} {
		m.Restore(s)
		v, f := m.Load(r.Base, 8)
		require.Nil(t, f)
		assert.EqualValues(t, 7, v)
	}
	m.Restore(own)
	v, f := m.Load(r.Base, 8)
	require.Nil(t, f)
	assert.Zero(t, v)
	closed, err := New(Config{})
	require.NoError(t, err)
	s := closed.Snapshot()
	closed.Close()
	closed.Restore(s)
}

// TestStoresToSealedMemory: the first store to a block after a snapshot breaks its seal alone, and
// restoring takes it back.
func TestStoresToSealedMemory(t *testing.T) {
	m := newMem(t, Config{TrackStores: 1})
	r, err := m.Alloc(1<<16, Region{Kind: MapValue, Name: "m"})
	require.NoError(t, err)
	at := (r.Base - m.base + 2*sealBlock) &^ (sealBlock - 1) // a block inside
	for range 3 {
		s := m.Snapshot()
		require.True(t, m.sealed(at))
		v, f := m.Load(m.base+at, 8)
		require.Nil(t, f)
		require.Zero(t, v)
		assert.True(t, m.sealed(at), "a load")
		require.Nil(t, m.Store(m.base+at+8, 8, 7))
		assert.False(t, m.sealed(at))
		assert.True(t, m.sealed(at+sealBlock), "another block")
		require.Nil(t, m.Store(m.base+at+2*sealBlock-4, 8, 7))
		assert.False(t, m.sealed(at+sealBlock), "across two blocks")
		assert.False(t, m.sealed(at+2*sealBlock))
		m.Restore(s)
		for _, off := range []uint64{8, 2*sealBlock - 4} {
			v, f = m.Load(m.base+at+off, 8)
			require.Nil(t, f)
			assert.Zero(t, v)
		}
	}
}
