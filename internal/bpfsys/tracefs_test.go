package bpfsys_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

const tracing = "/sys/kernel/tracing/"

// recordedEvents returns the events of a real kernel with the fields of their formats, as
// "DECLARATION;OFFSET;SIZE;SIGNED": Debian's Linux 6.12.107 on amd64, whose tracefs was read in a
// virtual machine without modules.
func recordedEvents(t *testing.T) map[string][]string {
	f, err := os.Open("testdata/tracefs-6.12.107-amd64.txt.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	out, event := map[string][]string{}, ""
	for l := range strings.Lines(string(b)) {
		l = strings.TrimSuffix(l, "\n")
		if field, ok := strings.CutPrefix(l, "\t"); ok {
			out[event] = append(out[event], field)
		} else {
			event = l
			out[event] = nil
		}
	}
	return out
}

func embeddedSystem(t *testing.T) *bpfsys.System {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	s, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget(embedded.Name, spec)})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// fieldsOf returns the fields of a format file after the common ones.
func fieldsOf(format string) (out []string) {
	for l := range strings.Lines(format) {
		decl, ok := strings.CutPrefix(l, "\tfield:")
		if !ok || strings.Contains(decl, " common_") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(decl, ";\n"), ";\t")
		for i := 1; i < len(f); i++ {
			_, f[i], _ = strings.Cut(f[i], ":")
		}
		out = append(out, strings.Join(f, ";"))
	}
	return out
}

// TestEventsAreThoseOfTheKernel compares the events and their fields with those of the real kernel.
func TestEventsAreThoseOfTheKernel(t *testing.T) {
	s, want := embeddedSystem(t), recordedEvents(t)
	require.Greater(t, len(want), 1400)
	have := map[string]bool{}
	for _, system := range s.ReadDir(tracing + "events") {
		for _, event := range s.ReadDir(tracing + "events/" + system) {
			if s.IsDir(tracing + "events/" + system + "/" + event) {
				have[system+"/"+event] = true
			}
		}
	}
	list, found := s.ReadFile(tracing + "available_events")
	require.Equal(t, bpfsys.IsFile, found)
	assert.Equal(t, slices.Sorted(maps.Keys(have)), strings.Fields(strings.ReplaceAll(string(list), ":", "/")), "available_events is not what the directories list")
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(have)))
	dynamic, same := 0, 0
	for name, fields := range want {
		text, found := s.ReadFile(tracing + "events/" + name + "/format")
		require.Equal(t, bpfsys.IsFile, found, name)
		got := fieldsOf(string(text))
		require.Len(t, got, len(fields), name)
		for i, f := range fields {
			if loc := "__data_loc "; strings.HasPrefix(f, loc) { // BTF does not have the type of what is behind the record
				assert.True(t, strings.HasPrefix(got[i], loc+"char[] "), "%s: %s", name, got[i])
				assert.Equal(t, place(f), place(got[i]), name)
				dynamic++
				continue
			}
			assert.Equal(t, strings.ReplaceAll(f, "unsigned int ", "unsigned "), strings.ReplaceAll(got[i], "unsigned int ", "unsigned "), name) // the same type
			same++
		}
	}
	t.Logf("%d events, %d fields and %d dynamic ones", len(want), same, dynamic)
	assert.Greater(t, same, 5000)
}

// place returns the name of a field, its offset and its size.
func place(field string) string {
	decl, rest, _ := strings.Cut(field, ";")
	rest = rest[:strings.LastIndexByte(rest, ';')]
	name := decl[strings.LastIndexByte(decl, ' ')+1:]
	name, _, _ = strings.Cut(name, "[")
	return path.Join(name, rest)
}

func TestEventsThatAreNotThere(t *testing.T) {
	s := embeddedSystem(t)
	for _, p := range []string{
		"events/sched/kfree_skb", "events/nosuch/sched_switch", "events/nosuch", "events/sched/pelt_cfs_tp", "events/syscalls/sys_enter_stat", "events/syscalls/sys_enter_nosuch",
		"events/sched/sched_switch/nosuch", "events/sched/sched_switch/id/x", "events/raw_syscalls/sys_enter_openat", "per_cpu/cpu99", "per_cpu/cpu-1", "per_cpu/cpu00", "per_cpu/cpu0/nosuch", "nosuch",
	} {
		_, found := s.ReadFile(tracing + p)
		assert.Equal(t, bpfsys.Absent, found, p)
	}
	for _, p := range []string{"events/skb/kfree_skb", "events/net/netif_receive_skb", "events/kmem/kmalloc", "events/irq/softirq_entry", "events/raw_syscalls/sys_enter", "per_cpu/cpu1", "instances"} {
		_, found := s.ReadFile(tracing + p)
		assert.Equal(t, bpfsys.IsDir, found, p)
	}
}

// TestEventsOfOtherReleases: the events that each kernel's BTF has are in systems of the table, few
// are not in it.
func TestEventsOfOtherReleases(t *testing.T) {
	for _, name := range []string{"linux-5.10.262-amd64-cloud", "linux-6.1.176-arm64-cloud", "linux-7.2.13-amd64"} {
		spec, err := testbtf.Load("../../testdata/btf/" + name + ".btf.xz")
		require.NoError(t, err)
		s, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget(name, spec)})
		require.NoError(t, err)
		list, _ := s.ReadFile(tracing + "available_events")
		unknown := []string{}
		for l := range strings.Lines(string(list)) {
			system, event, _ := strings.Cut(strings.TrimSpace(l), ":")
			if system != "syscalls" && !slices.Contains(hook.EventSystems(event), system) {
				unknown = append(unknown, l)
			}
		}
		assert.Empty(t, unknown, name)
		for _, want := range []string{"skb:kfree_skb", "sched:sched_switch", "syscalls:sys_enter_openat", "syscalls:sys_exit_openat", "syscalls:sys_enter_mmap"} {
			assert.Contains(t, strings.Fields(string(list)), want, name)
		}
		s.Close()
	}
}

// TestReadingDirectoriesOfTracefs walks all of tracefs: each name in a directory is there, and is a
// directory if IsDir says so.
func TestReadingDirectoriesOfTracefs(t *testing.T) {
	s := embeddedSystem(t)
	s.TraceProbes("p:mine/open do_sys_openat2\nr vfs_read\n", false)
	n := 0
	var walk func(dir string)
	walk = func(dir string) {
		for _, name := range s.ReadDir(dir) {
			p := dir + "/" + name
			if strings.HasSuffix(name, "format") && n > 500 {
				continue // of an event; the other test reads them
			}
			_, found := s.ReadFile(p)
			assert.NotEqual(t, bpfsys.Absent, found, p)
			assert.Equal(t, found == bpfsys.IsDir, s.IsDir(p), p)
			if n++; found == bpfsys.IsDir {
				walk(p)
			}
		}
	}
	walk("/sys/kernel/tracing")
	assert.Greater(t, n, 8000)
	assert.Contains(t, s.ReadDir(tracing+"events/kprobes"), "r_vfs_read_0")
	assert.Contains(t, s.ReadDir("/sys/kernel/debug/tracing/events/mine"), "open")
}

func TestProbesThatTracefsDefines(t *testing.T) {
	symbols, _ := embeddedSystem(t).ReadFile("/proc/kallsyms")
	address := map[string]uint64{}
	for l := range strings.Lines(string(symbols)) {
		if f := strings.Fields(l); f[2] == "_text" || f[2] == "vfs_read" {
			address[f[2]], _ = strconv.ParseUint(f[0], 16, 64)
		}
	}
	distance := address["vfs_read"] - address["_text"]
	for _, c := range []struct {
		line, event, listed string
		user                bool
	}{
		{"p:g/e vfs_read", "g/e", "p:g/e vfs_read", false},
		{"p:e vfs_read", "kprobes/e", "p:kprobes/e vfs_read", false},
		{"p vfs_read+4", "kprobes/p_vfs_read_4", "p:kprobes/p_vfs_read_4 vfs_read+4", false},
		{"r vfs_read", "kprobes/r_vfs_read_0", "r:kprobes/r_vfs_read_0 vfs_read", false},
		{"p vfs_read%return", "kprobes/r_vfs_read_0", "r:kprobes/r_vfs_read_0 vfs_read%return", false},
		{"p /bin/bash:0x1234", "uprobes/p_bash_0x1234", "p:uprobes/p_bash_0x1234 /bin/bash:0x1234", true},
		{"r:e /lib/libc-2.so.6:0x10", "uprobes/e", "r:uprobes/e /lib/libc-2.so.6:0x10", true},
		{"p /lib/libc-2.so.6:0x10", "uprobes/p_libc_0x10", "p:uprobes/p_libc_0x10 /lib/libc-2.so.6:0x10", true},
		{"p:g/e _text+" + fmt.Sprint(distance), "g/e", "p:g/e _text+" + fmt.Sprint(distance), false},
		{"p:g/e _text+99999999", "", "", false},
		{"p no_such_function", "", "", false},
		{"p asm_exc_page_fault", "", "", false},
		{"q:g/e vfs_read", "", "", false},
		{"p:a-b/c_1 vfs_read", "a-b/c_1", "p:a-b/c_1 vfs_read", false},
		{"p:g/ vfs_read", "g/p_vfs_read_0", "p:g/p_vfs_read_0 vfs_read", false},
		{"p:../e vfs_read\np:g/.. vfs_read\np:/e vfs_read\np:a/b/c vfs_read\np:\x01 vfs_read\np:\xff/e vfs_read\np:1 vfs_read\np:g/a-b vfs_read", "", "", false},
		{"p:" + strings.Repeat("x", 64) + " vfs_read\np:" + strings.Repeat("x", 64) + "/e vfs_read", "", "", false},
		{"p:g/e vfs_read\n-:g/e", "", "", false},
		{"p:g/e vfs_read\n-:e", "", "", false},
	} {
		s := embeddedSystem(t)
		s.TraceProbes(c.line+"\n", c.user)
		file := map[bool]string{false: "kprobe_events", true: "uprobe_events"}[c.user]
		b, _ := s.ReadFile(tracing + file)
		assert.Equal(t, c.listed, strings.TrimSpace(string(b)), c.line)
		if c.event != "" {
			b, found := s.ReadFile(tracing + "events/" + c.event + "/format")
			assert.Equal(t, bpfsys.IsFile, found, c.event)
			assert.Contains(t, string(b), "field:unsigned long __probe_", c.event)
			list, _ := s.ReadFile(tracing + "available_events")
			assert.Contains(t, string(list), strings.Replace(c.event, "/", ":", 1)+"\n")
		}
	}
}

// TestFilesOfTheTracer: options and their list agree, each function that can be traced has the
// address of kallsyms, and buffers have sizes.
func TestFilesOfTheTracer(t *testing.T) {
	s := embeddedSystem(t)
	read := func(name string) string {
		b, found := s.ReadFile(tracing + name)
		require.Equal(t, bpfsys.IsFile, found, name)
		return string(b)
	}
	options := map[string]bool{}
	for o := range strings.FieldsSeq(read("trace_options")) {
		name, off := strings.CutPrefix(o, "no")
		options[name] = true
		assert.Equal(t, map[bool]string{false: "1\n", true: "0\n"}[off], read("options/"+name), name)
	}
	assert.Equal(t, slices.Sorted(maps.Keys(options)), s.ReadDir(tracing+"options"))
	_, found := s.ReadFile(tracing + "options/nosuch")
	assert.Equal(t, bpfsys.Absent, found)
	symbols, _ := s.ReadFile("/proc/kallsyms")
	at := map[string]string{}
	for l := range strings.Lines(string(symbols)) {
		f := strings.Fields(l)
		at[f[2]] = f[0]
	}
	var names []string
	last := uint64(0)
	for l := range strings.Lines(read("available_filter_functions_addrs")) {
		f := strings.Fields(l)
		require.Equal(t, at[f[1]], f[0], f[1])
		addr, err := strconv.ParseUint(f[0], 16, 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, addr, last)
		last, names = addr, append(names, f[1])
	}
	slices.Sort(names)
	assert.Equal(t, strings.Fields(read("available_filter_functions")), names)
	assert.Regexp(t, `^entries: 0\noverrun: 0\n(.+: .*\n){4}dropped events: 0\nread events: 0\n$`, read("per_cpu/cpu0/stats"))
	assert.Equal(t, "1408\n", read("buffer_size_kb"))
	assert.Equal(t, fmt.Sprintln(1408*len(s.ReadDir(tracing+"per_cpu"))), read("buffer_total_size_kb"))
	spec, err := testbtf.Load("../../testdata/btf/linux-5.10.262-amd64-cloud.btf.xz")
	require.NoError(t, err)
	old, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget("linux-5.10.262-amd64-cloud", spec)})
	require.NoError(t, err)
	defer old.Close()
	_, found = old.ReadFile(tracing + "available_filter_functions_addrs")
	assert.Equal(t, bpfsys.Absent, found, "before Linux 6.5")
}

// TestClonesOfFunctionsCanBeTraced: copies that the compiler made are in the symbol table alone.
func TestClonesOfFunctionsCanBeTraced(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	const start = 0xffffffff81000000
	s, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget(embedded.Name, spec, loader.WithKallsyms(map[string]uint64{
		"vfs_read": start, "wait_page.isra.0": start + 0x100, "put_it.constprop.0": start + 0x200, "half.part.0": start + 0x300, "half.part.0.cold": start + 0x400, "some_data": start + 0x500,
	}))})
	require.NoError(t, err)
	defer s.Close()
	b, _ := s.ReadFile(tracing + "available_filter_functions")
	functions := strings.Fields(string(b))
	for _, name := range []string{"vfs_read", "wait_page.isra.0", "put_it.constprop.0", "half.part.0"} {
		assert.Contains(t, functions, name)
	}
	assert.NotContains(t, functions, "half.part.0.cold")
	assert.NotContains(t, functions, "some_data")
	b, _ = s.ReadFile(tracing + "available_filter_functions_addrs")
	assert.Contains(t, string(b), "ffffffff81000100 wait_page.isra.0\n")
	s.TraceProbes("p:mine/clone wait_page.isra.0\n", false)
	b, _ = s.ReadFile(tracing + "kprobe_events")
	assert.Equal(t, "p:mine/clone wait_page.isra.0\n", string(b))
}

func TestFunctionsThatRefuseProbes(t *testing.T) {
	s := embeddedSystem(t)
	list, found := s.ReadFile("/sys/kernel/debug/kprobes/blacklist")
	require.Equal(t, bpfsys.IsFile, found)
	functions, _ := s.ReadFile(tracing + "available_filter_functions")
	traced := map[string]bool{}
	for n := range strings.FieldsSeq(string(functions)) {
		traced[n] = true
	}
	assert.Greater(t, strings.Count(string(list), "\n"), 200)
	for l := range strings.Lines(string(list)) {
		f := strings.Fields(l)
		require.Len(t, f, 2)
		assert.False(t, traced[f[1]], f[1])
	}
	assert.Contains(t, string(list), "\tperf_trace_buf_alloc\n")
	assert.True(t, traced["vfs_read"])
}

func TestKallsymsHasVariables(t *testing.T) {
	types := func(s *bpfsys.System) map[string]string {
		out := map[string]string{}
		b, found := s.ReadFile("/proc/kallsyms")
		require.Equal(t, bpfsys.IsFile, found)
		assert.True(t, slices.IsSortedFunc(strings.Split(strings.TrimSpace(string(b)), "\n"), func(a, b string) int { return strings.Compare(a[:16], b[:16]) }), "not by address")
		for l := range strings.Lines(string(b)) {
			if f := strings.Fields(l); len(f) == 3 {
				out[f[2]] = f[1]
			}
		}
		return out
	}
	have := types(embeddedSystem(t))
	for name, typ := range map[string]string{"vfs_read": "T", "_stext": "T", "_etext": "T", "init_task": "D", "jiffies": "D", "runqueues": "A", "bpf_prog_active": "A", "__tracepoint_sched_switch": "D", "__tracepoint_pelt_cfs_tp": "D",
		"avenrun": "D", "vm_zone_stat": "D", "vm_node_stat": "D", "tcp_prot": "D", "ext4_file_operations": ""} {
		assert.Equal(t, typ, have[name], name)
	}
	spec, err := testbtf.Load("../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	s, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget("linux-7.2.13-amd64", spec)})
	require.NoError(t, err)
	defer s.Close()
	assert.Equal(t, "D", types(s)["runqueues"])
}

// TestProgramsReadTheReleaseOfUname: the UTS namespace and the files say the same.
func TestProgramsReadTheReleaseOfUname(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	const release = "6.12.107+deb13-amd64"
	s, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget(embedded.Name, spec), Release: release})
	require.NoError(t, err)
	defer s.Close()
	uts := s.Machine().Kernel().Variable("init_uts_ns")
	require.NotNil(t, uts)
	got, err := uts.String("name.release")
	require.NoError(t, err)
	assert.Equal(t, release, got)
	b, _ := s.ReadFile("/proc/sys/kernel/osrelease")
	assert.Equal(t, release+"\n", string(b))
}

// TestListsHaveTheFunctionsOfModules, with the module's name as a kernel writes it.
func TestListsHaveTheFunctionsOfModules(t *testing.T) {
	spec := newestKernel(t)
	mod, err := btffile.Load("../../testdata/btf/modules/linux-7.2.13-amd64.tcp_bbr.btf.xz", spec)
	require.NoError(t, err)
	s, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget("linux-7.2.13-amd64", spec, loader.WithModules(loader.Module{Name: "tcp_bbr", BTF: mod}))})
	require.NoError(t, err)
	defer s.Close()
	symbols, _ := s.ReadFile("/proc/kallsyms")
	line := regexp.MustCompile(`(?m)^([0-9a-f]{16}) t bbr_main\t\[tcp_bbr\]$`).FindSubmatch(symbols)
	require.NotNil(t, line)
	addr, err := strconv.ParseUint(string(line[1]), 16, 64)
	require.NoError(t, err)
	name, off, ok := s.Machine().Kernel().SymbolAt(addr + 1)
	assert.True(t, ok && name == "bbr_main" && off == 1, "%s+%d", name, off)
	functions, _ := s.ReadFile(tracing + "available_filter_functions")
	assert.Contains(t, string(functions), "\nbbr_main [tcp_bbr]\n")
	assert.Contains(t, string(functions), "\nvfs_read\n")
	withAddresses, _ := s.ReadFile(tracing + "available_filter_functions_addrs")
	for list, b := range map[string][]byte{"symbols": symbols, "functions": functions, "addresses": withAddresses} {
		_, behind, _ := strings.Cut(string(b), "[tcp_bbr]\n")
		assert.Equal(t, strings.Count(behind, "\n"), strings.Count(behind, "[tcp_bbr]\n"), "the kernel's come first: %s", list)
	}
	modules, _ := s.ReadFile("/proc/modules")
	assert.Regexp(t, `^tcp_bbr 65536 0 - Live 0xffffffff[0-9a-f]{5}000\n$`, string(modules))
	modules, found := embeddedSystem(t).ReadFile("/proc/modules")
	assert.Equal(t, bpfsys.IsFile, found)
	assert.Empty(t, modules)
}

// TestHeadersAreTheHosts: all else about the simulated release is not.
func TestHeadersAreTheHosts(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	const release = "6.12.107+deb12-amd64"
	s, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget(embedded.Name, spec), Release: release})
	require.NoError(t, err)
	defer s.Close()
	for path, want := range map[string]bpfsys.Found{
		"build": bpfsys.NotOurs, "build/include/linux/kconfig.h": bpfsys.NotOurs, "source": bpfsys.NotOurs,
		"": bpfsys.Absent, "modules.builtin": bpfsys.Absent, "kernel/fs/ext4/ext4.ko": bpfsys.Absent, "builds": bpfsys.Absent,
	} {
		for _, root := range []string{"/lib/modules/", "/usr/lib/modules/"} {
			path := strings.TrimSuffix(root+release+"/"+path, "/")
			_, found := s.ReadFile(path)
			assert.Equal(t, want, found, path)
			assert.Equal(t, want == bpfsys.NotOurs, s.Headers(path), path)
		}
	}
	for _, path := range []string{"/lib/modules/6.1.0-1-amd64/build", "/lib/modules/" + release + "-rt/build"} {
		_, found := s.ReadFile(path)
		assert.Equal(t, bpfsys.NotOurs, found, path)
		assert.False(t, s.Headers(path), path)
	}
}

// TestEventsFireRawTracepoints: an event by its full name runs the raw tracepoint programs of its
// tracepoint, if the system is right.
func TestEventsFireRawTracepoints(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	p := k.must(k.load(uapi.ProgTypeRawTracepoint, returning(0)))
	fd, r := k.try(uapi.CmdRawTracepointOpen, field{0, k.text("sched_switch")}, field{8, p})
	k.must(fd, r.errno)
	for hook, want := range map[string]int{"sched_switch": 1, "sched/sched_switch": 1, "skb/sched_switch": 0} {
		fired, _ := k.s.Fire(bpfsys.Event{Hook: hook})
		assert.Len(t, fired, want, hook)
	}
}
