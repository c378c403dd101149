package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/cpuset"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// manyCPUs is newRig with a number of CPUs.
func manyCPUs(t *testing.T, cpus int) *rig {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return rigWith(t, kernel.Config{BTF: spec, Version: newest, Types: types, CPUs: cpus})
}

// TestMasksOfManyCPUs: CPUs beyond the first word of a mask, and the last one of the machine.
func TestMasksOfManyCPUs(t *testing.T) {
	for _, cpus := range []int{64, 65, 128, 500, 512} {
		r := manyCPUs(t, cpus)
		n, last := uint64(cpus), uint64(cpus-1)
		a, b, c := r.kok("bpf_cpumask_create"), r.kok("bpf_cpumask_create"), r.kok("bpf_cpumask_create")
		assert.Equal(t, n, r.kok("bpf_cpumask_first", a), "none: nr_cpu_ids")
		assert.EqualValues(t, 1, r.kok("bpf_cpumask_empty", a))
		assert.Zero(t, r.kok("bpf_cpumask_test_and_set_cpu", last, a))
		assert.EqualValues(t, 1, r.kok("bpf_cpumask_test_and_set_cpu", last, a))
		assert.Zero(t, r.kok("bpf_cpumask_test_and_set_cpu", n, a), "there is no such CPU")
		assert.Equal(t, last, r.kok("bpf_cpumask_first", a))
		assert.Zero(t, r.kok("bpf_cpumask_first_zero", a))
		assert.EqualValues(t, 1, r.kok("bpf_cpumask_weight", a))
		r.kok("bpf_cpumask_setall", b)
		assert.EqualValues(t, 1, r.kok("bpf_cpumask_full", b))
		assert.Equal(t, n, r.kok("bpf_cpumask_weight", b))
		assert.Equal(t, n, r.kok("bpf_cpumask_first_zero", b))
		assert.EqualValues(t, 1, r.kok("bpf_cpumask_subset", a, b))
		assert.Zero(t, r.kok("bpf_cpumask_subset", b, a))
		assert.Equal(t, last, r.kok("bpf_cpumask_first_and", a, b))
		r.kok("bpf_cpumask_xor", c, a, b)
		assert.Equal(t, n-1, r.kok("bpf_cpumask_weight", c))
		assert.Zero(t, r.kok("bpf_cpumask_intersects", a, c))
		assert.Zero(t, r.kok("bpf_cpumask_test_cpu", last, c))
		assert.EqualValues(t, 1, r.kok("bpf_cpumask_test_cpu", last, b))
		r.kok("bpf_cpumask_clear_cpu", last, b)
		assert.EqualValues(t, 1, r.kok("bpf_cpumask_equal", b, c))

		words := make([]byte, (cpus+63)/64*8)
		words[last/8] = 1 << (last % 8)
		assert.Zero(t, r.kok("bpf_cpumask_populate", b, r.alloc(words), uint64(len(words))))
		assert.EqualValues(t, 1, r.kok("bpf_cpumask_equal", a, b))
		assert.Equal(t, uint64(uint32(neg(uapi.EACCES))), r.kok("bpf_cpumask_populate", b, r.alloc(words), uint64(len(words)-8)))

		task, err := r.kernel.NewTask("task")
		require.NoError(t, err)
		set, err := task.CPUSet("cpus_mask")
		require.NoError(t, err)
		assert.Equal(t, cpuset.Below(cpus), set)
		at, err := task.FieldAddr("cpus_mask")
		require.NoError(t, err)
		assert.Equal(t, n, r.kok("bpf_cpumask_weight", at))
		for _, m := range []uint64{a, b, c} {
			r.kok("bpf_cpumask_release", m)
		}
	}
}

// TestMasksHaveRoomForSoManyCPUs: a kernel cannot have more CPUs than it was built for.
func TestMasksHaveRoomForSoManyCPUs(t *testing.T) {
	r := manyCPUs(t, 2)
	o, err := r.kernel.NewObjectNamed("cpumask", "cpumask")
	require.NoError(t, err)
	f, _, err := o.Peek("bits")
	require.NoError(t, err)
	most := int(f.Size) * 8
	if most >= cpuset.Most {
		t.Skipf("the kernel was built for %d CPUs", most)
	}
	r = manyCPUs(t, most+1)
	_, fault := r.kfunc("bpf_cpumask_create")
	require.NotNil(t, fault)
	assert.ErrorContains(t, fault, "NR_CPUS")
}
