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

// Runs that the verifiers of early updates excluded, and those of later ones do not: faults in
// what they derived about numbers.
func TestFollowFindsFaultsThatUpdatesMended(t *testing.T) {
	const ringbuf = "r1 = map_fd(0)\nr2 = 8\nr3 = 0\ncall 131\nr6 = r0\nr6 += 8\nif r0 != 0 goto +2\nr0 = r6\nexit\nr1 = r0\nr2 = 0\ncall 132\nr0 = 0\nexit"
	type at struct {
		insn       int
		r0, r2, r6 uint64
	}
	for _, test := range []struct {
		name, text   string
		before, from int
		run          []at
		wrong        string
	}{
		{"CVE-2021-3490", "call 7\nr2 = r0\nr2 <<= 32\nr2 |= 1\nif w2 < 1 goto +0\nr0 = 0\nexit", 36, 37,
			[]at{{0, 0, 0, 0}, {1, 5, 0, 0}, {2, 5, 5, 0}, {3, 5, 5 << 32, 0}, {4, 5, 5<<32 | 1, 0}},
			"step 4, instruction 4: r2 is 0x500000001, the verifier knows inv(smin=0x8000000000000001,smax=0x7fffffff00000001,umin=smin32=umin32=1,umax=0xffffffff00000001,smax32=umax32=0,var_off=(0x1; 0xffffffff00000000))"},
		{"CVE-2021-31440", "call 5\nif r0 >= 1 goto +1\nexit\nr0 = 0\nexit", 36, 37,
			[]at{{0, 0, 0, 0}, {1, 1 << 32, 0, 0}, {3, 1 << 32, 0, 0}},
			"step 2, instruction 3: r0 is 0x100000000, the verifier knows inv(umin=umin32=1)"},
		{"CVE-2022-23222", ringbuf, 91, 92,
			[]at{{0, 0, 0, 0}, {2, 0, 0, 0}, {3, 0, 8, 0}, {4, 0, 8, 0}, {5, 0, 0, 0}, {6, 0, 0, 0}, {7, 0, 0, 8}, {8, 0, 0, 8}},
			"step 7, instruction 8: r6 is 0x8, the verifier knows 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			insns, err := decode.Assemble(test.text)
			require.NoError(t, err)
			ring := &verifier.Map{Type: uapi.MapTypeRingbuf, MaxEntries: 4096}
			p := &verifier.Program{Name: "p", Type: uapi.ProgTypeSocketFilter, Insns: insns, Refs: map[int]verifier.Ref{0: {Kind: verifier.RefMap, Map: ring}}}
			var steps []verifier.RunStep
			for _, a := range test.run {
				s := verifier.RunStep{Insn: a.insn}
				s.Regs[0], s.Regs[1], s.Regs[2], s.Regs[6], s.Regs[10] = a.r0, 1<<40, a.r2, a.r6, 1<<41
				steps = append(steps, s)
			}
			follow := func(patch int) *verifier.Followed {
				f, err := verifier.Follow(context.Background(), &verifier.Kernel{Release: since.R(5, 10), Patch: patch}, p, steps)
				require.NoError(t, err)
				return f
			}
			f := follow(test.before)
			require.NotNil(t, f.Violation)
			assert.Equal(t, test.wrong, f.Violation.Error())
			assert.Nil(t, follow(test.from).Violation)
		})
	}
}
