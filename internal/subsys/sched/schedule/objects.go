package schedule

import (
	"fmt"
	"math/bits"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
)

// task is a task's task_struct.
type task struct{ o *object.Object }

// Numbers of the kernel's that tasks contain: PF_EXITING, SCHED_EXT, SCX_TASK_QUEUED, and the
// priority of nice 0.
const (
	flagExiting  = 4
	policyExt    = 7
	flagQueued   = 1
	defaultPrio  = 120
	firstTaskTid = 1
)

// furnish creates the kernel objects of the schedule.
func (d *driver) furnish(sim *sched.Sim) error {
	k := d.M.Kernel()
	d.state.Objects, d.state.Tasks, d.state.Cgroups = map[*sched.Task]*object.Object{}, map[uint64]*sched.Task{}, map[string]*object.Object{}
	d.state.Idle = k.Named("init_task", "task_struct")
	d.sets = map[string]*object.Object{}
	for _, path := range sim.Cgroups() {
		o, err := k.NewCgroup("cgroup "+path, path, 0)
		if err != nil {
			return fmt.Errorf("a cgroup: %w", err)
		}
		d.state.Cgroups[path] = o
		// The tasks of a cgroup share what leads to it. What else they have is made when a program
		// reads it: there may be thousands of them.
		if set, err := k.NewObjectNamed("css_set "+path, "css_set"); err == nil && set.Has("dfl_cgrp") {
			set.MarkBuiltin()
			if err := set.SetPtr("dfl_cgrp", o); err != nil {
				return fmt.Errorf("a cgroup: %w", err)
			}
			d.sets[path] = set
		}
	}
	for _, t := range sim.Tasks() {
		o, err := k.NewTask("task " + t.Spec.Name)
		if err == nil {
			err = d.describe(o, t)
		}
		if err != nil {
			return fmt.Errorf("task %s: %w", t.Spec.Name, err)
		}
		k.ListProcess(o)
		d.tasks = append(d.tasks, &task{o})
		d.state.Objects[t], d.state.Tasks[o.Addr()] = o, t
	}
	return k.Err()
}

// describe sets the fields of a task that the schedule does not change.
func (d *driver) describe(o *object.Object, t *sched.Task) error {
	policy := 0
	if d.config.Flags&sched.SwitchPartial != 0 && t.Spec.Class == sched.Ext {
		policy = policyExt
	}
	comm := t.Spec.Name
	comm = comm[:min(len(comm), 15)]
	fields := []struct {
		path string
		v    any
	}{
		{"pid", t.PID()}, {"tgid", t.PID()}, {"comm", comm}, {"policy", policy}, {"scx.slice", 0}, {"scx.dsq_vtime", 0}, {"scx.weight", 0},
		{"scx.flags", 0}, {"scx.disallow", 0}, {"scx.tid", t.Number + firstTaskTid}, {"on_cpu", 0}, {"flags", 0}, {"migration_disabled", 0},
	}
	for _, f := range fields {
		if !o.Has(f.path) {
			continue
		}
		if err := o.Set(f.path, f.v); err != nil {
			return err
		}
	}
	if at, err := o.FieldAddr("cpus_mask"); err == nil && o.Has("cpus_ptr") {
		if err := o.SetUint("cpus_ptr", at); err != nil {
			return err
		}
	}
	return d.setCgroup(o, t)
}

// setCgroup makes a task lead to the cgroup that it is in.
func (d *driver) setCgroup(o *object.Object, t *sched.Task) error {
	if set := d.sets[sched.Path(t.Cgroup)]; set != nil && o.Has("cgroups") {
		return o.SetPtr("cgroups", set)
	}
	return nil
}

// Load reads a field that programs may have changed.
func (d *driver) Load(t *sched.Task, f sched.Field) uint64 {
	o := d.tasks[t.Number].o
	switch f {
	case sched.FieldSlice:
		return o.Num("scx.slice")
	case sched.FieldVtime:
		return o.Num("scx.dsq_vtime")
	case sched.FieldDisallow:
		return o.Num("scx.disallow")
	}
	return 0
}

// Store writes a field for programs to see.
func (d *driver) Store(t *sched.Task, f sched.Field, v uint64) {
	o := d.tasks[t.Number].o
	set := func(path string, v uint64) {
		if o.Has(path) {
			if err := o.SetUint(path, v); err != nil {
				d.M.Kernel().Fail(err)
			}
		}
	}
	switch f {
	case sched.FieldSlice:
		set("scx.slice", v)
	case sched.FieldVtime:
		set("scx.dsq_vtime", v)
	case sched.FieldDisallow:
		set("scx.disallow", v)
	case sched.FieldWeight:
		set("scx.weight", v)
	case sched.FieldQueued:
		set("scx.flags", o.Num("scx.flags")&^flagQueued|v*flagQueued)
	case sched.FieldImmed:
		d.taskFlags(o, "SCX_TASK_IMMED", v)
	case sched.FieldReenq:
		d.taskFlags(o, "SCX_TASK_REENQ_REASON_MASK", v)
	case sched.FieldCPU:
		set("thread_info.cpu", v)
	case sched.FieldOnCPU:
		set("on_cpu", v)
	case sched.FieldNice:
		for _, path := range []string{"static_prio", "normal_prio", "prio"} {
			set(path, defaultPrio+v)
		}
	case sched.FieldAllowed:
		if o.Has("cpus_mask") {
			if err := o.SetCPUSet("cpus_mask", t.Allowed); err != nil {
				d.M.Kernel().Fail(err)
			}
		}
		set("nr_cpus_allowed", uint64(t.Allowed.Count()))
	case sched.FieldCgroup:
		if err := d.setCgroup(o, t); err != nil {
			d.M.Kernel().Fail(err)
		}
	case sched.FieldExiting:
		set("flags", o.Num("flags")&^flagExiting|v*flagExiting)
	}
}

// taskFlags sets bits of p->scx.flags to a value, if the kernel has such bits.
func (d *driver) taskFlags(o *object.Object, mask string, v uint64) {
	m, ok := d.bits[mask]
	if !ok {
		_, m, _ = d.M.Linked().Target.BTF.FindEnumerator(mask)
		d.bits[mask] = m
	}
	if m == 0 {
		return
	}
	if err := o.SetUint("scx.flags", o.Num("scx.flags")&^m|v<<bits.TrailingZeros64(m)&m); err != nil {
		d.M.Kernel().Fail(err)
	}
}

// current returns the task_struct that a CPU runs.
func (d *driver) current(cpu int) *object.Object {
	if t := d.state.Current(cpu); t != nil {
		return d.tasks[t.Number].o
	}
	return d.state.Idle
}

// values converts the arguments of an operation on a CPU.
func (d *driver) values(cpu int, args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, a := range args {
		v, err := d.value(cpu, a)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (d *driver) value(cpu int, a any) (any, error) {
	switch a := a.(type) {
	case *sched.Task:
		if a == nil {
			return nil, nil
		}
		return d.tasks[a.Number].o, nil
	case sched.Mask: // of the task before it
		if d.config.Cid {
			return d.cmask(cpu, a), nil
		}
		return d.maskOf(a)
	case sched.Cgroup:
		return d.state.Cgroups[sched.Path(string(a))], nil
	case sched.InitArgs:
		return d.structOf("scx_init_task_args", map[string]any{"fork": a.Fork, "cgroup": d.state.Cgroups[sched.Path(a.Cgroup)]})
	case sched.ExitArgs:
		return d.structOf("scx_exit_task_args", map[string]any{"cancelled": a.Cancelled})
	case sched.CgroupArgs:
		return d.structOf("scx_cgroup_init_args", map[string]any{"weight": a.Weight, "bw_period_us": 100_000, "bw_quota_us": ^uint64(0), "bw_burst_us": 0})
	case sched.ReleaseArgs:
		return d.structOf("scx_cpu_release_args", map[string]any{"reason": 0, "task": d.tasks[a.Task.Number].o})
	case sched.DumpArgs:
		reason, err := d.M.Kernel().NewString("scx_dump_ctx.reason", a.Exit.Reason())
		if err != nil {
			return nil, err
		}
		clock := d.M.Kernel().Clock()
		return d.structOf("scx_dump_ctx", map[string]any{
			"kind": a.Exit.Kind, "exit_code": a.Exit.Code, "reason": reason, "at_ns": clock.Mono(), "at_jiffies": clock.Jiffies(),
		})
	case *sched.Exit:
		return d.exitInfo(a)
	}
	return a, nil
}

// maskOf returns the CPUs of a task as the kernel passes them.
func (d *driver) maskOf(m sched.Mask) (any, error) {
	o := d.M.Kernel().Named("effective cpumask", "cpumask")
	if o == nil {
		return nil, nil
	}
	return o, o.SetCPUSet("bits", m)
}

// structOf returns the object for arguments of a type, with the given fields where the kernel has
// them.
func (d *driver) structOf(typ string, fields map[string]any) (*object.Object, error) {
	o := d.args[typ]
	if o == nil {
		var err error
		if o, err = d.M.Kernel().NewObjectNamed(typ, typ); err != nil {
			return nil, err
		}
		o.MarkBuiltin()
		d.args[typ] = o
	}
	for path, v := range fields {
		if !o.Has(path) {
			continue
		}
		if err := o.Set(path, v); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// exitInfo makes a struct scx_exit_info. There is no stack, and the dump is what operations wrote.
func (d *driver) exitInfo(e *sched.Exit) (*object.Object, error) {
	const initialized = 1
	flags := 0
	if e.Initialized {
		flags = initialized
	}
	fields := map[string]any{"kind": e.Kind, "exit_cpu": e.CPU, "exit_code": e.Code, "flags": flags, "bt": nil, "bt_len": 0}
	for name, text := range map[string]string{"reason": e.Reason(), "msg": e.Message, "dump": e.Dump} {
		s, err := d.M.Kernel().NewString("scx_exit_info."+name, text)
		if err != nil {
			return nil, err
		}
		fields[name] = s
	}
	return d.structOf("scx_exit_info", fields)
}
