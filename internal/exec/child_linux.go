//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// childWord is the first argument of a child process, which the supervisor starts from its own
// executable.
const childWord = "__exec-child"

// childFD is the child's socket to the supervisor, besideFD the pipe on which the command beside
// the tool waits, if there is one.
const (
	childFD  = 3
	besideFD = 4
)

// Child runs the child side when the supervisor started this process; in that case it exits instead
// of returning. Otherwise it returns false. args are the process's arguments without its name.
func Child(args []string) bool {
	if len(args) < 4 || args[0] != childWord {
		return false
	}
	path, argv, run := args[2], args[3:], ""
	if strings.HasSuffix(args[1], "+run") {
		run, argv = argv[0], argv[1:]
	}
	visible.Fprintln(os.Stderr, "bpfrun exec:", child(strings.HasPrefix(args[1], "root"), strings.Contains(args[1], "+live"), run, path, argv))
	os.Exit(126)
	return true
}

// dropped are the capabilities with which calls that the filter does not know could change the
// host's kernel, and CAP_SYS_PTRACE, with which the tool could reach the supervisor's memory.
var dropped = []uintptr{unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_NET_ADMIN, unix.CAP_PERFMON, unix.CAP_BPF}

// child makes this process the guard of the tool: its parent, which outlives the tool and the
// supervisor just long enough to leave no process running.
func child(asRoot, live bool, run, path string, argv []string) error {
	// The filter applies to this thread alone, which therefore starts the tool.
	runtime.LockOSThread()
	coverHost()
	for _, c := range dropped {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // fails without CAP_SETPCAP, when there is nothing to drop
	}
	if err := dropCaps(); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_NO_NEW_PRIVS: %w", err)
	}
	list, rest := rules(asRoot), uint32(unix.SECCOMP_RET_ALLOW)
	if live {
		list, rest = liveRules(asRoot), unix.SECCOMP_RET_USER_NOTIF
	}
	fd, e := install(filter(list, rest))
	switch e {
	case 0:
	case unix.EBUSY:
		return fmt.Errorf("seccomp: %w: a supervisor is already installed: bpfrun exec cannot run inside bpfrun exec", e)
	default:
		return fmt.Errorf("seccomp: %w: seccomp user notification is not available here", e)
	}
	// This thread's calls may wait for the supervisor, which copies the listener itself. Another
	// thread, without the filter, tells the number.
	told := make(chan error, 1)
	go func() {
		if err := tell(uint32(fd)); err != nil {
			told <- fmt.Errorf("listener: %w", err)
			return
		}
		var one [1]byte
		if n, err := unix.Read(childFD, one[:]); n != 1 {
			told <- fmt.Errorf("supervisor: %w", err)
			return
		}
		told <- nil
	}()
	if err := <-told; err != nil {
		return err
	}
	unix.CloseOnExec(childFD)
	unix.Close(fd)
	if err := unconfined(); err != nil {
		return err
	}
	return guard(run, path, argv)
}

// unconfined checks that calls of this thread reach the supervisor. Filters that were installed
// earlier, such as a container's, run as well and may refuse them.
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

// dropCaps drops the capabilities of this thread.
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
