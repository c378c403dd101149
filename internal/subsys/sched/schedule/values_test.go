package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestValuesOfReleases: the enumerators of Linux 7.2 are the defaults, and what a kernel does not
// have is 0.
func TestValuesOfReleases(t *testing.T) {
	spec, err := testbtf.Load(kernel72)
	require.NoError(t, err)
	want := sched.DefaultValues
	want.Cids = false
	assert.Equal(t, want, sched.ValuesOf(func(name string) (uint64, bool) {
		_, v, ok := spec.FindEnumerator(name)
		return v, ok
	}))
	old := sched.ValuesOf(func(name string) (uint64, bool) {
		v, ok := map[string]uint64{"SCX_ENQ_HEAD": 16, "SCX_OPS_ALL_FLAGS": 0x1000f}[name]
		return v, ok
	})
	assert.Equal(t, sched.Values{EnqWakeup: 1, EnqHead: 16, EnqSelected: 1 << 20, AllFlags: 0x1000f}, old)
}

// TestFlagsOfTheKernel: each flag of Linux 7.2 that a scheduler may set is one that the simulation
// knows, or one that changes nothing here.
func TestFlagsOfTheKernel(t *testing.T) {
	const ( // what the simulation does about it
		done    = "simulated"
		nothing = "nothing in a schedule can make a difference"
		kernel  = "the kernel sets it"
	)
	known := map[string]map[string]string{
		"scx_ops_flags": {
			"SCX_OPS_KEEP_BUILTIN_IDLE": done, "SCX_OPS_ENQ_LAST": done, "SCX_OPS_ENQ_EXITING": done, "SCX_OPS_SWITCH_PARTIAL": done, "SCX_OPS_BUILTIN_IDLE_PER_NODE": done,
			"SCX_OPS_ALWAYS_ENQ_IMMED": done, "SCX_OPS_TID_TO_TASK": done, "SCX_OPS_ALL_FLAGS": done,
			"SCX_OPS_ENQ_MIGRATION_DISABLED": nothing, "SCX_OPS_ALLOW_QUEUED_WAKEUP": nothing, "__SCX_OPS_INTERNAL_MASK": kernel, "SCX_OPS_HAS_CPU_PREEMPT": kernel,
		},
		"scx_enq_flags": {
			"SCX_ENQ_WAKEUP": done, "SCX_ENQ_HEAD": done, "SCX_ENQ_CPU_SELECTED": done, "SCX_ENQ_PREEMPT": done, "SCX_ENQ_IMMED": done, "SCX_ENQ_REENQ": done, "SCX_ENQ_LAST": done,
			"SCX_ENQ_DSQ_PRIQ": done, "__SCX_ENQ_INTERNAL_MASK": done, "SCX_ENQ_CLEAR_OPSS": kernel, "SCX_ENQ_NESTED": kernel, "SCX_ENQ_GDSQ_FALLBACK": kernel,
		},
		"scx_deq_flags":           {"SCX_DEQ_SLEEP": done, "SCX_DEQ_SCHED_CHANGE": done, "SCX_DEQ_CORE_SCHED_EXEC": nothing},
		"scx_wake_flags":          {"SCX_WAKE_FORK": done, "SCX_WAKE_TTWU": done, "SCX_WAKE_SYNC": done},
		"scx_kick_flags":          {"SCX_KICK_IDLE": done, "SCX_KICK_PREEMPT": done, "SCX_KICK_WAIT": done},
		"scx_pick_idle_cpu_flags": {"SCX_PICK_IDLE_CORE": done, "SCX_PICK_IDLE_IN_NODE": done},
		"scx_reenq_flags": {
			"SCX_REENQ_ANY": done, "__SCX_REENQ_FILTER_MASK": done, "__SCX_REENQ_USER_MASK": done, "SCX_REENQ_TSR_RQ_OPEN": kernel, "SCX_REENQ_TSR_NOT_FIRST": kernel, "__SCX_REENQ_TSR_MASK": kernel,
		},
	}
	spec, err := testbtf.Load(kernel72)
	require.NoError(t, err)
	for enum, flags := range known {
		id, ok := spec.FindID(btf.KindEnum64, enum)
		if !ok {
			id, ok = spec.FindID(btf.KindEnum, enum)
		}
		require.True(t, ok, enum)
		var have, want []string
		for _, e := range spec.MustType(id).Values {
			have = append(have, e.Name)
		}
		for name := range flags {
			want = append(want, name)
		}
		assert.ElementsMatch(t, want, have, enum)
	}
}

// TestFlagsOfASchedule: a scheduler with a flag that the kernel knows runs, any other is refused.
func TestFlagsOfASchedule(t *testing.T) {
	m := on(t, "schedfifo", kernel72, machine.Config{CPUs: 1, Simulates: []string{"sched"}})
	ops := drive.Linked(m.Linked(), "fifo_ops")
	f, err := m.Linked().Target.BTF.ResolvePath(ops.KernType, "flags")
	require.NoError(t, err)
	for bit := range 64 {
		m.Memory().ByteOrder().PutUint64(ops.Data[f.Offset():], 1<<bit)
		d, err := newDriver(t.Context(), m, &Result{Outcome: drive.Outcome{Ops: "fifo_ops"}})
		if bit <= 8 {
			require.NoError(t, err, bit)
			assert.EqualValues(t, 1<<bit, d.config.Flags)
			continue
		}
		require.Error(t, err, bit)
		assert.True(t, strings.HasSuffix(err.Error(), "are unknown"), err)
	}
}

// TestReasonsInTasks: programs see in p->scx.flags why a task goes back to the scheduler.
func TestReasonsInTasks(t *testing.T) {
	m := on(t, "schedfifo", kernel72, machine.Config{CPUs: 1, Simulates: []string{"sched"}})
	d, err := newDriver(t.Context(), m, &Result{Outcome: drive.Outcome{Ops: "fifo_ops"}})
	require.NoError(t, err)
	cfg := d.config
	cfg.CPUs, cfg.Duration, cfg.Tasks = sched.Topology(1, 0, 0, 0), time.Millisecond, Default(1).Tasks
	sim, err := sched.New(cfg, d)
	require.NoError(t, err)
	_, err = d.run(t.Context(), sim)
	require.NoError(t, err)
	task := sim.Tasks()[0]
	o := d.tasks[0].o
	before := o.Num("scx.flags")
	d.Store(task, sched.FieldImmed, 1)
	d.Store(task, sched.FieldReenq, uint64(sched.ReenqPreempted))
	assert.Equal(t, before|1<<5|3<<12, o.Num("scx.flags"))
	d.Store(task, sched.FieldReenq, uint64(sched.ReenqKfunc))
	assert.Equal(t, before|1<<5|1<<12, o.Num("scx.flags"))
	d.Store(task, sched.FieldImmed, 0)
	d.Store(task, sched.FieldReenq, 0)
	assert.Equal(t, before, o.Num("scx.flags"))
}

// TestDumpContext: dump operations get why the scheduler ended, and when; ops.exit gets what they
// wrote.
func TestDumpContext(t *testing.T) {
	m := on(t, "schedfifo", kernel72, machine.Config{CPUs: 1, Simulates: []string{"sched"}})
	d, err := newDriver(t.Context(), m, &Result{Outcome: drive.Outcome{Ops: "fifo_ops"}})
	require.NoError(t, err)
	e := &sched.Exit{Kind: sched.ExitErrorBPF, Code: 7, Dump: "\nall\n"}
	v, err := d.value(0, sched.DumpArgs{Exit: e})
	require.NoError(t, err)
	o := v.(*object.Object)
	assert.EqualValues(t, sched.ExitErrorBPF, o.Num("kind"))
	assert.EqualValues(t, 7, o.Num("exit_code"))
	assert.Equal(t, m.Kernel().Clock().Mono(), o.Num("at_ns"))
	text := func(at uint64) string {
		b := make([]byte, 32)
		require.Nil(t, m.Memory().Read(at, b[:6]))
		s, _, _ := strings.Cut(string(b), "\x00")
		return s
	}
	assert.Equal(t, "scx_bp", text(o.Num("reason")))
	v, err = d.value(0, e)
	require.NoError(t, err)
	assert.Equal(t, "\nall\n", text(v.(*object.Object).Num("dump")))
}
