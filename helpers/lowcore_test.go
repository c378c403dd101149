package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/vm"
)

// lowcoreTypes are the embedded types and a struct lowcore.
func lowcoreTypes(t *testing.T) (base, module *btf.Spec) {
	t.Helper()
	base, err := embedded.Spec()
	require.NoError(t, err)
	b := btf.NewBuilder(base)
	u64, u32 := b.Int("lowcore_u64", 8, 0), b.Int("lowcore_u32", 4, 0)
	b.Struct("lowcore", 0x1000, btf.Member{Name: "current_task", Type: u64, BitOffset: 832 * 8}, btf.Member{Name: "current_pid", Type: u32, BitOffset: 924 * 8},
		btf.Member{Name: "cpu_nr", Type: u32, BitOffset: 928 * 8}, btf.Member{Name: "percpu_offset", Type: u64, BitOffset: 952 * 8})
	raw, err := b.Marshal(base.ByteOrder())
	require.NoError(t, err)
	module, err = btf.LoadBytes("lowcore", raw, base)
	require.NoError(t, err)
	return base, module
}

// TestLowcore: each CPU has its own lowcore, which stays where it is and tells of the CPU's task.
func TestLowcore(t *testing.T) {
	base, module := lowcoreTypes(t)
	r := rigWith(t, kernel.Config{BTF: base, Modules: []*btf.Spec{module}, Version: newest, Types: object.NewTypes()})
	seen := map[uint64]bool{}
	for cpu := range 2 {
		r.thread.CPU = cpu
		addr := r.kok("bpf_get_lowcore")
		assert.Equal(t, addr, r.kok("bpf_get_lowcore"))
		seen[addr] = true
		o := r.kernel.ObjectAt(addr)
		require.NotNil(t, o)
		assert.Equal(t, "lowcore", o.TypeName())
		task := r.kernel.CurrentOn(cpu)
		offset, err := r.kernel.Variable("__per_cpu_offset").Load(uint64(8*cpu), 8)
		require.Nil(t, err)
		fields(t, o, map[string]uint64{"cpu_nr": uint64(cpu), "current_task": task.Addr(), "current_pid": task.Num("pid"), "percpu_offset": offset})
	}
	assert.Len(t, seen, 2)

	_, f := newRig(t, newest).kfunc("bpf_get_lowcore")
	require.NotNil(t, f)
	assert.Equal(t, vm.NotSimulated, f.Kind)
	assert.Contains(t, f.Error(), "lowcore is not in the kernel's BTF")
}
