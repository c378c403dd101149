package sched

import (
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/internal/cpuset"
	"github.com/stretchr/testify/assert"
)

// TestWhichTaskSelectCPUIsFor: in select_cpu the functions that choose a CPU are for the task that
// wakes, in other operations on a run queue for its tasks, elsewhere for all.
func TestWhichTaskSelectCPUIsFor(t *testing.T) {
	for _, tt := range []struct {
		op   Op
		of   int // the task
		want string
	}{
		{OpSelectCPU, 0, ""},
		{OpSelectCPU, 1, "called on a task not being operated on"},
		{OpEnqueue, 0, ""},
		{OpEnqueue, 1, "select_cpu kfunc called cross-task on b[1001]"},
		{OpInit, 1, ""},
	} {
		p := newPolicy()
		p.do[OpEnqueue] = func(a []any) int64 { p.s.Insert(a[0].(*Task), DSQLocal, uint64(ms), 0, 0, false); return 0 }
		p.do[OpSelectCPU] = func(a []any) int64 { return int64(a[1].(int)) }
		usual := p.do[tt.op]
		got := 0
		p.do[tt.op] = func(a []any) int64 {
			if len(a) > 0 && a[0].(*Task).Number != 0 {
				return int64(p.s.cpus[1].id)
			}
			of := p.s.tasks[tt.of]
			got = p.s.SelectDefault(of, of.CPU, 0, cpuset.Below(MaxCPUs), 0)
			if usual != nil {
				return usual(a)
			}
			return 0
		}
		r := p.run(t, Config{CPUs: Topology(2, 0, 0, 0), Duration: ms, Tasks: []TaskSpec{
			{Name: "a", Steps: []Step{{Kind: DoRun, For: ms}}}, {Name: "b", CPU: 1, Steps: []Step{{Kind: DoRun, For: ms}}},
		}})
		assert.Equal(t, tt.want, r.Exit.Message, "%s", tt.op)
		if tt.want != "" {
			assert.Equal(t, -22, got)
		} else {
			assert.GreaterOrEqual(t, got, 0)
		}
	}
}

// TestTheOnlyCPUOfATask: it is chosen when it is idle, wherever the task was, if the caller allows
// it and wants that node.
func TestTheOnlyCPUOfATask(t *testing.T) {
	for _, tt := range []struct {
		prev  int
		among Mask
		flags uint64
		want  int
	}{
		{0, cpuset.Below(MaxCPUs), 0, 3}, {3, cpuset.Below(MaxCPUs), 0, 3}, {0, MaskOf(0, 1, 2), 0, busy}, {0, MaskOf(3), 0, 3}, {0, cpuset.Below(MaxCPUs), PickIdleInNode, busy}, {2, cpuset.Below(MaxCPUs), PickIdleInNode, 3},
	} {
		p := newPolicy()
		got := 0
		p.do[OpInit] = func([]any) int64 {
			got = p.s.SelectDefault(p.s.tasks[0], tt.prev, 0, tt.among, tt.flags)
			assert.Equal(t, got != 3, p.s.TakeIdle(3))
			assert.Equal(t, busy, p.s.SelectDefault(p.s.tasks[0], tt.prev, 0, tt.among, tt.flags), "no longer idle")
			return 0
		}
		p.run(t, Config{CPUs: Topology(4, 0, 0, 2), Flags: BuiltinIdlePerNode, Duration: ms, Tasks: []TaskSpec{{Name: "a", Allowed: MaskOf(3), Steps: []Step{{Kind: DoWait}}}}})
		assert.Equal(t, tt.want, got, "%+v", tt)
	}
}

// TestTasksThatAreForgotten: a scheduler may insert any task that it knows, which has no effect
// unless it has been given the task; what has exited is counted.
func TestTasksThatAreForgotten(t *testing.T) {
	p := fifo(ms)
	usual := p.do[OpDispatch]
	last := ^uint64(0)
	p.do[OpDispatch] = func(a []any) int64 {
		if last == p.s.Now() { // dispatch is called again after each insertion
			return usual(a)
		}
		last = p.s.Now()
		for _, task := range p.s.tasks {
			assert.Equal(t, task.Known(), p.s.Insert(task, DSQLocal, uint64(ms), 0, 0, false), task.Spec.Name)
		}
		return usual(a)
	}
	p.quiet = []Op{OpInit, OpEnqueue, OpDispatch}
	p.run(t, Config{Tasks: []TaskSpec{
		{Name: "rt", Class: Above, Steps: []Step{{Kind: DoWait}}}, {Name: "gone", Steps: []Step{{Kind: DoRun, For: ms}}}, {Name: "a", Steps: []Step{{Kind: DoRun, For: ms}, {Kind: DoSleep, For: ms}}, Times: 3},
	}, Duration: 20 * ms})
	assert.NotZero(t, p.s.Count(CountNotOwned))
}

// TestTheWatchdogCountsTicks: a part of a tick counts as one, and it looks twice in that time.
func TestTheWatchdogCountsTicks(t *testing.T) {
	for _, tt := range []struct {
		timeout time.Duration
		after   time.Duration
		text    string
	}{
		{8 * ms, 12 * ms, "a[1000] failed to run for 0.012s"},
		{9 * ms, 16 * ms, "a[1000] failed to run for 0.016s"}, // three ticks: it looks at each one
		{12 * ms, 16 * ms, "a[1000] failed to run for 0.016s"},
		{40 * ms, 60 * ms, "a[1000] failed to run for 0.060s"},
	} {
		p := newPolicy()
		p.do[OpEnqueue] = none
		r := p.run(t, Config{Timeout: tt.timeout, Tasks: []TaskSpec{{Name: "a", Steps: []Step{{Kind: DoRun, For: ms}}}}, Duration: time.Second})
		assert.Equal(t, tt.text, r.Exit.Message, tt.timeout)
		assert.EqualValues(t, tt.after, r.End, tt.timeout)
	}
}
