package main

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinksLeadToPagesOfTheSite(t *testing.T) {
	for _, c := range []struct{ file, to, want string }{
		{"docs/run.md", "verify.md", "verify.html"},
		{"docs/run.md", "verify.md#kernels", "verify.html#kernels"},
		{"docs/run.md", "../CONFORMANCE.md#btf", "conformance.html#btf"},
		{"README.md", "docs/run.md", "run.html"},
		{"docs/run.md", "#here", "#here"},
		{"docs/run.md", "https://example.org/a.md", "https://example.org/a.md"},
		{"docs/run.md", "../examples/exec/exec.bpf.c", repository + "examples/exec/exec.bpf.c"},
		{"README.md", "CHANGELOG.md", repository + "CHANGELOG.md"},
	} {
		assert.Equal(t, c.want, relink(c.file, c.to), "%s in %s", c.to, c.file)
	}
}

// htmlTag finds elements that Markdown does not make.
var htmlTag = regexp.MustCompile(`<(details|summary|iframe|object|embed|form|style|svg|video|audio|base)[ >]`)

// Every page of the documentation is on the site, links between them lead somewhere, and the search
// has their sections.
func TestDocumentation(t *testing.T) {
	t.Chdir("../..")
	pages, err := documentation()
	require.NoError(t, err)
	require.Contains(t, pages, "docs/play.html")
	require.Contains(t, pages, "docs/readme.html")
	ids := map[string]bool{}
	id := regexp.MustCompile(`<h\d id="([^"]*)"`)
	for name, text := range pages {
		for _, m := range id.FindAllStringSubmatch(string(text), -1) {
			ids[path.Base(name)+"#"+m[1]] = true
		}
	}
	image := regexp.MustCompile(`<img src="([^"]*)"`)
	shown := 0
	for name, text := range pages {
		for _, m := range image.FindAllStringSubmatch(string(text), -1) {
			shown++
			assert.Contains(t, pages, "docs/"+m[1], "an image of %s", name)
		}
	}
	assert.Positive(t, shown)
	link := regexp.MustCompile(`href="([^":]*\.html)(#[^"]*)?"`)
	checked := 0
	for name, text := range pages {
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			checked++
			assert.Contains(t, pages, "docs/"+m[1], "a link of %s", name)
			assert.True(t, m[2] == "" || ids[m[1]+m[2]], "%s links to %s, where no heading has %s", name, m[1], m[2])
		}
		assert.NotContains(t, string(text), "<script>", name)
		for _, tag := range htmlTag.FindAllStringSubmatch(string(text), -1) {
			if strings.HasSuffix(name, ".html") {
				assert.Contains(t, []string{"details", "summary"}, tag[1], "%s: an element that no page of the documentation may have", name)
			}
		}
		assert.Equal(t, strings.Count(string(text), "<details>"), strings.Count(string(text), "</details>"), name)
		if strings.HasSuffix(name, ".html") {
			assert.NotContains(t, string(text), ` style="`, "%s: the Content-Security-Policy allows no inline styles", name)
		}
	}
	assert.Greater(t, checked, 100)
	var found []section
	require.NoError(t, json.Unmarshal(pages["docs/search.json"], &found))
	hits := 0
	for _, s := range found {
		if strings.Contains(s.Text, "bpfrun play") {
			hits++
		}
		assert.Contains(t, pages, "docs/"+s.Page)
		if s.Anchor != "" {
			assert.True(t, ids[s.Page+"#"+s.Anchor], "%s has no %s", s.Page, s.Anchor)
		}
	}
	assert.Positive(t, hits)
	// Tables that are folded are on the site, too, and the search finds what is in them.
	assert.Contains(t, string(pages["docs/helpers.html"]), "<details>")
	assert.True(t, slices.ContainsFunc(found, func(s section) bool { return s.Page == "releases.html" && strings.Contains(s.Text, "bpf_loop") }))
	for _, s := range found {
		assert.NotContains(t, s.Text, "<!--", "%s: %s", s.Page, s.Heading)
	}
}
