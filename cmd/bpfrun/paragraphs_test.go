package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostWords is what a paragraph or an item of a list may have: longer ones are not read.
const mostWords = 80

var (
	fence = regexp.MustCompile("(?ms)^```.*?^```$")
	// beginning starts a paragraph or an item of a list.
	beginning = regexp.MustCompile(`\n\s*\n|\n\s*[-*] |\n\d+\. `)
)

// TestParagraphsAreShort: pages that people wrote have no walls of text. Tables, code, and pages
// that are lists of names do not count.
func TestParagraphsAreShort(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	pages = append(pages, "../../README.md")
	for _, page := range pages {
		if slices.Contains([]string{"releases.md", "helpers.md"}, filepath.Base(page)) {
			continue
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, p := range beginning.Split(fence.ReplaceAllString(string(text), "\n\n"), -1) {
			if words := strings.Fields(p); len(words) > mostWords && !strings.Contains(p, "\n|") && words[0] != "|" {
				assert.Fail(t, "a paragraph is too long", "%s: %d words, at most %d: divide the paragraph that begins %q", filepath.Base(page), len(words), mostWords, strings.Join(words[:8], " "))
			}
		}
	}
}
