package helpers

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/owned"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// collect walks an open-coded iterator to its end.
func (r *rig) collect(next string, it uint64) (out []uint64) {
	r.t.Helper()
	for p := r.kok(next, it); p != 0; p = r.kok(next, it) {
		require.Less(r.t, len(out), 1000)
		out = append(out, p)
	}
	return out
}

func TestTaskIterators(t *testing.T) {
	r := newRig(t, newest)
	r.context(sys, hook.ContextSpec{})
	cur, it := r.kernel.Current().Addr(), r.space(24)
	walk := func(kind, task uint64) []uint64 {
		require.Zero(t, r.kok("bpf_iter_task_new", it, task, kind))
		defer r.kok("bpf_iter_task_destroy", it)
		return r.collect("bpf_iter_task_next", it)
	}
	thread, err := r.kernel.NewTask("worker")
	require.NoError(t, err)
	require.NoError(t, thread.Set("tgid", 4000))
	require.NoError(t, thread.Set("pid", 4003))
	all, processes := walk(allThreads, 0), walk(allProcesses, 0)
	assert.Contains(t, all, cur)
	assert.Contains(t, processes, cur, "the current task is a process")
	assert.Contains(t, all, thread.Addr())
	assert.NotContains(t, processes, thread.Addr())
	assert.Contains(t, walk(processThreads, cur), cur)
	for _, bad := range [][2]uint64{{0, processThreads}, {0, 3}} {
		assert.Equal(t, uint64(uint32(neg(uapi.EINVAL))), r.kok("bpf_iter_task_new", it, bad[0], bad[1]))
		assert.Empty(t, r.collect("bpf_iter_task_next", it))
	}
}

func TestCgroupIterators(t *testing.T) {
	r := newRig(t, newest)
	r.context(sys, hook.ContextSpec{})
	states, it := r.kernel.CgroupStates(), r.space(24)
	root, own := states[0], states[len(states)-1]
	walk := func(start, kind uint64) []uint64 {
		require.Zero(t, r.kok("bpf_iter_css_new", it, start, kind))
		defer r.kok("bpf_iter_css_destroy", it)
		return r.collect("bpf_iter_css_next", it)
	}
	reversed := slices.Clone(states)
	slices.Reverse(reversed)
	assert.Equal(t, states, walk(root, descendantsPre))
	assert.Equal(t, reversed, walk(root, descendantsPost))
	assert.Equal(t, reversed, walk(own, ancestorsUp))
	assert.Equal(t, []uint64{root}, walk(root, ancestorsUp))
	assert.Equal(t, uint64(uint32(neg(uapi.EINVAL))), r.kok("bpf_iter_css_new", it, root, 9))
	for _, c := range []struct {
		css  uint64
		want []uint64
	}{{own, []uint64{r.kernel.Current().Addr()}}, {root, nil}} {
		require.Zero(t, r.kok("bpf_iter_css_task_new", it, c.css, 0))
		assert.Equal(t, c.want, r.collect("bpf_iter_css_task_next", it))
		r.kok("bpf_iter_css_task_destroy", it)
	}
	assert.Equal(t, uint64(uint32(neg(uapi.EINVAL))), r.kok("bpf_iter_css_task_new", it, own, 8))
}

// checkTree returns the depth of black nodes, which has to be the same on every way, and the keys
// in order.
func (r *rig) checkTree(n, parent uint64, red bool) (depth int, keys []uint64) {
	const black, tags = 1, 3 // bits of the parent word
	r.t.Helper()
	if n == 0 {
		return 1, nil
	}
	word := r.u64(n + owned.TreeOwner)
	isRed := word&black == 0
	require.False(r.t, red && isRed, "two red nodes in a row")
	if parent != 0 {
		require.Equal(r.t, parent, word&^uint64(tags))
	}
	left, lower := r.checkTree(r.u64(n+owned.TreeLeft), n, isRed)
	right, upper := r.checkTree(r.u64(n+owned.TreeRight), n, isRed)
	require.Equal(r.t, left, right, "black nodes on both sides")
	if !isRed {
		left++
	}
	return left, append(append(lower, r.u64(n-nodeAt)), upper...)
}

func TestTreesStayBalanced(t *testing.T) {
	r := newRig(t, newest)
	typ, root := r.withLocal(), r.space(16)
	cb, err := decode.Assemble("r1 = *(u64 *)(r1 - 8); r2 = *(u64 *)(r2 - 8); r0 = 0; if r1 >= r2 goto +1; r0 = 1; exit")
	require.NoError(t, err)
	less := r.lower(cb, nil).FuncAddr(0)
	rnd := rand.New(rand.NewPCG(1, 2))
	var nodes []uint64
	for range 300 {
		if len(nodes) > 0 && rnd.IntN(5) < 2 {
			i := rnd.IntN(len(nodes))
			require.Equal(t, nodes[i], r.kok("bpf_rbtree_remove", root, nodes[i]))
			r.kok("bpf_obj_drop_impl", nodes[i]-nodeAt, 0)
			nodes = slices.Delete(nodes, i, i+1)
		} else {
			n := r.item(typ, uint64(rnd.IntN(50))) + nodeAt
			require.Zero(t, r.kok("bpf_rbtree_add_impl", root, n, less, 0, 0))
			nodes = append(nodes, n)
		}
		_, keys := r.checkTree(r.u64(root), 0, false)
		require.Len(t, keys, len(nodes))
		require.True(t, slices.IsSorted(keys))
	}
	top := r.kok("bpf_rbtree_root", root)
	assert.Equal(t, r.u64(top+owned.TreeLeft), r.kok("bpf_rbtree_left", root, top))
	assert.Equal(t, r.u64(top+owned.TreeRight), r.kok("bpf_rbtree_right", root, top))
	assert.Zero(t, r.kok("bpf_rbtree_left", r.space(16), top), "of another tree")
	r.env.FreeField(nil, maps.Special{Kind: maps.RBRoot}, root)
	assert.NotNil(t, r.mem.Store(nodes[0], 8, 1), "the tree's objects go with the map element")
}

// TestTreesOfCircles: programs can store to nodes, so that a tree has no end.
func TestTreesOfCircles(t *testing.T) {
	r := newRig(t, newest)
	typ := r.withLocal()
	circle := func(word uint64) (root, a, b uint64) {
		root, a, b = r.space(16), r.item(typ, 1)+nodeAt, r.item(typ, 2)+nodeAt
		for at, v := range map[uint64]uint64{root: a, a + word: b, b + word: a} {
			require.Nil(t, r.mem.Store(at, 8, v))
		}
		return root, a, b
	}
	for _, word := range []uint64{owned.TreeLeft, owned.TreeRight, owned.TreeOwner} {
		root, a, _ := circle(word)
		_, f := r.kfunc("bpf_rbtree_first", root)
		assert.Equal(t, word == owned.TreeLeft, f != nil, "first, %d", word)
		assert.Zero(t, r.kok("bpf_rbtree_remove", root, a), "%d", word)
	}
	for _, word := range []uint64{owned.TreeLeft, owned.TreeRight, owned.TreeOwner} {
		root, a, b := circle(word)
		for at, v := range map[uint64]uint64{a + owned.TreeOwner: b | 1, b + owned.TreeOwner: a | 1} {
			require.Nil(t, r.mem.Store(at, 8, v))
		}
		r.env.FreeField(nil, maps.Special{Kind: maps.RBRoot}, root)
	}
}

func TestPerCPUObjects(t *testing.T) {
	r := newRig(t, newest)
	typ := r.withLocal()
	p := r.kok("bpf_percpu_obj_new_impl", typ, 0)
	require.NotZero(t, p)
	first, second := r.ok(uapi.FuncPerCpuPtr, p, 0), r.ok(uapi.FuncPerCpuPtr, p, 1)
	assert.NotEqual(t, first, second)
	assert.Equal(t, first, r.ok(uapi.FuncThisCpuPtr, p))
	assert.Zero(t, r.ok(uapi.FuncPerCpuPtr, p, 1000))
	require.Nil(t, r.mem.Store(first, 8, 7))
	assert.Zero(t, r.u64(second))
	r.kok("bpf_percpu_obj_drop_impl", p, 0)
	assert.Empty(t, r.env.Run.Held.Things())
	_, f := r.kfunc("bpf_percpu_obj_new_impl", 999, 0)
	assert.NotNil(t, f)
}

func TestInterruptSections(t *testing.T) {
	r := newRig(t, newest)
	flags, lock := r.space(8), r.space(8)
	r.kok("bpf_local_irq_save", flags)
	assert.Len(t, r.env.Run.Held.Things(), 1)
	r.kok("bpf_local_irq_restore", flags)
	assert.Empty(t, r.env.Run.Held.Things())
	_, f := r.kfunc("bpf_local_irq_restore", flags)
	require.NotNil(t, f, "restored twice")
	require.Zero(t, r.kok("bpf_res_spin_lock_irqsave", lock, flags))
	assert.Len(t, r.env.Run.Held.Things(), 2)
	assert.Equal(t, uint64(uint32(neg(uapi.EDEADLK))), r.kok("bpf_res_spin_lock_irqsave", lock, flags))
	assert.Len(t, r.env.Run.Held.Things(), 2, "a lock that was not taken keeps interrupts as they were")
	r.kok("bpf_res_spin_unlock_irqrestore", lock, flags)
	assert.Empty(t, r.env.Run.Held.Things())
}

func TestPopulateCPUMask(t *testing.T) {
	r := newRig(t, newest)
	m := r.kok("bpf_cpumask_create")
	bits := r.alloc([]byte{2, 0, 0, 0, 0, 0, 0, 0})
	assert.Zero(t, r.kok("bpf_cpumask_populate", m, bits, 8))
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_first", m))
	assert.Equal(t, uint64(uint32(neg(uapi.EACCES))), r.kok("bpf_cpumask_populate", m, bits, 4))
	r.kok("bpf_cpumask_release", m)
}

func TestReserveArenaPages(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypeArena, MaxEntries: 4, Flags: uapi.MapMmapable})
	first := r.kok("bpf_arena_alloc_pages", m.Addr(), 0, 1, neg(1), 0)
	require.NotZero(t, first)
	const page = 4096
	for _, c := range []struct {
		addr, n uint64
		want    uapi.Errno
	}{{first + page, 1, 0}, {first + page, 1, uapi.EBUSY}, {first, 1, uapi.EBUSY}, {first, 0, 0}, {first + 1, 1, uapi.EINVAL}, {first, 9, uapi.EINVAL}} {
		assert.Equal(t, uint64(uint32(c.want.Ret())), r.kok("bpf_arena_reserve_pages", m.Addr(), c.addr, c.n), "%+v", c)
	}
	assert.Equal(t, first+2*page, r.kok("bpf_arena_alloc_pages", m.Addr(), 0, 1, 0, 0))
	assert.Zero(t, r.kok("bpf_arena_alloc_pages", m.Addr(), 0, 1, 5, 0), "no such node")
}
