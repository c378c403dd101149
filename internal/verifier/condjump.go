package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/num"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// condJump checks a branch, and queues the taken path if both are possible (check_cond_jmp_op).
func (c *conditions) condJump(in *decode.Insn) {
	op := opOf(in)
	w32 := class(in) == clsJMP32
	// JCOND is the opcode after JSLE; older kernels have none there.
	last := uint8(0xd0)
	if c.has(since.MayGoto) {
		last = opJCOND
	}
	if op == opJA || op > last {
		c.refuse(refusal.InvalidBPFJMPJmp32Opcode, op)
	}
	if op == opJCOND {
		c.mayGoto(in)
		return
	}
	// The second operand, a register or a constant, is a register from here on.
	d := c.reg(int(in.Dst))
	var imm reg
	s := &imm
	flags := uint8(0)
	// Before 6.8 the source is checked first.
	if c.has(since.CompareDstFirst) {
		c.values.checkSrc(in.Dst)
	}
	c.condFields(in)
	if isX(in) {
		c.values.checkSrc(in.Src)
		s = c.reg(int(in.Src))
		if s.typ == ptrStack {
			flags |= histSrcStack
		}
	} else {
		imm.constant(uint64(int64(in.Imm)))
	}
	if !c.has(since.CompareDstFirst) {
		c.values.checkSrc(in.Dst)
	}
	if d.typ == ptrStack {
		flags |= histDstStack
	}
	// A pointer to the stack needs no precision, which the walk back must know
	// (INSN_F_SRC_REG_STACK, INSN_F_DST_REG_STACK).
	if flags != 0 && c.has(since.ComparesInHistory) {
		c.precision.pushHistory(c.cur, flags, 0, 0, nil)
	}
	cond := num.Cond(op)
	pred := c.branchTaken(d, s, cond, w32)
	// The other path is never explored because of these values, so a state that differs in them
	// must not be taken for equal (mark_chain_precision in check_cond_jmp_op).
	if pred >= 0 {
		if d.typ == scalar {
			c.precision.precise(int(in.Dst))
		}
		if isX(in) && s.typ == scalar {
			c.precision.precise(int(in.Src))
		}
	}
	// Only the path that is taken goes on; the other is never explored from here.
	if pred == num.Sure {
		c.log.changes(c.position)
		c.insn += int(in.Off)
		return
	}
	if pred == num.Never {
		c.log.changes(c.position)
		return
	}
	// The comparison narrows all registers that share an id. Going back, the walk must know which
	// did (collect_linked_regs), as the ids may be others by then.
	var linked []linkedReg
	if c.r.linkedHist {
		if isX(in) && s.typ == scalar && s.id != 0 {
			linked = c.collectLinked(linked, s.id)
		}
		if d.typ == scalar && d.id != 0 {
			linked = c.collectLinked(linked, d.id)
		}
		if len(linked) > 1 {
			c.precision.pushHistory(c.cur, 0, 0, 0, linked)
		}
	}
	// The next instruction is explored first, the target when this path has ended (push_stack).
	other := c.pool.push(c.insn+int(in.Off)+1, c.insn)
	od := &other.regs()[in.Dst]
	var oimm reg
	os := &oimm
	if isX(in) {
		os = &other.regs()[in.Src]
	} else {
		oimm = imm
	}
	c.refine(od, os, d, s, cond, w32, isX(in))
	// What is linked to the operands is narrowed with them on either path.
	c.syncEqual(in, other, d, s, od, os, linked)
	c.comparePointers(in, other, d, s, cond, w32)
	c.log.changes(c.position)
}

// branchTaken decides a branch if possible (is_branch_taken).
func (c *conditions) branchTaken(d, s *reg, op num.Cond, w32 bool) int {
	// Nothing is known of the addresses, but after one test a pointer is known to be at or beyond
	// the packet's end, which decides the next (is_pkt_ptr_branch_taken).
	if d.typ.isPacketAny() && s.typ.isPacketAny() && !w32 {
		return packetTaken(d, s, op) // no mark, no decision: before PacketEnds
	}
	// Both operands known: ranges decide (is_scalar_branch_taken).
	if d.typ == scalar && s.typ == scalar {
		// The ranges of one register with itself decide little, but the comparison is decided by
		// its kind.
		if d == s && c.has(since.SameRegister) {
			return sameTaken(op, &d.Bounds, w32)
		}
		return num.Taken(&d.Bounds, &s.Bounds, op, w32, c.rules)
	}
	// The lower half of a valid pointer may be 0.
	if w32 && c.has(since.NoNullBranch32) {
		return num.Maybe
	}
	known := func(r *reg) bool { return r.typ == scalar && r.IsConst(w32) }
	if !known(s) {
		d, s = s, d
	}
	// Of a pointer only that it is not null can decide, in a comparison with 0.
	if !known(s) || s.Const(w32) != 0 || !c.notNullPtr(d) {
		return num.Maybe
	}
	switch op {
	case num.Eq:
		return num.Never
	case num.Ne:
		return num.Sure
	}
	return num.Maybe
}

// sameTaken decides a comparison of a register with itself.
func sameTaken(op num.Cond, b *num.Bounds, w32 bool) int {
	switch op {
	case num.Eq, num.Ge, num.Le, num.SGe, num.SLe:
		return num.Sure
	case num.Ne, num.Gt, num.Lt, num.SGt, num.SLt:
		return num.Never
	}
	// JSET with itself.
	t, lo, hi := b.Var, b.SMin, b.SMax
	if w32 {
		t, lo, hi = t.Sub32(), int64(b.Low.SMin), int64(b.Low.SMax)
	}
	switch { // a bit is set unless the value is 0
	case t.IsConst() && t.Value == 0:
		return num.Never
	case t.IsConst() || lo > 0 || hi < 0:
		return num.Sure
	}
	return num.Maybe
}

// notNullPtr reports whether the pointer is certainly not null (reg_not_null). Other types may be
// null at run time although the verifier does not ask for a check: loads through them are probed.
func (c *conditions) notNullPtr(r *reg) bool {
	if r.typ.mayBeNull() {
		return false
	}
	// A number that large may wrap the sum around to 0.
	if c.has(since.FarMayBeNull) && (r.SMin <= -maxVarOff || r.SMax >= maxVarOff) {
		return false
	}
	switch r.typ.base() {
	case ptrSocket, ptrTCPSock, ptrMapValue, ptrMapKey, ptrSockCommon:
		return true
	case ptrXDPSock, ptrBuf:
		return c.has(since.BuffersNotNull)
	case ptrBTF:
		return c.has(since.TrustedNotNull) && c.kernelMem.trusted(r)
	case ptrMem:
		return c.has(since.MemoryNotNull) && r.typ&ptrUntrusted == 0
	case constMap:
		return c.has(since.MapsNotNull)
	}
	return false
}

// packetTaken decides a comparison with the packet's end from the mark that an earlier one left
// (mark_pkt_end): the pointer is at the end, or beyond it.
func packetTaken(d, s *reg, op num.Cond) int {
	p := d
	switch {
	case s.typ == ptrPacketEnd:
	case d.typ == ptrPacketEnd:
		p, op = s, op.Flip()
	default:
		return num.Maybe
	}
	// The pointer was not compared with the end, or is certainly before it.
	if p.rng >= 0 {
		return num.Maybe
	}
	switch op {
	case num.Le, num.Gt:
		if p.rng == beyondPktEnd {
			return int(b2u(op == num.Gt))
		}
	case num.Lt, num.Ge:
		return int(b2u(op == num.Ge))
	}
	return num.Maybe
}

// refine narrows the registers on both paths (reg_set_min_max). od and os are those on the taken
// path.
func (c *conditions) refine(od, os, d, s *reg, op num.Cond, w32, regs bool) {
	if c.rules.Deduce == num.DeduceSign {
		c.refineOld(od, os, d, s, op, w32, regs)
		return
	}
	if d.typ != scalar || s.typ != scalar {
		return
	}
	// On the path that goes on, the opposite holds.
	num.Refine(&d.Bounds, &s.Bounds, op.Not(), w32, c.rules)
	d.Sync(c.rules)
	s.Sync(c.rules)
	num.Refine(&od.Bounds, &os.Bounds, op, w32, c.rules)
	od.Sync(c.rules)
	os.Sync(c.rules)
	// What contradicts itself after refinement is a branch that cannot be taken, which
	// is_branch_taken did not see.
	for _, r := range []*reg{od, os, d, s} {
		c.values.sane(r)
	}
}

// refineOld narrows by comparisons with constants, and by equality, as releases before 6.8 do
// (reg_set_min_max, reg_combine_min_max).
func (c *conditions) refineOld(od, os, d, s *reg, op num.Cond, w32, regs bool) {
	if !regs {
		if d.typ == scalar {
			num.RefineConst(&od.Bounds, &d.Bounds, s.Var.Value, op, w32, c.rules)
		}
		return
	}
	if d.typ != scalar || s.typ != scalar {
		return
	}
	known := func(r *reg) bool { return r.IsConst(w32) }
	switch {
	case known(s):
		num.RefineConst(&od.Bounds, &d.Bounds, s.Const(false), op, w32, c.rules)
	case known(d):
		num.RefineConst(&os.Bounds, &s.Bounds, d.Const(false), flipOld(op), w32, c.rules)
	case !w32 && op == num.Eq:
		num.Equate(&os.Bounds, &od.Bounds, c.rules)
	case !w32 && op == num.Ne:
		num.Equate(&s.Bounds, &d.Bounds, c.rules)
	}
}

func flipOld(op num.Cond) num.Cond { return op.Flip() }

// comparePointers handles null checks and comparisons with the end of the packet
// (check_cond_jmp_op).
func (c *conditions) comparePointers(in *decode.Insn, other *state, d, s *reg, op num.Cond, w32 bool) {
	// A pointer equal to one that is not null is not null. Kernel objects by BTF are left out,
	// since their type does not say whether they are null: a faulting load yields 0.
	if !w32 && isX(in) && c.has(since.PointersEqual) && d.typ != scalar && s.typ != scalar && d.typ.base() != ptrBTF && s.typ.base() != ptrBTF {
		var eq *state
		switch op {
		case num.Eq:
			eq = other
		case num.Ne:
			eq = c.cur
		}
		if eq != nil {
			is := func(r *reg) bool {
				return c.notNullPtr(r) || !r.typ.mayBeNull() && !c.has(since.EqualNotNull)
			}
			if is(d) && s.typ.mayBeNull() {
				c.values.notNull(&eq.regs()[in.Src])
			}
			if is(s) && d.typ.mayBeNull() {
				c.values.notNull(&eq.regs()[in.Dst])
			}
		}
	}
	if !w32 && (op == num.Eq || op == num.Ne) && d.typ.mayBeNull() && c.comparesNull(in, s) {
		c.nullCheck(c.cur, int(in.Dst), op == num.Ne)
		c.nullCheck(other, int(in.Dst), op == num.Eq)
		return
	}
	if isX(in) && !w32 {
		c.packetCompare(in, d, s, other, op)
	}
}

// comparesNull reports whether a branch compares with 0: as a constant, and since 7.2 in a
// register, which has to be exact then.
func (c *conditions) comparesNull(in *decode.Insn, s *reg) bool {
	if !isX(in) {
		return in.Imm == 0
	}
	if !c.has(since.NullRegisters) || s.typ != scalar || !s.isConst() || s.Var.Value != 0 {
		return false
	}
	c.precision.precise(int(in.Src))
	return true
}

// nullCheck marks all copies of a pointer as null, or as not null (mark_ptr_or_null_regs).
func (c *conditions) nullCheck(s *state, n int, isNull bool) {
	r := s.regs()[n]
	// If acquiring failed there is nothing to release.
	if r.ref != 0 && r.ref == r.id && isNull {
		c.resources.dropRef(s, r.id)
	}
	s.eachReg(spillMask, func(x *reg) bool {
		return x.typ.mayBeNull() && x.id == r.id && (x.isRCU() || x.id != 0)
	}, func(x *reg) {
		// Arithmetic on a pointer that may be null is refused, so an offset here is a fault of the
		// verifier; the register stays as it is rather than becoming usable (mark_ptr_or_null_reg).
		// Releases that allowed some of it dropped the offset instead, although it is not 0.
		if !c.has(since.NullableMath) {
			x.Bounds, x.off = num.Exactly(0), 0
		}
		if x.SMin != 0 || x.SMax != 0 || !x.Var.Equals(0) {
			return
		}
		if x.off != 0 && !x.typ.isAllocObj() {
			return
		}
		if isNull {
			x.typ = scalar
			x.id, x.ref = 0, 0
			return
		}
		// The id told the copies for the null check. It stays where it names the object: for
		// references and for the lock in it, which must be the one that was taken.
		c.values.notNull(x)
		if !c.has(since.CheckedKeepID) && !c.resources.mayHoldLock(x) {
			x.id = 0
		}
	})
}

// packetCompare derives bounds from a comparison of a packet pointer with the end of the packet, or
// of a metadata pointer with its start.
func (c *conditions) packetCompare(in *decode.Insn, d, s *reg, other *state, op num.Cond) {
	// Where the metadata ends the packet begins, so that its start is the end for pointers into it.
	left := d.typ == ptrPacket && s.typ == ptrPacketEnd || d.typ == ptrPacketMeta && s.initPacket(ptrPacket)
	right := d.typ == ptrPacketEnd && s.typ == ptrPacket || d.initPacket(ptrPacket) && s.typ == ptrPacketMeta
	p, n := d, in.Dst
	if !left {
		if !right {
			return
		}
		p, n, op = s, in.Src, op.Flip()
	}
	dp := *p
	// After p > end fails, p is in the packet or at its end: the bytes before it may be accessed.
	// After p >= end fails, the byte at p is in the packet, too.
	switch op {
	case num.Gt: // p > end
		c.goodPacket(c.cur, &dp, false)
		c.markEnd(other, n, true)
	case num.Lt:
		c.goodPacket(other, &dp, true)
		c.markEnd(c.cur, n, false)
	case num.Ge:
		c.goodPacket(c.cur, &dp, true)
		c.markEnd(other, n, false)
	case num.Le:
		c.goodPacket(other, &dp, false)
		c.markEnd(c.cur, n, true)
	}
}

// markEnd marks where a packet pointer is compared to the end (mark_pkt_end).
func (c *conditions) markEnd(s *state, n uint8, beyond bool) {
	r := &s.regs()[n]
	// Pointers to metadata have no mark.
	if r.typ != ptrPacket || !c.has(since.PacketEnds) {
		return
	}
	r.rng = atPktEnd
	if beyond {
		r.rng = beyondPktEnd
	}
}

// goodPacket marks the bytes up to the pointer as being in the packet, and one more if open is set
// (find_good_pkt_pointers).
func (c *conditions) goodPacket(s *state, p *reg, open bool) {
	n := int64(p.off)
	if c.rules.Arcs {
		*p, n = reg{value: value{typ: p.typ, Bounds: p.place()}, id: p.id}, 0
	}
	if c.has(since.OffsetInBounds) {
		// The added offset counts as well: all pointers with this identity include it.
		// A pointer that far away may be less than the end only because it has wrapped: that says
		// nothing.
		if p.SMin+n < 0 || p.UMax > maxPacketOff {
			return
		}
		n += int64(p.UMax)
		if n == 0 && open || n > maxPacketOff {
			return
		}
	} else if p.off < 0 || p.off == 0 && open || p.UMax > maxPacketOff || p.UMax+uint64(p.off) > maxPacketOff {
		return
	}
	switch {
	case open && c.has(since.OpenPacketEnd):
		n++
	case open:
		n--
	}
	// All pointers with the id have the same unknown part, so the bytes before this one are in the
	// packet for each of them.
	s.eachReg(spillMask, func(r *reg) bool {
		return r.typ == p.typ && r.id == p.id
	}, func(r *reg) {
		r.rng = max(r.rng, int32(n))
	})
}

// mayGoto explores both sides of may_goto: one goes on until the states converge, as nothing in the
// program bounds the loop; the kernel adds a counter when the program is loaded
// (check_cond_jmp_op).
func (c *conditions) mayGoto(in *decode.Insn) {
	c.mayGotoFields(in)
	var prev *state
	if c.cur.parent != nil {
		prev = c.checkpoints.findEntry(c.cur.parent, c.insn)
	}
	q := c.pool.push(c.insn+1, c.insn)
	q.mayGoto++
	// Without widening, a counter in the program would differ in each round, and no state match
	// (widen_imprecise_scalars).
	if prev != nil {
		c.checkpoints.widen(prev, q)
	}
	c.insn += int(in.Off)
}

// jumpTableRange returns the first and the last element of a jump table that a register may point
// to (indirect_jump_min_max_index).
func (c *conditions) jumpTableRange(n int, r *reg) (lo, hi uint64) {
	// Indices of elements are of 32 bits.
	const most = math.MaxUint32 * 8
	if c.has(since.OffsetInBounds) {
		at := r.place()
		if at.UMin > most {
			c.refuse(refusal.UminBeyondJumpTables, n, at.UMin)
		}
		if at.UMax > most {
			c.refuse(refusal.UmaxBeyondJumpTables, n, at.UMax)
		}
		return at.UMin / 8, at.UMax / 8
	}
	sum := func(v uint64) (uint64, bool) {
		total := v + uint64(int64(r.off))
		return total, (r.off < 0) == (total < v) && total <= most
	}
	lo, ok := sum(r.UMin)
	if !ok {
		c.refuse(refusal.UminSumBeyondJumpTables, n, r.UMin, uint32(r.off))
	}
	if hi, ok = sum(r.UMax); !ok {
		c.refuse(refusal.UmaxSumBeyondJumpTables, n, r.UMax, uint32(r.off))
	}
	return lo / 8, hi / 8
}

// gotox checks an indirect jump: all targets but one are queued.
func (c *conditions) gotox(in *decode.Insn) stepResult {
	c.values.checkSrc(in.Dst)
	r := c.reg(int(in.Dst))
	if r.typ != ptrInsn {
		c.refuse(refusal.TypeExpectedPTRTOINSN, in.Dst, c.typeName(r.typ))
	}
	m := c.mapOf(r)
	lo, hi := c.jumpTableRange(int(in.Dst), r)
	// The element is loaded without a check at run time.
	if hi >= uint64(m.MaxEntries) || hi >= uint64(len(m.Slots)) {
		c.refuse(refusal.PointsOutsideJumpTable, in.Dst, lo, hi, m.MaxEntries)
	}
	// Equal targets are one path. Targets are explored in ascending order but for the last, which
	// comes first (check_indirect_jump).
	seen := map[uint32]bool{}
	var targets []int
	for _, t := range m.Slots[lo : hi+1] {
		if !seen[t] {
			seen[t] = true
			targets = append(targets, int(t))
		}
	}
	sortInts(targets)
	for _, t := range targets[:len(targets)-1] {
		c.pool.push(t, c.insn)
	}
	c.insn = targets[len(targets)-1]
	return stepJumped
}
