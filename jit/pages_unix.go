//go:build (linux || freebsd || netbsd) && amd64

package jit

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/jit/plan"
)

// live counts the bytes mapped, of all engines.
var live atomic.Int64

// pages is one mapping: a page for the State, and the code.
type pages struct{ whole []byte }

// newPages copies code behind a fresh State. Pages of code are writable first and executable later, never both.
func newPages(text []byte) (*pages, error) {
	page, code := unix.Getpagesize(), int(-stateDelta())
	size := code + (len(text)+page-1)/page*page
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("jit: map %d bytes of code: %w", size, err)
	}
	live.Add(int64(size))
	p := &pages{b}
	copy(b[code:], text)
	if err := unix.Mprotect(b[code:], unix.PROT_READ|unix.PROT_EXEC); err != nil {
		p.release()
		return nil, fmt.Errorf("jit: make code executable (does the system forbid it?): %w", err)
	}
	return p, nil
}

// stateDelta is the distance from the code back to its State.
func stateDelta() int64 {
	page := int64(unix.Getpagesize())
	return -(int64(unsafe.Sizeof(plan.State{})) + page - 1) / page * page
}

// state is the State in front of the code.
func (p *pages) state() *plan.State { return (*plan.State)(unsafe.Pointer(unsafe.SliceData(p.whole))) }

// text is the address of the code.
func (p *pages) text() uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(p.whole))) + uintptr(-stateDelta())
}

// release gives the mapping back. Releasing twice is harmless.
func (p *pages) release() {
	if p.whole != nil {
		live.Add(-int64(len(p.whole)))
		_ = unix.Munmap(p.whole) // of our own mapping, it cannot fail
		p.whole = nil
	}
}
