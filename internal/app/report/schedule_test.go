package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
)

func aSchedule() *schedule.Result {
	t := &sched.Task{Spec: &sched.TaskSpec{Name: "a"}, Weight: 100}
	t.Stats.Runtime = 4_000_000
	return &schedule.Result{Ops: "ops", Name: "fifo", Status: machine.StatusOK, Result: &sched.Result{
		Tasks: []*sched.Task{t}, Segments: []sched.Segment{{CPU: 1, Task: t, From: 1000, To: 4_001_000}}, Busy: []uint64{0, 4_000_000}, End: 8_000_000,
		Exit: &sched.Exit{Kind: sched.ExitErrorStall, Message: "too long"},
	}}
}

func TestScheduleAsTable(t *testing.T) {
	d := &RunDocument{Object: "x.o", Target: &Target{Name: "k"}}
	d.AddSchedule("one", aSchedule())
	var b bytes.Buffer
	require.NoError(t, WriteTable(&b, d, TableOptions{}))
	assert.Contains(t, b.String(), "one: stall: too long after 8ms")
	assert.Contains(t, b.String(), "a     100     4ms      50.0 %")
	assert.Contains(t, b.String(), "CPU 1 busy 50.0 %")
}

func TestScheduleAsTrace(t *testing.T) {
	d := &RunDocument{}
	d.AddSchedule("", aSchedule())
	var b bytes.Buffer
	require.NoError(t, WriteScheduleTrace(&b, []*RunDocument{d}))
	var doc struct {
		Events []traceEvent `json:"traceEvents"`
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(b.String())).Decode(&doc))
	require.Len(t, doc.Events, 4)
	assert.Equal(t, traceEvent{Name: "a", Kind: "X", At: 1, For: 4000, PID: 1, TID: 1}, doc.Events[3])
}

func TestExitCodesOfSchedules(t *testing.T) {
	r := aSchedule()
	assert.Equal(t, exitcode.Fault, ScheduleExitCode(r))
	r.Exit.Kind = sched.ExitUnreg
	assert.Equal(t, exitcode.OK, ScheduleExitCode(r))
	r.Status = machine.StatusRefused
	assert.Equal(t, exitcode.Load, ScheduleExitCode(r))
	r.Status = machine.StatusNotSimulated
	assert.Equal(t, exitcode.NotSimulated, ScheduleExitCode(r))
}
