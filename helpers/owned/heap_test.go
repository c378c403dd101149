package owned

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/snaptest"
)

func TestRestoreBringsBackEveryField(t *testing.T) {
	h := New(nil, nil)
	snaptest.Check(t, &h, map[string]snaptest.Field{
		"refs": snaptest.Map(&h.refs, func(n int) uint64 { return uint64(n) }, 2),
	}, h.Snapshot)
}

// TestTheLastReferenceFrees an object, and with it nothing else.
func TestTheLastReferenceFrees(t *testing.T) {
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	g := guest.NewMemory(m)
	h := New(m, &g)
	a, b := h.Alloc(32, "a", nil, nil), h.Alloc(32, "b", nil, nil)
	require.Nil(t, h.Acquire(a))
	h.Drop(a)
	assert.Nil(t, m.Store(a, 8, 1), "one reference is left")
	h.Drop(a)
	assert.NotNil(t, m.Store(a, 8, 1))
	assert.Nil(t, m.Store(b, 8, 1))
	h.Drop(b + 8)
	assert.Nil(t, m.Store(b, 8, 1), "not an object")
	require.NotNil(t, h.Acquire(0x1234))
	base, f := h.Base(b + 31)
	require.Nil(t, f)
	assert.Equal(t, b, base)
	per := h.AllocPercpu(3, 8, "p")
	first, ok := h.Percpu(per, 0)
	require.True(t, ok)
	second, ok := h.Percpu(per, 1)
	require.True(t, ok)
	assert.Greater(t, second, first)
	_, ok = h.Percpu(b, 0)
	assert.False(t, ok)
}
