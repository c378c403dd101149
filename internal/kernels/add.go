package kernels

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// Errors of [Path.Add].
var (
	ErrNoRelease = errors.New("its name does not contain a release")
	ErrNotKernel = errors.New("no types of a kernel")
)

// Add stores the kernels of a file in the user's directory: raw BTF, an ELF file, a kernel image, a
// Debian package, or an archive with any number of kernels. as is the name to store them under, for
// files whose own name has no release. It replaces kernels of the same name.
func (p *Path) Add(path, as string) ([]Kernel, error) {
	if p.Own == "" {
		return nil, errNoHome
	}
	if err := refused(path); err != nil {
		return nil, err
	}
	if as != "" {
		if _, _, ok := loader.ParseRelease(as); !ok || strings.ContainsAny(as, `/\`) {
			return nil, fmt.Errorf("%q: want a name with a release, such as 6.12.107-amd64", as)
		}
	}
	place := Place{Title: "yours", Pattern: literal(p.Own)}
	var out []Kernel
	defer func() {
		p.mu.Lock()
		p.listed = nil
		p.mu.Unlock()
	}()
	err := btffile.Each(path, func(name string, spec *btf.Spec) error {
		if _, ok := spec.Find(btf.KindStruct, "task_struct"); !ok {
			return fmt.Errorf("%s: %w: it has no struct task_struct", name, ErrNotKernel)
		}
		rel := ""
		if name != path {
			rel = name // in an archive
		}
		k, ok := describe(name, rel, place)
		id := k.ID
		if as != "" {
			id = as
		} else if !ok {
			return fmt.Errorf("%s: %w: name it with --as, such as --as 6.12.107-amd64", name, ErrNoRelease)
		}
		if visible.Text(id) != id {
			return fmt.Errorf("%s: its name has control characters: name it with --as, such as --as 6.12.107-amd64", visible.Text(name))
		}
		if slices.ContainsFunc(out, func(k Kernel) bool { return k.ID == id }) {
			return fmt.Errorf("%s: the archive has two kernels called %s", name, id)
		}
		release := ""
		if as == "" {
			release = k.Release
		}
		file, err := p.store(id, release, spec.Raw())
		if err != nil {
			return err
		}
		k, _ = describe(file, filepath.Base(file), place)
		out = append(out, k)
		return nil
	})
	return out, err
}

// refused recognises files that are known to contain no kernel, by name.
func refused(path string) error {
	name := filepath.Base(path)
	for _, ext := range []string{".xz", ".gz", ".zst"} {
		name = strings.TrimSuffix(name, ext)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory: name the files in it, or add it to the search path with %s=%s", path, Variable, path)
	case filepath.Ext(name) == ".ko":
		return fmt.Errorf("%s: %w: a module's types build on those of its kernel; pass the module with --module-btf", path, ErrNotKernel)
	case filepath.Ext(name) == ".o":
		return fmt.Errorf("%s: %w: an object", path, ErrNotKernel)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	start := make([]byte, 4)
	if n, err := f.Read(start); err == nil && bytes.Equal(start[:n], []byte("\xed\xab\xee\xdb")) {
		return fmt.Errorf("%s: RPM packages are not supported: unpack it (rpm2cpio FILE | cpio -id) and add its vmlinuz or vmlinux", path)
	}
	return nil
}

// store writes a kernel's types to a temporary file and renames it, so that nobody reads a partial
// file. The release is kept next to it if the name does not say it.
func (p *Path) store(id, release string, raw []byte) (path string, err error) {
	if err := os.MkdirAll(p.Own, 0o755); err != nil {
		return "", err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(p.Own, "new-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(z.EncodeAll(raw, nil))
	path = filepath.Join(p.Own, id+".btf.zst")
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", fmt.Errorf("keeping %s: %w", id, err)
	}
	_ = os.Remove(releaseFile(path))
	if named, _, _ := loader.ParseRelease(id); release != "" && release != named {
		if err := os.WriteFile(releaseFile(path), []byte(release+"\n"), 0o644); err != nil {
			return "", fmt.Errorf("keeping the release of %s: %w", id, err)
		}
	}
	return path, nil
}
