//go:build linux && (amd64 || arm64)

package jit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// callMaker makes programs of functions that call each other and helpers, in loops and outside. A
// function gets a buffer of 64 bytes in r1 and a number in r2.
type callMaker struct {
	*rand.Rand
	strings.Builder
	view   uint64
	labels int
}

func (m *callMaker) say(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// function makes f(i), which calls functions after it. What it uses of the stack and of r6 to r9
// differs.
func (m *callMaker) function(i, n int) {
	m.say("f%d: r0 = r2", i)
	f := body{m: m, i: i, n: n, regs: []int{0}, stack: m.IntN(2) == 0}
	if f.buffer = m.IntN(4) != 0; f.buffer {
		m.say("r6 = r1")
	}
	for r := 7; r <= 9; r++ {
		if m.IntN(2) == 0 {
			m.say("r%d = r2\nr%d += %d", r, r, m.IntN(100))
			f.regs = append(f.regs, r)
		}
	}
	for range 3 + m.IntN(6) {
		f.statement(true)
	}
	for _, r := range f.regs[1:] {
		m.say("r0 ^= r%d", r)
	}
	m.say("exit")
}

// body is what is known in a function.
type body struct {
	m             *callMaker
	i, n          int
	regs          []int // with numbers
	buffer, stack bool
	slots         []int // of the stack, set
}

func (f *body) reg() int { return f.regs[f.m.IntN(len(f.regs))] }

func (f *body) statement(loops bool) {
	m := f.m
	switch k := m.IntN(12); {
	case k < 3:
		m.say("r%d %s r%d", f.reg(), []string{"+=", "^=", "-="}[m.IntN(3)], f.reg())
	case k < 5 && f.stack:
		slot := 8 * (1 + m.IntN(6))
		m.say("*(u64 *)(r10 - %d) = r%d", slot, f.reg())
		if loops { // else it may not be set in the end
			f.slots = append(f.slots, slot)
		}
	case k < 6 && len(f.slots) > 0:
		m.say("r%d = *(u64 *)(r10 - %d)", f.reg(), f.slots[m.IntN(len(f.slots))])
	case k < 8 && f.buffer:
		m.say("r5 = r%d\nr5 &= 56\nr4 = r6\nr4 += r5\nr%d += 3\n*(u64 *)(r4 + 0) = r%d\nr3 = *(u32 *)(r4 + 4)\nr0 += r3", f.reg(), f.reg(), f.reg())
	case k < 9:
		m.say("r1 = r%d\ncall 7", f.reg())
	case k < 10 && f.i+1 < f.n && f.buffer:
		m.say("r1 = r6\nr2 = r%d\ncall f%d", f.reg(), f.i+1+m.IntN(f.n-f.i-1))
	case k < 11 && loops && len(f.regs) > 1:
		at := 1 + m.IntN(len(f.regs)-1)
		counter := f.regs[at]
		f.regs = slices.Delete(slices.Clone(f.regs), at, at+1)
		m.labels++
		label := m.labels
		m.say("r%d = %d\nl%d:", counter, 1+m.IntN(5), label)
		for range 1 + m.IntN(4) {
			f.statement(false)
		}
		m.say("r%d += -1\nif r%d != 0 goto l%d", counter, counter, label)
		f.regs = append(f.regs, counter)
	default:
		m.say("r5 = %d ll\nr%d = *(u64 *)(r5 + %d)", m.view, f.reg(), 8*m.IntN(4))
	}
}

// TestFunctionsRandom: functions that leave for Go in all ways do the same on both engines.
func TestFunctionsRandom(t *testing.T) { eachTier(t, testFunctionsRandom) }

func testFunctionsRandom(t *testing.T) {
	for seed := range uint64(400) {
		r := newRig(t)
		view, err := r.mem.Alloc(32, mem.Region{Name: "view", View: &countingView{}})
		require.NoError(t, err)
		buffer, err := r.mem.Alloc(64, mem.Region{Name: "buffer"})
		require.NoError(t, err)
		m := &callMaker{Rand: rand.New(rand.NewPCG(seed, 1)), view: view.Base}
		functions := 1 + m.IntN(4)
		m.say("r6 = r10\n*(u64 *)(r10 - 8) = 77\nr2 = 1\ncall f0\nr1 = r0\ncall 7\nr1 = *(u64 *)(r6 - 8)\nr2 = *(u64 *)(r10 - 8)\nr0 += r1\nr0 ^= r2\nexit")
		for i := range functions {
			m.function(i, functions)
		}
		text, calls := m.String(), uint64(0)
		helper := &vm.Func{Name: "helper", ID: 7, Fn: func(_ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
			if calls++; calls%13 == 0 { // what was known of memory has to be looked at again
				other, err := r.mem.Alloc(16, mem.Region{})
				require.NoError(t, err)
				r.mem.Free(other)
			}
			return args[0]*7 + calls, nil
		}}
		img := lower(t, text, func(int, decode.Insn) (*vm.Func, error) { return helper, nil })
		run := func(th *vm.Thread) []any {
			calls = 0
			clear(r.mem.Bytes(buffer))
			th.Start(img, buffer.Base)
			require.Equal(t, vm.Done, th.Run(1<<20), "%v\n%s", th.Fault(), text)
			return []any{th.Ret(), th.Insns(), slices.Clone(r.mem.Bytes(buffer))}
		}
		want := run(vm.NewThread(r.mem, vm.ThreadConfig{}))
		for range 3 {
			require.Equal(t, want, run(r.thread), "seed %d\n%s", seed, text)
		}
		r.engine.Close()
		r.mem.Close()
	}
}
