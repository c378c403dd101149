package mem

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGuardedBytes: stores that touch a guard fault, in every element, after elements were freed,
// too, and under watches; bytes beside it, loads, and trusted code are free. Engines see from the
// shadow which stores they may make: none under a watch.
func TestGuardedBytes(t *testing.T) {
	for name, stride := range map[string]uint64{"dense": 24, "with gaps": 32} {
		for _, tt := range []struct {
			name   string
			second Class // of the second granule
			guards []Guard
		}{
			{"lock behind data", ClassPlain, []Guard{{Off: 4, Size: 4, What: "the lock"}, {Off: 16, Size: 8, What: "the kptr"}}},
			{"lock before data", ClassHeadGuarded, []Guard{{Off: 8, Size: 4, What: "the lock"}, {Off: 16, Size: 8, What: "the kptr"}}},
			{"two in a granule", ClassStoreTrap, []Guard{{Off: 8, Size: 4, What: "the lock"}, {Off: 14, Size: 1, What: "the flag"}}},
			{"the other order", ClassStoreTrap, []Guard{{Off: 14, Size: 1, What: "the flag"}, {Off: 8, Size: 4, What: "the lock"}}},
		} {
			t.Run(name+", "+tt.name, func(t *testing.T) { testGuardedBytes(t, stride, tt.second, tt.guards) })
		}
	}
}

func testGuardedBytes(t *testing.T, stride uint64, second Class, guards []Guard) {
	m, err := New(Config{})
	require.NoError(t, err)
	defer m.Close()
	r, err := m.AllocArray(3, 24, stride, Region{Kind: MapValue, Name: "v", Guards: guards})
	require.NoError(t, err)
	check := func(i uint64) {
		t.Helper()
		for off := uint64(0); off < 24; off++ {
			for _, size := range []int{1, 2, 4, 8} {
				end := off + uint64(size)
				if end > 24 {
					continue
				}
				_, f := m.Load(r.Base+i*stride+off, size)
				require.Nil(t, f)
				f = m.Store(r.Base+i*stride+off, size, 1)
				touches := slices.ContainsFunc(guards, func(g Guard) bool { return off < g.Off+g.Size && end > g.Off })
				require.Equal(t, touches, f != nil, "%d+%d: %v", off, size, f)
				if f != nil {
					assert.Equal(t, NotPermitted, f.Kind)
					assert.EqualValues(t, off, f.Delta)
					assert.Contains(t, f.Error(), "programs may not write to the ")
				}
			}
		}
	}
	for i := range uint64(3) {
		check(i)
	}
	m.FreeElem(r, 1)
	assert.Equal(t, UseAfterFree, m.Store(r.Base+stride, 4, 0).Kind)
	m.ReviveElem(r, 1)
	check(1)
	granuleOf := func(i uint64) Class { return m.class((r.Base+i*stride-m.base)/granule + 1) }
	for i := range uint64(3) {
		assert.Equal(t, second, granuleOf(i))
	}
	id := m.AddWatch(r.Base, 24, false, true)
	check(0)
	hits := 0
	m.OnWatch = func(Hit) { hits++ }
	require.Nil(t, m.Store(r.Base+12, 2, 1))
	assert.Equal(t, 1, hits, "the watch sees stores beside a guard")
	lock := r.Base + guards[0].Off
	require.Nil(t, m.StoreField(lock, 4, 1))
	require.NotNil(t, m.Store(lock, 4, 1))
	require.NotNil(t, m.Write(r.Base, make([]byte, 24)))
	assert.Equal(t, ClassStoreTrap, granuleOf(0))
	m.RemoveWatch(id)
	assert.Equal(t, second, granuleOf(0))
	check(0)
}
