package since

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryRuleHasARow(t *testing.T) {
	const newest = 255 // patch
	for r := Rule(0); r < numRules; r++ {
		require.NotZero(t, rows[r].from, "rule %d", r)
		require.NotEmpty(t, r.String())
		require.True(t, r.In(From(r), 0), "%s", r)
		if !r.updated(From(r) - 1) {
			require.False(t, r.In(From(r)-1, newest), "%s starts at %s", r, From(r))
		}
		for _, u := range rows[r].stable {
			require.Less(t, u.release, From(r), "%s: an update of a release that has it", r)
			require.True(t, r.In(u.release, newest))
			require.True(t, r.In(u.release, u.patch))
			require.Equal(t, u.patch == 0, r.In(u.release, 0))
			require.False(t, r.In(u.release-1, newest) && !r.updated(u.release-1), "%s: updates of one line say nothing of others", r)
		}
	}
}

func (r Rule) updated(release Release) bool {
	for _, u := range rows[r].stable {
		if u.release == release {
			return true
		}
	}
	return false
}
