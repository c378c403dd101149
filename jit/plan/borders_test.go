package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// TestOneGuardCoversWhatOneCheckCan: bounds share a guard while the bytes around their base fit
// into one check.
func TestOneGuardCoversWhatOneCheckCan(t *testing.T) {
	for _, tt := range []struct {
		lo, hi int64 // of the second access, the first is of the bytes 0 to 8
		ok     bool
	}{
		{8, 16, true}, {maxRange - 8, maxRange, true}, {maxRange - 7, maxRange + 1, false}, {maxRange, maxRange + 8, false},
		{8 - maxRange, 0, true}, {7 - maxRange, 0, false},
	} {
		p := &Program{}
		l := &loop{}
		p.loop.l = l
		require.True(t, p.bound(bound{pc: 1, index: 2}, guard{base: 3, lo: 0, hi: 8, bounds: true}))
		assert.Equal(t, tt.ok, p.bound(bound{pc: 4, index: 5}, guard{base: 3, lo: tt.lo, hi: tt.hi, store: true, bounds: true}), "%d to %d", tt.lo, tt.hi)
		require.Len(t, l.guards, 1)
		assert.Equal(t, tt.ok, len(l.bounds) == 2)
		assert.Equal(t, tt.ok, l.guards[0].store)
		assert.LessOrEqual(t, l.guards[0].hi-l.guards[0].lo, int64(maxRange))
	}
}

// TestWhichLoadsAreOfContextWords: loads of four bytes through the context at a multiple of four
// where the context has a word.
func TestWhichLoadsAreOfContextWords(t *testing.T) {
	var word uint64
	words := []*uint64{0: nil, 1: &word, 2: &word, 3: nil}
	for off, want := range map[int16]bool{-4: false, 0: false, 1: false, 3: false, 4: true, 5: false, 6: false, 7: false, 8: true, 9: false, 10: false, 12: false, 16: false} {
		insns := []decode.Insn{decode.OpLdxW.Encode(0, 1, off, 0), {Code: 0x95}}
		img, err := vm.Lower(vm.LowerConfig{Insns: insns})
		require.NoError(t, err)
		in := New(img, words, nil).Insns[0]
		assert.Equal(t, want, in.Has(FlagWord), off)
	}
}
