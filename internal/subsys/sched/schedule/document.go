package schedule

import (
	"fmt"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
)

// Schedule is what a sched_ext scheduler did with the tasks of a schedule. Times are in nanoseconds
// since it was loaded.
type Schedule struct {
	// Run is the name of the scenario's run, "" for the default schedule.
	Run string `json:"run,omitempty"`
	// Ops is the struct_ops variable, Scheduler the name in it.
	Ops       string        `json:"ops"`
	Scheduler string        `json:"scheduler"`
	Status    string        `json:"status"`
	Error     *show.Error   `json:"error,omitempty"`
	Exit      *ScheduleExit `json:"exit,omitempty"`
	// Duration is the time at which the scheduler ended, Busy how long each CPU ran tasks.
	Duration uint64         `json:"duration_ns"`
	Busy     []uint64       `json:"busy_ns"`
	Tasks    []ScheduleTask `json:"tasks"`
	// Segments are who ran where and when, in the order of their ends; Dropped counts those beyond
	// the limit.
	Segments []ScheduleSegment `json:"segments"`
	Dropped  int               `json:"dropped_segments,omitempty"`
	// Calls counts the calls of the scheduler's operations.
	Calls map[string]int `json:"calls"`
	// Progs are the programs by operation.
	Progs map[string]string `json:"progs"`
	Insns uint64            `json:"insns"`
	Trace []string          `json:"trace,omitempty"`
}

// ScheduleExit is why a scheduler ended (struct scx_exit_info).
type ScheduleExit struct {
	Kind    string `json:"kind"`
	Reason  string `json:"reason"`
	Code    int64  `json:"code"`
	CPU     int    `json:"cpu"`
	Message string `json:"message,omitempty"`
	Op      string `json:"op,omitempty"`
	// Dump is what dump, dump_cpu and dump_task of a scheduler wrote that an error ended.
	Dump string `json:"dump,omitempty"`
}

// ScheduleTask is what became of a task.
type ScheduleTask struct {
	Name       string `json:"name"`
	PID        int    `json:"pid"`
	Weight     uint32 `json:"weight"`
	Runtime    uint64 `json:"runtime_ns"`
	Waited     uint64 `json:"waited_ns"`
	MaxWait    uint64 `json:"max_wait_ns"`
	MaxLatency uint64 `json:"max_latency_ns"`
	Wakeups    int    `json:"wakeups"`
	Runs       int    `json:"runs"`
	Preempted  int    `json:"preempted"`
	Migrations int    `json:"migrations"`
	Exited     bool   `json:"exited"`
}

// ScheduleSegment is a time that a task was on a CPU.
type ScheduleSegment struct {
	CPU  int    `json:"cpu"`
	Task string `json:"task"`
	From uint64 `json:"from_ns"`
	To   uint64 `json:"to_ns"`
}

// Document returns the schedule for a report.
func (r *Result) Document(run string, failure func(error) *show.Error) show.Document {
	out := &Schedule{
		Run: run, Ops: r.Ops, Scheduler: r.Name, Status: string(r.Status), Duration: r.End, Busy: r.Busy, Dropped: r.Dropped,
		Tasks: []ScheduleTask{}, Segments: []ScheduleSegment{}, Calls: map[string]int{}, Progs: r.Progs, Insns: r.Insns, Trace: r.Trace,
	}
	if out.Progs == nil {
		out.Progs = map[string]string{}
	}
	if out.Busy == nil {
		out.Busy = []uint64{}
	}
	if r.Err != nil {
		out.Error = failure(r.Err)
	}
	if e := r.Exit; e != nil {
		out.Exit = &ScheduleExit{e.Name(), e.Reason(), e.Code, e.CPU, e.Message, string(e.Op), e.Dump}
	}
	for _, t := range r.Tasks {
		s := &t.Stats
		out.Tasks = append(out.Tasks, ScheduleTask{t.Spec.Name, t.PID(), t.Weight, s.Runtime, s.Waited, s.MaxWait, s.MaxLatency, s.Wakeups, s.Runs, s.Preempted, s.Migrations, s.Exited})
	}
	for _, s := range r.Segments {
		out.Segments = append(out.Segments, ScheduleSegment{s.CPU, s.Task.Spec.Name, s.From, s.To})
	}
	for op, n := range r.Calls {
		out.Calls[string(op)] = n
	}
	return out
}

// Program implements [show.Document].
func (s *Schedule) Program(name string) (ran, known bool) {
	return show.Program(s.Progs, name, s.Status == string(machine.StatusRefused))
}

// Text writes the schedule as a table of its tasks.
func (s *Schedule) Text(t show.Text) {
	t.Printf("\n%s", t.Bold(show.Title(s.Run, What, s.Ops)))
	if s.Exit != nil {
		t.Printf(": %s", s.Exit.Kind)
		if s.Exit.Message != "" {
			t.Printf(": %s", s.Exit.Message)
		}
		t.Printf(" after %v", time.Duration(s.Duration))
	}
	t.Printf("\n")
	if s.Error != nil {
		t.Printf("%s %s\n", t.Red(s.Status+":"), s.Error.Message)
	}
	if s.Exit == nil {
		return
	}
	rows := [][]string{{"TASK", "WEIGHT", "RUNTIME", "SHARE", "RUNS", "PREEMPTED", "MIGRATIONS", "MAX WAIT", "MAX LATENCY"}}
	for i := range s.Tasks {
		x := &s.Tasks[i]
		share := float64(x.Runtime) * 100 / float64(max(s.Duration, 1))
		rows = append(rows, []string{
			x.Name, fmt.Sprint(x.Weight), fmt.Sprint(time.Duration(x.Runtime)), fmt.Sprintf("%.1f %%", share), fmt.Sprint(x.Runs), fmt.Sprint(x.Preempted),
			fmt.Sprint(x.Migrations), fmt.Sprint(time.Duration(x.MaxWait)), fmt.Sprint(time.Duration(x.MaxLatency)),
		})
	}
	t.Table(rows)
	for cpu, busy := range s.Busy {
		t.Printf("  CPU %d busy %.1f %%\n", cpu, float64(busy)*100/float64(max(s.Duration, 1)))
	}
}
