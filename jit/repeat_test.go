package jit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/vm"
)

// againPrograms end, besides those of tailPrograms and inlinePrograms; r1 is the address of the
// buffer.
var againPrograms = []string{
	"r0 = *(u64 *)(r1 + 0)\nr0 += 1\n*(u64 *)(r1 + 0) = r0\nr2 = *(u64 *)(r10 - 8)\nr2 += r0\n*(u64 *)(r10 - 8) = r2\nr0 = r2\nexit",
	"r0 += r6\nr0 += r2\nr0 += r9\nr6 = 5\nr9 = 4\nr2 = 1\nexit",
	"r6 = r1\ncall 2\nr7 = r0\n*(u32 *)(r10 - 4) = 2\nr2 = r10\nr2 += -4\nr1 = PLAIN\ncall 1\nr1 = *(u64 *)(r0 + 0)\nr1 += r7\n*(u64 *)(r0 + 0) = r1\ncall 3\nr0 -= r7\nexit",
	"r6 = r1\ncall f\nr0 += r6\nexit\nf: r6 = 2\n*(u64 *)(r10 - 8) = r6\nr0 = *(u64 *)(r10 - 8)\nexit",
	"r6 = 0\nl: r6 += 1\nmay_goto m\nif r6 < 9 goto l\nm: r0 = r6\nexit",
	"r6 = *(u8 *)(r1 + 0)\nr6 += 1\n*(u8 *)(r1 + 0) = r6\nif r6 != 30 goto l\ncall 7\nr0 = 3\nl: exit",     // rarely calls Go
	"r6 = *(u8 *)(r1 + 0)\nr6 += 1\n*(u8 *)(r1 + 0) = r6\nr6 &= 63\nr1 += r6\nr0 = *(u64 *)(r1 + 0)\nexit", // faults at the end of the buffer
}

// repeatRuns makes n runs by Again, and adds up what they returned. native is how many the engine
// made at once.
func repeatRuns(w *world, img *vm.Image, n int, limit uint64) (stops [vm.Idle]int, insns uint64, native int) {
	for done := 0; done < n; {
		ended, ran := w.thread.Again(img, n-done, limit, w.buffer.Base)
		stops[vm.Done] += ended
		native += ended
		insns += ran
		if done += ended; done == n {
			break
		}
		stops[w.thread.Run(limit-w.thread.Insns())]++
		insns += w.thread.Insns()
		done++
	}
	return stops, insns, native
}

// TestAgain repeats programs and compares all that can be seen with the interpreter, after every
// number of runs.
func TestAgain(t *testing.T) { eachTier(t, testAgain) }

func testAgain(t *testing.T) {
	type program struct {
		texts []string
		cpu   int
	}
	var all []program
	for _, text := range againPrograms {
		all = append(all, program{[]string{text}, 0})
	}
	for _, p := range tailPrograms {
		all = append(all, program{p.texts, 0})
	}
	for _, p := range inlinePrograms {
		all = append(all, program{[]string{p.text}, p.cpu})
	}
	for i, p := range all {
		native, plain := newWorld(t), newWorld(t)
		plain.thread.SetEngine(nil)
		native.thread.CPU, plain.thread.CPU = p.cpu, p.cpu
		img := arrays(t, native, plain, p.texts)
		native.thread.Start(img, native.buffer.Base)
		plain.thread.Start(img, plain.buffer.Base)
		require.Equal(t, plain.thread.Run(500), native.thread.Run(500))
		byEngine := 0
		for n := range 40 {
			stops, insns, k := repeatRuns(native, img, n, 500)
			want, insnsWant, _ := repeatRuns(plain, img, n, 500)
			where := fmt.Sprintf("%d runs of %q", n, p.texts)
			require.Equal(t, want, stops, where)
			require.Equal(t, insnsWant, insns, where)
			same(t, native, plain, where)
			byEngine += k
		}
		if i < 3 {
			assert.Positive(t, byEngine, p.texts)
		}
		native.engine.Close()
	}
}

// TestAgainIsOneEntry: the engine makes all runs that it is asked for, across functions and tail
// calls.
func TestAgainIsOneEntry(t *testing.T) {
	for _, texts := range [][]string{againPrograms[:1], againPrograms[2:3], againPrograms[3:4], againPrograms[4:5], tailPrograms[5].texts} {
		w := newWorld(t)
		w.engine.SetEager(0)
		img := arrays(t, w, newWorld(t), texts)
		for range 50 {
			w.thread.Start(img, w.buffer.Base)
			require.Equal(t, vm.Done, w.thread.Run(1000))
		}
		w.called = 0
		ended, _ := w.thread.Again(img, 100, 1000, w.buffer.Base)
		assert.Equal(t, 100, ended, texts)
		assert.Zero(t, w.called, texts)
	}
}

// TestAgainKeepsTheStack: a start renews it, a repetition finds what the last run left.
func TestAgainKeepsTheStack(t *testing.T) {
	for _, engine := range []bool{true, false} {
		w := newWorld(t)
		if !engine {
			w.thread.SetEngine(nil)
		}
		img := lower(t, "r0 = *(u64 *)(r10 - 8)\nr0 += 1\n*(u64 *)(r10 - 8) = r0\nexit", nil)
		for range 3 {
			w.thread.Start(img)
			require.Equal(t, vm.Done, w.thread.Run(100))
			require.EqualValues(t, 1, w.thread.Ret())
		}
		for i := range uint64(5) {
			if ended, _ := w.thread.Again(img, 1, 100); ended == 0 {
				require.Equal(t, vm.Done, w.thread.Run(100))
			}
			require.Equal(t, i+2, w.thread.Ret())
		}
		w.thread.Start(img)
		require.Equal(t, vm.Done, w.thread.Run(100))
		require.EqualValues(t, 1, w.thread.Ret())
	}
}
