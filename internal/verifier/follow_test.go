package verifier_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// A run is compared with the states of the path that it took: each value, and each branch.
func TestFollowComparesRunsWithStates(t *testing.T) {
	const text = "r6 = *(u32 *)(r1 + 0)\nr6 &= 7\nr7 = r6\nif r6 > 3 goto +2\nr0 = 1\nexit\nr0 = 0\nif r7 < 2 goto +1\nexit\nexit"
	insns, err := decode.Assemble(text)
	require.NoError(t, err)
	p := &verifier.Program{Name: "p", Type: uapi.ProgTypeSocketFilter, Insns: insns}
	type at struct {
		insn   int
		r6, r7 uint64
	}
	for _, test := range []struct {
		name  string
		run   []at
		wrong string
	}{
		{"as it should be", []at{{0, 0, 0}, {1, 0xff05, 0}, {2, 5, 0}, {3, 5, 5}, {6, 5, 5}, {7, 5, 5}, {8, 5, 5}}, ""},
		{"a value out of bounds", []at{{0, 0, 0}, {1, 0xff05, 0}, {2, 9, 0}}, "step 2, instruction 2: r6 is 0x9, the verifier knows scalar(smin=smin32=0,smax=umax=smax32=umax32=7,var_off=(0x0; 0x7))"},
		{"a value that the branch excludes", []at{{0, 0, 0}, {1, 3, 0}, {2, 3, 0}, {3, 3, 3}, {6, 3, 3}}, "step 4, instruction 6: r6 is 0x3, the verifier knows scalar(id=1,smin=umin=smin32=umin32=4,smax=umax=smax32=umax32=7,var_off=(0x4; 0x3))"},
		{"a branch that cannot be taken", []at{{0, 0, 0}, {1, 5, 0}, {2, 5, 0}, {3, 5, 5}, {6, 5, 5}, {7, 5, 5}, {9, 5, 5}}, "step 6: the run got to instruction 9, which the verifier excludes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var steps []verifier.RunStep
			for _, a := range test.run {
				s := verifier.RunStep{Insn: a.insn}
				s.Regs[1], s.Regs[6], s.Regs[7], s.Regs[10] = 1<<40, a.r6, a.r7, 1<<41
				if a.insn >= 7 {
					s.Regs[0] = 0
				}
				steps = append(steps, s)
			}
			f, err := verifier.Follow(context.Background(), &verifier.Kernel{Release: since.R(6, 18)}, p, steps)
			require.NoError(t, err)
			assert.Empty(t, f.Stopped)
			if test.wrong == "" {
				require.Nil(t, f.Violation)
				assert.Equal(t, len(steps), f.Steps)
				return
			}
			require.NotNil(t, f.Violation)
			assert.Equal(t, test.wrong, f.Violation.Error())
		})
	}
}
