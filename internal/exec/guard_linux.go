//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guard starts the tool and waits for it. When the tool or the supervisor has ended, it kills the
// tool's remaining processes: without a supervisor their calls would fail in ways that no kernel
// has. PR_SET_PDEATHSIG alone would reach only one process. run is a command that waits beside the
// tool until the supervisor starts it.
func guard(run, path string, argv []string) error {
	// The threads of this process that do not start the tool are not filtered. From here on, the
	// supervisor cannot read the path of a call, unless it is root.
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	if err := unreachable(); err != nil {
		return err
	}
	// Orphans of the tool become children of this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_CHILD_SUBREAPER: %w", err)
	}
	// Signals of the terminal are for the tool. They are caught, not ignored, since the tool would
	// inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP)
	if run != "" {
		unix.CloseOnExec(besideFD)
		if err := startBeside(run, null); err != nil {
			return err
		}
		unix.Close(besideFD)
	}
	null.Close()
	// The tool does not inherit the socket to the supervisor: ForkExec closes it.
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	go func() {
		var b [1]byte
		for {
			n, err := unix.Read(childFD, b[:])
			if err == unix.EINTR {
				continue
			}
			if n <= 0 {
				killAll()
				os.Exit(128 + int(unix.SIGKILL))
			}
		}
	}()
	if err := tell(uint32(pid)); err != nil {
		return fmt.Errorf("supervisor: %w", err)
	}
	for {
		var ws unix.WaitStatus
		p, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("wait: %w", err)
		case p == pid && (ws.Exited() || ws.Signaled()):
			if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
				killed := make(chan struct{}) // in a thread without the filter
				go func() { killAll(); close(killed) }()
				<-killed
			}
			_ = tell(uint32(ws))
			os.Exit(0)
		}
	}
}

// startBeside starts a shell, filtered as the tool is, that runs a command as soon as a line can be
// read from the pipe, and nothing when it is closed. The shell, and none of what it starts, has the
// pipe until the command has ended.
func startBeside(run string, null *os.File) error {
	const shell = "/bin/sh"
	_, err := syscall.ForkExec(shell, []string{"sh", "-c", "read go <&3 || exit 0; (exec 3<&-; eval \"$1\")", "sh", run}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null.Fd(), 1, 2, besideFD}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", shell, err)
	}
	return nil
}

// killAll kills this process's descendants until none is left. It is their subreaper, so none is
// left when it has no children: a listing can miss a process whose parent ends while it is made.
func killAll() {
	for {
		for _, p := range descendants(os.Getpid()) {
			_ = unix.Kill(p, unix.SIGKILL)
		}
		for {
			p, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err == unix.ECHILD {
				return
			}
			if p <= 0 && err != unix.EINTR {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// descendants lists the running descendants of a process.
func descendants(pid int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	children := map[int][]int{}
	for _, n := range names {
		p, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + n + "/stat")
		if err != nil {
			continue
		}
		// The name in parentheses may contain any character.
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(f) < 2 || f[0] == "Z" || f[0] == "X" {
			continue
		}
		if parent, err := strconv.Atoi(f[1]); err == nil {
			children[parent] = append(children[parent], p)
		}
	}
	var out []int
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		out = append(out, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return out
}
