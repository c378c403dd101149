package sched

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

const immed = uint64(1) << 33

// before71 are the numbers of a kernel without SCX_ENQ_IMMED, before619 those of one without
// SCX_SLICE_BYPASS too.
func before71() Values  { v := DefaultValues; v.EnqImmed = 0; return v }
func before619() Values { v := before71(); v.SliceBypass = 0; return v }

// TestTasksThatRunAtOnce: a task inserted with SCX_ENQ_IMMED gets the CPU, or goes back to the
// scheduler with the reason; it is never left in a CPU's queue.
func TestTasksThatRunAtOnce(t *testing.T) {
	run := func(of int) []Step { return []Step{{Kind: DoRun, For: ms * 1}, {Kind: DoSleep, For: ms * 100}}[:of] }
	hog := TaskSpec{Name: "hog", Steps: []Step{{Kind: DoRun, For: 50 * ms}}, Times: Forever}
	at5 := func(name string) TaskSpec { return TaskSpec{Name: name, Start: 5 * ms, Steps: run(2)} }
	for _, tt := range []struct {
		// A running task whose slice ends comes to the queue before the next one has left it.
		name   string
		tasks  []TaskSpec
		flags  uint64 // of insertions into the CPU's queue by enqueue
		ops    OpsFlags
		values Values
		want   []string // calls of enqueue that are not a task's first: task, reason
		count  uint64
		first  string // who runs after 5ms, and until when
	}{
		{"an idle CPU", []TaskSpec{at5("a")}, immed, 0, DefaultValues, nil, 0, "0:a 5ms-6ms"},
		{"a busy CPU", []TaskSpec{hog, at5("a")}, immed, 0, DefaultValues, []string{"a immed", "hog immed"}, 2, "0:hog 0s-20ms"},
		{"two for an idle CPU", []TaskSpec{at5("a"), at5("b")}, immed, 0, DefaultValues, []string{"b immed"}, 1, "0:a 5ms-6ms"},
		{"one that preempts", []TaskSpec{hog, at5("a")}, immed | EnqPreempt, 0, DefaultValues, []string{"hog immed"}, 1, "0:a 5ms-6ms"},
		{"all of them", []TaskSpec{hog, at5("a")}, 0, AlwaysEnqImmed, DefaultValues, []string{"a immed", "hog immed"}, 2, "0:hog 0s-20ms"},
		{"none of them", []TaskSpec{hog, at5("a")}, 0, 0, DefaultValues, nil, 0, "0:hog 0s-20ms"},
		{"before Linux 7.1", []TaskSpec{hog, at5("a")}, immed, 0, before71(), nil, 0, "0:hog 0s-20ms"},
		{"a higher class takes the CPU", []TaskSpec{hog, {Name: "rt", Class: Above, Start: 5 * ms, Steps: run(1)}}, immed, 0, DefaultValues, []string{"hog preempted"}, 0, "0:hog 0s-5ms"},
		{"a higher class takes the CPU of another task", []TaskSpec{hog, {Name: "rt", Class: Above, Start: 5 * ms, Steps: run(1)}}, 0, 0, DefaultValues, nil, 0, "0:hog 0s-5ms"},
		{"a higher class comes before it runs", []TaskSpec{at5("a"), {Name: "rt", Class: Above, Start: 5 * ms, Steps: run(1)}}, immed, 0, DefaultValues, []string{"a immed"}, 1, "0:rt 5ms-6ms"},
		{"a higher class runs", []TaskSpec{{Name: "rt", Class: Above, Steps: []Step{{Kind: DoRun, For: 10 * ms}}}, at5("a")}, immed, 0, DefaultValues, []string{"a immed"}, 1, "0:rt 0s-10ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPolicy()
			var again []string
			p.do[OpInit] = func([]any) int64 { return int64(p.s.CreateDSQ(1, -1)) }
			p.do[OpEnqueue] = func(a []any) int64 {
				task := a[0].(*Task)
				why := Reenq(p.fields[task][FieldReenq])
				if a[1].(uint64)&EnqReenq != 0 {
					again = append(again, task.Spec.Name+" "+map[Reenq]string{ReenqImmed: "immed", ReenqPreempted: "preempted", ReenqKfunc: "kfunc"}[why])
					p.s.Insert(task, 1, 0, 0, 0, false) // into a queue of the scheduler's
					return 0
				}
				assert.Equal(t, ReenqNone, why)
				p.s.Insert(task, DSQLocal, SliceDefault, 0, tt.flags, false)
				return 0
			}
			p.do[OpDispatch] = func([]any) int64 { p.s.MoveToLocal(1, 0); return 0 }
			p.quiet = []Op{OpEnqueue, OpDispatch}
			r := p.run(t, Config{Tasks: tt.tasks, Flags: tt.ops, Values: tt.values, Duration: 40 * ms})
			assert.Equal(t, "unregistered", r.Exit.Name(), r.Exit.Message)
			assert.Equal(t, tt.want, again)
			assert.Equal(t, tt.count, p.s.Count(CountReenqueueImmed))
			assert.Contains(t, text(r), tt.first)
			assert.Zero(t, p.s.cpus[0].immed)
			for _, task := range p.s.tasks {
				assert.NotZero(t, task.Stats.Runtime, task.Spec.Name)
				assert.Zero(t, p.fields[task][FieldReenq])
			}
		})
	}
}

// TestWhereTasksRunAtOnce: only a CPU's own queue takes such tasks, in all functions that insert or
// move; kernels without the flag do not mind.
func TestWhereTasksRunAtOnce(t *testing.T) {
	for _, tt := range []struct {
		queue  uint64
		values Values
		want   string
	}{
		{DSQLocal, DefaultValues, ""},
		{DSQLocalOn, DefaultValues, ""},
		{1, DefaultValues, "SCX_ENQ_IMMED on a non-local DSQ 0x1"},
		{DSQGlobal, DefaultValues, "SCX_ENQ_IMMED on a non-local DSQ 0x8000000000000001"},
		{1, before71(), ""},
	} {
		for _, by := range []string{"enqueue", "dispatch", "move"} {
			t.Run(fmt.Sprintf("%s %#x", by, tt.queue), func(t *testing.T) {
				p := fifo(ms)
				p.do[OpInit] = func([]any) int64 { return int64(p.s.CreateDSQ(1, -1)) + int64(p.s.CreateDSQ(2, -1)) }
				var last *Task
				p.do[OpEnqueue] = func(a []any) int64 {
					last = a[0].(*Task)
					switch by {
					case "enqueue":
						p.s.Insert(last, tt.queue, uint64(ms), 0, immed, false)
					case "move":
						p.s.Insert(last, 2, uint64(ms), 0, 0, false)
					}
					return 0
				}
				p.do[OpDispatch] = func([]any) int64 {
					switch {
					case last == nil:
					case by == "dispatch":
						p.s.Insert(last, tt.queue, uint64(ms), 0, immed, false)
					case by == "move":
						p.s.Move(p.s.Visit(2, false), last, tt.queue, immed, false)
					}
					last = nil
					p.s.MoveToLocal(1, immed)
					return 0
				}
				p.quiet = []Op{OpEnqueue, OpDispatch}
				r := p.run(t, Config{Tasks: []TaskSpec{{Name: "a", Steps: []Step{{Kind: DoRun, For: ms}}}}, Values: tt.values})
				assert.Equal(t, tt.want, r.Exit.Message)
				assert.Equal(t, tt.want == "", r.Tasks[0].Stats.Exited)
			})
		}
	}
}

// TestTasksThatNeverRunAtOnce: a scheduler that insists is ended.
func TestTasksThatNeverRunAtOnce(t *testing.T) {
	p := newPolicy()
	p.do[OpEnqueue] = func(a []any) int64 { p.s.Insert(a[0].(*Task), DSQLocal, SliceDefault, 0, immed, false); return 0 }
	p.quiet = []Op{OpEnqueue}
	r := p.run(t, Config{Tasks: []TaskSpec{hog("a"), hog("b")}})
	assert.Equal(t, "SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times", r.Exit.Message)
	assert.EqualValues(t, 257, p.s.Count(CountReenqueueRepeat))
}

// TestSliceOfTasksThatExist: tasks that exist become the scheduler's in bypass mode, which has a
// slice of its own since Linux 6.19; those that are created later have the usual one.
func TestSliceOfTasksThatExist(t *testing.T) {
	for _, tt := range []struct {
		values Values
		want   uint64
	}{{DefaultValues, 5_000_000}, {before71(), 5_000_000}, {before619(), 20_000_000}} {
		p := fifo(ms)
		got := map[string]uint64{}
		p.do[OpEnable] = func(a []any) int64 { got[a[0].(*Task).Spec.Name] = a[0].(*Task).Slice(); return 0 }
		late := hog("late")
		late.Start = ms
		p.run(t, Config{Tasks: []TaskSpec{hog("there"), late}, Values: tt.values})
		assert.Equal(t, map[string]uint64{"there": tt.want, "late": 20_000_000}, got)
	}
}
