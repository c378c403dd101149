package report

import (
	"bytes"
	"testing"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func aSchedule() *schedule.Result {
	t := &sched.Task{Spec: &sched.TaskSpec{Name: "a"}, Weight: 100}
	t.Stats.Runtime = 4_000_000
	return &schedule.Result{Outcome: drive.Outcome{Ops: "ops", Name: "fifo", Status: machine.StatusOK}, Result: &sched.Result{
		Tasks: []*sched.Task{t}, Segments: []sched.Segment{{CPU: 1, Task: t, From: 1000, To: 4_001_000}}, Busy: []uint64{0, 4_000_000}, End: 8_000_000,
		Exit: &sched.Exit{Kind: sched.ExitErrorStall, Message: "too long"},
	}}
}

func TestScheduleAsTable(t *testing.T) {
	d := &RunDocument{Object: "x.o", Target: &Target{Name: "k"}}
	d.Simulate("one", aSchedule())
	var b bytes.Buffer
	require.NoError(t, WriteTable(&b, d, TableOptions{}))
	assert.Contains(t, b.String(), "one: stall: too long after 8ms")
	assert.Contains(t, b.String(), "a     100     4ms      50.0 %")
	assert.Contains(t, b.String(), "CPU 1 busy 50.0 %")
}
