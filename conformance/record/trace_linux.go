package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// tracer reads the output of bpf_trace_printk. If tracefs is not mounted, tracer mounts it on a temporary directory until close.
type tracer struct {
	dir     string
	mounted bool
}

func openTracer() (*tracer, error) {
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(filepath.Join(dir, "trace")); err == nil {
			return &tracer{dir: dir}, nil
		}
	}
	dir, err := os.MkdirTemp("", "bpfrun-trace")
	if err != nil {
		return nil, err
	}
	if err := unix.Mount("tracefs", dir, "tracefs", 0, ""); err != nil {
		os.Remove(dir)
		return nil, fmt.Errorf("mount tracefs: %w", err)
	}
	return &tracer{dir: dir, mounted: true}, nil
}

func (t *tracer) close() {
	if t != nil && t.mounted {
		unix.Unmount(t.dir, unix.MNT_DETACH)
		os.Remove(t.dir)
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
