package schedule

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/exitcode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/subsys/show"
)

func aSchedule() *Result {
	t := &sched.Task{Spec: &sched.TaskSpec{Name: "a"}, Weight: 100}
	t.Stats.Runtime = 4_000_000
	return &Result{Outcome: drive.Outcome{Ops: "ops", Name: "fifo", Status: machine.StatusOK}, Result: &sched.Result{
		Tasks: []*sched.Task{t}, Segments: []sched.Segment{{CPU: 1, Task: t, From: 1000, To: 4_001_000}}, Busy: []uint64{0, 4_000_000}, End: 8_000_000,
		Exit: &sched.Exit{Kind: sched.ExitErrorStall, Message: "too long"},
	}}
}

func TestScheduleAsTrace(t *testing.T) {
	doc := aSchedule().Document("", nil).(*Schedule)
	var b bytes.Buffer
	n, err := WriteTrace(&b, []show.Document{doc})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	var file struct {
		Events []traceEvent `json:"traceEvents"`
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(b.String())).Decode(&file))
	require.Len(t, file.Events, 4)
	assert.Equal(t, traceEvent{Name: "a", Kind: "X", At: 1, For: 4000, PID: 1, TID: 1}, file.Events[3])
	b.Reset()
	n, err = WriteTrace(&b, nil)
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Empty(t, b.String(), "a file without schedules is none")
}

func TestExitCodesOfSchedules(t *testing.T) {
	r := aSchedule()
	assert.Equal(t, exitcode.Fault, r.ExitCode())
	r.Exit.Kind = sched.ExitUnreg
	assert.Equal(t, exitcode.OK, r.ExitCode())
	r.Status = machine.StatusRefused
	assert.Equal(t, exitcode.Load, r.ExitCode())
	r.Status = machine.StatusNotSimulated
	assert.Equal(t, exitcode.NotSimulated, r.ExitCode())
}
