package jit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/vm"
)

// rig is a memory with an engine and a thread.
type rig struct {
	mem    *mem.Memory
	engine *Engine
	thread *vm.Thread
}

// tiers are when engines of tests optimise loops, see SetEager: as usual, which few tests run for
// long enough for; at the first run; and soon after it began.
var tiers = []struct {
	name  string
	eager int
}{{"usual", -1}, {"optimised", 0}, {"soon", 1}}

// tier is what newRig gives SetEager, negative for nothing. It is eachTier's.
var tier = -1

// eachTier runs a test on engines of all tiers.
func eachTier(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	defer func() { tier = -1 }()
	for _, tt := range tiers {
		tier = tt.eager
		t.Run(tt.name, test)
	}
}

func newRig(t testing.TB) *rig {
	t.Helper()
	if !Supported() {
		t.Skip("no native code on this system")
	}
	m, err := mem.New(mem.Config{Size: 16 << 20})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	e, err := New(m)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	if tier >= 0 {
		e.SetEager(tier)
	}
	th := vm.NewThread(m, vm.ThreadConfig{})
	th.SetEngine(e)
	return &rig{m, e, th}
}

func lower(t testing.TB, text string, call func(pc int, in decode.Insn) (*vm.Func, error)) *vm.Image {
	t.Helper()
	insns, err := decode.Assemble(text)
	require.NoError(t, err)
	img, err := vm.Lower(vm.LowerConfig{Name: t.Name(), Insns: insns, Fuse: true, Call: call})
	require.NoError(t, err)
	return img
}

func TestPrograms(t *testing.T) { eachTier(t, testPrograms) }

func testPrograms(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		ret, insns uint64
	}{
		{"constant", "r0 = 42\nexit", 42, 2},
		{"sum of a loop", "r0 = 0\nr1 = 10\nl: r0 += r1\nr1 += -1\nif r1 != 0 goto l\nexit", 55, 33},
		{"stack", "*(u64 *)(r10 - 8) = 7\nr2 = r10\nr2 += -16\n*(u32 *)(r2 + 0) = 5\nr0 = *(u64 *)(r10 - 8)\nr1 = *(u32 *)(r2 + 0)\nr0 += r1\nexit", 12, 8},
		{"call", "r6 = 1\nr1 = 20\ncall f\nr0 += r6\nexit\nf: r6 = r1\nr0 = r6\nr0 += r6\nexit", 41, 9},
		{"calls in a loop", "r6 = 100\nr7 = 0\nl: r1 = r6\ncall f\nr7 += r0\nr6 += -1\nif r6 != 0 goto l\nr0 = r7\nexit\nf: r0 = r1\nif r0 s> 50 goto g\nr0 = 1\ng: exit", 50*1 + (51+100)*50/2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			img := lower(t, tt.text, nil)
			for range 3 {
				r.thread.Start(img)
				require.Equal(t, vm.Done, r.thread.Run(1<<30), "%v", r.thread.Fault())
				assert.Equal(t, tt.ret, r.thread.Ret())
				if tt.insns != 0 {
					assert.Equal(t, tt.insns, r.thread.Insns())
				}
			}
		})
	}
}
