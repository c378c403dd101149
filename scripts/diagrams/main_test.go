package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The committed pictures are those that the program draws, boxes are inside of them and do not
// overlap, and a page shows each.
func TestPictures(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	var all strings.Builder
	for _, p := range pages {
		text, err := os.ReadFile(p)
		require.NoError(t, err)
		all.Write(text)
	}
	for name, d := range diagrams() {
		text, err := os.ReadFile(filepath.Join("../../docs/images", name))
		require.NoError(t, err)
		assert.Equal(t, d.svg(), string(text), "stale: go run ./scripts/diagrams docs/images")
		assert.Contains(t, all.String(), "](images/"+name+")")
		for i := range d.boxes {
			a := &d.boxes[i]
			assert.True(t, a.x >= 0 && a.y >= 0 && a.x+a.w <= d.w && a.y+a.height() <= d.h, "%s: %s is outside", name, a.title)
			for j := range d.boxes[:i] {
				b := &d.boxes[j]
				assert.False(t, a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.height() && b.y < a.y+a.height(), "%s: %s lies on %s", name, a.title, b.title)
			}
			for _, l := range append([]string{a.title}, a.lines...) {
				assert.LessOrEqual(t, 13*len([]rune(l))/2, a.w-2*padding+8, "%s: %q is too long for its box", name, l)
			}
		}
	}
}
