package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWholeObjectsAreNamedByTheirType: a read of a whole object that nothing set is of no member.
func TestWholeObjectsAreNamedByTheirType(t *testing.T) {
	r, err := openScenario(t, "../../testdata/objects/clang-14/overreads.o", "runs: [{prog: whole}]\n")
	require.NoError(t, err)
	results, err := r.All(t.Context(), nil)
	require.NoError(t, err)
	assert.Contains(t, results[0].Warnings, "cred of current.cred was never set: read as 0")
}
