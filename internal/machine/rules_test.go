package machine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

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
	obj, err := loader.Open("../../testdata/objects/clang-14/fields.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	sizes := map[uint32]int{}
	for _, lp := range linked.Programs {
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
	obj, err := loader.Open("../../testdata/objects/clang-14/extcontexts.o")
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	for _, uncovered := range []bool{false, true} {
		m, err := New(linked, Config{Uncovered: uncovered})
		require.NoError(t, err)
		defer m.Close()
		assert.Nil(t, m.Covered("nosuch"))
		for _, name := range m.Names() {
			res, err := m.Run(t.Context(), name, Input{})
			require.NoError(t, err)
			assert.Equal(t, res.Ran && !uncovered, m.Covered(name) != nil, "%s, uncovered: %v", name, uncovered)
		}
	}
}
