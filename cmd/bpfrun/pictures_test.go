package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/termsvg"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// TestPictures: the pictures of a terminal in README.md and docs/ show what their commands print.
func TestPictures(t *testing.T) {
	t.Chdir("../..")
	for file, line := range map[string]string{
		"docs/images/matrix.svg": "bpfrun matrix testdata/objects/clang-14/missing.o --btf 'testdata/btf/*.btf.xz'",
	} {
		var out, errs bytes.Buffer
		run(append(shellWords(line)[1:], "--color=always"), &out, &errs)
		require.Empty(t, errs.String(), line)
		svg := termsvg.Render(line, out.String(), 104)
		if *rewrite.Flag {
			require.NoError(t, os.WriteFile(file, []byte(svg), 0o644))
		}
		drawn, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(drawn), svg, "%s is stale (go test ./cmd/bpfrun -run Pictures -update)", file)
	}
}
