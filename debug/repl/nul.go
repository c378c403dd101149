package repl

import (
	"bytes"
	"io"
)

// withoutNUL removes NUL bytes, which Ctrl-Space sends: the readline library treats them as the end of its input.
type withoutNUL struct{ io.ReadCloser }

func (r withoutNUL) Read(p []byte) (int, error) {
	for {
		n, err := r.ReadCloser.Read(p)
		kept := copy(p, bytes.ReplaceAll(p[:n], []byte{0}, nil))
		// An empty read without an error would make callers spin.
		if kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}
