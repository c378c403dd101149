package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/vm"
)

// TestCoverageBehindTheEnd: a program that runs past its last instruction is covered up to there.
func TestCoverageBehindTheEnd(t *testing.T) { eachTier(t, testCoverageBehindTheEnd) }

func testCoverageBehindTheEnd(t *testing.T) {
	for _, text := range []string{
		"r0 = 0",
		"r0 = 0\nr3 = 0\nl: r0 += 1\nr3 += 1\nif r3 != 16 goto l",
		"r0 = 0\ngoto e\nf: r0 += 1\nexit\ne: call f",
		"r0 = 0\nr1 = 77 ll",
	} {
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
				r.thread.Start(img)
				require.Equal(t, vm.Faulted, r.thread.Run(1<<20))
				require.Equal(t, vm.BadTarget, r.thread.Fault().Kind)
			}
			for pc := range img.Len() {
				seen[i] = append(seen[i], p.Covered(img, pc))
			}
		}
		require.Equal(t, seen[1], seen[0])
	}
}
