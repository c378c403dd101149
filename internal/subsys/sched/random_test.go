package sched

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// randomPolicy calls functions in its operations as a generator says.
func randomPolicy(r *rand.Rand, cpus int) *policy {
	p := newPolicy()
	p.quiet = []Op{OpDump, OpDumpCPU, OpDumpTask} // whose arguments have addresses
	queue := func() uint64 {
		return []uint64{1, 1, 2, DSQLocal, DSQGlobal, DSQLocalOn | uint64(r.IntN(cpus)), 77}[r.IntN(6+r.IntN(20)/19)]
	}
	slice := func() uint64 { return uint64([]time.Duration{0, ms / 4, ms, 5 * ms}[r.IntN(4)]) }
	insert := func(t *Task, flags uint64) {
		if id := queue(); r.IntN(12) > 0 {
			p.s.Insert(t, id, slice(), uint64(r.IntN(5)), flags, id == 2)
		}
	}
	p.do[OpInit] = func([]any) int64 { return int64(p.s.CreateDSQ(1, -1)) | int64(p.s.CreateDSQ(2, 0)) }
	p.do[OpEnqueue] = func(a []any) int64 { insert(a[0].(*Task), a[1].(uint64)); return 0 }
	p.do[OpDispatch] = func([]any) int64 {
		for range 1 + r.IntN(3) {
			p.s.MoveToLocal(uint64(1+r.IntN(2)), 0)
		}
		return 0
	}
	if r.IntN(2) == 0 {
		p.do[OpSelectCPU] = func(a []any) int64 {
			t := a[0].(*Task)
			switch r.IntN(4) {
			case 0:
				return int64(r.IntN(cpus))
			case 1:
				if cpu := p.s.PickIdle(p.s.spans.all, -1, uint64(r.IntN(3))); cpu >= 0 {
					insert(t, 0)
					return int64(cpu)
				}
			case 2:
				return int64(max(p.s.PickAny(p.s.spans.all, -1, 0), 0))
			}
			return int64(max(p.s.SelectDefault(t, t.CPU, a[2].(uint64), []Mask{p.s.spans.all, MaskOf(0), {}}[r.IntN(3)], uint64(r.IntN(3))), 0))
		}
	}
	acts := func([]any) int64 {
		switch r.IntN(10) {
		case 0, 1:
			p.s.Kick(r.IntN(cpus), []uint64{0, KickIdle, KickPreempt, KickWait}[r.IntN(4)])
		case 2:
			p.s.SetPerf(max(p.s.CPU(), 0)+r.IntN(40)/39, uint32(r.IntN(MaxPerf+1)))
		case 3:
			p.s.ReenqueueDSQ(DSQLocal, 0)
		case 4:
			p.s.Queued(uint64(1 + r.IntN(2)))
			p.s.Peek(1)
			p.s.Running(p.s.Tasks()[0])
		}
		return 0
	}
	for _, op := range []Op{OpTick, OpRunning, OpStopping, OpRunnable, OpQuiescent, OpUpdateIdle, OpYield, OpSetWeight, OpSetCpumask, OpDump, OpDumpCPU, OpDumpTask} {
		if r.IntN(2) == 0 {
			p.do[op] = acts
		}
	}
	return p
}

// randomTasks do things of all kinds.
func randomTasks(r *rand.Rand, cpus int) (tasks []TaskSpec) {
	n := 1 + r.IntN(5)
	for i := range n {
		t := TaskSpec{Name: fmt.Sprint("t", i), Nice: []int{0, 0, -20, 5, 19}[r.IntN(5)], Times: []int{1, 3, Forever}[r.IntN(3)]}
		for range 1 + r.IntN(4) {
			step := Step{Kind: StepKind(r.IntN(int(DoMove))), For: time.Duration(1+r.IntN(30)) * ms / 10, Task: fmt.Sprint("t", r.IntN(n)), Sync: r.IntN(2) == 0, Nice: r.IntN(40) - 20}
			if step.Kind == DoAffinity {
				step.CPUs = MaskOf(r.IntN(cpus), r.IntN(cpus))
			}
			t.Steps = append(t.Steps, step)
		}
		t.Steps = append(t.Steps, Step{Kind: DoRun, For: ms})
		tasks = append(tasks, t)
	}
	return tasks
}

// TestRandomSchedulesStayTheSame compares what schedulers that do anything make of random tasks: the
// order of operations, when each task ran where, and how it ended.
func TestRandomSchedulesStayTheSame(t *testing.T) {
	var all rewrite.Outcomes
	for seed := range uint64(1200) {
		if !all.Asks(fmt.Sprint(seed)) {
			continue
		}
		r := rand.New(rand.NewPCG(seed, 9))
		cpus := 1 + r.IntN(4)
		p := randomPolicy(r, cpus)
		s, err := New(Config{CPUs: Topology(cpus, cpus/2, 0, 0), Duration: 60 * ms, Tasks: randomTasks(r, cpus), Flags: OpsFlags(r.IntN(64)) &^ SwitchPartial, Events: 20_000}, p)
		if err != nil {
			all.Add(fmt.Sprint(seed), "refused\t"+err.Error())
			continue
		}
		p.s = s
		result, err := s.Run(t.Context())
		require.NotNil(t, result)
		out := fmt.Sprintln(err, result.Busy, result.End, result.Calls, result.Events, result.Dropped)
		for _, g := range result.Segments {
			out += fmt.Sprintln(g.CPU, g.Task.Spec.Name, g.From, g.To)
		}
		kind := fmt.Sprint("limit ", err != nil)
		if e := result.Exit; e != nil {
			kind += " " + e.Name()
			out += fmt.Sprintln(e.Kind, e.Code, e.CPU, e.Message, e.Dump, e.At)
		}
		all.Add(fmt.Sprint(seed), kind+"\t"+out+strings.Join(p.log, "\n"))
	}
	all.Compare(t, filepath.Join("testdata", "random.txt"))
}
