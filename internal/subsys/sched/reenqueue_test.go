package sched

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTasksOfAQueueGoBack: the tasks that are in a queue when it is asked for go back to the
// scheduler, each once, in their order.
func TestTasksOfAQueueGoBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		id   uint64
		want []string
	}{
		{"of the scheduler", 1, []string{"b", "c", "d"}},
		{"of the CPU", DSQLocal, []string{"b", "c", "d"}},
		{"of a CPU by number", DSQLocalOn, []string{"b", "c", "d"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := fifo(20 * ms)
			var again []string
			p.do[OpEnqueue] = func(a []any) int64 {
				task, flags := a[0].(*Task), a[1].(uint64)
				id := uint64(1)
				if tt.id != 1 {
					id = DSQLocal
				}
				if flags&EnqReenq != 0 {
					again = append(again, task.Spec.Name)
				}
				p.s.Insert(task, id, 0, 0, 0, false)
				return 0
			}
			asked := false
			p.do[OpTick] = func(a []any) int64 {
				if !asked {
					asked = true
					p.s.ReenqueueDSQ(tt.id, 0)
					p.s.ReenqueueDSQ(tt.id, reenqAny) // no second time
				}
				return 0
			}
			r := p.run(t, Config{Tasks: []TaskSpec{hog("a"), hog("b"), hog("c"), hog("d")}, Duration: 15 * ms})
			assert.Equal(t, "unregistered", r.Exit.Name(), r.Exit.Message)
			assert.Equal(t, tt.want, again)
			assert.Zero(t, p.s.Count(CountReenqueueRepeat))
		})
	}
}

// TestReenqueueErrors: what the kernel refuses ends the scheduler with its message.
func TestReenqueueErrors(t *testing.T) {
	for _, tt := range []struct {
		name      string
		id, flags uint64
		want      string
	}{
		{"flags", 1, 2, "invalid SCX_REENQ flags 0x2"},
		{"the global queue", DSQGlobal, 0, "DSQ 0x8000000000000001 not allowed for reenq"},
		{"no queue", 7, 0, "non-existent DSQ 0x7"},
		{"no CPU", DSQLocalOn | 9, 0, "invalid CPU 9 in SCX_DSQ_LOCAL_ON dispatch verdict"},
	} {
		p := fifo(20 * ms)
		p.do[OpTick] = func([]any) int64 { p.s.ReenqueueDSQ(tt.id, tt.flags); return 0 }
		assert.Equal(t, tt.want, p.run(t, Config{Tasks: []TaskSpec{hog("a")}}).Exit.Message, tt.name)
	}
}

// TestReenqueueOfTheSameTasks: a scheduler that puts tasks back into the CPU's queue and asks for
// them again ends after 256 times.
func TestReenqueueOfTheSameTasks(t *testing.T) {
	p := fifo(20 * ms)
	p.do[OpEnqueue] = func(a []any) int64 {
		if a[1].(uint64)&EnqReenq != 0 {
			p.s.ReenqueueDSQ(DSQLocal, 0)
		}
		p.s.Insert(a[0].(*Task), DSQLocal, 0, 0, 0, false)
		return 0
	}
	p.do[OpTick] = func([]any) int64 { p.s.ReenqueueDSQ(DSQLocal, 0); return 0 }
	r := p.run(t, Config{Tasks: []TaskSpec{hog("a"), hog("b")}})
	assert.Equal(t, "SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times", r.Exit.Message)
	assert.EqualValues(t, 257, p.s.Count(CountReenqueueRepeat))
}

// TestDestroyedQueuesAreNotAsked: a queue that is gone when its turn comes has nothing to give
// back.
func TestDestroyedQueuesAreNotAsked(t *testing.T) {
	p := fifo(20 * ms)
	p.do[OpTick] = func([]any) int64 {
		if p.s.CreateDSQ(2, -1) == 0 {
			p.s.ReenqueueDSQ(2, 0)
			p.s.DestroyDSQ(2)
		}
		return 0
	}
	assert.Equal(t, "unregistered", p.run(t, Config{Tasks: []TaskSpec{hog("a")}}).Exit.Name())
}

// TestEventsAreCounted holds what each counter counts.
func TestEventsAreCounted(t *testing.T) {
	once := func(name string, for_ ...Step) TaskSpec { return TaskSpec{Name: name, Steps: for_} }
	for _, tt := range []struct {
		name  string
		what  Counter
		want  uint64
		cfg   Config
		tweak func(*policy)
	}{
		{"loaded and unloaded", CountBypass, 2, Config{Tasks: []TaskSpec{hog("a")}}, nil},
		{"a CPU where the task may not run", CountSelectFallback, 3, // at first and after two sleeps
			Config{CPUs: Topology(3, 0, 0, 0), Tasks: []TaskSpec{{Name: "a", Allowed: MaskOf(0, 2), Steps: []Step{{Kind: DoRun, For: ms}, {Kind: DoSleep, For: ms}}, Times: 2}}},
			func(p *policy) { p.do[OpSelectCPU] = func([]any) int64 { return 1 } }},
		{"nothing else to run", CountKeepLast, 2, Config{Tasks: []TaskSpec{hog("a")}, Duration: 44 * ms}, nil}, // at 8 ms, and 20 ms later
		{"so it gets a new slice", CountRefill, 2, Config{Tasks: []TaskSpec{hog("a")}, Duration: 44 * ms}, nil},
		{"unless the scheduler wants the last one", CountKeepLast, 0, Config{Tasks: []TaskSpec{hog("a")}, Duration: 24 * ms, Flags: EnqLast}, nil},
		{"an exiting task", CountSkipExiting, 1, Config{Tasks: []TaskSpec{once("a", Step{Kind: DoExit, For: 12 * ms}), hog("b")}, Duration: 24 * ms}, nil},
		{"an exiting task that the scheduler wants", CountSkipExiting, 0,
			Config{Tasks: []TaskSpec{once("a", Step{Kind: DoExit, For: 12 * ms}), hog("b")}, Duration: 24 * ms, Flags: EnqExiting}, nil},
		{"a task that is gone", CountNotOwned, 1, Config{Tasks: []TaskSpec{once("a", Step{Kind: DoRun, For: ms}), hog("b")}, Duration: 24 * ms},
			func(p *policy) {
				told := false
				p.do[OpDispatch] = func([]any) int64 {
					if a := p.s.tasks[0]; a.Stats.Exited && !a.enabled && !told {
						told = true
						p.s.Insert(a, 1, 0, 0, 0, false)
					}
					p.s.MoveToLocal(1, 0)
					return 0
				}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := fifo(8 * ms)
			if tt.tweak != nil {
				tt.tweak(p)
			}
			r := p.run(t, tt.cfg)
			assert.Equal(t, "unregistered", r.Exit.Name(), r.Exit.Message)
			assert.Equal(t, tt.want, p.s.Count(tt.what), "%v", p.s.counts)
		})
	}
}
