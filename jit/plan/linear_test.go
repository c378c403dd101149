package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatIsLookedAtIsBounded: for each access slots are closed back to where its base was made,
// and loops are in loops; time must not grow with the square of a program's length by either.
func TestWhatIsLookedAtIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		check               [2]Check // of the last slot but exit, with little and with much in between
	}{
		{"bases that differ by a constant", "r2 = r1", "r3 = *(u8 *)(r1 + 0)\nr3 = *(u8 *)(r2 + 1)", [2]Check{CheckDone, CheckRange}},
		{"a pointer to the stack", "r2 = r10", "*(u8 *)(r2 - 8) = 1", [2]Check{CheckNone, CheckRange}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, between := range []int{maxCover - 8, maxCover + 8} {
				p := analyse(t, tt.before+"\n"+strings.Repeat("r0 += 1\n", between)+tt.after+"\nexit")
				assert.Equal(t, tt.check[i], p.Insns[p.Len()-2].Check)
			}
		})
	}
	t.Run("loops in loops", func(t *testing.T) {
		const depth = 300
		var b strings.Builder
		for i := range depth {
			fmt.Fprintf(&b, "l%d: r0 += 1\n", i)
		}
		b.WriteString("r1 = *(u64 *)(r1 + 0)\n")
		for i := range depth {
			fmt.Fprintf(&b, "if r0 == 5 goto l%d\n", depth-1-i)
		}
		p := analyse(t, b.String()+"exit")
		p.Optimise(func(int32) bool { return false }, nil)
		looked := 0
		for i := range p.loop.loops {
			looked += len(p.loop.loops[i].body)
		}
		require.NotZero(t, looked)
		assert.LessOrEqual(t, looked, (maxNested+1)*len(p.blocks))
	})
}
