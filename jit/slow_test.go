package jit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCompileTimeIsLinear: what takes longer with the square of a program's length would take minutes here.
func TestCompileTimeIsLinear(t *testing.T) {
	const n = 400_000
	for name, text := range map[string]func(b *strings.Builder){
		"pointers made long ago": func(b *strings.Builder) {
			b.WriteString("r2 = r1\n")
			for i := range n / 2 {
				fmt.Fprintf(b, "r0 = *(u8 *)(r2 + %d)\nr0 = *(u8 *)(r1 + %d)\n", i%300*100, i%300*100)
			}
		},
		"a pointer to the stack that moves": func(b *strings.Builder) {
			b.WriteString("r2 = r10\nr2 += -16\n")
			for range n / 4 {
				b.WriteString("r2 += 8\n*(u8 *)(r2 + 0) = 1\nr2 += -8\n*(u8 *)(r2 + 0) = 1\n")
			}
		},
		"loops in loops": func(b *strings.Builder) {
			const depth = 480
			for j := range n / (2 * depth) {
				for i := range depth {
					fmt.Fprintf(b, "l%d_%d: r0 += 1\n", j, i)
				}
				b.WriteString("r1 = *(u64 *)(r1 + 0)\n")
				for i := range depth {
					fmt.Fprintf(b, "if r0 == 5 goto l%d_%d\n", j, depth-1-i)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			text(&b)
			img := lower(t, b.String()+"exit", nil)
			start := time.Now()
			_, err := Compile(img, nil, true, nil)
			require.NoError(t, err)
			assert.Less(t, time.Since(start), 20*time.Second)
		})
	}
}
