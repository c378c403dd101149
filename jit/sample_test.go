//go:build linux && (amd64 || arm64)

package jit

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestSamplerKnowsPredictableBranches by what they did.
func TestSamplerKnowsPredictableBranches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name  string
		taken func(i int) bool
		want  bool
	}{
		{"never", func(int) bool { return false }, false},
		{"always", func(int) bool { return true }, false},
		{"every other time", func(i int) bool { return i%2 == 0 }, false},
		{"every fifth time", func(i int) bool { return i%5 == 0 }, false},
		{"seldom", func(int) bool { return rng.IntN(30) == 0 }, false},
		{"half of the time", func(int) bool { return rng.IntN(2) == 0 }, true},
		{"a third of the time", func(int) bool { return rng.IntN(3) == 0 }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSampler([]int32{4}, 10)
			for i := 0; s.left > 0; i++ {
				s.observe(4)
				if tt.taken(i) {
					s.observe(8)
				} else {
					s.observe(5)
				}
				s.observe(2)
			}
			assert.Equal(t, tt.want, s.unpredictable(4))
			assert.False(t, s.unpredictable(5), "it was not asked for")
			seen, taken := s.counts.Seen[4], s.counts.Taken[4]
			assert.Equal(t, s.counts.Seen[8], taken)
			assert.InDelta(t, seen, s.counts.Seen[8]+s.counts.Seen[5], 1)
		})
	}
	assert.False(t, newSampler([]int32{4}, 10).unpredictable(4), "never executed")
}

// TestLongRunsAreCompiledAgain in the middle of a run, once, and give their first code back.
func TestLongRunsAreCompiledAgain(t *testing.T) {
	r := newRig(t)
	img := lower(t, "r0 = 0\nr3 = 0\nl: *(u64 *)(r10 - 8) = r0\nr4 = r1\nr4 += r3\nr5 = *(u8 *)(r4 + 0)\nr0 += r5\nr3 += 1\nr3 &= 15\ngoto l", nil)
	before := live.Load()
	o, err := r.mem.Alloc(64, mem.Region{Name: "object"})
	require.NoError(t, err)
	r.thread.Start(img, o.Base)
	require.Equal(t, vm.Budget, r.thread.Run(5_000))
	first := r.engine.codes[img]
	require.NotNil(t, first)
	assert.True(t, first.loops)
	mapped := live.Load() - before
	require.Equal(t, vm.Budget, r.thread.Run(60_000))
	again := r.engine.codes[img]
	assert.NotSame(t, first, again)
	assert.False(t, again.loops)
	assert.LessOrEqual(t, live.Load()-before, mapped+1<<14, "only one mapping is kept")
	require.Equal(t, vm.Budget, r.thread.Run(60_000))
	assert.Same(t, again, r.engine.codes[img])
	assert.Greater(t, r.engine.Executed(), uint64(100_000))
}
