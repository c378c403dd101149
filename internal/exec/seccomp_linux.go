//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Seccomp user notification (seccomp_unotify(2)). Pointers passed to the kernel are those of Go
// values that live until the call returns and have exactly the size encoded in the ioctl's number.

const (
	ioctlRecv    = 0xC0502100
	ioctlSend    = 0xC0182101
	ioctlIDValid = 0x40082102
	ioctlAddFD   = 0x40182103
	ioctlFlags   = 0x40082104

	addfdSetFD   = 1
	addfdSend    = 2
	flagContinue = 1
	syncWakeUp   = 1

	filterNewListener  = 1 << 3
	filterWaitKillable = 1 << 5
)

// notif is struct seccomp_notif: a system call that waits for its result.
type notif struct {
	ID    uint64
	PID   uint32 // thread id
	Flags uint32
	NR    int32
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

type notifResp struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

type notifAddFD struct {
	ID         uint64
	Flags      uint32
	SrcFD      uint32
	NewFD      uint32
	NewFDFlags uint32
}

func (s *supervisor) recv(n *notif) unix.Errno {
	_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(s.listener), ioctlRecv, uintptr(unsafe.Pointer(n))) // does not block: a call is pending
	return e
}

// wakeHere asks the kernel to wake this process and the tool on the processor of the other: they
// never run at the same time, and waking another processor costs more than a switch. Kernels before
// 6.6 do not know the request (SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) and are slower.
func (s *supervisor) wakeHere() {
	_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(s.listener), ioctlFlags, syncWakeUp)
}

// again repeats a request that a signal interrupted: Go sends itself signals to preempt goroutines,
// and the kernel takes the listener's lock with mutex_lock_interruptible, which fails with EINTR
// when other threads hold it (kernel/seccomp.c seccomp_notify_id_valid, seccomp_notify_send).
func again(request func() unix.Errno) unix.Errno {
	for {
		if e := request(); e != unix.EINTR {
			return e
		}
	}
}

func (s *supervisor) send(r *notifResp) unix.Errno {
	return again(func() unix.Errno {
		_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(s.listener), ioctlSend, uintptr(unsafe.Pointer(r))) // does not block
		return e
	})
}

// valid reports whether the call is still pending. If it is, the thread was neither killed nor
// interrupted, and its id still names it.
func (s *supervisor) valid(id uint64) bool {
	return again(func() unix.Errno {
		_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(s.listener), ioctlIDValid, uintptr(unsafe.Pointer(&id)))
		return e
	}) == 0
}

// addFD puts a descriptor into the thread's table; with addfdSend it is also the result of the
// call. No signal may interrupt that: the kernel marks the call as answered before it waits for the
// thread to take the descriptor, and if the wait is interrupted it withdraws the descriptor but not
// the mark, so that the call returns 0 (kernel/seccomp.c seccomp_notify_addfd). Go sends itself
// signals all the time.
func (s *supervisor) addFD(a *notifAddFD) (fd int, e unix.Errno) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all, before := unix.Sigset_t{}, unix.Sigset_t{}
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		e, _ := err.(unix.Errno)
		return 0, e
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil) }()
	e = again(func() unix.Errno {
		r, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(s.listener), ioctlAddFD, uintptr(unsafe.Pointer(a)))
		fd = int(r)
		return e
	})
	return fd, e
}

// ready reports whether a descriptor has one of the poll events now.
func ready(fd int, events int16) bool {
	p := unix.PollFd{Fd: int32(fd), Events: events}
	var zero unix.Timespec
	n, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&zero)), 0, 0, 0)
	return e == 0 && n > 0 && p.Revents&events != 0
}

// hostSince reports whether the host runs a release of Linux or a later one.
func hostSince(major, minor int) bool {
	var u unix.Utsname
	var x, y int
	if unix.Uname(&u) != nil {
		return false
	}
	n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &x, &y)
	return n == 2 && (x > major || x == major && y >= minor)
}

// install installs the filter on this thread and returns the listener.
func install(f []unix.SockFilter) (int, unix.Errno) {
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	r, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, filterNewListener|filterWaitKillable, uintptr(unsafe.Pointer(&prog)))
	if e == unix.EINVAL { // before Linux 5.19
		r, _, e = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, filterNewListener, uintptr(unsafe.Pointer(&prog)))
	}
	return int(r), e
}
