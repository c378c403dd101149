//go:build !js

package repl

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/chzyer/readline"
)

// input is what the readline library reads from: the keys, and a rune after each resize. The
// library edits the line in a goroutine of its own, which must also be the one that learns the new
// width and draws the line again; a rune in its input is the way to reach it.
type input struct {
	keys    io.Reader
	read    chan chunk // one read of keys
	reading bool       // whether a read of keys is under way: it outlives a Read that a resize ended
	resize  chan struct{}
	rest    []byte // read, and not yet returned
}

type chunk struct {
	data []byte
	err  error
}

// resizeRune is the rune after a resize: a noncharacter, which no keyboard sends.
const resizeRune = utf8.MaxRune

func newInput(keys io.Reader) *input {
	return &input{keys: keys, read: make(chan chunk, 1), resize: make(chan struct{}, 1)}
}

// resized makes the reader find the rune of a resize.
func (r *input) resized() {
	select {
	case r.resize <- struct{}{}:
	default: // it will find one already
	}
}

// Read returns keys, or the rune of a resize. It removes NUL bytes, which Ctrl-Space sends: the
// library treats them as the end of its input.
func (r *input) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if !r.reading {
			r.reading = true
			go func(b []byte) {
				n, err := r.keys.Read(b)
				r.read <- chunk{b[:n], err}
			}(make([]byte, len(p)))
		}
		select {
		case c := <-r.read:
			r.reading = false
			r.rest = bytes.ReplaceAll(c.data, []byte{0}, nil)
			if c.err != nil {
				n := copy(p, r.rest)
				r.rest = nil
				return n, c.err
			}
		case <-r.resize:
			r.rest = utf8.AppendRune(nil, resizeRune)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close leaves the keys open: they are the caller's.
func (r *input) Close() error { return nil }

// onRune returns the library's filter of runes: for each resize it calls f, in the goroutine that
// edits the line. The library then sees Ctrl-G, which ends a search or a completion and does
// nothing else. (A rune that is dropped would leave the library reading while the next command
// runs.)
func onRune(f func()) func(rune) (rune, bool) {
	return func(c rune) (rune, bool) {
		if c != resizeRune {
			return c, true
		}
		f()
		return readline.CharBell, true
	}
}
