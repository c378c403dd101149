package kernels

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/btf/pack"
	"github.com/bpfrun/bpfrun/internal/nearest"
)

// Names of kernels without a file.
const (
	Host     = "host"     // the running kernel
	Embedded = "embedded" // the one embedded in bpfrun
)

// HostBTF is the file in which a running Linux kernel exposes its BTF; tests replace it.
var HostBTF = "/sys/kernel/btf/vmlinux"

// Source is a kernel whose types can be read.
type Source struct {
	// Name is shown to users and contains the release if possible: the file name without
	// extensions, or "host".
	Name string
	// Path is the file, [Host] or [Embedded]; of a kernel in an archive that of the archive, a slash
	// and the kernel's name.
	Path string
	// Found means that a glob, a directory or an archive matched it along with others.
	Found bool

	archive *pack.Archive // in which Name is, if it is open
}

// File returns the file that the types are in, "" for the host's and the embedded kernel.
func (s Source) File() string {
	switch s.Path {
	case Host, Embedded:
		return ""
	}
	if archive, _, ok := btffile.SplitPack(s.Path); ok {
		return archive
	}
	return s.Path
}

// ErrNoHost is returned when the host does not expose its kernel's types.
var ErrNoHost = errors.New("this system does not expose its kernel's types")

// Load parses the source's types. cache may be nil.
func (s Source) Load(cache *btffile.Cache) (*btf.Spec, error) {
	switch s.Path {
	case Embedded:
		return embedded.Load(cache)
	case Host:
		spec, err := cache.Load(HostBTF, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: no %s (try --btf embedded)", ErrNoHost, HostBTF)
		}
		return spec, err
	}
	if s.archive != nil {
		return btffile.LoadPacked(s.archive, s.Path, filepath.Base(s.Path))
	}
	return cache.Load(s.Path, nil)
}

// HostSource returns the running kernel.
func HostSource() Source { return Source{Name: Host, Path: Host} }

// EmbeddedSource returns the kernel embedded in bpfrun.
func EmbeddedSource() Source { return Source{Name: embedded.Name, Path: Embedded} }

// FileSource returns the kernel whose types are in a file.
func FileSource(path string) Source { return Source{Name: baseName(path), Path: path} }

// baseName returns a file's name without extensions of types, compression and archives.
func baseName(path string) string {
	name := filepath.Base(path)
	for _, ext := range []string{".xz", ".gz", ".zst", ".tar", ".btf"} {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// ByteOrder returns the byte order of the source's file, nil if its first bytes do not show it
// ([btffile.ByteOrder]).
func (s Source) ByteOrder() binary.ByteOrder {
	if s.archive != nil {
		return s.archive.ByteOrder(filepath.Base(s.Path))
	}
	return btffile.ByteOrder(s.Path)
}

// Errors of [Path.Expand], in an [*Error].
var (
	ErrEmpty   = errors.New("want a file, directory, glob, release, host or embedded")
	ErrUnknown = errors.New("no such kernel")
)

// Error reports that an argument does not name a kernel.
type Error struct {
	Name string
	Err  error
	// Near are names of similar known kernels.
	Near []string
	hint string
}

// Error returns the argument, what is wrong and what would work.
func (e *Error) Error() string {
	text := e.Err.Error()
	if e.hint != "" {
		text = e.hint
	}
	return fmt.Sprintf("%s: %s", e.Name, text)
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Err }

// Expand returns the kernels that an argument names: those of a file or directory of that name,
// otherwise of a glob's files, otherwise the best match on the search path. Errors are [*Error] or
// from the file system.
func (p *Path) Expand(arg string) ([]Source, error) {
	switch arg {
	case "":
		return nil, &Error{Name: `""`, Err: ErrEmpty}
	case Host:
		return []Source{HostSource()}, nil
	case Embedded:
		return []Source{EmbeddedSource()}, nil
	}
	if archive, name, ok := btffile.SplitPack(arg); ok {
		return packed(archive, name)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return directory(arg)
	case err == nil:
		return sourcesOf(arg)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Name: arg, Err: err}
	}
	matches, err := filepath.Glob(arg)
	if err != nil {
		return nil, &Error{Name: arg, Err: err}
	}
	var out []Source
	for _, m := range matches {
		if info, err := os.Stat(m); err == nil && !info.IsDir() {
			list, err := sourcesOf(m)
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	k, err := p.Find(arg)
	if err != nil {
		return nil, err
	}
	return []Source{k.Source}, nil
}

// sourcesOf returns the kernel of a file, or those of an archive of many.
func sourcesOf(path string) ([]Source, error) {
	if !btffile.IsPack(path) {
		return []Source{FileSource(path)}, nil
	}
	return packed(path, "")
}

// packed returns the kernels of an archive, or only the one of a name.
func packed(path, only string) ([]Source, error) {
	a, err := pack.OpenFile(path)
	if err != nil {
		return nil, err
	}
	var out []Source
	var names []string
	for _, k := range a.Kernels() {
		names = append(names, k.Name)
		if only == "" || only == k.Name {
			out = append(out, Source{Name: k.Name, Path: filepath.Join(path, k.Name), archive: a})
		}
	}
	if len(out) == 0 {
		e := &Error{Name: filepath.Join(path, only), Err: ErrUnknown, hint: "the archive has no kernel"}
		if only != "" {
			e.Near = nearest.Names(only, names, 4)
			e.hint = fmt.Sprintf("the archive has no kernel of that name (it has %d: bpfrun kernels list %s)", len(names), path)
			if len(e.Near) > 0 {
				e.hint = "the archive has no kernel of that name (nearest: " + strings.Join(e.Near, ", ") + ")"
			}
		}
		return nil, e
	}
	return out, nil
}

// IsPack reports whether an argument is an archive of many kernels.
func IsPack(arg string) bool { return btffile.IsPack(arg) }

// directory lists the type files below a directory, in BTFHub's layout or flat.
func directory(dir string) ([]Source, error) {
	var out []Source
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type().IsRegular() && isTypes(d.Name()) {
			list, err := sourcesOf(path)
			if err != nil {
				return err
			}
			out = append(out, list...)
		}
		if d.IsDir() && d.Name() == modulesDir {
			return filepath.SkipDir // split BTF, which is not a kernel by itself
		}
		return nil
	})
	if err != nil {
		return nil, &Error{Name: dir, Err: err}
	}
	if len(out) == 0 {
		return nil, &Error{Name: dir, Err: ErrUnknown, hint: "the directory has no *.btf* or vmlinux* file"}
	}
	slices.SortFunc(out, func(x, y Source) int { return strings.Compare(x.Path, y.Path) })
	return out, nil
}

// isTypes reports whether a file's name has an extension of type files.
func isTypes(name string) bool {
	return (strings.Contains(name, ".btf") || strings.HasPrefix(name, "vmlinux")) && !strings.HasSuffix(name, ".md")
}
