package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEmbeddedObjects(t *testing.T) {
	a, err := os.ReadFile("../../examples/exec/exec.bpf.o")
	require.NoError(t, err)
	b, err := os.ReadFile("../../examples/xdp/xdp.bpf.o")
	require.NoError(t, err)
	host, err := os.ReadFile("../../testdata/objects/clang-14/x86.o")
	require.NoError(t, err)

	exe := bytes.Join([][]byte{host, []byte("padding"), a, b, []byte("\x7fELF cut short")}, nil)
	assert.Equal(t, [][]byte{a, b}, embeddedObjects(exe))
	assert.Empty(t, embeddedObjects(host))
	assert.Empty(t, embeddedObjects(a[:len(a)-1]), "an image that is cut off is none")

	prefix := filepath.Join(t.TempDir(), "tool")
	require.NoError(t, writeObjects("exe", prefix, embeddedObjects(exe)))
	got, err := os.ReadFile(prefix + ".1.o")
	require.NoError(t, err)
	assert.Equal(t, b, got)
	assert.Error(t, writeObjects("exe", prefix, nil))
}
