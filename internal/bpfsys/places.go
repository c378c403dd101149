package bpfsys

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// PlaceKind says what happens at a place.
type PlaceKind uint8

// Kinds of places.
const (
	FunctionPlace PlaceKind = iota // a function is called and returns
	SyscallPlace
	TracepointPlace
	UserPlace // a function of a program or library is called and returns
	SamplePlace
	OtherPlace // packets, struct_ops, ...
)

// Place is where programs are attached, by the name that [Event] gives it. Programs at the entry
// and at the exit of a function or system call are at one place, and so are those of all forms of a
// tracepoint.
type Place struct {
	Hook string
	Kind PlaceKind
}

// Places lists where programs are attached, in the order of attachment. Iterators and timers are
// not among them: nothing fires them.
func (s *System) Places() []Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	var out []Place
	seen := map[Place]bool{}
	for h := range s.hooks.All() {
		if h.event != nil && !h.event.enabled {
			continue
		}
		for _, p := range s.placesOf(h) {
			if p.Hook != "" && !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	return out
}

func (s *System) placesOf(h *attachment) []Place {
	to, section := h.hook.AttachTo, h.hook.Section
	word, _, _ := strings.Cut(section, "/")
	word = strings.TrimSuffix(word, ".s")
	switch {
	case word == "iter":
		return nil
	case h.place.kind != noPlace:
		return []Place{{h.place.at.String(), OtherPlace}}
	case word == "perf_event":
		return []Place{{"perf_event", SamplePlace}}
	case strings.HasPrefix(word, "uprobe"), strings.HasPrefix(word, "uretprobe"), word == "usdt":
		file, _, _ := cutLast(to, ':')
		return []Place{{"uprobe/" + file, UserPlace}}
	case strings.HasPrefix(section, "tracepoint/"):
		_, name, _ := cutLast(to, '/')
		if system, _, _ := strings.Cut(to, "/"); system == syscallEvents {
			for _, side := range []string{"sys_enter_", "sys_exit_"} {
				if call, ok := strings.CutPrefix(name, side); ok {
					return []Place{{"syscall/" + call, SyscallPlace}}
				}
			}
		}
		return s.tracepointPlaces(name)
	case to == "":
		return []Place{{word, OtherPlace}}
	case h.prog.typ == uapi.ProgTypeStructOps:
		return []Place{{to, OtherPlace}}
	case h.prog.typ == uapi.ProgTypeRawTracepoint, h.prog.typ == uapi.ProgTypeRawTracepointWritable, word == "tp_btf", word == "raw_tp", word == "raw_tracepoint":
		return s.tracepointPlaces(to)
	case progtype.Of(h.prog.typ).Takes.Has(progtype.TakesPacket):
		return []Place{{to, OtherPlace}}
	}
	if call, ok := strings.CutPrefix(to, s.syscallFunction("")); ok && s.syscallFunction("") != "" {
		return []Place{{"syscall/" + call, SyscallPlace}}
	}
	return []Place{{to, FunctionPlace}}
}

// Takes reports whether a function or tracepoint has an argument of a name.
func (s *System) Takes(p Place, argument string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, name := btf.KindFunc, p.Hook
	if p.Kind == TracepointPlace {
		kind, name = btf.KindTypedef, "btf_trace_"+p.Hook
	}
	for _, spec := range s.specs() {
		id, ok := spec.FindID(kind, name)
		if !ok {
			continue
		}
		t, err := spec.Type(id)
		for range 8 { // a typedef of a pointer to the prototype
			if err != nil || t == nil || t.Kind == btf.KindFuncProto {
				break
			}
			t, err = spec.Type(t.Ref)
		}
		if err == nil && t != nil && t.Kind == btf.KindFuncProto {
			return slices.ContainsFunc(t.Params, func(a btf.Param) bool { return a.Name == argument }) || p.Kind == TracepointPlace && s.recordHas(p.Hook, argument)
		}
	}
	return false
}

// recordHas reports whether the record of a tracepoint has a field.
func (s *System) recordHas(event, field string) bool {
	for _, spec := range s.specs() {
		if t, ok := spec.Find(btf.KindStruct, "trace_event_raw_"+event); ok {
			return slices.ContainsFunc(t.Members, func(m btf.Member) bool { return m.Name == field })
		}
	}
	return false
}

// commonCalls are system calls at which programs on all system calls run.
var commonCalls = []string{"openat", "read", "write", "close"}

func (s *System) tracepointPlaces(name string) []Place {
	if name != "sys_enter" && name != "sys_exit" {
		return []Place{{name, TracepointPlace}}
	}
	var out []Place
	for _, call := range commonCalls {
		out = append(out, Place{"syscall/" + call, SyscallPlace})
	}
	return out
}
