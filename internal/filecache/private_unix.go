//go:build unix

package filecache

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// private returns why others than this user and root can put entries into a directory, or nil if
// only these can, or make it. An entry's checksum finds damage, not intent: whoever can write to
// the directory can choose what is read from it.
func private(dir string) error {
	fi, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return errors.New("its owner is not known")
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return errors.New("another user owns it")
	case fi.Mode().Perm()&0o002 != 0:
		return errors.New("all users can write to it (chmod 700)")
	case fi.Mode().Perm()&0o020 != 0:
		return errors.New("its group can write to it (chmod 700)")
	}
	return nil
}
