//go:build unix

package project

import (
	"os"
	"syscall"
)

// Own reports whether the file belongs to the user who runs this process. Anybody may leave a file
// in a directory that all share, such as /tmp, and it is found from every directory below.
func (f *File) Own() bool {
	info, err := os.Stat(f.Path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// Shared reports whether everybody may put files in the file's directory.
func (f *File) Shared() bool {
	info, err := os.Stat(f.Dir())
	return err == nil && info.Mode().Perm()&0o002 != 0
}
