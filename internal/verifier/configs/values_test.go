package configs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

// The least value is that which counting from the range's start finds first.
func TestLeastValue(t *testing.T) {
	const most = 32
	for value := range uint64(most) {
		for mask := range uint64(most) {
			for lo := range uint64(most) {
				for hi := lo; hi < most; hi += 3 {
					v := Values{lo, hi, num.Tnum{Value: value &^ mask, Mask: mask}}
					want, found := uint64(0), false
					for x := lo; x <= hi && !found; x++ {
						want, found = x, v.Holds(x)
					}
					got, ok := v.least()
					if assert.Equal(t, found, ok, "%+v", v); ok {
						assert.Equal(t, want, got, "%+v", v)
					}
				}
			}
		}
	}
	top := Values{1 << 63, ^uint64(0), num.Tnum{Value: 5, Mask: ^uint64(7)}}
	x, ok := top.least()
	assert.True(t, ok)
	assert.Equal(t, uint64(1)<<63|5, x)
}

// What configurations reach is narrowed while passes and work are left.
func TestNarrowingIsLimited(t *testing.T) {
	insns, err := decode.Assemble("r0 = 0\nexit")
	require.NoError(t, err)
	for _, c := range []struct{ most, passes, work, want int }{
		{1, 100, 0, 3}, {1, 100, maxWork - 1, 3}, {1, 100, maxWork, 0}, {1, 100, maxWork + 1, 0}, {1, 3, 0, 3}, {1, 2, 0, 0}, {0, 100, 0, 0},
	} {
		e := &explorer{
			ctx: t.Context(), k: &verifier.Kernel{Release: since.R(6, 12)}, p: &verifier.Program{Type: uapi.ProgTypeSocketFilter, License: "GPL", Insns: insns},
			constants: []Constant{{Map: "m", Name: "c", Size: 4, Max: 7 * uint64(c.most)}}, byPlace: map[place]int{}, scanned: map[[2]int]bool{}, work: c.work,
			compares: map[int][]compare{0: {{op: decode.OpJeq64Imm, imm: 3, view: view{mask: 1<<32 - 1}}}},
			r:        &Result{Read: []int{0}, Reached: []bool{true, true}},
		}
		require.NoError(t, e.reach(c.passes))
		assert.Equal(t, c.want, e.r.Passes, "%+v", c)
	}
}
