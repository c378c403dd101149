// Package libbpf performs CO-RE relocations with an installed libbpf. It contains the C source of a
// small program, which it builds with the system's C compiler and links with that libbpf.
//
// It does not use this module's own relocation code. Start from [Build].
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

// ErrUnavailable means that the program cannot be built or run here, because the system has no C
// compiler, or no libbpf with headers.
var ErrUnavailable = errors.New("libbpf is not available here")

// Harness is the compiled program. Close removes it.
type Harness struct {
	dir, program string
	// Version is the version of libbpf ("1.7").
	Version string
}

// Build compiles the program. cc is the compiler with its flags; "" means cc. The error wraps
// [ErrUnavailable] if the system lacks a prerequisite.
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

// Run relocates an object against BTF, in an uncompressed raw or ELF file, and returns the lines
// that the program prints. objectName and btfName are the names that appear in the lines.
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

// Close removes the compiled program.
func (h *Harness) Close() error { return os.RemoveAll(h.dir) }

// firstLines returns the first five lines of a program's error output.
func firstLines(b []byte) string {
	lines := strings.SplitN(strings.TrimSpace(string(b)), "\n", 6)
	return strings.Join(lines[:min(5, len(lines))], "\n")
}
