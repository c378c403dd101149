package verifier_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// A program with many chains of calls to a long function costs bounded memory, and each instruction
// still counts once.
func TestCostsOfManyChainsOfCalls(t *testing.T) {
	const outer, inner, long = 300, 60, 3000
	var b strings.Builder
	for range outer {
		b.WriteString("r1 = 0\ncall g\n")
	}
	b.WriteString("r0 = 0\nexit\ng:\n")
	for range inner {
		b.WriteString("r1 = 0\ncall f\n")
	}
	fmt.Fprintf(&b, "r0 = 0\nexit\nf:\nr0 = 0\nif r1 == 0 goto end\n%send: exit\n", strings.Repeat("r0 += 1\n", long))
	insns, err := decode.Assemble(b.String())
	require.NoError(t, err)
	p := &verifier.Program{Name: "p", Type: uapi.ProgTypeSocketFilter, Insns: insns}
	costs := &verifier.Costs{}
	v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: since.R(6, 12)}, p, verifier.Options{Costs: costs})
	require.NoError(t, err)
	require.Equal(t, verifier.Accepted, v.Outcome, v.Message)
	require.Greater(t, v.ProcessedInsns, 3*outer*inner)
	numbers, sum := 0, 0
	for _, c := range costs.Calls {
		numbers += len(c.Insns) + len(c.States)
		for _, n := range c.Insns {
			sum += n
		}
	}
	assert.Equal(t, v.ProcessedInsns, sum)
	assert.Greater(t, numbers, 1<<23)
	assert.Less(t, numbers, 1<<25)
}
