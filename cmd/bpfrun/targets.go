package main

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/scenario"
)

// btfSource is one kernel named by --btf. Its BTF is parsed when it is needed.
type btfSource struct {
	kernels.Source
	// implied is what to tell the user when no --btf named this kernel.
	implied string
}

// btfSources expands --btf. Without it the running kernel is used when it has BTF, else the
// embedded kernel; which one is said on standard error.
func (a *app) btfSources() ([]btfSource, error) {
	if len(a.btf) == 0 {
		if _, err := os.Stat(kernels.HostBTF); err == nil {
			return []btfSource{{kernels.HostSource(), "no --btf given: using the running kernel's types"}}, nil
		}
		return []btfSource{{kernels.EmbeddedSource(), "no --btf given and this system has no kernel BTF: using the embedded " + embedded.Name}}, nil
	}
	return a.expandAll("--btf ", a.btf)
}

// expandAll finds the kernels that several arguments name; flag stands before each in errors.
func (a *app) expandAll(flag string, args []string) ([]btfSource, error) {
	var out []btfSource
	for _, arg := range args {
		sources, err := a.expandBTF(flag, arg)
		if err != nil {
			return nil, err
		}
		if sources, err = a.pickRelease(arg, sources); err != nil {
			return nil, err
		}
		for i := range sources {
			sources[i].Found = len(sources) > 1
		}
		out = append(out, sources...)
	}
	return out, nil
}

// sourcesFor are the kernels a scenario file runs on: those of --btf, else those it names itself, else as [app.btfSources]. The file may be
// nil.
func (a *app) sourcesFor(f *scenario.File) ([]btfSource, error) {
	if f == nil || len(f.Kernels) == 0 || len(a.btf) > 0 {
		return a.btfSources()
	}
	var out []btfSource
	for _, k := range f.Kernels {
		sources, err := a.expandBTF("", k.Name)
		if err != nil {
			return nil, usageError{&scenario.Error{Pos: k.Pos, Text: "kernels: " + err.Error(), Err: err}}
		}
		out = append(out, sources...)
	}
	return out, nil
}

// kernelPath is where kernels are found by name.
func (a *app) kernelPath() *kernels.Path {
	if a.kernels == nil {
		a.kernels = kernels.Default()
	}
	return a.kernels
}

func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.warn(format, args...)
	}
}

// warn writes a line that -q does not silence. Jobs that run side by side may call it.
func (a *app) warn(format string, args ...any) {
	a.notes.Lock()
	defer a.notes.Unlock()
	fmt.Fprintf(a.stderr, "bpfrun: "+format+"\n", args...)
}

// expandBTF finds the kernels an argument names; flag stands before it in errors.
func (a *app) expandBTF(flag, arg string) ([]btfSource, error) {
	found, err := a.kernelPath().Expand(arg)
	switch {
	case errors.Is(err, kernels.ErrEmpty):
		return nil, usagef("%sis empty: %w", cmp.Or(flag, "the name of a kernel "), kernels.ErrEmpty)
	case err != nil:
		return nil, usageError{fmt.Errorf("%s%w", flag, err)}
	}
	out := make([]btfSource, len(found))
	for i, s := range found {
		out[i].Source = s
	}
	return out, nil
}

// isObject reports whether a file is a BPF object. The kernel's tests of CO-RE use objects as targets; for most people it is the wrong file.
func isObject(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Machine == elf.EM_BPF
}

// load parses the source's BTF.
func (s btfSource) load(cache *btffile.Cache) (*btf.Spec, error) {
	spec, err := s.Load(cache)
	if errors.Is(err, kernels.ErrNoHost) {
		return nil, usageError{fmt.Errorf("--btf host: %w", err)}
	}
	return spec, err
}

// fitting leaves out the kernels that a glob or directory found and that have another byte order than any of the objects: nothing can be
// said of them, and the user did not ask for each. Which were left out is noted once.
func (a *app) fitting(sources []btfSource, orders ...binary.ByteOrder) []btfSource {
	if len(orders) == 0 {
		return sources // no object could be opened, which is said elsewhere
	}
	var out []btfSource
	var left []string
	for _, s := range sources {
		if s.Found {
			if order := s.ByteOrder(); order != nil && !slices.Contains(orders, order) {
				left = append(left, s.Name)
				continue
			}
		}
		out = append(out, s)
	}
	switch {
	case len(left) == 0:
	case len(out) == 0:
		return sources // let the error say it
	default:
		a.note("left out, kernels of the other byte order: %s", join(left))
	}
	return out
}
