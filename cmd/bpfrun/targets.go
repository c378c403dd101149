package main

import (
	"cmp"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
)

// hostBTF is where a running Linux kernel shows its types; a variable for tests.
var hostBTF = "/sys/kernel/btf/vmlinux"

// btfSource is one kernel named by --btf. Its BTF is parsed when it is needed.
type btfSource struct {
	name   string // for people: the file name without extensions
	source string // path, "host" or "embedded"
	// found says that a glob or a directory named it together with others.
	found bool
	// implied is what to tell the user when no --btf named this kernel.
	implied string
}

// btfSources expands --btf. Without it the running kernel is used when it has BTF, else the
// embedded kernel; which one is said on standard error.
func (a *app) btfSources() ([]btfSource, error) {
	if len(a.btf) == 0 {
		if _, err := os.Stat(hostBTF); err == nil {
			return []btfSource{{name: "host", source: "host", implied: "no --btf given: using the running kernel's types"}}, nil
		}
		return []btfSource{{name: embedded.Name, source: "embedded", implied: "no --btf given and this system has no kernel BTF: using the embedded " + embedded.Name}}, nil
	}
	var out []btfSource
	for _, arg := range a.btf {
		sources, err := expandBTF("--btf ", arg)
		if err != nil {
			return nil, err
		}
		if sources, err = a.pickRelease(arg, sources); err != nil {
			return nil, err
		}
		for i := range sources {
			sources[i].found = len(sources) > 1
		}
		out = append(out, sources...)
	}
	return out, nil
}

func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.stderr, "bpfrun: "+format+"\n", args...)
	}
}

// expandBTF finds the kernels an argument names; flag stands in front of it in errors.
func expandBTF(flag, arg string) ([]btfSource, error) {
	switch arg {
	case "":
		return nil, usagef("%sis empty: want a file, directory, glob, host or embedded", cmp.Or(flag, "the name of a kernel "))
	case "host":
		return []btfSource{{name: "host", source: "host"}}, nil
	case "embedded":
		return []btfSource{{name: embedded.Name, source: "embedded"}}, nil
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return btfDirectory(flag, arg)
	case err == nil:
		return []btfSource{fileSource(arg)}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, usageError{fmt.Errorf("%s%s: %w", flag, arg, err)}
	}
	matches, err := filepath.Glob(arg)
	if err != nil {
		return nil, usagef("%s%q: %w", flag, arg, err)
	}
	var out []btfSource
	for _, m := range matches {
		if info, err := os.Stat(m); err == nil && !info.IsDir() {
			out = append(out, fileSource(m))
		}
	}
	if len(out) == 0 {
		return nil, usagef("%s%s: no such file (a kernel's types are in %s; %sembedded needs no file)", flag, arg, hostBTF, flag)
	}
	return out, nil
}

// btfDirectory lists the BTF files below a directory, in BTFHub's layout or flat.
func btfDirectory(flag, dir string) ([]btfSource, error) {
	var out []btfSource
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.Type().IsRegular() && (strings.Contains(name, ".btf") || strings.HasPrefix(name, "vmlinux")) && !strings.HasSuffix(name, ".md") {
			out = append(out, fileSource(path))
		}
		if d.IsDir() && name == "modules" {
			return filepath.SkipDir // split BTF, which is no target by itself
		}
		return nil
	})
	if err != nil {
		return nil, usageError{fmt.Errorf("%s%s: %w", flag, dir, err)}
	}
	if len(out) == 0 {
		return nil, usagef("%s%s: no *.btf* or vmlinux* file in this directory", flag, dir)
	}
	slices.SortFunc(out, func(x, y btfSource) int { return strings.Compare(x.source, y.source) })
	return out, nil
}

func fileSource(path string) btfSource {
	name := filepath.Base(path)
	for _, ext := range []string{".xz", ".gz", ".zst", ".tar", ".btf"} {
		name = strings.TrimSuffix(name, ext)
	}
	return btfSource{name: name, source: path}
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
	switch s.source {
	case "embedded":
		return embedded.Spec()
	case "host":
		spec, err := btf.Load(hostBTF, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usagef("--btf host: this system has no %s (try --btf embedded)", hostBTF)
		}
		return spec, err
	}
	return cache.Load(s.source, nil)
}

// fitting leaves out the kernels that a glob or directory found and that have another byte order than any of the objects: nothing can be
// said of them, and the user did not ask for each. Which were left out is noted once.
func (a *app) fitting(sources []btfSource, orders ...binary.ByteOrder) []btfSource {
	var out []btfSource
	var left []string
	for _, s := range sources {
		if order := s.byteOrder(); s.found && order != nil && !slices.Contains(orders, order) {
			left = append(left, s.name)
			continue
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

// byteOrder is the byte order of a file's BTF as its first bytes have it, nil when they do not tell.
func (s btfSource) byteOrder() binary.ByteOrder {
	f, err := os.Open(s.source)
	if err != nil {
		return nil
	}
	defer f.Close()
	var r io.Reader = f
	switch filepath.Ext(s.source) {
	case ".xz":
		r, err = xz.NewReader(f)
	case ".gz":
		r, err = gzip.NewReader(f)
	case ".zst":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1)); err == nil {
			defer d.Close()
			r = d
		}
	}
	if err != nil {
		return nil
	}
	var magic [2]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return nil
	}
	switch magic {
	case [2]byte{0x9f, 0xeb}:
		return binary.LittleEndian
	case [2]byte{0xeb, 0x9f}:
		return binary.BigEndian
	}
	return nil // ELF, an archive
}
