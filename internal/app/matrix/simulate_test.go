package matrix

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProgramsThatOnlySimulationsCall: a matrix runs schedulers, queueing disciplines and programs
// of HID devices as run does, and says of each program of a scheduler that is refused why it did
// not run.
func TestProgramsThatOnlySimulationsCall(t *testing.T) {
	objects := open(t, "examples/schedfifo/schedfifo.bpf.o", "examples/qdiscfifo/qdiscfifo.bpf.o", "examples/hidmouse/hidmouse.bpf.o", "examples/schedvtime/schedvtime.bpf.o")
	m, err := Run(context.Background(), objects, kernels(k510, k72), Config{})
	require.NoError(t, err)
	words := map[string][]string{}
	details := map[string]string{}
	for _, r := range m.Rows {
		for _, c := range r.Cells {
			words[r.Program] = append(words[r.Program], c.Word())
		}
		details[r.Program] = r.Cells[1].Detail
	}
	for prog, want := range map[string][]string{
		"fifo_select_cpu": {"absent", "ok"}, "fifo_dispatch": {"absent", "ok"}, "fifo_dequeue": {"absent", "changed"}, "remap": {"absent", "ok"}, "probe": {"absent", "ok"},
		"vtime_enqueue": {"BREAK", "refused"}, "vtime_dispatch": {"absent", "n/a"},
	} {
		assert.Equal(t, want, words[prog], prog)
	}
	assert.Contains(t, details["vtime_dispatch"], "program vtime_enqueue (ops.enqueue) cannot run")
}
