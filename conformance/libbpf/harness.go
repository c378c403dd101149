// Package libbpf runs CO-RE relocations on an installed libbpf. It contains the C source of a small program, which the
// system's C compiler builds and links with that libbpf.
//
// It does not use this module's own relocations. Start from [Build].
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package libbpf

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed core_libbpf.c nobpf.h
var sources embed.FS

// ErrUnavailable means that this system cannot build or run the program, because it has no C compiler, or no libbpf with headers.
var ErrUnavailable = errors.New("libbpf is not available here")

// Harness is the built program. Close removes it.
type Harness struct {
	dir, program string
	// Version is libbpf's, "1.7".
	Version string
}

// Build compiles the program. cc is the compiler with its flags, "" for cc.
func Build(ctx context.Context, cc string) (*Harness, error) {
	if cc == "" {
		cc = "cc"
	}
	dir, err := os.MkdirTemp("", "bpfrun-libbpf-*")
	if err != nil {
		return nil, err
	}
	h := &Harness{dir: dir, program: filepath.Join(dir, "core_libbpf")}
	if err := h.compile(ctx, strings.Fields(cc)); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *Harness) compile(ctx context.Context, cc []string) error {
	if err := os.CopyFS(h.dir, sources); err != nil {
		return err
	}
	c := filepath.Join(h.dir, "core_libbpf.c")
	args := append(cc[1:len(cc):len(cc)], "-O2", "-o", h.program, c, "-lbpf", "-lelf", "-lz")
	if out, err := exec.CommandContext(ctx, cc[0], args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s: %w\n%s", ErrUnavailable, cc[0], err, firstLines(out))
	}
	out, err := exec.CommandContext(ctx, h.program, "-v").Output()
	if err == nil {
		h.Version = strings.TrimSpace(string(out))
	}
	return nil
}

// Run relocates an object for a BTF, raw or ELF, uncompressed, and returns the lines that the program prints. The names
// are written to the lines.
func (h *Harness) Run(ctx context.Context, objectName, object, btfName, btf string) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, h.program, "-o", objectName, "-b", btfName, object, btf)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || out.Len() == 0) {
		return nil, fmt.Errorf("%w: %s on %s: %w\n%s", ErrUnavailable, objectName, btfName, err, firstLines(errs.Bytes()))
	}
	return out.Bytes(), nil
}

// Close removes the program.
func (h *Harness) Close() error { return os.RemoveAll(h.dir) }

// firstLines returns the start of a program's error output.
func firstLines(b []byte) string {
	lines := strings.SplitN(strings.TrimSpace(string(b)), "\n", 6)
	return strings.Join(lines[:min(5, len(lines))], "\n")
}
