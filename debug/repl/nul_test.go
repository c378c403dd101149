package repl

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNULIsNoEndOfInput(t *testing.T) {
	input := []byte("\x00\x00he\x00lp\n\x00\x00\x00quit\n\x00")
	for name, in := range map[string]io.Reader{"at once": bytes.NewReader(input), "by bytes": iotest.OneByteReader(bytes.NewReader(input))} {
		got, err := io.ReadAll(withoutNUL{io.NopCloser(in)})
		require.NoError(t, err, name)
		assert.Equal(t, "help\nquit\n", string(got), name)
	}
	n, err := withoutNUL{io.NopCloser(bytes.NewReader([]byte{0, 0}))}.Read(make([]byte, 8))
	assert.Zero(t, n)
	assert.ErrorIs(t, err, io.EOF)
}
