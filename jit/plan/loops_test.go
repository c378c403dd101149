package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestGuards: what the guards of loops check, and which comparisons remain.
func TestGuards(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"counted", "r2 = 0\nl: r3 = r1\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nr2 += 1\nif r2 != 100 goto l\nexit", "r1[0,100)"},
		{"counted by words", "r2 = 0\nl: r3 = r1\nr3 += r2\n*(u64 *)(r3 + 16) = r0\nr2 += 8\nif r2 != 800 goto l\nexit", "r1[16,816) store"},
		{"counted down", "w2 = 8\nl: r3 = r1\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nw2 += -1\nif w2 != 0 goto l\nexit", "r1[1,9)"},
		{"by 32 bits", "w2 = 0\nl: r3 = r1\nr3 += r2\nr0 = *(u16 *)(r3 + 0)\nw2 += 2\nif w2 < 33 goto l\nexit", "r1[0,34)"},
		{"pointer that moves", "r2 = 0\nl: r0 = *(u32 *)(r1 + 4)\nr1 += 12\nr2 += 1\nif r2 < 10 goto l\nexit", "r1[4,116)"},
		{"entered in the middle", "r2 = 5\ngoto m\nl: r2 += 5\nm: r3 = r1\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nif r2 != 50 goto l\nexit", "r1[5,51)"},
		{"scaled", "r2 = 0\nl: r4 = r2\nr4 <<= 3\nr3 = r1\nr3 += r4\nr0 = *(u64 *)(r3 + 0)\nr2 += 1\nif r2 < 16 goto l\nexit", "r1[0,128)"},
		{"masked", "r2 = 0\nl: r4 = r0\nr4 &= 63\nr3 = r1\nr3 += r4\nr0 = *(u8 *)(r3 + 0)\ngoto l", "r1[0,64)"},
		{"extended by shifts", "r2 = 0\nl: r4 = r2\nr4 <<= 32\nr4 >>= 32\nr3 = r1\nr3 += r4\nr0 = *(u8 *)(r3 + 0)\nr2 += 1\nif r2 != 100 goto l\nexit", "r1[0,100)"},
		{"table of bytes", "r0 = 0\nl: r4 = *(u8 *)(r1 + 0)\nr3 = r2\nr3 += r4\nr0 = *(u8 *)(r3 + 0)\ngoto l", "r1[0,1) r2[0,256)"},
		{"two objects", "r2 = 0\nl: r0 = *(u8 *)(r1 + 0)\n*(u8 *)(r6 + 0) = r0\nr1 += 1\nr6 += 1\nr2 += 1\nif r2 != 9 goto l\nexit", "r1[0,9) r6[0,9) store"},
		{"some turns skip", "r2 = 0\nl: if r0 == 0 goto m\nr1 += 1\nm: r0 = *(u8 *)(r1 + 0)\nr2 += 1\nif r2 != 9 goto l\nexit", "r1[0,10)"},
		{"number not known", "r0 = 0\nl: r0 = *(u8 *)(r1 + 0)\nr1 += 1\nr2 += 1\nif r2 != 9 goto l\nexit", ""},
		{"sum in the block before", "r0 = *(u64 *)(r1 + 8)\nl: r3 = r1\nr3 += r2\nr4 = *(u8 *)(r3 + 0)\nif r4 == 0 goto e\n*(u8 *)(r3 + 0) = r0\nr2 += r0\ngoto l\ne: exit", "r1[0,1) store bounds"},
		{"two blocks before", "r0 = *(u64 *)(r1 + 8)\nl: r3 = r1\nr3 += r2\nif r0 == 0 goto m\nr4 += 1\nm: *(u8 *)(r3 + 0) = r0\nr2 += r0\ngoto l\ne: exit", ""},
		{"index not known", "r2 = 0\nr0 = *(u64 *)(r1 + 8)\nl: r3 = r1\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nr2 += r0\ngoto l", "r1[0,1) bounds"},
		{"test not in every turn", "r2 = 0\nl: r0 = *(u8 *)(r1 + 0)\nr1 += 1\nr2 += 1\nif r0 == 7 goto l\nif r2 != 9 goto l\nexit", ""},
		{"test misses the end", "r2 = 0\nl: r0 = *(u8 *)(r1 + 0)\nr1 += 1\nr2 += 2\nif r2 != 9 goto l\nexit", ""},
		{"may wrap", "w2 = -4\nl: r3 = r1\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nw2 += 1\nif w2 != 4 goto l\nexit", "r1[0,1) bounds"},
		{"compared with less than 0", "w2 = 8\nl: r3 = r1\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nw2 += -1\nif w2 s> -1 goto l\nexit", "r1[0,1) bounds"},
		{"always above", "r2 = 8\nl: r3 = r1\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nr2 += -1\nif r2 >= 0 goto l\nexit", "r1[0,1) bounds"},
		{"spill", "r2 = 0\nl: r3 = *(u64 *)(r10 - 8)\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nr2 += 1\nif r2 != 100 goto l\nexit", "stack-8[0,100)"},
		{"spill that a store may change", "r2 = 0\nl: r3 = *(u64 *)(r10 - 8)\nr3 += r2\n*(u8 *)(r3 + 0) = r0\nr2 += 1\nif r2 != 100 goto l\nexit", ""},
		{"spill that changes", "r2 = 0\nl: r3 = *(u64 *)(r10 - 8)\n*(u32 *)(r10 - 4) = r2\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nr2 += 1\nif r2 != 100 goto l\nexit", ""},
		{"loop inside changes the count", "r2 = 0\nl: r3 = r1\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nm: r2 += 1\nr0 += -1\nif r0 != 0 goto m\nif r2 != 100 goto l\nexit", "r1[0,1) bounds"},
		{"call", "r6 = r1\nr7 = 0\nl: r3 = r6\nr3 += r7\nr0 = *(u8 *)(r3 + 0)\ncall f\nr7 += 1\nif r7 != 20 goto l\nexit\nf: r0 = 1\nexit", "r6[0,20)"},
		{"pointer lost by a call", "r6 = r1\nr7 = 0\nl: call 7\nr3 = r6\nr3 += r7\nr0 = *(u8 *)(r3 + 0)\nr7 += 1\nif r7 != 20 goto l\nexit", ""},
		{"two ways in", "if r2 == 0 goto m\nl: r1 += 1\nm: r0 = *(u8 *)(r1 + 0)\nif r0 != 0 goto l\nexit", ""},
		{"at the start of a function", "l: r4 = r0\nr4 &= 63\nr3 = r1\nr3 += r4\nr0 = *(u8 *)(r3 + 0)\ngoto l", ""},
		{"far apart", "r2 = 0\nl: r0 = *(u8 *)(r1 + 0)\nr3 = r1\nr3 += 2000000\nr0 = *(u8 *)(r3 + 0)\nr2 += 1\nif r2 != 2 goto l\nexit", "r1[0,1)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := analyse(t, tt.text)
			p.Optimise(func(int32) bool { return false }, nil)
			var got []string
			for i := range p.Insns {
				in := &p.Insns[i]
				if in.Kind != KindGuard {
					continue
				}
				base := fmt.Sprintf("r%d", in.Base)
				if in.Base == NoBase {
					base = fmt.Sprintf("stack%d", in.Off)
				}
				s := fmt.Sprintf("%s[%d,%d)", base, in.Lo, in.Hi)
				if in.Has(FlagRangeStore) {
					s += " store"
				}
				if in.Has(FlagBound) {
					s += " bounds"
				}
				got = append(got, s)
				assert.Less(t, int(in.Target), p.Len())
			}
			assert.Equal(t, tt.want, strings.Join(got, " "))
			for i := p.Len(); i < len(p.Insns); i++ {
				in := &p.Insns[i]
				assert.False(t, in.Has(FlagEntry))
				assert.Less(t, int(in.Target), len(p.Insns))
			}
		})
	}
}

// TestShortLoopsHaveNoGuards of their own if a profile tells.
func TestShortLoopsHaveNoGuards(t *testing.T) {
	const text = "r2 = 0\nl: r3 = r1\nr3 += r2\nr0 = *(u8 *)(r3 + 0)\nr2 += 1\nif r2 != 100 goto l\nexit"
	for _, tt := range []struct {
		entered, turns uint32
		want           bool
	}{{10, 1000, true}, {10, 40, true}, {10, 39, false}, {10, 10, false}, {0, 0, true}} {
		p := analyse(t, text)
		by := &Profile{Seen: make([]uint32, p.Len()+1), Taken: make([]uint32, p.Len()+1)}
		by.Seen[0] = tt.entered
		for pc := 1; pc < 6; pc++ {
			by.Seen[pc] = tt.turns
		}
		by.Taken[5] = tt.turns - tt.entered
		p.Optimise(func(int32) bool { return false }, by)
		assert.Equal(t, tt.want, len(p.Insns) > p.Len(), "%+v", tt)
	}
}

// TestSelectsAndRemainders: which branches and divisions are marked.
func TestSelectsAndRemainders(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		flag       Flag
		want       int
	}{
		{"skips a copy", "l: if r1 > 5 goto m\nr2 = r3\nm: r0 += r2\ngoto l", FlagSelect, 1},
		{"skips an addition, both go back", "l: r0 += 1\nif w1 != w2 goto l\nw1 += 1\ngoto l", FlagSelect, 1},
		{"skips two", "l: if r1 > 5 goto m\nr2 = r3\nr3 = r4\nm: r0 += r2\ngoto l", FlagSelect, 0},
		{"skips a load", "l: if r1 > 5 goto m\nr2 = *(u8 *)(r4 + 0)\nm: r0 += r2\ngoto l", FlagSelect, 0},
		{"skipped is entered", "l: if r1 > 5 goto m\nn: r2 = r3\nm: r0 += r2\nif r0 == 9 goto n\ngoto l", FlagSelect, 0},
		{"go apart", "l: if r1 > 5 goto m\nr2 = r3\ngoto l\nm: r0 += r2\ngoto l", FlagSelect, 0},
		{"common bits", "l: if r1 & 5 goto m\nr2 = r3\nm: r0 += r2\ngoto l", FlagSelect, 0},
		{"frame pointer", "l: if r1 > 5 goto m\nr2 = r10\nm: r0 += r2\ngoto l", FlagSelect, 0},
		{"remainder", "l: r3 = r1\nr3 /= r2\nr3 *= r2\nr1 -= r3\ngoto l", FlagRemainder, 1},
		{"remainder elsewhere", "l: w3 = w1\nw3 /= w2\nw3 *= w2\nw4 = w1\nw4 -= w3\ngoto l", FlagRemainder, 1},
		{"other widths", "l: r3 = r1\nw3 /= w2\nr3 *= r2\nr1 -= r3\ngoto l", FlagRemainder, 0},
		{"another divisor", "l: r3 = r1\nr3 /= r2\nr3 *= r4\nr1 -= r3\ngoto l", FlagRemainder, 0},
		{"divided by the same", "l: r3 = r1\nr3 /= r1\nr3 *= r1\nr1 -= r3\ngoto l", FlagRemainder, 0},
		{"a jump leads inside", "l: r3 = r1\nm: r3 /= r2\nr3 *= r2\nr1 -= r3\nif r1 > 8 goto m\ngoto l", FlagRemainder, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := analyse(t, tt.text)
			p.Optimise(func(int32) bool { return true }, nil)
			n := 0
			for i := range p.Insns[:p.Len()] {
				if in := &p.Insns[i]; in.Has(tt.flag) {
					n++
					for _, behind := range p.Insns[i+1 : i+1+int(in.Size)] {
						assert.False(t, behind.Has(FlagEntry))
					}
				}
			}
			assert.Equal(t, tt.want, n)
		})
	}
}
