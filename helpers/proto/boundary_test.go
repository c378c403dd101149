package proto

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestReleasesOfKfuncs: a kfunc is there from its first release on, and no longer in the one that
// lost it.
func TestReleasesOfKfuncs(t *testing.T) {
	gone := 0
	for _, k := range Kfuncs() {
		assert.True(t, k.In(k.Since), k.Name)
		assert.False(t, k.In(k.Since-1), k.Name)
		if k.Until == 0 {
			assert.True(t, k.In(0), k.Name)
			continue
		}
		gone++
		assert.True(t, k.In(k.Until-1), k.Name)
		assert.False(t, k.In(k.Until), k.Name)
		assert.False(t, k.In(0), "%s: the newest release", k.Name)
	}
	assert.NotZero(t, gone)
}
