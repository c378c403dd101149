package schedule

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/event"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const kernel72 = "../../../../testdata/btf/linux-7.2.13-amd64.btf.xz"

// on makes a machine for an example on a kernel.
func on(t *testing.T, name, kernel string, cfg machine.Config) *machine.Machine {
	t.Helper()
	obj, err := loader.Open(filepath.Join("../../../../examples", name, name+".bpf.o"))
	require.NoError(t, err)
	spec, err := testbtf.Load(kernel)
	require.NoError(t, err)
	l, err := obj.Load(loader.NewTarget(kernel, spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, cfg)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

func TestDefaultSchedule(t *testing.T) {
	for _, name := range []string{"schedfifo", "schedvtime", "schedstarve"} {
		t.Run(name, func(t *testing.T) {
			m := on(t, name, kernel72, machine.Config{CPUs: 2, Simulates: []string{"sched"}})
			res, err := Run(t.Context(), m, Default(2))
			require.NoError(t, err)
			require.NoError(t, res.Err)
			assert.Equal(t, machine.StatusOK, res.Status)
			assert.Equal(t, "unregistered", res.Exit.Name())
			assert.EqualValues(t, time.Second, res.End)
			assert.Equal(t, []uint64{uint64(time.Second), uint64(time.Second)}, res.Busy, "there is always something to run")
			var ran uint64
			for _, task := range res.Tasks {
				ran += task.Stats.Runtime
				assert.NotZero(t, task.Stats.Runtime, task.Spec.Name)
			}
			assert.EqualValues(t, 2*time.Second, ran)
			assert.NotZero(t, res.Insns)
		})
	}
}

func TestTheSameScheduleTwice(t *testing.T) {
	var first []sched.Segment
	for range 2 {
		m := on(t, "schedvtime", kernel72, machine.Config{CPUs: 2, Simulates: []string{"sched"}})
		res, err := Run(t.Context(), m, Default(2))
		require.NoError(t, err)
		if first == nil {
			first = res.Segments
			continue
		}
		require.Len(t, res.Segments, len(first))
		for i, s := range res.Segments {
			require.Equal(t, first[i].Task.Spec.Name, s.Task.Spec.Name)
			require.Equal(t, [3]uint64{uint64(first[i].CPU), first[i].From, first[i].To}, [3]uint64{uint64(s.CPU), s.From, s.To})
		}
	}
}

func TestASchedulerIsRefused(t *testing.T) {
	t.Run("by a kernel without sched_ext", func(t *testing.T) {
		m := on(t, "schedfifo", "../../../../testdata/btf/linux-6.1.176-arm64-cloud.btf.xz", machine.Config{CPUs: 2, Simulates: []string{"sched"}})
		res, err := Run(t.Context(), m, Default(2))
		require.NoError(t, err)
		assert.Equal(t, machine.StatusAbsent, res.Status)
		var absent *AbsentError
		assert.ErrorAs(t, res.Err, &absent)
	})
	t.Run("by the verifier", func(t *testing.T) {
		m := on(t, "schedfifo", kernel72, machine.Config{CPUs: 2, Simulates: []string{"sched"}, Verify: func(lp *loader.LinkedProgram) loader.Verified {
			if lp.Name == "fifo_init" {
				return loader.Verified{Decided: true, Refusal: assert.AnError}
			}
			return loader.Verified{}
		}})
		res, err := Run(t.Context(), m, Default(2))
		require.NoError(t, err)
		assert.Equal(t, machine.StatusRefused, res.Status)
		assert.ErrorIs(t, res.Err, assert.AnError)
	})
	t.Run("in a machine that is not made for it", func(t *testing.T) {
		m := on(t, "schedfifo", kernel72, machine.Config{CPUs: 2})
		status, err := m.ProgramStatus("fifo_enqueue")
		assert.Equal(t, machine.StatusNotSimulated, status)
		assert.ErrorContains(t, err, "sched_ext outside of a schedule")
	})
}

func TestChooseAScheduler(t *testing.T) {
	obj, err := loader.Open("../../../../examples/schedfifo/schedfifo.bpf.o")
	require.NoError(t, err)
	name, err := Kind().Choose(obj, "")
	require.NoError(t, err)
	assert.Equal(t, "fifo_ops", name)
	assert.Equal(t, "fifo_select_cpu", Kind().Program(obj, name))
	var missing *drive.NoneError
	_, err = Kind().Choose(obj, "other")
	assert.ErrorAs(t, err, &missing)
	other, err := loader.Open("../../../../examples/xdp/xdp.bpf.o")
	require.NoError(t, err)
	_, err = Kind().Choose(other, "")
	assert.ErrorAs(t, err, &missing)
}

func TestAScheduleCanBeInterrupted(t *testing.T) {
	m := on(t, "schedfifo", kernel72, machine.Config{CPUs: 2, Simulates: []string{"sched"}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, m, Default(2))
	assert.ErrorIs(t, err, context.Canceled)
}

func TestEventsAreLimited(t *testing.T) {
	m := on(t, "schedfifo", kernel72, machine.Config{CPUs: 2, Simulates: []string{"sched"}})
	spec := Default(2)
	spec.Events = 100
	res, err := Run(t.Context(), m, spec)
	require.NoError(t, err)
	assert.Equal(t, machine.StatusFault, res.Status)
	assert.ErrorIs(t, res.Err, event.ErrLimit)
}

func TestATopologyMustFit(t *testing.T) {
	m := on(t, "schedfifo", kernel72, machine.Config{CPUs: 4, Simulates: []string{"sched"}})
	_, err := Run(t.Context(), m, Default(2))
	var wrong *sched.ConfigError
	assert.ErrorAs(t, err, &wrong)
}
