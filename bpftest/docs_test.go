package bpftest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocsShowRealCode: every Go block of the documentation is part of an example that is compiled
// and run.
func TestDocsShowRealCode(t *testing.T) {
	page, err := os.ReadFile("../docs/bpftest.md")
	require.NoError(t, err)
	files, err := filepath.Glob("../examples/gotest/*_test.go")
	require.NoError(t, err)
	code := ""
	for _, f := range append(files, "example_test.go", "ebpfspec/example_test.go", "../examples/gotest/served/served_test.go", "../examples/gotest/tool/tool_test.go") {
		text, err := os.ReadFile(f)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		code += string(text)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	require.GreaterOrEqual(t, len(blocks), 8)
	for _, b := range blocks {
		block, _, ok := strings.Cut(b, "```")
		require.True(t, ok)
		assert.True(t, strings.Contains(code, block), block)
	}
}

// TestDocsShowRealFailures: the failure in the documentation is what a failing test prints.
func TestDocsShowRealFailures(t *testing.T) {
	page, err := os.ReadFile("../docs/bpftest.md")
	require.NoError(t, err)
	r := record(failing)
	require.Len(t, r.errors, 1)
	for _, line := range strings.Split(r.errors[0], "\n") {
		if strings.HasPrefix(line, "debug it: ") {
			assert.Contains(t, string(page), "debug it: bpfrun debug ")
			continue
		}
		assert.True(t, strings.Contains(string(page), line), line)
	}
}
