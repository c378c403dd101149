package progtype

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestEveryAccessOfContexts walks the contexts of all types: each offset, with each width, for each
// attach type. A line has the runs of aligned offsets with the same answer: + is allowed, - no
// field, ~ a field but not all bytes, ! forbidden, w another width. Releases with the same answers
// are left out.
func TestEveryAccessOfContexts(t *testing.T) {
	var lines []string
	for _, row := range All() {
		attaches := []uapi.AttachType{0}
		for _, at := range row.Attaches {
			if at.Access != nil && at.Type != 0 {
				attaches = append(attaches, at.Type)
			}
		}
		for _, at := range attaches {
			for i := range 8 {
				size, verb, before := 1<<(i/2), []string{"read", "write"}[i%2], ""
				for _, release := range []uapi.Release{uapi.R(5, 10), uapi.R(6, 1), 0} {
					if runs := accesses(t, row, release, at, size, i%2 == 1); strings.Contains(runs, "+") && runs != before {
						lines = append(lines, fmt.Sprintf("%v at %v, %v, %s %d: %s", row.Type, at, release, verb, size, runs))
						before = runs
					}
				}
			}
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile("testdata/accesses.txt", []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/accesses.txt")
	require.NoError(t, err)
	assert.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"))
}

// accesses has a sign for each offset, in runs.
func accesses(t *testing.T, row *Row, release uapi.Release, at uapi.AttachType, size int, write bool) string {
	var out strings.Builder
	last, from := byte(0), 0
	most := min(len(row.Context.at), 256)&^7 + 8
	for off := -1; off <= most; off++ {
		sign := byte('+')
		var e *AccessError
		if _, err := row.CheckAccess(release, at, off, size, write); errors.As(err, &e) {
			sign = map[Reason]byte{NoField: '-', Forbidden: '!', WrongWidth: 'w'}[e.Reason]
			if e.Reason == NoField && e.Field != nil {
				sign = '~'
			}
		}
		switch {
		case off == most:
			sign = 0
		case off > 0 && off%size != 0:
			assert.NotEqual(t, byte('+'), sign, "%v: %d bytes at %d", row.Type, size, off)
			continue
		}
		if sign != last && last != 0 {
			fmt.Fprintf(&out, " %d%c", from, last)
		}
		if sign != last {
			last, from = sign, off
		}
	}
	return out.String()[1:]
}
