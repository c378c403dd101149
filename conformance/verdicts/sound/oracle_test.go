package sound_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/conformance/verdicts/sound"
	"github.com/bpfrun/bpfrun/loader"
)

// releases are those whose rules differ most.
var releases = []string{"5.10.262", "5.15.215", "6.1.192", "6.6.87", "6.12.117", "6.18.44", "7.0.13", "7.2.13"}

// What registers contain in runs is within what the verifier knows of them, with the rules of each
// release. `bpfrun conformance verdicts RECORDING --inputs N` does so for a whole recording.
func TestRunsAreWithinWhatTheVerifierKnows(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	targets := make([]*loader.Target, len(releases))
	for i, release := range releases {
		_, version, ok := loader.ParseRelease(release)
		require.True(t, ok)
		targets[i] = loader.NewTarget(release, spec, loader.WithVersion(version))
	}
	var sum sound.Compared
	n := 0
	require.NoError(t, verdicts.ReadFile("../testdata/border-6.18.jsonl.gz", func(l *verdicts.Line) error {
		n++
		if l.Verdict != verdicts.Accepted || n%(len(releases)+1) != 0 && testing.Short() {
			return nil
		}
		err := sound.FollowGenerated(context.Background(), l, targets[n%len(targets)], uint64(n), 2, &sum)
		if !errors.Is(err, sound.ErrNotRun) {
			assert.NoError(t, err, "%s on %s", l.Program, releases[n%len(targets)])
		}
		return nil
	}))
	t.Logf("%+v", sum)
	assert.GreaterOrEqual(t, sum.Runs, 40)
	assert.GreaterOrEqual(t, sum.Registers, 15*sum.Runs, "registers compared")
	assert.LessOrEqual(t, sum.Stopped*5, sum.Runs, "runs of which only the beginning was compared")
}
