package btffile

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file of that size and enters all of its pages at once. It returns nil if the
// system cannot map it.
func mapFile(f *os.File, size int) []byte {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return nil
	}
	return data
}
