package arm64

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// TestConditionalBranchesReach: programs of fewer slots than are thought to be long can take more
// code than conditional branches reach.
func TestConditionalBranchesReach(t *testing.T) {
	insns, err := decode.Assemble(strings.Repeat("call f\n", 16300) + "exit\nf: r6 = 0\nr7 = 0\nr8 = 0\nr9 = 0\nmay_goto g\ng: exit")
	require.NoError(t, err)
	img, err := vm.Lower(vm.LowerConfig{Insns: insns})
	require.NoError(t, err)
	p := plan.New(img, nil, nil)
	var out plan.Code
	out.Reset(len(p.Insns))
	require.NoError(t, Compile(p, plan.Target{Base: 1 << 63, StateDelta: -1 << 14}, &out))
	require.Greater(t, len(out.Text), 1<<20)
	outside := 0
	for at := 0; at < len(out.Text); at += 4 {
		v := binary.LittleEndian.Uint32(out.Text[at:])
		if v&0xff000010 != opBcond {
			continue
		}
		to := at + int(int32(v<<8)>>13)*4
		if to < 0 || to >= len(out.Text) {
			outside++
		}
	}
	assert.Zero(t, outside, "branches that lead out of the code")
}
