package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
	"github.com/bpfrun/bpfrun/internal/visible"
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
	Error     *Error        `json:"error,omitempty"`
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

// AddSchedule adds a schedule, and its effect on the exit code.
func (d *RunDocument) AddSchedule(run string, r *schedule.Result) {
	out := Schedule{
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
		out.Error = NewError(r.Err)
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
	d.Schedules = append(d.Schedules, out)
}

// simulated reports whether a program is an operation of a schedule's scheduler or of the
// discipline of traffic, and whether that ran.
func (d *RunDocument) simulated(prog string) (ran, known bool) {
	for i := range d.Schedules {
		for _, p := range d.Schedules[i].Progs {
			if p == prog {
				known, ran = true, ran || d.Schedules[i].Status != string(machine.StatusRefused)
			}
		}
	}
	for i := range d.Traffic {
		for _, p := range d.Traffic[i].Progs {
			if p == prog {
				known, ran = true, ran || d.Traffic[i].Status != string(machine.StatusRefused)
			}
		}
	}
	return ran, known
}

// SetStatus notes what is known of a program that did not run by itself: an operation of a
// scheduler or a discipline.
func (d *RunDocument) SetStatus(prog string, s machine.Status) {
	for i := range d.Programs {
		if d.Programs[i].Name == prog {
			d.Programs[i].Status = string(s)
		}
	}
}

// ScheduleExitCode returns the exit code of a schedule that nothing is expected of.
func ScheduleExitCode(r *schedule.Result) int {
	if r.Status == machine.StatusOK && r.Exit != nil && r.Exit.Kind >= sched.ExitError {
		return exitcode.Fault
	}
	return simulationExit(r.Status)
}

// simulationExit returns the exit code of a simulation that calls programs: without its hooks there
// is nothing to run.
func simulationExit(s machine.Status) int {
	if s == machine.StatusAbsent {
		return exitcode.Load
	}
	return s.Exit()
}

// writeSchedule writes a schedule as a table of its tasks.
func writeSchedule(b *strings.Builder, s *Schedule, st style) {
	title := "schedule of " + s.Ops
	if s.Run != "" {
		title = s.Run
	}
	visible.Fprintf(b, "\n%s", st.bold(title))
	if s.Exit != nil {
		visible.Fprintf(b, ": %s", s.Exit.Kind)
		if s.Exit.Message != "" {
			visible.Fprintf(b, ": %s", s.Exit.Message)
		}
		visible.Fprintf(b, " after %v", time.Duration(s.Duration))
	}
	b.WriteByte('\n')
	if s.Error != nil {
		visible.Fprintf(b, "%s %s\n", st.red(s.Status+":"), s.Error.Message)
	}
	if s.Exit == nil {
		return
	}
	rows := [][]cell{}
	row := func(texts ...string) {
		var cells []cell
		for _, t := range texts {
			cells = append(cells, cell{t, func(s string) string { return s }})
		}
		rows = append(rows, cells)
	}
	row("TASK", "WEIGHT", "RUNTIME", "SHARE", "RUNS", "PREEMPTED", "MIGRATIONS", "MAX WAIT", "MAX LATENCY")
	for i := range s.Tasks {
		t := &s.Tasks[i]
		share := float64(t.Runtime) * 100 / float64(max(s.Duration, 1))
		row(t.Name, fmt.Sprint(t.Weight), fmt.Sprint(time.Duration(t.Runtime)), fmt.Sprintf("%.1f %%", share), fmt.Sprint(t.Runs), fmt.Sprint(t.Preempted),
			fmt.Sprint(t.Migrations), fmt.Sprint(time.Duration(t.MaxWait)), fmt.Sprint(time.Duration(t.MaxLatency)))
	}
	widths := columnWidths(rows)
	for _, r := range rows {
		writeRow(b, r, widths)
	}
	for cpu, busy := range s.Busy {
		visible.Fprintf(b, "  CPU %d busy %.1f %%\n", cpu, float64(busy)*100/float64(max(s.Duration, 1)))
	}
}

// traceEvent is an event of the Trace Event Format, which chrome://tracing and Perfetto show: times
// are in microseconds, a process is a schedule, and a thread a CPU.
type traceEvent struct {
	Name string            `json:"name"`
	Kind string            `json:"ph"`
	At   float64           `json:"ts"`
	For  float64           `json:"dur,omitempty"`
	PID  int               `json:"pid"`
	TID  int               `json:"tid"`
	Args map[string]string `json:"args,omitempty"`
}

// WriteScheduleTrace writes the schedules of documents as a trace file.
func WriteScheduleTrace(w io.Writer, docs []*RunDocument) error {
	events := []traceEvent{}
	pid := 0
	for _, d := range docs {
		for i := range d.Schedules {
			s := &d.Schedules[i]
			pid++
			name := s.Ops
			if s.Run != "" {
				name = s.Run
			}
			events = append(events, traceEvent{Name: "process_name", Kind: "M", PID: pid, Args: map[string]string{"name": name}})
			for cpu := range s.Busy {
				events = append(events, traceEvent{Name: "thread_name", Kind: "M", PID: pid, TID: cpu, Args: map[string]string{"name": fmt.Sprintf("CPU %d", cpu)}})
			}
			for _, x := range s.Segments {
				events = append(events, traceEvent{Name: x.Task, Kind: "X", At: float64(x.From) / 1000, For: float64(x.To-x.From) / 1000, PID: pid, TID: x.CPU})
			}
		}
	}
	return json.NewEncoder(visible.JSON{W: w}).Encode(map[string]any{"traceEvents": events, "displayTimeUnit": "ms"})
}
