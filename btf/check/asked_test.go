package check

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// releases are those at which a rule of BTF changes, and the ones before.
func releases() []Release {
	seen := map[Release]bool{}
	var out []Release
	add := func(r Release) {
		if r != 0 && !seen[r] {
			seen[r] = true
			out = append(out, r)
		}
	}
	for _, f := range since.All() {
		if f.Area() == "BTF" {
			add(f.From())
			add(since.Previous(f.From()))
		}
	}
	add(r(7, 2))
	return out
}

// TestWhatHoldsOnAnotherReleaseIsTheSameThere compares each result that is said to hold on another
// release with the one that is found there.
func TestWhatHoldsOnAnotherReleaseIsTheSameThere(t *testing.T) {
	inputs := map[string][]byte{}
	for f, c := range boundaries {
		if c.build != nil {
			inputs[f.String()] = build(t, c.build)
		}
	}
	for _, dir := range []string{"testdata/objects/clang-14", "examples/xdp"} {
		paths, err := filepath.Glob(filepath.Join("../..", dir, "*.o"))
		require.NoError(t, err)
		for _, p := range paths {
			file, err := os.ReadFile(p)
			require.NoError(t, err)
			if spec, err := btf.LoadBytes(p, file, nil); err == nil {
				inputs[p] = spec.Raw()
			}
		}
	}
	require.Greater(t, len(inputs), 40)
	all := releases()
	held, differ := 0, 0
	for name, raw := range inputs {
		loaded := map[Release]*Loading{}
		for _, r := range all {
			loaded[r] = Load(raw, Options{Release: r})
		}
		for _, a := range all {
			for _, b := range all {
				if !loaded[a].Holds(b) {
					differ++
					continue
				}
				held++
				require.Equal(t, loaded[b].Changes, loaded[a].Changes, "%s: %s, %s", name, a, b)
				require.Equal(t, loaded[b].Err, loaded[a].Err, "%s: %s, %s", name, a, b)
			}
		}
	}
	assert.Greater(t, held, len(inputs)*len(all), "results hold on other releases than their own")
	assert.Greater(t, differ, 1000)
}

// TestEachRuleThatMattersIsAsked: a result that changes with a rule does not hold where the rule is
// different.
func TestEachRuleThatMattersIsAsked(t *testing.T) {
	for f, c := range boundaries {
		if c.build == nil {
			continue
		}
		raw := build(t, c.build)
		rules := rulesOf(c.from)
		kernel(raw, Options{Release: c.from}, rules)
		assert.True(t, rules.asked[f], "%s changes the result and was not asked for", f)
		assert.False(t, rules.answersAs(since.Previous(c.from)), "%s", f)
	}
	exact := rulesOf(r(6, 2))
	assert.Equal(t, r(6, 2), exact.exactly())
	assert.False(t, exact.answersAs(r(6, 4)), "the release itself was asked for")
	assert.True(t, exact.answersAs(r(6, 2)))
}
