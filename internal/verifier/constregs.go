package verifier

import (
	"math"
	"unsafe"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Before exploring the program, releases from 7.1 on find registers that have the same value on
// every path to an instruction (kernel/bpf/const_fold.c). Branches decided by such values become
// jumps, and the stack analysis knows sizes passed to helpers.

// knownKind is the kind of value a register is known to have.
type knownKind uint8

const (
	knownUnvisited knownKind = iota
	knownNothing
	knownNumber
	knownMap
	knownMapValue
	knownFunc
)

// constReg is a register: a number, the index of a map, the offset in a map's value, or a function.
type constReg struct {
	kind knownKind
	mapp uint16
	val  uint64
}

// constRegs are the registers before an instruction.
type constRegs [11]constReg

// constFlow is what is needed of them: the registers before calls, and the branches that they
// decide.
type constFlow struct {
	calls   map[int]*constRegs
	decided map[int]bool // by instruction: whether the branch is taken
}

// computeConstRegs keeps registers where blocks begin; between, they follow from the instructions
// (bpf_compute_const_regs). The values go round loops until nothing changes: a register only ever
// loses its value, so this ends.
func (l *layout) computeConstRegs() *constFlow {
	starts := l.blockStarts()
	in := make([]*constRegs, len(l.insns))
	keep := func(at int, c *constRegs) {
		l.took(constRegsBytes)
		in[at] = new(constRegs)
		*in[at] = *c
	}
	var none constRegs
	// A function may be called with anything, so that nothing is known where it begins.
	for r := range none {
		none[r].kind = knownNothing
	}
	for s := range l.nsubs() {
		keep(l.subs[s].start, &none)
	}
	out := &constFlow{calls: map[int]*constRegs{}, decided: map[int]bool{}}
	var buf [2]int
	block := func(at int, last bool) (changed bool) {
		// A block is a run of instructions, each reached only from the one before.
		c := *in[at]
		for {
			if last {
				l.noteConst(out, &c, at)
			}
			l.constStep(&c, at)
			next := l.succ(buf[:0], at)
			if len(next) == 1 && !starts[next[0]] {
				at = next[0]
				continue
			}
			for _, s := range next {
				if in[s] == nil {
					keep(s, &c)
					changed = true
				} else if in[s].join(&c) {
					changed = true
				}
			}
			return changed
		}
	}
	for changed, last := true, false; changed || !last; {
		// The last pass changes nothing and notes what holds on every path.
		last = !changed
		changed = false
		for i := len(l.postorder) - 1; i >= 0; i-- {
			if at := l.postorder[i]; in[at] != nil && block(at, last) {
				changed = true
			}
		}
	}
	return out
}

const constRegsBytes = int64(unsafe.Sizeof(constRegs{}))

// noteConst records what is needed of an instruction.
func (l *layout) noteConst(out *constFlow, c *constRegs, at int) {
	in := &l.insns[at]
	switch {
	case !isJump(in) || opOf(in) == opJA || opOf(in) == opExit || opOf(in) == opJCOND:
		return
	case opOf(in) == opCall:
		l.took(constRegsBytes)
		known := *c
		out.calls[at] = &known
		return
	}
	x, ok := c.number(in.Dst)
	y := uint64(int64(in.Imm))
	if ok && isX(in) {
		y, ok = c.number(in.Src)
	}
	if !ok {
		return
	}
	// 32-bit operands are compared after the sign extension of their lower halves, whether the
	// comparison has a sign or not: the order of numbers without sign is the same.
	if class(in) == clsJMP32 {
		x, y = uint64(int64(int32(x))), uint64(int64(int32(y)))
	}
	out.decided[at] = branchTaken(opOf(in), x, y)
}

// blockStarts returns the instructions that are not only reached from the one before, which leads
// nowhere else.
func (u *subject) blockStarts() []bool {
	starts := make([]bool, len(u.insns)+1)
	for _, s := range u.subs {
		starts[s.start] = true
	}
	var buf [2]int
	for _, at := range u.postorder {
		width := 1
		if isLdImm64(&u.insns[at]) {
			width = 2
		}
		next := u.succ(buf[:0], at)
		for _, s := range next {
			if len(next) > 1 || s != at+width {
				starts[s] = true
			}
		}
	}
	return starts
}

// join keeps what is the same on both paths.
func (c *constRegs) join(o *constRegs) bool {
	changed := false
	for r := range c {
		old, now := &c[r], o[r]
		switch {
		case old.kind == knownUnvisited && now.kind != knownUnvisited:
			*old, changed = now, true
		case old.kind != knownNothing && old.kind != knownUnvisited && *old != now:
			*old, changed = constReg{kind: knownNothing}, true
		}
	}
	return changed
}

// number returns the value if it fits the 32 bits that the kernel stores (const_reg_vals).
func (c *constRegs) number(r uint8) (uint64, bool) {
	if r > 9 || c[r].kind != knownNumber || c[r].val > math.MaxUint32 {
		return 0, false
	}
	return c[r].val, true
}

// constStep applies an instruction (const_reg_xfer). What it does not follow makes the register
// unknown: the values decide branches for good, so that none may be wrong.
func (l *layout) constStep(c *constRegs, at int) {
	in := &l.insns[at]
	dst := &c[min(in.Dst, 10)]
	unknown := constReg{kind: knownNothing}
	switch class(in) {
	case clsALU, clsALU64:
		l.constALU(c, in, dst)
	case clsLD:
		// Packet loads are calls of kernel code: they clobber what calls do.
		if mode(in) == modeABS || mode(in) == modeIND {
			c.forgetCall()
			return
		}
		if !isLdImm64(in) {
			return
		}
		switch a := &l.aux[at]; in.Src {
		case decode.PseudoFunc:
			// A callback that is known is analysed with what it gets.
			*dst = unknown
			if s := l.subprogFrom(callTarget(at, in)); s >= 0 {
				*dst = constReg{kind: knownFunc, val: uint64(s)}
			}
		case decode.PseudoMapValue, decode.PseudoMapIdxValue:
			// Places in map values are followed for constant maps, whose contents are known.
			*dst = constReg{kind: knownMapValue, mapp: a.mapp, val: uint64(a.off)}
		case decode.PseudoMapFD, decode.PseudoMapIdx:
			*dst = constReg{kind: knownMap, mapp: a.mapp}
		case 0:
			*dst = constReg{kind: knownNumber, val: decode.Imm64(l.insns, at)}
		default:
			*dst = unknown
		}
	case clsLDX:
		*dst = l.constLoad(c, in)
	case clsJMP:
		if in.Code&0xf8 == opCall {
			c.forgetCall()
		}
	case clsSTX:
		if r := atomicResult(in); r >= 0 {
			c[r] = unknown
		}
	}
}

// forgetCall forgets what a call clobbers.
func (c *constRegs) forgetCall() {
	for r := range 6 {
		c[r] = constReg{kind: knownNothing}
	}
}

// constALU applies arithmetic (const_reg_xfer): moves, and sums and masks with constants, of which
// flags and offsets in programs are made.
func (l *layout) constALU(c *constRegs, in *decode.Insn, dst *constReg) {
	src := c[min(in.Src, 10)]
	unknown := constReg{kind: knownNothing}
	offset := dst.kind == knownNumber || dst.kind == knownMapValue
	switch in.Code & 0xf8 {
	case opMov:
		*dst = constReg{kind: knownNumber, val: uint64(int64(in.Imm))}
	case opMov | srcX:
		*dst = src
		if in.Off == 0 {
			break
		}
		switch {
		case dst.kind != knownNumber:
			*dst = unknown
		case in.Off == 8:
			// A move that extends the sign of the low bits.
			dst.val = uint64(int64(int8(dst.val)))
		case in.Off == 16:
			dst.val = uint64(int64(int16(dst.val)))
		case in.Off == 32:
			dst.val = uint64(int64(int32(dst.val)))
		default:
			*dst = unknown
		}
	case opAdd, opSub:
		switch {
		case !offset:
			// Sums keep what they are added to: a number, or a place in a map's value.
			*dst = unknown
		case opOf(in) == opAdd:
			dst.val += uint64(int64(in.Imm))
		default:
			dst.val -= uint64(int64(in.Imm))
		}
	case opAnd:
		// A number is 0 after it meets 0, whatever it was.
		switch {
		case dst.kind == knownNumber:
			dst.val &= uint64(int64(in.Imm))
		case in.Imm == 0:
			*dst = constReg{kind: knownNumber}
		default:
			*dst = unknown
		}
	case opAnd | srcX:
		switch {
		case dst.kind == knownNumber && dst.val == 0:
		case src.kind == knownNumber && src.val == 0:
			*dst = constReg{kind: knownNumber}
		case dst.kind == knownNumber && src.kind == knownNumber:
			dst.val &= src.val
		default:
			*dst = unknown
		}
	default:
		*dst = unknown
	}
	// The upper half is cleared, so that nothing but a number is left.
	if class(in) == clsALU {
		if dst.kind == knownNumber {
			dst.val = uint64(uint32(dst.val))
		} else {
			*dst = unknown
		}
	}
}

// constLoad returns the value of a load: a number if it reads a constant map. Only maps that
// neither programs nor user space can write any more are constant (bpf_map_is_rdonly).
func (l *layout) constLoad(c *constRegs, in *decode.Insn) constReg {
	src := c[min(in.Src, 10)]
	if src.kind != knownMapValue || src.mapp == 0 {
		return constReg{kind: knownNothing}
	}
	m := l.maps[src.mapp-1]
	at, size := int64(int32(src.val))+int64(in.Off), sizeOf(in)
	if m.Frozen == nil || m.Type == uapi.MapTypeInsnArray || at < 0 || at+int64(size) > int64(min(len(m.Frozen), int(m.ValueSize))) {
		return constReg{kind: knownNothing}
	}
	// What user space sets before the load is a constant for the kernel, but not yet known here.
	if o, open := m.openAt(at, size); open && !o.decided() {
		return constReg{kind: knownNothing}
	} else if open {
		x := o.bounds(l.rules)
		if mode(in) == modeMEMSX {
			x.SignExtend(size)
		}
		return constReg{kind: knownNumber, val: x.UMin}
	}
	b := m.Frozen[at : at+int64(size)]
	if mode(in) == modeMEMSX {
		return constReg{kind: knownNumber, val: uint64(endian.Int(l.order(), b))}
	}
	return constReg{kind: knownNumber, val: endian.Uint(l.order(), b)}
}

// atomicResult returns the register that an atomic operation loads, -1 if there is none
// (bpf_atomic_load_reg).
func atomicResult(in *decode.Insn) int {
	switch {
	case class(in) != clsSTX || mode(in) != modeATOMIC:
		return -1
	case in.Imm == cmpxchg:
		return 0
	case in.Imm == loadAcq:
		return int(in.Dst)
	case in.Imm&fetch != 0:
		return int(in.Src)
	}
	return -1
}

// pruneDeadBranches turns branches that constants decide into jumps, so that dead code does not
// count as reading anything (bpf_prune_dead_branches). Options of programs are often such
// constants, in .rodata.
func (l *layout) pruneDeadBranches(known *constFlow) {
	if len(known.decided) == 0 {
		return
	}
	l.insns = append([]decode.Insn(nil), l.insns...)
	for at, taken := range known.decided {
		jump := decode.Insn{Code: clsJMP | opJA}
		if taken {
			jump.Off = l.insns[at].Off
		}
		l.insns[at] = jump
	}
	// The branch that is never taken leads nowhere any more.
	l.computePostorder()
}

// branchTaken decides a branch between two numbers (bpf_prune_dead_branches).
func branchTaken(op uint8, x, y uint64) bool {
	switch op {
	case 0x10:
		return x == y
	case 0x50:
		return x != y
	case 0x20:
		return x > y
	case 0x30:
		return x >= y
	case 0xa0:
		return x < y
	case 0xb0:
		return x <= y
	case 0x60:
		return int64(x) > int64(y)
	case 0x70:
		return int64(x) >= int64(y)
	case 0xc0:
		return int64(x) < int64(y)
	case 0xd0:
		return int64(x) <= int64(y)
	}
	return x&y != 0 // jset
}
