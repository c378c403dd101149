package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFaultsApply fails when the code changed so that an error cannot be put in any more: look at the new code, and find the error's place in it.
func TestFaultsApply(t *testing.T) {
	assert.GreaterOrEqual(t, len(faults), 75)
	names := map[string]bool{}
	for _, f := range faults {
		assert.False(t, names[f.Name], f.Name)
		names[f.Name] = true
		src, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(f.File)))
		require.NoError(t, err)
		changed, err := f.Apply(string(src))
		if assert.NoError(t, err, f.Name) {
			assert.NotEqual(t, string(src), changed)
		}
	}
}
