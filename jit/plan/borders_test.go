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

// TestWhichAccessesAreAligned: loads that acquire and stores that release, of all sizes.
func TestWhichAccessesAreAligned(t *testing.T) {
	aligned := map[decode.Op]bool{
		decode.OpLoadAcqB: true, decode.OpLoadAcqH: true, decode.OpLoadAcqW: true, decode.OpLoadAcqDW: true,
		decode.OpStoreRelB: true, decode.OpStoreRelH: true, decode.OpStoreRelW: true, decode.OpStoreRelDW: true,
	}
	for op := range decode.NumOps {
		assert.Equal(t, aligned[op], acquires(op), "%v", op)
	}
}

// TestWhichLookupsAreMadeByCode: those whose distances between elements, and between the CPUs'
// copies, fit into a constant of generated code.
func TestWhichLookupsAreMadeByCode(t *testing.T) {
	const most = maxStride
	for _, tt := range []struct {
		stride, perCPU uint64
		ok             bool
	}{{8, 0, true}, {most, 0, true}, {most + 1, 0, false}, {8, most, true}, {8, most + 1, false}} {
		array := &vm.Inline{Array: func(uint64) (vm.Array, bool) { return vm.Array{Stride: tt.stride, CPUStride: tt.perCPU, CPUs: 2}, true }}
		for _, key := range []int{0, 1, MaxKey, MaxKey + 1} {
			hash := &vm.Inline{Hash: func(uint64) (vm.Hash, bool) {
				return vm.Hash{Stride: tt.stride, CPUStride: tt.perCPU, CPUs: 2, KeySize: key}, true
			}}
			p := &Program{}
			assert.Equal(t, tt.ok && key > 0 && key <= MaxKey, p.lookup(&Insn{}, &Inline{}, hash, 1), "%+v with a key of %d", tt, key)
		}
		p := &Program{}
		assert.Equal(t, tt.ok, p.lookup(&Insn{}, &Inline{}, array, 1), "%+v", tt)
		if tt.ok && tt.perCPU != 0 {
			assert.Equal(t, 2, p.CPUs)
		}
	}
	assert.False(t, (&Program{}).lookup(&Insn{}, &Inline{}, &vm.Inline{}, 1))
	assert.False(t, (&Program{}).lookup(&Insn{}, &Inline{}, &vm.Inline{Hash: func(uint64) (vm.Hash, bool) { return vm.Hash{KeySize: 4}, false }}, 1))
}

// TestOperandsOfSums: a sum that an access uses begins as a copy of one of two registers, of which
// the one that the loop does not write is the base.
func TestOperandsOfSums(t *testing.T) {
	for _, tt := range []struct {
		text    string
		pc      int32
		written uint16
		base    int8
		index   uint8
		ok      bool
	}{
		{"r3 = r1\nr3 += r2", 1, 1<<3 | 1<<2, 1, 2, true},
		{"r3 = r1\nr3 += r2", 1, 1<<3 | 1<<1, 2, 1, true},
		{"r3 = r1\nr3 += r2", 1, 1 << 3, 1, 2, true},
		{"r3 = r1\nr3 += r2", 1, 1<<3 | 1<<2 | 1<<1, 0, 0, false},
		{"r4 = r1\nr3 += r2", 1, 1<<3 | 1<<2, 0, 0, false},
		{"r3 = r10\nr3 += r2", 1, 1<<3 | 1<<2, 0, 0, false},
		{"r3 = 5\nr3 += r2", 1, 1<<3 | 1<<2, 0, 0, false},
		{"w3 = w1\nr3 += r2", 1, 1<<3 | 1<<2, 0, 0, false},
		{"r3 = r3\nr3 += r2", 1, 1 << 2, 0, 0, false},
		{"r3 += r2", 0, 1<<3 | 1<<2, 0, 0, false},
	} {
		p := analyse(t, tt.text+"\nr0 = *(u8 *)(r3 + 0)\nr0 += r4\nexit")
		p.loop.l = &loop{written: tt.written}
		base, index, ok := p.operands(tt.pc)
		assert.Equal(t, tt.ok, ok, "%q", tt.text)
		assert.Equal(t, tt.base, base, "%q", tt.text)
		assert.Equal(t, tt.index, index, "%q", tt.text)
	}
}

// TestKnownResults: what is computed of numbers that are known is known, whichever of the operands
// the operation has.
func TestKnownResults(t *testing.T) {
	n := 0
	for op := range decode.NumOps {
		o := &operations[op]
		want, ok := op.Compute(7, 3)
		if !ok {
			continue
		}
		n++
		got, known := o.exact(op, constant(7), constant(3))
		assert.True(t, known, "%v", op)
		assert.Equal(t, int64(want), got, "%v", op)
		_, known = o.exact(op, unbounded, constant(3))
		assert.Equal(t, o.move, known, "%v of anything", op)
		_, known = o.exact(op, constant(7), unbounded)
		assert.Equal(t, o.one && !o.move, known, "%v with anything", op)
		_, known = o.exact(op, between(number, 7, 8), between(number, 3, 4))
		assert.False(t, known, "%v of two numbers", op)
	}
	assert.Greater(t, n, 40)
}
