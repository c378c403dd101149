package main

import (
	"io"
	"os"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// output is where a command writes: text, of which nothing controls the terminal. It remembers the first error, which most writers of text do not look at.
type output struct {
	w        io.Writer
	verbatim bool // a protocol, or a full screen: every byte as it is
	err      error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	w := o.w
	if !o.verbatim {
		w = visible.Writer{W: w}
	}
	n, err := w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// verbatim makes a command's output pass as it is.
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
