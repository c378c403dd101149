package sched

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/internal/subsys/event"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatIsNoErrno: operations that fail return an errno; anything else is an error of its own
// (ops_sanitize_err). cgroup_init is not checked.
func TestWhatIsNoErrno(t *testing.T) {
	moving := TaskSpec{Name: "a", Cgroup: "/x", Steps: []Step{{Kind: DoRun, For: ms}, {Kind: DoMove, To: "/y"}, {Kind: DoRun, For: ms}}}
	for _, tt := range []struct {
		op   Op
		ret  int64
		want string
	}{
		{OpInit, -12, "ops.init() failed (-12)"},
		{OpInit, -4095, "ops.init() failed (-4095)"},
		{OpInit, -4096, "ops.init() returned an invalid errno -4096"},
		{OpInit, 5, "ops.init() returned an invalid errno 5"},
		{OpInitTask, -1, "ops.init_task() failed (-1) for a[1000]"},
		{OpInitTask, 1, "ops.init_task() returned an invalid errno 1"},
		{OpCgroupInit, -2, "ops.cgroup_init() failed (-2)"},
		{OpCgroupInit, 7, "ops.cgroup_init() failed (7)"},
		{OpCgroupPrep, 3, "ops.cgroup_prep_move() returned an invalid errno 3"},
		{OpCgroupPrep, -16, ""},
	} {
		p := newPolicy()
		p.do[tt.op] = func([]any) int64 { return tt.ret }
		r := p.run(t, Config{Tasks: []TaskSpec{moving}})
		assert.Equal(t, tt.want, r.Exit.Message, "%s %d", tt.op, tt.ret)
		if tt.op == OpCgroupPrep {
			assert.Equal(t, "/x", r.Tasks[0].Cgroup, "it may not move")
		}
	}
}

// TestOrderOfUnloading: cgroups leave before tasks, each after those below it, and only those that
// the scheduler got to know.
func TestOrderOfUnloading(t *testing.T) {
	all := func() *policy {
		p := newPolicy()
		for _, op := range []Op{OpInit, OpCgroupInit, OpCgroupExit, OpInitTask, OpExitTask, OpEnable, OpDisable, OpExit} {
			p.do[op] = none
		}
		return p
	}
	tasks := []TaskSpec{
		{Name: "a", Cgroup: "/b/c", Steps: []Step{{Kind: DoWait}}}, {Name: "b", Cgroup: "/b-d", Steps: []Step{{Kind: DoWait}}},
		{Name: "rt", Class: Above, Cgroup: "/a", Steps: []Step{{Kind: DoWait}}},
	}
	p := all()
	p.run(t, Config{Tasks: tasks, Duration: ms})
	assert.Equal(t, []string{
		"init", "cgroup_init /", "cgroup_init /a", "cgroup_init /b", "cgroup_init /b/c", "cgroup_init /b-d",
		"init_task a", "init_task b", "init_task rt", "enable a", "enable b",
		"cgroup_exit /a", "cgroup_exit /b/c", "cgroup_exit /b", "cgroup_exit /b-d", "cgroup_exit /",
		"disable a", "exit_task a", "disable b", "exit_task b", "exit_task rt", "exit unregistered",
	}, p.log)
	assert.EqualValues(t, 2, p.s.Count(CountBypass))

	p = all()
	p.do[OpCgroupInit] = func(a []any) int64 {
		if a[0].(Cgroup) == "/b/c" {
			return -1
		}
		return 0
	}
	p.run(t, Config{Tasks: tasks, Duration: ms})
	assert.Equal(t, []string{
		"init", "cgroup_init /", "cgroup_init /a", "cgroup_init /b", "cgroup_init /b/c", "cgroup_exit /a", "cgroup_exit /b", "cgroup_exit /", "exit error",
	}, p.log)
	assert.EqualValues(t, 1, p.s.Count(CountBypass), "it never left that mode")

	p = all()
	p.run(t, Config{Tasks: tasks, Duration: ms, Flags: EnqLast})
	assert.Equal(t, []string{"init", "exit error"}, p.log)
	assert.Equal(t, "SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented", p.s.exit.Message)
	assert.EqualValues(t, 1, p.s.Count(CountBypass))
}

// TestTasksOfOtherClasses: the scheduler learns of their lives and cgroups, too.
func TestTasksOfOtherClasses(t *testing.T) {
	p := newPolicy()
	for _, op := range []Op{OpInitTask, OpExitTask, OpEnable, OpDisable, OpCgroupPrep, OpCgroupMove, OpSetWeight, OpRunnable} {
		p.do[op] = none
	}
	steps := []Step{{Kind: DoRun, For: ms}, {Kind: DoMove, To: "/x"}, {Kind: DoMove, To: "/x/"}, {Kind: DoNice, Nice: 3}, {Kind: DoRun, For: ms}}
	p.run(t, Config{Tasks: []TaskSpec{{Name: "there", Class: Above, Steps: steps}, {Name: "late", Class: Above, Start: 10 * ms, Steps: steps[:1]}}})
	assert.Equal(t, []string{
		"init_task there", "cgroup_prep_move there  /x", "cgroup_move there  /x", "exit_task there", "init_task late", "exit_task late",
	}, p.log)
}

// TestDump: a scheduler that an error ends describes itself, the CPU of the error first; the lines
// are its own, with what the kernel puts before them.
func TestDump(t *testing.T) {
	p := fifo(100 * ms)
	p.do[OpDump] = func(a []any) int64 {
		e := a[0].(DumpArgs).Exit
		p.s.Dump("why: ")
		p.s.Dump(e.Message + "\n")
		p.s.Dump("two\nlines")
		return 0
	}
	p.do[OpDumpCPU] = func(a []any) int64 {
		if a[2].(bool) {
			return 0 // nothing to say
		}
		p.s.Dump("cpu " + string(rune('0'+a[1].(int))))
		return 0
	}
	p.do[OpDumpTask] = func(a []any) int64 { p.s.Dump(a[1].(*Task).Spec.Name + "\n"); return 0 }
	p.do[OpTick] = func(a []any) int64 {
		if a[0].(*Task).Spec.Name == "b" {
			p.s.Fail("enough")
		}
		return 0
	}
	p.quiet = []Op{OpInit, OpEnqueue, OpDispatch, OpTick}
	tasks := []TaskSpec{hog("a"), hog("b"), hog("c")}
	for i := range tasks {
		tasks[i].Allowed = MaskOf(min(i, 1))
	}
	r := p.run(t, Config{CPUs: Topology(3, 0, 0, 0), Tasks: tasks})
	require.Equal(t, "error-bpf", r.Exit.Name())
	assert.Equal(t, "\nwhy: enough\ntwo\nlines\n\n  cpu 1\n\n    b\n\n    c\n\n  cpu 0\n\n    a\n", r.Exit.Dump)
	assert.Len(t, p.log, 1+3+3)

	p = fifo(ms)
	p.do[OpDump], p.do[OpDumpCPU], p.do[OpDumpTask] = none, none, none
	p.do[OpTick] = func([]any) int64 { p.s.Dump("x"); return 0 }
	assert.Equal(t, "scx_bpf_dump() must only be called from ops.dump() and friends", p.run(t, Config{Tasks: tasks[:1]}).Exit.Message)
	p.do[OpTick] = none
	r = p.run(t, Config{Tasks: tasks[:1]})
	assert.Zero(t, r.Calls[OpDump], "no error")
	p.do[OpInit] = func([]any) int64 { return -1 }
	r = p.run(t, Config{Tasks: tasks[:1]})
	assert.Zero(t, r.Calls[OpDump], "the scheduler has no operations yet")
}

// TestWhichCPUsAreIdleInADump: those that run nothing and for which nothing waits.
func TestWhichCPUsAreIdleInADump(t *testing.T) {
	a, b := &Task{Spec: &TaskSpec{Name: "a"}, Class: Ext}, &Task{Spec: &TaskSpec{Name: "b"}, Class: Ext}
	for _, tt := range []struct {
		curr, waits *Task
		want        []string
	}{
		{nil, nil, []string{"idle: true"}},
		{a, nil, []string{"idle: false", "a"}},
		{nil, b, []string{"idle: false", "b"}},
		{a, b, []string{"idle: false", "a", "b"}},
		{&Task{Class: Above}, nil, []string{"idle: false"}},
	} {
		p := fifo(ms)
		p.quiet = []Op{OpDumpCPU, OpDumpTask}
		var got []string
		p.do[OpDumpCPU] = func(a []any) int64 { got = append(got, fmt.Sprintf("idle: %v", a[2])); return 0 }
		p.do[OpDumpTask] = func(a []any) int64 { got = append(got, a[1].(*Task).Spec.Name); return 0 }
		s, err := New(Config{CPUs: Topology(1, 0, 0, 0), Duration: ms, Tasks: []TaskSpec{hog("t")}}, p)
		require.NoError(t, err)
		s.dumping = &dumping{}
		if s.cpus[0].curr = tt.curr; tt.waits != nil {
			s.cpus[0].list.add(tt.waits, nil)
		}
		s.dumpCPU(s.cpus[0], DumpArgs{})
		assert.Equal(t, tt.want, got)
	}
}

// broken is a scheduler one of whose operations cannot be called.
type broken struct {
	*policy
	at    Op
	after []Op
}

var errBroken = errors.New("broken")

func (b *broken) Call(cpu int, op Op, args []any) (int64, error) {
	if b.after != nil || op == b.at {
		b.after = append(b.after, op)
		return 0, errBroken
	}
	return b.policy.Call(cpu, op, args)
}

// TestNothingIsCalledAfterAnError: an operation that cannot be called ends the simulation, also in
// the middle of an event that calls others.
func TestNothingIsCalledAfterAnError(t *testing.T) {
	for _, op := range []Op{OpInit, OpInitTask, OpEnable, OpRunnable, OpEnqueue, OpDispatch, OpRunning, OpTick, OpStopping, OpQuiescent, OpExitTask, OpExit} {
		b := &broken{policy: fifo(ms), at: op}
		for _, also := range []Op{OpInitTask, OpEnable, OpRunnable, OpRunning, OpTick, OpStopping, OpQuiescent, OpDequeue, OpDisable, OpExitTask, OpExit} {
			if b.do[also] == nil {
				b.do[also] = none
			}
		}
		s, err := New(Config{CPUs: Topology(2, 0, 0, 0), Duration: 50 * ms, Tasks: several(3)}, b)
		require.NoError(t, err)
		b.s = s
		_, err = s.Run(t.Context())
		assert.ErrorIs(t, err, errBroken, op)
		assert.Equal(t, []Op{op}, b.after)
	}
}

func TestALongDumpIsCut(t *testing.T) {
	p := fifo(ms)
	p.do[OpDump] = func([]any) int64 {
		for range 3 {
			p.s.Dump(strings.Repeat("x", 2000))
		}
		return 0
	}
	p.do[OpTick] = func([]any) int64 { p.s.Fail(""); return 0 }
	r := p.run(t, Config{Tasks: []TaskSpec{hog("a")}})
	assert.Equal(t, "\n"+strings.Repeat(strings.Repeat("x", maxLine)+"\n", 3), r.Exit.Dump)
}

// TestHostileSchedulers: none of them goes on without end.
func TestHostileSchedulers(t *testing.T) {
	for _, tt := range []struct {
		name string
		op   Op
		do   func(s *Sim, a []any)
	}{
		{"kicks itself", OpDispatch, func(s *Sim, a []any) { s.Kick(a[0].(int), 0) }},
		{"preempts itself", OpRunning, func(s *Sim, a []any) { s.Kick(a[0].(*Task).CPU, KickPreempt) }},
		{"waits for itself", OpRunning, func(s *Sim, a []any) { s.Kick(a[0].(*Task).CPU, KickWait|KickPreempt) }},
		{"inserts what another CPU must run", OpDispatch, func(s *Sim, a []any) { s.Insert(s.tasks[0], DSQLocalOn|1, 1, 0, 0, false) }},
		{"gives tasks back from its queue for ever", OpEnqueue, func(s *Sim, a []any) {
			s.Insert(a[0].(*Task), 1, uint64(ms), 0, 0, false)
			s.ReenqueueDSQ(1, 0)
		}},
		{"sets slices of nothing", OpRunning, func(s *Sim, a []any) { a[0].(*Task).SetSlice(0); s.Kick(a[0].(*Task).CPU, 0) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := fifo(ms)
			usual := p.do[tt.op]
			p.do[tt.op] = func(a []any) int64 {
				if tt.do(p.s, a); usual != nil && tt.op != OpEnqueue {
					return usual(a)
				}
				return 0
			}
			p.quiet = []Op{OpInit, OpEnqueue, OpDispatch, OpRunning, OpInitTask}
			s, err := New(Config{CPUs: Topology(2, 0, 0, 0), Duration: 100 * ms, Events: 200_000, Tasks: []TaskSpec{
				{Name: "a", Allowed: MaskOf(0), Times: Forever, Steps: []Step{{Kind: DoRun, For: ms}, {Kind: DoSleep, For: ms}}}, hog("b"), hog("c"),
			}}, p)
			require.NoError(t, err)
			p.s = s
			begin := time.Now()
			r, err := s.Run(t.Context())
			if err != nil {
				require.ErrorIs(t, err, event.ErrLimit)
			}
			assert.LessOrEqual(t, r.Events, 200_001)
			assert.Less(t, time.Since(begin), time.Minute)
		})
	}
	t.Run("makes queues", func(t *testing.T) {
		p := newPolicy()
		made := 0
		p.do[OpInit] = func([]any) int64 {
			for id := range uint64(1 << 20) {
				if p.s.CreateDSQ(id, -1) == 0 {
					made++
				}
			}
			return 0
		}
		assert.Equal(t, "unregistered", p.run(t, Config{}).Exit.Name())
		assert.Equal(t, 1<<16, made)
	})
}

// TestSchedulersOfOthers: where schedulers that know CPUs by cid exist (Linux 7.2), only these may
// have others below them.
func TestSchedulersOfOthers(t *testing.T) {
	before72 := DefaultValues
	before72.Cids = false
	for _, op := range []Op{OpSubAttach, OpSubDetach} {
		for _, tt := range []struct {
			values Values
			cid    bool
			want   string
		}{{DefaultValues, false, "sub_attach/sub_detach requires cid-form struct_ops"}, {DefaultValues, true, ""}, {before72, false, ""}} {
			p := newPolicy()
			p.do[op] = none
			assert.Equal(t, tt.want, p.run(t, Config{Values: tt.values, Cid: tt.cid}).Exit.Message)
		}
	}
}

// TestWhatTakesNoTimeCanBeInterrupted: a scheduler that keeps a CPU busy with dispatching is
// stopped before the limit of events.
func TestWhatTakesNoTimeCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := fifo(ms)
	calls := 0
	p.do[OpDispatch] = func([]any) int64 {
		if calls++; calls == 1000 {
			cancel()
		}
		p.s.Insert(p.s.tasks[0], DSQLocal, 1, 0, 0, false) // of another class: it has no effect
		return 0
	}
	p.quiet = []Op{OpInit, OpEnqueue, OpDispatch}
	s, err := New(Config{CPUs: Topology(1, 0, 0, 0), Duration: 100 * ms, Tasks: []TaskSpec{{Name: "rt", Class: Above, Steps: []Step{{Kind: DoRun, For: ms}, {Kind: DoWait}}}}}, p)
	require.NoError(t, err)
	p.s = s
	_, err = s.Run(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Less(t, calls, 1000+32*300)
}
