package border

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
)

// Every program has valid opcodes, jumps inside itself, and references to maps that it has.
func TestProgramsAreWellFormed(t *testing.T) {
	for n := range uint64(2000) {
		l := Program(7, n)
		insns, err := l.Generated.Insns()
		require.NoError(t, err)
		for pc := 0; pc < len(insns); pc += max(insns[pc].Len(), 1) {
			in := insns[pc]
			require.NotEqual(t, decode.OpInvalid, in.Op(), "%s: instruction %d: %v", l.Program, pc, in)
			if to, ok := in.Target(pc); ok {
				require.True(t, to >= 0 && to < len(insns), "%s: instruction %d jumps to %d of %d", l.Program, pc, to, len(insns))
			}
			if in.IsLdImm64() && (in.Src == decode.PseudoMapFD || in.Src == decode.PseudoMapValue) {
				require.True(t, in.Imm >= 0 && int(in.Imm) < len(l.Generated.Maps), l.Program)
			}
		}
	}
}

func TestProgramIsDeterminedBySeedAndNumber(t *testing.T) {
	text := func(seed, n uint64) string {
		out, err := json.Marshal(Program(seed, n))
		require.NoError(t, err)
		return string(out)
	}
	assert.Equal(t, text(1, 5), text(1, 5))
	assert.NotEqual(t, text(1, 5), text(1, 6))
	assert.NotEqual(t, text(1, 5), text(2, 5))
}
