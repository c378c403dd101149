package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/vm"
)

// TestProgramsThatCallThemselves: the program is a function like any when it is called.
func TestProgramsThatCallThemselves(t *testing.T) { eachTier(t, testProgramsThatCallThemselves) }

func testProgramsThatCallThemselves(t *testing.T) {
	img := lower(t, `
s:	r6 = r1
	r7 = 100
	*(u64 *)(r10 - 8) = r1
	r0 = 0
	if r1 == 0 goto e
	r1 += -1
	call s
	r2 = *(u64 *)(r10 - 8)
	r0 += r6
	r0 += r7
	r0 += r2
e:	r7 = 0
	exit`, nil)
	native, plain := newRig(t), newRig(t)
	plain.thread.SetEngine(nil)
	for range 4 {
		for _, depth := range []uint64{7, 3, 8} {
			for _, r := range []*rig{native, plain} {
				r.thread.Start(img, depth)
				r.thread.Run(1 << 20)
			}
			require.Equal(t, plain.thread.Status(), native.thread.Status())
			require.Empty(t, native.thread.Snapshot().Diff(plain.thread.Snapshot()))
			require.Equal(t, depth == 8, native.thread.Status() == vm.Faulted)
		}
	}
	require.NotZero(t, native.engine.Executed())
}
