//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What a tool that failed did not find, and where it would be.

// sayAbsent notes the functions in modules, and the headers, that the tool looked for, if it failed.
func (s *supervisor) sayAbsent(failed bool) {
	in := map[string][]string{}
	if !failed {
		if s.compiles {
			s.sayHeaders()
		}
		return
	}
	if lacking := s.sys.Lacking(); len(lacking) > 0 && s.cfg.ModulesOf != nil {
		of := s.cfg.ModulesOf(lacking)
		for _, fn := range lacking {
			if m := of[fn]; m != "" {
				in[m] = append(in[m], fn)
			}
		}
	}
	for _, m := range slices.Sorted(maps.Keys(in)) {
		s.note(fmt.Sprintf("%s in module %s: --module-btf %s", areIn(in[m]), m, m))
	}
	if s.headers {
		s.sayHeaders()
	}
}

// sayHeaders names the package with the kernel's headers.
func (s *supervisor) sayHeaders() {
	r := s.cfg.Release
	s.note(fmt.Sprintf("the program looked for the headers of its kernel in /lib/modules/%s/build: install linux-headers-%s (Debian, Ubuntu) or kernel-devel-%s (Fedora), "+
		"or unpack it and name the directory by BCC_KERNEL_SOURCE or BPFTRACE_KERNEL_SOURCE", r, r, r))
}

// areIn names some functions: "function a is", "functions a, b are".
func areIn(names []string) string {
	const shown = 3
	list := strings.Join(names[:min(len(names), shown)], ", ")
	if n := len(names) - shown; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	if len(names) == 1 {
		return "function " + list + " is"
	}
	return "functions " + list + " are"
}
