package machine

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
)

// TestContextsOfSyscallPrograms are as large as the struct that the program declares, from 64 bytes
// up to what the kernel takes.
func TestContextsOfSyscallPrograms(t *testing.T) {
	b := btf.NewBuilder(nil)
	n := b.Int("int", 4, btf.IntSigned)
	of := func(to btf.ID) btf.ID {
		proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: n, Params: []btf.Param{{Name: "ctx", Type: b.Ptr(to)}}})
		return b.Add(btf.Type{Kind: btf.KindFunc, Name: "p", Ref: proto})
	}
	fns := map[btf.ID]int{of(n): 64}
	for size, want := range map[uint32]int{1: 64, 63: 64, 64: 64, 65: 65, 1000: 1000, 64<<10 - 1: 64<<10 - 1, 64 << 10: 64, 1 << 20: 64} {
		fns[of(b.Struct("s", size))] = want
	}
	none := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: n})
	fns[b.Add(btf.Type{Kind: btf.KindFunc, Name: "q", Ref: none})] = 64
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for fn, want := range fns {
		assert.Equal(t, want, syscallContextSize(spec, fn), "function %d", fn)
	}
	assert.Equal(t, 64, syscallContextSize(nil, 1))
	assert.Equal(t, 64, syscallContextSize(spec, 0))
}

// TestArgumentsOfMarkersWithoutANote: as many as are given by name, else those of the context, of
// which a marker has six.
func TestArgumentsOfMarkersWithoutANote(t *testing.T) {
	args := func(n int) (out []hook.Arg) {
		for i := range n {
			out = append(out, hook.Arg{Value: uint64(i + 10)})
		}
		return out
	}
	for _, tt := range []struct {
		context int
		given   []string
		want    []int64
	}{
		{0, nil, []int64{}},
		{2, nil, []int64{10, 11}},
		{6, nil, []int64{10, 11, 12, 13, 14, 15}},
		{8, nil, []int64{10, 11, 12, 13, 14, 15}},
		{3, []string{"arg2"}, []int64{10, 11}},
		{3, []string{"arg1", "arg4"}, []int64{10, 11, 12, 0}},
		{3, []string{"name"}, []int64{10, 11, 12}},
	} {
		in := Input{Args: map[string]any{}}
		for _, name := range tt.given {
			in.Args[name] = 1
		}
		got := []int64{}
		for _, a := range constantArgs(&hook.Context{Args: args(tt.context)}, in) {
			assert.EqualValues(t, 8, a.Size)
			got = append(got, a.Value)
		}
		assert.Equal(t, tt.want, got, "%d %v", tt.context, tt.given)
	}
}
