package btffile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf"
)

// mapFile maps a regular file of minMapped to btf.MaxRaw bytes and enters all of its pages at once.
// It returns nil for other files, and if the system cannot map it.
func mapFile(path string) (data []byte, fi fs.FileInfo, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if fi, err = f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Size() < minMapped || fi.Size() > btf.MaxRaw {
		return nil, nil, err
	}
	if data, err = unix.Mmap(int(f.Fd()), 0, int(fi.Size()), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_POPULATE); err != nil {
		return nil, nil, nil // it is read instead
	}
	return data, fi, nil
}
