package bpfsys

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/uapi"
)

// traceFiles holds the state of the tracefs files.
type traceFiles struct {
	byID   map[uint64]string
	byName map[string]uint64
	pipe   []byte
	kall   []byte
	probes map[string]traceProbe // "GROUP/NAME"
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

// ReadFile returns the contents of the file at a clean absolute path: kernel BTF, tracefs, kallsyms, PMUs, CPU lists, versions and settings.
// Contents are nil unless the kind is [IsFile].
func (s *System) ReadFile(path string) ([]byte, Found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rest, ok := inTracefs(path); ok {
		return s.tracefs(rest)
	}
	if name, ok := strings.CutPrefix(path, "/sys/kernel/btf/"); ok {
		for o := range s.byID[KindBTF].All() {
			if b := o.(*BTF); b.kernel && b.name == name {
				return b.raw, IsFile
			}
		}
		return nil, Absent
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

// Covers reports whether nothing at a clean absolute path or below it is the host's: the tree is simulated as a whole. It makes no contents.
func (s *System) Covers(path string) bool {
	_, tracing := inTracefs(path)
	rest, device := strings.CutPrefix(path, pmuDir)
	return tracing || device && IsPMU(rest) || path == "/sys/kernel/btf" || strings.HasPrefix(path, "/sys/kernel/btf/") || s.ofHost(path)
}

// inTracefs returns the path below tracefs's mount point.
func inTracefs(path string) (rest string, ok bool) {
	for _, dir := range tracingDirs {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return strings.TrimPrefix(path[len(dir):], "/"), true
		}
	}
	return "", false
}

// ofHost reports whether a path is a file about the host's kernel that no simulated kernel has: its configuration, and modules of the simulated release.
func (s *System) ofHost(path string) bool {
	return strings.HasPrefix(path, "/boot/config-") ||
		s.unameRelease() != "" && strings.HasPrefix(path, "/lib/modules/") && strings.Contains(path, s.unameRelease())
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
	cpus := fmt.Sprintf("0-%d\n", s.cpus()-1)
	if s.cpus() == 1 {
		cpus = "0\n"
	}
	switch path {
	case "/sys/devices/system/cpu/possible", "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/present":
		return []byte(cpus)
	case "/proc/kallsyms":
		return s.kallsyms()
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

// kallsyms returns /proc/kallsyms: the kernel's symbols and the loaded programs.
func (s *System) kallsyms() []byte {
	k := s.machine.Kernel()
	if s.trace.kall == nil {
		type symbol struct {
			addr uint64
			name string
		}
		var list []symbol
		if s.target.Kallsyms != nil {
			for name, addr := range s.target.Kallsyms {
				list = append(list, symbol{addr, name})
			}
		} else if s.target.BTF != nil {
			for _, id := range k.Functions() {
				if addr, ok := k.FuncAddr(id); ok {
					list = append(list, symbol{addr, s.target.BTF.Name(id)})
				}
			}
		}
		// Symbols that appear in stacks but not in BTF.
		for _, name := range kernel.StackSymbols() {
			if addr := k.SymbolAddr(name); !slices.ContainsFunc(list, func(x symbol) bool { return x.addr == addr }) {
				list = append(list, symbol{addr, name})
			}
		}
		sort.Slice(list, func(i, j int) bool {
			return list[i].addr < list[j].addr || list[i].addr == list[j].addr && list[i].name < list[j].name
		})
		var b bytes.Buffer
		for _, l := range list {
			fmt.Fprintf(&b, "%016x T %s\n", l.addr, l.name)
		}
		s.trace.kall = b.Bytes()
	}
	out := slices.Clone(s.trace.kall)
	for o := range s.byID[KindProg].All() {
		p := o.(*Prog)
		out = fmt.Appendf(out, "%016x t bpf_prog_%x_%s\t[bpf]\n", k.SymbolAddr("bpf_prog_"+p.unique), p.tag, p.name)
	}
	return out
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

// tracefsFiles are the files in tracefs's root, sorted; events is a directory.
var tracefsFiles = []string{
	"available_events", "available_filter_functions", "events", "kprobe_events", "kprobe_profile", "trace", "trace_pipe", "tracing_on", "uprobe_events", "uprobe_profile",
}

// tracefs returns the file at a path below tracefs's mount point.
func (s *System) tracefs(path string) ([]byte, Found) {
	switch path {
	case "", "events":
		return nil, IsDir
	case "available_events":
		return s.availableEvents(), IsFile
	case "available_filter_functions":
		var b bytes.Buffer
		for _, n := range s.functions() {
			fmt.Fprintln(&b, n)
		}
		return b.Bytes(), IsFile
	case "trace_pipe", "trace":
		out := s.trace.pipe
		if path == "trace_pipe" {
			s.trace.pipe = nil
		}
		return out, IsFile
	case "kprobe_events", "uprobe_events", "kprobe_profile", "uprobe_profile":
		return nil, IsFile
	case "tracing_on":
		return []byte("1\n"), IsFile
	}
	f := strings.Split(path, "/")
	if f[0] != "events" {
		return nil, Absent
	}
	if len(f) == 2 {
		return nil, IsDir
	}
	if !s.hasTracepoint(f[1], f[2]) {
		return nil, Absent
	}
	name := f[1] + "/" + f[2]
	switch {
	case len(f) == 3:
		return nil, IsDir
	case len(f) > 4:
		return nil, Absent
	}
	switch f[3] {
	case "id":
		return fmt.Appendf(nil, "%d\n", s.trace.id(s, name)), IsFile
	case "format":
		return s.format(name, f[2]), IsFile
	case "enable":
		return []byte("0\n"), IsFile
	case "filter":
		return []byte("none\n"), IsFile
	}
	return nil, Absent
}

func (s *System) functions() []string {
	var out []string
	if s.target.BTF == nil {
		return nil
	}
	for _, id := range s.machine.Kernel().Functions() {
		if n := s.target.BTF.Name(id); !strings.HasPrefix(n, "__bpf_trace_") && !strings.HasPrefix(n, "__traceiter_") {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// id returns a tracepoint's id, the same that appears in its records.
func (t *traceFiles) id(s *System, name string) uint64 {
	if t.byID == nil {
		t.byID, t.byName = map[uint64]string{}, map[string]uint64{}
	}
	if id, ok := t.byName[name]; ok {
		return id
	}
	_, event, _ := cutLast(name, '/')
	id := 100 + s.machine.Kernel().Hash("event", event)%1500
	for t.byID[id] != "" {
		id += 1500
	}
	t.byID[id], t.byName[name] = name, id
	return id
}

// hasTracepoint reports whether the kernel has a tracepoint. BTF does not record categories, so any category is accepted except for system calls.
func (s *System) hasTracepoint(category, name string) bool {
	if _, ok := s.trace.probes[category+"/"+name]; ok {
		return true
	}
	switch category {
	case "syscalls":
		for _, prefix := range []string{"sys_enter_", "sys_exit_"} {
			if call, ok := strings.CutPrefix(name, prefix); ok {
				_, known := s.machine.Kernel().SyscallNumber(call)
				return known || s.target.HasFunc(s.syscallFunction(call))
			}
		}
		return false
	case "raw_syscalls":
		return name == "sys_enter" || name == "sys_exit"
	}
	for _, spec := range s.specs() {
		if _, ok := spec.FindID(btf.KindStruct, "trace_event_raw_"+name); ok {
			return true
		}
	}
	return s.hasRawTracepoint(name) && name != "sys_enter" && name != "sys_exit"
}

// availableEvents lists the tracepoints as CATEGORY:NAME, with the first word of the name as the category.
func (s *System) availableEvents() []byte {
	var names []string
	for _, spec := range s.specs() {
		for id := spec.FirstID(); int(id) < spec.NumTypes(); id++ {
			if spec.Kind(id) != btf.KindTypedef {
				continue
			}
			if n, ok := strings.CutPrefix(spec.Name(id), "btf_trace_"); ok {
				cat, _, _ := strings.Cut(n, "_")
				if n == "sys_enter" || n == "sys_exit" {
					cat = "raw_syscalls"
				}
				names = append(names, cat+":"+n)
			}
		}
	}
	for nr := range 1024 {
		if call, ok := s.machine.Kernel().SyscallName(nr); ok {
			names = append(names, "syscalls:sys_enter_"+call, "syscalls:sys_exit_"+call)
		}
	}
	slices.Sort(names)
	return []byte(strings.Join(slices.Compact(names), "\n") + "\n")
}

// format returns the contents of a tracepoint's format file.
func (s *System) format(name, event string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "name: %s\nID: %d\nformat:\n", event, s.trace.id(s, name))
	field := func(decl string, off, size, signed int) {
		fmt.Fprintf(&b, "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", decl, off, size, signed)
	}
	field("unsigned short common_type", 0, 2, 0)
	field("unsigned char common_flags", 2, 1, 0)
	field("unsigned char common_preempt_count", 3, 1, 0)
	field("int common_pid", 4, 4, 1)
	b.WriteByte('\n')
	c, err := s.machine.Kernel().NewContext(kernel.ContextSpec{ProgType: uapi.ProgTypeTracepoint, AttachTo: name, Section: "tracepoint/" + name})
	if err == nil {
		s.formatFields(&b, name, c, field)
		c.Leave()
		c.Free()
	}
	b.WriteString("\nprint fmt: \"\"\n")
	return b.Bytes()
}

func (s *System) formatFields(b *bytes.Buffer, name string, c *kernel.Context, field func(decl string, off, size, signed int)) {
	if strings.HasPrefix(name, "syscalls/") {
		field("int __syscall_nr", 8, 4, 1)
		if strings.HasPrefix(name, "syscalls/sys_exit_") {
			field("long ret", 16, 8, 1)
			return
		}
		for i, a := range c.Args {
			decl := "unsigned long " + a.Name
			if a.Spec != nil && a.Type != 0 {
				decl = a.Spec.Declare(a.Type, a.Name)
			}
			field(decl, 16+8*i, 8, 0)
		}
		return
	}
	if c.Record == nil {
		return
	}
	spec, t := c.Record.Layout().Spec, c.Record.Layout().Type
	for i := range t.Members {
		m := &t.Members[i]
		if m.Name == "ent" || m.Name == "__data" || m.Name == "" {
			continue
		}
		bits, width := spec.MemberBits(t, m)
		size, err := spec.Sizeof(m.Type)
		if err != nil || width%8 != 0 && width != 0 {
			continue
		}
		decl := spec.Declare(m.Type, m.Name)
		if loc, ok := strings.CutPrefix(m.Name, "__data_loc_"); ok {
			decl = "__data_loc char[] " + loc
		} else if loc, ok := strings.CutPrefix(m.Name, "__rel_loc_"); ok {
			decl = "__rel_loc char[] " + loc
		}
		signed := 0
		if u := spec.SkipMods(m.Type); u != nil && u.Signed() {
			signed = 1
		}
		field(decl, int(bits/8), int(size), signed)
	}
}
