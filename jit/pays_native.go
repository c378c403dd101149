//go:build linux && (amd64 || arm64)

package jit

import "github.com/bpfrun/bpfrun/vm"

// Code that returns to Go every few instructions, to access views or call helpers, is slower than
// the interpreter, which does both without leaving its loop. The engine measures how many
// instructions run between exits and leaves such programs to the interpreter for a while.
const (
	// exitsWatched is the number of exits between measurements, leastNative the minimum number of
	// instructions between two exits.
	exitsWatched = 256
	leastNative  = 6
	// restRuns is how many runs the engine leaves the program to the interpreter before it tries
	// again.
	restRuns = 10_000
)

// exited counts an exit from code.
func (e *Engine) exited(c *code) {
	if c.exits++; c.exits < exitsWatched {
		return
	}
	executed := e.native - c.since
	c.exits, c.since = 0, e.native
	if executed < exitsWatched*leastNative && e.check == nil {
		e.resting, e.rest, e.last = c.img, restRuns, nil
		e.unlink() // others' tail calls leave it to the interpreter too
	}
}

// rests reports whether the interpreter is to run a program.
func (e *Engine) rests(img *vm.Image) bool {
	if e.resting != img || img == nil {
		return false
	}
	if e.rest--; e.rest > 0 {
		return true
	}
	e.resting = nil
	return false
}
