//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// childWord is the first argument of a child, which the supervisor starts from its own executable.
const childWord = "__exec-child"

// childFD is the socket to the supervisor in a child.
const childFD = 3

// Child turns the process into the program when the supervisor started it for that: it does not return then. args are those of the process
// without its name.
func Child(args []string) bool {
	if len(args) < 4 || args[0] != childWord {
		return false
	}
	fmt.Fprintln(os.Stderr, "bpfrun exec:", child(args[1] == "root", args[2], args[3:]))
	os.Exit(126)
	return true
}

// dropped are capabilities with which a call the filter does not know could change the host's kernel.
var dropped = []uintptr{unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_PERFMON, unix.CAP_BPF}

// child turns this process into the guard of the program: its parent, which outlives it and the supervisor just long enough to leave no process behind.
func child(asRoot bool, path string, argv []string) error {
	// The filter is this thread's alone, and the program is started by it.
	runtime.LockOSThread()
	for _, c := range dropped {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // fails without CAP_SETPCAP, when there is nothing to drop
	}
	if err := dropCaps(); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_NO_NEW_PRIVS: %w", err)
	}
	fd, e := install(filter(rules(asRoot)))
	switch e {
	case 0:
	case unix.EBUSY:
		return fmt.Errorf("seccomp: %w: a supervisor is already installed: bpfrun exec cannot run inside bpfrun exec", e)
	default:
		return fmt.Errorf("seccomp: %w: seccomp user notification is not available here", e)
	}
	// sendmsg(2) would wait for the supervisor, which fetches the listener itself.
	if err := tell(uint32(fd)); err != nil {
		return fmt.Errorf("listener: %w", err)
	}
	unix.CloseOnExec(childFD)
	var one [1]byte
	if n, err := unix.Read(childFD, one[:]); n != 1 {
		return fmt.Errorf("supervisor: %w", err)
	}
	unix.Close(fd)
	if err := unconfined(); err != nil {
		return err
	}
	return guard(path, argv)
}

// unconfined asks whether the calls of this thread arrive at the supervisor. A filter that was there before, that of a container, goes first with what it refuses.
func unconfined() error {
	v, _, e := unix.RawSyscall(unix.SYS_BPF, ask, 0, 0)
	if e == 0 && v == answer {
		if _, _, e = unix.RawSyscall6(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0, 0); e == unix.EFAULT {
			return nil
		}
	}
	return fmt.Errorf("an outer seccomp filter refuses bpf(2) or perf_event_open(2) before bpfrun sees the call (%w). Containers install such filters; start the "+
		"container with --security-opt seccomp=unconfined", e)
}

// tell writes a number to the supervisor.
func tell(v uint32) error {
	_, err := unix.Write(childFD, le.AppendUint32(nil, v))
	return err
}

// dropCaps takes the capabilities from this thread.
func dropCaps() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	for _, c := range dropped {
		bit := uint32(1) << (c % 32)
		data[c/32].Effective &^= bit
		data[c/32].Permitted &^= bit
		data[c/32].Inheritable &^= bit
	}
	return unix.Capset(&hdr, &data[0])
}
