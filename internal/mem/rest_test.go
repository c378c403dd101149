package mem

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRestingRegions: addresses of a resting region fault and say why until it wakes, whatever its
// bounds; Free gives its room back.
func TestRestingRegions(t *testing.T) {
	m, err := New(Config{})
	require.NoError(t, err)
	defer m.Close()
	r, err := m.Alloc(100, Region{Kind: Packet, Name: "p"})
	require.NoError(t, err)
	require.NoError(t, m.SetBounds(r, r.Base+3, r.Base+70))
	base := r.ext
	require.Nil(t, m.Store(base+20, 1, 7))
	m.Rest(r, "bpf_x moved")
	for off := uint64(3); off < 70; off++ {
		_, f := m.Load(base+off, 1)
		require.NotNil(t, f, off)
		assert.Equal(t, UseAfterFree, f.Kind, off)
		assert.Contains(t, f.Error(), "of packet p, which bpf_x moved")
	}
	assert.Nil(t, m.Find(base+20))
	snap := m.Snapshot()
	require.NoError(t, m.Wake(r, base, base+21))
	for off, ok := range map[uint64]bool{0: true, 3: true, 20: true, 21: false, 24: false, 69: false} {
		_, f := m.Load(base+off, 1)
		assert.Equal(t, ok, f == nil, "%d: %v", off, f)
	}
	v, f := m.Load(base+20, 1)
	require.Nil(t, f)
	assert.EqualValues(t, 7, v)
	assert.Error(t, m.Wake(r, base, base+21), "it is awake")
	m.Restore(snap)
	require.NoError(t, m.Wake(r, base, base+100))
	assert.Error(t, m.SetBounds(r, base, base+101))
	m.Rest(r, "bpf_x moved")
	require.Error(t, m.Wake(r, base, base+101))

	before := m.quarBytes
	m.Free(r)
	assert.Greater(t, m.quarBytes, before)
	assert.Error(t, m.Wake(r, base, base+10), "its room may be another's")
}
