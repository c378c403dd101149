package schedule

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/machine"
)

// TestOperationsThatNothingCalls: a scheduler may have operations for what no schedule does; those of schedulers with others below them are
// refused by name.
func TestOperationsThatNothingCalls(t *testing.T) {
	for op, want := range map[string]string{
		"core_sched_before": "", "cpu_online": "", "cpu_offline": "", "cgroup_set_weight": "", "cgroup_set_idle": "", "cgroup_set_bandwidth": "",
		"sub_attach": "not simulated: ops.sub_attach", "sub_detach": "not simulated: ops.sub_detach",
	} {
		t.Run(op, func(t *testing.T) {
			m := on(t, "schedfifo", kernel72, machine.Config{CPUs: 1, Schedules: true})
			linkedOps(m.Linked(), "fifo_ops").Progs[op] = "fifo_init"
			res, err := Run(t.Context(), m, Default(1))
			require.NoError(t, err)
			if want == "" {
				require.NoError(t, res.Err)
				assert.NotZero(t, res.Busy[0])
				return
			}
			assert.ErrorContains(t, res.Err, want)
		})
	}
}
