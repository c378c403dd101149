package sched

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/internal/subsys/event"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// single fails when an operation runs within another: programs do not nest.
type single struct {
	*policy
	t     *testing.T
	depth int
	wake  uint64 // the machine has something to do every so many nanoseconds, 0 for never
}

func (p *single) Call(cpu int, op Op, args []any) (int64, error) {
	p.depth++
	defer func() { p.depth-- }()
	require.Equal(p.t, 1, p.depth, "%s in another operation", op)
	return p.policy.Call(cpu, op, args)
}

func (p *single) Pass(_ context.Context, now, until uint64) (uint64, error) {
	if p.wake == 0 {
		return until, nil
	}
	return min(now+p.wake-1, until), nil
}

func (p *single) simulate(cfg Config) (*Result, error) {
	s, err := New(cfg, p)
	require.NoError(p.t, err)
	p.s = s
	return s.Run(p.t.Context())
}

func several(n int) (tasks []TaskSpec) {
	for i := range n {
		tasks = append(tasks, TaskSpec{Name: "t" + strings.Repeat("x", i), Steps: []Step{{Kind: DoRun, For: ms}, {Kind: DoSleep, For: ms}}, Times: Forever})
	}
	return tasks
}

// TestOperationsDoNotNest: what functions of the scheduler cause waits until the operation that
// called them returned.
func TestOperationsDoNotNest(t *testing.T) {
	t.Run("dequeue", func(t *testing.T) {
		p := &single{policy: fifo(4 * ms), t: t}
		p.do[OpDequeue] = none
		r, err := p.simulate(Config{CPUs: Topology(2, 0, 0, 0), Duration: 100 * ms, Tasks: several(5)})
		require.NoError(t, err)
		assert.Equal(t, "unregistered", r.Exit.Name())
		assert.Greater(t, r.Calls[OpDequeue], 20)
	})
	for _, later := range []bool{false, true} {
		t.Run("reenqueue", func(t *testing.T) {
			p := &single{policy: fifo(4 * ms), t: t}
			n := 0
			p.do[OpEnqueue] = func(a []any) int64 {
				if p.s.Insert(a[0].(*Task), DSQLocal, uint64(4*ms), 0, 0, false); n == 20 {
					return 0
				}
				if n++; later {
					p.s.ReenqueueDSQ(DSQLocal, 0)
					p.s.ReenqueueDSQ(DSQLocal, 0)
				} else {
					p.s.Reenqueue(p.s.CPU())
				}
				return 0
			}
			r, err := p.simulate(Config{CPUs: Topology(1, 0, 0, 0), Duration: 100 * ms, Tasks: several(5)})
			require.NoError(t, err)
			assert.Equal(t, "unregistered", r.Exit.Name())
			assert.Greater(t, r.Calls[OpEnqueue], 20)
		})
	}
}

// TestNothingGoesOnForever: what takes no time is limited.
func TestNothingGoesOnForever(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []Step
		times int
	}{
		{"a task that wakes itself", []Step{{Kind: DoWake, Task: "a"}, {Kind: DoWait}}, Forever},
		{"nice values", []Step{{Kind: DoNice, Nice: 3}}, 1 << 30},
		{"yields", []Step{{Kind: DoYield}}, 1 << 30},
		{"no time on the CPU", []Step{{Kind: DoRun}}, 1 << 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &single{policy: fifo(ms), t: t}
			p.quiet = []Op{OpEnqueue, OpDispatch}
			_, err := p.simulate(Config{CPUs: Topology(1, 0, 0, 0), Duration: time.Second, Tasks: []TaskSpec{{Name: "a", Steps: tt.steps, Times: tt.times}}})
			assert.ErrorIs(t, err, event.ErrLimit)
		})
	}
	for name, every := range map[string]uint64{"timers at one point of time": 1, "timers every nanosecond": 2} {
		t.Run(name, func(t *testing.T) {
			p := &single{policy: fifo(ms), t: t, wake: every}
			r, err := p.simulate(Config{CPUs: Topology(1, 0, 0, 0), Duration: time.Second, Events: 200_000})
			assert.ErrorIs(t, err, event.ErrLimit)
			assert.LessOrEqual(t, r.Events, 200_001)
		})
	}
}

func TestKicksAreNotKeptTwice(t *testing.T) {
	p := fifo(ms)
	p.do[OpTick] = func([]any) int64 {
		for i := range 10_000 {
			p.s.Kick(0, uint64(i)<<8|KickPreempt)
		}
		assert.LessOrEqual(t, len(p.s.cpus[0].kicks), 8)
		return 0
	}
	assert.NotZero(t, p.run(t, Config{Tasks: []TaskSpec{hog("a")}}).Calls[OpTick])
}

func TestCgroupsAreChecked(t *testing.T) {
	move := func(to string) []Step { return []Step{{Kind: DoRun, For: ms}, {Kind: DoMove, To: to}} }
	for _, tt := range []struct{ name, in, to, want string }{
		{"a relative path", "/", "a", "no absolute path"},
		{"no path", "/", "", "no absolute path"},
		{"a task in a relative path", "a", "/", "no absolute path"},
		{"a long path", "/", "/" + strings.Repeat("a", maxPath), "no absolute path"},
		{"slashes", "//", "//a//b/", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := New(Config{CPUs: Topology(1, 0, 0, 0), Duration: ms, Tasks: []TaskSpec{{Name: "a", Cgroup: tt.in, Steps: move(tt.to)}}}, newPolicy())
			if tt.want != "" {
				assert.ErrorContains(t, err, tt.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []string{"/", "//a", "//a//b"}, s.cgroups())
		})
	}
	cfg := Config{CPUs: Topology(1, 0, 0, 0), Duration: ms}
	for i := range 3 {
		cfg.Tasks = append(cfg.Tasks, TaskSpec{Name: strings.Repeat("t", i+1), Steps: move("/" + string(rune('a'+i)) + strings.Repeat("/a", 2000))})
	}
	assert.ErrorContains(t, Check(cfg), "cgroups, want at most")
}
