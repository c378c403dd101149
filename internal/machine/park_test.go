package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/vm"
)

const cpusObject = "../debug/testdata/cpus.o"

// beginOn begins a program on a CPU.
func beginOn(t *testing.T, m *machine.Machine, cpu int, prog string) *machine.Session {
	t.Helper()
	s, res, err := m.Begin(prog, machine.Input{CPU: cpu})
	require.NoError(t, err)
	require.NotNil(t, s, "%v: %v", res.Status, m.ProgramError(prog))
	return s
}

// untilWaits executes up to a call that waits.
func untilWaits(t *testing.T, s *machine.Session) *machine.Wait {
	t.Helper()
	require.Equal(t, vm.Stopped, s.Run(1000))
	require.NotNil(t, s.Waits())
	return s.Waits()
}

// TestParkedRuns continue as if nothing had come between: each has its registers, stack, counts and
// output.
func TestParkedRuns(t *testing.T) {
	for _, prog := range []string{"count", "count_locked", "report"} {
		t.Run(prog, func(t *testing.T) {
			m := compose(t, load(t, cpusObject, target(t, embedded.Name)), machine.Config{Seed: 1})
			alone := beginOn(t, m, 1, prog)
			alone.Run(1000)
			want := alone.Finish()

			m = compose(t, load(t, cpusObject, target(t, embedded.Name)), machine.Config{Seed: 1})
			a := beginOn(t, m, 1, prog)
			a.Run(5)
			a.Park()
			b := beginOn(t, m, 0, "count") // nothing the first looks at
			for range 3 {
				b.Run(2)
				b.Park()
				a.Unpark()
				a.Run(1)
				a.Park()
				b.Unpark()
			}
			var busy *machine.BusyError
			_, _, err := m.Begin("count", machine.Input{CPU: 1})
			require.ErrorAs(t, err, &busy)
			assert.Equal(t, 1, busy.CPU)
			b.Run(1000)
			require.Nil(t, b.Finish().Fault)
			b.Park()
			a.Unpark()
			a.Run(1000)
			got := a.Finish()
			assert.Equal(t, want.Ret, got.Ret)
			assert.Equal(t, want.Insns, got.Insns)
			assert.Equal(t, want.Helpers, got.Helpers)
			assert.Equal(t, want.Events, got.Events)
		})
	}
}

// TestLocksInBothOrders: of two CPUs that wait for each other the second gets -EDEADLK for its
// bpf_res_spin_lock and lets the other continue.
func TestLocksInBothOrders(t *testing.T) {
	m := compose(t, load(t, cpusObject, target(t, "../../testdata/btf/linux-7.2.13-amd64.btf.xz")), machine.Config{Seed: 1})
	pair, ok := m.MapByName("pair")
	require.True(t, ok)
	untilTaken := func(s *machine.Session, lock byte) {
		t.Helper()
		addr, errno := pair.Lookup(0, []byte{lock, 0, 0, 0})
		require.Zero(t, errno)
		for v := uint64(0); v == 0; v, _ = m.Memory().Load(addr, 4) {
			require.Equal(t, vm.Budget, s.Run(1))
		}
	}
	a := beginOn(t, m, 0, "lock_ab")
	untilTaken(a, 0)
	a.Park()
	b := beginOn(t, m, 1, "lock_ba")
	untilTaken(b, 1)
	w := untilWaits(t, b)
	assert.Same(t, a, w.Holder)
	mark := b.Mark()
	for range 2 { // the same again from the mark
		b.Park()
		a.Unpark()
		require.Equal(t, vm.Done, a.Run(1000))
		assert.Equal(t, uint64(1), a.Finish().Ret, "its second lock failed")
		a.Park()
		b.Unpark()
		require.Equal(t, vm.Done, b.Run(1000))
		assert.Zero(t, b.Finish().Ret)
		b.Return(mark)
	}
	a.Leave()
	b.Leave()
}
