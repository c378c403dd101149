package mem

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGuardedBytes: stores that touch a guard fault, in every element, after elements were freed,
// too, and under watches; bytes beside it, loads, and trusted code are free.
func TestGuardedBytes(t *testing.T) {
	for name, stride := range map[string]uint64{"dense": 24, "with gaps": 32} {
		t.Run(name, func(t *testing.T) {
			m, err := New(Config{})
			require.NoError(t, err)
			defer m.Close()
			r, err := m.AllocArray(3, 24, stride, Region{Kind: MapValue, Name: "v", Guards: []Guard{{Off: 4, Size: 4, What: "the lock"}, {Off: 16, Size: 8, What: "the kptr"}}})
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
						touches := off < 8 && end > 4 || end > 16
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
			m.AddWatch(r.Base, 24, false, true)
			check(0)
			require.Nil(t, m.StoreField(r.Base+4, 4, 1))
			require.NotNil(t, m.Store(r.Base+4, 4, 1))
			require.NotNil(t, m.Write(r.Base, make([]byte, 24)))
		})
	}
}
