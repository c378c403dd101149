package nearest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDistanceCountsEdits(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"pid", "pid", 0}, {"pid", "pids", 1}, {"pid", "tid", 1}, {"kitten", "sitting", 3},
		{strings.Repeat("a", 100), strings.Repeat("a", 64) + "b", 0},
	} {
		assert.Equal(t, tt.want, Distance(tt.a, tt.b), "%s %s", tt.a, tt.b)
		assert.Equal(t, tt.want, Distance(tt.b, tt.a), "%s %s", tt.b, tt.a)
	}
}

func TestNamesOffersTheNearestFirst(t *testing.T) {
	names := []string{"", "pid", "tgid", "pids", "pid", "real_parent", "parent", "comm"}
	assert.Equal(t, []string{"pid", "pids"}, Names("pidd", names, 2))
	assert.Equal(t, []string{"parent", "real_parent"}, Names("paren", names, 2), "what contains it counts as two edits")
	assert.Empty(t, Names("x", names, 0))
}
