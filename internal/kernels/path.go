package kernels

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/nearest"
)

// Variable names the environment variable that lists directories and files to search first,
// separated as in PATH.
const Variable = "BPFRUN_KERNELS"

// Place is a part of the search path: a directory, which is searched recursively, a file, or a
// glob.
type Place struct {
	// Title describes the place for users.
	Title string
	// Pattern is a glob of absolute paths; matching directories are searched recursively.
	Pattern string

	named bool   // a file's directory is named after its release
	arch  string // of files whose names contain none
	all   bool   // every file counts, whatever its name
}

// Path is a search path for kernels. The zero value finds nothing.
type Path struct {
	Places []Place
	// Own is the user's directory of kernels, to which [Path.Add] adds; "" if there is none.
	Own string

	mu     sync.Mutex
	listed []Kernel // nil before the first List, and after Add
}

// Default returns the search path of this user and system: the directories in BPFRUN_KERNELS, the
// user's own kernels, debug information installed by the distribution, the kernels in /boot, and
// Debian packages downloaded by apt.
func Default() *Path {
	p := &Path{}
	for _, dir := range filepath.SplitList(os.Getenv(Variable)) {
		if dir != "" {
			p.Places = append(p.Places, Place{Title: Variable, Pattern: literal(dir)})
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		p.Own = filepath.Join(cache, "bpfrun", "kernels")
		p.Places = append(p.Places, p.ownPlace())
	}
	if runtime.GOOS != "linux" {
		return p
	}
	const debug, boot = "debug information", "installed"
	host := archOf(runtime.GOARCH)
	p.Places = append(p.Places,
		Place{Title: debug, Pattern: "/usr/lib/debug/boot/vmlinux-*", arch: host, all: true},
		Place{Title: debug, Pattern: "/usr/lib/debug/lib/modules/*/vmlinux", named: true, arch: host, all: true},
		Place{Title: debug, Pattern: "/usr/lib/debug/usr/lib/modules/*/vmlinux", named: true, arch: host, all: true},
		Place{Title: boot, Pattern: "/boot/vmlinu[xz]-*", arch: host, all: true},
		Place{Title: boot, Pattern: "/usr/lib/modules/*/vmlinuz", named: true, arch: host, all: true},
		Place{Title: "downloaded", Pattern: "/var/cache/apt/archives/linux-*.deb"},
	)
	return p
}

// literal returns a glob that matches only the path itself.
func literal(path string) string {
	if runtime.GOOS == "windows" {
		return path // globs have no escapes on this system: brackets in a name stay a pattern
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// List returns the kernels of the search path in its order, newer releases first within each place.
// Places that cannot be read are skipped.
func (p *Path) List() []Kernel {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listed == nil {
		p.listed = p.list()
	}
	return slices.Clone(p.listed)
}

func (p *Path) list() []Kernel {
	out := []Kernel{}
	seen := map[string]bool{}
	for _, place := range p.Places {
		list := place.list()
		slices.SortStableFunc(list, func(x, y Kernel) int {
			return cmp.Or(slices.Compare(y.numbers, x.numbers), strings.Compare(x.ID, y.ID), strings.Compare(x.Path, y.Path))
		})
		for _, k := range list {
			if !seen[k.Path] {
				seen[k.Path] = true
				out = append(out, k)
			}
		}
	}
	return out
}

// list returns the kernels of a place.
func (place Place) list() []Kernel {
	var out []Kernel
	add := func(path, rel string, all bool) {
		name := filepath.Base(path)
		if !all && !isTypes(name) && !debName.MatchString(name) && !strings.HasPrefix(name, "vmlinuz-") {
			return
		}
		if !btffile.IsPack(path) {
			if k, ok := describe(path, rel, place); ok {
				out = append(out, k)
			}
			return
		}
		inside, _ := packedKernels(path, rel, place) // those that cannot be read are skipped
		out = append(out, inside...)
	}
	matches, _ := filepath.Glob(place.Pattern) // the only error is a bad pattern, which matches nothing
	for _, root := range matches {
		info, err := os.Stat(root)
		switch {
		case err != nil:
		case info.Mode().IsRegular():
			add(root, "", true)
		case info.IsDir():
			_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return fs.SkipDir
				case d.IsDir() && path != root && (d.Name() == modulesDir || strings.HasPrefix(d.Name(), ".")):
					return fs.SkipDir
				case d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0:
					rel, err := filepath.Rel(root, path)
					if err != nil {
						rel = ""
					}
					add(path, rel, place.all)
				}
				return nil
			})
		}
	}
	return out
}

// packedKernels returns the kernels of an archive whose names have a release; rel is the archive's
// path relative to its place.
func packedKernels(path, rel string, place Place) ([]Kernel, error) {
	list, err := packed(path, "")
	if err != nil {
		return nil, err
	}
	var out []Kernel
	for _, s := range list {
		inner := ""
		if dir := filepath.Dir(rel); rel != "" {
			inner = filepath.Join(dir, s.Name)
		}
		if k, ok := describe(s.Path, inner, place); ok {
			k.archive = s.archive
			out = append(out, k)
		}
	}
	return out, nil
}

// Find returns the kernel that a name refers to. The name is a release or the beginning of one,
// with any other words of the kernel's names in any order: 6.12, 6.12-arm64, debian-6.12.107,
// 6.1-cloud. Among several matches, amd64 wins unless the name states an architecture; then earlier
// places, fewest words that the name does not contain, and the newest release. The error is an
// [*Error].
func (p *Path) Find(name string) (Kernel, error) {
	all, err := p.Matches(name)
	if err != nil {
		return Kernel{}, err
	}
	return all[0], nil
}

// Matches returns all kernels that a name may refer to, best first. There is at least one, or an
// error as for [Path.Find]. The kernel embedded in bpfrun matches where no other does.
func (p *Path) Matches(name string) ([]Kernel, error) {
	e := &Error{Name: name, Err: ErrUnknown}
	if btffile.IsPack(name) {
		if all, err := packedKernels(name, "", Place{Title: "archive"}); err != nil || len(all) > 0 {
			return all, err
		}
		e.hint = "no name in the archive has a release"
		return nil, e
	}
	if strings.ContainsAny(name, "*?[") {
		e.hint = "no such file"
		return nil, e
	}
	q, ok := parseQuery(name)
	if !ok || filepath.IsAbs(name) || isTypes(filepath.Base(name)) {
		e.hint = "no such file (a kernel's types are in " + HostBTF + "; --btf embedded needs no file)"
		return nil, e
	}
	type found struct {
		Kernel
		place, more int
	}
	var hits []found
	var ids []string
	all := p.List()
	order := map[Place]int{}
	for i, place := range p.Places {
		order[place] = i
	}
	for i := range all {
		k := &all[i]
		ids = append(ids, k.ID)
		if k.isCalled(name) {
			hits = append(hits, found{*k, order[k.Place], -1})
			continue
		}
		if more, ok := q.matches(k); ok {
			hits = append(hits, found{*k, order[k.Place], more})
		}
	}
	if k := embeddedKernel(); len(hits) == 0 && k.named(name, q) {
		return []Kernel{k}, nil
	}
	if len(hits) == 0 {
		e.Near = near(name, q, all, ids)
		e.hint = "no such file, and no kernel of that name "
		switch {
		case len(ids) == 0:
			e.hint += "(none is known: bpfrun kernels add FILE, or " + Variable + "=DIRECTORY; --btf embedded needs no file)"
		case len(e.Near) == 0:
			e.hint += "(bpfrun kernels list names those known)"
		default:
			e.hint += "(nearest: " + strings.Join(e.Near, ", ") + "; bpfrun kernels list names all)"
		}
		return nil, e
	}
	other := func(k *found) int {
		if k.Arch != defaultArch && k.Arch != "" && q.arch == "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(hits, func(x, y found) int {
		return cmp.Or(other(&x)-other(&y), x.place-y.place, x.more-y.more, slices.Compare(y.numbers, x.numbers))
	})
	out := make([]Kernel, len(hits))
	for i := range hits {
		out[i] = hits[i].Kernel
	}
	return out, nil
}

// near suggests kernels: of the same release with other words, otherwise with similar names,
// otherwise of the nearest releases.
func near(name string, q query, all []Kernel, ids []string) []string {
	const most = 3
	version := numbersOf(q.dotted[len(q.dotted)-1])
	var out []string
	for i := range all {
		if all[i].has(version) && !slices.Contains(out, all[i].ID) {
			out = append(out, all[i].ID)
		}
	}
	if len(out) == 0 {
		out = nearest.Names(name, ids, 4)
	}
	if len(out) == 0 {
		byDistance := slices.Clone(all)
		slices.SortStableFunc(byDistance, func(x, y Kernel) int { return distance(x.numbers, version) - distance(y.numbers, version) })
		for i := range byDistance {
			if !slices.Contains(out, byDistance[i].ID) {
				out = append(out, byDistance[i].ID)
			}
		}
	}
	return out[:min(len(out), most)]
}

// distance returns a sort key of how far apart two releases are.
func distance(a, b []int) int {
	at := func(v []int, i int) int {
		if i < len(v) {
			return v[i]
		}
		return 0
	}
	d := 0
	for i, scale := range []int{10000, 100} {
		n := at(a, i) - at(b, i)
		d += max(n, -n) * scale
	}
	return d
}

// errNoHome is returned when the system has no directory for the user's files.
var errNoHome = errors.New("this user has no cache directory to store kernels in: set " + Variable + " to a directory instead")
