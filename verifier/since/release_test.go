package since

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryRuleHasARow(t *testing.T) {
	for r := Rule(0); r < numRules; r++ {
		require.NotZero(t, rows[r].from, "rule %d", r)
		require.NotEmpty(t, r.String())
		require.True(t, r.In(From(r)))
		require.False(t, r.In(From(r)-1), "%s starts at %s", r, From(r))
	}
}
