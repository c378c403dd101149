package generate

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
)

// TestDeterministic: seed, index and configuration determine a program; other seeds make others.
func TestDeterministic(t *testing.T) {
	for i := range uint64(200) {
		a, b := New(5, Config{}).Case(i), New(5, Config{}).Case(i)
		assert.Equal(t, a, b)
		assert.NotEqual(t, a.Insns, New(6, Config{}).Case(i).Insns)
		assert.Len(t, a.Inputs, 4)
	}
	assert.Equal(t, "g5-7", New(5, Config{}).Case(7).Name())
	assert.Equal(t, "g5-form-7", New(5, Config{Only: Form}).Case(7).Name())
}

// TestStructurallyValid: all programs pass the load checks of the kernel they are for.
func TestStructurallyValid(t *testing.T) {
	for _, cfg := range []Config{
		{}, {Small: true}, {Kernel: true}, {Only: Form}, {Only: Sequence}, {Only: Random},
		{Only: Walk}, {Only: Walk, Kernel: true, Version: decode.KernelVersion(5, 10, 0)},
		{Kernel: true, Version: decode.KernelVersion(6, 18, 0)}, {Kernel: true, Version: decode.KernelVersion(5, 10, 0)},
	} {
		g := New(8, cfg)
		for i := range uint64(1500) {
			c := g.Case(i)
			err := decode.Check(c.Insns, decode.CheckConfig{Kernel: cfg.Version})
			require.NoError(t, err, "%+v %s:\n%s", cfg, c.Name(), decode.DisassembleAll(c.Insns, nil))
		}
	}
}

// TestRecursion: programs of that kind call themselves, and nothing else is wrong with them.
func TestRecursion(t *testing.T) {
	g := New(8, Config{Only: Recursion})
	recursive := 0
	for i := range uint64(1500) {
		c := g.Case(i)
		err := decode.Check(c.Insns, decode.CheckConfig{})
		if errors.Is(err, decode.ErrCallDepth) {
			recursive++
			continue
		}
		require.NoError(t, err, decode.DisassembleAll(c.Insns, nil))
	}
	assert.Greater(t, recursive, 500)
}

// TestVersions: a program for an old kernel has only instructions that it knows.
func TestVersions(t *testing.T) {
	v := decode.KernelVersion(5, 10, 0)
	g := New(1, Config{Kernel: true, Version: v})
	assert.NotEmpty(t, g.Missing(decode.OpSDiv64Reg))
	assert.NotEmpty(t, g.Missing(decode.OpAtomicFetchAddDW))
	assert.Empty(t, g.Missing(decode.OpAtomicAddDW))
	assert.Less(t, len(g.Forms()), len(New(1, Config{}).Forms()))
}

// TestKinds: every kind has its share, and all forms and sequences come up.
func TestKinds(t *testing.T) {
	g := New(2, Config{})
	count := map[string]int{}
	forms := map[string]bool{}
	n := uint64(6 * len(sequences()))
	for i := range n {
		c := g.Case(i)
		count[c.Cat]++
		forms[c.Form] = true
	}
	assert.EqualValues(t, n/2, count[Random])
	assert.EqualValues(t, n/3, count[Form])
	assert.EqualValues(t, n/6, count[Sequence])
	for _, seq := range sequences() {
		assert.True(t, forms[sequenceName(seq)], sequenceName(seq))
	}
	for _, op := range g.Forms() {
		assert.True(t, forms[op.String()], op.String())
	}
}
