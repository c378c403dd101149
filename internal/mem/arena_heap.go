//go:build !linux && !darwin && !windows

package mem

import "fmt"

// heapLimit is the largest reservation. Without a system that reserves address space, it is memory
// of the Go heap: pages that are never touched cost nothing, but all of WebAssembly's memory is 4
// GiB.
const heapLimit = 160 << 20

// osReserve allocates the memory at once.
func osReserve(size uint64) ([]byte, error) {
	if size > heapLimit {
		return nil, fmt.Errorf("more than the %d bytes of a reservation on this system", uint64(heapLimit))
	}
	return make([]byte, size), nil
}

// osCommit has nothing to do: the Go heap's memory is readable and writable, and reads as zero.
func osCommit([]byte) error { return nil }

// osZero clears committed memory and reports that it now reads as zero.
func osZero(b []byte) bool {
	clear(b)
	return true
}

// osRelease leaves the memory to the garbage collector.
func osRelease([]byte) error { return nil }
