package machine_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/vm"
)

// TestFloodsHaveABound: a program that never stops sending is stopped at what a run may keep, by
// name, and the memory of the host stays near that; with user space that reads at once and with one
// that reads after the run.
func TestFloodsHaveABound(t *testing.T) {
	const limit = 16 << 20
	linked := load(t, "../../testdata/objects/clang-14/senders.o", target(t, embedded.Name))
	for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
		for _, prog := range []string{"flood_ring", "flood_reserve", "flood_perf", "flood_big", "flood_queue", "flood_signal", "flood_clone", "flood_trace"} {
			m := compose(t, linked, machine.Config{MaxKept: limit, Consume: maps.ConsumeAtOnce, Engine: engine})
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			res := run(t, m, prog)
			runtime.GC()
			runtime.ReadMemStats(&after)
			require.NotNil(t, res.Fault, prog)
			assert.Equal(t, machine.StatusNotSimulated, res.Status, prog)
			assert.ErrorContains(t, res.Fault, "more than 16 MiB", prog)
			assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(limit), prog)
			runtime.KeepAlive(res)
			if prog == "flood_queue" { // its elements stay
				continue
			}
			assert.Equal(t, machine.StatusOK, run(t, m, "in_turn").Status, "what the run kept is given back: %s", prog)
		}
	}
}

// TestWorkOfHelpersCounts: bytes that helpers move count toward the limit of instructions, and a
// run that hardly executes any looks whether it was cancelled.
func TestWorkOfHelpersCounts(t *testing.T) {
	linked := load(t, "../../testdata/objects/clang-14/senders.o", target(t, embedded.Name))
	for _, engine := range []machine.Engine{machine.EngineInterpreter, machine.EngineJIT} {
		m := compose(t, linked, machine.Config{MaxInsns: 20_000_000, Engine: engine})
		res := run(t, m, "flood_copies")
		require.NotNil(t, res.Fault)
		assert.Equal(t, vm.BudgetExceeded, res.Fault.Kind)
		assert.Less(t, res.Insns, uint64(1_000_000))
		assert.Equal(t, machine.StatusOK, run(t, m, "in_turn").Status)

		m = compose(t, linked, machine.Config{MaxInsns: 1 << 60, Engine: engine})
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		begin := time.Now()
		_, err := m.Run(ctx, "flood_copies", machine.Input{})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Less(t, time.Since(begin), 5*time.Second)
	}
}

// TestCallbacksAreCancelled: a timer that starts itself for ever is interrupted, not a fault.
func TestCallbacksAreCancelled(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/ticking.o", target(t, embedded.Name)), machine.Config{MaxInsns: 1 << 60})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := m.Run(ctx, "start", machine.Input{Settle: 1 << 60})
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	m = compose(t, load(t, "../../testdata/objects/clang-14/ticking.o", target(t, embedded.Name)), machine.Config{MaxInsns: 100_000})
	res, err := m.Run(context.Background(), "start", machine.Input{Settle: 1 << 60})
	require.NoError(t, err)
	require.NotNil(t, res.Fault)
	assert.Equal(t, vm.BudgetExceeded, res.Fault.Kind)
	assert.ErrorContains(t, res.Fault, "callbacks")
}

// TestCallbacksArePartOfTheRun: what a timer's callback does after the program belongs to the run,
// its faults and coverage too.
func TestCallbacksArePartOfTheRun(t *testing.T) {
	linked := load(t, "../../testdata/objects/clang-14/deferred.o", target(t, embedded.Name))
	m := compose(t, linked, machine.Config{})
	in := machine.Input{Settle: time.Millisecond}
	res, err := m.Run(context.Background(), "start_note", in)
	require.NoError(t, err)
	assert.Nil(t, res.Fault)
	assert.Zero(t, res.Ret)
	assert.Equal(t, []string{"fired 1"}, res.Trace)
	assert.Equal(t, 1, res.Helpers["bpf_trace_printk"])
	assert.Equal(t, res.Coverage.Reachable, res.Coverage.Executed)

	alone, err := compose(t, linked, machine.Config{}).Run(context.Background(), "start_note", machine.Input{})
	require.NoError(t, err)
	assert.Less(t, alone.Insns, res.Insns)
	assert.Empty(t, alone.Trace)

	res, err = compose(t, linked, machine.Config{}).Run(context.Background(), "start_crash", in)
	require.NoError(t, err)
	assert.Equal(t, machine.StatusFault, res.Status)
	require.NotNil(t, res.Fault)
	assert.Equal(t, "start_crash", res.Fault.Program)
	assert.Equal(t, "crash", res.Fault.Function)
}

// TestMarksInCallbacks: a session continues from a mark inside a callback as it did the first time.
func TestMarksInCallbacks(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/ticking.o", target(t, embedded.Name)), machine.Config{})
	s, _, err := m.Begin("start", machine.Input{Settle: 100 * time.Microsecond})
	require.NoError(t, err)
	s.Run(60)
	assert.EqualValues(t, 60, s.Insns())
	mark := s.Mark()
	s.Run(1 << 30)
	first := unbound(s.Finish())
	require.Nil(t, first.Fault)
	require.Greater(t, first.Insns, uint64(100))
	for range 2 {
		s.Return(mark)
		assert.EqualValues(t, 60, s.Insns())
		s.Run(7)
		s.Run(1 << 30)
		assert.Equal(t, first, unbound(s.Finish()))
	}
	s.Leave()
}
