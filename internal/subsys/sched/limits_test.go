package sched

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestLimitsOfConfigurations probes both sides of each limit.
func TestLimitsOfConfigurations(t *testing.T) {
	step := func(s Step) func(*Config) {
		return func(c *Config) { c.Tasks[0].Steps = append(c.Tasks[0].Steps, s) }
	}
	task := func(change func(*TaskSpec)) func(*Config) { return func(c *Config) { change(&c.Tasks[0]) } }
	cpu := func(p CPU) func(*Config) { return func(c *Config) { c.CPUs[1] = p } }
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string // "" when it is accepted
	}{
		{"no CPU", func(c *Config) { c.CPUs = nil }, "0 CPUs, want 1"},
		{"one CPU", func(c *Config) { c.CPUs = Topology(1, 0, 0, 0) }, ""},
		{"all CPUs", func(c *Config) { c.CPUs = Topology(MaxCPUs, 0, 0, 0) }, ""},
		{"a CPU too many", func(c *Config) { c.CPUs = Topology(MaxCPUs+1, 0, 0, 0) }, "CPUs, want 1"},
		{"no duration", func(c *Config) { c.Duration = 0 }, "a duration of 0s"},
		{"the shortest", func(c *Config) { c.Duration = 1 }, ""},
		{"the longest", func(c *Config) { c.Duration = MaxDuration }, ""},
		{"longer", func(c *Config) { c.Duration = MaxDuration + 1 }, "a duration of 10m0.000000001s"},
		{"negative ticks", func(c *Config) { c.HZ = -1 }, "-1 ticks per second"},
		{"most ticks", func(c *Config) { c.HZ = 10_000 }, ""},
		{"too many ticks", func(c *Config) { c.HZ = 10_001 }, "10001 ticks per second"},
		{"most tasks", func(c *Config) { c.Tasks = named(MaxTasks) }, ""},
		{"too many tasks", func(c *Config) { c.Tasks = named(MaxTasks + 1) }, "16385 tasks"},
		{"a negative core", cpu(CPU{Core: -1}), "a CPU of core -1"},
		{"a negative cache", cpu(CPU{LLC: -1}), "cache -1"},
		{"a negative node", cpu(CPU{Node: -1}), "node -1"},
		{"the last node", cpu(CPU{Node: 1}), ""},
		{"a node too many", cpu(CPU{Node: 2}), "node 2"},
		{"the same name", func(c *Config) { c.Tasks = append(c.Tasks, c.Tasks[0]) }, "two tasks are called a"},

		{"no name", task(func(t *TaskSpec) { t.Name = "" }), "a task has no name"},
		{"the nicest to itself", task(func(t *TaskSpec) { t.Nice = -20 }), ""},
		{"beyond", task(func(t *TaskSpec) { t.Nice = -21 }), "task a: nice -21"},
		{"the nicest to others", task(func(t *TaskSpec) { t.Nice = 19 }), ""},
		{"beyond that", task(func(t *TaskSpec) { t.Nice = 20 }), "task a: nice 20"},
		{"some CPUs exist", task(func(t *TaskSpec) { t.Allowed = MaskOf(1, 2) }), ""},
		{"no CPU exists", task(func(t *TaskSpec) { t.Allowed = MaskOf(2, 3) }), "task a: none of its CPUs exists"},
		{"on the last CPU", task(func(t *TaskSpec) { t.CPU = 1 }), ""},
		{"on another CPU", task(func(t *TaskSpec) { t.CPU = 2 }), "there is no CPU 2"},
		{"starts at once", task(func(t *TaskSpec) { t.Start = 0 }), ""},
		{"starts before", task(func(t *TaskSpec) { t.Start = -1 }), "task a starts at -1ns"},
		{"no steps", task(func(t *TaskSpec) { t.Steps = nil }), "0 steps"},
		{"most steps", task(func(t *TaskSpec) { t.Steps = make([]Step, MaxSteps) }), ""},
		{"too many steps", task(func(t *TaskSpec) { t.Steps = make([]Step, MaxSteps+1) }), "10001 steps"},
		{"no time passes", task(func(t *TaskSpec) { t.Times, t.Steps = Forever, []Step{{Kind: DoYield}} }), "repeats steps that take no time"},
		{"it waits", task(func(t *TaskSpec) { t.Times, t.Steps = Forever, []Step{{Kind: DoWait}} }), ""},
		{"it exits", task(func(t *TaskSpec) { t.Times, t.Steps = Forever, []Step{{Kind: DoExit}} }), ""},
		{"no time, once", task(func(t *TaskSpec) { t.Steps = []Step{{Kind: DoYield}} }), ""},

		{"no time", step(Step{Kind: DoSleep}), ""},
		{"back in time", step(Step{Kind: DoSleep, For: -1}), "a step of -1ns"},
		{"wakes itself", step(Step{Kind: DoWake, Task: "a"}), ""},
		{"wakes no one", step(Step{Kind: DoWake, Task: "b"}), "wakes b, which does not exist"},
		{"the lowest nice value", step(Step{Kind: DoNice, Nice: -20}), ""},
		{"lower", step(Step{Kind: DoNice, Nice: -21}), "nice -21"},
		{"the highest", step(Step{Kind: DoNice, Nice: 19}), ""},
		{"higher", step(Step{Kind: DoNice, Nice: 20}), "nice 20"},
		{"moves to a CPU", step(Step{Kind: DoAffinity, CPUs: MaskOf(1)}), ""},
		{"moves to none", step(Step{Kind: DoAffinity, CPUs: MaskOf(2)}), "none of its CPUs exists"},
		// What only other steps have does not count.
		{"a sleep has no task", step(Step{Kind: DoSleep, Task: "b", Nice: 20}), ""},
		{"the longest path", step(Step{Kind: DoMove, To: "/" + strings.Repeat("a", maxPath-2)}), ""},
		{"a longer path", step(Step{Kind: DoMove, To: "/" + strings.Repeat("a", maxPath-1)}), "no absolute path"},
		{"most cgroups", func(c *Config) { c.Tasks = inCgroups(maxCgroups) }, ""},
		{"too many cgroups", func(c *Config) { c.Tasks = inCgroups(maxCgroups + 1) }, "4097 cgroups"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Config{CPUs: Topology(2, 0, 0, 0), Duration: ms, Tasks: named(1)}
			tt.change(&c)
			err := Check(c)
			if tt.want == "" {
				assert.NoError(t, err)
				return
			}
			var wrong *ConfigError
			require.ErrorAs(t, err, &wrong)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// named returns tasks with different names, a being the first.
func named(n int) []TaskSpec {
	out := make([]TaskSpec, n)
	for i := range out {
		out[i] = TaskSpec{Name: "a" + strings.Repeat("a", i%100) + string(rune('0'+i/100)), Steps: []Step{{Kind: DoRun, For: ms}}}
	}
	out[0].Name = "a"
	return out
}

func inCgroups(n int) []TaskSpec {
	out := named(n)
	for i := range out {
		out[i].Cgroup = "/" + out[i].Name
	}
	return out
}

// TestLimitsOfKfuncs: arguments at both sides of each limit. "" means that the scheduler goes on.
func TestLimitsOfKfuncs(t *testing.T) {
	two := Topology(2, 0, 0, 1)
	for _, tt := range []struct {
		name  string
		flags OpsFlags
		call  func(s *Sim) int
		ret   int
		want  string
	}{
		{"the first CPU", 0, func(s *Sim) int { s.numberCids(); return s.CPUToCid(0) }, 0, ""},
		{"no CPU", 0, func(s *Sim) int { return s.CPUToCid(2) }, -22, "invalid CPU 2"},
		{"a negative CPU", 0, func(s *Sim) int { return s.CPUToCid(-1) }, -22, "invalid CPU -1"},
		{"the last cid", 0, func(s *Sim) int { s.numberCids(); return s.CidToCPU(1) }, 1, ""},
		{"no cid", 0, func(s *Sim) int { return s.CidToCPU(2) }, -22, "invalid cid 2"},
		{"a negative cid", 0, func(s *Sim) int { return s.CidToCPU(-1) }, -22, "invalid cid -1"},
		{"node without nodes", 0, func(s *Sim) int { return int(s.ValidNode(0)) }, int(uapi.EOPNOTSUPP), "per-node idle tracking is disabled"},
		{"any node", BuiltinIdlePerNode, func(s *Sim) int { return int(s.ValidNode(-1)) }, int(uapi.ENOENT), ""},
		{"a negative node", BuiltinIdlePerNode, func(s *Sim) int { return int(s.ValidNode(-2)) }, int(uapi.EINVAL), "invalid node -2"},
		{"the first node", BuiltinIdlePerNode, func(s *Sim) int { return int(s.ValidNode(0)) }, 0, ""},
		{"the last node", BuiltinIdlePerNode, func(s *Sim) int { return int(s.ValidNode(1)) }, 0, ""},
		{"a node too many", BuiltinIdlePerNode, func(s *Sim) int { return int(s.ValidNode(2)) }, int(uapi.EINVAL), "invalid node 2"},
		{"a queue twice", 0, func(s *Sim) int { s.CreateDSQ(1, -1); return int(s.CreateDSQ(1, -1)) }, int(uapi.EEXIST), ""},
		{"a builtin queue", 0, func(s *Sim) int { return int(s.CreateDSQ(1<<63, -1)) }, int(uapi.EINVAL), ""},
		{"most queues", 0, func(s *Sim) int { return queues(s, 1<<16) }, 0, ""},
		{"too many queues", 0, func(s *Sim) int { return queues(s, 1<<16+1) }, int(uapi.ENOMEM), ""},
		{"the highest speed", 0, func(s *Sim) int { s.SetPerf(1, MaxPerf); return 0 }, 0, ""},
		{"higher", 0, func(s *Sim) int { s.SetPerf(1, MaxPerf+1); return 0 }, 0, "Invalid cpuperf target 1025 for CPU 1"},
		{"speed of no CPU", 0, func(s *Sim) int { s.SetPerf(2, 1); return 0 }, 0, "invalid CPU 2"},
		{"speed of the locked CPU", 0, func(s *Sim) int { s.in.rq = s.cpus[1]; s.SetPerf(1, 1); return s.Locked() }, 1, ""},
		{"speed of another CPU", 0, func(s *Sim) int { s.in.rq = s.cpus[0]; s.SetPerf(1, 1); return s.Locked() }, 0, "Invalid target CPU 1"},
		{"nothing is locked", 0, (*Sim).Locked, -1, ""},
		{"nothing to cancel", 0, func(s *Sim) int { s.Cancel(); return s.Slots() }, defaultBatch, "dispatch buffer underflow"},
		{"an insertion is cancelled", 0, func(s *Sim) int { s.commit(s.tasks[0], 1, 0); s.Cancel(); return s.Slots() }, defaultBatch, ""},
		{"an insertion at once", 0, func(s *Sim) int { s.direct = s.tasks[0]; s.commit(s.tasks[0], 1, 0); return s.Slots() }, defaultBatch, ""},
		{"two of them", 0, func(s *Sim) int {
			s.direct = s.tasks[0]
			s.commit(s.tasks[0], 1, 0)
			s.commit(s.tasks[0], 1, 0)
			return s.Slots()
		}, defaultBatch, "already direct-dispatched"},
		{"another task at once", 0, func(s *Sim) int { s.direct = s.tasks[1]; s.commit(s.tasks[0], 1, 0); return s.Slots() }, defaultBatch, "trying to direct-dispatch"},
		{"select from no CPU", 0, func(s *Sim) int { return s.SelectDefault(s.tasks[0], 2, 0, s.spans.all, 0) }, -22, "invalid CPU 2"},
		{"no such queue", 0, func(s *Sim) int { return s.Queued(7) }, -2, ""},
		{"queue of no CPU", 0, func(s *Sim) int { return s.Queued(DSQLocalOn | 2) }, -2, "invalid CPU 2"},
		{"a kick", 0, func(s *Sim) int { s.Kick(1, KickPreempt|KickWait); return len(s.cpus[0].kicks) }, 1, ""},
		{"a kick twice", 0, func(s *Sim) int { s.Kick(1, 0); s.Kick(1, 0); return len(s.cpus[0].kicks) }, 1, ""},
		{"a kick of no CPU", 0, func(s *Sim) int { s.Kick(2, 0); return len(s.cpus[0].kicks) }, 0, "invalid CPU 2"},
		{"a kick of idle CPUs that preempts", 0, func(s *Sim) int { s.Kick(1, KickIdle|KickPreempt); return 0 }, 0, "PREEMPT/WAIT cannot be used"},
		{"a kick of idle CPUs that waits", 0, func(s *Sim) int { s.Kick(1, KickIdle|KickWait); return 0 }, 0, "PREEMPT/WAIT cannot be used"},
		{"a kick of an idle CPU", 0, func(s *Sim) int { s.Kick(1, KickIdle); return len(s.cpus[0].kicks) }, 1, ""},
		{"a kick of a busy CPU", 0, func(s *Sim) int { s.cpus[1].curr = s.tasks[0]; s.Kick(1, KickIdle); return len(s.cpus[0].kicks) }, 0, ""},
		{"a kick of a CPU that decides", 0, func(s *Sim) int {
			s.cpus[1].curr, s.cpus[1].balancing = s.tasks[0], true
			s.Kick(1, KickIdle)
			return len(s.cpus[0].kicks)
		}, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := simulated(t, two, tt.flags)
			assert.Equal(t, tt.ret, tt.call(s))
			if tt.want == "" {
				assert.Nil(t, s.exit)
				return
			}
			require.NotNil(t, s.exit)
			assert.Contains(t, s.exit.Message, tt.want)
		})
	}
}

// queues creates n queues and returns the last errno.
func queues(s *Sim, n int) int {
	var e uapi.Errno
	for id := range n {
		e = s.CreateDSQ(uint64(id), -1)
	}
	return int(e)
}

// TestWhatKicksDo: the slice that the running task has left, and whether its CPU reschedules
// (kick_one_cpu, kick_one_cpu_if_idle).
func TestWhatKicksDo(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags uint64
		runs  bool
		class Class
		slice uint64
		again bool
	}{
		{"an idle CPU", 0, false, Ext, 5, true},
		{"a busy CPU", 0, true, Ext, 5, true},
		{"preempted", KickPreempt, true, Ext, 0, true},
		{"no one to preempt", KickPreempt, false, Ext, 5, true},
		{"idle ones only", KickIdle, true, Ext, 5, false},
		{"it is idle", KickIdle, false, Ext, 5, true},
		{"a class above", KickPreempt, true, Above, 5, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := simulated(t, Topology(2, 0, 0, 0), 0)
			c, task := s.cpus[1], s.tasks[0]
			task.Class = tt.class
			task.SetSlice(5)
			if tt.runs {
				c.curr = task
			}
			s.kick(s.cpus[0], kick{1, tt.flags})
			s.flushKicks()
			assert.Equal(t, tt.slice, task.Slice())
			assert.Equal(t, tt.again, c.pending)
			assert.Empty(t, s.cpus[0].kicks)
		})
	}
}

// TestSynchronousWakeups: a waker that sleeps soon leaves its CPU to the task that it wakes, if
// nothing else waits there (scx_select_cpu_dfl, SCX_WAKE_SYNC).
func TestSynchronousWakeups(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(s *Sim)
		prev  int
		flags uint64
		ops   OpsFlags
		want  int
	}{
		{"an idle CPU with the same cache", func(s *Sim) {}, 1, 0, 0, 1},
		{"an idle CPU with another cache", func(s *Sim) {}, 2, 0, 0, 0},
		{"a busy one with the same cache", func(s *Sim) { s.idle.update(s, 1, false) }, 1, 0, 0, 0},
		{"not for this task", func(s *Sim) { s.tasks[0].Allowed = MaskOf(2, 3) }, 2, 0, 0, -16},
		{"the waker exits", func(s *Sim) { s.cpus[0].curr.Exiting = true }, 2, 0, 0, -16},
		{"a task waits", func(s *Sim) { s.cpus[0].local.tasks.n = 1 }, 2, 0, 0, -16},
		{"no CPU is idle", func(s *Sim) {
			for cpu := range 4 {
				s.idle.update(s, cpu, false)
			}
		}, 2, 0, 0, -16},
		{"another node", func(s *Sim) {}, 2, PickIdleInNode, BuiltinIdlePerNode, -16},
		{"another node may be", func(s *Sim) {}, 2, 0, BuiltinIdlePerNode, 0},
		{"the same node", func(s *Sim) { s.idle.update(s, 1, false) }, 1, PickIdleInNode, BuiltinIdlePerNode, 0},
		{"no CPU of this node is idle", func(s *Sim) {
			s.idle.update(s, 0, false)
			s.idle.update(s, 1, false)
		}, 2, 0, BuiltinIdlePerNode, -16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			prepare := func() *Sim {
				s := simulated(t, Topology(4, 0, 2, 2), tt.ops)
				for _, task := range s.tasks {
					task.Allowed = s.spans.all
				}
				s.cpus[0].curr = s.tasks[1]
				tt.setup(s)
				return s
			}
			s := prepare()
			allowed := s.tasks[0].Allowed
			assert.Equal(t, tt.want, s.selectSync(tt.prev, allowed.Has(tt.prev), allowed, s.startNode(tt.prev), tt.flags))
			if tt.want >= 0 {
				s = prepare()
				assert.Equal(t, tt.want, s.selectDefault(s.tasks[0], tt.prev, WakeSync, s.spans.all, tt.flags), "before any other choice")
			}
		})
	}
}

// TestSlicesAndVtimesOfMovedTasks: what was set for a move is the moved task's, and no other's.
func TestSlicesAndVtimesOfMovedTasks(t *testing.T) {
	for _, set := range []struct{ slice, vtime bool }{{}, {slice: true}, {vtime: true}, {true, true}} {
		s := simulated(t, Topology(1, 0, 0, 0), 0)
		require.Zero(t, s.CreateDSQ(7, -1))
		require.Zero(t, s.CreateDSQ(8, -1))
		for _, task := range s.tasks[:2] {
			task.SetSlice(11)
			task.SetVtime(12)
			s.dispatchEnqueue(s.cpus[0], s.dsqs[7], task, 0)
		}
		v := s.Visit(7, false)
		first, slice, vtime := v.Next(), uint64(21), uint64(22)
		want := []uint64{11, 12}
		if set.slice {
			v.Slice, want[0] = &slice, slice
		}
		if set.vtime {
			v.Vtime, want[1] = &vtime, vtime
		}
		require.True(t, s.Move(v, first, 8, 0, true))
		assert.Equal(t, want, []uint64{first.Slice(), first.Vtime()})
		assert.False(t, s.Move(v, first, 8, 0, true), "it has left the queue")
		second := v.Next()
		require.True(t, s.Move(v, second, 8, 0, true))
		assert.Equal(t, []uint64{11, 12}, []uint64{second.Slice(), second.Vtime()})
		assert.Equal(t, 2, s.Queued(8))
	}
}

// TestInsertionsOfTasksThatLeft: what a dispatch inserted takes effect after it, unless the task was
// dequeued or enqueued again meanwhile.
func TestInsertionsOfTasksThatLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		meanwhile func(*Task)
		want      int
	}{
		"nothing happened": {func(*Task) {}, 1},
		"dequeued":         {func(t *Task) { t.ops = opsNone }, 0},
		"enqueued again":   {func(t *Task) { t.qseq++ }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := simulated(t, Topology(1, 0, 0, 0), 0)
			require.Zero(t, s.CreateDSQ(7, -1))
			s.buffer.rq = s.cpus[0]
			task := s.tasks[0]
			task.ops = opsQueued
			s.commit(task, 7, 0)
			tt.meanwhile(task)
			s.flush()
			assert.Equal(t, tt.want, s.Queued(7))
		})
	}
}

// TestMembersThatBelongTogether (validate_ops).
func TestMembersThatBelongTogether(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags OpsFlags
		has   []Op
		cid   bool
		cids  bool
		want  string
	}{
		{"nothing", 0, nil, false, true, ""},
		{"the last task is no one's", EnqLast, nil, false, true, "SCX_OPS_ENQ_LAST requires ops.enqueue()"},
		{"the last task is enqueued", EnqLast, []Op{OpEnqueue}, false, true, ""},
		{"nodes", BuiltinIdlePerNode, nil, false, true, ""},
		{"nodes of the scheduler's own", BuiltinIdlePerNode, []Op{OpUpdateIdle}, false, true, "requires CPU idle selection enabled"},
		{"nodes of both", BuiltinIdlePerNode | KeepBuiltinIdle, []Op{OpUpdateIdle}, false, true, ""},
		{"others below", 0, []Op{OpSubAttach}, false, true, "requires cid-form struct_ops"},
		{"others leave", 0, []Op{OpSubDetach}, false, true, "requires cid-form struct_ops"},
		{"others below, by cid", 0, []Op{OpSubAttach, OpSubDetach}, true, true, ""},
		{"others below, before cids", 0, []Op{OpSubAttach}, false, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPolicy()
			for _, op := range tt.has {
				p.do[op] = none
			}
			v := DefaultValues
			v.Cids = tt.cids
			s, err := New(Config{CPUs: Topology(2, 0, 0, 0), Flags: tt.flags, Cid: tt.cid, Values: v, Duration: ms}, p)
			require.NoError(t, err)
			assert.Equal(t, tt.want == "", s.validate())
			if tt.want != "" {
				assert.Contains(t, s.exit.Message, tt.want)
			}
		})
	}
}

// TestValuesOfKernels: an enumerator that a kernel has is used; flags that it lacks are 0.
func TestValuesOfKernels(t *testing.T) {
	has := map[string]uint64{"SCX_ENQ_HEAD": 7, "SCX_OPS_ALL_FLAGS": 0xff}
	v := ValuesOf(func(name string) (uint64, bool) { n, ok := has[name]; return n, ok })
	assert.Equal(t, Values{EnqWakeup: 1, EnqHead: 7, EnqSelected: 1 << 20, AllFlags: 0xff}, v)
}

// TestDisallowedTasks: SCX_OPS_SWITCH_PARTIAL leaves a task to its class (scx_init_task).
func TestDisallowedTasks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags OpsFlags
		start time.Duration
		class Class
		want  string
	}{
		{"no task is", 0, 0, Ext, ""},
		{"a task is", SwitchPartial, 0, Above, ""},
		{"a task is born", SwitchPartial, ms, Ext, "set task->scx.disallow for a[1] during fork"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := fifo(20 * ms)
			p.do[OpInitTask] = func(a []any) int64 { p.Store(a[0].(*Task), FieldDisallow, 1); return 0 }
			r := p.run(t, Config{Flags: tt.flags, Duration: 10 * ms, Tasks: []TaskSpec{{Name: "a", Start: tt.start, Steps: []Step{{Kind: DoRun, For: ms}}}}})
			assert.Equal(t, tt.class, p.s.tasks[0].Class)
			if tt.want == "" {
				assert.Equal(t, "unregistered", r.Exit.Name())
				return
			}
			assert.Contains(t, r.Exit.Message, "during fork")
		})
	}
}
