package repl

import (
	"bytes"
	"io"
)

// withoutNUL leaves NUL bytes out, which Ctrl-Space sends. The readline library takes one for the end of its input.
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
