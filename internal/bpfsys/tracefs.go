package bpfsys

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// The files of tracefs (kernel/trace/trace.c, trace_events.c, trace_kprobe.c, trace_uprobe.c).
// Directories are lists of names, so that they can be read.

const (
	syscallEvents    = "syscalls"
	rawSyscallEvents = "raw_syscalls"
)

// traceText are files with fixed contents in tracefs's root: a tracer that does nothing, with
// buffers that are as in a kernel that was booted without options.
var traceText = map[string]string{
	"available_tracers": "nop\n", "buffer_percent": "50\n", "buffer_size_kb": "1408\n", "current_tracer": "nop\n", "dynamic_events": "", "enabled_functions": "", "error_log": "",
	"kprobe_profile": "", "max_graph_depth": "0\n", "printk_formats": "", "saved_cmdlines": "", "saved_cmdlines_size": "128\n", "saved_tgids": "", "set_event": "",
	"set_event_notrace_pid": "no pid\n", "set_event_pid": "no pid\n", "set_ftrace_filter": "#### all functions enabled ####\n",
	"set_ftrace_notrace": "#### no functions disabled ####\n", "set_ftrace_notrace_pid": "no pid\n", "set_ftrace_pid": "no pid\n", "set_graph_function": "#### all functions enabled ####\n",
	"set_graph_notrace": "#### no functions disabled ####\n", "synthetic_events": "", "timestamp_mode": "[delta] absolute\n",
	"trace_clock": "[local] global counter uptime perf mono mono_raw boot tai\n", "trace_marker": "", "trace_marker_raw": "", "tracing_max_latency": "0\n",
	"tracing_on": "1\n", "tracing_thresh": "0\n", "uprobe_profile": "",
}

// traceOptions are the options of tracers in the order of trace_options, and whether they are set
// in a kernel that was booted without options (TRACE_FLAGS and TRACE_DEFAULT_FLAGS of
// kernel/trace/trace.c).
var traceOptions = []struct {
	name string
	set  bool
}{
	{"print-parent", true}, {"sym-offset", false}, {"sym-addr", false}, {"verbose", false}, {"raw", false}, {"hex", false}, {"bin", false}, {"block", false},
	{"trace_printk", true}, {"annotate", true}, {"userstacktrace", false}, {"sym-userobj", false}, {"printk-msg-only", false}, {"context-info", true},
	{"latency-format", false}, {"record-cmd", true}, {"record-tgid", false}, {"overwrite", true}, {"disable_on_free", false}, {"irq-info", true}, {"markers", true},
	{"event-fork", false}, {"pause-on-trace", false}, {"hash-ptr", true}, {"function-trace", true}, {"function-fork", false}, {"display-graph", false},
	{"stacktrace", false},
}

// optionList returns trace_options.
func optionList() []byte {
	var b bytes.Buffer
	for _, o := range traceOptions {
		if !o.set {
			b.WriteString("no")
		}
		fmt.Fprintln(&b, o.name)
	}
	return b.Bytes()
}

// optionFile returns the value of an option.
func optionFile(name string) ([]byte, Found) {
	for _, o := range traceOptions {
		switch {
		case o.name == name && o.set:
			return []byte("1\n"), IsFile
		case o.name == name:
			return []byte("0\n"), IsFile
		}
	}
	return nil, Absent
}

// Files in the directories of events, systems and CPUs.
var (
	eventFiles  = []string{"enable", "filter", "format", "hist", "id", "trigger"}
	systemFiles = []string{"enable", "filter"}
	eventsFiles = []string{"enable", "header_event", "header_page"}
	cpuFiles    = []string{"buffer_size_kb", "snapshot", "stats", "trace", "trace_pipe", "trace_pipe_raw"}
)

// tracefs returns the file at a path below tracefs's mount point.
func (s *System) tracefs(path string) ([]byte, Found) {
	if text, ok := traceText[path]; ok {
		return []byte(text), IsFile
	}
	f := strings.Split(path, "/")
	switch f[0] {
	case "", "options", "instances":
		if len(f) == 1 {
			return nil, IsDir
		}
		if f[0] == "options" && len(f) == 2 {
			return optionFile(f[1])
		}
	case "per_cpu":
		return s.perCPUFile(f[1:])
	case "events":
		return s.eventFile(f[1:])
	}
	switch path {
	case "available_events":
		return s.availableEvents(), IsFile
	case "available_filter_functions":
		var b bytes.Buffer
		for _, n := range s.functions() {
			fmt.Fprintln(&b, n)
		}
		return b.Bytes(), IsFile
	case "available_filter_functions_addrs":
		if s.listsAddresses() {
			return s.functionAddresses(), IsFile
		}
	case "buffer_total_size_kb":
		return fmt.Appendf(nil, "%d\n", 1408*s.cpus()), IsFile
	case "trace_options":
		return optionList(), IsFile
	case "trace_pipe", "trace":
		out := s.trace.pipe
		if path == "trace_pipe" {
			s.trace.pipe = nil
		}
		return out, IsFile
	case "kprobe_events", "uprobe_events":
		return s.probeList(path == "uprobe_events"), IsFile
	case "tracing_cpumask":
		return fmt.Appendf(nil, "%x\n", 1<<min(s.cpus(), 62)-1), IsFile
	}
	return nil, Absent
}

func (s *System) perCPUFile(f []string) ([]byte, Found) {
	if len(f) == 0 {
		return nil, IsDir
	}
	n, err := strconv.Atoi(strings.TrimPrefix(f[0], "cpu"))
	switch {
	case err != nil || n < 0 || n >= s.cpus() || f[0] != "cpu"+strconv.Itoa(n):
	case len(f) == 1:
		return nil, IsDir
	case len(f) == 2 && f[1] == "buffer_size_kb":
		return []byte(traceText[f[1]]), IsFile
	case len(f) == 2 && f[1] == "stats":
		return fmt.Appendf(nil, "entries: 0\noverrun: 0\ncommit overrun: 0\nbytes: 0\noldest event ts: %5d.%06d\nnow ts: %5d.%06d\ndropped events: 0\nread events: 0\n",
			0, 0, s.machine.Kernel().Clock().Mono()/1e9, s.machine.Kernel().Clock().Mono()%1e9/1e3), IsFile
	case len(f) == 2 && slices.Contains(cpuFiles, f[1]):
		return nil, IsFile
	}
	return nil, Absent
}

// tracefsDir returns the sorted names in a directory of tracefs.
func (s *System) tracefsDir(path string) (out []string) {
	f := strings.Split(path, "/")
	switch {
	case path == "":
		out = append(slices.Collect(maps.Keys(traceText)), "available_events", "available_filter_functions", "buffer_total_size_kb", "events", "instances", "kprobe_events", "options",
			"per_cpu", "trace", "trace_options", "trace_pipe", "tracing_cpumask", "uprobe_events")
		if s.listsAddresses() {
			out = append(out, "available_filter_functions_addrs")
		}
	case path == "options":
		for _, o := range traceOptions {
			out = append(out, o.name)
		}
	case path == "per_cpu":
		for i := range s.cpus() {
			out = append(out, "cpu"+strconv.Itoa(i))
		}
	case f[0] == "per_cpu":
		out = cpuFiles
	case path == "events":
		out = slices.Collect(maps.Keys(s.events()))
		for name := range s.trace.probes {
			group, _, _ := strings.Cut(name, "/")
			out = append(out, group)
		}
		out = append(out, eventsFiles...)
	case f[0] == "events" && len(f) == 2:
		out = slices.Concat(s.events()[f[1]], systemFiles)
		for name := range s.trace.probes {
			if event, ok := strings.CutPrefix(name, f[1]+"/"); ok {
				out = append(out, event)
			}
		}
	case f[0] == "events" && len(f) == 3:
		out = eventFiles
	}
	out = slices.Clone(out)
	slices.Sort(out)
	return slices.Compact(out)
}

// eventFile returns a file below the directory of events.
func (s *System) eventFile(f []string) ([]byte, Found) {
	switch len(f) {
	case 0:
		return nil, IsDir
	case 1:
		switch f[0] {
		case "enable":
			return []byte("0\n"), IsFile
		case "header_page":
			return []byte(headerPage), IsFile
		case "header_event":
			return []byte(headerEvent), IsFile
		}
		if s.events()[f[0]] != nil || s.hasProbeGroup(f[0]) {
			return nil, IsDir
		}
		return nil, Absent
	}
	if len(f) == 2 && slices.Contains(systemFiles, f[1]) && (s.events()[f[0]] != nil || s.hasProbeGroup(f[0])) {
		return []byte("0\n"), IsFile
	}
	if len(f) > 3 || !s.hasTracepoint(f[0], f[1]) {
		return nil, Absent
	}
	name := f[0] + "/" + f[1]
	if len(f) == 2 {
		return nil, IsDir
	}
	switch f[2] {
	case "id":
		return fmt.Appendf(nil, "%d\n", s.trace.id(s, name)), IsFile
	case "format":
		return s.format(name, f[1]), IsFile
	case "enable":
		return []byte("0\n"), IsFile
	case "filter":
		return []byte("none\n"), IsFile
	case "hist", "trigger":
		return nil, IsFile
	}
	return nil, Absent
}

// headerPage and headerEvent describe the pages and the headers of records in the buffers of a
// 64-bit kernel.
const (
	headerPage = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" +
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
	headerEvent = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n" +
		"\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"
)

// hiddenFunctions begin names of functions that the compiler makes of tracepoints' macros and that
// ftrace does not trace.
var hiddenFunctions = []string{"__bpf_trace_", "perf_trace_", "trace_event_raw_event_", "trace_raw_output_"}

// functions lists the functions that can be traced: those of modules behind the kernel's, as the
// pages of ftrace have them.
func (s *System) functions() []string {
	var out []string
	if s.target.BTF == nil {
		return nil
	}
	add := func(name, module string) {
		if !slices.ContainsFunc(hiddenFunctions, func(p string) bool { return strings.HasPrefix(name, p) }) && !kernel.NotProbed(name) {
			out = append(out, name+inModule(" ", module))
		}
	}
	for _, id := range s.machine.Kernel().Functions() {
		add(s.target.BTF.Name(id), "")
	}
	s.eachModuleFunction(add)
	for name := range s.target.Kallsyms { // BTF has none of the copies that the compiler made
		if isClone(name) {
			add(name, "")
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(strings.Compare(moduleOf(a), moduleOf(b)), strings.Compare(a, b)) })
	return slices.Compact(out)
}

// moduleOf returns the module of a function in a list, in brackets, or nothing.
func moduleOf(function string) string {
	_, module, _ := strings.Cut(function, " ")
	return module
}

// isClone reports whether a symbol is a copy of a function that the compiler made for some callers.
// Cold parts are no functions.
func isClone(name string) bool {
	for _, mark := range []string{".isra.", ".constprop.", ".part."} {
		if strings.Contains(name, mark) {
			return !strings.HasSuffix(name, ".cold")
		}
	}
	return false
}

// listsAddresses reports whether the kernel has available_filter_functions_addrs (since Linux 6.5).
func (s *System) listsAddresses() bool {
	return s.target.BTF != nil && len(s.target.BTF.IDs(btf.KindFunc, "ftrace_avail_addrs_open")) > 0
}

// functionAddresses returns the functions that can be traced with their addresses, in that order
// (print_rec).
func (s *System) functionAddresses() []byte {
	at := map[string]uint64{}
	for _, x := range s.symbols() {
		if _, twice := at[x.name+inModule(" ", x.module)]; !twice {
			at[x.name+inModule(" ", x.module)] = x.addr
		}
	}
	names := slices.DeleteFunc(s.functions(), func(n string) bool { return at[n] == 0 })
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(strings.Compare(moduleOf(a), moduleOf(b)), cmp.Compare(at[a], at[b]))
	})
	var b bytes.Buffer
	for _, n := range names {
		fmt.Fprintf(&b, "%x %s\n", at[n], n)
	}
	return b.Bytes()
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

// events returns the kernel's events by system.
func (s *System) events() map[string][]string {
	if s.trace.events != nil {
		return s.trace.events
	}
	out := map[string][]string{}
	k := s.machine.Kernel()
	for _, spec := range s.specs() {
		for id := spec.FirstID(); int(id) < spec.NumTypes(); id++ {
			if spec.Kind(id) != btf.KindTypedef {
				continue
			}
			if n, ok := strings.CutPrefix(spec.Name(id), "btf_trace_"); ok {
				for _, system := range k.EventSystemsOf(n) {
					out[system] = append(out[system], n)
				}
			}
		}
	}
	for _, call := range s.syscallEvents() {
		out[syscallEvents] = append(out[syscallEvents], "sys_enter_"+call, "sys_exit_"+call)
	}
	for system, list := range out {
		slices.Sort(list)
		out[system] = slices.Compact(list)
	}
	s.trace.events = out
	return out
}

// syscallEvents returns the names in the events of system calls: those of the functions that
// SYSCALL_DEFINE made, if the architecture has the call.
func (s *System) syscallEvents() []string {
	k := s.machine.Kernel()
	var out []string
	for _, id := range k.Functions() {
		fn := s.target.BTF.Name(id)
		for _, prefix := range []string{strings.TrimSuffix(s.syscallFunction("x"), "x"), "__do_sys_", "__se_sys_"} {
			call, ok := strings.CutPrefix(fn, prefix)
			if !ok {
				continue
			}
			if k.HasSyscallEvent(call) {
				out = append(out, call)
			}
			break
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *System) hasProbeGroup(group string) bool {
	for name := range s.trace.probes {
		if strings.HasPrefix(name, group+"/") {
			return true
		}
	}
	return false
}

// hasTracepoint reports whether there is an event of that name in a system, of the kernel or one
// that a user defined.
func (s *System) hasTracepoint(system, name string) bool {
	if _, ok := s.trace.probes[system+"/"+name]; ok {
		return true
	}
	_, found := slices.BinarySearch(s.events()[system], name)
	return found
}

// availableEvents lists the events as SYSTEM:NAME.
func (s *System) availableEvents() []byte {
	var b bytes.Buffer
	all := s.events()
	for _, system := range slices.Sorted(maps.Keys(all)) {
		for _, name := range all[system] {
			fmt.Fprintf(&b, "%s:%s\n", system, name)
		}
	}
	names := slices.Sorted(maps.Keys(s.trace.probes))
	for _, name := range names {
		fmt.Fprintln(&b, strings.Replace(name, "/", ":", 1))
	}
	return b.Bytes()
}

// format returns the contents of an event's format file.
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
	print := `""`
	call, enter := strings.CutPrefix(name, syscallEvents+"/sys_enter_")
	p, probe := s.trace.probes[name]
	switch {
	case probe && p.ret:
		field("unsigned long __probe_func", 8, 8, 0)
		field("unsigned long __probe_ret_ip", 16, 8, 0)
		print = `"(%lx <- %lx)", REC->__probe_func, REC->__probe_ret_ip`
	case probe:
		field("unsigned long __probe_ip", 8, 8, 0)
		print = `"(%lx)", REC->__probe_ip`
	case enter:
		field("int __syscall_nr", 8, 4, 1)
		print = s.callFields(call, field)
	case strings.HasPrefix(name, syscallEvents+"/sys_exit_"):
		field("int __syscall_nr", 8, 4, 1)
		field("long ret", 16, 8, 1)
		print = `"0x%lx", REC->ret`
	default:
		c, err := s.machine.Kernel().NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeTracepoint, AttachTo: name, Section: "tracepoint/" + name})
		if err == nil {
			s.formatFields(&b, c, field)
			c.Leave()
			c.Free()
		}
	}
	fmt.Fprintf(&b, "\nprint fmt: %s\n", print)
	return b.Bytes()
}

// callFields writes the fields of a system call's arguments, and returns how a record is printed
// (syscall_enter_define_fields, __set_enter_print_fmt). BTF describes the arguments where the
// compiler kept the function that has them.
func (s *System) callFields(call string, field func(decl string, off, size, signed int)) string {
	type argument struct{ typ, name string }
	var args []argument
	if spec := s.target.BTF; len(spec.IDs(btf.KindFunc, "__do_sys_"+call)) > 0 {
		if fn, err := spec.Type(spec.IDs(btf.KindFunc, "__do_sys_"+call)[0]); err == nil {
			if proto, err := spec.Type(fn.Ref); err == nil {
				for _, p := range proto.Params {
					args = append(args, argument{traceType(spec, p.Type), p.Name})
				}
			}
		}
	}
	if len(args) == 0 || slices.ContainsFunc(args, func(a argument) bool { return a.name == "" || strings.HasPrefix(a.name, "__unused") }) {
		args = nil
		for _, a := range s.machine.Kernel().SyscallArgs(call) {
			if a.Type == "" {
				a.Type = "unsigned long"
			}
			args = append(args, argument{a.Type, a.Name})
		}
	}
	var text, values strings.Builder
	for i, a := range args {
		field(a.typ+" "+a.name, 16+8*i, 8, 0)
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s: 0x%%08lx", a.name)
		fmt.Fprintf(&values, ", ((unsigned long)(REC->%s))", a.name)
	}
	return `"` + text.String() + `"` + values.String()
}

// sourceTypes are names of C's types as kernel sources write them, where BTF has the compiler's
// order of words.
var sourceTypes = strings.NewReplacer("long long unsigned int", "unsigned long long", "long unsigned int", "unsigned long", "short unsigned int", "unsigned short",
	"long long int", "long long", "long int", "long", "short int", "short")

// traceType returns a type as a format file writes it: a blank before the stars of a pointer.
func traceType(spec *btf.Spec, id btf.ID) string {
	return strings.TrimSpace(sourceTypes.Replace(strings.TrimSuffix(spec.Declare(id, "\x00"), "\x00")))
}

func (s *System) formatFields(b *bytes.Buffer, c *hook.Context, field func(decl string, off, size, signed int)) {
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
		elem, signed := spec.SkipMods(m.Type), 0
		decl := traceType(spec, m.Type) + " " + m.Name
		if elem != nil && elem.Kind == btf.KindArray {
			decl = sourceTypes.Replace(spec.Declare(m.Type, m.Name))
			elem = spec.SkipMods(elem.Ref)
		}
		if loc, ok := strings.CutPrefix(m.Name, "__data_loc_"); ok {
			decl = "__data_loc char[] " + loc
		} else if loc, ok := strings.CutPrefix(m.Name, "__rel_loc_"); ok {
			decl = "__rel_loc char[] " + loc
		} else if elem != nil && elem.Signed() {
			signed = 1
		}
		field(decl, int(bits/8), int(size), signed)
	}
}

// kprobesDir has the files of the kernel's probes in debugfs.
const kprobesDir = "/sys/kernel/debug/kprobes"

// kprobeFile returns a file of the kernel's probes: blacklist has the functions that refuse them.
func (s *System) kprobeFile(path string) ([]byte, Found) {
	k := s.machine.Kernel()
	switch path {
	case "":
		return nil, IsDir
	case "/enabled":
		return []byte("1\n"), IsFile
	case "/list":
		return nil, IsFile
	case "/blacklist":
		var b bytes.Buffer
		for _, id := range k.Functions() {
			name := s.target.BTF.Name(id)
			if addr, ok := k.FuncAddr(id); ok && kernel.NotProbed(name) {
				fmt.Fprintf(&b, "%#016x-%#016x\t%s\n", addr, addr+kernel.FunctionSize, name)
			}
		}
		return b.Bytes(), IsFile
	}
	return nil, Absent
}
