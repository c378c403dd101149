// Package ceiling bounds the memory that a piece of work allocates, for fuzz tests of parsers:
// input of a few bytes must not make the parser allocate gigabytes, even if they are freed again.
package ceiling

import (
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// Limit sets the process's soft memory limit, in bytes, for the rest of a fuzz test, so that a leak
// slows the test down before the machine runs out of memory. A lower GOMEMLIMIT in the environment
// wins.
func Limit(t testing.TB, bytes int64) {
	t.Helper()
	before := debug.SetMemoryLimit(-1)
	if bytes < before {
		debug.SetMemoryLimit(bytes)
		t.Cleanup(func() { debug.SetMemoryLimit(before) })
	}
}

// Check runs do and fails the test when it allocates more than most bytes in all.
func Check(t testing.TB, most uint64, do func()) {
	t.Helper()
	before := allocated()
	do()
	if n := allocated() - before; n > most {
		t.Fatalf("%d bytes allocated, at most %d", n, most)
	}
}

// allocated returns the bytes allocated on the heap since this process started, by all goroutines.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
