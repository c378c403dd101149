package machine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// TestIterators: a program is called for every element and once more without one, and what it
// writes is the run's output.
func TestIterators(t *testing.T) {
	m := compose(t, load(t, "../../examples/iter/iter.bpf.o", target(t, embedded.Name)), machine.Config{Seed: 1})
	res := run(t, m, "dump_task")
	require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
	lines := strings.Split(strings.TrimSpace(res.Output), "\n")
	require.Greater(t, len(lines), 2)
	assert.Contains(t, lines[0], "COMM")
	assert.Contains(t, lines[1], "systemd", "init has the lowest pid")
	assert.Regexp(t, `^\d+ tasks$`, lines[len(lines)-1], "the call without an element comes last")

	res = run(t, m, "dump_map")
	assert.Contains(t, res.Output, "bytes_by_pid 128\n")
	res = run(t, m, "dump_cgroup")
	assert.Equal(t, "0 \n1 system.slice\n2 app.service\n", res.Output)
	assert.Empty(t, run(t, m, "sum_bytes").Output, "the map is empty")
	assert.Contains(t, strings.Join(m.Warnings(), "\n"), "assuming bytes_by_pid")
}

// TestStructOps: a member runs with the arguments of the function pointer.
func TestStructOps(t *testing.T) {
	m := compose(t, load(t, "../../examples/structops/structops.bpf.o", target(t, embedded.Name)), machine.Config{})
	res := run(t, m, "halve_ssthresh")
	assert.Equal(t, machine.StatusOK, res.Status)
	assert.Positive(t, res.Ret)
}

// TestSessions: a session program is called at the entry and, when that returns 0, at the return.
func TestSessions(t *testing.T) {
	m := compose(t, load(t, "../../examples/session/session.bpf.o", target(t, embedded.Name)), machine.Config{})
	for _, tt := range []struct {
		count   uint64
		returns int
	}{{512, 1}, {0, 0}} {
		res, err := m.Run(t.Context(), "on_read", machine.Input{Args: map[string]any{"count": tt.count, "ret": 7}})
		require.NoError(t, err)
		require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
		assert.Equal(t, 1+tt.returns, res.Helpers["bpf_session_is_return___before7"]+res.Helpers["bpf_session_is_return"])
	}
}
