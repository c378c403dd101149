package verifier

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Slices of two dynptrs are alike from 7.2 on, if what else is known of the dynptrs is: before, only
// those of the very same dynptr were.
func TestSlicesOfDynptrsAreAlikeFrom72On(t *testing.T) {
	slice := func(dynptr uint32) *reg { return &reg{value: value{typ: ptrMem, mem: 8, dyn: dynptr}, id: dynptr + 1} }
	for release, want := range map[uapi.Release]bool{uapi.R(7, 1): false, uapi.R(7, 2): true} {
		e := newExplorer(context.Background(), &Kernel{Release: release}, &Program{Type: uapi.ProgTypeXDP, Insns: []decode.Insn{{Code: 0x95}}}, Options{})
		p := &e.checkpoints
		for _, x := range []exactness{notExact, exact} {
			p.idmap.reset(100)
			assert.Equal(t, want, p.safeRead(slice(10), slice(20), x), "%v", release)
			assert.False(t, p.safeRead(slice(10), slice(30), x), "%v: one dynptr is not two", release)
		}
		p.idmap.reset(100)
		assert.True(t, p.safeRead(slice(10), slice(10), notExact), "%v", release)
		p.idmap.reset(100)
		assert.False(t, p.safeRead(slice(10), slice(0), notExact), "%v: of no dynptr", release)
	}
}

// From 7.0 on a number that has another identity only is not widened in a loop.
func TestNumbersAreWidenedByValueFrom70On(t *testing.T) {
	number := func(id uint32, most uint64) *reg {
		r := &reg{id: id}
		r.unknown()
		r.id, r.UMax = id, most
		return r
	}
	for release, want := range map[uapi.Release]bool{uapi.R(6, 19): true, uapi.R(7, 0): false} {
		e := newExplorer(context.Background(), &Kernel{Release: release}, &Program{Type: uapi.ProgTypeXDP, Insns: []decode.Insn{{Code: 0x95}}}, Options{})
		p := &e.checkpoints
		p.idmap.reset(100)
		assert.Equal(t, want, p.widens(number(1, 9), number(0, 9)), "%v: another identity", release)
		assert.True(t, p.widens(number(0, 9), number(0, 10)), "%v: another value", release)
		assert.False(t, p.widens(number(0, 9), number(0, 9)), "%v: no change", release)
	}
}
