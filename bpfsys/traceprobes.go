package bpfsys

import (
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/machine"
)

// traceProbe is a probe defined through tracefs.
type traceProbe struct {
	hook   machine.Hook
	user   bool
	ret    bool
	offset uint64
}

// maxTraceProbes limits the number of probes in each file.
const maxTraceProbes = 4096

// TraceProbes parses everything written so far to kprobe_events or, with user, to uprobe_events. "p:GROUP/NAME WHERE" and "r:..."
// define a probe; "-:GROUP/NAME" removes it (Documentation/trace/kprobetrace.rst). Probes on functions that the kernel lacks are skipped.
func (s *System) TraceProbes(text string, user bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, p := range s.trace.probes {
		if p.user == user {
			delete(s.trace.probes, name)
		}
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		what, name, ok := strings.Cut(f[0], ":")
		if !ok || !strings.Contains(name, "/") || what == "" {
			continue
		}
		if what == "-" {
			delete(s.trace.probes, name)
			continue
		}
		if len(f) < 2 || len(s.trace.probes) >= maxTraceProbes {
			continue
		}
		p := traceProbe{user: user, ret: what[0] == 'r'}
		kind, target := "kprobe", f[1]
		if user {
			path, rest, _ := cutLast(target, ':')
			off, _, _ := strings.Cut(rest, "(")
			n, err := strconv.ParseUint(off, 0, 64)
			if err != nil {
				continue
			}
			kind, p.offset, target = "uprobe", n, path+":+0x"+hex(n)
		} else {
			sym, off, _ := strings.Cut(target, "+")
			if n, err := strconv.ParseUint(off, 0, 64); err == nil {
				p.offset = n
			}
			if target = sym; !s.hasFunction(sym) {
				continue
			}
		}
		p.hook = machine.Hook{AttachTo: target, Section: probeSection(kind, p.ret) + "/" + target}
		if s.trace.probes == nil {
			s.trace.probes = map[string]traceProbe{}
		}
		s.trace.probes[name] = p
	}
}
