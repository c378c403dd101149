package border

import "github.com/bpfrun/bpfrun/decode"

// lookup looks up a map element.
func (g *generator) lookup() {
	m := []int{mapArray, mapHash, mapPercpu}[g.rng.IntN(3)]
	at := -8 * (1 + g.rng.IntN(6))
	key := int(mapDefs[m].Key)
	if key == 4 {
		g.storeImm(4, 10, at, int32(g.rng.IntN(6)))
	} else if r := g.any(g.regsOf(scalar)); r >= 0 {
		g.store(8, 10, r, at)
	} else {
		g.storeImm(8, 10, at, g.imm())
	}
	if !g.chance(g.sloppy / 4) {
		g.wrote(at, key)
	}
	g.mapFD(1, m)
	g.aluReg(mov, true, 2, 10)
	g.alu(add, true, 2, int32(at+g.slip()/2))
	g.call(1)
	id := g.id()
	dst := 0
	g.st.regs[0] = reg{kind: value, null: true, m: m, size: int(mapDefs[m].Value), id: id}
	if g.chance(0.6) {
		dst = 7 + g.rng.IntN(3)
		g.aluReg(mov, true, dst, 0)
		g.st.regs[dst] = g.st.regs[0]
	}
	if g.chance(0.8) {
		g.check(dst)
	}
}

// check compares a pointer with null, and exits or skips a block if it is.
func (g *generator) check(r int) {
	if g.chance(0.7) {
		pc := g.emit(decode.ClassJMP|jne, r, 0, 0, 0)
		before := g.st
		g.exit()
		g.land(pc)
		g.st = before
		g.st.checked(g.st.regs[r].id)
		return
	}
	pc := g.emit(decode.ClassJMP|jeq, r, 0, 0, 0)
	before := g.st
	g.st.checked(g.st.regs[r].id)
	g.depth++
	g.block(1 + g.rng.IntN(4))
	g.depth--
	g.land(pc)
	g.join(&before)
}

func (g *generator) nullCheck() {
	var list []int
	for i, r := range g.st.regs {
		if r.null {
			list = append(list, i)
		}
	}
	if r := g.any(list); r >= 0 && g.depth < 4 {
		g.check(r)
	}
}

// access reads or writes size bytes at a register plus off.
func (g *generator) access(base, off, size int, write bool) {
	if !write {
		dst := g.target()
		mode := uint8(modeMem)
		if size < 8 && g.chance(0.15) {
			mode = modeMemSX
		}
		g.emit(decode.ClassLDX|mode|sizeCodes[size], dst, base, off, 0)
		g.st.regs[dst] = reg{kind: scalar}
		if size < 8 && mode == modeMem {
			g.st.regs[dst].bounded, g.st.regs[dst].hi = true, 1<<(8*size)-1
		}
		return
	}
	if src := g.any(g.regsOf(scalar)); src >= 0 && g.chance(0.6) {
		g.store(size, base, src, off)
		return
	}
	g.storeImm(size, base, off, g.imm())
}

// valueAccess accesses a map value or record at a constant or a checked variable offset.
func (g *generator) valueAccess() {
	base := g.any(g.regsOf(value, record))
	if base < 0 {
		g.lookup()
		return
	}
	r := g.st.regs[base]
	if r.null && !g.chance(g.wild*3) {
		return
	}
	size := g.size()
	write := g.chance(0.4) && r.m != mapConst
	room := r.size - r.off - size
	if room < 0 {
		return
	}
	index := g.any(g.regsOf(scalar))
	if index < 0 || g.chance(0.4) {
		off := []int{0, room, g.rng.IntN(room + 1)}[g.rng.IntN(3)]
		g.access(base, off+g.slip(), size, write)
		return
	}
	if room == 0 {
		return
	}
	g.bounded(base, index, room, size, write)
}

// bounded checks an index against room, in bytes, and accesses base + index.
func (g *generator) bounded(base, index, room, size int, write bool) {
	limit := room
	disp := 0
	if room > 1 && g.chance(0.4) {
		disp = g.rng.IntN(room)
		limit -= disp
	}
	limit += g.slip()
	pc := -1
	skipState := g.st
	class := uint8(decode.ClassJMP)
	if g.chance(0.15) {
		class = decode.ClassJMP32
	}
	switch g.rng.IntN(6) {
	case 0:
		n := int32(1)
		for n*2-1 <= int32(limit) {
			n *= 2
		}
		g.alu(and, g.chance(0.7), index, n-1)
	case 1:
		pc = g.emit(class|jgt, index, 0, 0, int32(limit))
	case 2:
		pc = g.emit(class|jge, index, 0, 0, int32(limit)+1)
	case 3: // signed, both bounds
		pc = g.emit(class|jsgt, index, 0, 0, int32(limit))
		if !g.chance(g.sloppy) {
			low := g.emit(class|jslt, index, 0, 0, int32(-g.slip()))
			defer func() { g.land(low) }()
		}
	case 4:
		g.alu(mod, g.chance(0.7), index, int32(limit)+1)
	case 5: // compare with a register
		t := 1 + g.rng.IntN(5)
		if t == index || t == base {
			return
		}
		g.alu(mov, true, t, int32(limit))
		g.st.regs[t] = reg{kind: scalar, bounded: true, lo: int64(limit), hi: int64(limit)}
		pc = g.emit(class|jgt|fromReg, index, t, 0, 0)
	}
	if g.chance(0.15) && index != base {
		g.alu(lsh, true, index, 1)
		g.alu(rsh, true, index, 1)
	}
	p := base
	if g.chance(0.7) {
		p = []int{0, 1, 2, 3, 4, 5}[g.rng.IntN(6)]
		if p != base && p != index {
			g.aluReg(mov, true, p, base)
			g.st.regs[p] = g.st.regs[base]
		} else {
			p = base
		}
	}
	g.aluReg(add, true, p, index)
	g.access(p, disp, size, write)
	if g.st.regs[p].kind == value || g.st.regs[p].kind == record {
		g.st.regs[p] = reg{}
	}
	if p == base {
		g.st.regs[base] = reg{}
	}
	if pc >= 0 {
		g.land(pc)
		g.join(&skipState)
	}
}

// indexed accesses memory with the loop counter as the index.
func (g *generator) indexed(counter, limit int) {
	if base := g.any(g.regsOf(value)); base >= 0 && !g.st.regs[base].null && base != counter {
		r := g.st.regs[base]
		size := 1
		if limit+size+r.off > r.size+g.slip() {
			return
		}
		t := 1 + g.rng.IntN(5)
		if t == base {
			return
		}
		g.aluReg(mov, true, t, base)
		g.aluReg(add, true, t, counter)
		g.access(t, 0, size, r.m != mapConst && g.chance(0.5))
		g.st.regs[t] = reg{}
		return
	}
	// Use the stack, after initialising it.
	n := 1 + g.rng.IntN(8)
	for i := range n {
		g.storeImm(8, 10, -8*(i+1), 0)
		g.wrote(-8*(i+1), 8)
	}
	t := 1 + g.rng.IntN(5)
	g.aluReg(mov, true, t, 10)
	g.aluReg(add, true, t, counter)
	g.access(t, -8*n, 1, g.chance(0.5))
	if g.st.regs[t].kind != scalar {
		g.st.regs[t] = reg{}
	}
}

// wrote marks stack bytes as written.
func (g *generator) wrote(off, size int) {
	for i := range size {
		if at := -(off + i) - 1; at >= 0 && at < 512 {
			g.st.used[at] = true
			g.st.slots[at/8] = reg{}
		}
	}
}

// stackAccess spills, fills, writes and reads the stack.
func (g *generator) stackAccess() {
	deep := 1 + g.rng.IntN(8)
	if g.chance(0.05) {
		deep = 60 + g.rng.IntN(6)
	}
	at := -8 * deep
	switch g.rng.IntN(6) {
	case 0, 1: // spill
		r := g.rng.IntN(10)
		if g.st.regs[r].kind == none {
			return
		}
		g.store(8, 10, r, at)
		g.wrote(at, 8)
		if deep <= 64 {
			g.st.slots[deep-1] = g.st.regs[r]
		}
	case 2: // fill
		if deep > 64 || g.st.slots[deep-1].kind == none {
			return
		}
		dst := g.target()
		size := 8
		if g.st.slots[deep-1].kind == scalar && g.chance(0.3) {
			size = 4
		}
		g.load(size, dst, 10, at+g.slip()&^3)
		g.st.regs[dst] = g.st.slots[deep-1]
		if size != 8 {
			g.st.regs[dst] = reg{kind: scalar}
		}
	case 3:
		size := g.size()
		off := at + size*g.rng.IntN(8/size) + g.slip()/4
		if r := g.any(g.regsOf(scalar)); r >= 0 && g.chance(0.6) {
			g.store(size, 10, r, off)
		} else {
			g.storeImm(size, 10, off, g.imm())
		}
		g.wrote(off, size)
	case 4:
		size := g.size()
		off := at + size*g.rng.IntN(8/size)
		for i := range size {
			if b := -(off + i) - 1; b < 0 || b >= 512 || !g.st.used[b] && !g.chance(0.5) {
				return
			}
		}
		dst := g.target()
		g.load(size, dst, 10, off)
		g.st.regs[dst] = reg{kind: scalar}
	case 5: // variable offset
		index := g.any(g.regsOf(scalar))
		t := 1 + g.rng.IntN(5)
		if index < 0 || t == index {
			return
		}
		n := 1 + g.rng.IntN(4)
		for i := range n {
			g.storeImm(8, 10, -8*(i+1), int32(i))
			g.wrote(-8*(i+1), 8)
		}
		size := g.size()
		g.alu(and, true, index, int32(8*n-size)&^int32(g.rng.IntN(8))+int32(g.slip()))
		g.st.regs[index] = reg{kind: scalar}
		g.aluReg(mov, true, t, 10)
		g.aluReg(add, true, t, index)
		g.access(t, -8*n+g.slip()/4, size, g.chance(0.5))
		if g.st.regs[t].kind != scalar {
			g.st.regs[t] = reg{}
		}
	}
}

// atomic emits an atomic memory operation.
func (g *generator) atomic() {
	base := g.any(g.regsOf(value, record))
	src := g.any(g.regsOf(scalar))
	if base < 0 || src < 0 || g.st.regs[base].null || g.st.regs[base].m == mapConst {
		return
	}
	r := g.st.regs[base]
	size := 4 << g.rng.IntN(2)
	room := r.size - r.off - size
	if room < 0 {
		return
	}
	op := []int32{0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1}[g.rng.IntN(10)]
	if op == 0xf1 && g.st.regs[0].kind != scalar {
		op = 0xe1
	}
	g.emit(decode.ClassSTX|modeAtomic|sizeCodes[size], base, src, room&^(size-1)+g.slip()&^3, op)
	switch {
	case op == 0xf1:
		g.st.regs[0] = reg{kind: scalar}
	case op&1 != 0:
		g.st.regs[src] = reg{kind: scalar}
	}
}

// pointerMath adds to, subtracts and compares pointers.
func (g *generator) pointerMath() {
	p := g.any(g.regsOf(value, packet, record, frame))
	if p < 0 {
		p = 1 + g.rng.IntN(5)
		g.aluReg(mov, true, p, 10)
		g.st.regs[p] = reg{kind: frame}
		return
	}
	r := &g.st.regs[p]
	switch g.rng.IntN(4) {
	case 0, 1:
		n := int32(g.rng.IntN(24))
		if r.kind == frame {
			n = -n
		}
		if r.null && !g.chance(g.wild) {
			return
		}
		op := uint8(add)
		if g.chance(0.2) {
			op, n = sub, -n
		}
		g.alu(op, true, p, n)
		if op == add {
			r.off += int(n)
		} else {
			r.off -= int(n)
		}
	case 2:
		q := g.any(g.regsOf(r.kind))
		dst := g.target()
		if dst == q {
			return
		}
		g.aluReg(mov, true, dst, p)
		g.aluReg(sub, true, dst, q)
		g.st.regs[dst] = reg{kind: scalar}
	case 3:
		q := g.any(g.regsOf(r.kind))
		pc := g.emit(decode.ClassJMP|[]uint8{jeq, jne}[g.rng.IntN(2)]|fromReg, p, q, 0, 0)
		before := g.st
		g.block(1)
		g.land(pc)
		g.join(&before)
	}
}
