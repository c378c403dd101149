package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWords: where loads of bytes become the load of a number, and from where.
func TestWords(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"two", "r4 = *(u8 *)(r1 + 0)\nr5 = *(u8 *)(r1 + 1)\nr5 <<= 8\nr5 |= r4\nexit", "3: r5 = 2 bytes at r1+0"},
		{"two swapped are left", "r4 = *(u8 *)(r1 + 0)\nr5 = *(u8 *)(r1 + 1)\nr4 <<= 8\nr5 |= r4\nexit", ""},
		{
			"four swapped, as compilers do", "r3 = *(u8 *)(r2 - 1)\nw3 <<= 24\nr4 = *(u8 *)(r2 + 0)\nw4 <<= 16\nw4 |= w3\nr3 = *(u8 *)(r2 + 1)\nw3 <<= 8\nw4 |= w3\nr2 = *(u8 *)(r2 + 2)\nw4 |= w2\nexit",
			"7: r4 = 4 bytes at r2-1 swapped", // later the address is gone
		},
		{"the last byte replaces the address", "r4 = *(u16 *)(r2 + 0)\nr2 = *(u16 *)(r2 + 2)\nr2 <<= 16\nr2 |= r4\nexit", "1: r2 = 4 bytes at r2+0"},
		{"the last byte replaces the address, without a shift", "r4 = *(u32 *)(r2 + 4)\nr4 <<= 32\nr2 = *(u32 *)(r2 + 0)\nr2 |= r4\nexit", "2: r2 = 8 bytes at r2+0"},
		{"the address is replaced, then the register", "r4 = *(u16 *)(r2 + 0)\nr2 = *(u16 *)(r2 + 2)\nr3 = r2\nr2 = 5\nr3 <<= 16\nr4 |= r3\nexit", ""}, // the load at 0 has the check
		{"somebody looks in between", "r4 = *(u16 *)(r2 + 2)\nr4 <<= 16\nr2 = *(u16 *)(r2 + 0)\nr3 = r4\nr4 |= r2\nexit", ""},
		{"code may exit in between", "r4 = *(u16 *)(r2 + 2)\nr4 <<= 16\nr2 = *(u16 *)(r2 + 0)\nr3 = *(u8 *)(r5 + 0)\nr4 |= r2\nexit", ""},

		{
			"four swapped", "r3 = *(u8 *)(r2 - 1)\nw3 <<= 24\nr4 = *(u8 *)(r2 + 0)\nw4 <<= 16\nw4 |= w3\nr3 = *(u8 *)(r2 + 1)\nw3 <<= 8\nw4 |= w3\nr3 = *(u8 *)(r2 + 2)\nw4 |= w3\nexit",
			"9: r4 = 4 bytes at r2-1 swapped",
		},
		{
			"four of an address elsewhere, too", "r2 = r1\nr2 += 8\nr3 = *(u8 *)(r2 + 3)\nr3 <<= 24\nr4 = *(u8 *)(r2 + 2)\nr4 <<= 16\nr4 |= r3\nr3 = *(u8 *)(r2 + 1)\nr3 <<= 8\nr4 |= r3\nr2 = *(u8 *)(r2 + 0)\nr4 |= r2\nexit",
			"11: r4 = 4 bytes at r1+8",
		},
		{"halves", "r4 = *(u16 *)(r1 + 0)\nr5 = *(u16 *)(r1 + 2)\nr5 <<= 16\nr4 |= r5\nexit", "3: r4 = 4 bytes at r1+0"},
		{"words", "r4 = *(u32 *)(r1 + 0)\nr5 = *(u32 *)(r1 + 4)\nr5 <<= 32\nr4 |= r5\nexit", "3: r4 = 8 bytes at r1+0"},
		{"in the stack", "r4 = *(u8 *)(r10 - 7)\nr5 = *(u8 *)(r10 - 6)\nr5 <<= 8\nr4 |= r5\nexit", "3: r4 = 2 bytes at stack-7"},
		{"halves swapped are no number", "r4 = *(u16 *)(r1 + 0)\nr5 = *(u16 *)(r1 + 2)\nr4 <<= 16\nr4 |= r5\nexit", ""},
		{"a gap", "r4 = *(u8 *)(r1 + 0)\nr5 = *(u8 *)(r1 + 2)\nr5 <<= 8\nr4 |= r5\nexit", ""},
		{"zeros between", "r4 = *(u8 *)(r1 + 0)\nr5 = *(u8 *)(r1 + 1)\nr5 <<= 16\nr4 |= r5\nexit", ""},
		{"part of a byte", "r4 = *(u8 *)(r1 + 0)\nr5 = *(u8 *)(r1 + 1)\nr5 <<= 7\nr4 |= r5\nexit", ""},
		{"other objects", "r4 = *(u8 *)(r1 + 0)\nr5 = *(u8 *)(r2 + 1)\nr5 <<= 8\nr4 |= r5\nexit", ""},
		{"a store between", "r4 = *(u8 *)(r1 + 0)\nr5 = *(u8 *)(r1 + 1)\n*(u8 *)(r10 - 1) = 5\nr5 <<= 8\nr4 |= r5\nexit", ""},
		{"a store between the loads", "r4 = *(u8 *)(r1 + 0)\n*(u8 *)(r1 + 0) = 5\nr5 = *(u8 *)(r1 + 1)\nr5 <<= 8\nr4 |= r5\nexit", ""},
		{"the last address was not there before", "r4 = *(u16 *)(r2 + 2)\nr4 <<= 16\nr5 = r2\nr2 = 0\nr5 = *(u16 *)(r5 + 0)\nr4 |= r5\nexit", ""},
		{"the last load is shifted in a copy", "r4 = *(u16 *)(r2 + 0)\nr2 = *(u16 *)(r2 + 2)\nr3 = r2\nr3 <<= 16\nr3 |= r4\nexit", ""},
		{"an atomic operation between", "r4 = *(u8 *)(r1 + 0)\nr5 = *(u8 *)(r1 + 1)\nlock *(u64 *)(r10 - 8) += r4\nr5 <<= 8\nr4 |= r5\nexit", ""},
		{"a call between", "r6 = *(u8 *)(r7 + 0)\nr8 = *(u8 *)(r7 + 1)\ncall 1\nr8 <<= 8\nr6 |= r8\nexit", ""},
		{"signs", "r4 = *(s8 *)(r1 + 0)\nr5 = *(u8 *)(r1 + 1)\nr5 <<= 8\nr4 |= r5\nexit", ""},
		{"bits that 32-bit operations drop", "r4 = *(u32 *)(r1 + 0)\nr5 = *(u32 *)(r1 + 4)\nr5 <<= 32\nw4 |= w5\nexit", ""},
		{"an address changed in between", "r4 = *(u8 *)(r1 + 0)\nr1 += 1\nr5 = *(u8 *)(r1 + 0)\nr5 <<= 8\nr4 |= r5\nexit", "4: r4 = 2 bytes at r1-1"},
		{"another block", "r4 = *(u8 *)(r1 + 0)\nl: r5 = *(u8 *)(r1 + 1)\nr5 <<= 8\nr4 |= r5\nif r4 == 0 goto l\nexit", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := analyse(t, tt.text)
			var got []string
			for pc := range p.Insns {
				in := &p.Insns[pc]
				if in.Kind != KindLoad || in.Op == p.Image.Slot(pc).Op() {
					continue
				}
				at := fmt.Sprintf("r%d%+d", in.Base, in.Off)
				if in.Check == CheckNone {
					at = fmt.Sprintf("stack%+d", in.Off)
				}
				s := fmt.Sprintf("%d: r%d = %d bytes at %s", pc, in.Dst, in.Size, at)
				if in.Has(FlagSwap) {
					s += " swapped"
				}
				got = append(got, s)
				first := slices.IndexFunc(p.Insns, func(in Insn) bool { return in.Kind == KindLoad })
				for i := first + 1; i <= pc; i++ {
					assert.False(t, p.Insns[i].Has(FlagEntry), "entry at %d", i)
				}
			}
			assert.Equal(t, tt.want, strings.Join(got, ", "))
		})
	}
}

// TestCopiesComputeLess: without their checks, copies of loops need neither the addresses of loads
// that can use another register nor what nobody sees.
func TestCopiesComputeLess(t *testing.T) {
	p := analyse(t, `
	r2 = 0
l:	r3 = r1
	r3 += r2
	r4 = r3
	r4 += 40000
	r4 = *(u32 *)(r4 + 4)
	r0 += r4
	r5 = *(u8 *)(r3 + 0)
	r4 = *(u8 *)(r3 + 1)
	r4 <<= 8
	r5 |= r4
	r0 += r5
	r5 = 1
	r4 = 1
	r2 += 1
	if r2 != 100 goto l
	exit`)
	p.Optimise(func(int32) bool { return false }, nil)
	var dead []int32
	for i := p.Len(); i < len(p.Insns); i++ {
		in := &p.Insns[i]
		if in.Has(FlagDead) {
			dead = append(dead, in.Slot)
		}
		if in.Slot == 5 {
			assert.Equal(t, [2]int32{3, 40004}, [2]int32{int32(in.Base), in.Off})
		}
	}
	assert.Equal(t, []int32{3, 4, 7, 8, 9}, dead)
}
