package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// TestR0IsNotNamed: a compare and exchange uses r0 although no instruction has it for an operand.
func TestR0IsNotNamed(t *testing.T) { eachTier(t, testR0IsNotNamed) }

func testR0IsNotNamed(t *testing.T) {
	img := lower(t, "r3 = r2\nr3 += r2\nr0 = cmpxchg_64(r1 + 8, r0, r3)\nr4 = r3", nil)
	native, plain := newRig(t), newRig(t)
	plain.thread.SetEngine(nil)
	for range 3 {
		var got [2][]byte
		for i, r := range []*rig{native, plain} {
			o, err := r.mem.Alloc(16, mem.Region{})
			require.NoError(t, err)
			r.thread.Start(img, o.Base, 21)
			require.Equal(t, vm.Faulted, r.thread.Run(100)) // at the end, since an exit names r0
			got[i] = r.mem.Bytes(o)
		}
		require.Empty(t, native.thread.Snapshot().Diff(plain.thread.Snapshot()))
		require.Equal(t, got[1], got[0])
		require.EqualValues(t, 42, got[0][8])
	}
	require.NotZero(t, native.engine.Executed())
}
