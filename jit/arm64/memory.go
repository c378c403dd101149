package arm64

import (
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit/plan"
)

// place is the address of an access: base + off, or base + index.
type place struct {
	base, index reg // index is zr if there is none
	off         int32
}

// operand checks an access and returns its address. It clobbers temp1 to temp3.
func (c *compiler) operand(in *plan.Insn, align bool) place {
	switch in.Check {
	case plan.CheckNone:
		return place{hostF, zr, in.Off + stackBias}
	case plan.CheckRange:
		c.Check(in, align)
	}
	if in.Off == 0 {
		return place{hostR, reg(in.Base), 0}
	}
	c.rrr(1, opAdd, temp1, hostR, reg(in.Base))
	return place{temp1, zr, int32(in.Off)}
}

func (c *compiler) access(x access, t reg, at place) {
	if at.index != zr {
		c.index(x, t, at.base, at.index)
		return
	}
	c.mem(x, t, at.base, at.off, temp3)
}

// CellOffset computes the value to compare with the cell's Count in temp1, and loads Count into
// temp2.
func (c *compiler) CellOffset(in *plan.Insn) {
	base := c.baseOf(in)
	c.get(temp1, in.CellOffset())
	c.get(temp2, in.CellOffset()+plan.CellCount)
	c.rrr(1, opSub, temp1, base, temp1)
}

// CompareCell compares temp1 with temp2.
func (c *compiler) CompareCell(*plan.Insn) { c.cmp(1, temp1, temp2) }

// SetBound sets Bound to Count - temp1.
func (c *compiler) SetBound(in *plan.Insn) {
	c.rrr(1, opSub, temp2, temp2, temp1)
	c.put(temp2, in.CellOffset()+plan.CellBound)
}

// CompareBound compares a register with Bound.
func (c *compiler) CompareBound(in *plan.Insn) {
	c.get(temp1, in.CellOffset()+plan.CellBound)
	c.cmp(1, reg(in.Base), temp1)
}

// CompareLimit compares temp1 with State.Limit.
func (c *compiler) CompareLimit() { c.cmp(1, temp1, limit) }

// CompareShadow tests the shadow at the arena offset in temp1.
func (c *compiler) CompareShadow(log int) {
	c.shift(1, opLsrv, temp1, temp1, 3)
	c.index(loads[log], temp1, shad, temp1)
	c.cmpImm(1, temp1, 0, temp2)
}

// baseOf returns the register with the base of a range, which may be temp4.
func (c *compiler) baseOf(in *plan.Insn) reg {
	if in.Base != plan.NoBase {
		return reg(in.Base)
	}
	c.mem(loads[3], temp4, hostF, in.Off+stackBias, temp3)
	return temp4
}

// ArenaOffset computes the arena offset of a range in temp1.
func (c *compiler) ArenaOffset(in *plan.Insn) {
	c.rrr(1, opAdd, temp1, negB, c.baseOf(in))
	c.addImm(1, temp1, temp1, int64(in.Lo), temp2)
}

// TestAligned tests the low bits of temp1.
func (c *compiler) TestAligned(size uint8) {
	c.logicImm(1, opAndsImm, opAnds, zr, temp1, uint64(size-1), temp3)
}

// Exact generates the exact test: temp1 becomes 0 if the range is accessible.
func (c *compiler) Exact(in *plan.Insn, stores int) {
	c.ArenaOffset(in)
	c.constant(temp2, uint64(in.Hi-in.Lo))
	c.subroutine(c.exact[stores])
}

// SkipIfExact skips depending on the result of the exact test.
func (c *compiler) SkipIfExact(want bool) int32 {
	if want {
		return c.ifZero(1, temp1)
	}
	return c.ifNot(1, temp1)
}

// JumpBackIfExact always returns false: conditional branches do not reach.
func (c *compiler) JumpBackIfExact(int32) bool { return false }

// TakeCredit decrements Credit and branches if there was some.
func (c *compiler) TakeCredit(in *plan.Insn, to int32) {
	c.get(temp1, in.CellOffset()+plan.CellCredit)
	c.addImm(1, temp1, temp1, -1, temp2)
	c.put(temp1, in.CellOffset()+plan.CellCredit)
	c.cmpImm(1, temp1, 0, temp2)
	none := c.near(condLT)
	c.JumpBack(to)
	c.land(none)
}

// FillCell sets the cell to the run around the range.
func (c *compiler) FillCell(in *plan.Insn) {
	c.ArenaOffset(in)
	c.addImm(1, temp2, state, int64(in.CellOffset()), temp3)
	c.subroutine(c.fill)
}

// BackOff sets Credit and Backoff.
func (c *compiler) BackOff(in *plan.Insn) {
	c.get(temp1, in.CellOffset()+plan.CellBackoff)
	c.shift(1, opLslv, temp1, temp1, 2)
	c.addImm(1, temp1, temp1, 3, temp2)
	c.logicImm(1, opAndImm, opAnd, temp1, temp1, plan.MaxBackoff, temp2)
	c.put(temp1, in.CellOffset()+plan.CellBackoff)
	c.put(temp1, in.CellOffset()+plan.CellCredit)
}

// exactCode is the exact test of temp2 bytes at arena offset temp1, for stores if that is 1: temp1
// becomes 0 if they are accessible.
func (c *compiler) exactCode(store int) {
	c.exact[store] = c.pos()
	c.cmp(1, temp1, limit)
	beyond := c.near(condHS)
	// temp2 becomes the end of the bytes, counted from the start of the first granule, temp1 the
	// address of its shadow.
	c.logicImm(1, opAndImm, opAnd, temp3, temp1, 7, temp4)
	c.rrr(1, opAdd, temp2, temp2, temp3)
	c.shift(1, opLsrv, temp1, temp1, 3)
	c.rrr(1, opAdd, temp1, temp1, shad)
	beside := c.besideGuard(store)
	again := c.pos()
	c.mem(loads[0], temp3, temp1, 0, temp4)
	if store == 0 {
		c.logicImm(0, opAndImm, opAnd, temp3, temp3, uint64(^uint32(mem.LoadsIgnore)), temp4)
	}
	c.cmpImm(1, temp2, 8, temp4)
	last := c.near(condLS)
	bad1 := c.ifNot(0, temp3)
	c.addImm(1, temp1, temp1, 1, temp4)
	c.addImm(1, temp2, temp2, -8, temp4)
	c.patch(c.branch(opB), again)
	c.land(last)
	good := c.ifZero(0, temp3)
	c.cmpImm(0, temp3, 7, temp4)
	bad2 := c.near(condHI)
	c.cmp(1, temp2, temp3)
	bad3 := c.near(condHI)
	c.land(good)
	if beside != 0 {
		c.land(beside)
	}
	c.constant(temp1, 0)
	c.word(opBr | uint32(link)<<5)
	for _, j := range []int32{beyond, bad1, bad2, bad3} {
		c.land(j)
	}
	c.constant(temp1, 1)
	c.word(opBr | uint32(link)<<5)
}

// fillCode sets the cell at temp2 to the run of accessible bytes around arena offset temp1, which
// is accessible. The run has the class of its first byte, except that its last granule may be
// partly accessible. Memory starts and ends with inaccessible granules, so the search ends. There
// is no run around bytes beside a guard: a cell would let stores to the guard pass.
func (c *compiler) fillCode() {
	c.fill = c.pos()
	start, end, class := temp3, temp4, temp5
	c.constant(start, 1)
	c.put(start, plan.OffFilled)
	c.shift(1, opLsrv, start, temp1, 3)
	c.rrr(1, opAdd, start, start, shad)
	c.mem(loads[0], class, start, 0, temp6)
	c.constant(temp1, 0)
	c.cmpImm(0, class, int64(mem.ClassHeadGuarded), temp6)
	guarded := c.near(condEQ)
	c.logicImm(0, opAndImm, opAnd, class, class, uint64(mem.ClassStoreTrap), temp6)
	c.constant(temp1, 0x0101010101010101)
	c.multiply(1, opMadd, class, class, temp1, zr) // the class of the run, eight times
	c.move(end, start)
	words := c.pos()
	c.mem(loads[3], temp1, end, 0, temp6)
	c.cmp(1, temp1, class)
	other := c.near(condNE)
	c.addImm(1, end, end, 8, temp6)
	c.patch(c.branch(opB), words)
	c.land(other)
	c.field(0, opUbfm, class, class, 0, 7)
	bytes := c.pos()
	c.mem(loads[0], temp1, end, 0, temp6)
	c.cmp(0, temp1, class)
	other = c.near(condNE)
	c.addImm(1, end, end, 1, temp6)
	c.patch(c.branch(opB), bytes)
	c.land(other)
	// temp1 becomes the number of accessible bytes in the next granule.
	c.rrr(0, opEor, temp1, temp1, class)
	c.cmpImm(0, temp1, 8, temp6)
	c.word(opCsel | uint32(zr)<<16 | uint32(condLO)<<12 | uint32(temp1)<<5 | uint32(temp1))
	back := c.pos()
	c.mem(loads[0], temp6, start, -1, link)
	c.cmp(0, temp6, class)
	other = c.near(condNE)
	c.addImm(1, start, start, -1, temp6)
	c.patch(c.branch(opB), back)
	c.land(other)
	// Count = (end - start granules)*8 + part - N + 1, 0 if that is not above 0.
	c.rrr(1, opSub, end, end, start)
	c.shift(1, opLslv, end, end, 3)
	c.rrr(1, opAdd, temp1, temp1, end)
	c.addImm(1, temp1, temp1, 1, temp6)
	c.mem(loads[3], temp6, temp2, plan.CellN, temp5)
	c.rrr(1, opSubs, temp1, temp1, temp6)
	c.word(opCsel | uint32(zr)<<16 | uint32(condGT)<<12 | uint32(temp1)<<5 | uint32(temp1))
	c.land(guarded)
	c.mem(stores[3], temp1, temp2, plan.CellCount, temp5)
	// Key = base + start - Lo
	c.rrr(1, opSub, start, start, shad)
	c.shift(1, opLslv, start, start, 3)
	c.rrr(1, opSub, start, start, negB)
	c.mem(loads[3], temp6, temp2, plan.CellLo, temp5)
	c.rrr(1, opSub, start, start, temp6)
	c.mem(stores[3], start, temp2, 0, temp5)
	c.mem(loads[3], temp1, temp2, plan.CellBackoff, temp5)
	c.shift(1, opLslv, temp1, temp1, 2)
	c.logicImm(1, opOrrImm, opOrr, temp1, temp1, 3, temp5)
	c.logicImm(1, opAndImm, opAnd, temp1, temp1, plan.MaxBackoff, temp5)
	c.mem(stores[3], temp1, temp2, plan.CellBackoff, temp5)
	c.mem(stores[3], temp1, temp2, plan.CellCredit, temp5)
	c.word(opBr | uint32(link)<<5)
}

// besideGuard is the part of the exact test of stores that lets those pass that begin in the last
// four bytes of a granule whose first four are guarded; temp3 is where they begin in it. It returns
// the branch of those that end there, too, 0 for loads.
func (c *compiler) besideGuard(store int) (done int32) {
	if store == 0 {
		return 0
	}
	c.cmpImm(0, temp3, 4, temp4)
	first := c.near(condLO)
	c.mem(loads[0], temp3, temp1, 0, temp4)
	c.cmpImm(0, temp3, int64(mem.ClassHeadGuarded), temp4)
	other := c.near(condNE)
	c.cmpImm(1, temp2, 8, temp4)
	done = c.near(condLS)
	c.addImm(1, temp1, temp1, 1, temp4)
	c.addImm(1, temp2, temp2, -8, temp4)
	c.land(first)
	c.land(other)
	return done
}

// sizeLog returns log2 of a size in bytes, the index in the tables of accesses.
func sizeLog(size uint8) int {
	switch size {
	case 1:
		return 0
	case 2:
		return 1
	case 4:
		return 2
	}
	return 3
}

// load zero-extends, or sign-extends to 64 bits.
func load(c *compiler, in *plan.Insn, r *rule) {
	done := int32(0)
	if in.Has(plan.FlagWord) {
		done = c.contextWord(in)
	}
	at := c.operand(in, r.aligned)
	table := &loads
	if r.signed {
		table = &loadsSigned
	}
	c.access(table[sizeLog(in.Size)], reg(in.Dst), at)
	if in.Has(plan.FlagSwap) {
		c.reverse(in.Size, reg(in.Dst))
	}
	if done != 0 {
		c.land(done)
	}
}

func store(c *compiler, in *plan.Insn, r *rule) {
	at := c.operand(in, r.aligned)
	c.access(stores[sizeLog(in.Size)], reg(in.Src), at)
}

func storeImm(c *compiler, in *plan.Insn, _ *rule) {
	at := c.operand(in, false)
	value := zr
	if v := uint64(int64(int32(in.Imm))); v != 0 {
		value = temp2
		c.constant(value, v)
	}
	c.access(stores[sizeLog(in.Size)], value, at)
}

// atomic generates a read-modify-write operation. No other thread uses the memory, so no exclusive
// access is needed.
func atomic(c *compiler, in *plan.Insn, r *rule) {
	at := c.operand(in, true)
	src, size, w := reg(in.Src), sizeLog(in.Size), in.Size>>3
	c.access(loads[size], temp2, at)
	value := temp4
	if r.op == 0 { // exchange
		value = src
	} else {
		c.rrr(w, r.op, value, temp2, src)
	}
	c.access(stores[size], value, at)
	if r.fetch {
		c.move(src, temp2) // loads clear the upper half
	}
}

func cmpXchg(c *compiler, in *plan.Insn, _ *rule) {
	at := c.operand(in, true)
	size, w := sizeLog(in.Size), in.Size>>3
	c.access(loads[size], temp2, at)
	c.cmp(w, temp2, 0)
	differ := c.near(condNE)
	c.access(stores[size], reg(in.Src), at)
	c.land(differ)
	c.move(0, temp2)
}
