//go:build unix

package filecache

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// private reports whether only this user, or root, can put entries into a directory, or make it. An entry's checksum finds damage, not intent:
// whoever can write to the directory can choose what is read from it.
func private(dir string) bool {
	fi, err := os.Stat(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && fi.Mode().Perm()&0o002 == 0 && (st.Uid == 0 || int(st.Uid) == os.Geteuid())
}
