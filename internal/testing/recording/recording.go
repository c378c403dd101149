// Package recording keeps the answers of a kernel, with which tests compare ours.
//
//	go test ./btf/check -record        as root, on the release that the recording names
package recording

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Flag is set by -record.
var Flag = flag.Bool("record", false, "ask the running kernel, as root, and rewrite the recording instead of only comparing with it")

// Write writes a recording, compressed with gzip.
func Write(t testing.TB, path, text string) {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	require.NoError(t, err)
	_, err = io.WriteString(z, text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
}

// Read returns the text of a recording that Write wrote.
func Read(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}
