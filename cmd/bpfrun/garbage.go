package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// memoryLimit is the soft limit in bytes above which the garbage collector works harder; otherwise
// garbage piles up on a busy machine. It does not bound the memory of runs, which have limits of
// their own.
const memoryLimit = 1 << 30

// garbage decides when garbage is collected: GOMEMLIMIT and GOGC of the environment go first.
type garbage struct {
	// percent of what lives that may be garbage, from the first collection on.
	percent atomic.Int64
}

var collector garbage

// start delays the first collection until the heap has 32 MB: most commands end before that.
// Afterwards the heap may double between two collections, as usual.
func (g *garbage) start() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	g.percent.Store(100)
	debug.SetGCPercent(800) // of the initial heap of 4 MB
	runtime.AddCleanup(new([16]byte), func(g *garbage) { debug.SetGCPercent(int(g.percent.Load())) }, g)
}

// allow lets garbage grow to percent of what lives, also after the first collection, until restore
// is called.
func (g *garbage) allow(percent int) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	later := g.percent.Swap(int64(percent))
	before := debug.SetGCPercent(percent)
	return func() {
		g.percent.Store(later)
		debug.SetGCPercent(before)
	}
}
