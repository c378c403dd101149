package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/vm"
)

// TestRegistersChangedFromOutside: a debugger may give registers values that the program never
// does, to the running function or to a caller, at any time.
func TestRegistersChangedFromOutside(t *testing.T) { eachTier(t, testRegistersChangedFromOutside) }

func testRegistersChangedFromOutside(t *testing.T) {
	img := lower(t, `
	r6 = r1
	r7 = 0
	r8 = 0
	r0 = 0
	call f
l:	r2 = r6
	r2 += r7
	r3 = *(u8 *)(r2 + 0)
	r0 += r3
	r7 += 1
	r8 += 1
	if r8 != 40 goto l
	exit
f:	r0 = 1
	exit`, nil)
	for _, tt := range []struct {
		after uint64 // instructions
		set   func(th *vm.Thread)
	}{
		{3, func(th *vm.Thread) { th.SetReg(7, 40000) }},
		{5, func(th *vm.Thread) { th.SetFrameReg(1, 7, 40000) }},
		{6, func(th *vm.Thread) { th.SetFrameReg(1, 7, 40000) }},
		{20, func(th *vm.Thread) { th.SetFrameReg(0, 7, 40000) }},
		{20, func(th *vm.Thread) { // and back
			s := th.Snapshot()
			th.SetReg(7, 40000)
			altered := th.Snapshot()
			th.Restore(s)
			th.Run(30)
			th.Restore(altered)
		}},
	} {
		r := newLoopRig(t, max(tier, 0))
		r.run(t, img, 1, 6, 0, 0, 1<<20)
		require.Equal(t, vm.Done, r.native.thread.Status())
		for range 3 {
			for i, side := range []*rig{r.native, r.plain} {
				th := side.thread
				th.Start(img, r.objects[i][1].Base)
				require.Equal(t, vm.Budget, th.Run(tt.after))
				tt.set(th)
				require.Equal(t, vm.Faulted, th.Run(1<<20))
			}
			require.Empty(t, r.native.thread.Snapshot().Diff(r.plain.thread.Snapshot()))
		}
		before := r.native.engine.Executed()
		r.run(t, img, 1, 6, 0, 0, 1<<20)
		require.Greater(t, r.native.engine.Executed(), before)
	}
}
