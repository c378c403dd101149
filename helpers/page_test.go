package helpers

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// Each topic has a line of use, which calls something of the topic.
func TestTopicsHaveUses(t *testing.T) {
	names := map[string][]string{}
	for _, h := range Table() {
		names[h.Topic] = append(names[h.Topic], h.Name())
	}
	for _, k := range Kfuncs() {
		names[k.Topic] = append(names[k.Topic], k.Name)
	}
	assert.Len(t, uses, len(names))
	word := regexp.MustCompile(`\w+`)
	for topic, list := range names {
		called := word.FindAllString(useOf(topic), -1)
		assert.True(t, slices.ContainsFunc(list, func(n string) bool {
			return slices.Contains(called, n) || slices.Contains(called, strings.TrimSuffix(n, "_impl"))
		}), "the line of %s calls none of %v: %q", topic, list, useOf(topic))
	}
}
