package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/vm"
)

// TestCoverageOfJumpsIntoBlocks: jumps that native code does not make itself lead to the middle of what it takes for a block, of which it
// must not say that all was executed.
func TestCoverageOfJumpsIntoBlocks(t *testing.T) { eachTier(t, testCoverageOfJumpsIntoBlocks) }

func testCoverageOfJumpsIntoBlocks(t *testing.T) {
	for name, text := range map[string]string{
		"branch on the stack": "r0 = 0\nr3 = 0\nr4 = 0\nif r10 != 0 goto m\nr0 += 1\nr0 += 2\nm: r3 += 3\nr4 += 1\nexit",
		"indirect jump":       "r0 = 0\nr3 = 0\ngotox r2\nr0 += 1\nr0 += 2\nr3 += 3\nr4 += 1\nexit",
	} {
		t.Run(name, func(t *testing.T) {
			img := lower(t, text, nil)
			var seen [2][]bool
			for i := range seen {
				r := newRig(t)
				p := vm.NewPatches(true)
				r.thread.SetPatches(p)
				if i == 0 {
					r.engine.Cover(p)
				} else {
					r.thread.SetEngine(nil)
				}
				for range 3 {
					r.thread.Start(img, 0, img.FuncAddr(5))
					require.Equal(t, vm.Done, r.thread.Run(1<<20), "%v", r.thread.Fault())
				}
				for pc := range img.Len() {
					seen[i] = append(seen[i], p.Covered(img, pc))
				}
			}
			require.Equal(t, seen[1], seen[0])
		})
	}
}
