package main

import (
	"io"
	"os"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// output is the output stream of a command. It escapes control characters for the terminal, and keeps the first error,
// which most code that writes text ignores.
type output struct {
	w        io.Writer
	verbatim bool // a protocol or a full screen: pass every byte
	styled   bool // the command uses colours; otherwise styles in its output come from untrusted text
	err      error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	w := o.w
	if !o.verbatim {
		w = visible.Writer{W: w, Plain: !o.styled}
	}
	n, err := w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
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
