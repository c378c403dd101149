package proto

import (
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// schedextFilter is the first release whose verifier checks which function of struct sched_ext_ops a
// program implements (scx_kfunc_context_filter in kernel/sched/ext). Before that,
// the kfuncs checked at run time and ended the scheduler.
var schedextFilter = r(7, 1)

// The struct_ops types of sched_ext schedulers. Those of the second know CPUs only by cid.
const (
	schedextOps = "sched_ext_ops"
	SchedOpsCid = "sched_ext_ops_cid"
)

// cidMembers are the members of struct sched_ext_ops_cid whose names differ from those of struct
// sched_ext_ops in the same place.
var cidMembers = map[string]string{
	"select_cid": "select_cpu", "set_cmask": "set_cpumask", "cid_online": "cpu_online", "cid_offline": "cpu_offline", "dump_cid": "dump_cpu",
}

// IsSchedOps reports whether a struct_ops type is that of a scheduler.
func IsSchedOps(typ string) bool { return typ == schedextOps || typ == SchedOpsCid }

// SchedOp returns the member of struct sched_ext_ops that is in the place of a member of it or of
// struct sched_ext_ops_cid; ok is false for members of other structs.
func SchedOp(typ, member string) (op string, ok bool) {
	if typ == SchedOpsCid && cidMembers[member] != "" {
		return cidMembers[member], true
	}
	return member, IsSchedOps(typ)
}

// schedextGroups lists the groups of functions that a member of sched_ext_ops may call, besides
// those without a group (scx_kf_allow_flags).
var schedextGroups = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"select_cpu": {"select_cpu", "enqueue_dispatch"}, "enqueue": {"select_cpu", "enqueue_dispatch"}, "dispatch": {"enqueue_dispatch", "dispatch"},
		"cpu_release": {"cpu_release"}, "init_task": {"unlocked"}, "dump": {"unlocked"},
		"cgroup_init": {"unlocked"}, "cgroup_exit": {"unlocked"}, "cgroup_prep_move": {"unlocked"}, "cgroup_cancel_move": {"unlocked"},
		"cgroup_set_weight": {"unlocked"}, "cgroup_set_bandwidth": {"unlocked"}, "cgroup_set_idle": {"unlocked"},
		"sub_attach": {"unlocked"}, "sub_detach": {"unlocked"}, "cpu_online": {"unlocked"}, "cpu_offline": {"unlocked"},
		"init": {"unlocked", "init"}, "exit": {"unlocked"},
	}
})

// syscallGroups are those that syscall programs may call.
var syscallGroups = []string{"unlocked", "select_cpu"}

// cpuOnly are the functions that schedulers which identify CPUs by cid may not call
// (scx_kfunc_ids_cpu_only).
var cpuOnly = strings.Fields(`scx_bpf_kick_cpu scx_bpf_task_cpu scx_bpf_cpu_rq scx_bpf_cpu_curr scx_bpf_cpu_node scx_bpf_cpuperf_cap scx_bpf_cpuperf_cur
	scx_bpf_cpuperf_set scx_bpf_get_possible_cpumask scx_bpf_get_online_cpumask scx_bpf_put_cpumask scx_bpf_select_cpu_dfl __scx_bpf_select_cpu_and
	scx_bpf_select_cpu_and scx_bpf_get_idle_cpumask scx_bpf_get_idle_cpumask_node scx_bpf_get_idle_smtmask scx_bpf_get_idle_smtmask_node
	scx_bpf_put_idle_cpumask scx_bpf_test_and_clear_cpu_idle scx_bpf_pick_idle_cpu scx_bpf_pick_idle_cpu_node scx_bpf_pick_any_cpu scx_bpf_pick_any_cpu_node`)

// Grouped reports whether a program, of a type that may call the function, is in the function's
// group on a release.
func (k *Kfunc) Grouped(release uapi.Release, c Caller) bool {
	if k.Topic == "qdisc" {
		return k.Group == "" || c.Member == "" || slices.Contains(strings.Fields(k.Group), c.Member)
	}
	if k.Topic != "sched_ext" || !release.Has(schedextFilter) {
		return true
	}
	var groups []string
	switch {
	case c.Type == uapi.ProgTypeSyscall:
		groups = syscallGroups
	case c.Type != uapi.ProgTypeStructOps, c.Member == "":
		return true
	case c.Target == SchedOpsCid && slices.Contains(cpuOnly, k.Name):
		return false
	default:
		op, ok := SchedOp(c.Target, c.Member)
		if !ok {
			return false
		}
		groups = schedextGroups()[op]
	}
	return k.Group == "" || slices.ContainsFunc(strings.Fields(k.Group), func(g string) bool { return slices.Contains(groups, g) })
}

// FromOp reports whether a member of struct sched_ext_ops may call the function, on any release.
func (k *Kfunc) FromOp(member string) bool {
	return k.Grouped(schedextFilter, Caller{Type: uapi.ProgTypeStructOps, Target: schedextOps, Member: member})
}

// Members lists, in order, the functions of struct sched_ext_ops or Qdisc_ops that may call the
// function on releases that check them; nil for all.
func (k *Kfunc) Members() []string {
	if k.Group == "" {
		return nil
	}
	if k.Topic == "qdisc" {
		var out []string
		for member := range strings.FieldsSeq(k.Group) {
			if member != "kernel" {
				out = append(out, "Qdisc_ops."+member)
			}
		}
		return out
	}
	var out []string
	for member, groups := range schedextGroups() {
		if slices.ContainsFunc(strings.Fields(k.Group), func(g string) bool { return slices.Contains(groups, g) }) {
			out = append(out, schedextOps+"."+member)
		}
	}
	slices.Sort(out)
	return out
}
