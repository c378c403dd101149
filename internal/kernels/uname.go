package kernels

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/loader"
)

// Uname returns what uname(2) of a simulated kernel reports: release (uname -r), "" if unknown, and version (uname -v).
func Uname(t *loader.Target) (release, version string) {
	version = "#1 SMP PREEMPT_DYNAMIC bpfrun"
	switch {
	case t.Name == embedded.Name:
		release = embedded.Release
	case t.Release != "" && strings.Count(t.Release, ".") > 1:
		release = t.Release
	case t.Version != 0:
		release = fmt.Sprintf("%d.%d.%d", t.Version>>16, t.Version>>8&0xff, t.Version&0xff)
	}
	return release, version
}
