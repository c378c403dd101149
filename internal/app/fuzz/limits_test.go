package fuzz

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/find/search"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// fuzzer prepares a search of an object.
func fuzzer(t testing.TB, obj *loader.Object, opt Options) *Fuzzer {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return fuzzerOn(t, obj, loader.NewTarget(embedded.Name, spec), opt)
}

// fuzzerOn is fuzzer on a kernel.
func fuzzerOn(t testing.TB, obj *loader.Object, target *loader.Target, opt Options) *Fuzzer {
	t.Helper()
	opt.ObjectPath, opt.Scenario.Config.Seed, opt.Seed = filepath.Join(t.TempDir(), "x.o"), 1, 1
	require.NoError(t, os.WriteFile(opt.ObjectPath, obj.ELF(), 0o600))
	opt.Note = func(text string) { t.Errorf("note: %s", text) }
	f, err := New(context.Background(), obj, target, opt)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return f
}

// textObject is an object of an assembly text.
func textObject(t testing.TB, text string) *loader.Object {
	t.Helper()
	data, err := assembly.Object("x.s", text, nil)
	require.NoError(t, err)
	o, err := loader.OpenBytes("x.o", data)
	require.NoError(t, err)
	return o
}

// TestWhatCallsWrite: maps that helpers change, programs that may delete their elements, and memory
// behind pointers that other helpers are given.
func TestWhatCallsWrite(t *testing.T) {
	hash, array := &loader.Map{Name: "h", Type: uapi.MapTypeHash}, &loader.Map{Name: "a", Type: uapi.MapTypeArray}
	data := &loader.Map{Name: ".bss", DataKind: loader.DataBSS, Vars: []loader.Var{{Name: "x", Size: 4}, {Name: "y", Off: 4, Size: 4}}}
	constants := &loader.Map{Name: ".rodata", DataKind: loader.DataRodata, Vars: []loader.Var{{Name: "c", Size: 4}}}
	for _, tt := range []struct {
		name            string
		id              uapi.FuncID
		regs            map[int]origin
		maps, vars      string
		makes, deletes  string
		deletesSomewere bool
	}{
		{name: "an update", id: uapi.FuncMapUpdateElem, regs: map[int]origin{1: {def: hash}}, maps: "h", makes: "h"},
		{name: "a push", id: uapi.FuncMapPushElem, regs: map[int]origin{1: {def: hash}}, maps: "h"},
		{name: "a deletion", id: uapi.FuncMapDeleteElem, regs: map[int]origin{1: {def: hash}}, maps: "h", deletes: "h"},
		{name: "a deletion of what is not known", id: uapi.FuncMapDeleteElem, deletesSomewere: true},
		{name: "a walk", id: uapi.FuncForEachMapElem, regs: map[int]origin{1: {def: hash}}, deletes: "h"},
		{name: "a walk over what is not known", id: uapi.FuncForEachMapElem, deletesSomewere: true},
		{name: "a lookup", id: uapi.FuncMapLookupElem, regs: map[int]origin{1: {def: hash}}},
		{name: "a read into a variable", id: uapi.FuncProbeReadKernel, regs: map[int]origin{1: {def: data, value: true, off: 4, offset: true}}, vars: "y"},
		{name: "a read into some variable", id: uapi.FuncProbeReadKernel, regs: map[int]origin{1: {def: data, value: true, off: 4}}, vars: "x y"},
		{name: "a read into a value", id: uapi.FuncProbeReadKernel, regs: map[int]origin{1: {def: array, value: true}}, maps: "a"},
		{name: "a read into an element that user space makes", id: uapi.FuncProbeReadKernel, regs: map[int]origin{1: {def: hash, value: true}}},
		{name: "a read into constants", id: uapi.FuncProbeReadKernel, regs: map[int]origin{1: {def: constants, value: true}}},
		{name: "a read into what is not known", id: uapi.FuncProbeReadKernel},
		{name: "a map as an argument", id: uapi.FuncProbeReadKernel, regs: map[int]origin{2: {def: array}}},
	} {
		w := &writers{maps: map[string]bool{}, vars: map[string]bool{}, makers: map[string][]string{}, deleters: map[string][]string{}, prog: "p"}
		var regs [11]origin
		for i, r := range tt.regs {
			regs[i] = r
		}
		for range 2 { // the second time adds nothing
			again := regs
			w.call(tt.id, &again)
		}
		for what, got := range map[string][2]any{
			"maps": {names(tt.maps), w.maps}, "variables": {names(tt.vars), w.vars}, "makers": {lists(tt.makes), w.makers}, "deleters": {lists(tt.deletes), w.deleters}, "others": {tt.deletesSomewere, w.deletes},
		} {
			assert.Equal(t, got[0], got[1], "%s: %s", tt.name, what)
		}
	}
}

// names are the words of a text as a set, lists the same with the program p of each.
func names(text string) map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(text) {
		out[name] = true
	}
	return out
}

func lists(text string) map[string][]string {
	out := map[string][]string{}
	for _, name := range strings.Fields(text) {
		out[name] = []string{"p"}
	}
	return out
}

// TestTextsOfSysctlsHaveALimit: bytes are put into a text up to its longest length, and a zero ends it.
func TestTextsOfSysctlsHaveALimit(t *testing.T) {
	change := func(text string, at int, bytes ...byte) string {
		sp := &runSpace{sysctl: &Sysctl{Name: "kernel/x", Value: text}}
		e := &Event{}
		for i := range sysctlTexts {
			if sysctlTexts[i].of(sp.sysctlOf(e)) == nil || *sysctlTexts[i].of(sp.sysctlOf(e)) != text {
				continue
			}
			s, ok := sp.inSysctl(e, &hook.Context{}, search.Wish{Kind: search.Memory, Addr: sysctlBase + uint64(i)*sysctlRoom + uint64(at), Size: len(bytes)})
			require.True(t, ok)
			s.call(e, bytes)
			return sp.sysctlOf(e).Value
		}
		t.Fatal("no text")
		return ""
	}
	long := strings.Repeat("a", maxText-1)
	for _, tt := range []struct {
		text  string
		at    int
		bytes string
		want  string
	}{
		{"abc", 0, "x", "xbc"}, {"abc", 1, "xy", "axy"}, {"abc", 2, "xy", "abxy"}, {"abc", 3, "x", "abcx"}, {"abc", 4, "x", "abc"}, {"abc", 1, "\x00x", "a"},
		{long, maxText - 1, "x", long + "x"}, {long, maxText - 2, "xy", long[1:] + "xy"}, {long, maxText - 1, "xy", long}, {long, maxText - 2, "xyz", long},
	} {
		assert.Equal(t, tt.want, change(tt.text, tt.at, []byte(tt.bytes)...), "%d bytes, %q at %d", len(tt.text), tt.bytes, tt.at)
	}
}

// TestMembersOfUntypedValues are named by their offsets.
func TestMembersOfUntypedValues(t *testing.T) {
	f := fuzzer(t, textObject(t, ".map a array 4 8 1\n.prog p xdp\nr0 = 2\nexit\n"), Options{Runs: 1})
	assert.Empty(t, f.first.member(0, 0, 8))
	assert.Equal(t, "+4", f.first.member(0, 4, 4))
}

// TestRunsEndAtAFault: what comes after it in an input does not run.
func TestRunsEndAtAFault(t *testing.T) {
	f := fuzzer(t, textObject(t, ".prog p syscall\nr1 = 0\nr0 = *(u64 *)(r1 + 0)\nexit\n.prog q syscall\nr0 = 0\nexit\n"), Options{Runs: 1})
	for _, tt := range []struct {
		runs string
		want int
	}{{"q", 1}, {"q q", 2}, {"p q", 1}, {"q p q", 2}, {"q q p", 3}} {
		in := &Input{}
		for run := range strings.FieldsSeq(tt.runs) {
			in.Events = append(in.Events, Event{Run: run})
		}
		r, err := f.first.examine(context.Background(), in, -1, nil)
		require.NoError(t, err)
		assert.Len(t, r.results, tt.want, tt.runs)
	}
}

// TestMapsInMapsThatWereWritten: those whose elements come and go, or are changed where they are.
func TestMapsInMapsThatWereWritten(t *testing.T) {
	obj, err := loader.Open("../../../examples/tenants/tenants.bpf.o")
	require.NoError(t, err)
	f := fuzzer(t, obj, Options{Runs: 1})
	var outer *loader.Map
	for _, def := range f.first.fast.Machine().Linked().Maps {
		if def.OfMaps() && def.Inner != nil {
			outer = def
		}
	}
	require.NotNil(t, outer)
	inner, old, now := *outer.Inner, []byte{0}, []byte{1}
	defer func() { *outer.Inner = inner }()
	for _, tt := range []struct {
		name     string
		typ      uapi.MapType
		old, now []byte
		want     bool
	}{
		{"an array", uapi.MapTypeArray, old, now, true}, {"an element that is changed", uapi.MapTypeHash, old, now, false},
		{"a new element", uapi.MapTypeHash, nil, now, true}, {"a deleted element", uapi.MapTypeHash, old, nil, true},
	} {
		outer.Inner.Type, f.written = tt.typ, map[string]bool{}
		f.innerWritten(&machine.Change{Map: outer.Name + "[1]", Old: tt.old, New: tt.now})
		assert.Equal(t, tt.want, f.written[outer.Name], tt.name)
		f.written = map[string]bool{}
		f.innerWritten(&machine.Change{Map: outer.Name, Old: tt.old, New: tt.now})
		assert.Empty(t, f.written, "%s of the map itself", tt.name)
	}
}

// TestMapsOfEachCPUFillUpToo: what the entry of a call stored and its return left.
func TestMapsOfEachCPUFillUpToo(t *testing.T) {
	for typ, want := range map[string]bool{"hash": true, "percpu_hash": true, "lru_hash": false} {
		obj := textObject(t, ".map calls "+typ+` 8 8 64
.prog enter kprobe/vfs_read
    call bpf_get_current_pid_tgid
    *(u64 *)(r10 - 8) = r0
    *(u64 *)(r10 - 16) = 1
    r1 = map_fd(calls)
    r2 = r10
    r2 += -8
    r3 = r10
    r3 += -16
    r4 = 0
    call bpf_map_update_elem
    r0 = 0
    exit
.prog leave kretprobe/vfs_read
    r6 = *(u64 *)(r1 + 80)
    if r6 s< 0 goto out
    call bpf_get_current_pid_tgid
    *(u64 *)(r10 - 8) = r0
    r1 = map_fd(calls)
    r2 = r10
    r2 += -8
    call bpf_map_delete_elem
out:
    r0 = 0
    exit
`)
		f := fuzzer(t, obj, Options{Runs: 300, Keep: t.TempDir()})
		r, err := f.Run(context.Background())
		require.NoError(t, err)
		found := false
		for _, x := range r.Findings {
			found = found || x.Kind == finding.Full && x.Program == "leave"
		}
		assert.Equal(t, want, found, typ)
	}
}

// TestBytesOfReports: those that the device has, and that its report has.
func TestBytesOfReports(t *testing.T) {
	spec, err := testbtf.Load("../../../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	obj, err := loader.Open("../../../examples/hidmouse/hidmouse.bpf.o")
	require.NoError(t, err)
	f := fuzzerOn(t, obj, loader.NewTarget("7.2", spec), Options{Runs: 1})
	s := f.first
	var run string
	for name, r := range s.runs {
		if deviceOf(r) != nil {
			run = name
		}
	}
	in := &Input{Events: []Event{{Run: run}}}
	_, err = s.examine(context.Background(), in, -1, nil)
	require.NoError(t, err)
	require.NotNil(t, s.device)
	base, size := s.device.Buffer()
	require.NotZero(t, base)
	size = min(size, len(f.space.runs[run].ctx))
	require.Greater(t, size, 2)
	for _, tt := range []struct {
		off, size int
		want      bool
	}{
		{0, 1, true}, {0, size, true}, {1, 2, true}, {size - 1, 1, true}, {size - 2, 2, true}, {size, 1, false}, {size - 1, 2, false}, {0, size + 1, false}, {-1, 1, false}, {-1, 2, false}, {-64, 1, false},
	} {
		got, ok := s.inReport(in, search.Wish{Kind: search.Memory, Addr: base + uint64(int64(tt.off)), Size: tt.size})
		assert.Equal(t, tt.want, ok, "%d bytes at %d", tt.size, tt.off)
		if ok {
			assert.Equal(t, tt.off, got.off)
		}
	}
	in.Events[0].Ctx = Bytes{1, 2} // a shorter report
	for off, want := range map[uint64]bool{0: true, 1: true, 2: false} {
		_, ok := s.inReport(in, search.Wish{Kind: search.Memory, Addr: base + off, Size: 1})
		assert.Equal(t, want, ok, "byte %d of two", off)
	}
}
