package progtype

import (
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Section is a section name known to libbpf (section_defs in libbpf.c) and the kind of program it
// denotes.
type Section struct {
	Name string // "kprobe", "fentry.s", "cgroup_skb/egress"
	// Type is the program type. It is unset in rows.
	Type   uapi.ProgType
	Attach uapi.AttachType
	Flags  SectionFlags
}

// SectionFlags is a set of properties of a section name.
type SectionFlags uint16

// Properties of section names.
const (
	HasTarget      SectionFlags = 1 << iota // "name/target" names what the program attaches to
	Sleeps                                  // loaded with BPF_F_SLEEPABLE
	Frags                                   // loaded with BPF_F_XDP_HAS_FRAGS
	OptionalAttach                          // libbpf omits the attach type on kernels that lack it
	AtReturn                                // runs when the function returns
	User                                    // attached to a user program
	SyscallName                             // the target is a system call, not a function
	Marker                                  // a marker of a user program (USDT)
	Pattern                                 // the target is a pattern of functions
	Session                                 // runs at function entry and, if it returns 0 there, at the return
)

// Has reports whether the section has all of these properties.
func (f SectionFlags) Has(what SectionFlags) bool { return f&what == what }

// Sections lists the section names of all program types, by type.
func Sections() []Section {
	var out []Section
	for _, r := range rows() {
		for _, s := range r.Sections {
			s.Type = r.Type
			out = append(out, s)
		}
	}
	return out
}

var byName = sync.OnceValue(func() map[string]*Section {
	m := map[string]*Section{}
	for _, s := range Sections() {
		m[s.Name] = &s
	}
	return m
})

// ParseSection finds the kind of program that a section name denotes, and the target in it. The
// longest match wins: "cgroup/sock_create" over "cgroup/sock". Names without a target may be
// followed by "/anything", because libbpf 0.x allowed that and many tools use it to distinguish
// programs ("xdp/syn"). It returns nil for names unknown to libbpf. A leading "?" is ignored.
func ParseSection(name string) (s *Section, target string) {
	name = strings.TrimPrefix(name, "?")
	// No name has more than one slash.
	first := strings.IndexByte(name, '/')
	if first < 0 {
		s = byName()[name]
	} else {
		second := first + 1 + strings.IndexByte(name[first+1:]+"/", '/')
		if s = byName()[name[:second]]; s != nil {
			target = strings.TrimPrefix(name[second:], "/")
		} else if s = byName()[name[:first]]; s != nil {
			target = name[first+1:]
		}
	}
	if s != nil {
		return s, target
	}
	for _, word := range oldPrefixes {
		if strings.HasPrefix(name, word) {
			return ParseSection(word)
		}
	}
	return nil, ""
}

// SectionByPrefix returns the longest section name without a target that is a prefix of a longer
// name, as cilium/ebpf matches them, or nil.
func SectionByPrefix(name string) *Section {
	name = strings.TrimPrefix(name, "?")
	for n := len(name) - 1; n > 0; n-- {
		if s := byName()[name[:n]]; s != nil && !s.Flags.Has(HasTarget) {
			return s
		}
	}
	return nil
}

// oldPrefixes lists the words that libbpf before 1.0 recognised at the start of any longer section
// name ("xdp_sock", "classifier_egress").
var oldPrefixes = []string{
	"xdp", "classifier", "action", "socket", "sockops", "sk_msg", "sk_skb", "perf_event", "flow_dissector",
	"lwt_in", "lwt_out", "lwt_xmit", "lwt_seg6local", "lirc_mode2", "sk_reuseport", "sk_lookup",
}
