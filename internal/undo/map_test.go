package undo

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMapIsWhatItWas compares a map with copies of a plain one, over random changes, snapshots and
// restores of any snapshot.
func TestMapIsWhatItWas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	type state struct {
		snap *State[int, int]
		want map[int]int
	}
	var m Map[int, int]
	plain := map[int]int{}
	states := []state{{m.Snapshot(), map[int]int{}}}
	for range 20000 {
		switch k := r.IntN(40); r.IntN(12) {
		case 0:
			states = append(states, state{m.Snapshot(), maps.Clone(plain)})
		case 1, 2:
			s := states[len(states)-1-min(r.IntN(4), len(states)-1)]
			m.Restore(s.snap)
			plain = maps.Clone(s.want)
		case 3, 4, 5:
			m.Delete(k)
			delete(plain, k)
		default:
			v := r.IntN(3)
			m.Set(k, v)
			plain[k] = v
		}
		require.Equal(t, plain, maps.Collect(m.All()))
		require.Equal(t, len(plain), m.Len())
	}
	for _, s := range states {
		m.Restore(s.snap)
		require.Equal(t, s.want, maps.Collect(m.All()))
	}
}

// TestLongLogsEnd: more changes than the log keeps are undone too.
func TestLongLogsEnd(t *testing.T) {
	var m Map[int, bool]
	m.Set(0, true)
	s := m.Snapshot()
	for i := range 3 * most {
		m.Set(i, false)
	}
	require.Empty(t, m.log)
	m.Restore(s)
	require.Equal(t, map[int]bool{0: true}, maps.Collect(m.All()))
	v, ok := m.Lookup(0)
	require.True(t, v && ok)
	require.False(t, m.Get(1))
}
