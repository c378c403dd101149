package mem

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unwritten collects the reports of reads, as offsets from the address that is read.
func unwritten(m *Memory) *[][]uint64 {
	var seen [][]uint64
	m.OnUnwritten = func(u Unset) {
		var at []uint64
		for _, off := range u.Unwritten {
			at = append(at, off+u.Region.Base-u.Addr)
		}
		seen = append(seen, at)
	}
	return &seen
}

func TestUnwrittenBytes(t *testing.T) {
	m := newMem(t, Config{})
	seen := unwritten(m)
	r := alloc(t, m, 20, RingbufRecord, "")
	m.Unwrite(r.Base, 20)
	require.Nil(t, m.Store(r.Base+2, 2, 7))
	require.Nil(t, m.Store(r.Base+8, 8, 7))
	v, f := m.Load(r.Base, 4)
	require.Nil(t, f)
	assert.EqualValues(t, 7<<16, v)
	require.Nil(t, m.Read(r.Base, make([]byte, 20)))
	assert.Equal(t, [][]uint64{{0, 1}, {0, 1, 4, 5, 6, 7, 16, 17, 18, 19}}, *seen)
	_, f = m.Load(r.Base+18, 4)
	require.NotNil(t, f)
	assert.Equal(t, OutOfBounds, f.Kind)
	require.NotNil(t, m.Store(r.Base+19, 2, 0))
	require.Nil(t, m.Write(r.Base, make([]byte, 20)))
	assert.Empty(t, m.undef)
	_, f = m.Load(r.Base+16, 4)
	assert.Nil(t, f)
	m.Unwrite(r.Base+3, 2)
	assert.Equal(t, []uint64{r.Base + 3, r.Base + 4}, m.Unwritten(r.Base, 20))
	m.Written(r.Base+4, 1) // by the host
	assert.Equal(t, []uint64{r.Base + 3}, m.Unwritten(r.Base, 20))
}

// TestUnwrittenElements: elements of arrays keep their bounds, guards stay, and a snapshot restores
// the marks.
func TestUnwrittenElements(t *testing.T) {
	m := newMem(t, Config{})
	seen := unwritten(m)
	r, err := m.AllocArray(4, 12, 24, Region{Kind: MapValue, Guards: []Guard{{Off: 0, Size: 4, What: "the lock"}}})
	require.NoError(t, err)
	e := r.Base + 24
	m.Unwrite(e, 12)
	m.Unwrite(e, 13) // not inside the element
	s := m.Snapshot()
	require.NotNil(t, m.Store(e, 4, 1), "the guard")
	require.Nil(t, m.Store(e+4, 8, 1))
	require.NotNil(t, m.Store(e+8, 8, 1), "the end")
	assert.Equal(t, []uint64{e, e + 1, e + 2, e + 3}, m.Unwritten(e, 12))
	m.Define(e, 12)
	require.NotNil(t, m.Store(e, 4, 1), "the guard")
	require.Nil(t, m.Store(e+8, 4, 1))
	m.Restore(s)
	assert.Len(t, m.Unwritten(e, 12), 12)
	m.Leaves(e, 12)
	assert.Len(t, (*seen)[0], 12)
	assert.Empty(t, m.Unwritten(r.Base, 12))
}

// TestUnwrittenRoom: marks survive moved bounds.
func TestUnwrittenRoom(t *testing.T) {
	m := newMem(t, Config{})
	r := alloc(t, m, 64, Packet, "")
	require.NoError(t, m.SetBounds(r, r.Base+14, r.Base+64))
	base := r.Base
	require.NoError(t, m.SetBounds(r, base-10, base+50))
	m.Unwrite(base-10, 10)
	require.Nil(t, m.Store(base-10, 4, 1))
	require.NoError(t, m.SetBounds(r, base-8, base+40))
	assert.Equal(t, []uint64{base - 6, base - 5, base - 4, base - 3, base - 2, base - 1}, m.Unwritten(r.Base, r.Size))
	_, f := m.Load(base-9, 1)
	assert.NotNil(t, f)
	require.Nil(t, m.Store(base-8, 8, 1))
	assert.Empty(t, m.Unwritten(r.Base, r.Size))
	_, f = m.Load(base-9, 1)
	assert.NotNil(t, f)
}

// TestAllowedBytes: reads of what a helper was to fill are no reads of unset bytes.
func TestAllowedBytes(t *testing.T) {
	m := newMem(t, Config{})
	seen := unwritten(m)
	r := alloc(t, m, 32, Stack, "")
	m.MarkUndefined(r)
	m.Allow(r.Base+4, 16)
	require.Nil(t, m.Write(r.Base+4, make([]byte, 6)))
	require.Nil(t, m.Read(r.Base+4, make([]byte, 16)))
	assert.Equal(t, [][]uint64{{6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}, *seen)
	f := m.Read(r.Base, make([]byte, 8))
	require.NotNil(t, f)
	assert.Equal(t, NeverSet, f.Kind)
}
