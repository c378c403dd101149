package jit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/vm"
)

// tailCallTo is the tail call that Go makes.
func tailCallTo(w *world, t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
	slot := uint32(args[2])
	if args[1] != mapProgs {
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.BadArgument})
	}
	if int(slot) >= len(w.progs) || w.progs[slot] == nil {
		return ^uint64(1), nil
	}
	return 0, t.TailCall(w.progs[slot])
}

// set stores a program in a slot.
func (w *world) set(slot int, img *vm.Image) { w.progs[slot], w.links[slot] = img, 0 }

// moveProgs moves every program to the next slot.
var moveProgs = &vm.Func{Name: "move", Fn: func(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	w := t.User.(*world)
	last := w.progs[len(w.progs)-1]
	for i := len(w.progs) - 1; i > 0; i-- {
		w.set(i, w.progs[i-1])
	}
	w.set(0, last)
	return 0, nil
}}

// tailPrograms are chains of programs; r1 is the address of the buffer. The first begins.
var tailPrograms = []struct {
	name  string
	texts []string
	made  int // tail calls that Go makes, when all slots have links; -1 if that is of no interest
}{
	{"itself", []string{"r7 += 1\nr2 = PROGS\nr3 = 0\ncall 8\nr0 = r7\nexit"}, 1}, // the first that is one too many
	{"in turn", []string{
		"r6 = 5\nr2 = PROGS\nr3 = 1\ncall 8\nr0 = 1\nexit", "r0 = r6\nr0 += 1\nr6 = r0\nr2 = PROGS\nr3 = 2\ncall 8\nr0 = 2\nexit",
		"r6 *= 3\n*(u64 *)(r10 - 8) = r6\nr2 = PROGS\nr3 = 0\ncall 8\nr0 = *(u64 *)(r10 - 8)\nr0 += 3\nexit",
	}, 1},
	{"the stack and registers stay", []string{
		"r9 = 77\nr8 = 8\nr5 = 55\n*(u64 *)(r10 - 16) = 99\nr2 = PROGS\nr3 = 1\ncall 8\nexit", "r0 = *(u64 *)(r10 - 16)\nr0 += r5\nr0 += r3\nr4 = r10\nr0 += r4\nexit",
	}, 0},
	{"slots that are empty and beyond", []string{"r2 = PROGS\nr3 = 3\ncall 8\nr6 = r0\nr3 = 4\nr2 = PROGS\ncall 8\nr3 = -1\nr2 = PROGS\ncall 8\nr3 = 1\nr3 <<= 32\nr3 += 1\nr2 = PROGS\ncall 8\nexit", "r0 = 8\nexit"}, -1},
	{"with time", []string{"call 2\nr6 = r0\nr2 = PROGS\nr3 = 1\ncall 8\nexit", "call 2\nr7 = r0\ncall 4\nr2 = PROGS\nr3 = 2\ncall 8\nexit", "call 3\nr0 -= r6\nr0 += r7\nexit"}, 0},
	{"with lookups", []string{"*(u32 *)(r10 - 4) = 3\nr2 = r10\nr2 += -4\nr6 = r1\nr1 = PLAIN\ncall 1\nr7 = r0\nr1 = r6\nr2 = PROGS\nr3 = 1\ncall 8\nexit", "*(u64 *)(r7 + 0) = r6\n*(u32 *)(r10 - 4) = 5\nr2 = r10\nr2 += -4\nr1 = PLAIN\ncall 1\nr0 = *(u64 *)(r0 + 0)\nexit"}, 0},
	{"calls of helpers in between", []string{"call 7\nr7 = r0\nr2 = PROGS\nr3 = 1\ncall 8\nexit", "call 7\nr7 += r0\nr2 = PROGS\nr3 = 2\ncall 8\nr0 = 9\nexit", "call 7\nr0 += r7\nexit"}, 0},
	{"functions", []string{"r6 = 3\ncall f\nr6 += r0\nr2 = PROGS\nr3 = 1\ncall 8\nr0 = 4\nexit\nf: r6 = 9\n*(u64 *)(r10 - 8) = 4\nr0 = r6\nexit", "r7 = r6\ncall f\nr0 += r7\nexit\nf: r7 = 1\ncall g\nr0 += r7\nexit\ng: r7 = 6\nr0 = r7\nexit"}, 0},
	{"in a function", []string{"r6 = 3\ncall f\nr0 += r6\nr6 = r0\nr2 = PROGS\nr3 = 1\ncall 8\nexit\nf: r2 = PROGS\nr6 = 1\nr3 = 1\ncall 8\nr0 = 5\nexit", "r0 = r10\nr0 += r6\nr7 = r6\nexit"}, 2},
	{"a loop", []string{"r6 = 0\nl: r6 += 1\nif r6 < 40 goto l\nr2 = PROGS\nr3 = 1\ncall 8\nexit", "r7 = 50\nl: r7 += -1\nif r7 != 0 goto l\nr0 = r6\nexit"}, 0},
	{"iterations of may_goto", []string{"r6 = 0\nl: r6 += 1\nmay_goto m\nif r6 < 9 goto l\nm: r2 = PROGS\nr3 = 1\ncall 8\nexit", "l: r6 += 1\nmay_goto m\nif r6 < 29 goto l\nm: r0 = r6\nexit"}, 0},
	{"slots that change", []string{"r6 = r1\ncall 9\nr1 = r6\nr2 = PROGS\nr3 = 1\ncall 8\nr0 = 6\nexit", "r0 = 1\nr2 = PROGS\nr3 = 2\ncall 8\nexit", "r0 = 2\nexit"}, -1},
	{"a fault", []string{"r2 = PROGS\nr3 = 1\ncall 8\nexit", "r7 = *(u8 *)(r1 + 64)\nexit"}, 0},
	{"no program array", []string{"r2 = PROGS\nr2 += 1\nr3 = 1\ncall 8\nexit"}, -1},
}

// arrays lowers programs for both sides and stores them in the slots.
func arrays(t testing.TB, native, plain *world, texts []string) (first *vm.Image) {
	text := vm.NewText(0)
	for i, s := range texts {
		insns, err := decode.Assemble(mapNames.Replace(s))
		require.NoError(t, err, s)
		img, err := vm.Lower(vm.LowerConfig{Name: fmt.Sprint("program ", i), Insns: insns, Fuse: true, Call: functions(native), Text: text})
		require.NoError(t, err)
		native.set(i, img)
		plain.set(i, img)
		if first == nil {
			first = img
		}
	}
	return first
}

// TestTailCalls stops chains of programs after every number of instructions and compares all that
// can be seen with the interpreter.
func TestTailCalls(t *testing.T) { eachTier(t, testTailCalls) }

func testTailCalls(t *testing.T) {
	for _, tt := range tailPrograms {
		t.Run(tt.name, func(t *testing.T) {
			native, plain := newWorld(t), newWorld(t)
			plain.thread.SetEngine(nil)
			img := arrays(t, native, plain, tt.texts)
			for size := uint64(1); size < 400; size += 1 + size/testsize.Sample[uint64](10, 3) {
				native.thread.Start(img, native.buffer.Base)
				plain.thread.Start(img, plain.buffer.Base)
				for range 6 {
					want := plain.thread.Run(size)
					require.Equal(t, want, native.thread.Run(size), "%v", native.thread.Fault())
					same(t, native, plain, fmt.Sprintf("pieces of %d", size))
				}
			}
			for range 600 { // until all is compiled for good
				native.thread.Start(img, native.buffer.Base)
				plain.thread.Start(img, plain.buffer.Base)
				want := plain.thread.Run(1 << 20)
				require.Equal(t, want, native.thread.Run(1<<20), "%v", native.thread.Fault())
				same(t, native, plain, "a run")
			}
			if tt.made >= 0 {
				native.called = 0
				native.thread.Start(img, native.buffer.Base)
				native.thread.Run(1 << 20)
				assert.Equal(t, tt.made, native.called)
			}
		})
	}
}

// TestTailCallsCheckClean: comparing with the interpreter finds nothing.
func TestTailCallsCheckClean(t *testing.T) { eachTier(t, testTailCallsCheckClean) }

func testTailCallsCheckClean(t *testing.T) {
	for _, tt := range tailPrograms {
		native, plain := newWorld(t), newWorld(t)
		plain.thread.SetEngine(nil)
		native.engine.Check(func(text string) { t.Error(tt.name, text) })
		img := arrays(t, native, plain, tt.texts)
		for range 20 {
			native.thread.Start(img, native.buffer.Base)
			plain.thread.Start(img, plain.buffer.Base)
			require.Equal(t, plain.thread.Run(1<<20), native.thread.Run(1<<20))
			same(t, native, plain, tt.name)
		}
	}
}

// TestLinksEnd: a link does not outlive what it was made for.
func TestLinksEnd(t *testing.T) {
	texts := []string{"r6 = r1\n*(u64 *)(r10 - 8) = 5\nr2 = PROGS\nr3 = 1\ncall 8\nexit", "call 4\nr7 = r0\nr0 = *(u64 *)(r10 - 8)\nr0 += r7\nr1 = *(u8 *)(r6 + 0)\nexit"}
	for _, tt := range []struct {
		name   string
		change func(w *world)
	}{
		{"a freed object", func(w *world) { w.mem.Free(w.buffer) }},
		{"another CPU", func(w *world) { w.thread.CPU = 3 }},
		{"calls are made in Go", func(w *world) { w.shut = true }},
		{"another stack", func(w *world) { w.thread.Park() }},
		{"another program", func(w *world) { w.set(1, w.progs[0]) }},
		{"an empty slot", func(w *world) { w.set(1, nil) }},
		{"registers changed from outside", func(w *world) { w.thread.SetReg(6, 1) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			native, plain := newWorld(t), newWorld(t)
			plain.thread.SetEngine(nil)
			img := arrays(t, native, plain, texts)
			for i := range 30 {
				if i == 15 {
					require.NotZero(t, native.links[1])
					tt.change(native)
					tt.change(plain)
				}
				native.thread.Start(img, native.buffer.Base)
				plain.thread.Start(img, plain.buffer.Base)
				require.Equal(t, plain.thread.Run(1000), native.thread.Run(1000))
				same(t, native, plain, fmt.Sprint("run ", i))
			}
			native.engine.Close()
			for _, l := range native.links {
				require.Zero(t, l)
			}
		})
	}
}

// TestTailCallsRandom runs chains of random programs.
func TestTailCallsRandom(t *testing.T) {
	for seed := range testsize.Pick[uint64](300, 50, 40) {
		native, plain := newWorld(t), newWorld(t)
		plain.thread.SetEngine(nil)
		if !randomTails(t, native, plain, seed) {
			t.Fatalf("seed %d", seed)
		}
		native.engine.Close()
		native.mem.Close()
		plain.mem.Close()
	}
}

// FuzzTailCalls is TestTailCallsRandom with any seed.
func FuzzTailCalls(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		native, plain := newWorld(t), newWorld(t)
		plain.thread.SetEngine(nil)
		randomTails(t, native, plain, seed)
	})
}

// tailPieces end at their own end, besides those of inlinePieces.
var tailPieces = []string{
	"r2 = PROGS\nr3 = %d\ncall 8", "r2 = PROGS\nr3 = r7\nr3 &= 3\ncall 8", "call 9", "r1 = r7\ncall f", "r7 += r10", "*(u64 *)(r10 - 40) = r7", "r4 = *(u64 *)(r10 - 40)\nr7 += r4", "r7 += r0", "r7 += r6", "r7 += r8",
}

func randomTails(t *testing.T, native, plain *world, seed uint64) bool {
	rnd := rand.New(rand.NewPCG(seed, 3))
	var texts []string
	for range 2 + rnd.IntN(3) {
		var text strings.Builder
		if rnd.IntN(3) > 0 {
			text.WriteString("r6 = r1\n")
		}
		for range rnd.IntN(10) {
			piece := inlinePieces[rnd.IntN(len(inlinePieces))]
			if rnd.IntN(2) == 0 {
				piece = tailPieces[rnd.IntN(len(tailPieces))]
			}
			if strings.Contains(piece, "%d") {
				piece = fmt.Sprintf(piece, rnd.IntN(4)*(1+rnd.IntN(5)))
			}
			text.WriteString(piece + "\n")
		}
		fmt.Fprintf(&text, "r1 = r6\nr2 = PROGS\nr3 = %d\ncall 8\nr0 = r7\nexit\nf: r6 = r1\n*(u64 *)(r10 - 16) = r6\n", rnd.IntN(4))
		if rnd.IntN(2) == 0 {
			fmt.Fprintf(&text, "r2 = PROGS\nr3 = %d\ncall 8\n", rnd.IntN(4))
		}
		text.WriteString("r0 = r6\nexit")
		texts = append(texts, text.String())
	}
	img := arrays(t, native, plain, texts)
	native.engine.SetEager(rnd.IntN(3))
	for range 6 {
		cpu := rnd.IntN(2)
		native.thread.CPU, plain.thread.CPU = cpu, cpu
		native.thread.Start(img, native.buffer.Base)
		plain.thread.Start(img, plain.buffer.Base)
		for range 3 {
			n := uint64(rnd.IntN(2000))
			if s := plain.thread.Run(n); !assert.Equal(t, s, native.thread.Run(n), "%v %v\n%s", plain.thread.Fault(), native.thread.Fault(), strings.Join(texts, "\n\n")) {
				return false
			}
			same(t, native, plain, strings.Join(texts, "\n\n"))
		}
	}
	return true
}
