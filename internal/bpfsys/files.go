package bpfsys

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
)

// traceFiles holds the state of the tracefs files.
type traceFiles struct {
	byID   map[uint64]string
	byName map[string]uint64
	pipe   []byte
	kall   []byte
	probes map[string]traceProbe // "GROUP/NAME"
	events map[string][]string   // the kernel's own events by system, sorted; nil until they are listed
}

// Found is the kind of entry at a path of the simulated kernel's file systems.
type Found uint8

// The kinds of entries at a path, as [System.ReadFile] returns them.
const (
	NotOurs Found = iota // the path is not simulated
	Absent               // simulated, but nothing exists there
	IsFile               // a file
	IsDir                // a directory
)

// tracingDirs are the mount points of tracefs.
var tracingDirs = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// ReadFile returns the contents of the file at a clean absolute path: kernel BTF, tracefs,
// kallsyms, PMUs, CPU lists, versions and settings. Contents are nil unless the kind is [IsFile].
func (s *System) ReadFile(path string) ([]byte, Found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rest, ok := inTracefs(path); ok {
		return s.tracefs(rest)
	}
	if rest, ok := strings.CutPrefix(path, kprobesDir); ok {
		return s.kprobeFile(rest)
	}
	if name, ok := strings.CutPrefix(path, "/sys/kernel/btf/"); ok {
		for o := range s.byID[KindBTF].All() {
			if b := o.(*BTF); b.kernel && b.name == name {
				return b.raw, IsFile
			}
		}
		return nil, Absent
	}
	if rest, ok := below(path, cpuDir); ok {
		return s.cpuFile(rest)
	}
	if rest, ok := strings.CutPrefix(path, pmuDir); ok {
		return s.pmu(rest)
	}
	if s.ofHost(path) {
		return nil, Absent
	}
	if f := s.plainFile(path); f != nil {
		return f, IsFile
	}
	switch path {
	case "/sys/kernel/btf", "/sys/kernel/debug":
		return nil, IsDir
	case "/proc/version_signature":
		return nil, Absent
	}
	return nil, NotOurs
}

// Covers reports whether nothing at a clean absolute path or below it is the host's: the tree is
// simulated as a whole. It makes no contents.
func (s *System) Covers(path string) bool {
	_, tracing := inTracefs(path)
	rest, device := strings.CutPrefix(path, pmuDir)
	_, cpus := below(path, cpuDir)
	return tracing || cpus || strings.HasPrefix(path, kprobesDir) || device && IsPMU(rest) || path == "/sys/kernel/btf" || strings.HasPrefix(path, "/sys/kernel/btf/") || s.ofHost(path)
}

// plainDir returns the sorted names in a simulated directory of sysfs or debugfs. ok is false for
// mount points and for directories that are not simulated.
func (s *System) plainDir(path string) (names []string, ok bool) {
	switch path {
	case "/sys/kernel/btf":
		for o := range s.byID[KindBTF].All() {
			if b := o.(*BTF); b.kernel {
				names = append(names, b.name)
			}
		}
		slices.Sort(names)
	case "/sys/kernel/debug":
		names = []string{"kprobes", "tracing"}
	case kprobesDir:
		names = []string{"blacklist", "enabled", "list"}
	default:
		rest, ok := below(path, cpuDir)
		if _, found := s.cpuFile(rest); !ok || found != IsDir {
			return nil, false
		}
		names = s.cpuNames(rest)
	}
	return names, true
}

// inTracefs returns the path below tracefs's mount point.
func inTracefs(path string) (rest string, ok bool) {
	for _, dir := range tracingDirs {
		if rest, ok := below(path, dir); ok {
			return rest, true
		}
	}
	return "", false
}

// below returns the path below a directory.
func below(path, dir string) (rest string, ok bool) {
	if path == dir {
		return "", true
	}
	rest, ok = strings.CutPrefix(path, dir)
	if !ok || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}

// ofHost reports whether a path is a file about the host's kernel that no simulated kernel has: its
// configuration and headers, and modules of the simulated release.
func (s *System) ofHost(path string) bool {
	if strings.HasPrefix(path, "/boot/config-") || path == "/sys/kernel/kheaders.tar.xz" {
		return true
	}
	rest, ok := s.inModules(path)
	return ok && !isHeaders(rest)
}

// inModules returns the path below the directory of the modules of the simulated release.
func (s *System) inModules(path string) (rest string, ok bool) {
	if s.unameRelease() == "" {
		return "", false
	}
	return below(strings.TrimPrefix(path, "/usr"), "/lib/modules/"+s.unameRelease())
}

// isHeaders reports whether a path below the directory of a release's modules leads to the headers
// that modules, and tools such as bcc, are built with.
func isHeaders(rest string) bool {
	dir, _, _ := strings.Cut(rest, "/")
	return dir == "build" || dir == "source"
}

// Headers reports whether a path is that of the headers of the simulated kernel. They are the
// host's, if it has those of that release.
func (s *System) Headers(path string) bool {
	rest, ok := s.inModules(path)
	return ok && isHeaders(rest)
}

// unameRelease is the release that uname(2) gives, "" if it is not known.
func (s *System) unameRelease() string {
	if s.cfg.Release != "" {
		return s.cfg.Release
	}
	return s.target.Release
}

// plainFile returns files with short fixed contents.
func (s *System) plainFile(path string) []byte {
	switch path {
	case "/proc/kallsyms":
		return s.kallsyms()
	case "/proc/modules":
		return s.modules()
	case "/proc/config.gz":
		return s.kconfig()
	case "/proc/version":
		if s.unameRelease() == "" {
			return nil
		}
		return []byte("Linux version " + s.unameRelease() + " (bpfrun) #1 SMP\n")
	case "/proc/sys/kernel/osrelease":
		if s.unameRelease() == "" {
			return nil
		}
		return []byte(s.unameRelease() + "\n")
	case "/proc/sys/kernel/bpf_stats_enabled":
		if s.statsOn > 0 {
			return []byte("1\n")
		}
		return []byte("0\n")
	case "/proc/sys/kernel/unprivileged_bpf_disabled":
		return []byte("2\n")
	case "/proc/sys/net/core/bpf_jit_enable", "/proc/sys/net/core/bpf_jit_kallsyms":
		return []byte("1\n")
	case "/proc/sys/net/core/bpf_jit_harden", "/proc/sys/kernel/kptr_restrict":
		return []byte("0\n")
	case "/proc/sys/net/core/bpf_jit_limit":
		return []byte("528482304\n")
	case "/proc/sys/kernel/perf_event_paranoid":
		return []byte("-1\n")
	case "/proc/sys/kernel/perf_event_max_stack":
		return []byte("127\n")
	case "/proc/sys/kernel/perf_event_max_sample_rate":
		return []byte("100000\n")
	}
	return nil
}

// pmuDir has the PMUs, and pmuTypes the types of those that are simulated.
const pmuDir = "/sys/bus/event_source/devices/"

var pmuTypes = map[string]int{"kprobe": perfKprobe, "uprobe": perfUprobe, "software": perfSoftware, "tracepoint": perfTracepoint}

// IsPMU reports whether a path below the directory of PMUs belongs to one that is simulated.
func IsPMU(path string) bool {
	name, _, _ := strings.Cut(path, "/")
	return pmuTypes[name] != 0
}

// pmu returns the files of the probes' PMUs.
func (s *System) pmu(path string) ([]byte, Found) {
	name, file, _ := strings.Cut(path, "/")
	typ := pmuTypes[name]
	if typ == 0 {
		return nil, NotOurs
	}
	switch {
	case file == "":
		return nil, IsDir
	case file == "type":
		return fmt.Appendf(nil, "%d\n", typ), IsFile
	case file == "format" && typ > perfTracepoint:
		return nil, IsDir
	case file == "format/retprobe" && typ > perfTracepoint:
		return []byte("config:0\n"), IsFile
	case file == "format/ref_ctr_offset" && name == "uprobe":
		return []byte("config:32-63\n"), IsFile
	}
	return nil, Absent
}

// kconfig returns /proc/config.gz.
func (s *System) kconfig() []byte {
	values := s.target.Config()
	names := make([]string, 0, len(values))
	for n := range values {
		names = append(names, n)
	}
	slices.Sort(names)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, n := range names {
		fmt.Fprintf(z, "%s=%s\n", n, values[n])
	}
	_ = z.Close()
	return b.Bytes()
}

// IsDir reports whether a simulated path is that of a directory, without making the contents of
// files.
func (s *System) IsDir(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest, ok := inTracefs(path)
	if !ok {
		_, dir := s.plainDir(path)
		return dir
	}
	f := strings.Split(rest, "/")
	switch {
	case f[0] == "events" && len(f) == 2:
		return !slices.Contains(eventsFiles, f[1])
	case f[0] == "events" && len(f) == 3:
		return !slices.Contains(systemFiles, f[2])
	case len(f) == 1:
		return slices.Contains([]string{"", "events", "instances", "options", "per_cpu"}, f[0])
	}
	return f[0] == "per_cpu" && len(f) == 2
}
