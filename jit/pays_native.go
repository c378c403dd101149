//go:build linux && (amd64 || arm64)

package jit

import "github.com/bpfrun/bpfrun/vm"

// Code that is left for Go every few instructions, to ask views or call helpers, is slower than the interpreter, which does both without
// leaving its loop. The engine looks at how much was executed between exits and lets such a program rest.
const (
	// exitsWatched is after how many exits it looks, leastNative how many instructions between two are worth it.
	exitsWatched = 256
	leastNative  = 6
	// restRuns is how often the engine leaves the program to the interpreter until it tries again.
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
