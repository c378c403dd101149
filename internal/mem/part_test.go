package mem

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// constView reads as its number and refuses stores.
type constView uint64

func (v constView) Load(uint64, int) (uint64, *Fault) { return uint64(v), nil }
func (constView) Store(uint64, int, uint64) *Fault    { return &Fault{Kind: NotPermitted} }
func (constView) Read(_ uint64, p []byte) *Fault      { clear(p); return nil }
func (constView) Write(uint64, []byte) *Fault         { return &Fault{Kind: NotPermitted} }

// TestAttachedParts: the object after a region's bounds is a region of its own for accesses, and
// lives as long as the first.
func TestAttachedParts(t *testing.T) {
	m, err := New(Config{})
	require.NoError(t, err)
	defer m.Close()
	r, err := m.Alloc(128, Region{Kind: Packet, Name: "p"})
	require.NoError(t, err)
	at := r.Base + 96
	part := Region{Kind: KernelObject, Name: "info", View: constView(7)}
	_, err = m.Attach(r, at, 32, part)
	require.Error(t, err, "the region's bounds are still there")
	require.NoError(t, m.SetBounds(r, r.Base, r.Base+64))
	for name, bad := range map[string][2]uint64{"not aligned": {at + 4, 8}, "too long": {at, 33}, "inside the bounds": {r.Base + 56, 8}} {
		_, err := m.Attach(r, bad[0], bad[1], part)
		assert.Error(t, err, name)
	}
	before := m.Snapshot()
	p, err := m.Attach(r, at, 32, part)
	require.NoError(t, err)
	_, err = m.Attach(r, at, 32, part)
	require.Error(t, err, "it has a part")

	load := func(off uint64, size int) (uint64, *Fault) { return m.Load(r.Base+off, size) }
	v, f := load(96, 8)
	require.Nil(t, f)
	assert.EqualValues(t, 7, v)
	for _, off := range []uint64{64, 88, 95, 124, 128} {
		_, f := load(off, 8)
		require.NotNil(t, f, off)
		assert.Equal(t, OutOfBounds, f.Kind, off)
	}
	f = m.Store(at, 4, 1)
	require.NotNil(t, f)
	assert.Equal(t, NotPermitted, f.Kind)
	assert.Same(t, p, f.Region)
	assert.Same(t, p, m.Find(at+31))
	assert.Nil(t, m.Find(at-1))
	assert.Error(t, m.SetBounds(r, r.Base, at+8), "the part is there")
	require.NoError(t, m.SetBounds(r, r.Base, at))
	_, f = load(92, 8)
	require.NotNil(t, f, "half in the region, half in the part")
	id := m.AddWatch(r.Base, 8, true, false) // bounds are repainted when something is watched
	require.NoError(t, m.SetBounds(r, r.Base, r.Base+64))
	_, f = load(96, 8)
	require.Nil(t, f)
	m.RemoveWatch(id)

	m.Rest(r, "bpf_x moved")
	_, f = load(96, 8)
	require.NotNil(t, f)
	assert.Equal(t, UseAfterFree, f.Kind)
	assert.Contains(t, f.Error(), "bpf_x moved")
	require.NoError(t, m.Wake(r, r.Base, r.Base+64))
	_, f = load(96, 8)
	require.Nil(t, f)

	attached := m.Snapshot()
	m.Free(r)
	_, f = load(96, 8)
	require.NotNil(t, f)
	assert.Equal(t, UseAfterFree, f.Kind)
	m.Restore(attached)
	v, f = load(96, 4)
	require.Nil(t, f)
	assert.EqualValues(t, 7, v)
	m.Restore(before)
	_, f = load(96, 8)
	require.NotNil(t, f)
	assert.Equal(t, OutOfBounds, f.Kind)
	assert.Nil(t, r.Part())
}
