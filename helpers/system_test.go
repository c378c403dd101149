package helpers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// short is the result of a kfunc that returns int.
func short(e uapi.Errno) uint64 { return uint64(uint32(neg(e))) }

var linux72 = uapi.VersionCode(7, 2)

// TestListsByPosition: nodes are put after, taken from and found at places in a list; those of
// other lists are refused.
func TestListsByPosition(t *testing.T) {
	r := newRig(t, linux72)
	typ, head, other := r.withLocal(), r.space(16), r.space(16)
	node := func(n uint64) uint64 { return r.item(typ, n) + nodeAt }
	assert.EqualValues(t, 1, r.kok("bpf_list_empty", head))
	a, b, c := node(1), node(2), node(3)
	require.Zero(t, r.kok("bpf_list_push_back", head, a))
	require.Zero(t, r.kok("bpf_list_add", head, b, a))
	require.Zero(t, r.kok("bpf_list_add", head, c, a))
	assert.Zero(t, r.kok("bpf_list_empty", head))
	for i, tt := range []struct {
		node                 uint64
		first, last, foreign uint64
	}{{a, 1, 0, 0}, {c, 0, 0, 0}, {b, 0, 1, 0}} {
		assert.Equal(t, tt.first, r.kok("bpf_list_is_first", head, tt.node), i)
		assert.Equal(t, tt.last, r.kok("bpf_list_is_last", head, tt.node), i)
		assert.Equal(t, tt.foreign, r.kok("bpf_list_is_first", other, tt.node), i)
		assert.Zero(t, r.kok("bpf_list_is_last", other, tt.node), i)
	}
	assert.Zero(t, r.kok("bpf_list_del", other, c), "it is in another list")
	assert.Equal(t, c, r.kok("bpf_list_del", head, c))
	assert.Len(t, r.env.Run.Held.Things(), 1)
	assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_list_add", other, c, a), "not after a node of another list")
	assert.Empty(t, r.env.Run.Held.Things(), "the node was dropped")
	assert.Equal(t, b, r.kok("bpf_list_pop_back", head))
	assert.Equal(t, a, r.kok("bpf_list_pop_back", head))
	_, f := r.kfunc("bpf_list_is_first", head, 0)
	assert.NotNil(t, f)
}

// TestStringsIntoDynptrs: what fits, what is cut, what is not there.
func TestStringsIntoDynptrs(t *testing.T) {
	r := newRig(t, newest)
	r.context(tc, hook.ContextSpec{})
	task := r.kernel.Current().Addr()
	mem, d, null := r.space(16), r.space(16), r.space(16)
	require.Zero(t, r.ok(uapi.FuncDynptrFromMem, mem, 16, 0, d))
	inKernel, inUser := r.str("a string"), r.kernel.UserString("a string")
	for _, tt := range []struct {
		name    string
		src     uint64
		task    bool
		nowhere uapi.Errno // for an address of user space with nothing behind it
	}{
		{"bpf_probe_read_kernel_str_dynptr", inKernel, false, uapi.ERANGE}, {"bpf_probe_read_user_str_dynptr", inUser, false, uapi.EFAULT},
		{"bpf_copy_from_user_str_dynptr", inUser, false, uapi.EFAULT}, {"bpf_copy_from_user_task_str_dynptr", inUser, true, uapi.EFAULT},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := func(d, off, n, src uint64) []uint64 { return []uint64{d, off, n, src, task} }
			for _, c := range []struct {
				off, n uint64
				src    uint64
				want   uint64
				left   string
			}{
				{0, 16, tt.src, 9, "a string\x00"}, {2, 9, tt.src, 9, "zza string\x00z"}, {0, 4, tt.src, 4, "a s\x00z"}, {0, 1, tt.src, 1, "\x00z"}, {0, 0, tt.src, 0, "z"},
				{8, 9, tt.src, short(uapi.E2BIG), "z"}, {17, 0, tt.src, short(uapi.E2BIG), "z"}, {0, 8, 8, short(tt.nowhere), map[bool]string{true: "\x00z", false: "z"}[tt.task]},
			} {
				require.Nil(t, r.mem.Write(mem, []byte(strings.Repeat("z", 16))))
				assert.Equal(t, c.want, r.kok(tt.name, args(d, c.off, c.n, c.src)...), "%d bytes at %d", c.n, c.off)
				assert.Equal(t, c.left, string(r.bytes(mem, len(c.left))))
			}
			assert.Equal(t, short(uapi.E2BIG), r.kok(tt.name, args(null, 0, 1, tt.src)...))
			if tt.task {
				_, f := r.kfunc(tt.name, d, 0, 1, tt.src, 0)
				assert.NotNil(t, f, "no task")
			}
		})
	}
	assert.Zero(t, r.kok("bpf_copy_from_user_task_dynptr", d, 0, 8, inUser, task))
	assert.Equal(t, "a string", string(r.bytes(mem, 8)))
	_, f := r.kfunc("bpf_copy_from_user_task_dynptr", d, 0, 8, inUser, 0)
	assert.NotNil(t, f)

	for _, c := range []struct{ n, src, flags, want uint64 }{
		{16, inUser, 0, 9}, {16, inUser, 1, 9}, {4, inUser, 0, 4}, {0, inUser, 0, 0}, {16, inUser, 2, short(uapi.EINVAL)}, {16, 8, 1, short(uapi.EFAULT)},
	} {
		assert.Equal(t, c.want, r.kok("bpf_copy_from_user_task_str", mem, c.n, c.src, task, c.flags))
	}
	assert.Equal(t, make([]byte, 16), r.bytes(mem, 16), "zeros after an error with BPF_F_PAD_ZEROS")
}

// TestMetadataDynptr reaches the bytes that XDP left before the packet, and only those.
func TestMetadataDynptr(t *testing.T) {
	r := newRig(t, newest)
	ctx := r.context(tc, hook.ContextSpec{})
	d, buf := r.space(16), r.str("metadata")
	require.Zero(t, r.kok("bpf_dynptr_from_skb_meta", ctx.Addr, 0, d))
	assert.EqualValues(t, ctx.Packet.Data()-ctx.Packet.Meta(), r.kok("bpf_dynptr_size", d))
	assert.Equal(t, neg(uapi.E2BIG), r.ok(uapi.FuncDynptrRead, buf, 8, d, 0, 0))
	assert.Zero(t, r.ok(uapi.FuncDynptrRead, buf, 0, d, 0, 0))
	assert.Equal(t, neg(uapi.E2BIG), r.ok(uapi.FuncDynptrWrite, d, 0, buf, 1, 0))
	assert.Zero(t, r.ok(uapi.FuncDynptrData, d, 0, 0))

	require.Zero(t, ctx.Packet.AdjustMeta(-8))
	require.Zero(t, r.kok("bpf_dynptr_from_skb_meta", ctx.Addr, 0, d))
	assert.EqualValues(t, 8, r.kok("bpf_dynptr_size", d))
	require.Zero(t, r.ok(uapi.FuncDynptrWrite, d, 2, buf, 6, 0))
	assert.Equal(t, "metada", string(r.bytes(ctx.Packet.Meta()+2, 6)))
	assert.Equal(t, ctx.Packet.Meta()+4, r.kok("bpf_dynptr_slice", d, 4, 0, 4))
	assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncDynptrWrite, d, 0, buf, 1, 1), "flags")

	assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_dynptr_from_skb_meta", ctx.Addr, 1, d))
	assert.EqualValues(t, 1, r.kok("bpf_dynptr_is_null", d))
	_, f := r.kfunc("bpf_dynptr_from_skb_meta", buf, 0, d)
	assert.NotNil(t, f)
}

// TestFileDynptr: no page of a file is in memory, and the dynptr has to be discarded.
func TestFileDynptr(t *testing.T) {
	for version, size := range map[uint32]uint64{linux72: ^uint64(0), newest: 0xffffffff} {
		r := newRig(t, version)
		file, err := r.kernel.NewFile("file", model.FileSpec{Path: "/bin/true"})
		require.NoError(t, err)
		d, buf := r.space(16), r.space(8)
		require.Zero(t, r.kok("bpf_dynptr_from_file", file.Addr(), 0, d))
		assert.Len(t, r.env.Run.Held.Things(), 1)
		assert.Equal(t, size, r.kok("bpf_dynptr_size", d))
		assert.EqualValues(t, 1, r.kok("bpf_dynptr_is_rdonly", d))
		assert.Equal(t, neg(uapi.EFAULT), r.ok(uapi.FuncDynptrRead, buf, 8, d, 1<<30, 0))
		assert.Equal(t, neg(uapi.EINVAL), r.ok(uapi.FuncDynptrWrite, d, 0, buf, 8, 0))
		assert.Zero(t, r.kok("bpf_dynptr_slice", d, 0, buf, 8))
		assert.Zero(t, r.ok(uapi.FuncDynptrData, d, 0, 8))
		r.kok("bpf_dynptr_file_discard", d)
		assert.Empty(t, r.env.Run.Held.Things())
		_, f := r.kfunc("bpf_dynptr_file_discard", d)
		assert.NotNil(t, f, "twice")
		assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_dynptr_from_file", file.Addr(), 1, d))
		r.kok("bpf_dynptr_file_discard", d)
		_, f = r.kfunc("bpf_dynptr_from_file", buf, 0, d)
		assert.NotNil(t, f)
	}
}

func TestStreams(t *testing.T) {
	r := newRig(t, newest)
	r.context(tc, hook.ContextSpec{})
	args := r.alloc([]byte{7, 0, 0, 0, 0, 0, 0, 0})
	for _, name := range []string{"bpf_stream_vprintk", "bpf_stream_vprintk_impl"} {
		r.env.Run.Events = nil
		for _, id := range []uint64{0, 3, ^uint64(0)} {
			assert.Equal(t, short(uapi.ENOENT), r.kok(name, id, r.str("x"), 0, 0, 0))
		}
		assert.Zero(t, r.kok(name, 1, r.str("n=%d\n"), args, 8, 0))
		assert.Equal(t, short(uapi.EINVAL), r.kok(name, 2, r.str("n=%d\n"), args, 7, 0))
		assert.Equal(t, short(uapi.EINVAL), r.kok(name, 2, r.str("n=%d %d"), args, 8, 0))
		assert.Equal(t, short(uapi.EINVAL), r.kok(name, 2, r.str("n=%y"), args, 8, 0))
		assert.Equal(t, []Event{{Kind: StreamText, Number: 1, Data: []byte("n=7\n")}}, r.env.Run.Events)
	}
	assert.Equal(t, short(uapi.ENOENT), r.kok("bpf_stream_print_stack", 0))
	assert.Zero(t, r.kok("bpf_stream_print_stack", 2))
	last := r.env.Run.Events[len(r.env.Run.Events)-1]
	assert.Contains(t, string(last.Data), "Call trace:\ntest+")
	long := r.str(strings.Repeat("x", 400))
	n := 0
	for r.kok("bpf_stream_vprintk", 1, long, 0, 0, 0) == 0 {
		n++
	}
	assert.Equal(t, (streamCapacity-1-len("n=7\n"))/400, n)
	assert.Equal(t, short(uapi.ENOSPC), r.kok("bpf_stream_vprintk", 1, long, 0, 0, 0))
}

func TestTaskWork(t *testing.T) {
	r := newRig(t, linux72)
	r.context(tc, hook.ContextSpec{})
	task := r.kernel.Current()
	require.NoError(t, task.SetUint("flags", 0))
	require.NoError(t, task.SetUint("tgid", 77))
	require.NoError(t, task.SetUint("pid", 78))
	for _, c := range []struct {
		sig, kind uint64
		want      uint64
	}{{9, 0, 0}, {64, 1, 0}, {65, 1, short(uapi.EINVAL)}, {9, 2, short(uapi.EINVAL)}} {
		assert.Equal(t, c.want, r.kok("bpf_send_signal_task", task.Addr(), c.sig, c.kind, 0))
	}
	assert.Equal(t, []Event{{Kind: TaskSignal, Number: 9, Detail: "pid 78"}, {Kind: TaskSignal, Number: 64, Detail: "pid 78"}}, r.env.Run.Events)
	require.NoError(t, task.SetUint("flags", kernelThread))
	assert.Equal(t, short(uapi.EPERM), r.kok("bpf_send_signal_task", task.Addr(), 9, 0, 0))
	_, f := r.kfunc("bpf_send_signal_task", 0, 9, 0, 0)
	assert.NotNil(t, f)

	m := r.newMap(maps.Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	base, errno := m.(maps.ValueBase).DirectValue(0)
	require.Zero(t, errno)
	for i, name := range []string{"bpf_task_work_schedule_signal", "bpf_task_work_schedule_resume", "bpf_task_work_schedule_signal_impl", "bpf_task_work_schedule_resume_impl"} {
		w := base + 8*uint64(i%2)
		require.Zero(t, r.kok(name, task.Addr(), w, m.Addr(), 0x1000, 0), name)
		assert.Equal(t, short(uapi.EBUSY), r.kok(name, task.Addr(), w, m.Addr(), 0x1000, 0), "it waits already")
		c, ok := r.env.Timers.Take(r.kernel.Clock().Mono())
		require.True(t, ok)
		assert.Equal(t, short(uapi.EBUSY), r.kok(name, task.Addr(), w, m.Addr(), 0x1000, 0), "it runs")
		r.env.Timers.End(c)
		_, f := r.kfunc(name, 0, w, m.Addr(), 0x1000, 0)
		assert.NotNil(t, f, "no task")
	}

	timers := r.newMap(maps.Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	timer, _ := timers.(maps.ValueBase).DirectValue(0)
	assert.Equal(t, short(uapi.EINVAL), r.kok("bpf_timer_cancel_async", timer))
	require.Zero(t, r.ok(uapi.FuncTimerInit, timer, timers.Addr(), uapi.ClockMonotonic))
	assert.Zero(t, r.kok("bpf_timer_cancel_async", timer), "it is not armed")
	require.Zero(t, r.ok(uapi.FuncTimerSetCallback, timer, 0x1000))
	require.Zero(t, r.ok(uapi.FuncTimerStart, timer, 5, 0))
	assert.EqualValues(t, 1, r.kok("bpf_timer_cancel_async", timer))
	require.Zero(t, r.ok(uapi.FuncTimerStart, timer, 0, 0), "the callback is still set")
	c, ok := r.env.Timers.Take(r.kernel.Clock().Mono() + 10)
	require.True(t, ok)
	assert.Equal(t, uint64(0xffffffff), r.kok("bpf_timer_cancel_async", timer), "its callback runs")
	r.env.Timers.End(c)
}

// TestSlabCaches: the caches of every kernel, unless the scenario has some.
func TestSlabCaches(t *testing.T) {
	r := newestRig(t)
	it := r.space(8)
	walk := func() (names []string) {
		r.kok("bpf_iter_kmem_cache_new", it)
		for at := r.kok("bpf_iter_kmem_cache_next", it); at != 0; at = r.kok("bpf_iter_kmem_cache_next", it) {
			name, err := r.kernel.ObjectAt(at).String("name")
			require.NoError(t, err)
			names = append(names, name)
		}
		r.kok("bpf_iter_kmem_cache_destroy", it)
		return names
	}
	names := walk()
	assert.Contains(t, names, "task_struct")
	assert.Contains(t, names, "kmalloc-64")
	assert.Equal(t, names, walk(), "the same again")
	cacheOf := func(addr uint64) string {
		at := r.kok("bpf_get_kmem_cache", addr)
		if at == 0 {
			return ""
		}
		name, err := r.kernel.ObjectAt(at).String("name")
		require.NoError(t, err)
		return name
	}
	assert.Equal(t, "task_struct", cacheOf(r.kernel.Current().Addr()))
	small, err := r.kernel.MakeBytes("small", 33, nil)
	require.NoError(t, err)
	assert.Equal(t, "kmalloc-64", cacheOf(small.Addr()))
	large, err := r.kernel.MakeBytes("large", 8193, nil)
	require.NoError(t, err)
	assert.Empty(t, cacheOf(large.Addr()))
	assert.Empty(t, cacheOf(it), "no kernel object")
	o, err := r.kernel.NewObjectNamed("own", "kmem_cache")
	require.NoError(t, err)
	require.NoError(t, o.Set("name", "own"))
	assert.Equal(t, []string{"own"}, walk())
}

// TestNothingThere: walks over nothing, and functions of what nobody can have.
func TestNothingThere(t *testing.T) {
	r := newRig(t, linux72)
	r.context(xdp, hook.ContextSpec{})
	it := r.space(16)
	for _, kind := range []string{"dmabuf"} {
		assert.Zero(t, r.kok("bpf_iter_"+kind+"_new", it))
		assert.Zero(t, r.kok("bpf_iter_"+kind+"_next", it))
		r.kok("bpf_iter_"+kind+"_destroy", it)
	}
	assert.Zero(t, r.kok("bpf_get_kmem_cache", it))
	for _, name := range []string{"bpf_crypto_encrypt", "bpf_crypto_decrypt", "bpf_verify_pkcs7_signature", "bpf_real_data_inode", "cgroup_rstat_updated", "cgroup_rstat_flush",
		"css_rstat_updated", "css_rstat_flush", "bpf_xdp_xfrm_state_release", "bpf_sock_ops_enable_tx_tstamp", "bpf_skb_get_hash"} {
		_, f := r.kfunc(name, 0, it, it, it)
		assert.NotNil(t, f, name)
	}
	file, err := r.kernel.NewFile("file", model.FileSpec{Path: "/bin/true"})
	require.NoError(t, err)
	inode, err := file.Pointee("f_inode")
	require.NoError(t, err)
	assert.Equal(t, inode.Addr(), r.kok("bpf_real_data_inode", file.Addr()))
	cgroup := r.kernel.CgroupByID(r.kernel.CgroupID())
	require.NotNil(t, cgroup)
	for _, name := range []string{"cgroup_rstat_updated", "cgroup_rstat_flush", "css_rstat_updated", "css_rstat_flush"} {
		r.kok(name, cgroup.Addr(), 0)
	}

	for _, c := range []struct {
		netns uint32
		size  uint64
		want  uapi.Errno
	}{{0xffffffff, 36, uapi.ENOENT}, {0, 36, uapi.ENONET}, {0xfffffffe, 36, uapi.EINVAL}, {0xffffffff, 35, uapi.EINVAL}, {0xffffffff, 4, uapi.EINVAL}, {0xffffffff, 3, 0}} {
		opts := make([]byte, 40)
		r.mem.ByteOrder().PutUint32(opts[4:], c.netns)
		at := r.alloc(opts)
		assert.Zero(t, r.kok("bpf_xdp_get_xfrm_state", r.ctx.Addr, at, c.size))
		assert.Equal(t, uint32(neg(c.want)), r.u32(at), "%d bytes", c.size)
	}
}

// TestPacketsOfOtherPrograms: the hash of a flow, and time stamps of a packet that is sent.
func TestPacketsOfOtherPrograms(t *testing.T) {
	r := newRig(t, newest)
	ctx := r.context(tc, hook.ContextSpec{})
	assert.EqualValues(t, r.kernel.FlowHash(ctx.Packet.Whole()), r.kok("bpf_skb_get_hash", ctx.Addr))
	ops := r.context(uapi.ProgTypeSockOps, hook.ContextSpec{})
	assert.Equal(t, short(uapi.EOPNOTSUPP), r.kok("bpf_sock_ops_enable_tx_tstamp", ops.Addr, 0))
}
