package border

import "github.com/bpfrun/bpfrun/decode"

// packetCheck loads the packet's bounds and compares a pointer with data_end.
func (g *generator) packetCheck() {
	if !g.fl.packet || g.st.regs[6].kind != ctx || g.depth > 3 {
		return
	}
	data, end, cursor := 7+g.rng.IntN(2), 9, 1+g.rng.IntN(5)
	g.load(4, data, 6, g.fl.data)
	g.load(4, end, 6, g.fl.end)
	id := g.id()
	g.st.regs[data] = reg{kind: packet, id: id}
	g.st.regs[end] = reg{kind: packetEnd}
	if index := g.any(g.regsOf(scalar)); index >= 0 && g.chance(0.4) && index != data && index != end {
		if !g.chance(g.sloppy / 2) {
			g.alu(and, g.chance(0.8), index, []int32{3, 15, 63, 255, 0x3fff, 0xffff}[g.rng.IntN(6)])
		}
		g.aluReg(add, true, data, index)
		id = g.id()
		g.st.regs[data] = reg{kind: packet, id: id}
		g.st.regs[index] = reg{kind: scalar}
	}
	n := 1 + g.rng.IntN(40)
	g.aluReg(mov, true, cursor, data)
	g.alu(add, true, cursor, int32(n))
	g.st.regs[cursor] = reg{kind: packet, off: n, id: id}
	var pc int
	out := g.chance(0.7) // exit if the packet is too short
	op := []uint8{jgt, jge, jlt, jle}[g.rng.IntN(4)]
	switch op {
	case jgt, jge: // cursor > end means too short
		pc = g.emit(decode.ClassJMP|op|fromReg, cursor, end, 0, 0)
	default:
		pc = g.emit(decode.ClassJMP|(jgt+jge-jgt)|fromReg, end, cursor, 0, 0)
		g.insns[pc].Code = decode.ClassJMP | op | fromReg
	}
	before := g.st
	good := g.st
	for i := range good.regs {
		if good.regs[i].kind == packet && good.regs[i].id == id {
			good.regs[i].size = n
		}
	}
	g.st = good
	g.depth++
	if out && g.chance(0.5) { // the path with enough data falls through
		g.packetAccess()
		g.block(g.rng.IntN(3))
		g.land(pc)
		g.depth--
		g.join(&before)
		return
	}
	g.packetAccess()
	g.packetAccess()
	g.depth--
	g.exit()
	g.land(pc)
	g.st = before
}

// packetAccess reads or writes bytes of the packet that have been checked.
func (g *generator) packetAccess() {
	base := g.any(g.regsOf(packet))
	if base < 0 {
		return
	}
	r := g.st.regs[base]
	size := g.size()
	room := r.size - r.off - size
	if r.size < size && !g.chance(g.sloppy/8) {
		return
	}
	off := room
	if r.size > size && g.chance(0.5) {
		off = g.rng.IntN(r.size-size) - r.off
	}
	write := g.fl.write && g.chance(0.3)
	g.access(base, off+g.slip(), size, write)
}

// helper calls a helper that takes pointers and sizes.
func (g *generator) helper() {
	n := 1 + g.rng.IntN(40)
	depth := (n + 7) &^ 7
	at := -depth - 8*g.rng.IntN(3)
	fill := func() {
		for i := 0; i < depth; i += 8 {
			if !g.chance(g.sloppy / 4) {
				g.storeImm(8, 10, at+i, 0)
				g.wrote(at+i, 8)
			}
		}
	}
	pointer := func(r int) {
		g.aluReg(mov, true, r, 10)
		g.alu(add, true, r, int32(at))
	}
	size := func(r int) {
		if s := g.any(g.regsOf(scalar)); s >= 0 && s > 5 && g.chance(0.4) {
			g.aluReg(mov, true, r, s)
			switch g.rng.IntN(3) {
			case 0:
				g.alu(and, true, r, 7)
			case 1:
				g.alu(mod, true, r, int32(n+1+g.slip()))
			}
			return
		}
		g.alu(mov, true, r, int32(n+g.slip()))
	}
	switch g.rng.IntN(9) {
	case 0: // bpf_map_update_elem
		m := []int{mapArray, mapHash}[g.rng.IntN(2)]
		v := int(mapDefs[m].Value)
		for i := 0; i < v; i += 8 {
			g.storeImm(8, 10, -v+i, 1)
			g.wrote(-v+i, 8)
		}
		g.storeImm(8, 10, -v-8, 0)
		g.wrote(-v-8, 8)
		g.mapFD(1, m)
		g.aluReg(mov, true, 2, 10)
		g.alu(add, true, 2, int32(-v-8))
		g.aluReg(mov, true, 3, 10)
		g.alu(add, true, 3, int32(-v+g.slip()))
		g.alu(mov, true, 4, 0)
		g.call(2)
	case 1: // bpf_map_delete_elem
		g.storeImm(8, 10, -8, 0)
		g.wrote(-8, 8)
		g.mapFD(1, mapHash)
		g.aluReg(mov, true, 2, 10)
		g.alu(add, true, 2, int32(-8+g.slip()/2))
		g.call(3)
	case 2: // bpf_ktime_get_ns
		g.call(5)
	case 3: // bpf_skb_load_bytes
		if !g.fl.skb && !g.fl.packet || g.fl.data == 0 && g.fl.packet || g.st.regs[6].kind != ctx {
			return
		}
		size(4)
		g.aluReg(mov, true, 1, 6)
		g.alu(mov, true, 2, 14)
		pointer(3)
		g.call(26)
		g.wrote(at, n)
	case 4: // bpf_csum_diff
		if g.fl.typ != flavours[0].typ && g.fl.typ != flavours[1].typ {
			return
		}
		fill()
		size(4)
		g.alu(mov, true, 1, 0)
		g.alu(mov, true, 2, 0)
		pointer(3)
		g.alu(and, true, 4, 0x3c)
		g.alu(mov, true, 5, 0)
		g.call(28)
	case 5: // bpf_probe_read_kernel
		size(2)
		g.alu(mov, true, 3, 0)
		pointer(1)
		g.call(113)
		g.wrote(at, n)
	case 6: // bpf_map_push_elem, bpf_map_peek_elem
		g.storeImm(8, 10, -16, 0)
		g.storeImm(8, 10, -8, 0)
		g.wrote(-16, 16)
		g.mapFD(1, mapQueue)
		g.aluReg(mov, true, 2, 10)
		g.alu(add, true, 2, int32(-16+g.slip()))
		g.alu(mov, true, 3, 0)
		g.call([]int32{87, 89}[g.rng.IntN(2)])
	case 7: // bpf_tail_call
		if g.st.regs[6].kind != ctx {
			return
		}
		g.aluReg(mov, true, 1, 6)
		g.mapFD(2, mapProgs)
		g.alu(mov, true, 3, int32(g.rng.IntN(3)))
		if len(g.st.refs) > 0 && !g.chance(g.sloppy/4) {
			return
		}
		g.call(12)
		g.st.dropPackets()
	case 8: // bpf_skb_pull_data, bpf_xdp_adjust_head
		if !g.fl.packet || g.st.regs[6].kind != ctx || !g.fl.write {
			return
		}
		g.aluReg(mov, true, 1, 6)
		g.alu(mov, true, 2, int32(g.rng.IntN(64)))
		if g.fl.skb {
			g.call(39)
		} else {
			g.call(44)
		}
		if !g.chance(g.sloppy / 3) {
			g.st.dropPackets()
		}
	}
}

// ring reserves a record, uses it, and submits or discards it.
func (g *generator) ring() {
	if len(g.st.refs) > 1 || g.depth > 2 {
		if len(g.st.refs) > 0 {
			g.release()
		}
		return
	}
	n := 8 * (1 + g.rng.IntN(6))
	g.mapFD(1, mapRing)
	g.alu(mov, true, 2, int32(n))
	g.alu(mov, true, 3, 0)
	g.call(131)
	id := g.id()
	keep := 7 + g.rng.IntN(3)
	g.aluReg(mov, true, keep, 0)
	r := reg{kind: record, null: true, size: n, id: id}
	g.st.regs[0], g.st.regs[keep] = r, r
	if g.chance(g.sloppy / 3) {
		return
	}
	pc := g.emit(decode.ClassJMP|jne, keep, 0, 0, 0)
	before := g.st
	g.exit()
	g.land(pc)
	g.st = before
	g.st.checked(id)
	slot := 40 + len(g.st.refs)
	g.store(8, 10, keep, -8*(slot+1))
	g.wrote(-8*(slot+1), 8)
	g.st.slots[slot] = g.st.regs[keep]
	g.st.refs = append(g.st.refs[:len(g.st.refs):len(g.st.refs)], slot)
}

// release submits or discards the last record.
func (g *generator) release() {
	last := len(g.st.refs) - 1
	slot := g.st.refs[last]
	g.st.refs = g.st.refs[:last]
	g.load(8, 1, 10, -8*(slot+1))
	id := g.st.slots[slot].id
	g.alu(mov, true, 2, 0)
	g.call([]int32{132, 133}[g.rng.IntN(2)])
	g.st.regs[0] = reg{} // the helper returns void
	for i := range g.st.regs {
		if g.st.regs[i].kind == record && g.st.regs[i].id == id {
			g.st.regs[i] = reg{}
		}
	}
	g.st.slots[slot] = reg{}
}

// subprogram calls a subprogram.
func (g *generator) subprogram() {
	if len(g.subs) > 5 || g.inSub && len(g.subs) > 3 {
		return
	}
	args := 0
	for a := 1; a <= 3; a++ {
		if g.st.regs[a].kind == scalar {
			args |= 1 << a
		}
	}
	if g.st.regs[6].kind == ctx && g.chance(0.5) {
		g.aluReg(mov, true, 1, 6)
		args = args&^2 | 1
	}
	pc := g.emit(opCall, 0, decode.PseudoCall, 0, 0)
	g.subs = append(g.subs, call{pc, args})
	g.st.forget(1, 5)
	g.st.regs[0] = reg{kind: scalar}
}

// anything emits an instruction with random registers and numbers.
func (g *generator) anything() {
	dst, src := g.rng.IntN(10), g.rng.IntN(11)
	if known := g.regsOf(scalar, ctx, frame, value, packet, packetEnd, record, mapPtr); len(known) > 0 && !g.chance(0.05) {
		dst, src = g.any(known), g.any(append(known, 10))
	}
	ops := []uint8{add, sub, mul, or, and, lsh, rsh, xor, mov, arsh}
	switch g.rng.IntN(7) {
	case 0:
		g.aluReg(ops[g.rng.IntN(len(ops))], g.chance(0.7), dst, src)
	case 1:
		g.alu(ops[g.rng.IntN(len(ops))], g.chance(0.7), dst, g.imm())
	case 2:
		g.load(g.size(), dst, src, g.rng.IntN(64)-32)
	case 3:
		g.store(g.size(), src, dst, g.rng.IntN(64)-32)
	case 4:
		pc := g.emit(decode.ClassJMP|jumpOps[g.rng.IntN(len(jumpOps))]|fromReg, dst, src%10, 0, 0)
		before := g.st
		g.block(1)
		g.land(pc)
		g.join(&before)
		return
	case 5:
		if g.fl.skb {
			g.emit(decode.ClassLD|modeAbs|sizeCodes[1<<g.rng.IntN(3)], 0, 0, 0, int32(g.rng.IntN(40)))
			g.st.forget(1, 5)
			g.st.regs[0] = reg{kind: scalar}
			return
		}
	case 6:
		if g.chance(0.3) {
			g.call(1 + g.rng.Int32N(211))
			return
		}
	}
	g.st.regs[dst] = reg{}
	if dst != 6 {
		g.st.regs[dst].kind = scalar
	}
}
