package machine

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// machineOf makes a machine of a fixture on the embedded kernel, with programs attached to functions
// of others.
func machineOf(t *testing.T, object string, attach map[string]string, cfg Config) *Machine {
	t.Helper()
	obj, err := loader.Open("../../testdata/objects/clang-14/" + object)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{AttachProgs: attach})
	require.NoError(t, err)
	m, err := New(linked, cfg)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// TestHintsForMemory: what to do about each kind of fault, by the memory it is in.
func TestHintsForMemory(t *testing.T) {
	kernel, value, packet := &mem.Region{Kind: mem.KernelObject}, &mem.Region{Kind: mem.MapValue}, &mem.Region{Kind: mem.Packet}
	for _, tt := range []struct {
		f    *mem.Fault
		want string
	}{
		{nil, ""},
		{&mem.Fault{Kind: mem.UserPointer}, "read user memory"},
		{&mem.Fault{Kind: mem.NullPointer}, "check the pointer against NULL"},
		{&mem.Fault{Kind: mem.NotPermitted, Region: kernel}, "read kernel memory"},
		{&mem.Fault{Kind: mem.NotPermitted, Region: kernel, Write: true}, "may not write kernel memory"},
		{&mem.Fault{Kind: mem.NotPermitted, Region: value}, ""},
		{&mem.Fault{Kind: mem.NotPermitted, Region: value, Write: true}, ""},
		{&mem.Fault{Kind: mem.NotPermitted}, ""},
		{&mem.Fault{Kind: mem.NotPermitted, Write: true}, ""},
		{&mem.Fault{Kind: mem.UseAfterFree, Region: packet}, "may change the packet"},
		{&mem.Fault{Kind: mem.UseAfterFree, Region: kernel}, ""},
		{&mem.Fault{Kind: mem.UseAfterFree}, ""},
		{&mem.Fault{Kind: mem.OutOfBounds, Region: kernel}, "check the offset"},
		{&mem.Fault{Kind: mem.OutOfBounds}, "check the offset"},
		{&mem.Fault{Kind: mem.ReadOnly, Region: packet, Write: true}, ""},
	} {
		got := memoryHint(tt.f)
		if tt.want == "" {
			assert.Empty(t, got, "%+v", tt.f)
		} else {
			assert.Contains(t, got, tt.want, "%+v", tt.f)
		}
	}
}

// TestExtensionsAreOfTheirTargetsType: one that can run is of the type of the program that it is
// attached to; what cannot run, and programs of other types, stay as they are.
func TestExtensionsAreOfTheirTargetsType(t *testing.T) {
	attached := &loader.LinkedProgram{Program: &loader.Program{Type: uapi.ProgTypeXDP}}
	for _, tt := range []struct {
		typ    uapi.ProgType
		status Status
		want   uapi.ProgType
	}{
		{uapi.ProgTypeExt, StatusOK, uapi.ProgTypeXDP},
		{uapi.ProgTypeExt, StatusUnknownHook, uapi.ProgTypeXDP},
		{uapi.ProgTypeExt, StatusAbsent, uapi.ProgTypeExt},
		{uapi.ProgTypeExt, StatusRefused, uapi.ProgTypeExt},
		{uapi.ProgTypeTracing, StatusOK, uapi.ProgTypeTracing},
	} {
		p := &program{lp: &loader.LinkedProgram{Program: &loader.Program{Type: tt.typ}, AttachProg: attached}, typ: tt.typ, status: tt.status}
		(&binder{}).extension(p)
		assert.Equal(t, tt.want, p.typ, "%v %v", tt.typ, tt.status)
		assert.Equal(t, tt.status, p.status)
	}
}

// TestNamesOfRegions: an address in a region of elements is named by its place in the element.
func TestNamesOfRegions(t *testing.T) {
	array := &mem.Region{Name: "array", Base: 0x1000, Size: 40, Count: 3, Stride: 16, ElemSize: 8}
	one := &mem.Region{Name: "one", Base: 0x1000, Size: 16}
	for _, tt := range []struct {
		r    *mem.Region
		off  uint64
		want string
	}{
		{one, 0, "scratch one"}, {one, 8, "scratch one+8"}, {one, 15, "scratch one+15"},
		{array, 0, array.Describe(0x1000)}, {array, 5, array.Describe(0x1000) + "+5"},
		{array, 16, array.Describe(0x1010)}, {array, 39, array.Describe(0x1020) + "+7"},
		{array, 24, array.Describe(0x1018) + "+24"}, // between two elements
	} {
		assert.Equal(t, tt.want, regionName(tt.r, tt.r.Base+tt.off), "%s+%d", tt.r.Name, tt.off)
	}
}

// TestBytesOfRelocatedFields: a relocation is about all bytes of its field.
func TestBytesOfRelocatedFields(t *testing.T) {
	sizes := map[uint32]int{}
	for _, lp := range machineOf(t, "fields.o", nil, Config{}).Linked().Programs {
		for i := range lp.Relocs {
			r := &lp.Relocs[i]
			if r.Target == nil || r.Target.BTF == nil || r.Kind != corerelo.FieldByteOffset || r.Err != nil || r.Result.Poison {
				continue
			}
			lo, hi := fieldRange(r)
			assert.Equal(t, uint32(r.Result.New), lo)
			sizes[hi-lo]++
			last := r.Target.Last()
			if last.Name == "" {
				assert.Equal(t, lo+1, hi, "an element")
				continue
			}
			m := r.Target.BTF.MustType(last.Type).Members[last.Index]
			n, err := r.Target.BTF.Sizeof(m.Type)
			require.NoError(t, err)
			assert.Equal(t, lo+uint32(max(n, 1)), hi, m.Name)
		}
	}
	assert.Greater(t, len(sizes), 2, "fields of several sizes: %v", sizes)
}

// TestWhoseCoverageIsKnown: of programs that ran or can run, on machines that record it.
func TestWhoseCoverageIsKnown(t *testing.T) {
	for _, uncovered := range []bool{false, true} {
		m := machineOf(t, "extcontexts.o", nil, Config{Uncovered: uncovered})
		assert.Nil(t, m.Covered("nosuch"))
		for _, name := range m.Names() {
			res, err := m.Run(t.Context(), name, Input{})
			require.NoError(t, err)
			assert.Equal(t, res.Ran && !uncovered, m.Covered(name) != nil, "%s, uncovered: %v", name, uncovered)
		}
	}
}

// TestEachStackReadIsToldOnce: those of one instruction of a program that read the same bytes.
func TestEachStackReadIsToldOnce(t *testing.T) {
	m := machineOf(t, "silent.o", nil, Config{})
	s, _, err := m.Begin("warn_padding_in_key", Input{})
	require.NoError(t, err)
	require.NotNil(t, s)
	stack := &mem.Region{Size: 512}
	read := func(program string, steps uint64, offsets ...uint64) {
		p := m.byName[program]
		m.thread.Start(p.img, m.last.Addr)
		if steps > 0 {
			m.thread.Run(steps)
		}
		m.unset(mem.Unset{Region: stack, Offsets: offsets, Size: 8})
	}
	for range 2 {
		read("warn_padding_in_key", 0, 500)
		read("warn_padding_in_record", 0, 500)
		read("warn_padding_in_key", 0, 500, 501)
		read("warn_padding_in_key", 1, 500)
	}
	var got []string
	for _, r := range m.run.result.StackReads {
		got = append(got, fmt.Sprintf("%s %d %v", r.Program, r.Insn, r.Offsets))
	}
	assert.Equal(t, []string{
		"warn_padding_in_key 0 [-12]", "warn_padding_in_record 0 [-12]", "warn_padding_in_key 0 [-12 -11]", "warn_padding_in_key 1 [-12]",
	}, got)
	s.Finish()
}

// TestCallbacksAfterAProgramAreNotTraced: what traces the program runs at its entry and its return,
// not at those of callbacks that become due afterwards.
func TestCallbacksAfterAProgramAreNotTraced(t *testing.T) {
	m := machineOf(t, "extends.o", map[string]string{"on_target": "target", "after_target": "target"}, Config{})
	s, _, err := m.Begin("target", Input{})
	require.NoError(t, err)
	require.NotNil(t, s)
	s.Run(1 << 20)
	traced := func() (names []string) {
		for _, r := range m.run.result.Traced {
			names = append(names, r.Program)
		}
		return names
	}
	require.Equal(t, []string{"on_target", "after_target"}, traced())
	s.late.begun = true
	s.enter()
	s.exit()
	assert.Equal(t, []string{"on_target", "after_target"}, traced())
	s.late.begun = false
	s.enter()
	s.exit()
	assert.Equal(t, []string{"on_target", "after_target", "on_target", "after_target"}, traced(), "a further call")
	s.Finish()
}

// TestStoresInBuffersAreNoLeaks: a value that a program uses as its buffer may keep bytes that
// nobody wrote; in other values user space may read them.
func TestStoresInBuffersAreNoLeaks(t *testing.T) {
	m := machineOf(t, "budget.o", nil, Config{})
	s, _, err := m.Begin("copies", Input{})
	require.NoError(t, err)
	require.NotNil(t, s)
	require.NotEmpty(t, m.scratches.active)
	k := keptStore{p: m.byName["copies"], span: span{m.scratches.active[0].addr, 8}}
	r := m.mem.Find(k.addr)
	m.keptLeak(k, r)
	assert.Empty(t, m.run.result.Findings)
	m.scratches.active = nil
	m.keptLeak(k, r)
	require.Len(t, m.run.result.Findings, 1)
	assert.Contains(t, m.run.result.Findings[0].Text, "a store leaves 8 of 4000 bytes in map blocks")
	s.Finish()
}

// TestObjectsOfRecords: fields of a tracepoint's record that are pointers to objects are those, and
// no numbers that look like their addresses.
func TestObjectsOfRecords(t *testing.T) {
	b := btf.NewBuilder(nil)
	b.Int("long unsigned int", 4, 0)
	u64 := b.Int("long long unsigned int", 8, 0)
	u8 := b.Int("unsigned char", 1, 0)
	ptr := b.NextID() + 1
	task := b.Struct("task_struct", 64, btf.Member{Name: "pid", Type: 1})
	b.Ptr(task)
	b.Struct("trace_event_raw_thing", 32, btf.Member{Name: "b", Type: u8}, btf.Member{Name: "task", Type: ptr, BitOffset: 64}, btf.Member{Name: "wide", Type: u64, BitOffset: 128})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	obj, err := loader.Open("../../testdata/objects/clang-14/events.o")
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget("small", spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := New(linked, Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	require.EqualValues(t, 4, m.Memory().PointerSize())
	in := Input{Hook: &Hook{AttachTo: "sub/thing", Section: "tracepoint/sub/thing"}}
	objects, err := m.HookObjects("report", in)
	require.NoError(t, err)
	require.NotNil(t, objects["task"])
	assert.Len(t, objects, 1)
	in.Args = map[string]any{"wide": objects["task"].Addr()}
	objects, err = m.HookObjects("report", in)
	require.NoError(t, err)
	assert.NotContains(t, objects, "wide")
}
