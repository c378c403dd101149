package generate

import "github.com/bpfrun/bpfrun/decode"

// place is an address for an access that stays inside the memory under test.
type place struct {
	base int
	off  int
}

// place picks an address for an access of size bytes. Computed addresses are put into register tmp;
// there are none if tmp is negative. Accesses to the stack are always aligned, as the verifier
// requires.
func (p *program) place(size int, aligned bool, tmp int) place {
	align := 1
	if aligned || p.chance(30) {
		align = size
	}
	offset := func(room int) int { return p.rng.IntN((room-size)/align+1) * align }
	if p.usesStack && p.chance(45) {
		if aligned || tmp < 0 || p.chance(60) {
			return place{regFrame, p.rng.IntN(stackImage/size)*size - stackImage}
		}
		p.emit(decode.OpMov64Reg, tmp, p.src(), 0, 0)
		p.emit(decode.OpAnd64Imm, tmp, 0, 0, 56)
		p.emit(decode.OpAdd64Reg, tmp, regFrame, 0, 0)
		return place{tmp, -stackImage + p.rng.IntN(8/size)*size}
	}
	if tmp < 0 || p.chance(50) {
		return place{regValue, valueScratch + offset(scratchSize)}
	}
	switch p.rng.IntN(3) {
	case 0: // a negative offset from an address
		k := p.between(0, 12) * 8
		p.emit(decode.OpMov64Reg, tmp, regValue, 0, 0)
		p.emit(decode.OpAdd64Imm, tmp, 0, 0, int32(valueScratch+k))
		return place{tmp, offset(scratchSize) - k}
	case 1: // the map value added to a computed offset
		mask := 63
		if aligned {
			mask = 56
		}
		p.emit(decode.OpMov64Reg, tmp, p.src(), 0, 0)
		p.emit(decode.OpAnd64Imm, tmp, 0, 0, int32(mask))
		p.emit(decode.OpAdd64Reg, tmp, regValue, 0, 0)
		return place{tmp, valueScratch + offset(scratchSize-mask)}
	}
	// A computed offset added to the map value.
	s := p.dstNot(tmp)
	p.emit(decode.OpAnd64Imm, s, 0, 0, 56)
	p.emit(decode.OpMov64Reg, tmp, regValue, 0, 0)
	p.emit(decode.OpAdd64Reg, tmp, s, 0, 0)
	return place{tmp, valueScratch + offset(scratchSize-56)}
}

// memoryLoad emits a load or load-acquire and returns the result's register.
func (p *program) memoryLoad(op decode.Op) int {
	info := op.Info()
	d, tmp := p.dst(), p.dst()
	at := p.place(int(info.Size), info.Form == decode.FormLoadAcq, tmp)
	p.emit(op, d, at.base, at.off, 0)
	if at.base == tmp && d != tmp {
		p.number(tmp)
	}
	return d
}

// memoryStore emits a store of a register or immediate, or a store-release.
func (p *program) memoryStore(op decode.Op) {
	info := op.Info()
	tmp := p.dst()
	at := p.place(int(info.Size), info.Form == decode.FormStoreRel, tmp)
	s := p.src()
	for s == at.base {
		s = p.src()
	}
	p.emit(op, at.base, s, at.off, p.imm())
	if at.base == tmp {
		p.number(tmp)
	}
}

// number sets a register that held a pointer to a number.
func (p *program) number(r int) {
	if p.chance(50) {
		p.emit(decode.OpMov64Imm, r, 0, 0, p.imm())
		return
	}
	s := p.src()
	for s == r {
		s = p.src()
	}
	p.emit(decode.OpMov64Reg, r, s, 0, 0)
}

// atomic emits an atomic read-modify-write.
func (p *program) atomic(op decode.Op) {
	info := op.Info()
	size := int(info.Size)
	tmp, s := -1, p.src()
	if info.Form != decode.FormAtomic {
		s = p.dst() // the instruction writes it
	}
	if p.chance(50) {
		tmp = p.dst()
		for tmp == s || tmp == 0 {
			tmp = p.dst()
		}
	}
	at := p.place(size, true, tmp)
	if info.Form == decode.FormCmpXchg && p.chance(60) {
		// Load the current value into r0, so that the comparison succeeds. A 4-byte comparison
		// ignores the upper half of r0.
		p.emit(loadOfSize[info.Size], 0, at.base, at.off, 0)
		if size == 4 && p.chance(50) {
			if s == 0 {
				s = p.dstNot(0, at.base)
			}
			p.emit(decode.OpLsh64Imm, s, 0, 0, 32)
			p.emit(decode.OpOr64Reg, 0, s, 0, 0)
		}
	}
	p.emit(op, at.base, s, at.off, 0)
	if op == decode.OpCmpXchgW && p.cs.Cat == Random && p.gen.cfg.Kernel {
		// The x86 JIT clears the upper half of r0 only on request of the verifier, and the verifier
		// of Linux 6.18 does not request it if a 64-bit use of r0 follows only after a point where
		// it prunes. So use r0 at once.
		p.emit(decode.OpStxDW, regValue, 0, valueMark, 0)
	}
	if at.base == tmp {
		p.number(tmp)
	}
}

// newPacket creates the packet of the program.
func (p *program) newPacket() {
	p.cs.Packet = make([]byte, p.between(14, 80))
	if p.gen.cfg.Small {
		p.cs.Packet = make([]byte, p.between(14, 40))
	}
	for i := range p.cs.Packet {
		p.cs.Packet[i] = byte(7*i + p.rng.IntN(3))
	}
}

// packetLoad emits an LD_ABS or LD_IND. A daring one may access bytes outside the packet, which
// ends the program.
func (p *program) packetLoad(op decode.Op, daring bool) {
	n, size := len(p.cs.Packet), int(op.Info().Size)
	off := p.between(0, n-size)
	switch p.rng.IntN(5) {
	case 0: // relative to the network header
		off = p.between(0, n-14-min(size, n-14)) - 0x100000
		if n-14 < size {
			off = 0
		}
	case 1: // relative to the link-layer header
		off -= 0x200000
	}
	if daring && p.chance(60) {
		off = pick(p, []int{n - size, n - size + 1, n, n + 100, -1, -0x100000 - 1, -0x200000, -0x200000 - 1, -0x80000000, 0x7fffffff, 0})
	}
	src := 0
	if op.Info().Form == decode.FormLdInd {
		src = pick(p, []int{0, 7, 8})
		if p.busy[src] {
			src = 0
		}
		if p.chance(80) {
			part := uint64(p.between(0, n))
			off -= int(part)
			if p.chance(30) { // only the lower half is used
				part |= p.value() << 32
			}
			p.constant(src, part)
		} else {
			p.emit(decode.OpAnd64Imm, src, 0, 0, 15)
		}
	}
	p.emit(op, 0, src, 0, int32(off))
	p.clobbered()
}

// clobbered sets r1 to r5 to numbers after a call.
func (p *program) clobbered() {
	for r := 1; r <= 5; r++ {
		switch p.rng.IntN(4) {
		case 0:
			p.constant(r, p.related())
		case 1:
			if r > 1 {
				p.emit(decode.OpMov64Reg, r, r-1, 0, 0)
				continue
			}
			fallthrough
		default:
			p.emit(decode.OpLdxDW, r, regValue, 8*p.rng.IntN(9), 0)
		}
	}
}
