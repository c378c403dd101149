package verifier_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

func TestStatesAtAnInstruction(t *testing.T) {
	l := linkAll(t, embeddedTarget(t), "../../testdata/objects/clang-22/faults.o")
	lp, ok := l.Program("err_map_value_end")
	require.True(t, ok)
	p, err := verifier.FromLinked(l, lp)
	require.NoError(t, err)
	k := verifier.KernelOf(l.Target)
	s, err := verifier.StatesAt(context.Background(), k, p, 10, 4) // r0 += r1
	require.NoError(t, err)
	assert.Equal(t, verifier.Refused, s.Verdict.Outcome)
	assert.Equal(t, 1, s.Visits)
	require.Len(t, s.List, 1)
	v := &s.List[0]
	assert.Equal(t, "map_value(map=values,ks=4,vs=32)", v.Regs[0].Text)
	assert.Equal(t, "32", v.Regs[1].Text)
	assert.Empty(t, v.Regs[2].Text, "the call cleared it")
	assert.True(t, v.Holds(map[int]uint64{0: 0xffff888000001000, 1: 32}))
	assert.False(t, v.Holds(map[int]uint64{1: 31}))

	s, err = verifier.StatesAt(context.Background(), k, p, 12, 4) // after the refusal
	require.NoError(t, err)
	assert.Zero(t, s.Visits)
}

func TestBoundsHoldWhatIsInAllOfThem(t *testing.T) {
	b := num.Unbounded
	assert.True(t, b.Holds(0))
	assert.True(t, b.Holds(1<<64-1))
	b.UMin, b.UMax = 4, 9
	for v, want := range map[uint64]bool{3: false, 4: true, 9: true, 10: false} {
		assert.Equal(t, want, b.Holds(v), v)
	}
	b = num.Unbounded
	b.Var = num.Tnum{Value: 2, Mask: ^uint64(3)}
	assert.True(t, b.Holds(6))
	assert.False(t, b.Holds(7))
	b = num.Unbounded
	b.Low.SMin = 0
	assert.False(t, b.Holds(0x80000000))
	assert.True(t, b.Holds(1<<40))
}
