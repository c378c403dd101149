package schedule

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOperationsThatNothingCalls: a scheduler may have operations for what no schedule does. Those
// for schedulers below it are for schedulers that know CPUs by cid, on kernels that have such.
func TestOperationsThatNothingCalls(t *testing.T) {
	const byCidOnly = "sub_attach/sub_detach requires cid-form struct_ops"
	for op, want := range map[string]string{
		"core_sched_before": "", "cpu_online": "", "cpu_offline": "", "cgroup_set_weight": "", "cgroup_set_idle": "", "cgroup_set_bandwidth": "",
		"sub_attach": byCidOnly, "sub_detach": byCidOnly,
	} {
		t.Run(op, func(t *testing.T) {
			m := on(t, "schedfifo", kernel72, machine.Config{CPUs: 1, Simulates: []string{"sched"}})
			drive.Linked(m.Linked(), "fifo_ops").Progs[op] = "fifo_init"
			res, err := Run(t.Context(), m, Default(1))
			require.NoError(t, err)
			require.NoError(t, res.Err)
			assert.Equal(t, want, res.Exit.Message)
			assert.Equal(t, want == "", res.Busy[0] > 0)
		})
	}
	for _, op := range []string{"cid_online", "cid_offline", "sub_attach", "sub_detach"} {
		t.Run(op, func(t *testing.T) {
			m := byCid(t, kernel72, 1, nil)
			drive.Linked(m.Linked(), "cid_ops").Progs[op] = "cid_init"
			res, err := Run(t.Context(), m, Default(1))
			require.NoError(t, err)
			require.NoError(t, res.Err)
			assert.Empty(t, res.Exit.Message)
			assert.NotZero(t, res.Busy[0])
		})
	}
}

// TestASchedulerBelowAnother: a scheduler for a cgroup is refused by name, one for the root is one
// for all tasks.
func TestASchedulerBelowAnother(t *testing.T) {
	for id, want := range map[uint64]machine.Status{0: machine.StatusOK, 1: machine.StatusOK, 2: machine.StatusNotSimulated, 1 << 40: machine.StatusNotSimulated} {
		m := byCid(t, kernel72, 1, nil)
		ops := drive.Linked(m.Linked(), "cid_ops")
		f, err := m.Linked().Target.BTF.ResolvePath(ops.KernType, "sub_cgroup_id")
		require.NoError(t, err)
		m.Memory().ByteOrder().PutUint64(ops.Data[f.Offset():], id)
		res, err := Run(t.Context(), m, Default(1))
		require.NoError(t, err)
		assert.Equal(t, want, res.Status, id)
		if want != machine.StatusOK {
			assert.ErrorContains(t, res.Err, "not simulated: a scheduler below another one")
		}
	}
}
