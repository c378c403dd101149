package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// wasClosed reports whether a shell closed standard output (`>&-`) before this process began. Go's
// runtime then opens /dev/null for reading and writing in its place (runtime checkfds), and nothing
// would tell that the output is lost. Other parents open /dev/null the same way on purpose
// (subprocess.DEVNULL of Python), so only a shell that has an output of its own, or none at all, is
// taken to have closed it: shells discard output by opening /dev/null for writing.
func wasClosed(f *os.File) bool {
	if f == nil || f.Fd() != 1 || !isNull(1) {
		return false
	}
	if flags, err := unix.FcntlInt(1, unix.F_GETFL, 0); err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	parent := fmt.Sprintf("/proc/%d", os.Getppid())
	name, err := os.ReadFile(parent + "/comm")
	if err != nil || !slices.Contains(shells, strings.TrimSpace(string(name))) {
		return false
	}
	theirs, err := os.Readlink(parent + "/fd/1")
	return errors.Is(err, fs.ErrNotExist) || err == nil && theirs != os.DevNull
}

// shells are the names of processes that close descriptors of their children by `>&-`.
var shells = []string{"ash", "bash", "busybox", "dash", "ksh", "mksh", "sh", "zsh"}

// isNull reports whether a descriptor is /dev/null.
func isNull(fd int) bool {
	const null = 1<<8 | 3 // makedev(1, 3)
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == null
}
