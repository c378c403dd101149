package mem

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBordersOfWatches: an access hits a watch when they share a byte, and only then.
func TestBordersOfWatches(t *testing.T) {
	m := newMem(t, Config{})
	r, err := m.Alloc(64, Region{Kind: MapValue, Name: "v"})
	require.NoError(t, err)
	m.AddWatch(r.Base+16, 4, true, true)
	for _, c := range []struct {
		off  uint64
		size int
		hit  bool
	}{
		{8, 8, false}, {12, 4, false}, {15, 1, false}, {14, 4, true}, {16, 1, true}, {19, 1, true}, {18, 4, true}, {20, 1, false}, {20, 4, false}, {24, 8, false}, {16, 8, true},
	} {
		hits := 0
		m.OnWatch = func(Hit) { hits++ }
		_, f := m.Load(r.Base+c.off, c.size)
		require.Nil(t, f)
		assert.Equal(t, c.hit, hits == 1, "load of %d at %d", c.size, c.off)
		hits = 0
		require.Nil(t, m.Store(r.Base+c.off, c.size, 0))
		assert.Equal(t, c.hit, hits == 1, "store of %d at %d", c.size, c.off)
	}
}

// TestNearestElement: which element of a slab a stray address is told by.
func TestNearestElement(t *testing.T) {
	r := &Region{Base: 1000, Count: 3, Stride: 32, ElemSize: 16}
	for addr, want := range map[uint64]uint64{
		0: 0, 999: 0, 1000: 0, 1015: 0, 1020: 0, 1030: 1, 1032: 1, 1064: 2, 1095: 2, 1096: 2, 1127: 2, 1128: 2, 5000: 2,
	} {
		assert.Equal(t, want, r.nearElem(addr), "%d", addr)
	}
}
