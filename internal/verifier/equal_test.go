package verifier

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
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

// Registers that stand for the same object have the same reference, too (regs_exact).
func TestReferencesOfExactRegisters(t *testing.T) {
	pointer := func(id, ref uint32) *reg { return &reg{value: value{typ: ptrBTF}, id: id, ref: ref} }
	for _, c := range []struct {
		name   string
		o, c   *reg
		before [2]uint32 // identities of another register
		want   bool
	}{
		{"the same", pointer(0, 2), pointer(0, 2), [2]uint32{}, true},
		{"other numbers", pointer(1, 2), pointer(3, 4), [2]uint32{}, true},
		{"a reference now", pointer(0, 0), pointer(0, 4), [2]uint32{}, false},
		{"none now", pointer(0, 2), pointer(0, 0), [2]uint32{}, false},
		{"an identity now", pointer(0, 2), pointer(1, 2), [2]uint32{}, false},
		{"that of another register", pointer(0, 2), pointer(0, 4), [2]uint32{3, 4}, false},
		{"no longer that of another register", pointer(0, 2), pointer(0, 4), [2]uint32{2, 5}, false},
	} {
		p := &explorerOn(since.R(6, 12)).checkpoints
		p.idmap.reset(100)
		p.idmap.same(c.before[0], c.before[1])
		assert.Equal(t, c.want, p.exactRegs(c.o, c.c), c.name)
	}
}

// A number that is linked to another one by a constant is like another one with the same constant
// only (regsafe).
func TestLinkedNumbersAreLikeLinkedOnes(t *testing.T) {
	number := func(id uint32, off int32) *reg {
		r := numberIn(0, 7)
		r.id, r.off, r.precise = id, off, true
		return &r
	}
	const sum = addConst64
	for _, c := range []struct {
		name   string
		o, c   *reg
		before bool // before 7.0, where numbers without an identity were like none with one
		want   bool
	}{
		{"neither", number(0, 0), number(0, 0), true, true},
		{"both", number(1|sum, 4), number(2|sum, 4), true, true},
		{"by another constant", number(1|sum, 4), number(2|sum, 5), false, false},
		{"only before", number(1|sum, 4), number(2, 0), false, false},
		{"only now", number(1, 0), number(2|sum, 4), false, false},
		{"an old one without links", number(0, 0), number(2|sum, 4), true, true},
	} {
		for _, release := range []uapi.Release{since.R(6, 12), since.R(7, 0)} {
			p := &explorerOn(release).checkpoints
			p.idmap.reset(100)
			want := c.want
			if release == since.R(6, 12) {
				want = c.before
			}
			assert.Equal(t, want, p.safeScalar(c.o, c.c, rangeWithin), "%v: %s", release, c.name)
		}
	}
}

// States that are to be exactly alike have the same kind of bytes in every slot, whether something
// reads them or not (stacksafe).
func TestSlotsOfExactStates(t *testing.T) {
	for _, c := range []struct {
		name         string
		kept, now    []*slot
		exact, loose bool
	}{
		{"the same", []*slot{bytesOf(slotMisc)}, []*slot{bytesOf(slotMisc)}, true, true},
		{"unread zeros", []*slot{bytesOf(slotMisc)}, []*slot{bytesOf(slotZero)}, false, true},
		{"unread and not there", []*slot{bytesOf(slotMisc)}, nil, false, true},
		{"unset and not there", []*slot{bytesOf(slotInvalid)}, nil, false, true},
		{"not there before", nil, []*slot{bytesOf(slotMisc)}, true, true},
		{"dead, which is as unset", []*slot{bytesOf(slotPoison)}, []*slot{bytesOf(slotInvalid)}, true, true},
	} {
		p := &explorerOn(since.R(6, 12)).checkpoints
		of := func(slots []*slot) *frame { return &frame{stack: slots, uses: make([]uint8, len(slots))} }
		p.idmap.reset(100)
		assert.Equal(t, c.exact, p.safeStack(of(c.kept), of(c.now), exact), c.name)
		p.idmap.reset(100)
		assert.Equal(t, c.loose, p.safeStack(of(c.kept), of(c.now), notExact), c.name)
	}
}
