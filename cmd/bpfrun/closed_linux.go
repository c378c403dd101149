package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// wasClosed reports whether standard output was closed when this process began. Go's runtime then opens /dev/null for reading and writing in its place
// (runtime checkfds), and nothing would tell that the output is lost. Who wants that opens /dev/null for writing, as shells do, or gives standard input or error
// the same open file; a parent that opens it for reading and writing, for standard output alone, cannot be told from one that closes it.
func wasClosed(f *os.File) bool {
	const null = 1<<8 | 3 // makedev(1, 3)
	var st unix.Stat_t
	if f == nil || f.Fd() != 1 || unix.Fstat(1, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != null {
		return false
	}
	if flags, err := unix.FcntlInt(1, unix.F_GETFL, 0); err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	const kcmpFile = 0
	pid := uintptr(unix.Getpid())
	for _, other := range []uintptr{0, 2} {
		if order, _, e := unix.Syscall6(unix.SYS_KCMP, pid, pid, kcmpFile, 1, other, 0); e == 0 && order == 0 {
			return false
		}
	}
	return true
}
