package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFaultsApply fails when the code changed so that an error cannot be put in any more: look at
// the new code, and find the error's place in it.
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

// TestResultsAreFresh: results.txt has a line for each error and no other, few were missed, and the
// tests it names are there.
func TestResultsAreFresh(t *testing.T) {
	known, err := readResults("results.txt")
	require.NoError(t, err)
	missed := 0
	for _, f := range faults {
		by, ok := known[f.Name]
		if !assert.True(t, ok, "%s was not tried: go run ./conformance/mutants -resume", f.Name) {
			continue
		}
		delete(known, f.Name)
		if by.missed() {
			missed++
			continue
		}
		if strings.HasPrefix(by.Test, "(") { // it did not end, or crashed
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(by.Package), "*_test.go"))
		require.NoError(t, err)
		found := false
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			found = found || strings.Contains(string(src), "func "+by.Test+"(")
		}
		assert.True(t, found, "%s has no %s, which noticed %q", by.Package, by.Test, f.Name)
	}
	assert.Empty(t, known, "errors that are not in faults.go")
	assert.LessOrEqual(t, missed*10, len(faults))
}
