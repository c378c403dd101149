package window

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// TestPerCPUSectionsHaveABound: the variables of a target's section end within 16 MiB; no memory is
// taken for them before they are used.
func TestPerCPUSectionsHaveABound(t *testing.T) {
	const most = 16 << 20
	for _, tt := range []struct {
		off, size uint32
		ok        bool
	}{{most - 4, 4, true}, {most - 3, 4, false}, {0, most, true}, {1, most, false}, {most, 0, true}, {1<<32 - 4, 4, false}} {
		b := btf.NewBuilder(nil)
		u8 := b.Int("unsigned char", 1, 0)
		low := b.Add(btf.Type{Kind: btf.KindVar, Name: "low", Ref: u8})
		high := b.Add(btf.Type{Kind: btf.KindVar, Name: "high", Ref: b.Array(u8, u8, tt.size)})
		b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".data..percpu", Vars: []btf.VarSecinfo{{Type: high, Offset: tt.off, Size: tt.size}, {Type: low, Offset: 0, Size: 1}}})
		spec, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		m, err := mem.New(mem.Config{})
		require.NoError(t, err)
		t.Cleanup(m.Close)
		_, err = NewPerCPU(object.New(object.Config{Mem: m, Types: object.NewTypes(), BTF: spec, CPUs: 2}))
		assert.Equal(t, tt.ok, err == nil, "[%#x, +%#x): %v", tt.off, tt.size, err)
	}
}
