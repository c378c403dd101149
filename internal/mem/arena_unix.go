//go:build linux || darwin

package mem

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// osReserve reserves address space without memory.
func osReserve(size uint64) ([]byte, error) {
	return unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
}

// osCommit makes a page-aligned part of a reservation readable and writable;
// fresh pages read as zero.
func osCommit(b []byte) error {
	return unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE)
}

// osZero returns committed pages to the system and reports whether they now read as zero.
func osZero(b []byte) bool {
	// Only Linux guarantees that the next read yields zero.
	return runtime.GOOS == "linux" && unix.Madvise(b, unix.MADV_DONTNEED) == nil
}

func osRelease(b []byte) error { return unix.Munmap(b) }
