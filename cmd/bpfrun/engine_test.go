package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// foundPart is the findings of a run in a document. Unwritten bytes are followed on the interpreter
// alone.
var foundPart = regexp.MustCompile(`(?s)"findings": \[(\]|.*?\n\s*\])`)

// TestEnginesAgree runs every example on the interpreter, on native code and on both: the documents
// are the same to the byte, coverage and instruction counts included.
func TestEnginesAgree(t *testing.T) {
	if !machine.NativeCode() {
		t.Skip("no native code on this system")
	}
	objects, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.NotEmpty(t, objects)
	if testing.Short() {
		objects = objects[:8]
	}
	for _, path := range objects {
		t.Run(filepath.Base(path), func(t *testing.T) {
			document := func(engine string) (string, int) {
				var out, errs bytes.Buffer
				code := run([]string{"run", path, "--btf", "../../testdata/btf/min/linux-6.12.107-amd64.min.btf", "--repeat", "3", "--engine", engine, "--json"}, &out, &errs)
				assert.NotContains(t, errs.String(), "engines differ")
				return foundPart.ReplaceAllString(out.String(), ""), code
			}
			want, code := document("interp")
			require.NotEqual(t, exitUsage, code)
			require.Contains(t, want, `"insns"`)
			for _, engine := range []string{"jit", "both"} {
				got, c := document(engine)
				assert.Equal(t, code, c, engine)
				assert.Equal(t, want, got, engine)
			}
		})
	}
}
