package btfcases

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// What Linux 6.18.44 said of mutants of the seeds; none of them needs its types.
func TestRecordedVerdicts(t *testing.T) {
	seeds, err := Seeds()
	require.NoError(t, err)
	sources := map[string][]byte{}
	for _, s := range seeds {
		sources[s.Name] = s.Raw
	}
	var total Result
	require.NoError(t, Read("testdata/linux-6.18.jsonl.gz", func(l *Line) error {
		raw, ok := sources[l.Source]
		require.True(t, ok, l.Source)
		require.Equal(t, l.SHA256, Hash(raw), l.Source)
		require.Equal(t, byte('.'), l.Verdicts[0], "the kernel takes %s itself", l.Source)
		total.Add(Compare(l, raw, uapi.R(6, 18), nil, func(n int, _ []byte, ours error) {
			t.Errorf("%s mutant %d: the kernel %q, ours %v", l.Source, n, l.Verdicts[n], ours)
		}))
		return nil
	}))
	assert.Equal(t, 2000*len(seeds), total.Cases)
	assert.Greater(t, total.Accepted, total.Cases/10)
}

func TestMutantsAreDetermined(t *testing.T) {
	seeds, err := Seeds()
	require.NoError(t, err)
	for _, s := range seeds {
		assert.Equal(t, s.Raw, Mutant(s.Raw, 3, 0))
		assert.Equal(t, Mutant(s.Raw, 3, 77), Mutant(s.Raw, 3, 77))
		assert.NotEqual(t, Mutant(s.Raw, 3, 77), Mutant(s.Raw, 4, 77))
	}
}

func FuzzMutant(f *testing.F) {
	seeds, err := Seeds()
	require.NoError(f, err)
	f.Add(seeds[0].Raw, uint64(1), uint64(1))
	f.Fuzz(func(_ *testing.T, raw []byte, seed, n uint64) { Unsafe(Mutant(raw, seed, n), nil) })
}
