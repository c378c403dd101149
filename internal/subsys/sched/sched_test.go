package sched

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// policy is a scheduler in Go, with a log of its calls.
type policy struct {
	s      *Sim
	do     map[Op]func(args []any) int64
	fields map[*Task]map[Field]uint64
	log    []string
	quiet  []Op
}

func newPolicy() *policy {
	return &policy{do: map[Op]func([]any) int64{}, fields: map[*Task]map[Field]uint64{}}
}

func (p *policy) Load(t *Task, f Field) uint64 { return p.fields[t][f] }
func (p *policy) Store(t *Task, f Field, v uint64) {
	if p.fields[t] == nil {
		p.fields[t] = map[Field]uint64{}
	}
	p.fields[t][f] = v
}
func (p *policy) Has(op Op) bool { return p.do[op] != nil }
func (p *policy) Pass(_ context.Context, _, until uint64) (uint64, error) {
	return until, nil
}
func (p *policy) Call(cpu int, op Op, args []any) (int64, error) {
	if !slices.Contains(p.quiet, op) {
		text := string(op)
		for _, a := range args {
			switch a := a.(type) {
			case *Task:
				if a != nil {
					text += " " + a.Spec.Name
				} else {
					text += " -"
				}
			case *Exit:
				text += " " + a.Name()
			case Mask:
				text += fmt.Sprintf(" %d", a[0])
			case InitArgs, ExitArgs, CgroupArgs:
			default:
				text += fmt.Sprintf(" %v", a)
			}
		}
		p.log = append(p.log, text)
	}
	return p.do[op](args), nil
}

func none([]any) int64 { return 0 }

// fifo is a scheduler with one queue for all.
func fifo(slice time.Duration) *policy {
	p := newPolicy()
	p.do[OpInit] = func([]any) int64 { return int64(p.s.CreateDSQ(1, -1)) }
	p.do[OpEnqueue] = func(a []any) int64 {
		p.s.Insert(a[0].(*Task), 1, uint64(slice), 0, a[1].(uint64), false)
		return 0
	}
	p.do[OpDispatch] = func([]any) int64 { p.s.MoveToLocal(1, 0); return 0 }
	return p
}

func (p *policy) run(t *testing.T, cfg Config) *Result {
	t.Helper()
	if cfg.CPUs == nil {
		cfg.CPUs = Topology(1, 0, 0, 0)
	}
	if cfg.Duration == 0 {
		cfg.Duration = 100 * ms
	}
	s, err := New(cfg, p)
	require.NoError(t, err)
	p.s = s
	r, err := s.Run(t.Context())
	require.NoError(t, err)
	return r
}

func hog(name string) TaskSpec {
	return TaskSpec{Name: name, Steps: []Step{{Kind: DoRun, For: time.Second}}, Times: Forever}
}

// text shows who ran where, from and until which millisecond.
func text(r *Result) (out []string) {
	for _, s := range r.Segments {
		out = append(out, fmt.Sprintf("%d:%s %v-%v", s.CPU, s.Task.Spec.Name, time.Duration(s.From), time.Duration(s.To)))
	}
	return out
}

func TestASliceEndsAtATick(t *testing.T) {
	r := fifo(6*ms).run(t, Config{Tasks: []TaskSpec{hog("a"), hog("b")}, Duration: 24 * ms})
	assert.Equal(t, []string{"0:a 0s-8ms", "0:b 8ms-16ms", "0:a 16ms-24ms"}, text(r))
	assert.Equal(t, "unregistered", r.Exit.Name())
}

func TestOrderOfOperations(t *testing.T) {
	p := fifo(20 * ms)
	for _, op := range []Op{OpSelectCPU, OpRunnable, OpRunning, OpStopping, OpQuiescent, OpInitTask, OpExitTask, OpEnable, OpDisable, OpSetWeight, OpSetCpumask, OpUpdateIdle, OpExit} {
		p.do[op] = none
	}
	p.run(t, Config{CPUs: Topology(2, 0, 0, 0), Duration: 20 * ms, Tasks: []TaskSpec{
		{Name: "a", Nice: -5, Allowed: MaskOf(0), Steps: []Step{{Kind: DoRun, For: ms}, {Kind: DoSleep, For: 5 * ms}}, Times: 2},
		{Name: "b", Start: 10 * ms, Steps: []Step{{Kind: DoRun, For: ms}}},
	}})
	assert.Equal(t, []string{
		"init", "init_task a", "enable a", "set_weight a 305", "set_cpumask a 1",
		"runnable a 1", "enqueue a 1", "dispatch 0 -", "update_idle 0 false", "running a",
		"stopping a false", "quiescent a 1", "dispatch 0 a", "update_idle 0 true",
		"runnable a 1", "enqueue a 1", "dispatch 0 -", "update_idle 0 false", "running a",
		"stopping a false", "quiescent a 1", "dispatch 0 a", "update_idle 0 true",
	}, p.log[:23])
	assert.Equal(t, []string{
		"init_task b", "enable b", "set_weight b 100", "select_cpu b 0 4", "runnable b 1048576", "enqueue b 1048576",
	}, p.log[23+0:23+6])
}
