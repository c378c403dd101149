package helpers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// TestPage fails when the committed page does not show the tables.
func TestPage(t *testing.T) {
	file := filepath.Join("..", "docs", "helpers.md")
	if *rewrite.Flag {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(Page()), 0o644))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, Page(), string(text), "stale: go test ./helpers -run TestPage -update")
	assert.NotEmpty(t, Topics())
	assert.NotContains(t, Topics(), "")
}
