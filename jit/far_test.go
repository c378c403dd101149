package jit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/vm"
)

// TestLoopsFarFromTheirBase: a loop may walk far away from the register its addresses are counted
// from, farther than a guard can.
func TestLoopsFarFromTheirBase(t *testing.T) { eachTier(t, testLoopsFarFromTheirBase) }

func testLoopsFarFromTheirBase(t *testing.T) {
	for _, far := range []int64{1 << 32, 1 << 35, -1 << 32, 1<<31 - 10, 1<<32 - 100, -1<<31 - 10, 1 << 39} {
		t.Run(fmt.Sprintf("%#x", far), func(t *testing.T) {
			img := lower(t, fmt.Sprintf(`
	r2 = %d ll
	r0 = 0
	r5 = 0
l:	r3 = r1
	r3 += r2
	r4 = *(u8 *)(r3 + 0)
	r0 += r4
	r2 += 1
	r5 += 1
	if r5 != 24 goto l
	exit`, far), nil)
			r := newLoopRig(t, max(tier, 0))
			for range 4 {
				r.run(t, img, 0, 6, 0, 0, 1<<20)
				require.Equal(t, vm.Faulted, r.native.thread.Status())
			}
		})
	}
}

// TestLoopsOfFarSteps: what is added in a turn, times as many turns as there may be, can be more
// than 64 bits hold.
func TestLoopsOfFarSteps(t *testing.T) { eachTier(t, testLoopsOfFarSteps) }

func testLoopsOfFarSteps(t *testing.T) {
	for _, tt := range []struct {
		step  int64
		turns int
	}{{1 << 40, 1<<23 + 5}, {-1 << 40, 1<<23 + 5}, {1 << 40, 1<<24 - 2}, {1 << 39, 1<<24 - 2}, {1 << 32, 1 << 20}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			img := lower(t, fmt.Sprintf(`
	r2 = 0
	r0 = 0
	r5 = 0
l:	r3 = r1
	r3 += r2
	r4 = *(u8 *)(r3 + 0)
	r0 += r4
	r5 += 1
	if r5 != 300 goto n
	r6 = %d ll
	r2 += r6
n:	if r5 != %d goto l
	exit`, tt.step, tt.turns), nil)
			r := newLoopRig(t, max(tier, 0))
			for range 4 {
				r.run(t, img, 0, 6, 0, 0, 1<<20)
				require.Equal(t, vm.Faulted, r.native.thread.Status())
			}
		})
	}
}
