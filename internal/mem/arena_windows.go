package mem

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// osReserve reserves address space without memory.
func osReserve(size uint64) ([]byte, error) {
	p, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_RESERVE, windows.PAGE_NOACCESS)
	if err != nil {
		return nil, err
	}
	// The address comes from the system and is outside the Go heap. It is read through a pointer to
	// the variable because it was never a Go pointer.
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), size), nil
}

// osCommit makes a page-aligned part of a reservation readable and writable;
// fresh pages read as zero.
func osCommit(b []byte) error {
	_, err := windows.VirtualAlloc(uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err
}

// osZero returns committed pages to the system and reports whether they now read as zero.
func osZero(b []byte) bool { return false }

func osRelease(b []byte) error {
	return windows.VirtualFree(uintptr(unsafe.Pointer(&b[0])), 0, windows.MEM_RELEASE)
}
