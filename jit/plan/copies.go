package plan

import "github.com/bpfrun/bpfrun/decode"

// copyLoops appends the guards and copies of the loops that have guards, and directs all edges into
// their headers to the guards.
func (p *Program) copyLoops() {
	f := &p.loop
	at := int32(len(p.Insns))
	cells := p.Cells
	for i := range f.loops {
		l := &f.loops[i]
		if len(l.guards) == 0 {
			continue
		}
		cells -= len(l.guards)
		l.at = at
		at += p.copySize(l)
		p.leadTo(l)
	}
	for i := range f.loops {
		l := &f.loops[i]
		if len(l.guards) == 0 {
			continue
		}
		header := p.blocks[l.header].start
		for _, g := range l.guards {
			in := Insn{
				Kind: KindGuard, Slot: header, Target: header, Base: uint8(g.base), Check: CheckRange,
				Lo: int32(g.lo), Hi: int32(g.hi), Cell: int16(cells), Mark: -1,
			}
			if g.base > 10 {
				in.Base, in.Off = NoBase, l.spills[g.base-11]
			}
			if g.store {
				in.Flags |= FlagRangeStore
			}
			if g.bounds {
				in.Flags |= FlagBound
			}
			cells++
			p.Insns = append(p.Insns, in)
		}
		p.copyLoop(l, header, cells-len(l.guards))
	}
}

// leadTo directs all jumps to the header of a loop to its guards.
func (p *Program) leadTo(l *loop) {
	header := p.blocks[l.header].start
	for _, b := range p.loop.predsOf(l.header) {
		in := &p.Insns[p.blocks[b].last]
		switch in.Kind {
		case KindJump, KindBranch, KindMayGoto:
			if in.Target == header {
				in.Target = l.at
			}
		}
		if b+1 == l.header && goesOn(in) {
			p.Insns[header].Guard = l.at
		}
	}
}

// goesOn reports whether generated code may continue at the next slot.
func goesOn(in *Insn) bool {
	switch in.Kind {
	case KindJump, KindExit, KindInterpret:
		return false
	}
	return true
}

// parts calls f with each block of the copy of a loop and whether a jump has to follow the block.
func (p *Program) parts(l *loop, f func(b int32, jump bool)) {
	for i, b := range l.body {
		f(b, goesOn(&p.Insns[p.blocks[b].last]) && (i+1 == len(l.body) || l.body[i+1] != b+1))
	}
}

// copySize returns how many Insns copyLoop appends, guards included.
func (p *Program) copySize(l *loop) int32 {
	n := int32(len(l.guards))
	if l.body[0] != l.header {
		n++
	}
	p.parts(l, func(b int32, jump bool) {
		n += p.blocks[b].end - p.blocks[b].start
		if jump {
			n++
		}
	})
	return n
}

// copyLoop appends a copy of a loop without the checks that its guards make. The cells of the
// guards start at a number.
func (p *Program) copyLoop(l *loop, header int32, cells int) {
	f := &p.loop
	f.n++ // for f.in
	at := int32(len(p.Insns))
	if l.body[0] != l.header {
		at++
	}
	p.parts(l, func(b int32, jump bool) {
		f.in[b], f.pos[b] = f.n, at
		at += p.blocks[b].end - p.blocks[b].start
		if jump {
			at++
		}
	})
	jumpTo := func(to, slot int32) {
		p.Insns = append(p.Insns, Insn{Kind: KindJump, Op: decode.OpJa, Slot: slot, Target: to, Mark: -1, Cell: -1})
	}
	if l.body[0] != l.header {
		jumpTo(f.pos[l.header], header)
	}
	p.parts(l, func(b int32, jump bool) {
		blk := &p.blocks[b]
		from := len(p.Insns)
		p.Insns = append(p.Insns, p.Insns[blk.start:blk.end]...)
		for i := range p.Insns[from:] {
			in := &p.Insns[from+i]
			in.Flags &^= FlagEntry
			in.Guard = min(in.Guard, 0) // keep only Align
			switch in.Kind {
			case KindJump, KindBranch, KindMayGoto:
				p.leadInside(l, in)
			}
		}
		if jump {
			to := blk.end
			if g := p.Insns[to].Guard; g > 0 {
				to = g
			}
			jumpTo(to, blk.end)
		}
	})
	copied := func(pc int32) *Insn {
		b := p.leaders.index(pc)
		return &p.Insns[f.pos[b]+pc-p.blocks[b].start]
	}
	for i := range l.covers {
		if c := &l.covers[i]; c.found {
			copied(c.pc).Check = CheckDone
		}
	}
	p.align(l)
	for _, b := range l.bounds {
		in := copied(b.pc)
		in.Flags |= FlagBound
		in.Base, in.Cell = b.index, int16(cells+b.guard)
	}
	p.parts(l, func(b int32, _ bool) {
		p.refine(p.Insns[f.pos[b]:][:p.blocks[b].end-p.blocks[b].start])
	})
}

// smallLoop is the largest loop, in instructions, in which alignment padding would cost more than
// it gains.
const smallLoop = 16

// align marks what is aligned in the copy of a loop: its header, or, if the loop is small and is
// entered from above, its start.
func (p *Program) align(l *loop) {
	first, size := l.header, int32(0)
	for i, b := range l.body {
		size += p.blocks[b].length
		if b == l.header && i > 0 && l.body[i-1] == b-1 && goesOn(&p.Insns[p.blocks[b-1].last]) {
			first = l.body[0]
		}
	}
	if size > smallLoop {
		first = l.header
	}
	p.Insns[p.loop.pos[first]].Guard = Align
}

// leadInside directs a jump in the copy of a loop to the copy.
func (p *Program) leadInside(l *loop, in *Insn) {
	f := &p.loop
	if in.Target == l.at {
		in.Target = f.pos[l.header]
		return
	}
	if int(in.Target) < p.len {
		if b := p.leaders.index(in.Target); f.in[b] == f.n {
			in.Target = f.pos[b]
		}
	}
}
