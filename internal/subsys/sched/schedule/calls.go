package schedule

import (
	"strings"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
)

// World is the state of a schedule.
type World struct{ *helpers.Schedule }

// unshared are the beginnings of kernel functions that read nothing which operations change.
var unshared = []string{"scx_bpf_now", "scx_bpf_nr_", "scx_bpf_get_", "scx_bpf_put_", "scx_bpf_this_", "scx_bpf_cpu_node", "scx_bpf_cpu_to_cid", "scx_bpf_cid_to_cpu", "scx_bpf_error", "scx_bpf_exit", "scx_bpf_dump", "scx_bpf_events"}

// reading are those of functions that only look at queues and CPUs.
var reading = []string{"scx_bpf_dsq_nr_queued", "scx_bpf_dsq_peek", "scx_bpf_task_", "scx_bpf_cpu_curr", "scx_bpf_cpu_rq", "scx_bpf_locked_rq", "bpf_iter_scx_dsq_next"}

// Touches reports whether a kernel function accesses what operations share, and whether it changes
// that.
func (w *World) Touches(kfunc string) (shared, writes bool) {
	begins := func(list []string) bool {
		for _, s := range list {
			if strings.HasPrefix(kfunc, s) {
				return true
			}
		}
		return false
	}
	switch {
	case !strings.HasPrefix(kfunc, "scx_bpf_") && !strings.HasPrefix(kfunc, "bpf_iter_scx_") || begins(unshared):
		return false, false
	case strings.HasPrefix(kfunc, "scx_bpf_task_set_"):
		return true, true
	}
	return true, !begins(reading)
}

// alone are operations that the kernel calls when no other one can run, and those that describe a
// scheduler that has ended.
var alone = map[sched.Op]bool{sched.OpInit: true, sched.OpExit: true, sched.OpDump: true, sched.OpDumpCPU: true, sched.OpDumpTask: true}

// before tells [Spec.Calls] of an operation. Operations whose arguments are in memory that all
// calls share are left out.
func (d *driver) before(op sched.Op, args []any, in machine.Input) error {
	if d.calls == nil || alone[op] {
		return nil
	}
	in.IgnoreUnset = true
	c := &drive.Call{Name: string(op), Program: d.Progs()[d.program(op)], Input: in, World: &World{d.state}}
	if name, ok := d.names[op]; ok {
		c.Name = name
	}
	for i, a := range args {
		o, _ := in.Values[i].(*object.Object)
		switch a.(type) {
		case *sched.Task, sched.Cgroup:
			if o != nil {
				c.About = append(c.About, o.Addr())
			}
		default:
			if o != nil {
				return nil
			}
		}
	}
	return d.calls(c)
}
