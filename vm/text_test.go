package vm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
)

// TestAddressesOfPrograms: each slot has an address of its own, which leads to it for as long as its
// program is there.
func TestAddressesOfPrograms(t *testing.T) {
	program := func(x *Text, n int, replaces *Image) *Image {
		img, err := Lower(LowerConfig{Insns: append(slices.Repeat([]decode.Insn{movImm(0, 1)}, n-1), exitInsn), Text: x, Replaces: replaces})
		require.NoError(t, err)
		return img
	}
	resolves := func(x *Text, img *Image) {
		t.Helper()
		for pc := range img.Len() {
			got, at, ok := x.Resolve(img.FuncAddr(pc))
			require.True(t, ok, "slot %d", pc)
			assert.Same(t, img, got)
			assert.Equal(t, pc, at)
			for _, inside := range []uint64{1, slotSize - 1} {
				_, _, ok = x.Resolve(img.FuncAddr(pc) + inside)
				assert.False(t, ok, "slot %d plus %d", pc, inside)
			}
		}
		behind, _, _ := x.Resolve(img.FuncAddr(img.Len()))
		assert.NotSame(t, img, behind, "behind the program")
	}
	gone := func(x *Text, img *Image) {
		t.Helper()
		_, _, ok := x.Resolve(img.FuncAddr(0))
		assert.False(t, ok)
	}

	for base, want := range map[uint64]uint64{0: DefaultTextBase, 0x1000: 0x1000} {
		x := NewText(base)
		lo, hi := x.Range()
		assert.Equal(t, []uint64{want, want}, []uint64{lo, hi}, "nothing is there")
		_, _, ok := x.Resolve(want)
		assert.False(t, ok)
		page, more, last := program(x, 512, nil), program(x, 513, nil), program(x, 1, nil)
		lo, hi = x.Range()
		assert.Equal(t, []uint64{want, want + 4*4096}, []uint64{lo, hi}, "of one page, two and one")
		for _, img := range []*Image{page, more, last} {
			resolves(x, img)
		}
		_, _, ok = x.Resolve(want - 1)
		assert.False(t, ok)
		_, _, ok = x.Resolve(hi)
		assert.False(t, ok)
	}

	x := NewText(0)
	first, second, third := program(x, 3, nil), program(x, 3, nil), program(x, 3, nil)
	_, end := x.Range()
	again := program(x, 3, second)
	assert.Equal(t, second.FuncAddr(1), again.FuncAddr(1), "the same program again is where it was")
	longer := program(x, 4, again)
	assert.NotEqual(t, again.FuncAddr(0), longer.FuncAddr(0), "one of another size is not")
	stranger := program(NewText(0x1000), 3, nil)
	assert.Equal(t, end+4096, program(x, 3, stranger).FuncAddr(0), "nor one whose place is elsewhere")
	for _, img := range []*Image{first, again, third, longer} {
		resolves(x, img)
	}

	// A program that cannot run takes no addresses, and leaves what it was to replace.
	_, end = x.Range()
	bad := []decode.Insn{ja(7), movImm(0, 1), exitInsn}
	for _, replaces := range []*Image{nil, third} {
		_, err := Lower(LowerConfig{Insns: bad, Text: x, Replaces: replaces})
		require.Error(t, err)
		_, now := x.Range()
		assert.Equal(t, end, now)
		resolves(x, third)
	}
	assert.Equal(t, end, program(x, 1, nil).FuncAddr(0))

	// Of removed programs nothing is left, and the others stay, however many are removed.
	x.Remove(stranger)
	var all []*Image
	for range 9 {
		all = append(all, program(x, 2, nil))
	}
	for i, img := range all {
		x.Remove(img)
		x.Remove(img)
		for j, other := range all {
			if j <= i {
				gone(x, other)
			} else {
				resolves(x, other)
			}
		}
		resolves(x, first)
	}
}
