package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// TestQuietEndsTheSame: what -q does not compute changes neither the exit code nor the summary, the
// last line, also with --strict, where what runs find is a failure.
func TestQuietEndsTheSame(t *testing.T) {
	objects, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.Greater(t, len(objects), 10)
	last := func(text string) string {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		return lines[len(lines)-1]
	}
	for i, object := range objects {
		if i%testsize.Pick(1, 6, 6) != 0 {
			continue
		}
		for _, flags := range [][]string{nil, {"--strict"}} {
			args := append([]string{"run", object, "--btf", "embedded"}, flags...)
			want, all, _ := command(args...)
			got, some, _ := command(append(args, "-q")...)
			assert.Equal(t, want, got, "%v", args)
			assert.Equal(t, last(all), last(some), "%v", args)
			assert.LessOrEqual(t, len(some), len(all))
		}
	}
}
