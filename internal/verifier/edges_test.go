package verifier

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// explorerOn is a verification that has not begun, with the rules of a release.
func explorerOn(release uapi.Release) *explorer {
	return newExplorer(context.Background(), &Kernel{Release: release}, &Program{Type: uapi.ProgTypeXDP, Insns: []decode.Insn{{Code: 0x95}}}, Options{})
}

// begin gives a verification an empty state.
func (e *explorer) begin() *state {
	e.cur = stateAt(0)
	return e.cur
}

// stateAt is a state with one frame at an instruction.
func stateAt(insn int) *state {
	s := &state{insn: insn}
	s.frames[0] = &frame{callsite: mainFunc}
	for i := range s.frames[0].regs {
		s.frames[0].regs[i].notInit()
	}
	return s
}

// refusedWith returns the refusal that a check ends with, or none.
func (e *explorer) refusedWith(t *testing.T, check func()) (id refusal.ID) {
	t.Helper()
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case refused:
			id = e.refusal
		default:
			panic(r)
		}
	}()
	check()
	return refusal.None
}

func numberIn(low, high uint64) reg {
	var r reg
	r.unknown()
	r.UMin, r.UMax, r.SMin, r.SMax = low, high, int64(low), int64(high)
	return r
}

// Words of struct bpf_tcp_sock are read whole, and its two counters of eight bytes are
// (bpf_tcp_sock_is_valid_access).
func TestFieldsOfTCPSockets(t *testing.T) {
	e := explorerOn(since.R(6, 12))
	for _, c := range []struct {
		off, size int
		want      bool
	}{
		{-4, 4, false}, {0, 4, true}, {0, 8, false}, {0, 2, false}, {2, 4, false}, {76, 4, true}, {72, 8, false},
		{80, 8, true}, {80, 4, false}, {88, 8, true}, {88, 4, false}, {92, 4, false}, {84, 4, false},
		{96, 4, true}, {96, 8, false}, {112, 8, false}, {116, 4, true}, {120, 4, false},
	} {
		assert.Equal(t, c.want, e.contexts.sockAccess(ptrTCPSock, c.off, c.size), "%d bytes at %d", c.size, c.off)
	}
	for _, c := range []struct {
		off, size int
		want      bool
	}{{-4, 4, false}, {0, 4, true}, {0, 8, false}, {4, 4, false}, {2, 4, false}, {0, 2, false}} {
		assert.Equal(t, c.want, e.contexts.sockAccess(ptrXDPSock, c.off, c.size), "struct bpf_xdp_sock: %d bytes at %d", c.size, c.off)
	}
}

// A number whose bits are known and whose range is another one cannot be (adjust_scalar_min_max_vals).
func TestBrokenConstants(t *testing.T) {
	seven := func() *reg { return &reg{value: value{typ: scalar, Bounds: num.Exactly(7)}} }
	for _, c := range []struct {
		name         string
		change       func(r *reg)
		alu64, alu32 bool
	}{
		{"a constant", func(r *reg) {}, false, false},
		{"a range", func(r *reg) { *r = numberIn(0, 7) }, false, false},
		{"a known value, signed range", func(r *reg) { r.SMin = 6 }, true, false},
		{"a known value, unsigned range", func(r *reg) { r.UMax = 8 }, true, false},
		{"a known word, signed range", func(r *reg) { r.Low.SMin = 6 }, false, true},
		{"a known word, unsigned range", func(r *reg) { r.Low.UMax = 8 }, false, true},
		{"no signed value", func(r *reg) { *r = numberIn(0, 7); r.SMin, r.SMax = 1, 0 }, true, false},
		{"no unsigned value", func(r *reg) { *r = numberIn(0, 7); r.UMin, r.UMax = 1, 0 }, true, false},
		{"no signed word", func(r *reg) { *r = numberIn(0, 7); r.Low.SMin, r.Low.SMax = 1, 0 }, false, true},
		{"no unsigned word", func(r *reg) { *r = numberIn(0, 7); r.Low.UMin, r.Low.UMax = 1, 0 }, false, true},
	} {
		r := seven()
		c.change(r)
		assert.Equal(t, c.alu64, brokenConst(r, true), "%s, 64 bits", c.name)
		assert.Equal(t, c.alu32, brokenConst(r, false), "%s, 32 bits", c.name)
	}
}

// A register has room for one added constant, of 32 bits (adjust_reg_min_max_vals).
func TestSumsThatStayLinked(t *testing.T) {
	const id = 5
	add := &decode.Insn{Code: 0x07}
	for _, c := range []struct {
		release  uapi.Release
		id       uint32
		constant int64
		op       uint8
		want     uint32 // the id
		off      int32
	}{
		{since.R(6, 12), id, 1, opAdd, id | addConst64, 1},
		{since.R(6, 12), id, math.MaxInt32, opAdd, id | addConst64, math.MaxInt32},
		{since.R(6, 12), id, math.MaxInt32 + 1, opAdd, 0, 0},
		{since.R(6, 12), id, -1, opAdd, 0, 0},
		{since.R(6, 12), id | addConst64, 1, opAdd, 0, 0},
		{since.R(6, 12), id, 1, opSub, 0, 0},
		{since.R(6, 12), 0, 1, opAdd, 0, 0},
		{since.R(7, 0), id, math.MaxInt32, opAdd, id | addConst64, math.MaxInt32},
		{since.R(7, 0), id, math.MaxInt32 + 1, opAdd, 0, 0},
		{since.R(7, 0), id, math.MinInt32, opAdd, id | addConst64, math.MinInt32},
		{since.R(7, 0), id, math.MinInt32 - 1, opAdd, 0, 0},
		{since.R(7, 0), id, math.MaxInt32, opSub, id | addConst64, -math.MaxInt32},
		{since.R(7, 0), id, math.MinInt32, opSub, 0, 0},
		{since.R(7, 0), id | addConst64, 1, opAdd, 0, 0},
	} {
		e := explorerOn(c.release)
		d := numberIn(0, 7)
		d.id = c.id
		s := &reg{value: value{typ: scalar, Bounds: num.Exactly(uint64(c.constant))}}
		e.values.linkSum(add, &d, s, c.op, true, false)
		assert.Equal(t, c.want, d.id, "%v: %d", c.release, c.constant)
		if c.want != 0 {
			assert.Equal(t, c.off, d.off, "%v: %d", c.release, c.constant)
		}
	}
}

// The elements that a register may point to have numbers of 32 bits (indirect_jump_min_max_index).
func TestJumpTablesAreIndexedWith32Bits(t *testing.T) {
	const most = math.MaxUint32 * 8
	for _, release := range []uapi.Release{since.R(6, 19), since.R(7, 1)} {
		for _, c := range []struct {
			low, high uint64
			off       int32
			lo, hi    uint64
			bad       bool
		}{
			{0, most, 0, 0, math.MaxUint32, false},
			{most, most, 0, math.MaxUint32, math.MaxUint32, false},
			{0, most + 1, 0, 0, 0, true},
			{most + 1, most + 1, 0, 0, 0, true},
			{0, most - 8, 8, 1, math.MaxUint32, false},
			{0, most, 8, 0, 0, true},
			{16, 24, -8, 1, 2, false},
		} {
			e := explorerOn(release)
			r := numberIn(c.low, c.high)
			r.typ, r.off = ptrInsn, c.off
			if e.has(since.OffsetInBounds) {
				r = numberIn(c.low+uint64(int64(c.off)), c.high+uint64(int64(c.off)))
				r.typ = ptrInsn
			}
			var lo, hi uint64
			bad := e.refusedWith(t, func() { lo, hi = e.conditions.jumpTableRange(1, &r) })
			assert.Equal(t, c.bad, bad != refusal.None, "%v: %+v", release, c)
			assert.Equal(t, [2]uint64{c.lo, c.hi}, [2]uint64{lo, hi}, "%v: %+v", release, c)
		}
	}
}

// A pointer beyond the largest packet has wrapped, and says nothing (find_good_pkt_pointers).
func TestPacketsHave64KiB(t *testing.T) {
	for _, release := range []uapi.Release{since.R(6, 12), since.R(7, 0)} {
		for _, c := range []struct {
			unknown uint64 // the largest unknown part
			off     int32
			open    bool
			want    int32
		}{
			{0, 14, false, 14}, {0, 0, false, 0}, {0, 0, true, 0}, {0, -1, false, 0}, {0, maxPacketOff, false, maxPacketOff}, {0, maxPacketOff + 1, false, 0},
			{maxPacketOff, 0, false, 0}, {maxPacketOff - 1, 1, false, 1}, {maxPacketOff, 1, false, 0}, {maxPacketOff + 1, 1, false, 0},
			{7, 14, false, 14}, {7, maxPacketOff - 7, false, maxPacketOff - 7}, {7, maxPacketOff - 6, false, 0},
		} {
			e := explorerOn(release)
			s := e.begin()
			p := numberIn(0, c.unknown)
			if c.unknown == 0 {
				p.Bounds = num.Exactly(0)
			}
			p.typ, p.off, p.id = ptrPacket, c.off, 3
			s.regs()[1], s.regs()[2] = p, p
			s.regs()[2].id = 4
			e.conditions.goodPacket(s, &p, c.open)
			assert.Equal(t, c.want, s.regs()[1].rng, "%v: %+v", release, c)
			assert.Zero(t, s.regs()[2].rng, "another unknown part")
		}
	}
}

// The packet begins where the metadata ends, and only its very beginning says so.
func TestWhereMetadataEnds(t *testing.T) {
	for _, c := range []struct {
		typ  regType
		off  int32
		want int32
	}{{ptrPacket, 0, 8}, {ptrPacket, 4, 0}, {ptrPacketMeta, 0, 0}, {ptrMapValue, 0, 0}} {
		e := explorerOn(since.R(6, 12))
		s := e.begin()
		other := stateAt(0)
		meta, end := &s.regs()[1], &s.regs()[2]
		meta.pointer(ptrPacketMeta)
		meta.off = 8
		end.pointer(c.typ)
		end.off = c.off
		other.frames[0].regs = s.frames[0].regs
		e.conditions.packetCompare(&decode.Insn{Dst: 1, Src: 2}, meta, end, other, num.Gt)
		assert.Equal(t, c.want, s.regs()[1].rng, "%+v", c)
		s.regs()[1].rng = 0
		e.conditions.packetCompare(&decode.Insn{Dst: 2, Src: 1}, end, meta, other, num.Lt)
		assert.Equal(t, c.want, s.regs()[1].rng, "%+v, the other way round", c)
	}
}

// Locks were one of a state, and are counted from the release on that allows several.
func TestWhatHoldsALock(t *testing.T) {
	for _, c := range []struct {
		release uapi.Release
		lock    lockKey
		locks   int
		want    bool
	}{
		{since.R(6, 13), lockKey{}, 0, false}, {since.R(6, 13), lockKey{mapp: 1}, 0, true}, {since.R(6, 13), lockKey{spec: 1}, 0, true},
		{since.R(6, 14), lockKey{}, 0, false}, {since.R(6, 14), lockKey{}, 1, true}, {since.R(6, 14), lockKey{}, 2, true}, {since.R(6, 14), lockKey{mapp: 1}, 0, false},
	} {
		e := explorerOn(c.release)
		e.begin()
		e.cur.lock, e.cur.locks = c.lock, c.locks
		assert.Equal(t, c.want, e.resources.holdsLock(), "%+v", c)
	}
}

// The log sums up the instructions of the program and of each global function that was verified.
func TestWhichFunctionsAreSummedUp(t *testing.T) {
	e := explorerOn(since.R(7, 2))
	e.subs = []subprog{{processed: 5, linkage: funcGlobal}, {processed: 0, linkage: funcGlobal}, {processed: 3, linkage: funcGlobal}, {processed: 7, linkage: funcStatic}, {start: 1}}
	assert.Equal(t, []int{5, 3}, e.processedByRoot(true))
	assert.Equal(t, []int{5, 0, 3}, e.processedByRoot(false), "a refused program was not verified to its end")
	e.subs[0] = subprog{linkage: funcStatic}
	assert.Equal(t, []int{0, 3}, e.processedByRoot(true), "the program itself counts whatever it is")
}

// A path has passed through a state before it, at the same instruction in the same calls, of which
// other paths are open (find_prev_entry).
func TestStatesThatAPathPassedThrough(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *state)
		want   bool
	}{
		"passed":              {func(*state) {}, true},
		"another instruction": {func(s *state) { s.insn = 1 }, false},
		"all is explored":     {func(s *state) { s.branches = 0 }, false},
		"another call":        {func(s *state) { s.frames[0].callsite = 1 }, false},
		"as deep":             {func(s *state) { s.dfsDepth = 2 }, false},
	} {
		e := explorerOn(since.R(6, 12))
		e.begin().dfsDepth = 2
		kept := stateAt(0)
		kept.branches, kept.dfsDepth = 1, 1
		c.change(kept)
		e.checkpoints.explored = []*state{kept}
		assert.Equal(t, c.want, e.checkpoints.findEntry(e.cur, 0) != nil, name)
	}
}

// A state of a loop that is still explored has to be met more exactly than one that is done with.
func TestStatesOfOpenLoopsAreMetExactly(t *testing.T) {
	for _, release := range []uapi.Release{since.R(6, 6), since.R(6, 12)} {
		e := explorerOn(release)
		e.begin()
		for name, c := range map[string]struct {
			branches, entry int // entry: open paths of the loop's entry, -1 without one
			exact           bool
		}{"in no loop": {0, -1, false}, "open": {1, -1, true}, "of a loop that is done": {0, 0, false}, "of an open loop": {0, 1, true}} {
			s := stateAt(0)
			if s.branches = c.branches; c.entry >= 0 {
				s.loopEntry = stateAt(0)
				s.loopEntry.branches = c.entry
			}
			want := notExact
			if c.exact {
				want = e.checkpoints.loopExactness()
			}
			assert.Equal(t, want, e.checkpoints.exactnessFor(s), "%v: %s", release, name)
		}
	}
}

// What is dead is cleared in the finished states of an instruction that have the same calls
// (clean_live_states).
func TestWhichStatesAreCleared(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *state)
		want   bool
	}{
		"finished":            {func(*state) {}, true},
		"open":                {func(s *state) { s.branches = 1 }, false},
		"another instruction": {func(s *state) { s.insn = 1 }, false},
		"another call":        {func(s *state) { s.frames[0].callsite = 1 }, false},
		"of an open loop":     {func(s *state) { s.loopEntry = stateAt(0); s.loopEntry.branches = 1 }, false},
		"of a finished loop":  {func(s *state) { s.loopEntry = stateAt(0) }, true},
		"cleared already":     {func(s *state) { s.frames[0].regs[0].live |= liveDone }, false},
	} {
		e := explorerOn(since.R(6, 12))
		e.begin()
		s := stateAt(0)
		s.regs()[1].constant(1)
		s.regs()[2].constant(1)
		s.regs()[2].live = liveRead
		c.change(s)
		e.checkpoints.cleanExplored(s, 0)
		assert.Equal(t, c.want, s.regs()[1].typ == notInit, name)
		assert.Equal(t, scalar, s.regs()[2].typ, "%s: what is read stays", name)
	}
}

// spilled is a slot with a number in its first bytes.
func spilled(size int, low, high uint64) *slot {
	s := &slot{reg: numberIn(low, high), refs: 1}
	for i := range 8 {
		s.t[i] = slotMisc
		if i >= 8-size {
			s.t[i] = slotSpill
		}
	}
	return s
}

// bytesOf is a slot of one type of byte.
func bytesOf(typ uint8) *slot {
	s := &slot{refs: 1}
	for i := range s.t {
		s.t[i] = typ
	}
	return s
}

// Precision goes back to numbers in the stack, whole ones and words; what has been overwritten is no
// number any more, although the slot still has it (mark_chain_precision up to 6.4).
func TestWhichSlotsBecomePrecise(t *testing.T) {
	pointer := bytesOf(slotSpill)
	pointer.reg.typ = ptrMapValue
	over := spilled(8, 0, 7)
	over.t = [8]uint8{slotMisc, slotMisc, slotMisc, slotMisc, slotMisc, slotMisc, slotMisc, slotMisc}
	low := spilled(8, 0, 7)
	low.t[7] = slotMisc
	for name, c := range map[string]struct {
		slot *slot
		want bool
	}{"eight bytes": {spilled(8, 0, 7), true}, "a word": {spilled(4, 0, 7), true}, "the other bytes": {low, true}, "a pointer": {pointer, false}, "overwritten": {over, false}} {
		e := explorerOn(since.R(5, 15))
		s := e.begin()
		e.subs = []subprog{{}, {start: 1}}
		holding := func(sl *slot) *frame {
			own := *sl
			return &frame{stack: []*slot{&own}, uses: []uint8{liveRead}, pool: &e.pool, callsite: mainFunc}
		}
		s.frames[0] = holding(c.slot)
		e.precision.preciseOld(-1, 0)
		assert.Equal(t, c.want, s.frames[0].stack[0].reg.precise, "%s: of the state itself", name)

		f, regs, set := holding(c.slot), uint32(0), uint64(1)
		isNew, ok := e.precision.markFrameOld(f, &regs, &set)
		assert.True(t, ok, name)
		assert.Equal(t, c.want, isNew, name)
		assert.Equal(t, c.want, set == 1, name)
		assert.Equal(t, c.want, f.stack[0].reg.precise, "%s: of a state before", name)

		old := stateAt(0)
		old.frames[0] = holding(c.slot)
		old.frames[0].stack[0].reg.precise = true
		s.frames[0] = holding(spilled(8, 0, 7))
		e.precision.propagatePrecisionOld(old)
		assert.Equal(t, c.want, s.frames[0].stack[0].reg.precise, "%s: of a state that was met", name)
	}
	e := explorerOn(since.R(5, 15))
	regs, set := uint32(0), uint64(2)
	_, ok := e.precision.markFrameOld(&frame{stack: []*slot{spilled(8, 0, 7)}, pool: &e.pool}, &regs, &set)
	assert.False(t, ok, "the slot behind the stack")
}

// The profile says how two states differ in a slot.
func TestHowSlotsDiffer(t *testing.T) {
	for _, c := range []struct {
		name      string
		kept, now *slot
		want      ApartKind
	}{
		{"numbers", spilled(8, 0, 7), spilled(8, 0, 9), ApartRange},
		{"nothing now", spilled(8, 0, 7), bytesOf(slotInvalid), ApartUnset},
		{"dead now", bytesOf(slotMisc), bytesOf(slotPoison), ApartUnset},
		{"any bytes now", spilled(8, 0, 7), bytesOf(slotMisc), ApartRange},
		{"any bytes for zeros", bytesOf(slotZero), bytesOf(slotMisc), ApartRange},
		{"any bytes for a dynptr", bytesOf(slotDynptr), bytesOf(slotMisc), ApartType},
		{"a number for any bytes", bytesOf(slotMisc), spilled(8, 0, 7), ApartType},
		{"zeros for a number", spilled(8, 0, 7), bytesOf(slotZero), ApartType},
	} {
		assert.Equal(t, c.want, explorerOn(since.R(6, 12)).checkpoints.howSlotsApart(c.kept, c.now), c.name)
	}
}

// A load from a map that nothing writes any more yields a constant, with its sign or without
// (bpf_map_direct_read).
func TestConstantsOfFrozenMaps(t *testing.T) {
	const load, signed = 0x61, 0x81 // of four bytes
	for _, c := range []struct {
		name   string
		code   uint8
		off    int16
		frozen []byte
		value  uint32
		want   constReg
	}{
		{"unsigned", load, 0, []byte{0xfe, 0xff, 0xff, 0xff}, 4, constReg{kind: knownNumber, val: 0xfffffffe}},
		{"signed", signed, 0, []byte{0xfe, 0xff, 0xff, 0xff}, 4, constReg{kind: knownNumber, val: math.MaxUint64 - 1}},
		{"at the end", load, 4, []byte{0, 0, 0, 0, 1, 0, 0, 0}, 8, constReg{kind: knownNumber, val: 1}},
		{"behind it", load, 5, []byte{0, 0, 0, 0, 1, 0, 0, 0}, 8, constReg{kind: knownNothing}},
		{"behind the value", load, 4, []byte{0, 0, 0, 0, 1, 0, 0, 0}, 4, constReg{kind: knownNothing}},
		{"before it", load, -1, []byte{0, 0, 0, 0}, 4, constReg{kind: knownNothing}},
		{"not frozen", load, 0, nil, 4, constReg{kind: knownNothing}},
	} {
		e := explorerOn(since.R(7, 1))
		m := e.addMap(&Map{Name: "m", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: c.value, MaxEntries: 1, Frozen: c.frozen})
		var regs constRegs
		regs[1] = constReg{kind: knownMapValue, mapp: m.index}
		assert.Equal(t, c.want, e.layout.constLoad(&regs, &decode.Insn{Code: c.code, Src: 1, Off: c.off}), c.name)
		assert.Equal(t, constReg{kind: knownNothing}, e.layout.constLoad(&regs, &decode.Insn{Code: c.code, Src: 2, Off: c.off}), c.name)
	}
}

// Behind a struct whose last member is an array without a length are elements of it; behind one
// with a length is nothing (btf_struct_walk).
func TestElementsBehindStructs(t *testing.T) {
	b := btf.NewBuilder(nil)
	word := b.Int("int", 4, btf.IntSigned)
	pair := b.Add(btf.Type{Kind: btf.KindStruct, Name: "pair", Size: 8, Members: []btf.Member{{Name: "a", Type: word}, {Name: "b", Type: word, BitOffset: 32}}})
	holding := func(name string, of btf.ID, n, size uint32) btf.ID {
		a := b.Array(of, word, n)
		return b.Add(btf.Type{Kind: btf.KindStruct, Name: name, Size: size, Members: []btf.Member{{Name: "n", Type: word}, {Name: "a", Type: a, BitOffset: 32}}})
	}
	numbers, pairs, one, onePair := holding("numbers", word, 0, 4), holding("pairs", pair, 0, 4), holding("one", word, 1, 8), holding("one_pair", pair, 1, 12)
	plain := b.Add(btf.Type{Kind: btf.KindStruct, Name: "plain", Size: 4, Members: []btf.Member{{Name: "n", Type: word}}})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for _, c := range []struct {
		name      string
		id        btf.ID
		off, size int
		flex      bool
		ok        bool
	}{
		{"a number", numbers, 4, 4, true, true}, {"a number far behind", numbers, 400, 4, true, true}, {"a number, not allowed", numbers, 4, 4, false, false},
		{"a member of an element", pairs, 4, 4, true, true}, {"of a later one", pairs, 16, 4, true, true}, {"across two elements", pairs, 8, 8, true, false},
		{"an array of one number", one, 8, 4, true, false}, {"an array of one struct", onePair, 12, 4, true, false}, {"no array", plain, 4, 4, true, false},
		{"before the array", numbers, 2, 4, true, false},
	} {
		e := explorerOn(since.R(6, 12))
		got := e.kernelMem.walkStruct(e.addSpec(spec), c.id, c.off, c.size, 0, c.flex, true)
		assert.Equal(t, c.ok, got.errno == 0, c.name)
	}
}

// Storage of sockets is for programs that trace functions of the kernel, but not those of the
// storage itself (bpf_sk_storage_tracing_allowed).
func TestWhoMayTraceSocketStorage(t *testing.T) {
	for _, c := range []struct {
		typ    uapi.ProgType
		attach uapi.AttachType
		name   string
		prog   *Program
		want   bool
	}{
		{uapi.ProgTypeTracing, uapi.AttachTraceFentry, "tcp_ack", nil, true},
		{uapi.ProgTypeTracing, uapi.AttachTraceFexit, "tcp_ack", nil, true},
		{uapi.ProgTypeTracing, uapi.AttachTraceFentry, "bpf_sk_storage_get", nil, false},
		{uapi.ProgTypeTracing, uapi.AttachTraceFexit, "bpf_sk_storage_get", nil, false},
		{uapi.ProgTypeTracing, uapi.AttachTraceFentry, "tcp_ack", &Program{}, false},
		{uapi.ProgTypeTracing, uapi.AttachTraceFexit, "tcp_ack", &Program{}, false},
		{uapi.ProgTypeTracing, uapi.AttachTraceRawTp, "sys_enter", nil, true},
		{uapi.ProgTypeTracing, uapi.AttachTraceIter, "tcp", nil, true},
		{uapi.ProgTypeTracing, uapi.AttachModifyReturn, "tcp_ack", nil, false},
		{uapi.ProgTypeLSM, uapi.AttachLSMMac, "bpf_lsm_bpf", nil, true},
	} {
		e := explorerOn(since.R(6, 12))
		e.p = &Program{Type: c.typ, Attach: c.attach, AttachProg: c.prog}
		e.prog.typ, e.prog.attachName = c.typ, c.name
		assert.Equal(t, c.want, e.onlyHook(proto.SockStorageTracing), "%v of %s", c.attach, c.name)
	}
}

// A static function is reliable if its arguments are numbers and the context, and it is called with
// such (btf_check_subprog_call).
func TestArgumentsOfReliableFunctions(t *testing.T) {
	b := btf.NewBuilder(nil)
	word := b.Int("int", 4, btf.IntSigned)
	ctx := b.Ptr(b.Struct("xdp_md", 4, btf.Member{Name: "data", Type: word}))
	other := b.Ptr(b.Struct("other", 4, btf.Member{Name: "data", Type: word}))
	pair := b.Add(btf.Type{Kind: btf.KindStruct, Name: "pair", Size: 4, Members: []btf.Member{{Name: "a", Type: word}}})
	number, context, stack := &reg{}, &reg{}, &reg{}
	number.unknown()
	context.pointer(ptrCtx)
	stack.pointer(ptrStack)
	type call struct {
		name string
		ret  btf.ID
		of   []btf.ID
		args []*reg
		want bool
		fn   btf.ID
	}
	calls := []call{
		{"nothing", word, nil, nil, true, 0}, {"no result", 0, nil, nil, false, 0}, {"a pointer for result", ctx, nil, nil, false, 0},
		{"a number", word, []btf.ID{word}, []*reg{number}, true, 0}, {"a pointer for a number", word, []btf.ID{word}, []*reg{context}, false, 0},
		{"the context", word, []btf.ID{ctx}, []*reg{context}, true, 0}, {"a number for the context", word, []btf.ID{ctx}, []*reg{number}, false, 0},
		{"both", word, []btf.ID{ctx, word}, []*reg{context, number}, true, 0}, {"a pointer", word, []btf.ID{other}, []*reg{stack}, false, 0},
		{"a struct", word, []btf.ID{pair}, []*reg{number}, false, 0},
		{"five", word, []btf.ID{word, word, word, word, word}, []*reg{number, number, number, number, number}, true, 0},
		{"six", word, []btf.ID{word, word, word, word, word, word}, []*reg{number, number, number, number, number}, false, 0},
	}
	for i := range calls {
		var params []btf.Param
		for _, id := range calls[i].of {
			params = append(params, btf.Param{Name: "p", Type: id})
		}
		fp := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: calls[i].ret, Params: params})
		calls[i].fn = b.Add(btf.Type{Kind: btf.KindFunc, Name: calls[i].name, Ref: fp})
	}
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for _, c := range calls {
		e := explorerOn(since.R(6, 12))
		e.p.BTF, e.prog.typ = spec, uapi.ProgTypeXDP
		e.subs = []subprog{{fn: c.fn}}
		regs := make([]reg, 11)
		for i, r := range c.args {
			regs[i+1] = *r
		}
		assert.Equal(t, c.want, e.frames.reliableCall(0, regs), c.name)
	}
}

// A program may name its target for kernels of which no types are there: nothing is found.
func TestTargetsOfKernelsWithoutTypes(t *testing.T) {
	b := btf.NewBuilder(nil)
	fp := b.Add(btf.Type{Kind: btf.KindFuncProto})
	id := b.Add(btf.Type{Kind: btf.KindFunc, Name: "bpf_lsm_bpf", Ref: fp})
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	for _, c := range []struct {
		types *btf.Spec
		to    string
		want  btf.ID
	}{{nil, "bpf", 0}, {spec, "bpf", id}, {spec, "bpf_lsm_bpf", id}, {spec, "", 0}, {spec, "file_open", 0}} {
		e := explorerOn(since.R(6, 12))
		e.k.BTF, e.p.Attach, e.p.AttachTo = c.types, uapi.AttachLSMMac, c.to
		in, got := e.attachment.attachByName()
		assert.Equal(t, c.types, in)
		assert.Equal(t, c.want, got, "%q", c.to)
	}
}

// No function that an exception's callback leads to makes a tail call, whatever that one calls in
// its turn (check_max_stack_depth_subprog).
func TestTailCallsOfExceptionCallbacks(t *testing.T) {
	call := func(at, to int32) decode.Insn { return decode.Insn{Code: 0x85, Src: 1, Imm: to - at - 1} }
	exit := decode.Insn{Code: 0x95}
	for _, c := range []struct {
		exception bool
		tail      int // the function with a tail call: the first that is called, the one that it calls, or one that is called later
		want      refusal.ID
	}{
		{true, -1, refusal.None}, {true, 0, refusal.None}, {true, 1, refusal.CannotTailCallWithinExceptionCb}, {true, 2, refusal.CannotTailCallWithinExceptionCb},
		{true, 3, refusal.CannotTailCallWithinExceptionCb}, {false, 1, refusal.None}, {false, 2, refusal.None}, {false, 3, refusal.None},
	} {
		e := explorerOn(since.R(6, 12))
		e.insns = []decode.Insn{call(0, 3), call(1, 6), exit, call(3, 5), exit, exit, exit}
		e.aux = make([]insnAux, len(e.insns))
		e.subs = []subprog{{start: 0, isException: c.exception}, {start: 3}, {start: 5}, {start: 6}, {start: 7}}
		if c.tail >= 0 {
			e.subs[c.tail].tailCall = true
		}
		assert.Equal(t, c.want, e.refusedWith(t, func() { e.limits.chainDepth(0, false) }), "%+v", c)
	}
}

// A state that was evicted while paths from it were open is given back once all are explored
// (maybe_free_verifier_state).
func TestEvictedStatesAreGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		branches int // of the evicted state
		evicted  bool
		freed    bool
	}{"the last path": {1, true, true}, "another path is open": {2, true, false}, "not evicted": {1, false, false}} {
		e := explorerOn(since.R(6, 18))
		e.subs = []subprog{{}, {start: 1}}
		e.aux = make([]insnAux, 1)
		first, evicted, now := stateAt(0), stateAt(0), stateAt(0)
		first.branches, evicted.branches, now.branches = 2, c.branches, 1
		evicted.parent, now.parent, evicted.inFree = first, evicted, c.evicted
		for _, s := range []*state{first, evicted, now} {
			s.frames[0].pool = &e.pool
		}
		e.checkpoints.freeCount = 1
		e.checkpoints.finish(now)
		assert.Equal(t, c.freed, e.checkpoints.freeCount == 0, name)
		assert.Equal(t, c.evicted && !c.freed, evicted.inFree, name)
	}
}

// A comparison with 0 releases what failed to be acquired only where the pointer may be null
// (check_cond_jmp_op).
func TestWhichPointersAreCheckedForNull(t *testing.T) {
	for _, c := range []struct {
		typ      regType
		imm      int32
		op       num.Cond
		cur, not int // references on both ways
	}{
		{ptrBTF | maybeNull, 0, num.Eq, 1, 0}, {ptrBTF | maybeNull, 0, num.Ne, 0, 1}, {ptrBTF | maybeNull, 0, num.Gt, 1, 1}, {ptrBTF | maybeNull, 1, num.Eq, 1, 1},
		{ptrBTF, 0, num.Eq, 1, 1}, {ptrBTF, 0, num.Ne, 1, 1},
	} {
		e := explorerOn(since.R(7, 2))
		cur, other := e.begin(), stateAt(0)
		for _, s := range []*state{cur, other} {
			s.refs = []ref{{id: 5}}
			s.regs()[1].pointer(c.typ)
			s.regs()[1].id, s.regs()[1].ref = 5, 5
		}
		zero := &reg{}
		zero.constant(uint64(c.imm))
		e.conditions.comparePointers(&decode.Insn{Code: 0x15, Dst: 1, Imm: c.imm}, other, &cur.regs()[1], zero, c.op, false)
		assert.Len(t, cur.refs, c.cur, "%+v", c)
		assert.Len(t, other.refs, c.not, "%+v", c)
	}
}
