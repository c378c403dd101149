//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Calls of the supervisor that something outside of bpfrun can forbid: a seccomp filter of a
// container, a security module, the tool itself when it closes its memory to others. A tool must
// not see that as an error of its own.

// advice says what to do when a call is forbidden.
const advice = "a container's seccomp profile or a security module may forbid it (docker run --security-opt seccomp=unconfined; Yama: sysctl kernel.yama.ptrace_scope=1)"

// usable checks that this process can serve a child that waits for it. An address that no process
// has gives EFAULT once access is granted.
func (s *supervisor) usable(pid int) error {
	fd := -1
	defer func() { unix.Close(fd) }()
	var b [1]byte
	local, nowhere := []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: 1, Len: 1}}
	for _, probe := range []struct {
		name string
		call func() error
	}{
		{"process_vm_readv", func() error { _, err := unix.ProcessVMReadv(pid, local, nowhere, 0); return err }},
		{"process_vm_writev", func() error { _, err := unix.ProcessVMWritev(pid, local, nowhere, 0); return err }},
		{"memfd_create", func() (err error) { fd, err = unix.MemfdCreate("probe", unix.MFD_CLOEXEC); return err }},
		{"inotify_add_watch", func() error {
			wd, err := unix.InotifyAddWatch(s.inotify, fmt.Sprintf("/proc/self/fd/%d", fd), unix.IN_CLOSE)
			if err == nil {
				_, err = unix.InotifyRmWatch(s.inotify, uint32(wd))
			}
			return err
		}},
	} {
		if err := probe.call(); err != nil && err != unix.EFAULT {
			return fmt.Errorf("%s: %w: %s", probe.name, err, advice)
		}
	}
	return nil
}

// denied notes that a call on the tool was refused for a reason that the tool did not cause by its
// arguments, and returns the errno, or 0 for other errors. The guard's memory and descriptors are
// closed on purpose.
func (s *supervisor) denied(pid uint32, name string, err error) unix.Errno {
	e, _ := err.(unix.Errno)
	switch e {
	case unix.EPERM, unix.EACCES, unix.ENOSYS:
	default:
		return 0
	}
	if s.starts > 0 || s.processOf(pid).tgid == s.guard {
		return unix.EPERM
	}
	s.note(fmt.Sprintf("%s(2) on the tool is refused (%v), so that a call of it fails: %s, or the tool has closed its memory to others (prctl(2) PR_SET_DUMPABLE, a program file that is not readable)",
		name, e, advice))
	return unix.EPERM
}
