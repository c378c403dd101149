package proto

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestSchedExtGroups: from the release on that judges it at load, a callback of a scheduler may
// call what its groups hold.
func TestSchedExtGroups(t *testing.T) {
	member := func(target, name string) Caller {
		return Caller{Type: uapi.ProgTypeStructOps, Target: target, Member: name}
	}
	syscall := Caller{Type: uapi.ProgTypeSyscall}
	for _, tt := range []struct {
		kfunc  string
		caller Caller
		want   bool // on 7.2
	}{
		{"scx_bpf_select_cpu_dfl", member("sched_ext_ops", "select_cpu"), true},
		{"scx_bpf_select_cpu_dfl", member("sched_ext_ops", "enqueue"), true},
		{"scx_bpf_select_cpu_dfl", member("sched_ext_ops", "dispatch"), false},
		{"scx_bpf_select_cpu_dfl", member("sched_ext_ops", "init"), true}, // it is among the unlocked ones, too
		{"scx_bpf_dsq_insert", member("sched_ext_ops", "select_cpu"), true},
		{"scx_bpf_dsq_insert", member("sched_ext_ops", "dispatch"), true},
		{"scx_bpf_dsq_insert", member("sched_ext_ops", "running"), false},
		{"scx_bpf_dsq_insert", member("sched_ext_ops", "init"), false},
		{"scx_bpf_dsq_move", member("sched_ext_ops", "dispatch"), true},
		{"scx_bpf_dsq_move", member("sched_ext_ops", "exit"), true},
		{"scx_bpf_dsq_move", member("sched_ext_ops", "enqueue"), false},
		{"scx_bpf_dsq_move", syscall, true},
		{"scx_bpf_dispatch_nr_slots", member("sched_ext_ops", "enqueue"), false},
		{"scx_bpf_dispatch_nr_slots", member("sched_ext_ops", "dispatch"), true},
		{"scx_bpf_create_dsq", member("sched_ext_ops", "init"), true},
		{"scx_bpf_create_dsq", member("sched_ext_ops", "enqueue"), false},
		{"scx_bpf_create_dsq", syscall, true},
		{"scx_bpf_cid_override", member("sched_ext_ops", "init"), true},
		{"scx_bpf_cid_override", member("sched_ext_ops", "exit"), false},
		{"scx_bpf_reenqueue_local", member("sched_ext_ops", "cpu_release"), true},
		{"scx_bpf_reenqueue_local", member("sched_ext_ops", "cpu_acquire"), false},
		{"scx_bpf_kick_cpu", member("sched_ext_ops", "tick"), true},
		{"scx_bpf_kick_cpu", member("sched_ext_ops_cid", "tick"), false},
		{"scx_bpf_kick_cid", member("sched_ext_ops_cid", "tick"), true},
		{"scx_bpf_dsq_insert", member("sched_ext_ops_cid", "select_cid"), true},
		{"scx_bpf_dsq_insert", member("sched_ext_ops_cid", "set_cmask"), false},
		{"scx_bpf_create_dsq", member("sched_ext_ops_cid", "cid_online"), true},
		{"scx_bpf_dsq_insert", member("sched_ext_ops", "select_cid"), false},
		{"scx_bpf_cpu_to_cid", member("sched_ext_ops", "enqueue"), true},
		{"scx_bpf_kick_cpu", member("tcp_congestion_ops", "init"), false},
	} {
		k, ok := LookupKfunc(tt.kfunc)
		require.True(t, ok, tt.kfunc)
		assert.Equal(t, tt.want, k.For(uapi.R(7, 2), tt.caller), "%s in %+v", tt.kfunc, tt.caller)
		assert.True(t, k.Grouped(uapi.R(6, 18), tt.caller), "%s in %+v: judged when it is called", tt.kfunc, tt.caller)
	}
}

// TestSchedExtTablesMatch: the groups of the functions are those that members name, and what is for
// CPUs alone exists.
func TestSchedExtTablesMatch(t *testing.T) {
	used := map[string]bool{}
	for _, groups := range schedextGroups() {
		for _, g := range groups {
			used[g] = true
		}
	}
	for _, k := range Kfuncs() {
		if k.Topic == "qdisc" {
			continue // see TestQdiscMembers
		}
		for g := range strings.FieldsSeq(k.Group) {
			assert.True(t, used[g], "%s: group %s", k.Name, g)
			assert.Equal(t, "sched_ext", k.Topic, k.Name)
		}
		if k.Group != "" {
			assert.NotEmpty(t, k.Members(), k.Name)
		}
	}
	for _, name := range cpuOnly {
		_, ok := LookupKfunc(name)
		assert.True(t, ok, name)
	}
	assert.True(t, slices.IsSorted(func() []string { k, _ := LookupKfunc("scx_bpf_dsq_insert"); return k.Members() }()))
}

// TestQdiscMembers: each operation of a queueing discipline may call what bpf_qdisc_kfunc_filter
// allows, from 6.16 on.
func TestQdiscMembers(t *testing.T) {
	for name, members := range map[string]string{
		"bpf_skb_get_hash": "enqueue dequeue init reset destroy", "bpf_kfree_skb": "enqueue dequeue init reset destroy",
		"bpf_qdisc_skb_drop": "enqueue", "bpf_qdisc_watchdog_schedule": "enqueue dequeue", "bpf_qdisc_bstats_update": "dequeue",
		"bpf_qdisc_init_prologue": "", "bpf_qdisc_reset_destroy_epilogue": "",
	} {
		k, ok := LookupKfunc(name)
		if !assert.True(t, ok, name) {
			continue
		}
		for _, op := range []string{"enqueue", "dequeue", "init", "reset", "destroy"} {
			c := Caller{Type: uapi.ProgTypeStructOps, Target: "Qdisc_ops", Member: op}
			assert.Equal(t, slices.Contains(strings.Fields(members), op), k.For(r(6, 16), c), "%s from %s", name, op)
			assert.False(t, k.For(r(6, 15), c), "%s before 6.16", name)
		}
	}
	k, _ := LookupKfunc("bpf_qdisc_watchdog_schedule")
	assert.Equal(t, []string{"Qdisc_ops.enqueue", "Qdisc_ops.dequeue"}, k.Members())
}
