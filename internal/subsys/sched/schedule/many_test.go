package schedule

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/internal/cpuset"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCPUsOfTasksBeyondTheFirstWord: a task runs where it may, and programs find its CPUs in
// task_struct and in the argument of set_cpumask.
func TestCPUsOfTasksBeyondTheFirstWord(t *testing.T) {
	const cpus = 200
	m := on(t, "schedfifo", kernel72, machine.Config{CPUs: cpus, Simulates: []string{"sched"}})
	allowed := sched.MaskOf(100, 199)
	seen := 0
	res, err := Run(t.Context(), m, Spec{
		CPUs: sched.Topology(cpus, 2, 0, 0), Duration: 20 * time.Millisecond,
		Tasks: []sched.TaskSpec{{Name: "a", Allowed: allowed, CPU: 3, Times: sched.Forever, Steps: []sched.Step{
			{Kind: sched.DoRun, For: time.Millisecond}, {Kind: sched.DoSleep, For: time.Millisecond}, {Kind: sched.DoRun, For: time.Millisecond}, {Kind: sched.DoAffinity, CPUs: sched.MaskOf(150)},
		}}},
		Calls: func(c *drive.Call) error {
			for _, v := range c.Input.Values {
				if o, ok := v.(*object.Object); ok && o.TypeName() == "task_struct" {
					set, err := o.CPUSet("cpus_mask")
					require.NoError(t, err)
					assert.Contains(t, []cpuset.Set{allowed, sched.MaskOf(150)}, set)
					assert.EqualValues(t, set.Count(), o.Num("nr_cpus_allowed"))
					seen++
				}
			}
			return nil
		},
	})
	require.NoError(t, err)
	require.NoError(t, res.Err)
	require.Equal(t, "unregistered", res.Exit.Name(), res.Exit.Message)
	assert.NotZero(t, seen)
	assert.NotZero(t, res.Tasks[0].Stats.ByCPU[150])
	for cpu := range res.Tasks[0].Stats.ByCPU {
		assert.Contains(t, []int{100, 150, 199}, cpu)
	}
}

// TestCmasksOfManyCPUs: the kernel hands a mask of all words over, each CPU's in pages of the arena.
func TestCmasksOfManyCPUs(t *testing.T) {
	const cpus = 500
	m := byCid(t, kernel72, cpus, nil)
	res, err := Run(t.Context(), m, Spec{
		CPUs: sched.Topology(cpus, 0, 0, 0), Duration: 5 * time.Millisecond,
		Tasks: []sched.TaskSpec{{Name: "a", Allowed: sched.MaskOf(1, 70, 499), CPU: 490, Steps: []sched.Step{{Kind: sched.DoRun, For: time.Millisecond}}}},
	})
	require.NoError(t, err)
	require.NoError(t, res.Err)
	assert.EqualValues(t, cpus, numbers(t, m, "cmask_nr", 8)[0])
	assert.EqualValues(t, 9, numbers(t, m, "cmask_words", 8)[0], "eight, and one to spare")
	arena := m.ArenaOf("cid_set_cmask")
	b := make([]byte, 16+9*8)
	require.NoError(t, arena.Peek(numbers(t, m, "cmask_addr", 8)[0]-uint64(uint32(arena.UserBase())), b))
	assert.Equal(t, sched.MaskOf(1, 70, 499), cpuset.From(b[16:], binary.LittleEndian, 8))
}

// crowd are tasks that run and sleep, as many as there are to be.
func crowd(n, cpus int) (tasks []sched.TaskSpec) {
	for i := range n {
		tasks = append(tasks, sched.TaskSpec{Name: fmt.Sprintf("task%d", i), CPU: i % cpus, Times: 1, Steps: []sched.Step{
			{Kind: sched.DoRun, For: time.Duration(1+i%3) * time.Millisecond}, {Kind: sched.DoSleep, For: time.Duration(1+i%7) * time.Millisecond},
		}})
	}
	return tasks
}

// TestManyTasksOfAScheduler: what a task costs does not grow with their number. The limit is 1.3
// times what it was when this was written.
func TestManyTasksOfAScheduler(t *testing.T) {
	run := func(tasks, cpus int) float64 {
		m := on(t, "schedfifo", kernel72, machine.Config{CPUs: cpus, Simulates: []string{"sched"}})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := Run(t.Context(), m, Spec{CPUs: sched.Topology(cpus, 2, 16, 0), Duration: 200 * time.Millisecond, Tasks: crowd(tasks, cpus)})
		require.NoError(t, err)
		require.NoError(t, res.Err)
		require.Equal(t, "unregistered", res.Exit.Name(), res.Exit.Message)
		runtime.ReadMemStats(&after)
		for _, task := range res.Tasks {
			require.True(t, task.Stats.Exited, task.Spec.Name)
		}
		t.Logf("%d tasks: %d events, %d operations, %.0f allocations and %.0f bytes for each task", tasks, res.Events, calls(res),
			float64(after.Mallocs-before.Mallocs)/float64(tasks), float64(after.TotalAlloc-before.TotalAlloc)/float64(tasks))
		return float64(after.Mallocs-before.Mallocs) / float64(tasks)
	}
	few, many := run(500, 64), run(10_000, 512)
	assert.Less(t, many, 1.3*few)
	assert.Less(t, many, 1.3*228)
}

func calls(res *Result) (n int) {
	for _, c := range res.Calls {
		n += c
	}
	return n
}
