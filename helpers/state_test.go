package helpers

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

func TestStorage(t *testing.T) {
	for _, c := range []struct {
		typ      uapi.MapType
		get, del uapi.FuncID
	}{
		{uapi.MapTypeTaskStorage, uapi.FuncTaskStorageGet, uapi.FuncTaskStorageDelete},
		{uapi.MapTypeSkStorage, uapi.FuncSkStorageGet, uapi.FuncSkStorageDelete},
		{uapi.MapTypeInodeStorage, uapi.FuncInodeStorageGet, uapi.FuncInodeStorageDelete},
		{uapi.MapTypeCgrpStorage, uapi.FuncCgrpStorageGet, uapi.FuncCgrpStorageDelete},
	} {
		r := newRig(t, newest)
		m := r.newMap(maps.Spec{Type: c.typ, KeySize: 4, ValueSize: 8, Flags: uapi.MapNoPrealloc})
		task := r.kernel.Current().Addr()
		assert.Zero(t, r.ok(c.get, m.Addr(), task, 0, 0), "nothing yet")
		assert.Zero(t, r.ok(c.get, m.Addr(), 0, 0, 1), "no owner")
		assert.Zero(t, r.ok(c.get, m.Addr(), task, 0, 2), "unknown flag")
		v := r.ok(c.get, m.Addr(), task, r.alloc([]byte{7, 0, 0, 0, 0, 0, 0, 0}), 1)
		require.NotZero(t, v)
		assert.EqualValues(t, 7, r.u64(v))
		assert.Equal(t, v, r.ok(c.get, m.Addr(), task, 0, 1), "the same value")
		assert.EqualValues(t, 7, r.u64(v), "not initialised again")
		assert.NotNil(t, r.mem.Store(v+8, 1, 0), "the value has its own bounds")
		assert.Zero(t, r.ok(c.del, m.Addr(), task))
		assert.Equal(t, neg(uapi.ENOENT), r.ok(c.del, m.Addr(), task))
		assert.Equal(t, neg(uapi.EINVAL), r.ok(c.del, m.Addr(), 0))
		zeroed := r.ok(c.get, m.Addr(), task, 0, 1)
		assert.Zero(t, r.u64(zeroed))
		_, f := r.call(c.get, m.Addr(), 0x1234, 0, 1)
		require.NotNil(t, f, "an owner that is not an object")
		_, f = r.call(c.get, r.newMap(hash).Addr(), task, 0, 1)
		require.NotNil(t, f, "another map type")
	}
	r := newRig(t, newest)
	for _, typ := range []uapi.MapType{uapi.MapTypeCgroupStorage, uapi.MapTypePercpuCgroupStorage} {
		m := r.newMap(maps.Spec{Type: typ, KeySize: 16, ValueSize: 8})
		v := r.ok(uapi.FuncGetLocalStorage, m.Addr(), 0)
		require.NotZero(t, v)
		require.Nil(t, r.mem.Store(v, 8, 5))
		assert.Equal(t, v, r.ok(uapi.FuncGetLocalStorage, m.Addr(), 0))
	}
}

// specialValue builds the BTF of a map value: a struct with the named special struct at offset 0
// and 8 more bytes.
func specialValue(t *testing.T, name string, size uint32) (*btf.Spec, btf.ID) {
	t.Helper()
	b := btf.NewBuilder(nil)
	u64 := b.Int("unsigned long long", 8, 0)
	inner := b.Struct(name, size, btf.Member{Name: "__opaque", Type: b.Array(u64, u64, size/8)})
	val := b.Struct("val", size+8, btf.Member{Name: "special", Type: inner}, btf.Member{Name: "n", Type: u64, BitOffset: 8 * size})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	return spec, val
}

// fire runs what is due and returns how much that was.
func (r *rig) fire() int {
	r.t.Helper()
	n := 0
	for {
		c, ok := r.env.Timers.Take(r.kernel.Clock().Mono())
		if !ok {
			return n
		}
		img, pc, ok := r.text.Resolve(c.Entry)
		require.True(r.t, ok)
		r.thread.StartAt(img, pc, c.Args[:]...)
		require.Equal(r.t, vm.Done, r.thread.Run(1000), "%v", r.thread.Fault())
		r.env.Timers.End(c)
		n++
	}
}

func TestTimers(t *testing.T) {
	for _, typ := range []uapi.MapType{uapi.MapTypeArray, uapi.MapTypeHash} {
		r := newRig(t, newest)
		spec, val := specialValue(t, "bpf_timer", 16)
		m := r.newMap(maps.Spec{Type: typ, KeySize: 4, ValueSize: 24, MaxEntries: 4, BTF: spec, ValueType: val})
		key := []byte{2, 0, 0, 0}
		require.Zero(t, m.Update(0, key, make([]byte, 24), 0))
		v, errno := m.Lookup(0, key)
		require.Zero(t, errno)
		// The callback adds its key to the counter behind the timer.
		cb, err := decode.Assemble("r1 = *(u32 *)(r2 + 0); r2 = *(u64 *)(r3 + 16); r2 += r1; *(u64 *)(r3 + 16) = r2; r0 = 0; exit")
		require.NoError(t, err)
		fn := r.lower(cb, nil).FuncAddr(0)

		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncTimerStart, v, 10, 0), "before init")
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncTimerSetCallback, v, fn), "before init")
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncTimerCancel, v), "before init")
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncTimerInit, v, m.Addr(), 5), "no such clock")
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncTimerInit, v, m.Addr(), 17), "flags")
		assert.Zero(t, r.ok(uapi.FuncTimerInit, v, m.Addr(), uapi.ClockMonotonic))
		assert.Equal(t, neg(uapi.EBUSY), r.ok(uapi.FuncTimerInit, v, m.Addr(), uapi.ClockMonotonic))
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncTimerStart, v, 10, 0), "before its callback is set")
		assert.Zero(t, r.ok(uapi.FuncTimerSetCallback, v, fn))
		assert.Zero(t, r.ok(uapi.FuncTimerCancel, v), "not armed")
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncTimerStart, v, 10, 0), "cancelled: the callback is gone")
		assert.Zero(t, r.ok(uapi.FuncTimerSetCallback, v, fn))
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncTimerStart, v, 10, 4), "flags")
		assert.Zero(t, r.ok(uapi.FuncTimerStart, v, 1000, 0))
		assert.Zero(t, r.fire(), "not yet")
		at, ok := r.env.Timers.Next()
		require.True(t, ok)
		assert.Equal(t, r.kernel.Clock().Mono()+1000, at)
		before := r.env.Snapshot()
		r.kernel.Clock().Advance(1000)
		assert.Equal(t, 1, r.fire())
		assert.EqualValues(t, 2, r.u64(v+16))
		assert.Zero(t, r.fire(), "once")
		r.env.Restore(before)
		assert.Equal(t, 1, r.fire(), "armed again in the snapshot")
		assert.Zero(t, r.ok(uapi.FuncTimerStart, v, r.kernel.Clock().Mono()+50, uapi.TimerAbs))
		assert.EqualValues(t, 1, r.ok(uapi.FuncTimerCancel, v), "armed")
		assert.Zero(t, r.fire())
		assert.Zero(t, r.ok(uapi.FuncTimerSetCallback, v, fn))
		assert.Zero(t, r.ok(uapi.FuncTimerStart, v, 0, 0))
		own, ok := r.env.Timers.Take(r.kernel.Clock().Mono())
		require.True(t, ok)
		assert.Equal(t, neg(uapi.EDEADLK), r.ok(uapi.FuncTimerCancel, v), "in an interrupt of its callback")
		r.thread.CPU++
		assert.Equal(t, neg(uapi.EOPNOTSUPP), r.ok(uapi.FuncTimerCancel, v), "in an interrupt elsewhere")
		r.thread.CPU--
		r.env.Run.Callback = own.Addr
		assert.Equal(t, neg(uapi.EDEADLK), r.ok(uapi.FuncTimerCancel, v), "in its own callback")
		r.env.Run.Callback = 0
		r.env.Timers.End(own)
		assert.Zero(t, r.ok(uapi.FuncTimerSetCallback, v, fn))
		assert.Zero(t, r.ok(uapi.FuncTimerStart, v, 5, 0))
		if typ == uapi.MapTypeHash {
			require.Zero(t, m.Delete(key))
			_, ok := r.env.Timers.Next()
			assert.False(t, ok, "deleting the element cancels its timer")
		}
	}
	old := newRig(t, uapi.VersionCode(6, 1))
	assert.Equal(t, neg(uapi.EINVAL), old.ok(uapi.FuncTimerStart, 0, 10, uapi.TimerAbs), "before 6.4")
}

func TestTimersFireInOrder(t *testing.T) {
	r := newRig(t, newest)
	var mem [3]uint64
	m := r.newMap(maps.Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 24, MaxEntries: 3})
	cb, err := decode.Assemble("r0 = 0; exit")
	require.NoError(t, err)
	fn := r.lower(cb, nil).FuncAddr(0)
	for i, after := range []uint64{300, 100, 100} {
		mem[i], _ = m.Lookup(0, []byte{byte(i), 0, 0, 0})
		r.ok(uapi.FuncTimerInit, mem[i], m.Addr(), 1)
		r.ok(uapi.FuncTimerSetCallback, mem[i], fn)
		r.ok(uapi.FuncTimerStart, mem[i], after, 0)
	}
	r.kernel.Clock().Advance(1000)
	var order []uint64
	for range 3 {
		c, ok := r.env.Timers.Take(r.kernel.Clock().Mono())
		require.True(t, ok)
		order = append(order, c.Args[2])
		r.env.Timers.End(c)
	}
	assert.Equal(t, []uint64{mem[1], mem[2], mem[0]}, order)
}

func TestWorkQueue(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 24, MaxEntries: 1})
	v, _ := m.Lookup(0, make([]byte, 4))
	cb, err := decode.Assemble("*(u64 *)(r3 + 16) = 9; r0 = 0; exit")
	require.NoError(t, err)
	fn := r.lower(cb, nil).FuncAddr(0)
	einval := uint64(uint32(neg(uapi.EINVAL)))
	assert.Equal(t, einval, r.kok("bpf_wq_start", v, 0))
	assert.Equal(t, einval, r.kok("bpf_wq_init", v, m.Addr(), 1))
	assert.Zero(t, r.kok("bpf_wq_init", v, m.Addr(), 0))
	assert.Equal(t, uint64(uint32(neg(uapi.EBUSY))), r.kok("bpf_wq_init", v, m.Addr(), 0))
	assert.Equal(t, einval, r.kok("bpf_wq_start", v, 0), "no callback")
	assert.Equal(t, einval, r.kok("bpf_wq_set_callback_impl", v, fn, 1, 0))
	assert.Zero(t, r.kok("bpf_wq_set_callback_impl", v, fn, 0, 0))
	assert.Zero(t, r.kok("bpf_wq_set_callback", v, fn, 0))
	assert.Zero(t, r.kok("bpf_wq_start", v, 0))
	assert.Equal(t, 1, r.fire())
	assert.EqualValues(t, 9, r.u64(v+16))
}

func TestKptrXchg(t *testing.T) {
	r := newRig(t, newest)
	field := r.space(8)
	task := r.kernel.Current()
	pid, err := task.Uint("pid")
	require.NoError(t, err)
	p := r.kok("bpf_task_from_pid", pid)
	require.Equal(t, task.Addr(), p)
	require.Len(t, r.env.Run.Held.Things(), 1)
	assert.Zero(t, r.ok(uapi.FuncKptrXchg, field, p), "the field was empty")
	assert.Empty(t, r.env.Run.Held.Things(), "the map holds the reference")
	assert.Equal(t, p, r.ok(uapi.FuncKptrXchg, field, 0))
	require.Len(t, r.env.Run.Held.Things(), 1, "and the program again")
	r.kok("bpf_task_release", p)
	assert.Empty(t, r.env.Run.Held.Things())
	_, f := r.call(uapi.FuncKptrXchg, field, p)
	require.NotNil(t, f, "a pointer without reference")
	_, f = r.kfunc("bpf_task_release", p)
	require.NotNil(t, f, "released twice")
	assert.Zero(t, r.kok("bpf_task_from_vpid", 0xffffffff))
}

func TestObjects(t *testing.T) {
	r := newRig(t, newest)
	task := r.kernel.Current()
	assert.Equal(t, task.Addr(), r.kok("bpf_task_acquire", task.Addr()))
	r.kok("bpf_task_release", task.Addr())
	_, f := r.kfunc("bpf_task_acquire", 0x1000)
	require.NotNil(t, f)
	own, err := task.Pointee("cgroups.dfl_cgrp")
	require.NoError(t, err)
	cg := r.kok("bpf_cgroup_from_id", r.kernel.CgroupID())
	assert.Equal(t, own.Addr(), cg)
	assert.Zero(t, r.kok("bpf_cgroup_from_id", 12345678))
	assert.Equal(t, cg, r.kok("bpf_cgroup_acquire", cg))
	root := r.kok("bpf_cgroup_ancestor", cg, 0)
	require.NotZero(t, root)
	assert.Zero(t, r.kok("bpf_cgroup_ancestor", cg, 9))
	assert.Zero(t, r.kok("bpf_cgroup_ancestor", cg, neg(uapi.EPERM)))
	assert.EqualValues(t, 1, r.kok("bpf_task_under_cgroup", task.Addr(), root))
	for _, a := range []uint64{cg, cg, root} {
		r.kok("bpf_cgroup_release", a)
	}
	assert.Empty(t, r.env.Run.Held.Things())
	file := r.kok("bpf_get_task_exe_file", task.Addr())
	require.NotZero(t, file)
	f2 := r.kernel.ObjectAt(file)
	fld, err := r.kernel.BTF().ResolvePath(f2.Type(), "f_path")
	require.NoError(t, err)
	buf := r.space(256)
	n := r.ok(uapi.FuncDPath, file+uint64(fld.Offset()), buf, 256)
	require.Greater(t, int64(n), int64(1))
	text := r.bytes(buf, int(n))
	assert.Equal(t, byte('/'), text[0])
	assert.Zero(t, text[n-1])
	assert.Equal(t, n, r.kok("bpf_path_d_path", file+uint64(fld.Offset()), buf, 256))
	assert.Equal(t, neg(uapi.ENAMETOOLONG), r.ok(uapi.FuncDPath, file+uint64(fld.Offset()), buf, n-1))
	assert.Zero(t, r.ok(uapi.FuncDPath, file+uint64(fld.Offset()), buf, 0))
	r.kok("bpf_put_file", file)
	assert.Empty(t, r.env.Run.Held.Things())
	known, err := r.kernel.NewFile("known", model.FileSpec{Path: "/etc/ssh/sshd_config", Ino: 7})
	require.NoError(t, err)
	n = r.ok(uapi.FuncDPath, known.Addr()+uint64(fld.Offset()), buf, 256)
	assert.Equal(t, "/etc/ssh/sshd_config\x00", string(r.bytes(buf, int(n))))
}

func TestCpumasks(t *testing.T) {
	r := newRig(t, newest)
	a, b := r.kok("bpf_cpumask_create"), r.kok("bpf_cpumask_create")
	require.NotZero(t, a)
	require.NotEqual(t, a, b)
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_empty", a))
	assert.EqualValues(t, 2, r.kok("bpf_cpumask_first", a), "nr_cpu_ids")
	r.kok("bpf_cpumask_set_cpu", 1, a)
	r.kok("bpf_cpumask_set_cpu", 7, a)
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_weight", a), "there is no CPU 7")
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_first", a))
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_any_distribute", a))
	assert.Zero(t, r.kok("bpf_cpumask_first_zero", a))
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_test_cpu", 1, a))
	assert.Zero(t, r.kok("bpf_cpumask_test_and_set_cpu", 0, b))
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_test_and_set_cpu", 0, b))
	assert.Zero(t, r.kok("bpf_cpumask_intersects", a, b))
	assert.Zero(t, r.kok("bpf_cpumask_equal", a, b))
	assert.EqualValues(t, 2, r.kok("bpf_cpumask_first_and", a, b))
	assert.EqualValues(t, 2, r.kok("bpf_cpumask_any_and_distribute", a, b))
	r.kok("bpf_cpumask_or", a, a, b)
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_full", a))
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_subset", b, a))
	r.kok("bpf_cpumask_xor", a, a, b)
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_first", a))
	assert.Zero(t, r.kok("bpf_cpumask_and", a, a, b))
	r.kok("bpf_cpumask_setall", a)
	assert.EqualValues(t, 2, r.kok("bpf_cpumask_weight", a))
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_test_and_clear_cpu", 0, a))
	r.kok("bpf_cpumask_clear_cpu", 1, a)
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_empty", a))
	r.kok("bpf_cpumask_copy", a, b)
	assert.EqualValues(t, 1, r.kok("bpf_cpumask_equal", a, b))
	r.kok("bpf_cpumask_clear", a)
	r.kok("bpf_cpumask_acquire", a)
	r.kok("bpf_cpumask_release", a)
	r.kok("bpf_cpumask_release", a)
	r.kok("bpf_cpumask_release", b)
	assert.Empty(t, r.env.Run.Held.Things())
	_, f := r.kfunc("bpf_cpumask_weight", 0x1234)
	require.NotNil(t, f)
}

func TestLocks(t *testing.T) {
	r := newRig(t, newest)
	lock := r.space(8)
	r.ok(uapi.FuncSpinLock, lock)
	require.Len(t, r.env.Run.Held.Things(), 1)
	_, f := r.call(uapi.FuncSpinLock, lock)
	require.NotNil(t, f)
	assert.Equal(t, vm.Deadlock, f.Kind)
	r.ok(uapi.FuncSpinUnlock, lock)
	assert.Zero(t, r.u32(lock))
	_, f = r.call(uapi.FuncSpinUnlock, lock)
	require.NotNil(t, f)
	assert.Zero(t, r.kok("bpf_res_spin_lock", lock))
	assert.Equal(t, uint64(uint32(neg(uapi.EDEADLK))), r.kok("bpf_res_spin_lock", lock))
	r.kok("bpf_res_spin_unlock", lock)
	assert.Empty(t, r.env.Run.Held.Things())
	for _, pair := range [][2]string{{"bpf_rcu_read_lock", "bpf_rcu_read_unlock"}, {"bpf_preempt_disable", "bpf_preempt_enable"}} {
		_, f = r.kfunc(pair[1])
		require.NotNil(t, f, "left without entering")
		r.kok(pair[0])
		assert.Len(t, r.env.Run.Held.Things(), 1)
		r.kok(pair[1])
		assert.Empty(t, r.env.Run.Held.Things())
	}
}

func TestArenaPages(t *testing.T) {
	r := newRig(t, newest)
	m := r.newMap(maps.Spec{Type: uapi.MapTypeArena, MaxEntries: 4, Flags: uapi.MapMmapable})
	p := r.kok("bpf_arena_alloc_pages", m.Addr(), 0, 3, ^uint64(0), 0)
	require.NotZero(t, p)
	assert.Zero(t, r.kok("bpf_arena_alloc_pages", m.Addr(), 0, 2, ^uint64(0), 0), "only one is left")
	assert.Zero(t, r.kok("bpf_arena_alloc_pages", m.Addr(), 0, 0, ^uint64(0), 0))
	assert.Zero(t, r.kok("bpf_arena_alloc_pages", m.Addr(), 0, 1, ^uint64(0), 1), "flags")
	r.kok("bpf_arena_free_pages", m.Addr(), p, 3)
	assert.NotZero(t, r.kok("bpf_arena_alloc_pages", m.Addr(), 0, 4, ^uint64(0), 0))
	other := r.newMap(hash).Addr()
	assert.Zero(t, r.kok("bpf_arena_alloc_pages", other, 0, 1, 0, 0))
	assert.Zero(t, r.kok("bpf_arena_free_pages", other, p, 1))
	assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_arena_reserve_pages", other, p, 1))
}

func TestThrow(t *testing.T) {
	r := newRig(t, newest)
	ret, f := r.kfunc("bpf_throw", 42)
	require.Nil(t, f)
	assert.EqualValues(t, 42, ret)
}

// TestProbeReadsPastObjects: the kernel's memory continues after an object, so a probe read past
// its end succeeds with bytes nobody can rely on; only what is not there fails.
func TestProbeReadsPastObjects(t *testing.T) {
	r := newRig(t, newest)
	var warned []string
	r.env.probe.Warn = func(text string) { warned = append(warned, text) }
	obj, dst := r.alloc([]byte("0123456789abcdef")), r.space(64)
	gone := r.alloc([]byte("0123456789abcdef"))
	r.env.Mem.Free(r.env.Mem.Find(gone))
	for _, id := range []uapi.FuncID{uapi.FuncProbeRead, uapi.FuncProbeReadKernel} {
		for _, n := range []uint64{17, 24, 64} {
			warned = nil
			assert.Zero(t, r.ok(id, dst, n, obj))
			first := r.bytes(dst, int(n))
			assert.Equal(t, "0123456789abcdef", string(first[:16]), "what the object has")
			assert.Zero(t, r.ok(id, dst, n, obj))
			assert.Equal(t, first, r.bytes(dst, int(n)), "the rest follows from the seed")
			require.NotEmpty(t, warned)
			assert.Contains(t, warned[0], fmt.Sprintf("reads %d byte", n-16))
			assert.Contains(t, warned[0], "the bytes there vary")
		}
		warned = nil
		assert.Equal(t, neg(uapi.EFAULT), r.ok(id, dst, 8, obj+16), "after the end is nothing")
		assert.Empty(t, warned)
		assert.Equal(t, neg(uapi.EFAULT), r.ok(id, dst, 8, gone))
		assert.Equal(t, make([]byte, 8), r.bytes(dst, 8), "zeroed on failure")
		require.Len(t, warned, 1)
		assert.Contains(t, warned[0], "which was freed")
	}
	for _, id := range []uapi.FuncID{uapi.FuncProbeReadStr, uapi.FuncProbeReadKernelStr} {
		warned = nil
		n := r.ok(id, dst, 32, obj)
		assert.True(t, n > 16 && n <= 32, "%d", n)
		text := r.bytes(dst, int(n))
		assert.Equal(t, "0123456789abcdef", string(text[:16]))
		assert.Zero(t, text[n-1], "it ends with a NUL")
		require.Len(t, warned, 1)
	}
	assert.EqualValues(t, 0x6665, r.env.LoadPast(r.env.Mem.Find(obj), obj+14, 4)&0xffff, "a load through a typed pointer")
}

func TestProbeReadsAtObjectEnds(t *testing.T) {
	r := newRig(t, newest)
	r.env.probe.Strict = true
	obj := r.alloc([]byte("0123456789abcdef"))
	dst := r.space(64)
	for _, id := range []uapi.FuncID{uapi.FuncProbeRead, uapi.FuncProbeReadKernel} {
		assert.Zero(t, r.ok(id, dst, 16, obj))
		_, f := r.call(id, dst, 17, obj)
		require.NotNil(t, f, "one byte too many")
		assert.Equal(t, mem.OutOfBounds, f.Mem.Kind)
		_, f = r.call(id, dst, 65, obj)
		require.NotNil(t, f)
		_, f = r.call(id, dst+60, 8, obj)
		require.NotNil(t, f, "destination too small")
	}
	for _, id := range []uapi.FuncID{uapi.FuncProbeReadStr, uapi.FuncProbeReadKernelStr} {
		_, f := r.call(id, dst, 32, obj)
		require.NotNil(t, f, "a string without end runs off its object")
		assert.EqualValues(t, 16, r.ok(id, dst, 16, obj))
		assert.Equal(t, "0123456789abcde\x00", string(r.bytes(dst, 16)))
	}
	task := r.kernel.Current()
	fld, err := r.kernel.BTF().ResolvePath(task.Type(), "comm")
	require.NoError(t, err)
	require.NoError(t, task.Set("comm", "tester"))
	assert.EqualValues(t, 7, r.ok(uapi.FuncProbeReadKernelStr, dst, 16, task.Addr()+uint64(fld.Offset())))
	assert.Equal(t, "tester", cString(r.bytes(dst, 16)))
	user := r.kernel.UserString("from user space")
	assert.Zero(t, r.ok(uapi.FuncProbeReadUser, dst, 4, user))
	assert.Equal(t, "from", string(r.bytes(dst, 4)))
	assert.EqualValues(t, 16, r.ok(uapi.FuncProbeReadUserStr, dst, 32, user))
	assert.Equal(t, neg(uapi.EFAULT), r.ok(uapi.FuncProbeReadUserStr, dst, 32, 8))
	assert.Equal(t, make([]byte, 32), r.bytes(dst, 32), "zeroed on failure")
	assert.EqualValues(t, 16, r.ok(uapi.FuncProbeReadStr, dst, 32, user), "the old helper reads both spaces")
	assert.Zero(t, r.ok(uapi.FuncCopyFromUser, dst, 4, user))
	assert.Zero(t, r.ok(uapi.FuncCopyFromUserTask, dst, 4, user, task.Addr(), 0))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncCopyFromUserTask, dst, 4, user, task.Addr(), 1))
	assert.EqualValues(t, 16, r.kok("bpf_copy_from_user_str", dst, 64, user, 0))
	assert.EqualValues(t, 8, r.kok("bpf_copy_from_user_str", dst, 8, user, 1))
	assert.Equal(t, "from us\x00", string(r.bytes(dst, 8)))
	assert.Zero(t, r.ok(uapi.FuncProbeWriteUser, user, r.str("INTO"), 4))
	assert.Zero(t, r.ok(uapi.FuncProbeReadUser, dst, 9, user))
	assert.Equal(t, "INTO user", string(r.bytes(dst, 9)))
	assert.Equal(t, neg(uapi.EPERM), r.ok(uapi.FuncProbeWriteUser, task.Addr(), r.str("INTO"), 4))
	assert.Equal(t, neg(uapi.EFAULT), r.ok(uapi.FuncProbeWriteUser, 0x5000, r.str("INTO"), 4))
}
