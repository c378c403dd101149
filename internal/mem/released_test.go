package mem

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadReleased: the last contents of a freed region, and of a freed element of a live array,
// can be read up to their ends and no further.
func TestReadReleased(t *testing.T) {
	m, err := New(Config{})
	require.NoError(t, err)
	defer m.Close()
	r, err := m.Alloc(24, Region{Kind: RingbufRecord, Name: "rb"})
	require.NoError(t, err)
	require.Nil(t, m.Store(r.Base+8, 8, 0x1122))
	b := make([]byte, 8)
	assert.False(t, m.ReadReleased(r.Base+8, b), "it is live")
	assert.Empty(t, m.Released(r.Base))
	m.Free(r)
	require.True(t, m.ReadReleased(r.Base+8, b))
	assert.Equal(t, byte(0x22), b[0])
	assert.Equal(t, "ring buffer record rb was freed", m.Released(r.Base+23))
	assert.True(t, m.ReadReleased(r.Base+16, b))
	assert.False(t, m.ReadReleased(r.Base+17, b), "a byte past the end")
	assert.Empty(t, m.Released(r.Base+24))
	assert.Empty(t, m.Released(r.Base-1))
	assert.Empty(t, m.Released(0))
	assert.Empty(t, m.Released(^uint64(0)))
}

// TestReleasedViews: what a view showed is not in memory, so that nothing can be read of it once it
// is freed.
func TestReleasedViews(t *testing.T) {
	for _, view := range []View{nil, constView(7)} {
		m := newMem(t, Config{})
		r, err := m.Alloc(24, Region{Kind: Context, Name: "ctx", View: view})
		require.NoError(t, err)
		m.Free(r)
		assert.Equal(t, view == nil, m.ReadReleased(r.Base, make([]byte, 8)))
		assert.Equal(t, view == nil, m.Released(r.Base) != "")
	}
}
