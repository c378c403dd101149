package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
)

// enumerator is a number of the rig's kernel.
func (r *rig) enumerator(name string) uint64 {
	r.t.Helper()
	v, ok := r.kernel.BTF().EnumValue("", name)
	require.True(r.t, ok, name)
	return v
}

func TestMemoryCgroups(t *testing.T) {
	r := newestRig(t)
	r.context(sys, hook.ContextSpec{})
	root := r.kok("bpf_get_root_mem_cgroup")
	require.NotZero(t, root)
	states := r.kernel.CgroupStates()
	assert.Equal(t, root, r.kok("bpf_get_mem_cgroup", states[0]), "the root's, of another controller")
	own := r.kok("bpf_get_mem_cgroup", states[2])
	require.NotEqual(t, root, own)
	assert.Equal(t, own, r.kok("bpf_get_mem_cgroup", own), "its own cgroup_subsys_state comes first")
	parent := r.kernel.ObjectAt(own).Num("css.parent")
	assert.Equal(t, parent, r.kok("bpf_get_mem_cgroup", states[1]))
	for _, m := range []uint64{root, root, own, own, parent} {
		r.kok("bpf_put_mem_cgroup", m)
	}
	assert.Empty(t, r.env.Run.Held.Things())

	memcg := r.kernel.ObjectAt(own)
	for path, v := range map[string]uint64{"memory.usage.counter": 5, "memory_events[2].counter": 7, "vmstats.state[0]": 3, "vmstats.state[7]": 11, "vmstats.events[2]": 9, "vmstats.state[53]": ^uint64(4)} {
		require.NoError(t, memcg.SetUint(path, v), path)
	}
	assert.EqualValues(t, 5*4096, r.kok("bpf_mem_cgroup_usage", own))
	assert.EqualValues(t, 7, r.kok("bpf_mem_cgroup_memory_events", own, r.enumerator("MEMCG_MAX")))
	assert.EqualValues(t, 3*4096, r.kok("bpf_mem_cgroup_page_state", own, r.enumerator("NR_INACTIVE_ANON")), "in bytes")
	assert.EqualValues(t, 11, r.kok("bpf_mem_cgroup_page_state", own, r.enumerator("WORKINGSET_REFAULT_ANON")), "counts events")
	assert.Zero(t, r.kok("bpf_mem_cgroup_page_state", own, r.enumerator("MEMCG_ZSWAP_INCOMP")), "negative for a moment")
	assert.EqualValues(t, 9, r.kok("bpf_mem_cgroup_vm_events", own, r.enumerator("PGFAULT")))
	r.kok("bpf_mem_cgroup_flush_stats", own)
	for name, item := range map[string]uint64{
		"bpf_mem_cgroup_memory_events": r.enumerator("MEMCG_NR_MEMORY_EVENTS"), "bpf_mem_cgroup_page_state": r.enumerator("MEMCG_NR_STAT"),
		"bpf_mem_cgroup_vm_events": r.enumerator("PGPGIN"), // only with cgroups of version 1
	} {
		assert.Equal(t, ^uint64(0), r.kok(name, own, item), name)
		assert.Equal(t, ^uint64(0), r.kok(name, own, 0xffffffff), name)
		_, f := r.kfunc(name, states[0], 0)
		assert.NotNil(t, f, "%s of no mem_cgroup", name)
	}
	_, f := r.kfunc("bpf_put_mem_cgroup", own)
	assert.NotNil(t, f, "put twice")
}

// TestMemoryCgroupOfTheScenario: an object whose css.cgroup is a cgroup is that cgroup's.
func TestMemoryCgroupOfTheScenario(t *testing.T) {
	r := newestRig(t)
	memcg, err := r.kernel.NewObjectNamed("memcg", "mem_cgroup")
	require.NoError(t, err)
	own := r.kernel.CgroupStates()[2]
	require.NoError(t, memcg.SetPtr("css.cgroup", r.kernel.ObjectAt(own)))
	assert.Equal(t, memcg.Addr(), r.kok("bpf_get_mem_cgroup", own))
}

func TestWakeupSources(t *testing.T) {
	r := newestRig(t)
	r.context(sys, hook.ContextSpec{})
	lock := r.kok("bpf_wakeup_sources_read_lock")
	assert.EqualValues(t, 1, lock)
	assert.Len(t, r.env.Run.Held.Things(), 1)
	for range 2 {
		head := r.kok("bpf_wakeup_sources_get_head")
		first := r.u64(head)
		source := r.kernel.ObjectAt(first)
		require.NotNil(t, source)
		assert.Equal(t, "wakeup_source", source.TypeName())
		assert.Equal(t, head, r.u64(first), "the only one")
		assert.Equal(t, first, r.u64(head+8))
	}
	r.kok("bpf_wakeup_sources_read_unlock", lock)
	_, f := r.kfunc("bpf_wakeup_sources_read_unlock", lock)
	assert.NotNil(t, f)
}

func TestWakeupSourcesOfTheScenario(t *testing.T) {
	r := newestRig(t)
	var want []uint64
	for _, name := range []string{"a", "b"} {
		o, err := r.kernel.NewObjectNamed(name, "wakeup_source")
		require.NoError(t, err)
		at, err := o.FieldAddr("entry")
		require.NoError(t, err)
		want = append(want, at)
	}
	head := r.kok("bpf_wakeup_sources_get_head")
	assert.Equal(t, append(want, head), []uint64{r.u64(head), r.u64(want[0]), r.u64(want[1])})
	assert.Equal(t, want[1], r.u64(head+8))
}

func TestRingContexts(t *testing.T) {
	r := newestRig(t)
	ctx, err := r.kernel.NewObjectNamed("ctx", "io_ring_ctx")
	require.NoError(t, err)
	page := r.space(4096)
	require.NoError(t, ctx.SetUint("sq_region.nr_pages", 1))
	require.NoError(t, ctx.SetUint("sq_region.ptr", page))
	require.NoError(t, ctx.SetUint("ring_region.nr_pages", 0))
	region := func(id, size uint64) uint64 { return r.kok("bpf_io_uring_get_region", ctx.Addr(), id, size) }
	assert.Equal(t, page, region(2, 4096))
	assert.Zero(t, region(2, 4097), "larger than the region")
	assert.Zero(t, region(1, 1))
	assert.Zero(t, region(3, 0), "no such region")
	for _, name := range []string{"bpf_io_uring_get_region", "bpf_io_uring_submit_sqes"} {
		_, f := r.kfunc(name, page, 0, 0)
		assert.NotNil(t, f, name)
	}
	_, f := r.kfunc("bpf_io_uring_submit_sqes", ctx.Addr(), 1)
	require.NotNil(t, f)
	assert.ErrorContains(t, f, "bpf_io_uring_submit_sqes")
}

func TestTheEndOfTheSystem(t *testing.T) {
	r := newestRig(t)
	r.kok("crash_kexec", 0)
	_, f := r.kfunc("__bpf_trap")
	assert.NotNil(t, f)
}
