package isa

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/isa/generate"
)

// TestDifferential compares interpreter and reference on generated programs.
func TestDifferential(t *testing.T) {
	count := uint64(20_000)
	if testing.Short() {
		count = 2_000
	}
	for _, tt := range []struct {
		name string
		cfg  generate.Config
	}{
		{"all", generate.Config{}},
		{"kernel", generate.Config{Kernel: true, Version: RecordedKernel}},
	} {
		t.Run(tt.name, func(t *testing.T) {
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

// TestNativeCoverage: native code records the same instructions as executed as the interpreter, of programs that end well and of others.
func TestNativeCoverage(t *testing.T) {
	modes := NativeModes()
	if len(modes) == len(Modes) {
		t.Skip("no native code on this system")
	}
	interp, err := NewInterpreter(Modes[4])
	require.NoError(t, err)
	defer interp.Close()
	native, err := NewInterpreter(modes[len(modes)-1])
	require.NoError(t, err)
	defer native.Close()
	require.True(t, interp.Mode.Cover && native.Mode.Cover && native.Mode.JIT)
	for i := range uint64(2000) {
		c := generate.New(5, generate.Config{Runs: 2}).Case(i)
		if i%2 == 0 {
			mutate(c)
		}
		if !fuzzable(c.Insns) {
			continue
		}
		p := &Program{Name: c.Name(), Insns: c.Insns, Packet: c.Packet}
		require.NoError(t, interp.Load(p))
		require.NoError(t, native.Load(p))
		for j := range c.Inputs {
			in := Value(c.Inputs[j])
			want, got := interp.Run(&in), native.Run(&in)
			require.Empty(t, Diff(&want, &got), Listing(p.Insns))
			require.Equal(t, interp.Insns(), native.Insns())
			require.Equal(t, interp.thread.Patches().Coverage(interp.img), native.thread.Patches().Coverage(native.img), "%+v\n%s", want, Listing(p.Insns))
		}
	}
	require.NotZero(t, native.engine.Executed())
}
