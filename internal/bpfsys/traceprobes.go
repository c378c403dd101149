package bpfsys

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// traceProbe is a probe defined through tracefs.
type traceProbe struct {
	hook   machine.Hook
	user   bool
	ret    bool
	offset uint64
	symbol string // the function, or the file
	where  string // as it was written
}

// maxTraceProbes limits the number of probes in each file.
const maxTraceProbes = 4096

// TraceProbes parses everything written so far to kprobe_events or, with user, to uprobe_events.
// "p:GROUP/NAME WHERE" and "r:..." define a probe; "-:GROUP/NAME" removes it
// (Documentation/trace/kprobetrace.rst). Without a group it is in kprobes or uprobes, and without a
// name it is called after its place. Probes on functions that the kernel lacks are skipped.
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
		what, name, _ := strings.Cut(f[0], ":")
		switch {
		case what == "":
		case what == "-" && name != "":
			s.dropProbe(name, user)
		case what == "-" || len(f) < 2 || len(s.trace.probes) >= maxTraceProbes || what[0] != 'p' && what[0] != 'r':
		default:
			if p, ok := s.traceProbe(what[0] == 'r', user, f[1]); ok && named(name) {
				if s.trace.probes == nil {
					s.trace.probes = map[string]traceProbe{}
				}
				s.trace.probes[p.event(name)] = p
			}
		}
	}
}

// dropProbe removes a probe: of any group if the name has none.
func (s *System) dropProbe(name string, user bool) {
	for full, p := range s.trace.probes {
		if _, event, _ := strings.Cut(full, "/"); p.user == user && (full == name || event == name) {
			delete(s.trace.probes, full)
		}
	}
}

// traceProbe parses where a probe is.
func (s *System) traceProbe(ret, user bool, where string) (p traceProbe, ok bool) {
	p = traceProbe{user: user, ret: ret, where: where}
	kind, target := "kprobe", where
	if user {
		path, rest, _ := cutLast(where, ':')
		off, after, _ := strings.Cut(rest, "(")
		if strings.HasSuffix(after, "%return") || strings.HasSuffix(off, "%return") {
			p.ret, off = true, strings.TrimSuffix(off, "%return")
		}
		n, err := strconv.ParseUint(off, 0, 64)
		if err != nil {
			return p, false
		}
		kind, p.offset, target = "uprobe", n, path+":+0x"+hex(n)
		p.symbol = path
	} else {
		if at, isReturn := strings.CutSuffix(where, "%return"); isReturn {
			p.ret, where = true, at
		}
		sym, off, _ := strings.Cut(where, "+")
		if n, err := strconv.ParseUint(off, 0, 64); err == nil {
			p.offset = n
		}
		p.symbol, target = sym, sym
		if sym == "_text" || sym == "_stext" { // perf names all places by their distance from the start of the kernel
			k := s.machine.Kernel()
			if list := k.Functions(); len(list) > 0 {
				start, _ := k.FuncAddr(list[0])
				target, p.offset, _ = k.SymbolAt(start + p.offset)
			}
		}
		if !s.hasFunction(target) {
			s.lacks(target)
			return p, false
		}
		if kernel.NotProbed(target) {
			return p, false
		}
	}
	p.hook = machine.Hook{AttachTo: target, Section: probeSection(kind, p.ret) + "/" + target}
	return p, true
}

// maxEventName is the longest name of an event or a group (MAX_EVENT_NAME_LEN).
const maxEventName = 63

// named reports whether a user may call a probe so: nothing, NAME, GROUP/ or GROUP/NAME
// (traceprobe_parse_event_name).
func named(name string) bool {
	group, event, grouped := strings.Cut(name, "/")
	if !grouped {
		return name == "" || goodName(name, "")
	}
	return goodName(group, "-") && (event == "" || goodName(event, ""))
}

// goodName reports whether a name has only letters, digits that are not the first character,
// underscores and others that are allowed after it.
func goodName(name, others string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && strings.IndexByte(others, c) < 0) {
			return false
		}
	}
	return name != "" && len(name) <= maxEventName
}

// event returns GROUP/NAME of a probe that a user called name (trace_kprobe_create,
// trace_uprobe_create).
func (p *traceProbe) event(name string) string {
	group, event, grouped := strings.Cut(name, "/")
	if !grouped {
		group, event = "kprobes", name
		if p.user {
			group = "uprobes"
		}
	}
	if event != "" {
		return group + "/" + event
	}
	letter := "p"
	if p.ret {
		letter = "r"
	}
	if p.user {
		file, _, _ := strings.Cut(path.Base(p.symbol), ".")
		if i := strings.IndexAny(file, "-_"); i >= 0 {
			file = file[:i]
		}
		return group + "/" + letter + "_" + file + "_0x" + hex(p.offset)
	}
	return group + "/" + letter + "_" + strings.Map(func(r rune) rune {
		if r == '.' || r == ':' {
			return '_'
		}
		return r
	}, p.symbol) + "_" + strconv.FormatUint(p.offset, 10)
}

// probeList returns what reading kprobe_events or uprobe_events gives: the probes by name.
func (s *System) probeList(user bool) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(s.trace.probes)) {
		p := s.trace.probes[name]
		if p.user != user {
			continue
		}
		letter := "p"
		if p.ret {
			letter = "r"
		}
		fmt.Fprintf(&b, "%s:%s %s\n", letter, name, p.where)
	}
	return b.Bytes()
}
