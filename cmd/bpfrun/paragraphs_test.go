package main

import (
	"os"
	"path/filepath"
	"regexp"
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

// TestParagraphsAreShort: pages have no walls of text. Tables, code, and lists of names of new
// helpers, kfuncs and the like in a release do not count.
func TestParagraphsAreShort(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	pages = append(pages, "../../README.md")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, p := range beginning.Split(fence.ReplaceAllString(string(text), "\n\n"), -1) {
			if words := strings.Fields(p); len(words) > mostWords && !strings.Contains(p, "\n|") && words[0] != "|" && !strings.HasPrefix(strings.TrimLeft(p, "- \n"), "New ") {
				assert.Fail(t, "a paragraph is too long", "%s: %d words, at most %d: divide the paragraph that begins %q", filepath.Base(page), len(words), mostWords, strings.Join(words[:8], " "))
			}
		}
	}
}

// TestPagesBeginWithATaskAndAnExample: before any table and any long text, a page shows a command,
// code or a picture; its first sentence is what somebody does with it.
func TestPagesBeginWithATaskAndAnExample(t *testing.T) {
	const mostWordsBefore = 160
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?m)^(```|    \\S|!\\[)")
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		at := shown.FindIndex(text)
		if !assert.NotNil(t, at, "%s has no example", filepath.Base(page)) {
			continue
		}
		before := string(text[:at[0]])
		assert.NotContains(t, before, "\n|", "%s: a table comes before the first example", filepath.Base(page))
		assert.LessOrEqual(t, len(strings.Fields(before)), mostWordsBefore, "%s: words before the first example", filepath.Base(page))
	}
}
