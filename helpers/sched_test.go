package helpers

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// schedRig is a rig whose kfuncs are called by the operations of a scheduler in Go.
type schedRig struct {
	*rig
	s      *Schedule
	do     map[sched.Op]func(args []any) uint64
	fields map[*sched.Task]map[sched.Field]uint64
}

func (p *schedRig) Load(t *sched.Task, f sched.Field) uint64 { return p.fields[t][f] }
func (p *schedRig) Store(t *sched.Task, f sched.Field, v uint64) {
	if p.fields[t] == nil {
		p.fields[t] = map[sched.Field]uint64{}
	}
	p.fields[t][f] = v
}
func (p *schedRig) Has(op sched.Op) bool { return p.do[op] != nil }
func (p *schedRig) Call(_ int, op sched.Op, args []any) (int64, error) {
	return int64(p.do[op](args)), nil
}
func (p *schedRig) Pass(_ context.Context, _, until uint64) (uint64, error) { return until, nil }

// task returns the address of the task in the first argument.
func (p *schedRig) task(args []any) uint64 { return p.s.pointer(args[0].(*sched.Task)) }

// is calls a kfunc and compares its result.
func (p *schedRig) is(want uint64, name string, args ...uint64) {
	p.t.Helper()
	got, f := p.kfunc(name+"___x", args...)
	require.Nil(p.t, f, name)
	assert.Equal(p.t, want, got, name)
}

// simulate runs the scheduler for ten milliseconds with one task that has run half of that.
func (p *schedRig) simulate(flags sched.OpsFlags, allowed sched.Mask) *sched.Result {
	p.t.Helper()
	tasks := []sched.TaskSpec{{Name: "a", Cgroup: "/x", Allowed: allowed, Steps: []sched.Step{{Kind: sched.DoRun, For: 5 * time.Millisecond}}}}
	sim, err := sched.New(sched.Config{CPUs: sched.Topology(2, 2, 0, 0), Duration: 10 * time.Millisecond, Flags: flags, Tasks: tasks}, p)
	require.NoError(p.t, err)
	p.s = &Schedule{Sim: sim, Flags: flags, Objects: map[*sched.Task]*object.Object{}, Tasks: map[uint64]*sched.Task{}, Cgroups: map[string]*object.Object{}}
	p.env.Simulation = p.s
	p.s.Idle = p.kernel.Named("init_task", "task_struct")
	for _, path := range sim.Cgroups() {
		p.s.Cgroups[path], err = p.kernel.NewCgroup("cgroup "+path, path, 0)
		require.NoError(p.t, err)
	}
	for _, t := range sim.Tasks() {
		o, err := p.kernel.NewTask("task " + t.Spec.Name)
		require.NoError(p.t, err)
		p.s.Objects[t], p.s.Tasks[o.Addr()] = o, t
	}
	res, err := sim.Run(p.t.Context())
	require.NoError(p.t, err)
	return res
}

func newSchedRig(t *testing.T) *schedRig {
	return &schedRig{rig: newRig(t, newest), do: map[sched.Op]func([]any) uint64{}, fields: map[*sched.Task]map[sched.Field]uint64{}}
}

const (
	queue   = 5
	local   = 1<<63 | 2
	anyNode = 1<<32 - 1
)

func TestQueuesOfASchedule(t *testing.T) {
	for _, insert := range []string{"scx_bpf_dsq_insert", "scx_bpf_dsq_insert___v2", "scx_bpf_dispatch"} {
		t.Run(insert, func(t *testing.T) {
			p := newSchedRig(t)
			it := p.alloc(make([]byte, 48))
			p.do[sched.OpInit] = func([]any) uint64 {
				p.is(0, "scx_bpf_create_dsq", queue, anyNode)
				p.is(0, "scx_bpf_create_dsq", 6, anyNode)
				p.is(uint64(uint32(uapi.EEXIST.Neg())), "scx_bpf_create_dsq", queue, anyNode)
				p.is(0, "scx_bpf_destroy_dsq", 6)
				p.is(uint64(uint32(uapi.ENOENT.Neg())), "scx_bpf_dsq_nr_queued", 6)
				return 0
			}
			p.do[sched.OpEnqueue] = func(a []any) uint64 { p.is(1, insert, p.task(a), queue, 1000, 0); return 0 }
			moves := []func(a uint64) bool{
				func(uint64) bool { p.is(1, "scx_bpf_dsq_move_to_local", queue); return true },
				func(uint64) bool { p.is(1, "scx_bpf_dsq_move_to_local___v2", queue, 0); return true },
				func(uint64) bool { p.is(1, "scx_bpf_consume", queue); return true },
				func(task uint64) bool { p.is(1, "scx_bpf_dsq_move", it, task, local, 0); return true },
				func(task uint64) bool { p.is(1, "scx_bpf_dispatch_from_dsq", it, task, local, 0); return true },
			}
			for _, move := range moves {
				done := false
				p.do[sched.OpDispatch] = func(a []any) uint64 {
					p.is(0, "scx_bpf_sub_dispatch", 7)
					p.is(32, "scx_bpf_dispatch_nr_slots")
					if n, _ := p.kfunc("scx_bpf_dsq_nr_queued", queue); n == 0 || done {
						return 0
					}
					task := p.s.pointer(p.s.Sim.Tasks()[0])
					p.is(task, "scx_bpf_dsq_peek", queue)
					p.is(0, "bpf_iter_scx_dsq_new", it, queue, 0)
					p.is(0, "bpf_iter_scx_dsq_destroy", it)
					p.is(0, "bpf_iter_scx_dsq_next", it) // the visit has ended
					p.is(0, "bpf_iter_scx_dsq_new", it, queue, 0)
					p.is(uint64(uint32(uapi.ENOENT.Neg())), "bpf_iter_scx_dsq_new", it, 99, 0)
					p.is(0, "bpf_iter_scx_dsq_next", it) // and there is no other
					p.is(0, "bpf_iter_scx_dsq_new", it, queue, 0)
					p.is(task, "bpf_iter_scx_dsq_next", it)
					p.is(0, "bpf_iter_scx_dsq_next", it)
					for _, set := range []string{"scx_bpf_dsq_move_set_slice", "scx_bpf_dispatch_from_dsq_set_slice", "scx_bpf_dsq_move_set_vtime", "scx_bpf_dispatch_from_dsq_set_vtime"} {
						p.is(0, set, it, 4242)
					}
					done = move(task)
					p.is(0, "bpf_iter_scx_dsq_destroy", it)
					p.is(0, "bpf_iter_scx_dsq_next", it)
					return 0
				}
				res := p.simulate(0, sched.MaskOf(0))
				require.Equal(t, "unregistered", res.Exit.Name(), res.Exit.Message)
				assert.True(t, done)
				assert.True(t, res.Tasks[0].Stats.Exited)
			}
		})
	}
}

func TestQueuesByVtime(t *testing.T) {
	args := make([]byte, 32)
	args[0], args[8], args[16] = queue, 100, 9
	for name, insert := range map[string]func(*schedRig, uint64){
		"scx_bpf_dsq_insert_vtime":   func(p *schedRig, task uint64) { p.is(1, "scx_bpf_dsq_insert_vtime", task, queue, 100, 9, 0) },
		"scx_bpf_dispatch_vtime":     func(p *schedRig, task uint64) { p.is(1, "scx_bpf_dispatch_vtime", task, queue, 100, 9, 0) },
		"__scx_bpf_dsq_insert_vtime": func(p *schedRig, task uint64) { p.is(1, "__scx_bpf_dsq_insert_vtime", task, p.alloc(args)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newSchedRig(t)
			it := p.alloc(make([]byte, 48))
			p.do[sched.OpInit] = func([]any) uint64 {
				p.is(0, "scx_bpf_create_dsq", queue, anyNode)
				p.is(0, "scx_bpf_create_dsq", 6, anyNode)
				return 0
			}
			p.do[sched.OpEnqueue] = func(a []any) uint64 { insert(p, p.task(a)); return 0 }
			moved := 0
			p.do[sched.OpDispatch] = func([]any) uint64 {
				for _, move := range []string{"scx_bpf_dsq_move_vtime", "scx_bpf_dispatch_vtime_from_dsq"} {
					if n, _ := p.kfunc("scx_bpf_dsq_nr_queued", queue); n == 1 {
						task := p.s.Sim.Tasks()[0]
						assert.EqualValues(t, 9, task.Vtime())
						p.is(0, "bpf_iter_scx_dsq_new", it, queue, 1<<16)
						p.is(1, move, it, p.s.pointer(task), 6, 0)
						p.is(0, "bpf_iter_scx_dsq_destroy", it)
						p.is(0, move, it, p.s.pointer(task), 6, 0)
						moved++
					}
				}
				_, _ = p.kfunc("scx_bpf_dsq_move_to_local", 6)
				return 0
			}
			res := p.simulate(0, sched.MaskOf(0))
			require.Equal(t, "unregistered", res.Exit.Name(), res.Exit.Message)
			assert.Equal(t, 1, moved)
			_, f := p.kfunc("scx_bpf_dispatch_vtime_from_dsq", it, 0, 6, 0)
			assert.Nil(t, f)
		})
	}
}

func TestIdleCPUsOfASchedule(t *testing.T) {
	p := newSchedRig(t)
	idle := p.alloc([]byte{9})
	args := make([]byte, 24)
	mask := func(name string, a ...uint64) uint64 {
		addr, f := p.kfunc(name, a...)
		require.Nil(t, f, name)
		m, f2 := p.env.maskAt(addr)
		require.Nil(t, f2)
		p.is(0, map[bool]string{true: "scx_bpf_put_cpumask", false: "scx_bpf_put_idle_cpumask"}[len(name) > 26], addr)
		return m.v[0]
	}
	p.do[sched.OpInit] = func([]any) uint64 {
		assert.EqualValues(t, 3, mask("scx_bpf_get_idle_cpumask"))
		assert.EqualValues(t, 3, mask("scx_bpf_get_idle_smtmask"))
		assert.EqualValues(t, 3, mask("scx_bpf_get_possible_cpumask"))
		assert.EqualValues(t, 3, mask("scx_bpf_get_online_cpumask"))
		all, _ := p.kfunc("scx_bpf_get_online_cpumask")
		p.is(1, "scx_bpf_test_and_clear_cpu_idle", 1)
		p.is(0, "scx_bpf_test_and_clear_cpu_idle", 1)
		assert.EqualValues(t, 0, mask("scx_bpf_get_idle_smtmask"))
		p.is(0, "scx_bpf_pick_idle_cpu", all, 0)
		p.is(uint64(uint32(uapi.EBUSY.Neg())), "scx_bpf_pick_idle_cpu", all, 0)
		p.is(0, "scx_bpf_pick_any_cpu", all, 0)
		p.is(0, "scx_bpf_kick_cpu", 0, 0)
		p.is(0, "scx_bpf_kick_cid", 1, 1)
		return 0
	}
	p.do[sched.OpSelectCPU] = func(a []any) uint64 {
		all, _ := p.kfunc("scx_bpf_get_possible_cpumask")
		task := p.task(a)
		p.is(0, "scx_bpf_select_cpu_dfl", task, 0, 8, idle)
		b := make([]byte, 1)
		require.Nil(t, p.mem.Read(idle, b))
		assert.EqualValues(t, 1, b[0])
		p.is(1, "scx_bpf_select_cpu_and", task, 0, 8, all, 0)
		p.is(uint64(uint32(uapi.EBUSY.Neg())), "__scx_bpf_select_cpu_and", task, all, p.alloc(args))
		p.is(1, "scx_bpf_dsq_insert", task, local, 0, 0)
		return 0
	}
	res := p.simulate(0, sched.Mask{})
	require.Equal(t, "unregistered", res.Exit.Name(), res.Exit.Message)

	p.do = map[sched.Op]func([]any) uint64{sched.OpInit: func([]any) uint64 {
		assert.EqualValues(t, 3, mask("scx_bpf_get_idle_cpumask_node", 0))
		assert.EqualValues(t, 3, mask("scx_bpf_get_idle_smtmask_node", 0))
		all, _ := p.kfunc("scx_bpf_get_online_cpumask")
		p.is(0, "scx_bpf_pick_idle_cpu_node", all, 0, 0)
		p.is(1, "scx_bpf_pick_any_cpu_node", all, 0, 0)
		p.is(uint64(uint32(uapi.EINVAL.Neg())), "scx_bpf_pick_any_cpu_node", all, 7, 0)
		return 0
	}}
	assert.Equal(t, "invalid node 7", p.simulate(sched.BuiltinIdlePerNode, sched.Mask{}).Exit.Message)
}

func TestTasksOfASchedule(t *testing.T) {
	p := newSchedRig(t)
	ran := false
	p.do[sched.OpRunning] = func(a []any) uint64 {
		task := p.task(a)
		ran = true
		p.is(1, "scx_bpf_task_running", task)
		p.is(0, "scx_bpf_task_cpu", task)
		p.is(0, "scx_bpf_task_cid", task)
		p.is(1, "scx_bpf_task_set_slice", task, 77)
		p.is(1, "scx_bpf_task_set_dsq_vtime", task, 78)
		assert.EqualValues(t, 77, a[0].(*sched.Task).Slice())
		assert.EqualValues(t, 78, a[0].(*sched.Task).Vtime())
		p.is(p.s.Cgroups["/x"].Addr(), "scx_bpf_task_cgroup", task)
		p.is(task, "scx_bpf_tid_to_task", 1)
		p.is(0, "scx_bpf_tid_to_task", 2)
		p.is(task, "scx_bpf_cpu_curr", 0)
		p.is(p.s.Idle.Addr(), "scx_bpf_cid_curr", 1)
		rq, f := p.kfunc("scx_bpf_cpu_rq", 0)
		require.Nil(t, f)
		assert.Equal(t, task, p.kernel.ObjectAt(rq).Num("curr"))
		p.is(rq, "scx_bpf_locked_rq")
		p.is(0, "scx_bpf_this_cid")
		p.is(1, "scx_bpf_nr_node_ids")
		for _, n := range []string{"scx_bpf_nr_cpu_ids", "scx_bpf_nr_cids", "scx_bpf_nr_online_cids"} {
			p.is(2, n)
		}
		p.is(0, "scx_bpf_cpu_node", 1)
		p.is(1, "scx_bpf_cpu_to_cid", 1)
		p.is(1, "scx_bpf_cid_to_cpu", 1)
		for _, n := range []string{"scx_bpf_cpuperf_cap", "scx_bpf_cpuperf_cur", "scx_bpf_cidperf_cap", "scx_bpf_cidperf_cur"} {
			p.is(1024, n, 1)
		}
		p.is(0, "scx_bpf_cpuperf_set", 0, 512)
		p.is(0, "scx_bpf_cidperf_set", 0, 512)
		now, f := p.kfunc("scx_bpf_now")
		require.Nil(t, f)
		assert.Equal(t, p.kernel.Clock().Mono(), now)
		p.is(0, "scx_bpf_reenqueue_local___v2")
		p.is(0, "scx_bpf_dsq_reenq", local, 1)
		return 0
	}
	res := p.simulate(sched.TidToTask, sched.Mask{})
	require.Equal(t, "unregistered", res.Exit.Name(), res.Exit.Message)
	assert.True(t, ran)
}

// TestPlacesOfCids: the program gets as much of struct scx_cid_topo as it knows; what it knows more
// is -1, as is all of it for a cid that does not exist and after an override.
func TestPlacesOfCids(t *testing.T) {
	of := func(p *schedRig, cid, size uint64) []byte {
		at := p.alloc(bytes.Repeat([]byte{7}, 40))
		p.is(0, "scx_bpf_cid_topo", cid, at, size)
		b := make([]byte, 40)
		require.Nil(t, p.mem.Read(at, b))
		assert.Equal(t, bytes.Repeat([]byte{7}, int(40-size)), b[size:])
		return b[:size]
	}
	unknown := func(n int) []byte { return bytes.Repeat([]byte{0xff}, n) }
	p := newSchedRig(t)
	asked := false
	p.do[sched.OpInit] = func([]any) uint64 {
		asked = true
		assert.Equal(t, append(make([]byte, 24), unknown(8)...), of(p, 1, 32), "the second CPU of the only core")
		assert.Equal(t, make([]byte, 8), of(p, 1, 8))
		assert.Empty(t, of(p, 1, 0))
		order := p.alloc([]byte{1, 0, 0, 0, 0, 0, 0, 0})
		p.is(0, "scx_bpf_cid_override", order, 8)
		p.is(1, "scx_bpf_cid_to_cpu", 0)
		p.is(1, "scx_bpf_cpu_to_cid", 0)
		p.is(1, "scx_bpf_this_cid")
		assert.Equal(t, unknown(24), of(p, 1, 24))
		assert.Equal(t, unknown(24), of(p, 2, 24))
		return 0
	}
	assert.Equal(t, "invalid cid 2", p.simulate(0, sched.Mask{}).Exit.Message)
	assert.True(t, asked)
}

// TestEventStats: the program gets as much of the kernel's counters as there is room for, each
// where the kernel's types have it.
func TestEventStats(t *testing.T) {
	p := &schedRig{rig: newestRig(t), do: map[sched.Op]func([]any) uint64{}, fields: map[*sched.Task]map[sched.Field]uint64{}}
	l := p.kernel.LayoutNamed("scx_event_stats")
	place := func(name string) uint64 {
		f, _, err := l.Place(name)
		require.NoError(t, err)
		return f.Off
	}
	asked := false
	p.do[sched.OpTick] = func([]any) uint64 {
		asked = true
		for _, size := range []uint64{0, 7, place("SCX_EV_BYPASS_ACTIVATE") + 8, l.Size, l.Size + 8} {
			stats := p.alloc(bytes.Repeat([]byte{0xff}, 256))
			p.is(0, "scx_bpf_events", stats, size)
			b := make([]byte, 256)
			require.Nil(t, p.mem.Read(stats, b))
			want := make([]byte, l.Size)
			p.mem.ByteOrder().PutUint64(want[place("SCX_EV_BYPASS_ACTIVATE"):], 1)
			p.mem.ByteOrder().PutUint64(want[place("SCX_EV_REFILL_SLICE_DFL"):], 1) // no enqueue: the kernel inserts the task
			n := min(size, l.Size)
			assert.Equal(t, want[:n], b[:n], "size %d", size)
			assert.Equal(t, bytes.Repeat([]byte{0xff}, int(256-n)), b[n:], "size %d", size)
		}
		return 0
	}
	p.simulate(0, sched.Mask{})
	assert.True(t, asked)
}

func TestSchedulersEnd(t *testing.T) {
	p := newSchedRig(t)
	text := p.alloc([]byte("gone after %d\x00"))
	data := p.alloc([]byte{42, 0, 0, 0, 0, 0, 0, 0})
	for _, tt := range []struct {
		name string
		op   sched.Op
		call func([]any) uint64
		exit string
	}{
		{"error", sched.OpTick, func([]any) uint64 { p.is(0, "scx_bpf_error_bstr", text, data, 8); return 0 }, "error-bpf: gone after 42"},
		{"exit", sched.OpTick, func([]any) uint64 { p.is(0, "scx_bpf_exit_bstr", 7, text, data, 8); return 0 }, "unregistered-bpf: gone after 42"},
		{"dump", sched.OpTick, func([]any) uint64 { p.is(0, "scx_bpf_dump_bstr", text, data, 8); return 0 }, "error: scx_bpf_dump() must only be called from ops.dump() and friends"},
		{"a call in the wrong place", sched.OpTick, func(a []any) uint64 { p.is(0, "scx_bpf_dsq_insert", p.task(a), local, 0, 0); return 0 },
			"error: scx_bpf_dsq_insert called from ops.tick(), which may not call it"},
		{"a reenqueue in the wrong place", sched.OpTick, func(a []any) uint64 { p.is(0, "scx_bpf_reenqueue_local"); return 0 },
			"error: scx_bpf_reenqueue_local called from ops.tick(), which may not call it"},
		{"nothing to cancel", sched.OpDispatch, func(a []any) uint64 { p.is(0, "scx_bpf_dispatch_cancel"); return 0 }, "error: dispatch buffer underflow"},
		{"too fast", sched.OpTick, func([]any) uint64 { p.is(0, "scx_bpf_cpuperf_set", 1, 1025); return 0 }, "error: Invalid cpuperf target 1025 for CPU 1"},
		{"another CPU's speed", sched.OpTick, func([]any) uint64 { p.is(0, "scx_bpf_cidperf_set", 1, 1024); return 0 }, "error: Invalid target CPU 1"},
		{"another CPU's speed without a lock", sched.OpInit, func([]any) uint64 { p.is(0, "scx_bpf_cpuperf_set", 1, 1024); return 0 }, "unregistered: "},
		{"the node of no CPU", sched.OpTick, func([]any) uint64 { p.is(1<<32-1, "scx_bpf_cpu_node", 5); return 0 }, "error: invalid CPU 5"},
		{"a cid too many", sched.OpTick, func([]any) uint64 { p.is(0, "scx_bpf_kick_cid", 5, 0); return 0 }, "error: invalid cid 5"},
		{"a cid too many to ask about", sched.OpTick, func([]any) uint64 {
			p.is(uint64(uint32(uapi.EINVAL.Neg())), "scx_bpf_cid_to_cpu", 7)
			p.is(1024, "scx_bpf_cidperf_cap", 7)
			p.is(0, "scx_bpf_cid_curr", 7)
			return 0
		}, "error: invalid cid 7"},
		{"a CPU without a cid", sched.OpTick, func([]any) uint64 { p.is(uint64(uint32(uapi.EINVAL.Neg())), "scx_bpf_cpu_to_cid", 7); return 0 }, "error: invalid CPU 7"},
		{"cids of too few CPUs", sched.OpInit, func([]any) uint64 { p.is(0, "scx_bpf_cid_override", data, 4); return 0 },
			"error: scx_bpf_cid_override: expected 8 bytes, got 4"},
		{"the same cid twice", sched.OpInit, func([]any) uint64 { p.is(0, "scx_bpf_cid_override", p.alloc(make([]byte, 8)), 8); return 0 },
			"error: cid 0 assigned to multiple cpus"},
		{"a CPU too many", sched.OpTick, func([]any) uint64 { p.is(0, "scx_bpf_kick_cpu", 5, 0); return 0 }, "error: invalid CPU 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.do = map[sched.Op]func([]any) uint64{tt.op: tt.call}
			e := p.simulate(0, sched.Mask{}).Exit
			assert.Equal(t, tt.exit, e.Name()+": "+e.Message)
		})
	}
}

func TestScheduleKfuncsNeedASchedule(t *testing.T) {
	r := newRig(t, newest)
	_, f := r.kfunc("scx_bpf_kick_cpu", 0, 0)
	require.NotNil(t, f)
	assert.Equal(t, vm.NotSimulated, f.Kind)
}
