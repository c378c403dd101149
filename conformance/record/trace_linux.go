package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// tracer reads the output of bpf_trace_printk. If tracefs is not mounted, tracer uses a mount of
// its own, which is at no path: loaders that run at the same time look for tracefs in the list of
// mounts.
type tracer struct {
	dir string
	own *os.File // the mount; nil for the system's
}

func openTracer() (*tracer, error) {
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(filepath.Join(dir, "trace")); err == nil {
			return &tracer{dir: dir}, nil
		}
	}
	fs, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open tracefs: %w", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("create tracefs: %w", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("mount tracefs: %w", err)
	}
	own := os.NewFile(uintptr(fd), "tracefs")
	return &tracer{dir: fmt.Sprintf("/proc/self/fd/%d", fd), own: own}, nil
}

func (t *tracer) close() {
	if t != nil && t.own != nil {
		t.own.Close()
	}
}

// clear empties the trace buffer.
func (t *tracer) clear() error {
	if t == nil {
		return nil
	}
	return os.WriteFile(filepath.Join(t.dir, "trace"), nil, 0o644)
}

// lines returns the messages since clear, or nil if there are none.
func (t *tracer) lines() ([]string, error) {
	if t == nil {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(t.dir, "trace"))
	if err != nil {
		return nil, err
	}
	const event = ": bpf_trace_printk: "
	var out []string
	for _, line := range strings.Split(string(text), "\n") {
		if _, message, ok := strings.Cut(line, event); ok {
			out = append(out, message)
		}
	}
	return out, nil
}
