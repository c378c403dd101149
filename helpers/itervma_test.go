package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestIterateMemoryAreas(t *testing.T) {
	r := newRig(t, newest)
	task := r.kernel.Current()
	mm, err := task.Pointee("mm")
	require.NoError(t, err)
	areas := r.kernel.VMAs(mm)
	require.Greater(t, len(areas), 2)
	it := r.space(8)
	walk := func(from uint64) (got []uint64) {
		require.Zero(t, r.kok("bpf_iter_task_vma_new", it, task.Addr(), from))
		for len(got) < 100 {
			v := r.kok("bpf_iter_task_vma_next", it)
			if v == 0 {
				break
			}
			got = append(got, v)
		}
		r.kok("bpf_iter_task_vma_destroy", it)
		return got
	}
	var all []uint64
	for _, a := range areas {
		all = append(all, a.Addr())
	}
	assert.Equal(t, all, walk(0))
	assert.Equal(t, all[1:], walk(areas[1].Num("vm_start")), "from an address on")
	assert.Equal(t, all[1:], walk(areas[0].Num("vm_end")), "an end is not in its area")
	assert.Empty(t, walk(^uint64(0)>>1))
	assert.Zero(t, r.kok("bpf_iter_task_vma_next", it), "after its end")
	// A kernel thread has no address space.
	idle, err := r.kernel.NewTask("init_task")
	require.NoError(t, err)
	assert.Equal(t, uint64(uint32(neg(uapi.ENOENT))), r.kok("bpf_iter_task_vma_new", it, idle.Addr(), 0))
	assert.Zero(t, r.kok("bpf_iter_task_vma_next", it))
	r.kok("bpf_iter_task_vma_destroy", it)
}
