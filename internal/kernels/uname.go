package kernels

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/btf/pack"
	"github.com/bpfrun/bpfrun/loader"
)

// Uname returns what uname(2) of a simulated kernel reports: release (uname -r), "" if unknown, and
// version (uname -v). path is the file that the types came from, or empty: file names often lack a
// part of the release, such as Debian's +deb13.
func Uname(t *loader.Target, path string) (release, version string) {
	version = "#1 SMP PREEMPT_DYNAMIC bpfrun"
	switch real := releaseOf(path); {
	case t.Name == embedded.Name:
		release = embedded.Release
	case real != "":
		release = real
	case t.Release != "" && strings.Count(t.Release, ".") > 1:
		release = t.Release
	case t.Version != 0:
		release = fmt.Sprintf("%d.%d.%d", t.Version>>16, t.Version>>8&0xff, t.Version&0xff)
	}
	return release, version
}

// releaseFile has the release of the kernel whose types are in a file, next to it: what uname -r
// prints there, which the file's name does not say.
func releaseFile(path string) string {
	return filepath.Join(filepath.Dir(path), baseName(path)+".release")
}

// maxRelease is the most bytes of a release that uname(2) reports (__NEW_UTS_LEN).
const maxRelease = 64

// releaseOf returns the release that a package's name or the file next to a file of types states,
// or "".
func releaseOf(path string) string {
	if m := debName.FindStringSubmatch(filepath.Base(path)); m != nil {
		return m[1]
	}
	if archive, name, ok := btffile.SplitPack(path); ok {
		return releaseIn(archive, name)
	}
	f, err := os.Open(releaseFile(path))
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRelease+2))
	if line := strings.TrimSpace(string(b)); err == nil && isRelease(line) {
		return line
	}
	return ""
}

// releaseIn returns the release of a kernel in an archive, or "".
func releaseIn(archive, name string) string {
	a, err := pack.OpenFile(archive)
	if err != nil {
		return ""
	}
	for _, k := range a.Kernels() {
		if k.Name == name && isRelease(k.Release) {
			return k.Release
		}
	}
	return ""
}

// isRelease reports whether uname -r may print a text.
func isRelease(text string) bool {
	release, _, ok := loader.ParseRelease(text)
	return ok && release == text && len(text) <= maxRelease
}

// Release returns what uname -r prints where a source's types come from, as far as its file's name,
// a file next to it, or the archive that it is in tell; "" otherwise.
func (s Source) Release() string {
	if s.Path == Embedded {
		return embedded.Release
	}
	return releaseOf(s.Path)
}
