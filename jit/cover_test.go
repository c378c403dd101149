package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/vm"
)

// TestCoverageOfJumpsIntoBlocks: jumps that native code does not make itself lead to the middle of
// what it takes for a block, of which it must not say that all was executed.
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

// requireSameCoverage runs a program, which ends as said, on both engines and compares which slots
// were executed. All faults are BadTarget.
func requireSameCoverage(t *testing.T, img *vm.Image, end vm.Stop, args ...uint64) {
	t.Helper()
	var seen [2][]bool
	for i := range seen {
		r := newRig(t)
		p := vm.NewPatches(true)
		p.RecordWays()
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
			seen[i] = append(seen[i], p.Covered(img, pc), p.Gone(img, pc, vm.Taken), p.Gone(img, pc, vm.Fell))
		}
	}
	require.Equal(t, seen[1], seen[0])
}

// TestCoverageOfEachRun: what a run executed is forgotten before the next, which goes other ways;
// native code that leaves out what was recorded already must not leave it out then.
func TestCoverageOfEachRun(t *testing.T) { eachTier(t, testCoverageOfEachRun) }

func testCoverageOfEachRun(t *testing.T) {
	for name, text := range map[string]string{
		"loop":        "r0 = 0\nl: r0 += 1\nif r0 < r1 goto l\nexit",
		"two phases":  "r0 = 0\nl: r0 += 1\nif r0 < r1 goto l\nr0 = 0\nm: r0 += 2\nif r0 > 7000 goto e\nif r0 < r1 goto m\ne: exit",
		"rare":        "r0 = 0\nl: r2 = r0\nr2 &= 8191\nif r2 != 8000 goto n\nr3 = 1\nn: r0 += 1\nif r0 < r1 goto l\nexit",
		"selection":   "r0 = 0\nr3 = 7\nl: r2 = r3\nr3 *= 1103515245\nr3 += 12345\nr2 >>= 16\nr2 &= 1\nif r2 == 0 goto n\nr4 = r3\nn: r0 += 1\nif r0 < r1 goto l\nexit",
		"nested":      "r0 = 0\no: r3 = 0\ni: r3 += 1\nif r3 s< 30 goto i\nr0 += 1\nif r0 < r1 goto o\nexit",
		"in calls":    "r6 = r1\nr7 = 0\nl: r1 = r7\ncall f\nr7 += 1\nif r7 < r6 goto l\nr0 = 0\nexit\nf: r0 = 0\nif r1 s> 4000 goto o\nr0 = 1\no: exit",
		"never again": "r0 = 0\nl: if r1 == 9000 goto n\nr0 += 1\nif r0 < r1 goto l\nexit\nn: r0 += 2\nif r0 < r1 goto n\nexit",
	} {
		t.Run(name, func(t *testing.T) {
			img := lower(t, text, nil)
			native, plain := newRig(t), newRig(t)
			plain.thread.SetEngine(nil)
			var of [2]*vm.Patches
			for i, r := range []*rig{native, plain} {
				of[i] = vm.NewPatches(true)
				of[i].RecordWays()
				r.thread.SetPatches(of[i])
			}
			native.engine.Cover(of[0])
			thin := false
			for i, arg := range []uint64{0, 5000, 1, 9000, 9000, 300, 20000, 8001, 7, 9000, 20000, 20000, 0, 5000} {
				var seen [2][]bool
				for j, r := range []*rig{native, plain} {
					r.thread.Start(img, arg)
					require.Equal(t, vm.Done, r.thread.Run(1<<40))
					thin = thin || native.engine.isThin(img)
					for pc := range img.Len() {
						seen[j] = append(seen[j], of[j].Covered(img, pc), of[j].Gone(img, pc, vm.Taken), of[j].Gone(img, pc, vm.Fell))
					}
					if i%5 != 4 {
						of[j].Restore(&vm.CoverSnapshot{})
					}
				}
				require.Equal(t, seen[1], seen[0], "run %d with %d", i, arg)
			}
			if tier >= 0 {
				require.True(t, thin, "the test is about thin code")
			}
		})
	}
}

// TestWaysOfBranches: both engines know which ways conditional jumps went, which is compared with
// what single steps see; so do loops that are compiled again.
func TestWaysOfBranches(t *testing.T) { eachTier(t, testWaysOfBranches) }

func testWaysOfBranches(t *testing.T) {
	for name, text := range map[string]string{
		"join":            "r0 = 0\nif r1 == 0 goto j\nr0 += 1\nj: exit",
		"loop":            "r0 = 0\nl: r0 += 1\nif r0 < 5000 goto l\nexit",
		"guarded loop":    "r0 = 0\nif r1 == 0 goto e\nl: r0 += 1\nif r0 != 5000 goto l\ne: exit",
		"never in a loop": "r0 = 0\nl: if r0 == 9999 goto e\nr0 += 1\nif r0 > 70000 goto e\nif r0 < 5000 goto l\ne: exit",
		"alternating":     "r0 = 0\nr3 = 0\nl: r2 = r0\nr2 &= 1\nif r2 == 0 goto n\nr3 += 1\nn: r0 += 1\nif r0 < 5000 goto l\nexit",
		"to the next":     "r0 = 0\nif r1 == 0 goto n\nn: exit",
		"in functions":    "r6 = 0\nl: r1 = r6\ncall f\nr6 += 1\nif r6 < 2000 goto l\nr0 = 0\nexit\nf: r0 = 0\nif r1 s> 1000 goto o\nr0 = 1\no: exit",
		"two to one":      "r0 = 0\nif r1 == 1 goto o\nif r1 == 0 goto o\nr0 = 7\no: exit",
	} {
		for arg := range uint64(3) {
			img := lower(t, text, nil)
			requireSameCoverage(t, img, vm.Done, arg)
			want := stepped(t, img, arg)
			r := newRig(t)
			p := vm.NewPatches(true)
			p.RecordWays()
			r.thread.SetPatches(p)
			r.engine.Cover(p)
			r.thread.Start(img, arg)
			require.Equal(t, vm.Done, r.thread.Run(1<<22))
			got := map[[2]int]bool{}
			for pc := range img.Len() {
				for _, way := range []vm.Way{vm.Taken, vm.Fell} {
					if p.Gone(img, pc, way) {
						got[[2]int{pc, int(way)}] = true
					}
				}
			}
			require.Equal(t, want, got, "%s with %d", name, arg)
		}
	}
}

// stepped runs a program instruction by instruction without coverage and looks where jumps go.
func stepped(t *testing.T, img *vm.Image, args ...uint64) map[[2]int]bool {
	t.Helper()
	r := newRig(t)
	r.thread.SetEngine(nil)
	r.thread.Start(img, args...)
	out := map[[2]int]bool{}
	for {
		pc := r.thread.PC()
		branch, _, _ := img.Branches(pc)
		if stop := r.thread.Run(1); stop != vm.Budget {
			require.Equal(t, vm.Done, stop)
			return out
		}
		if branch {
			way := vm.Taken
			if r.thread.PC() == pc+1 {
				way = vm.Fell
			}
			out[[2]int{pc, int(way)}] = true
		}
	}
}
