package loader

import (
	"path/filepath"
	"strings"
)

// PickRelease selects the BTF files of a kernel release, in a directory like BTFHub's
// (distribution/version/arch/RELEASE.btf.tar.xz) or any other with releases in file names: those
// named exactly like the release, else those whose name contains it, else those of its version
// ("5.15" selects every 5.15.x). It returns nil if there is none.
func PickRelease(files []string, release string) []string {
	_, version, isVersion := ParseRelease(release)
	parts := strings.Count(strings.SplitN(release, "-", 2)[0], ".")
	var same, holds, versions []string
	for _, f := range files {
		name := filepath.Base(f)
		for endingRE.MatchString(name) {
			name = endingRE.ReplaceAllString(name, "")
		}
		have, v, ok := ParseRelease(name)
		switch {
		case name == release || ok && have == release:
			same = append(same, f)
		case strings.Contains(name, release) && !digitAround(name, release):
			holds = append(holds, f)
		case ok && isVersion && !strings.Contains(release, "-") && (v == version || parts < 2 && v>>8 == version>>8):
			versions = append(versions, f)
		}
	}
	for _, list := range [][]string{same, holds, versions} {
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// digitAround reports whether digits adjoin the match in the text, as for 5.1 in 5.15.
func digitAround(name, text string) bool {
	i := strings.Index(name, text)
	j := i + len(text)
	digit := func(k int) bool { return k >= 0 && k < len(name) && name[k] >= '0' && name[k] <= '9' }
	return digit(i-1) || digit(j)
}
