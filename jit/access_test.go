package jit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// stoppingView suspends the thread at every third load and refuses loads at 24.
type stoppingView struct {
	countingView
	thread *vm.Thread
}

func (v *stoppingView) Load(off uint64, size int) (uint64, *mem.Fault) {
	if v.loads++; v.loads%3 == 0 {
		v.thread.Suspend("third")
	}
	if off == 24 {
		return 0, &mem.Fault{Kind: mem.NotPermitted}
	}
	return off + 1, nil
}

// TestAccessesOfViews: what code leaves is executed in its place, stops and faults where it stops
// and faults on the interpreter.
func TestAccessesOfViews(t *testing.T) { eachTier(t, testAccessesOfViews) }

func testAccessesOfViews(t *testing.T) {
	native, plain := newRig(t), newRig(t)
	plain.thread.SetEngine(nil)
	text := "r6 = r1\nr7 = 0\nl: r7 += 1\nr2 = *(u64 *)(r6 + 8)\n*(u32 *)(r6 + 12) = r7\nr3 = *(s16 *)(r6 + 4)\nr2 += r3\nlock *(u64 *)(r6 + 16) += r2\nif r7 != 40 goto l\nr0 = *(u8 *)(r6 + 24)\nexit"
	img := lower(t, text, nil)
	var starts [2]uint64
	for i, r := range []*rig{native, plain} {
		o, err := r.mem.Alloc(32, mem.Region{Name: "object", View: &stoppingView{thread: r.thread}})
		require.NoError(t, err)
		starts[i] = o.Base
	}
	for _, size := range []uint64{1, 7, 30, 100, 1000} {
		native.thread.Start(img, starts[0])
		plain.thread.Start(img, starts[1])
		stopped := 0
		for {
			want := plain.thread.Run(size)
			require.Equal(t, want, native.thread.Run(size), "%v", native.thread.Fault())
			require.Empty(t, native.thread.Snapshot().Diff(plain.thread.Snapshot()))
			require.Equal(t, plain.thread.StopReason(), native.thread.StopReason())
			if want == vm.Faulted {
				break
			}
			if want == vm.Stopped {
				stopped++
			}
		}
		assert.NotZero(t, stopped)
		assert.Equal(t, plain.thread.Fault().PC, native.thread.Fault().PC)
		assert.Equal(t, plain.thread.Fault().Mem.Kind, native.thread.Fault().Mem.Kind)
	}
	assert.NotZero(t, native.engine.Executed())
}
