package verifier_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// States that differ in few stack slots share the others, and what is computed before exploration
// does not grow with each instruction times the depth of the stack.
func TestMemoryOfStatesAndAnalysis(t *testing.T) {
	var branches strings.Builder
	branches.WriteString("r6 = *(u32 *)(r1 + 0)\n")
	for i := range 64 {
		fmt.Fprintf(&branches, "*(u64 *)(r10 - %d) = r6\n", i*8+8)
	}
	for i := range 10_000 {
		fmt.Fprintf(&branches, "r3 = *(u64 *)(r10 - %d)\nif r3 > %d goto +1\nr7 = 1\n", i%64*8+8, i)
	}
	branches.WriteString("r0 = 0\n")
	for i := range 64 {
		fmt.Fprintf(&branches, "r3 = *(u64 *)(r10 - %d)\nr0 += r3\n", i*8+8)
	}
	branches.WriteString("r0 = 0\nexit\n")

	var calls strings.Builder // of functions with pointers to the stack
	calls.WriteString("r7 = 0\n*(u64 *)(r10 - 8) = r7\n*(u64 *)(r10 - 16) = r7\n")
	for i := range 2000 {
		fmt.Fprintf(&calls, "r1 = r10\nr1 += -%d\ncall f%d\n%s", 8+i%2*8, i%4, strings.Repeat("r7 += 1\n", 40))
	}
	calls.WriteString("r0 = 0\nexit\n")
	for i := range 4 {
		fmt.Fprintf(&calls, "f%d:\nr2 = *(u64 *)(r1 + 0)\n%s*(u64 *)(r1 + 0) = r2\nr0 = 0\nexit\n", i, strings.Repeat("r2 += 1\n", 100))
	}

	for _, test := range []struct {
		name, text string
		release    since.Release
		want       verifier.Outcome
		most       uint64 // MB
	}{
		{"branches", branches.String(), since.R(5, 10), verifier.Refused, 70}, // too many jumps wait
		{"branches", branches.String(), since.R(6, 12), verifier.Refused, 70},
		{"branches", branches.String(), since.R(6, 18), verifier.Refused, 70},
		// A fill gives its slot an identity (since.FillIDs), so that fewer states are alike: it has a
		// million instructions there.
		{"branches", branches.String(), since.R(7, 2), verifier.Refused, 230},
		{"calls", calls.String(), since.R(7, 2), verifier.Accepted, 110},
	} {
		if test.most > 200 && !testsize.Wide() {
			continue // takes seconds
		}
		insns, err := decode.Assemble(test.text)
		require.NoError(t, err)
		p := &verifier.Program{Name: "p", Type: uapi.ProgTypeSocketFilter, Insns: insns}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := verifier.Verify(context.Background(), &verifier.Kernel{Release: test.release}, p, verifier.Options{})
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Equal(t, test.want, v.Outcome, v.Message)
		used := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%s on %s: %d MB for %d instructions, %d states", test.name, test.release, used, v.ProcessedInsns, v.TotalStates)
		assert.Less(t, used, test.most, "%s on %s", test.name, test.release)
	}
}
