package kernels

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/nearest"
)

// The types of a kernel's modules are kept beside those of the kernel, in a directory that searches
// for kernels leave out: modules/ID.zip, an entry for each module by its name.

// modulesDir is the name of directories with types of modules.
const modulesDir = "modules"

// modulesFile returns the archive with the types of the modules of the kernel whose types are in a
// file.
func modulesFile(path string) string {
	return filepath.Join(filepath.Dir(path), modulesDir, baseName(path)+".zip")
}

// modulesName matches the file name of a package with nothing but modules: Debian's since 7.x,
// Ubuntu's.
var modulesName = lazyre.New(`^linux-modules-(?:extra-)?([^_]+)_([^_]+)_([^_]+)\.d?deb$`)

// Errors of [Source.Module].
var (
	ErrNoModules = errors.New("no types of its modules are known")
	ErrNoModule  = errors.New("no module of that name")
)

// mostModules is how much the types of a kernel's modules may be, in bytes: those of Debian's 4,000
// are a fifth of it.
var mostModules = 512 << 20

// modulesOf keeps the modules of a package for the kernel of a file.
func (a *adding) modulesOf(deb, kernelFile string, keep bool) error {
	path := modulesFile(kernelFile)
	list := map[string][]byte{}
	size := 0
	take := func(name string, b []byte) error {
		if size += len(b) - len(list[name]); size > mostModules {
			return fmt.Errorf("%w: the types of the modules are more than %d MiB", btf.ErrTooLarge, mostModules>>20)
		}
		list[name] = b
		return nil
	}
	if keep { // a kernel's modules may be in several packages
		if err := eachKept(path, func(name string, raw func() ([]byte, error)) error {
			b, err := raw()
			return cmp.Or(err, take(name, b))
		}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := btffile.EachModule(deb, func(m btffile.Module) error {
		if _, ok := btf.IsBTF(m.Raw); !ok || !filepath.IsLocal(m.Name) {
			return nil
		}
		return take(m.Name, m.Raw)
	}); err != nil {
		return err
	}
	if len(list) == 0 {
		return nil
	}
	a.modules += len(list)
	return writeModules(path, list)
}

// modulePackage adds the modules of a package that has no kernel to a kernel that is there.
func (a *adding) modulePackage(deb string) error {
	m := modulesName.FindStringSubmatch(filepath.Base(deb))
	release, arch := m[1], archOf(m[3])
	for _, k := range a.ownPlace().list() {
		if k.Release == release && (k.Arch == arch || k.Arch == "") {
			if err := a.modulesOf(deb, k.Path, true); err != nil {
				return err
			}
			a.added = append(a.added, k)
			return nil
		}
	}
	return fmt.Errorf("%s: the types of its kernel are not there yet: add linux-image-%s (linux-binary-%s since 7.x) first", deb, release, release)
}

// writeModules writes an archive of modules, so that nobody reads a partial file.
func writeModules(path string, list map[string][]byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	z := zip.NewWriter(f)
	names := make([]string, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w, e := z.Create(name)
		if e == nil {
			_, e = w.Write(list[name])
		}
		if err = e; err != nil {
			break
		}
	}
	if err = errors.Join(err, z.Close(), f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("keeping the modules of %s: %w", baseName(path), err)
	}
	return nil
}

// eachKept calls do for each module in an archive. Names are not trusted.
func eachKept(path string, do func(name string, raw func() ([]byte, error)) error) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		err := do(f.Name, func() ([]byte, error) {
			r, err := f.Open()
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, f.Name, err)
			}
			defer r.Close()
			b, err := io.ReadAll(io.LimitReader(r, btf.MaxRaw))
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, f.Name, err)
			}
			return b, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// errFound ends a search.
var errFound = errors.New("found")

// Module parses the types of a module of a kernel by the module's name, and returns the file that
// they are in. Types are found where the kernel's are: kept by [Path.Add], in the same package,
// among the modules of an installed kernel, or of the running one. spec has the kernel's types. The
// errors wrap [ErrNoModules] and [ErrNoModule], with the nearest names.
func (s Source) Module(name string, spec *btf.Spec) (mod *btf.Spec, file string, err error) {
	name = strings.ReplaceAll(name, "-", "_")
	var names []string
	var raw []byte
	keep := func(n string, load func() ([]byte, error)) error {
		if names = append(names, n); n != name {
			return nil
		}
		if raw, err = load(); err != nil {
			return err
		}
		return errFound
	}
	switch {
	case s.Path == Embedded:
		return nil, "", fmt.Errorf("%s: %w: bpfrun kernels add keeps them with those of a kernel, of a Debian package", s.Name, ErrNoModules)
	case s.Path == Host:
		mod, err = btffile.Load(filepath.Join(filepath.Dir(HostBTF), name), spec)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w: it is not loaded", name, ErrNoModule)
		}
		return mod, filepath.Join(filepath.Dir(HostBTF), name), err
	case debName.MatchString(filepath.Base(s.Path)):
		file = s.Path
		err = btffile.EachModule(s.Path, func(m btffile.Module) error {
			return keep(m.Name, func() ([]byte, error) { return m.Raw, nil })
		})
	default:
		file = modulesFile(s.Path)
		if err = eachKept(file, keep); errors.Is(err, fs.ErrNotExist) {
			dir := installedModules(s.Path)
			if dir == "" {
				return nil, "", fmt.Errorf("%s: %w: bpfrun kernels add keeps them with those of a kernel, of a Debian package", s.Name, ErrNoModules)
			}
			err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				n := btffile.ModuleName(path)
				if err != nil || n == "" || !d.Type().IsRegular() {
					return err
				}
				if names = append(names, n); n != name {
					return nil
				}
				if file = path; err == nil {
					mod, err = btffile.Load(path, spec)
				}
				return cmp.Or(err, errFound)
			})
		}
	}
	switch {
	case errors.Is(err, errFound) && mod != nil:
		return mod, file, nil
	case errors.Is(err, errFound):
		mod, err = btf.LoadBytes(name, raw, spec)
		return mod, file, err
	case err != nil:
		return nil, "", err
	case len(names) == 0:
		return nil, "", fmt.Errorf("%s: %w", s.Name, ErrNoModules)
	}
	hint := ""
	if near := nearest.Names(name, names, 4); len(near) > 0 {
		hint = " (nearest: " + strings.Join(near, ", ") + ")"
	}
	return nil, "", fmt.Errorf("%s: %w among the %d of %s%s", name, ErrNoModule, len(names), s.Name, hint)
}

// ModulesWith returns the modules of a kernel that have functions, by function: of those that
// [Path.Add] kept, the first of each. It reads them once.
func (s Source) ModulesWith(functions []string) map[string]string {
	words, found := map[string][]byte{}, map[string]string{}
	for _, fn := range functions {
		words[fn] = []byte("\x00" + fn + "\x00")
	}
	_ = eachKept(modulesFile(s.File()), func(name string, load func() ([]byte, error)) error { // what cannot be read has no function
		raw, err := load()
		for fn, word := range words {
			if err == nil && bytes.Contains(raw, word) {
				found[fn] = name
				delete(words, fn)
			}
		}
		if len(words) == 0 {
			return errFound
		}
		return err
	})
	return found
}

// ModulesFile returns the archive with the types of the source's modules, "" if there is none.
func (s Source) ModulesFile() string {
	if s.File() == "" {
		return ""
	}
	path := modulesFile(s.File())
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// installedModules returns the directory of the modules of an installed kernel, "" for other files.
func installedModules(path string) string {
	dir := filepath.Dir(path)
	switch release, installed := strings.CutPrefix(filepath.Base(path), "vmlinuz-"); {
	case installed && dir == "/boot":
		dir = filepath.Join("/lib/modules", release)
	case filepath.Base(path) == "vmlinuz" && filepath.Base(filepath.Dir(dir)) == modulesDir: // lib/modules/RELEASE/vmlinuz
	default:
		return ""
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}
