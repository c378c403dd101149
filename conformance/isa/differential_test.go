package isa

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/isa/generate"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/vm"
)

// TestDifferential compares interpreter and reference on generated programs.
func TestDifferential(t *testing.T) {
	// Loops take long for what one more of them shows; bpfrun conformance generate makes as many as
	// one likes.
	for _, tt := range []struct {
		name  string
		count uint64
		cfg   generate.Config
	}{
		{"all", 20_000, generate.Config{}},
		{"kernel", 10_000, generate.Config{Kernel: true, Version: RecordedKernel}},
		{"walks", 6_000, generate.Config{Only: generate.Walk}},
		{"recursion", 4_000, generate.Config{Only: generate.Recursion}},
	} {
		count := tt.count / testsize.Pick[uint64](1, 8, 10)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := Differential(context.Background(), DifferentialConfig{Seed: 1, Count: count, Generate: tt.cfg})
			require.NoError(t, err)
			for _, d := range r.Disagreements {
				t.Error(d.Text)
			}
			assert.Zero(t, r.Disagreeing)
			assert.Equal(t, count, r.Programs)
			assert.Equal(t, 4*count, r.Runs)
			t.Log(r.Summary())
		})
	}
}

// TestBigEndianDifferential compares all modes of the interpreter for big-endian programs with the
// reference.
func TestBigEndianDifferential(t *testing.T) {
	for _, tt := range []struct {
		name  string
		count uint64
		cfg   generate.Config
		alter bool
	}{
		{"all", 8_000, generate.Config{}, false},
		{"walks", 2_000, generate.Config{Only: generate.Walk}, false},
		{"recursion", 1_000, generate.Config{Only: generate.Recursion}, false},
		{"mutants", 4_000, generate.Config{}, true},
	} {
		count := tt.count / testsize.Pick[uint64](1, 8, 10)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := Differential(context.Background(), DifferentialConfig{Seed: 7, Count: count, Generate: tt.cfg, Modes: BigModes, Mutate: tt.alter})
			require.NoError(t, err)
			for _, d := range r.Disagreements {
				t.Error(d.Text)
			}
			assert.Zero(t, r.Disagreeing)
			assert.Equal(t, count, r.Programs)
			t.Log(r.Summary())
		})
	}
}

// TestBigEndianReference: the reference evaluator and all modes agree on instructions whose results
// are known to depend on the byte order.
func TestBigEndianReference(t *testing.T) {
	for _, tt := range []struct {
		name        string
		insn        decode.Insn
		little, big uint64
	}{
		{"be16", decode.OpBE16.Encode(0, 0, 0, 0), 0x8877, 0x7788},
		{"le32", decode.OpLE32.Encode(0, 0, 0, 0), 0x55667788, 0x88776655},
		{"be64", decode.OpBE64.Encode(0, 0, 0, 0), 0x8877665544332211, 0x1122334455667788},
		{"bswap32", decode.OpBswap32.Encode(0, 0, 0, 0), 0x88776655, 0x88776655},
		{"the first byte of a number", decode.OpLdxB.Encode(0, 10, -8, 0), 0x88, 0x11},
		{"its first half", decode.OpLdxW.Encode(0, 10, -8, 0), 0x55667788, 0x11223344},
		{"its last two bytes, signed", decode.OpLdxSH.Encode(0, 10, -2, 0), 0x1122, 0x7788},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Program{Insns: []decode.Insn{
				{Code: 0x18, Imm: 0x55667788}, {Imm: 0x11223344}, // r0 = 0x1122334455667788
				decode.OpStxDW.Encode(10, 0, -8, 0), tt.insn, decode.OpExit.Encode(0, 0, 0, 0),
			}}
			for _, mode := range slices.Concat(Modes, BigModes) {
				it, err := NewInterpreter(mode)
				require.NoError(t, err)
				defer it.Close()
				layout, err := it.Layout()
				require.NoError(t, err)
				ref := NewReference(layout)
				for _, r := range []Runner{it, ref} {
					require.NoError(t, r.Load(p))
					out := r.Run(&Value{})
					assert.Equal(t, map[bool]uint64{false: tt.little, true: tt.big}[mode.Big], out.Ret, "%s %s", mode.Name, r.Name())
				}
			}
		})
	}
}

// TestNativeCoverage: native code records the same instructions as executed and the same ways of
// branches as the interpreter, of programs that end well and of others, whether or not what earlier
// runs executed is forgotten.
func TestNativeCoverage(t *testing.T) {
	if len(NativeModes()) == len(Modes) {
		t.Skip("no native code on this system")
	}
	interp, err := NewInterpreter(Modes[4])
	require.NoError(t, err)
	defer interp.Close()
	require.True(t, interp.Mode.Cover)
	interp.Limit = fuzzLimit
	for _, mode := range JITModes {
		if !mode.Cover {
			continue
		}
		for _, only := range []string{"", generate.Walk, generate.Recursion} {
			t.Run(mode.Name+only, func(t *testing.T) { nativeCoverage(t, interp, mode, generate.Config{Runs: 2, Only: only}) })
		}
	}
}

func nativeCoverage(t *testing.T, interp *Interpreter, mode Mode, cfg generate.Config) {
	native, err := NewInterpreter(mode)
	require.NoError(t, err)
	defer native.Close()
	native.Limit = fuzzLimit
	for i := range testsize.Pick[uint64](1000, 100, 100) {
		c := generate.New(5, cfg).Case(i)
		if i%4 < 2 {
			mutate(c)
		}
		if !fuzzable(c.Insns) {
			continue
		}
		p := &Program{Name: c.Name(), Insns: c.Insns, Packet: c.Packet}
		require.NoError(t, interp.Load(p))
		require.NoError(t, native.Load(p))
		for j := range c.Inputs {
			for range 2 {
				in := Value(c.Inputs[j])
				want, got := interp.Run(&in), native.Run(&in)
				require.Empty(t, Diff(&want, &got), Listing(p.Insns))
				require.Equal(t, interp.Insns(), native.Insns())
				seen, seenNative := interp.recorded(), native.recorded()
				require.Equal(t, seen, seenNative, "%+v\n%s", want, Listing(p.Insns))
				if i%2 == 0 {
					interp.thread.Patches().Restore(&vm.CoverSnapshot{})
					native.thread.Patches().Restore(&vm.CoverSnapshot{})
				}
			}
		}
	}
	require.NotZero(t, native.engine.Executed())
}

// covered is the coverage of a program.
type covered struct {
	slots []uint64
	ways  [][2]bool // by slot, that a branch was taken, and that it was not
}

func (it *Interpreter) recorded() covered {
	p := it.thread.Patches()
	c := covered{slots: p.Coverage(it.img)}
	for pc := range it.img.Len() {
		c.ways = append(c.ways, [2]bool{p.Gone(it.img, pc, vm.Taken), p.Gone(it.img, pc, vm.Fell)})
	}
	return c
}
