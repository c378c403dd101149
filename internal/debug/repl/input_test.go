//go:build !js

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
	keys := []byte("\x00\x00he\x00lp\n\x00\x00\x00quit\n\x00")
	for name, in := range map[string]io.Reader{"at once": bytes.NewReader(keys), "by bytes": iotest.OneByteReader(bytes.NewReader(keys))} {
		got, err := io.ReadAll(newInput(in))
		require.NoError(t, err, name)
		assert.Equal(t, "help\nquit\n", string(got), name)
	}
	n, err := newInput(bytes.NewReader([]byte{0, 0})).Read(make([]byte, 8))
	assert.Zero(t, n)
	assert.ErrorIs(t, err, io.EOF)
}

// TestResizeInterruptsRead: a resize ends a read that waits for keys, any number before the next
// read counts once, and no key is lost.
func TestResizeInterruptsRead(t *testing.T) {
	keys, keyboard := io.Pipe()
	in := newInput(keys)
	read := func(size int) string {
		b := make([]byte, size)
		n, err := in.Read(b)
		require.NoError(t, err)
		return string(b[:n])
	}
	for range 3 {
		in.resized()
	}
	assert.Equal(t, string(rune(resizeRune)), read(16))
	go func() { _, _ = keyboard.Write([]byte("step")) }()
	assert.Equal(t, "step", read(16))
	in.resized()
	got := read(1)
	for len(got) < len(string(rune(resizeRune))) {
		got += read(1)
	}
	assert.Equal(t, string(rune(resizeRune)), got)
	go func() {
		_, _ = keyboard.Write([]byte("x"))
		keyboard.Close()
	}()
	rest, err := io.ReadAll(in)
	require.NoError(t, err)
	assert.Equal(t, "x", string(rest))
}
