package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/bpfrun/bpfrun/internal/subsys/show"
	"github.com/bpfrun/bpfrun/internal/visible"
)

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

// WriteTrace writes the schedules among documents as a trace file, and returns their number.
// Without any it writes nothing.
func WriteTrace(w io.Writer, docs []show.Document) (int, error) {
	var schedules []*Schedule
	for _, d := range docs {
		if s, ok := d.(*Schedule); ok {
			schedules = append(schedules, s)
		}
	}
	if len(schedules) == 0 {
		return 0, nil
	}
	events := []traceEvent{}
	for i, s := range schedules {
		pid := i + 1
		name := cmp.Or(s.Run, s.Ops)
		events = append(events, traceEvent{Name: "process_name", Kind: "M", PID: pid, Args: map[string]string{"name": name}})
		for cpu := range s.Busy {
			events = append(events, traceEvent{Name: "thread_name", Kind: "M", PID: pid, TID: cpu, Args: map[string]string{"name": fmt.Sprintf("CPU %d", cpu)}})
		}
		for _, x := range s.Segments {
			events = append(events, traceEvent{Name: x.Task, Kind: "X", At: float64(x.From) / 1000, For: float64(x.To-x.From) / 1000, PID: pid, TID: x.CPU})
		}
	}
	return len(schedules), json.NewEncoder(visible.JSON{W: w}).Encode(map[string]any{"traceEvents": events, "displayTimeUnit": "ms"})
}
