package proto

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/uapi"
)

// schedextFilter is the first of [Releases] whose verifier checks which function of struct sched_ext_ops a program
// implements (scx_kfunc_context_filter in kernel/sched/ext). Before that, the kfuncs checked at run time and ended the
// scheduler.
var schedextFilter = r(7, 2)

// schedextOps are the struct_ops types of sched_ext schedulers. Those of the second identify CPUs only by cid.
const (
	schedextOps    = "sched_ext_ops"
	schedextOpsCid = "sched_ext_ops_cid"
)

// schedextGroups lists the groups of functions that a member of sched_ext_ops may call, besides those without a group
// (scx_kf_allow_flags).
var schedextGroups = map[string][]string{
	"select_cpu": {"select_cpu", "enqueue_dispatch"}, "enqueue": {"select_cpu", "enqueue_dispatch"}, "dispatch": {"enqueue_dispatch", "dispatch"},
	"cpu_release": {"cpu_release"}, "init_task": {"unlocked"}, "dump": {"unlocked"},
	"cgroup_init": {"unlocked"}, "cgroup_exit": {"unlocked"}, "cgroup_prep_move": {"unlocked"}, "cgroup_cancel_move": {"unlocked"},
	"cgroup_set_weight": {"unlocked"}, "cgroup_set_bandwidth": {"unlocked"}, "cgroup_set_idle": {"unlocked"},
	"sub_attach": {"unlocked"}, "sub_detach": {"unlocked"}, "cpu_online": {"unlocked"}, "cpu_offline": {"unlocked"},
	"init": {"unlocked", "init"}, "exit": {"unlocked"},
}

// syscallGroups are those that syscall programs may call.
var syscallGroups = []string{"unlocked", "select_cpu"}

// cpuOnly are the functions that schedulers which identify CPUs by cid may not call (scx_kfunc_ids_cpu_only).
var cpuOnly = strings.Fields(`scx_bpf_kick_cpu scx_bpf_task_cpu scx_bpf_cpu_rq scx_bpf_cpu_curr scx_bpf_cpu_node scx_bpf_cpuperf_cap scx_bpf_cpuperf_cur
	scx_bpf_cpuperf_set scx_bpf_get_possible_cpumask scx_bpf_get_online_cpumask scx_bpf_put_cpumask scx_bpf_select_cpu_dfl __scx_bpf_select_cpu_and
	scx_bpf_select_cpu_and scx_bpf_get_idle_cpumask scx_bpf_get_idle_cpumask_node scx_bpf_get_idle_smtmask scx_bpf_get_idle_smtmask_node
	scx_bpf_put_idle_cpumask scx_bpf_test_and_clear_cpu_idle scx_bpf_pick_idle_cpu scx_bpf_pick_idle_cpu_node scx_bpf_pick_any_cpu scx_bpf_pick_any_cpu_node`)

// Grouped reports whether a program, of a type that may call the function, is in the function's group on a release.
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
	case c.Target == schedextOpsCid && slices.Contains(cpuOnly, k.Name):
		return false
	case c.Target == schedextOps || c.Target == schedextOpsCid:
		groups = schedextGroups[c.Member]
	default:
		return false
	}
	return k.Group == "" || slices.ContainsFunc(strings.Fields(k.Group), func(g string) bool { return slices.Contains(groups, g) })
}

// FromOp reports whether a member of struct sched_ext_ops may call the function, on any release.
func (k *Kfunc) FromOp(member string) bool {
	return k.Grouped(schedextFilter, Caller{Type: uapi.ProgTypeStructOps, Target: schedextOps, Member: member})
}

// Members lists, in order, the functions of struct sched_ext_ops or Qdisc_ops that may call the function on releases that
// check them; nil for all.
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
	for member, groups := range schedextGroups {
		if slices.ContainsFunc(strings.Fields(k.Group), func(g string) bool { return slices.Contains(groups, g) }) {
			out = append(out, schedextOps+"."+member)
		}
	}
	slices.Sort(out)
	return out
}
