package kernels

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
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
// Debian package, or an archive with any number of kernels; of a directory, all such files below
// it. as is the name to store them under, for files whose own name has no release. It replaces
// kernels of the same name.
//
// Where a file is in BTFHub's layout (DISTRIBUTION/VERSION/ARCHITECTURE/RELEASE.btf.tar.xz) its
// kernel gets all of that as its name, whether in a directory, in an archive or by itself.
//
// The modules of a Debian package are kept, too, for [Source.Module]; those of a package with
// nothing but modules, for the kernel of their release that is already there.
func (p *Path) Add(path, as string) (added []Kernel, modules int, err error) {
	if p.Own == "" {
		return nil, 0, errNoHome
	}
	if as != "" {
		if _, _, ok := loader.ParseRelease(as); !ok || strings.ContainsAny(as, `/\`) {
			return nil, 0, fmt.Errorf("%q: want a name with a release, such as 6.12.107-amd64", as)
		}
	}
	defer func() {
		p.mu.Lock()
		p.listed = nil
		p.mu.Unlock()
	}()
	add := adding{Path: p, as: as}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		_, err = add.directory(path)
		return add.added, add.modules, err
	}
	if modulesName.MatchString(filepath.Base(path)) {
		err = add.modulePackage(path)
	} else {
		err = add.file(path, inHub(path))
	}
	return add.added, add.modules, err
}

// adding is a call of Add.
type adding struct {
	*Path
	as      string
	added   []Kernel
	modules int // how many have types
}

// directory adds all files of types and packages with kernels below a directory.
func (a *adding) directory(dir string) ([]Kernel, error) {
	if a.as != "" {
		return nil, fmt.Errorf("%s is a directory: one name is not enough for what is in it", dir)
	}
	var errs []error
	var later []string // modules, after their kernels
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && (d.Name() == modulesDir || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.Type().IsRegular() && modulesName.MatchString(d.Name()):
			later = append(later, path)
			return nil
		case !d.Type().IsRegular() || !isTypes(d.Name()) && !debName.MatchString(d.Name()) && !strings.HasPrefix(d.Name(), "vmlinuz-"):
			return nil
		}
		files++
		rel := inHub(path)
		if rel == "" {
			if rel, err = filepath.Rel(dir, path); err != nil {
				return err
			}
		}
		if err := a.file(path, rel); err != nil {
			errs = append(errs, err)
		}
		return nil
	})
	for _, path := range later {
		if err := a.modulePackage(path); err != nil {
			errs = append(errs, err)
		}
	}
	if err == nil && files+len(later) == 0 {
		err = fmt.Errorf("%s: there are no files of types and no packages with kernels below it", dir)
	}
	return a.added, errors.Join(append(errs, err)...)
}

// hubDistributions are the directories of BTFHub's archive.
var hubDistributions = []string{"amzn", "centos", "debian", "fedora", "ol", "opensuse-leap", "rhel", "sles", "ubuntu"}

// inHub returns the last parts of a path that is in BTFHub's layout, else "".
func inHub(path string) string {
	const depth = 4
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	parts := strings.Split(filepath.ToSlash(path), "/")
	if len(parts) < depth {
		return ""
	}
	parts = parts[len(parts)-depth:]
	if !slices.Contains(hubDistributions, parts[0]) || archOf(parts[2]) == "" {
		return ""
	}
	return filepath.Join(parts...)
}

// file adds the kernels of a file; rel says with its directories what else to call them, "" nothing.
func (a *adding) file(path, rel string) error {
	if err := refused(path); err != nil {
		return err
	}
	var ids []string // of this file
	file := ""
	err := btffile.Each(path, func(name string, spec *btf.Spec) error {
		if _, ok := spec.Find(btf.KindStruct, "task_struct"); !ok {
			return fmt.Errorf("%s: %w: it has no struct task_struct", name, ErrNotKernel)
		}
		at := rel
		if hub := inHub(name); name != path && hub != "" {
			at = hub
		} else if name != path && rel != "" {
			at = filepath.Join(filepath.Dir(rel), filepath.Base(name))
		} else if name != path {
			at = name
		}
		k, ok := describe(name, at, Place{})
		id := k.ID
		if a.as != "" {
			id = a.as
		} else if !ok {
			return fmt.Errorf("%s: %w: name it with --as, such as --as 6.12.107-amd64", name, ErrNoRelease)
		}
		if visible.Text(id) != id {
			return fmt.Errorf("%s: its name has control characters: name it with --as, such as --as 6.12.107-amd64", visible.Text(name))
		}
		if slices.Contains(ids, id) {
			return fmt.Errorf("%s: the archive has two kernels called %s", name, id)
		}
		ids = append(ids, id)
		release := ""
		if a.as == "" {
			release = k.Release
		}
		if btffile.IsPack(path) && name != path {
			release = releaseIn(path, name)
		}
		var err error
		if file, err = a.store(id, release, spec.Raw()); err != nil {
			return err
		}
		k, _ = describe(file, filepath.Base(file), a.ownPlace())
		a.added = slices.DeleteFunc(a.added, func(other Kernel) bool { return other.ID == k.ID })
		a.added = append(a.added, k)
		return nil
	})
	if err != nil || !debName.MatchString(filepath.Base(path)) {
		return err
	}
	return a.modulesOf(path, file, false)
}

// ownPlace is where the user's kernels are.
func (p *Path) ownPlace() Place { return Place{Title: "yours", Pattern: literal(p.Own)} }

// refused recognises files that are known to contain no kernel, by name.
func refused(path string) error {
	name := filepath.Base(path)
	for _, ext := range []string{".xz", ".gz", ".zst"} {
		name = strings.TrimSuffix(name, ext)
	}
	if _, err := os.Stat(path); err != nil {
		return err
	}
	switch {
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
	_ = os.Remove(modulesFile(path)) // of the kernel that was called so
	if named, _, _ := loader.ParseRelease(id); release != "" && release != named {
		if err := os.WriteFile(releaseFile(path), []byte(release+"\n"), 0o644); err != nil {
			return "", fmt.Errorf("keeping the release of %s: %w", id, err)
		}
	}
	return path, nil
}
