package kernels

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/loader"
)

// Kernel is a kernel of the search path.
type Kernel struct {
	Source
	// ID is the kernel's name on the search path: "6.12.107-amd64",
	// "5.4.0-1009-aws-amd64-ubuntu-20.04".
	ID string
	// Release is what uname -r prints, as far as file names tell.
	Release string
	// Arch is Debian's name of the architecture (amd64, arm64, armhf), "" when no name states it.
	Arch string
	// Place is the part of the search path where it was found.
	Place Place

	numbers []int    // of the version
	words   []string // all other words of the names, in lower case
}

// arches are the names of architectures. The first of each row, Debian's, is used here.
var arches = [][]string{
	{"amd64", "x86_64", "x86-64", "x64"}, {"arm64", "aarch64"}, {"armhf", "armv7l", "arm"}, {"i386", "i686", "x86"}, {"s390x"},
	{"ppc64el", "ppc64le"}, {"riscv64"}, {"loong64", "loongarch64"}, {"mips64el"},
}

// defaultArch is preferred by names without an architecture. It does not depend on the host, so
// that tests behave the same everywhere.
const defaultArch = "amd64"

func archOf(word string) string {
	for _, names := range arches {
		if slices.Contains(names, word) {
			return names[0]
		}
	}
	return ""
}

// debName matches the file name of a kernel package: the release in the package's name, version and
// architecture.
var debName = lazyre.New(`^linux-(?:image|binary)-(?:unsigned-)?([^_]+?)(?:-unsigned|-dbg|-dbgsym)?_([^_]+)_([^_]+)\.d?deb$`)

// noise are words of file names that do not distinguish kernels.
var noise = []string{"linux", "vmlinux", "vmlinuz", "image", "min"}

// describe parses the names of a file; rel is its path relative to its place. ok is false when they
// contain no release.
func describe(path, rel string, place Place) (k Kernel, ok bool) {
	k = Kernel{Source: FileSource(path), Place: place}
	if m := debName.FindStringSubmatch(filepath.Base(path)); m != nil {
		return k.debian(m[1], m[2], m[3])
	}
	if strings.HasSuffix(path, ".deb") || strings.HasSuffix(path, ".ddeb") {
		return k, false // linux-libc-dev, linux-headers and others contain no kernel
	}
	name := k.Name
	if place.named { // the directory is the release: .../6.12.107-amd64/vmlinux
		name = filepath.Base(filepath.Dir(path))
	}
	release, _, ok := loader.ParseRelease(name)
	if !ok {
		return k, false
	}
	k.Name = name
	if k.Release = releaseOf(path); k.Release == "" {
		k.Release = strings.TrimSuffix(release, ".min")
	}
	k.numbers = numbersOf(release)
	tokens := words(name)
	dirs := strings.Split(filepath.ToSlash(filepath.Dir(rel)), "/")
	if place.named || rel == "" {
		dirs = nil
	}
	var above []string
	for _, d := range dirs {
		if d != "." && d != ".." && d != "" {
			above = append(above, d)
			tokens = append(tokens, append(words(d), strings.ToLower(d))...)
		}
	}
	k.take(tokens)
	if k.Arch == "" {
		k.Arch = place.arch
	}
	k.ID = k.identity(name, above)
	return k, true
}

// Distinct returns a name for the source that says which directories its file is in, where it is in
// BTFHub's layout, else the name and that of its directory.
func (s Source) Distinct(name string) string {
	if rel := inHub(s.Path); rel != "" {
		if k, ok := describe(s.Path, rel, Place{}); ok {
			return k.ID
		}
	}
	return name + "-" + filepath.Base(filepath.Dir(s.Path))
}

// identity returns the name without redundant words, then the architecture if that is missing, then
// the directories above.
func (k *Kernel) identity(name string, above []string) string {
	for _, p := range []string{"linux-", "vmlinux-", "vmlinuz-"} {
		name = strings.TrimPrefix(name, p)
	}
	parts := []string{name}
	if k.Arch != "" && !slices.ContainsFunc(words(name), func(w string) bool { return archOf(w) == k.Arch }) {
		parts = append(parts, k.Arch)
	}
	for _, d := range above {
		if archOf(d) == "" {
			parts = append(parts, d)
		}
	}
	return strings.Join(parts, "-")
}

// debian describes a package: for "6.1.0-56-cloud-amd64", "6.1.192-2" and "amd64" the first is the
// release, and the version is 6.1.192.
func (k *Kernel) debian(release, version, arch string) (Kernel, bool) {
	_, after, hasEpoch := strings.Cut(version, "%3a")
	if hasEpoch {
		version = after
	}
	upstream, _, _ := strings.Cut(version, "-")
	upstream, _, _ = strings.Cut(upstream, "+")
	numbers, _, ok := loader.ParseRelease(upstream)
	if !ok {
		return *k, false
	}
	k.Release, k.numbers, k.Arch = release, numbersOf(numbers), archOf(arch)
	distribution := ""
	if slices.ContainsFunc(words(release), func(w string) bool { return archOf(w) != "" }) { // Ubuntu's names contain no architecture
		distribution = "debian"
	}
	k.take(append(words(release), distribution))
	id := []string{upstream, arch}
	for _, w := range k.words {
		if (w[0] < '0' || w[0] > '9') && w != distribution && !strings.HasPrefix(w, "deb") {
			id = append(id, w)
		}
	}
	k.Name = "linux-" + strings.Join(id, "-")
	if distribution != "" {
		id = append(id, distribution)
	}
	k.ID = strings.Join(id, "-")
	return *k, true
}

// take splits words into the architecture and the others.
func (k *Kernel) take(tokens []string) {
	for _, w := range tokens {
		switch {
		case archOf(w) != "":
			k.Arch = archOf(w)
		case w == "" || slices.Contains(noise, w) || slices.Contains(k.words, w):
		case versionWord.MatchString(w) && slices.Equal(numbersOf(w), k.numbers):
		default:
			k.words = append(k.words, w)
		}
	}
}

var (
	versionWord = lazyre.New(`^[0-9]+(\.[0-9]+)+$`)
	wordBreak   = lazyre.New(`[-_/+~ ]`)
)

// words splits a name, in lower case.
func words(name string) []string {
	name = strings.ToLower(name)
	for _, a := range arches {
		for _, alias := range a[1:] {
			if strings.ContainsAny(alias, "_-") {
				name = strings.ReplaceAll(name, alias, a[0])
			}
		}
	}
	var out []string
	for _, w := range wordBreak.Split(name, -1) {
		if v := strings.TrimPrefix(w, "v"); versionWord.MatchString(v) {
			out = append(out, v)
			continue
		}
		for part := range strings.SplitSeq(w, ".") { // el8.x86_64
			if part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// numbersOf returns the numbers at the start of a release.
func numbersOf(release string) []int {
	var out []int
	for part := range strings.SplitSeq(strings.FieldsFunc(release, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })[0], ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		out = append(out, n)
	}
	return out
}

// query is a parsed name.
type query struct {
	dotted []string // dotted numbers: the version, and perhaps a distribution's (20.04)
	arch   string
	words  []string // words that must all match
}

// parseQuery parses a name; ok is false when it contains no release.
func parseQuery(name string) (q query, ok bool) {
	for _, w := range words(name) {
		switch {
		case versionWord.MatchString(w):
			q.dotted = append(q.dotted, w)
		case slices.Contains(noise, w):
		case archOf(w) != "":
			q.arch = archOf(w)
		default:
			q.words = append(q.words, w)
		}
	}
	return q, len(q.dotted) > 0
}

// matches reports whether a kernel has everything in the query, and how many further words it has.
func (q *query) matches(k *Kernel) (more int, ok bool) {
	if q.arch != "" && q.arch != k.Arch {
		return 0, false
	}
	for _, w := range q.words {
		if !slices.Contains(k.words, w) {
			return 0, false
		}
	}
	for i, version := range q.dotted {
		if !k.has(numbersOf(version)) {
			continue
		}
		others := slices.Delete(slices.Clone(q.dotted), i, i+1)
		if !slices.ContainsFunc(others, func(w string) bool { return !slices.Contains(k.words, w) }) {
			return len(k.words) - len(q.words) - len(others), true
		}
	}
	return 0, false
}

// isCalled reports whether a name is one of the kernel's whole names.
func (k *Kernel) isCalled(name string) bool {
	return k.ID == name || k.Name == name || k.Release == name
}

// named reports whether a name refers to the kernel; q is the parsed name.
func (k *Kernel) named(name string, q query) bool {
	_, ok := q.matches(k)
	return ok || k.isCalled(name)
}

// embeddedKernel describes the kernel embedded in bpfrun. It is in no place of a search path.
func embeddedKernel() Kernel {
	k, _ := describe(embedded.Name, "", Place{Title: Embedded})
	k.Source, k.Release = EmbeddedSource(), embedded.Release
	k.words = append(k.words, "debian", "deb13")
	return k
}

// has reports whether the kernel's version equals or starts with the given numbers.
func (k *Kernel) has(version []int) bool {
	return len(version) <= len(k.numbers) && slices.Equal(version, k.numbers[:len(version)])
}
