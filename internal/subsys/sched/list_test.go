package sched

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestQueuesKeepTheirOrder compares queues with slices that are searched from their beginning.
func TestQueuesKeepTheirOrder(t *testing.T) {
	for _, byTime := range []bool{false, true} {
		t.Run(fmt.Sprintf("by time %v", byTime), func(t *testing.T) {
			p := newPolicy()
			cfg := Config{CPUs: Topology(1, 0, 0, 0), Duration: ms}
			for i := range 300 {
				cfg.Tasks = append(cfg.Tasks, TaskSpec{Name: fmt.Sprint(i), Steps: []Step{{Kind: DoWait}}})
			}
			s, err := New(cfg, p)
			require.NoError(t, err)
			q := &DSQ{ID: 7}
			var want []*Task
			r := rand.New(rand.NewPCG(3, 4))
			deepest := 0
			for range 5000 {
				task := s.tasks[r.IntN(len(s.tasks))]
				switch i := slices.Index(want, task); {
				case i >= 0:
					require.Same(t, q, task.dsq)
					task.unlink()
					want = slices.Delete(want, i, i+1)
				case byTime:
					task.SetVtime(uint64(r.IntN(50)) - 25) // also before zero
					s.dispatchEnqueue(s.cpus[0], q, task, enqPriq)
					at := slices.IndexFunc(want, func(o *Task) bool { return before(task.Vtime(), o.Vtime()) })
					if at < 0 {
						at = len(want)
					}
					want = slices.Insert(want, at, task)
				case r.IntN(2) == 0:
					s.dispatchEnqueue(s.cpus[0], q, task, 0)
					want = append(want, task)
				default:
					s.dispatchEnqueue(s.cpus[0], q, task, DefaultValues.EnqHead)
					want = slices.Insert(want, 0, task)
				}
				require.Equal(t, len(want), q.tasks.n)
				require.True(t, slices.Equal(want, q.tasks.tasks()))
				back := []*Task{}
				for o := q.tasks.before(nil); o != nil; o = q.tasks.before(o) {
					back = append(back, o)
				}
				slices.Reverse(back)
				require.True(t, slices.Equal(want, back))
				deepest = max(deepest, depth(q.order.root))
			}
			require.Nil(t, s.exit)
			assert.Equal(t, byTime, deepest > 0)
			assert.Less(t, deepest, 30, "of up to 300 tasks")
		})
	}
}

func depth(t *Task) int {
	if t == nil {
		return 0
	}
	return 1 + max(depth(t.tree.left), depth(t.tree.right))
}

// TestAQueueHasOneOrder: tasks by time and others do not mix (dispatch_enqueue).
func TestAQueueHasOneOrder(t *testing.T) {
	for _, tt := range []struct {
		first, second uint64
		want          string
	}{
		{0, enqPriq, "DSQ ID 0x0000000000000007 already had FIFO-enqueued tasks"},
		{enqPriq, 0, "DSQ ID 0x0000000000000007 already had PRIQ-enqueued tasks"},
	} {
		s, err := New(Config{CPUs: Topology(1, 0, 0, 0), Duration: ms, Tasks: several(3)}, newPolicy())
		require.NoError(t, err)
		q := &DSQ{ID: 7}
		for i, flags := range []uint64{tt.first, tt.second, tt.first} {
			s.dispatchEnqueue(s.cpus[0], q, s.tasks[i], flags)
		}
		require.NotNil(t, s.exit)
		assert.Equal(t, tt.want, s.exit.Message)
		for _, task := range q.tasks.tasks() {
			task.unlink()
		}
		assert.Equal(t, list{}, q.tasks)
		assert.Equal(t, priq{}, q.order)
	}
}

// TestCursors: a visit goes past tasks that leave, and does not see those that come.
func TestCursors(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		s, err := New(Config{CPUs: Topology(1, 0, 0, 0), Duration: ms, Tasks: several(200)}, newPolicy())
		require.NoError(t, err)
		require.Zero(t, s.CreateDSQ(7, -1))
		q := s.dsqs[7]
		r := rand.New(rand.NewPCG(5, 6))
		for i, task := range s.tasks[:100] {
			s.dispatchEnqueue(s.cpus[0], q, task, DefaultValues.EnqHead*uint64(i%2))
		}
		want := q.tasks.tasks()
		if reverse {
			slices.Reverse(want)
		}
		v, other := s.Visit(7, reverse), s.Visit(7, !reverse)
		var got []*Task
		gone := map[*Task]bool{}
		fresh := s.tasks[100:]
		for task := v.Next(); task != nil; task = v.Next() {
			got = append(got, task)
			other.Next()
			for range r.IntN(3) { // also the current one
				list := q.tasks.tasks()
				out := list[r.IntN(len(list))]
				if r.IntN(2) == 0 {
					out = task
				}
				if out.dsq == q {
					gone[out] = true
					out.unlink()
				}
				if gone[out] && r.IntN(2) == 0 { // it comes back, as a new one
					s.dispatchEnqueue(s.cpus[0], q, out, 0)
				}
			}
			if len(fresh) > 0 && r.IntN(2) == 0 {
				s.dispatchEnqueue(s.cpus[0], q, fresh[0], DefaultValues.EnqHead*uint64(r.IntN(2)))
				fresh = fresh[1:]
			}
		}
		assert.Nil(t, v.Next())
		seen := map[*Task]bool{}
		for _, task := range got {
			assert.False(t, seen[task], "twice")
			seen[task] = true
		}
		var left []*Task
		for _, task := range want {
			if seen[task] || !gone[task] {
				left = append(left, task)
			}
		}
		assert.True(t, slices.Equal(left, got), "all that were there and did not leave before, in their order")
		v.Close()
		other.Close()
		assert.Empty(t, q.cursors)
		assert.Nil(t, s.Visit(8, false))
	}
}

// counting counts what a schedule does with tasks' fields and operations.
type counting struct {
	*policy
	fields, calls int
}

func (p *counting) Load(t *Task, f Field) uint64     { p.fields++; return p.policy.Load(t, f) }
func (p *counting) Store(t *Task, f Field, v uint64) { p.fields++; p.policy.Store(t, f, v) }
func (p *counting) Call(cpu int, op Op, args []any) (int64, error) {
	p.calls++
	return p.policy.Call(cpu, op, args)
}
func (p *counting) Pass(_ context.Context, _, until uint64) (uint64, error) { return until, nil }

// TestManyTasksOnManyCPUs: 10,000 tasks on 512 CPUs, in one queue by vtime. What a simulation does
// for an event does not grow with the number of tasks.
func TestManyTasksOnManyCPUs(t *testing.T) {
	run := func(tasks, cpus int) (perEvent float64, r *Result) {
		p := &counting{policy: newPolicy()}
		p.quiet = []Op{OpInit, OpEnqueue, OpDispatch}
		p.do[OpInit] = func([]any) int64 { p.s.CreateDSQ(1, -1); return 0 }
		p.do[OpEnqueue] = func(a []any) int64 {
			task := a[0].(*Task)
			p.s.Insert(task, 1, uint64(ms), task.Vtime()+uint64(task.Number*7919%1000), 0, true)
			return 0
		}
		p.do[OpDispatch] = func([]any) int64 { p.s.MoveToLocal(1, 0); return 0 }
		cfg := Config{CPUs: Topology(cpus, 2, 16, 128), Duration: 100 * ms}
		for i := range tasks {
			cfg.Tasks = append(cfg.Tasks, TaskSpec{Name: fmt.Sprint(i), CPU: i % cpus, Times: Forever, Steps: []Step{
				{Kind: DoRun, For: time.Duration(1+i%3) * ms}, {Kind: DoSleep, For: time.Duration(1+i%7) * ms},
			}})
		}
		s, err := New(cfg, p)
		require.NoError(t, err)
		p.s = s
		r, err = s.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, "unregistered", r.Exit.Name(), r.Exit.Message)
		return float64(p.fields+p.calls) / float64(r.Events), r
	}
	few, _ := run(1000, 64)
	many, r := run(10_000, 512)
	t.Logf("%.1f and %.1f fields and calls for each of %d events", few, many, r.Events)
	assert.Less(t, many, 1.5*few)
	used := MaskOf()
	for _, s := range r.Segments {
		used.Add(s.CPU)
	}
	assert.Equal(t, 512, used.Count())
	var busy time.Duration
	for _, b := range r.Busy {
		busy += time.Duration(b)
	}
	assert.Greater(t, busy, 512*95*ms, "all CPUs are busy nearly all of the time")
}

// TestIdleCPUsBeyondTheFirstWord: cores, caches and nodes of a machine with more than 64 CPUs.
func TestIdleCPUsBeyondTheFirstWord(t *testing.T) {
	p := newPolicy()
	p.do[OpInit] = func([]any) int64 {
		s := p.s
		all := s.spans.all
		cpus, cores := s.IdleCPUs(-1)
		assert.Equal(t, all, cpus)
		assert.Equal(t, all, cores)
		assert.Equal(t, 130, s.PickIdle(MaskOf(130, 200), -1, 0))
		assert.False(t, s.TakeIdle(130))
		assert.Equal(t, 200, s.PickIdle(MaskOf(130, 131, 200), -1, PickIdleCore), "the core of 130 is not idle")
		assert.Equal(t, 131, s.PickIdle(MaskOf(130, 131, 200), -1, 0))
		assert.Equal(t, busy, s.PickIdle(MaskOf(130, 131, 200), -1, 0))
		_, cores = s.IdleCPUs(-1)
		assert.Equal(t, all.Minus(MaskOf(130, 131, 200, 201)), cores)
		assert.Equal(t, 130, s.PickAny(MaskOf(130), -1, 0))
		return 0
	}
	p.run(t, Config{CPUs: Topology(256, 2, 8, 64), Duration: ms, Tasks: []TaskSpec{{Name: "a", CPU: 255, Allowed: MaskOf(255), Steps: []Step{{Kind: DoRun, For: ms}}}}})
	assert.EqualValues(t, ms, p.s.result.Busy[255])
}
