package machine_test

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// used is the processor time of this thread: other jobs of a busy machine do not count.
func used(b *testing.B) time.Duration {
	var t unix.Timespec
	require.NoError(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t))
	return time.Duration(t.Nano())
}

// BenchmarkFindings is the processor time of a run that watches for findings divided by that of one
// that does not, on each engine, in windows that take turns: ns/op is of both together.
func BenchmarkFindings(b *testing.B) {
	for name, engine := range map[string]machine.Engine{"interpreter": machine.EngineInterpreter, "jit": machine.EngineJIT} {
		b.Run(name, func(b *testing.B) {
			benchOn(b, machine.Config{Engine: engine, Restores: true}, func(b *testing.B, m *machine.Machine, name string) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				s := m.Snapshot()
				best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
				for b.Loop() {
					for i, off := range []bool{false, true} {
						const window = 64
						machine.Untracked(m, off)
						began := used(b)
						for range window {
							_, err := m.Run(context.Background(), name, machine.Input{})
							require.NoError(b, err)
							m.Restore(s)
						}
						best[i] = min(best[i], (used(b)-began)/window)
					}
				}
				b.ReportMetric(float64(best[0])/float64(best[1]), "with/without")
			})
		})
	}
}
