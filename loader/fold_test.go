package loader

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/isa/reference"
	"github.com/bpfrun/bpfrun/decode"
)

// TestFoldedValuesAreThoseOfExecution: constant propagation decides branches as an execution does, for every operation, both
// widths, and the edges of their operands. What it folds otherwise makes instructions dead that are executed.
func TestFoldedValuesAreThoseOfExecution(t *testing.T) {
	edges := []uint64{0, 1, 2, 7, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, math.MaxInt32, 1 << 31, math.MaxUint32, 1 << 32, math.MaxInt64, 1 << 63, math.MaxUint64, ^uint64(15), 0x8000_0000_8000_0000}
	lp := func(insns []decode.Insn) *LinkedProgram {
		return &LinkedProgram{Program: &Program{}, Insns: insns, linked: &Linked{Object: &Object{ByteOrder: binary.LittleEndian}}}
	}
	folded := 0
	for _, op := range strings.Fields("+= -= *= /= %= s/= s%= |= &= ^= <<= >>= s>>=") {
		for _, reg := range []string{"r", "w"} {
			for _, a := range edges {
				for _, b := range edges {
					text := fmt.Sprintf("r1 = %#x ll; r2 = %#x ll; %s1 %s %s2", a, b, reg, op, reg)
					insns, err := decode.Assemble(text + "; r0 = r1; exit")
					require.NoError(t, err, text)
					ran := reference.Machine{Insns: insns, Limit: 100}
					want, fault := ran.Run()
					require.Nil(t, fault, text)
					insns, err = decode.Assemble(fmt.Sprintf("%s; r3 = %#x ll; if r1 == r3 goto +1; r0 = 1; r0 = 2; exit", text, want))
					require.NoError(t, err, text)
					reach := lp(insns).Reachable()
					taken, other := len(insns)-2, len(insns)-3
					if !reach[taken] {
						t.Fatalf("%s gives %#x: folded to something else", text, want)
					}
					if !reach[other] {
						folded++
					}
				}
			}
		}
	}
	assert.Equal(t, 13*2*len(edges)*len(edges), folded, "everything constant is folded")
}
