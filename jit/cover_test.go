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
			requireSameCoverage(t, img, vm.Done, 0, img.FuncAddr(5))
		})
	}
}

// TestCoverageBehindTheEnd: a program that runs past its last instruction is covered up to there.
func TestCoverageBehindTheEnd(t *testing.T) { eachTier(t, testCoverageBehindTheEnd) }

func testCoverageBehindTheEnd(t *testing.T) {
	for _, text := range []string{
		"r0 = 0",
		"r0 = 0\nr3 = 0\nl: r0 += 1\nr3 += 1\nif r3 != 16 goto l",
		"r0 = 0\ngoto e\nf: r0 += 1\nexit\ne: call f",
		"r0 = 0\nr1 = 77 ll",
	} {
		requireSameCoverage(t, lower(t, text, nil), vm.Faulted)
	}
}

// requireSameCoverage runs a program, which ends as said, on both engines and compares which slots were executed. All faults are BadTarget.
func requireSameCoverage(t *testing.T, img *vm.Image, end vm.Stop, args ...uint64) {
	t.Helper()
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
			r.thread.Start(img, args...)
			require.Equal(t, end, r.thread.Run(1<<20), "%v", r.thread.Fault())
			if end == vm.Faulted {
				require.Equal(t, vm.BadTarget, r.thread.Fault().Kind)
			}
		}
		for pc := range img.Len() {
			seen[i] = append(seen[i], p.Covered(img, pc))
		}
	}
	require.Equal(t, seen[1], seen[0])
}
