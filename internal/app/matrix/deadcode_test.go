package matrix

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// TestTheVerdictAlone: the loader's checks refuse programs only where the verifier has no verdict.
// In dead code it accepts another type's helper, a sleeping one, one that the licence forbids, a
// kfunc, a helper for other maps, and one that no kernel has.
func TestTheVerdictAlone(t *testing.T) {
	objects := open(t, "testdata/objects/clang-14/deadcode.o", "testdata/objects/clang-14/deadlicence.o")
	for _, unverified := range []bool{false, true} {
		m, err := Run(t.Context(), objects, kernels(k72), Config{Parallel: 1, Unverified: unverified})
		require.NoError(t, err)
		static := 0
		for _, r := range m.Rows {
			c, bad := r.Cells[0], strings.HasPrefix(r.Program, "err_")
			switch {
			case !unverified:
				assert.Equal(t, bad, c.Load != LoadOK, "%s: %s", r.Program, c.Detail)
				assert.Equal(t, bad, c.Verdict.Outcome == verifier.Refused, r.Program)
				assert.Equal(t, !bad, c.Result == RunOK, "%s: %s", r.Program, c.Detail)
			case c.Load != LoadOK:
				static++
			}
		}
		if unverified {
			assert.Greater(t, static, 6, "programs that the loader's checks refuse")
		}
	}
}

// TestRefusalDecides: what a verdict, or its absence, makes of the loader's objection, for every
// program of the objects.
func TestRefusalDecides(t *testing.T) {
	for _, o := range open(t, "testdata/objects/clang-14/deadcode.o", "testdata/objects/clang-14/deadlicence.o") {
		target, err := kernels(k72)[0].Open()
		require.NoError(t, err)
		l, err := o.Load(target, loader.LoadOptions{})
		require.NoError(t, err)
		m, err := machine.New(l, machine.Config{})
		require.NoError(t, err)
		defer m.Close()
		for _, lp := range l.Programs {
			assert.Nil(t, lp.Refusal(loader.Verified{Decided: true, Insn: -1}), "%s: accepted", lp.Name)
			assert.ErrorIs(t, lp.Refusal(loader.Verified{Decided: true, Insn: -1, Refusal: assert.AnError}), expected(lp), "%s: refused elsewhere", lp.Name)
			status, why := m.ProgramStatus(lp.Name)
			if lp.Static == nil {
				assert.NoError(t, lp.Refusal(loader.Verified{}), lp.Name)
				continue
			}
			assert.Equal(t, machine.StatusRefused, status, lp.Name)
			assert.Equal(t, error(lp.Static), why, lp.Name)
			assert.Equal(t, why, lp.Refusal(loader.Verified{Decided: true, Insn: lp.Static.Insn, Refusal: assert.AnError}), "%s: refused there", lp.Name)
		}
	}
}

// expected is the reason to report for a program that is refused for another instruction.
func expected(lp *loader.LinkedProgram) error {
	if lp.Static != nil && strings.Contains(lp.Static.Error(), loader.ErrUnknownToTarget.Error()) {
		return lp.Static
	}
	return assert.AnError
}

// TestMissingFieldsAreExplainedOnce: a refusal at an instruction whose field is missing is not
// explained as one of the verifier's.
func TestMissingFieldsAreExplainedOnce(t *testing.T) {
	target, err := kernels(k72)[0].Open()
	require.NoError(t, err)
	l, err := open(t, "testdata/objects/clang-14/missing.o")[0].Load(target, loader.LoadOptions{})
	require.NoError(t, err)
	seen := 0
	for _, lp := range l.Programs {
		for _, poison := range lp.PoisonVerdicts() {
			if !poison.Reloc.Poisoned() || lp.Static != nil {
				continue
			}
			seen++
			for insn, want := range map[int]string{poison.Insn: "", poison.Insn + 1: "the verifier refuses it: "} {
				c := &Cell{}
				c.verified(lp, &verifier.Verdict{Outcome: verifier.Refused, Insn: insn, Message: "no"})
				assert.Equal(t, LoadRefused, c.Load)
				assert.Equal(t, want != "", strings.HasPrefix(c.Detail, "the verifier refuses it: "), c.Detail)
			}
		}
	}
	assert.NotZero(t, seen)
}
