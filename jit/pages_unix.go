//go:build linux && (amd64 || arm64)

package jit

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/jit/plan"
)

// live counts the bytes mapped by all engines.
var live atomic.Int64

// pages is one mapping: a page for the State, and the code.
type pages struct {
	whole []byte
	code  int // offset of the code
}

// newPages copies code after a new State, at the distance it was compiled for. Code pages are first
// writable and then executable, never both.
func newPages(text []byte, delta int64) (*pages, error) {
	page, code := unix.Getpagesize(), int(-delta)
	size := code + (len(text)+page-1)/page*page
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("jit: map %d bytes of code: %w", size, err)
	}
	live.Add(int64(size))
	p := &pages{b, code}
	copy(b[code:], text)
	backendSync(b[code:])
	if err := unix.Mprotect(b[code:], unix.PROT_READ|unix.PROT_EXEC); err != nil {
		p.release()
		return nil, fmt.Errorf("jit: make code executable (does the system forbid it?): %w", err)
	}
	return p, nil
}

// stateDelta returns the distance in bytes from the code back to its State, which is followed by
// that many bytes of marks.
func stateDelta(marks int) int64 {
	page := int64(unix.Getpagesize())
	return -(int64(unsafe.Sizeof(plan.State{})) + int64(marks) + page - 1) / page * page
}

// marks returns the n bytes after the State.
func (p *pages) marks(n int) []byte {
	from := int(unsafe.Sizeof(plan.State{}))
	return p.whole[from : from+n : from+n]
}

// state returns the State before the code.
func (p *pages) state() *plan.State { return (*plan.State)(unsafe.Pointer(unsafe.SliceData(p.whole))) }

// text returns the address of the code.
func (p *pages) text() uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(p.whole))) + uintptr(p.code)
}

// release unmaps the pages. Releasing twice is harmless.
func (p *pages) release() {
	if p.whole != nil {
		live.Add(-int64(len(p.whole)))
		_ = unix.Munmap(p.whole) // cannot fail for our own mapping
		p.whole = nil
	}
}
