package verifier_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// The structural checks round stacks on the same releases as the walk.
func TestStackRoundingBeginsWithTheChecksOwn(t *testing.T) {
	insns, err := decode.Assemble("*(u64 *)(r10 - 488) = 0; call f; exit; f: exit") // 488 + 0 bytes: 496 by 16, 544 by 32
	require.NoError(t, err)
	on := func(r uapi.Release) error {
		return decode.Check(insns, decode.CheckConfig{Kernel: decode.KernelVersion(int(r>>8), int(r&0xff), 0)})
	}
	assert.ErrorIs(t, on(since.StackByJIT.Before()), decode.ErrStackDepth)
	assert.NoError(t, on(since.StackByJIT.From()))
}
