package main

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// output is the output stream of a command. It escapes what could control the terminal, and keeps
// the first error, which most code that writes text ignores.
type output struct {
	w        io.Writer
	verbatim bool // a protocol or a full screen: pass every byte
	styled   bool // the command uses colours; otherwise styles in its output come from untrusted text
	text     visible.Writer
	mu       sync.Mutex
	wrote    bool
	err      error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wrote = true
	if o.verbatim {
		n, err = o.w.Write(p)
	} else {
		o.text.W, o.text.Plain = o.w, !o.styled
		n, err = o.text.Write(p)
	}
	o.failed(err)
	return n, err
}

// errClosed: nobody gets the output.
var errClosed = errors.New("standard output is closed (to discard the output, use > /dev/null)")

// flush writes what is held back.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed(o.text.Flush())
	if f, ok := o.w.(*os.File); ok && o.wrote && wasClosed(f) {
		o.failed(errClosed)
	}
}

func (o *output) failed(err error) {
	if err != nil && o.err == nil {
		o.err = err
	}
}

// verbatim switches off the escaping of a command's output.
func verbatim(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		o.verbatim = true
	}
	return w
}

// fileOf returns the file underlying a writer, or nil if there is none.
func fileOf(w io.Writer) *os.File {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	f, _ := w.(*os.File)
	return f
}
