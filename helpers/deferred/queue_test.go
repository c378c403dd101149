package deferred

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/snaptest"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestRestoreBringsBackEveryField(t *testing.T) {
	q := New(nil, nil)
	snaptest.Check(t, &q, map[string]snaptest.Field{
		"items":  snaptest.Map(&q.items, func(n int) uint64 { return uint64(n) }, Item{at: 1}),
		"armed":  snaptest.Number(&q.armed),
		"firing": snaptest.Slice(&q.firing, func(n int) firing { return firing{uint64(n), n} }),
	}, q.Snapshot)
}

// TestOrderOfItems: what is due first comes first, of two at one time the one armed first, whatever
// their addresses.
func TestOrderOfItems(t *testing.T) {
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	env := &maps.Env{Mem: m, CPUs: 1}
	array, err := maps.New(env, maps.Spec{Name: "a", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 16, MaxEntries: 3})
	require.NoError(t, err)
	g := guest.NewMemory(m)
	q := New(&g, env.ByAddr)
	_, ok := q.Next()
	require.False(t, ok)
	kind := func(work bool) Kind { return map[bool]Kind{true: Work}[work] }
	var at [3]uint64
	for i, due := range []uint64{300, 100, 100} {
		at[i], _ = array.Lookup(0, []byte{byte(i), 0, 0, 0})
		errno, f := q.Init(at[i], array.Addr(), uapi.ClockMonotonic, kind(i == 0))
		require.Zero(t, errno)
		require.Nil(t, f)
		require.Nil(t, q.Arm(at[i], due, 0))
	}
	require.Nil(t, q.Arm(at[1], 100, 0), "again: now the last of those at 100")
	next, _ := q.Next()
	assert.EqualValues(t, 100, next)
	_, ok = q.Take(99)
	assert.False(t, ok, "not yet")
	for _, i := range []int{2, 1, 0} {
		c, ok := q.Take(300)
		require.True(t, ok)
		assert.Equal(t, [3]uint64{array.Addr(), c.key, at[i]}, [3]uint64(c.Args[:3]))
		assert.Equal(t, kind(i == 0), c.Kind)
		assert.True(t, q.Firing(at[i]))
		q.End(c)
		assert.False(t, q.Firing(at[i]))
	}
	_, ok = q.Next()
	assert.False(t, ok)
}
