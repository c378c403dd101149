package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// Full BTFs: of the test data, which take Go half a second to unpack, and the one inside the
// binary.
const (
	btfEmbedded = "embedded"
	btf510      = "testdata/btf/linux-5.10.262-amd64-cloud.btf.xz"
	btfArm64    = "testdata/btf/linux-6.1.176-arm64-cloud.btf.xz"
)

// commandLine runs a command line in the repository's root.
func commandLine(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, os.Chdir("../.."))
	defer func() { require.NoError(t, os.Chdir(dir)) }()
	t.Setenv("NO_COLOR", "1")
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return out.String(), errs.String(), code
}

// golden compares what a command line prints with testdata/golden/NAME.
func golden(t *testing.T, name string, code int, args ...string) {
	t.Helper()
	out, errs, got := commandLine(t, args...)
	assert.Equal(t, code, got, "exit code of %s\n%s", strings.Join(args, " "), errs)
	path := filepath.Join("testdata", "golden", name)
	if *rewrite.Flag {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(out), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "go test ./cmd/bpfrun -update makes it")
	assert.Equal(t, string(want), out, strings.Join(args, " "))
}

func TestMatrixCommand(t *testing.T) {
	objects := []string{"matrix", "examples/exec/exec.bpf.o", "examples/guarded/guarded.bpf.o", "examples/loop/loop.bpf.o", "examples/xdp/xdp.bpf.o"}
	kernels := []string{"--btf", btf510, "--btf", btfEmbedded, "--btf", btfArm64}
	md := filepath.Join(t.TempDir(), "m.md")
	golden(t, "matrix.txt", exitLoad, slices.Concat(objects, kernels, []string{"-o", "md=" + md})...)
	written, err := os.ReadFile(md)
	require.NoError(t, err)
	golden(t, "matrix.md", exitLoad, slices.Concat(objects, kernels, []string{"--md"})...)
	same, err := os.ReadFile("testdata/golden/matrix.md")
	require.NoError(t, err)
	assert.Equal(t, string(same), string(written))
	golden(t, "matrix-base.txt", exitExpectation, "matrix", objects[2], "--btf", btfEmbedded, "--btf", btf510, "--base", "5.10", "-q")
}

func TestMatrixDocumentFormat(t *testing.T) {
	out, _, _ := commandLine(t, "matrix", "examples/exec/exec.bpf.o", "--btf", btfEmbedded, "--btf", btf510, "--json")
	var doc struct {
		Schema  string   `json:"schema"`
		Exit    *int     `json:"exit"`
		Targets []string `json:"targets"`
		Rows    []struct {
			Object, Program string
			Cells           []struct {
				Target      string
				Relocations map[string]int
				Baked       *int
				Load        string
				Result      string
				Detail      *string
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	assert.Equal(t, "bpfrun/1", doc.Schema)
	require.NotNil(t, doc.Exit)
	require.Len(t, doc.Targets, 2)
	require.Len(t, doc.Rows, 1)
	for i, c := range doc.Rows[0].Cells {
		assert.Equal(t, doc.Targets[i], c.Target)
		assert.Equal(t, "ok", c.Load)
		assert.Equal(t, "ok", c.Result)
		assert.NotNil(t, c.Baked)
		assert.NotNil(t, c.Detail)
		for _, key := range []string{"ok", "changed", "poisoned_dead", "poisoned_may", "poisoned_reached"} {
			assert.Contains(t, c.Relocations, key)
		}
	}
}

func TestMatrixUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		text string
	}{
		{[]string{"matrix"}, "want bpfrun matrix OBJECT..."},
		{[]string{"matrix", "examples/exec/exec.bpf.o", "--btf", btfEmbedded, "--base", "4.19"}, "no such kernel"},
		{[]string{"matrix", "examples/exec/exec.bpf.o", "--btf", btfEmbedded, "--btf", btf510, "--base", "linux"}, "matches 2 kernels"},
		{[]string{"matrix", "examples/exec/exec.bpf.o", "--btf", btfEmbedded, "-o", "pdf=x"}, "want html=FILE"},
		{[]string{"matrix", "examples/exec/exec.bpf.o", "--btf", btfEmbedded, "--json", "--md"}, "standard output"},
		{[]string{"matrix", "no/such.o", "--btf", btfEmbedded}, "no such file"},
	} {
		_, errs, code := commandLine(t, c.args...)
		assert.Equal(t, exitUsage, code, strings.Join(c.args, " "))
		assert.Contains(t, errs, c.text)
	}
}
