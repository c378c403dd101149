package main

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/project"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/spf13/pflag"
)

// kernelFlags select the kernels whose types are used.
type kernelFlags struct {
	*console

	btf       []string
	moduleBTF []string
	version   string
	kconfig   string
	kallsyms  string
	noCache   bool
	project   []string // what the project file names, where --btf names none

	short     bool // the command ends soon
	few       bool // it uses few kernels
	cacheOnce sync.Once
	unpacked  *btffile.Cache // see types
	path      *kernels.Path  // see kernelPath
	hostOnce  sync.Once
	hostID    string      // of the running kernel
	told      atomic.Bool // the note about the kernel chosen without --btf has been printed
}

func (k *kernelFlags) add(fs *pflag.FlagSet) {
	listVar(fs, &k.btf, "btf", "", "types of `KERNEL`: a file (raw, ELF, .xz .gz .zst, .btf.tar.xz, .btfpack), a directory, a glob, a release (6.12, 6.12-arm64; see bpfrun kernels), host, or embedded; repeatable")
	listVar(fs, &k.moduleBTF, "module-btf", "", "types of a `MODULE` of the kernel: its name (ext4; see bpfrun kernels add) or a file with its split BTF; repeatable")
	fs.BoolVar(&k.noCache, "no-cache", false, "cache neither unpacked kernel types nor results of matrix, test and verify in the user's cache directory (BPFRUN_CACHE=DIRECTORY moves the cache, BPFRUN_CACHE=off disables it)")
	fs.StringVar(&k.version, "kernel-version", "", "simulate this kernel `VERSION` (5.10, 6.1.176) instead of the one inferred")
	fs.StringVar(&k.kconfig, "kconfig", "", "kernel configuration `FILE` for CONFIG_ externs, plain or gzip")
	fs.StringVar(&k.kallsyms, "kallsyms", "", "kernel symbols `FILE` in the format of /proc/kallsyms")
}

// btfSource is one kernel named by --btf. Its BTF is parsed on first use.
type btfSource struct {
	kernels.Source
	// implied is the note for the user if no --btf named this kernel.
	implied string
}

// sources expands --btf. Without it, the result is the running kernel if it has BTF, else the
// embedded kernel; a note on standard error names it.
func (k *kernelFlags) sources() (list []btfSource, err error) {
	defer func() { k.few = len(list) <= fewKernels }()
	if len(k.btf) == 0 && len(k.project) > 0 {
		return k.expandAll(project.Name+": kernels: ", k.project)
	}
	if len(k.btf) == 0 {
		if _, err := os.Stat(kernels.HostBTF); err == nil {
			return []btfSource{{kernels.HostSource(), "no --btf given: using the running kernel's types"}}, nil
		}
		return []btfSource{{kernels.EmbeddedSource(), "no --btf given and this system has no kernel BTF: using the embedded " + embedded.Name}}, nil
	}
	return k.expandAll("--btf ", k.btf)
}

// one returns the only kernel, or the first one of the project file; does says what is refused to
// do on several.
func (k *kernelFlags) one(does string) (btfSource, error) {
	list, err := k.sources()
	if err != nil {
		return btfSource{}, err
	}
	if len(list) > 1 && len(k.btf) == 0 {
		list = list[:1]
	}
	if len(list) != 1 {
		return btfSource{}, usagef("%s, --btf names %d", does, len(list))
	}
	return list[0], nil
}

// expandAll finds the kernels named by several arguments. Errors start with flag.
func (k *kernelFlags) expandAll(flag string, args []string) ([]btfSource, error) {
	var out []btfSource
	for _, arg := range args {
		sources, err := k.expand(flag, arg)
		if err != nil {
			return nil, err
		}
		if sources, err = k.pickRelease(arg, sources); err != nil {
			return nil, err
		}
		for i := range sources {
			sources[i].Found = len(sources) > 1
		}
		out = append(out, sources...)
	}
	return out, nil
}

// sourcesFor returns the kernels that a scenario file runs on: those of --btf, else those named in
// the file, else those of [kernelFlags.sources]. file may be nil.
func (k *kernelFlags) sourcesFor(f *scenario.File) ([]btfSource, error) {
	if f == nil || len(f.Kernels) == 0 || len(k.btf) > 0 {
		return k.sources()
	}
	var out []btfSource
	for _, named := range f.Kernels {
		sources, err := k.expand("", named.Name)
		if err != nil {
			return nil, usageError{&scenario.Error{Pos: named.Pos, Text: "kernels: " + err.Error(), Err: err}}
		}
		out = append(out, sources...)
	}
	return out, nil
}

// kernelPath returns the search path for kernels given by name.
func (k *kernelFlags) kernelPath() *kernels.Path {
	if k.path == nil {
		k.path = kernels.Default()
	}
	return k.path
}

// expand finds the kernels named by one argument. Errors start with flag.
func (k *kernelFlags) expand(flag, arg string) ([]btfSource, error) {
	found, err := k.kernelPath().Expand(arg)
	switch {
	case errors.Is(err, kernels.ErrEmpty):
		return nil, usagef("%sis empty: %w", cmp.Or(flag, "the name of a kernel "), kernels.ErrEmpty)
	case err != nil:
		return nil, usageError{fmt.Errorf("%s%w", flag, err)}
	}
	out := make([]btfSource, len(found))
	for i, s := range found {
		out[i].Source = s
		if s.Path == kernels.Embedded && arg != kernels.Embedded {
			k.note("%s%s: not on the search path (bpfrun kernels); using the embedded %s", flag, arg, s.Name)
		}
	}
	return out, nil
}

// isObject reports whether a file is a BPF object. The kernel's CO-RE tests use objects as targets,
// but for most users it is a mistake.
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

// fitting drops kernels found by a glob or directory whose byte order differs from that of all
// objects: the user did not ask for each of them, and programs cannot run there. It prints one note
// about the dropped kernels.
func (k *kernelFlags) fitting(sources []btfSource, orders ...binary.ByteOrder) []btfSource {
	if len(orders) == 0 {
		return sources // no object could be opened; another error reports that
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
		k.note("skipping kernels of the other byte order: %s", join(left))
	}
	return out
}
