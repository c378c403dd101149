package proto

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestReleasesOfKfuncs: a kfunc is there from its first release on, and no longer in the one that
// lost it.
func TestReleasesOfKfuncs(t *testing.T) {
	gone, again := 0, 0
	for _, k := range Kfuncs() {
		assert.True(t, k.In(k.Since), k.Name)
		assert.False(t, k.In(k.Since-1), k.Name)
		if e := k.Earlier; e != nil {
			again++
			assert.True(t, k.In(e.Since), k.Name)
			assert.False(t, k.In(e.Since-1), k.Name)
			assert.False(t, k.In(e.Until), k.Name)
			assert.Equal(t, e.Flags, k.FlagsIn(e.Since), k.Name)
		}
		if k.Until == 0 {
			assert.True(t, k.In(0), k.Name)
			continue
		}
		gone++
		assert.True(t, k.In(k.Until-1), k.Name)
		assert.False(t, k.In(k.Until), k.Name)
		assert.False(t, k.In(0), "%s: the newest release", k.Name)
	}
	assert.NotZero(t, gone)
	assert.NotZero(t, again)
}

// TestFirstReleasesOfCallers: on both sides of the release from which, or until which, programs of
// a type may call a function.
func TestFirstReleasesOfCallers(t *testing.T) {
	prog := func(p uapi.ProgType) Caller { return Caller{Type: p} }
	at := func(p uapi.ProgType, a uapi.AttachType) Caller { return Caller{Type: p, Attach: a} }
	lsm := at(uapi.ProgTypeLSM, uapi.AttachLSMMac)
	fentry, rawTP := at(uapi.ProgTypeTracing, uapi.AttachTraceFentry), at(uapi.ProgTypeTracing, uapi.AttachTraceRawTp)
	tcp := Caller{Type: uapi.ProgTypeStructOps, Target: "tcp_congestion_ops", Member: "ssthresh"}
	unixName := at(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupUnixGetsockname)
	for _, c := range []struct {
		name   string
		caller Caller
		from   uapi.Release
		until  uapi.Release
	}{
		{"bpf_obj_new_impl", prog(uapi.ProgTypeSchedCls), r(6, 2), 0},
		{"bpf_task_from_pid", prog(uapi.ProgTypeSchedCls), r(6, 2), 0},
		{"bpf_task_from_pid", tcp, r(6, 2), 0},
		{"bpf_task_from_pid", prog(uapi.ProgTypeXDP), r(6, 8), 0},
		{"bpf_task_from_pid", prog(uapi.ProgTypeSyscall), r(6, 10), 0},
		{"bpf_task_from_pid", prog(uapi.ProgTypePerfEvent), r(6, 12), 0},
		{"bpf_task_from_pid", prog(uapi.ProgTypeSockOps), r(6, 15), 0},
		{"bpf_task_from_pid", prog(uapi.ProgTypeRawTracepoint), r(7, 0), 0},
		{"bpf_task_from_vpid", prog(uapi.ProgTypeXDP), r(6, 13), 0},
		{"bpf_list_front", prog(uapi.ProgTypeSchedCls), r(6, 16), 0},
		{"bpf_cpumask_create", prog(uapi.ProgTypeSyscall), r(6, 10), 0},
		{"bpf_dynptr_from_skb", prog(uapi.ProgTypeCgroupSockAddr), r(6, 6), 0},
		{"bpf_sk_assign_tcp_reqsk", prog(uapi.ProgTypeSchedCls), r(6, 9), 0},
		{"bpf_dynptr_is_rdonly", prog(uapi.ProgTypeXDP), r(6, 5), 0},
		{"bpf_get_mem_cgroup", prog(uapi.ProgTypeSyscall), r(7, 0), 0},
		{"hid_bpf_get_data", tcp, r(6, 11), 0},
		{"hid_bpf_hw_output_report", fentry, r(6, 10), r(6, 11)},
		{"scx_bpf_kick_cpu", tcp, r(6, 12), r(7, 1)},
		{"scx_bpf_consume", tcp, r(6, 12), r(6, 17)},
		{"bpf_wq_set_callback_impl", prog(uapi.ProgTypeXDP), r(6, 10), r(7, 0)},
		{"bpf_stream_vprintk_impl", prog(uapi.ProgTypeXDP), r(6, 18), r(7, 0)},

		{"bpf_task_storage_get", lsm, r(5, 11), 0},
		{"bpf_task_storage_get", fentry, r(5, 13), 0},
		{"bpf_sk_storage_get", fentry, r(5, 11), 0},
		{"bpf_spin_lock", lsm, r(5, 11), 0},
		{"bpf_spin_lock", fentry, r(5, 15), 0},
		{"bpf_setsockopt", at(uapi.ProgTypeCgroupSockAddr, uapi.AttachCgroupInet4Getpeername), r(5, 12), 0},
		{"bpf_setsockopt", unixName, r(6, 7), r(7, 2)},
		{"bpf_get_socket_cookie", fentry, r(5, 12), 0},
		{"bpf_get_socket_cookie", prog(uapi.ProgTypeSkReuseport), r(5, 14), 0},
		{"bpf_get_current_ancestor_cgroup_id", prog(uapi.ProgTypeKprobe), r(5, 14), 0},
		{"bpf_get_current_ancestor_cgroup_id", prog(uapi.ProgTypeXDP), r(6, 4), 0},
		{"bpf_ktime_get_coarse_ns", prog(uapi.ProgTypeKprobe), r(5, 11), r(5, 15)},
		{"bpf_get_current_task_btf", prog(uapi.ProgTypeXDP), r(5, 15), 0},
		{"bpf_get_retval", prog(uapi.ProgTypeCgroupSysctl), r(5, 18), r(6, 1)},
		{"bpf_get_retval", at(uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate), r(6, 1), 0},
		{"bpf_get_attach_cookie", fentry, r(5, 19), 0},
		{"bpf_get_attach_cookie", rawTP, r(6, 10), 0},
		{"bpf_get_current_cgroup_id", prog(uapi.ProgTypeSchedCls), r(6, 4), 0},
		{"bpf_get_current_pid_tgid", prog(uapi.ProgTypeXDP), r(6, 10), 0},
		{"bpf_get_netns_cookie", prog(uapi.ProgTypeSchedCls), r(6, 13), 0},
		{"bpf_send_signal", prog(uapi.ProgTypeXDP), r(6, 16), 0},
		{"bpf_setsockopt", at(uapi.ProgTypeCgroupSock, uapi.AttachCgroupInetSockCreate), r(6, 19), 0},
		{"bpf_get_func_arg", rawTP, r(7, 0), 0},
	} {
		assert.True(t, callable(t, c.name, c.from, c.caller), "%s on %v", c.name, c.from)
		assert.False(t, callable(t, c.name, before(c.from), c.caller), "%s before %v", c.name, c.from)
		if c.until != 0 {
			assert.True(t, callable(t, c.name, before(c.until), c.caller), "%s before %v", c.name, c.until)
			assert.False(t, callable(t, c.name, c.until, c.caller), "%s on %v", c.name, c.until)
		} else {
			assert.True(t, callable(t, c.name, 0, c.caller), c.name)
		}
	}
}

func callable(t *testing.T, name string, on uapi.Release, c Caller) bool {
	t.Helper()
	if k, ok := LookupKfunc(name); ok {
		return k.For(on, c)
	}
	h := named(t, name)
	return h.For(on, c) != nil
}

func named(t *testing.T, name string) *Helper {
	t.Helper()
	for i := range Helpers() {
		if h := &Helpers()[i]; h.Name() == name {
			return h
		}
	}
	require.Failf(t, "no such function", "%s", name)
	return nil
}

// before returns the release before one of 5.11 or later.
func before(x uapi.Release) uapi.Release {
	switch x {
	case r(6, 0):
		return r(5, 19)
	case r(7, 0):
		return r(6, 19)
	}
	return x - r(0, 1)
}

// TestWritableRawTracepointsHaveNoSet: no set of kfuncs is registered for their type, so that they
// call only those that are for all programs.
func TestWritableRawTracepointsHaveNoSet(t *testing.T) {
	writable := Caller{Type: uapi.ProgTypeRawTracepointWritable}
	assert.False(t, callable(t, "bpf_task_from_pid", 0, writable))
	assert.True(t, callable(t, "bpf_iter_num_new", 0, writable))
}

// TestFlagsOfReleases: flags change with the release that changed them.
func TestFlagsOfReleases(t *testing.T) {
	for _, c := range []struct {
		name string
		on   uapi.Release
		want KfuncFlags
	}{
		{"bpf_task_acquire", r(6, 3), Acquire | TrustedArgs},
		{"bpf_task_acquire", r(6, 4), Acquire | ReturnsNull | RCU},
		{"bpf_cgroup_ancestor", r(6, 3), Acquire | ReturnsNull | TrustedArgs},
		{"bpf_rbtree_remove", r(6, 3), Acquire},
		{"bpf_rbtree_remove", r(6, 4), Acquire | ReturnsNull},
		{"bpf_cpumask_and", r(6, 3), TrustedArgs},
		{"bpf_cpumask_and", r(6, 4), RCU},
		{"bpf_refcount_acquire_impl", r(6, 6), Acquire | ReturnsNull},
		{"bpf_refcount_acquire_impl", r(6, 7), Acquire | ReturnsNull | RCU},
		{"bpf_cast_to_kern_ctx", r(6, 12), 0},
		{"bpf_cast_to_kern_ctx", r(6, 13), KfuncFastCall},
		{"bpf_arena_free_pages", r(6, 19), TrustedArgs | Sleepable | ArenaArg2},
		{"bpf_arena_free_pages", r(7, 0), TrustedArgs | ArenaArg2},
		{"scx_bpf_dsq_peek", r(7, 0), TrustedArgs | ReturnsNull | RCUProtected},
		{"scx_bpf_dsq_peek", r(7, 1), TrustedArgs | ReturnsNull | RCUProtected | ImplicitArgs},
		{"bpf_stream_vprintk", r(6, 17), TrustedArgs},
		{"bpf_stream_vprintk", r(7, 0), TrustedArgs | ImplicitArgs},
	} {
		k, ok := LookupKfunc(c.name)
		require.True(t, ok, c.name)
		assert.Equal(t, c.want.String(), k.FlagsIn(c.on).String(), "%s on %v", c.name, c.on)
	}
}

// TestFixesReachMaintainedReleases: a fix that updates brought to old releases is not in those that
// had ended before.
func TestFixesReachMaintainedReleases(t *testing.T) {
	xdpProg, fentry := Caller{Type: uapi.ProgTypeXDP}, Caller{Type: uapi.ProgTypeTracing, Attach: uapi.AttachTraceFentry}
	for on, fixed := range map[uapi.Release]bool{
		r(6, 0): false, r(6, 1): true, r(6, 2): false, r(6, 5): false, r(6, 6): true, r(6, 7): false, r(6, 12): true, r(6, 17): false, r(6, 18): true, 0: true,
	} {
		p := named(t, "bpf_xdp_store_bytes").For(on, xdpProg)
		require.NotNil(t, p)
		assert.Equal(t, fixed, !p.Args[2].Writes(), "bpf_xdp_store_bytes on %v", on)
	}
	for on, fixed := range map[uapi.Release]bool{
		r(5, 17): false, r(6, 0): false, r(6, 1): true, r(6, 2): false, r(6, 6): true, r(6, 7): false, r(6, 9): false, r(6, 10): true, 0: true,
	} {
		p := named(t, "bpf_get_func_arg").For(on, fentry)
		require.NotNil(t, p)
		assert.Equal(t, fixed, p.Args[2].Writes(), "bpf_get_func_arg on %v", on)
	}
}

// TestArgumentsOfReleases: what an argument may be changes with the release that changed it.
func TestArgumentsOfReleases(t *testing.T) {
	lsm := Caller{Type: uapi.ProgTypeLSM, Attach: uapi.AttachLSMMac}
	for _, c := range []struct {
		name string
		arg  int
		flag Flags
		from uapi.Release
	}{
		{"bpf_inode_storage_get", 1, MaybeNull, r(6, 4)},
		{"bpf_task_storage_get", 1, MaybeNull, r(6, 4)},
		{"bpf_cgrp_storage_get", 1, MaybeNull, r(6, 4)},
		{"bpf_get_socket_cookie", 0, MaybeNull, r(6, 4)},
		{"bpf_strncmp", 0, ReadOnly, r(6, 4)},
		{"bpf_dynptr_write", 0, ReadOnly, r(6, 2)},
	} {
		h := named(t, c.name)
		for on, want := range map[uapi.Release]bool{before(c.from): false, c.from: true} {
			p := h.For(on, lsm)
			require.NotNil(t, p, c.name)
			assert.Equal(t, want, p.Args[c.arg].Flags&c.flag != 0, "%s on %v", c.name, on)
		}
	}
}
