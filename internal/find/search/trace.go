package search

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/loader"
)

// Branch is a comparison that a run made.
type Branch struct {
	// At is the comparison, Other the instruction on the side that it did not take. Taken means
	// that it jumped.
	At, Other Site
	Op        decode.Op
	Taken     bool
	// Sides are the operands; From is where they came from, nil for constants and for what is not
	// followed.
	Sides [2]uint64
	From  [2]*Value
}

// cell is what a byte of memory holds: byte i of a value, a copy of the byte at an address, or, if
// neither, something unknown.
type cell struct {
	v    *Value
	i    int
	copy uint64
}

// Trace is a [machine.Tracer] that follows the values of one run from what the program reads to the
// comparisons it makes, and makes changes to the input before the program reads what they change.
type Trace struct {
	// Reached are the instructions that the run executed, Branches its comparisons in order, Insns
	// the number of instructions.
	Reached  Sites
	Branches []Branch
	Insns    int

	m        *machine.Machine
	ctx      *hook.Context
	packet   *mem.Region // at the start, nil without one
	data     uint64      // of the packet's first byte then
	length   int         // of the packet then
	lead     int         // bytes of the frame before it
	pending  []Override
	elements []Override
	lookups  map[uint64]int // of each map so far
	regs     [11]*Value
	saved    [][11]*Value
	depth    int
	memory   map[uint64]cell
	matching bool // keys are compared with those of elements that exist
	// constants and like are those of the options.
	constants bool
	like      func(*loader.Map) []byte
}

// NewTrace prepares to trace a run that has begun, with changes that are made now, or once what
// they change exists.
func NewTrace(m *machine.Machine, ctx *hook.Context, changes []Override) *Trace {
	t := &Trace{m: m, ctx: ctx, depth: -1, memory: map[uint64]cell{}, lookups: map[uint64]int{}}
	if ctx != nil && ctx.Packet != nil {
		t.packet, t.data, t.length = ctx.Packet.Region(), ctx.Packet.Data(), ctx.Packet.Len()
		t.lead = max(len(ctx.FrameIn())-ctx.Packet.Len(), 0)
	}
	for _, o := range changes {
		if o.Kind == Element {
			t.elements = append(t.elements, o)
		} else if o.Kind == Memory && !inPacket(o) && !t.poke(o) {
			t.pending = append(t.pending, o)
		}
	}
	t.insert(nil)
	return t
}

// poke writes bytes from outside of the program; false if there is no memory yet.
func (t *Trace) poke(o Override) bool {
	if o.Place.Input == ContextField {
		return t.ctx != nil && t.ctx.SetField(o.Place.Name, o.number(t.m))
	}
	return poke(t.m, o)
}

// poke writes the bytes of an override to memory.
func poke(m *machine.Machine, o Override) bool {
	if m.Kernel().Poke(o.Addr, o.Data) {
		return true
	}
	memory := m.Memory()
	if memory.IsUser(o.Addr) {
		return memory.WriteUser(o.Addr, o.Data) == nil
	}
	if memory.Window(o.Addr) != nil {
		return memory.Write(o.Addr, o.Data) == nil
	}
	r := memory.Find(o.Addr)
	if r == nil || r.View != nil || o.Addr+uint64(len(o.Data)) > r.Base+r.Size {
		return false
	}
	copy(memory.Bytes(r)[o.Addr-r.Base:], o.Data)
	memory.NoteWrite(o.Addr, uint64(len(o.Data)))
	return true
}

// Step implements [machine.Tracer].
func (t *Trace) Step(p *loader.LinkedProgram, pc, depth int, before, after *[11]uint64) {
	t.frames(depth)
	t.Insns++
	t.Reached.Add(Site{p, pc})
	in := p.Insns[pc]
	op := in.Op()
	info := op.Info()
	switch {
	case op >= decode.OpAdd64Imm && op <= decode.OpBswap64:
		t.alu(in, op, before)
	case op >= decode.OpLdxB && op <= decode.OpLdxSW:
		t.load(in, op, int(info.Size), before, after)
	case op >= decode.OpStB && op <= decode.OpStxDW:
		var v *Value
		if op >= decode.OpStxB {
			v = t.regs[in.Src]
		}
		for i := range uint64(info.Size) {
			t.memory[before[in.Dst]+uint64(int64(in.Off))+i] = cell{v: v, i: int(i)}
		}
	case op >= decode.OpLdAbsB && op <= decode.OpLdIndW:
		t.legacy(in, op, int(info.Size), before, after)
	case op == decode.OpCallHelper:
		t.call(in, before, after)
	case op == decode.OpCallLocal || op == decode.OpExit:
	case op == decode.OpCallKfunc || op == decode.OpCallX:
		clear(t.regs[:6])
	default:
		t.jump(p, pc, in, op, before)
		for r := range t.regs {
			if before[r] != after[r] {
				t.regs[r] = nil
			}
		}
	}
	t.retry()
	t.insert(p)
}

// frames keeps the callee-saved registers of callers, of callbacks too.
func (t *Trace) frames(depth int) {
	if t.depth < 0 {
		t.depth = depth
	}
	for ; t.depth < depth; t.depth++ {
		t.saved = append(t.saved, t.regs)
		clear(t.regs[6:])
	}
	for ; t.depth > depth; t.depth-- {
		if n := len(t.saved); n > 0 {
			copy(t.regs[6:], t.saved[n-1][6:])
			t.saved = t.saved[:n-1]
		}
	}
}

// retry makes the changes whose memory exists now.
func (t *Trace) retry() {
	if len(t.pending) == 0 {
		return
	}
	left := t.pending[:0]
	for _, o := range t.pending {
		if !t.poke(o) {
			left = append(left, o)
		}
	}
	t.pending = left
}

func usesSrc(op decode.Op) bool { return op.Info().Reads&decode.RegSrc != 0 }

func (t *Trace) alu(in decode.Insn, op decode.Op, before *[11]uint64) {
	dst, src := t.regs[in.Dst], (*Value)(nil)
	c := uint64(int64(in.Imm))
	if usesSrc(op) {
		src, c = t.regs[in.Src], before[in.Src]
	}
	readsDst := op.Info().Reads&decode.RegDst != 0
	switch {
	case src != nil && (!readsDst || dst == nil):
		t.regs[in.Dst] = src.then(Step{op, before[in.Dst], true})
	case readsDst && dst != nil:
		// Of two values, the first one is followed: the other side is constant as long as only one
		// input changes.
		t.regs[in.Dst] = dst.then(Step{Op: op, Constant: c}).beside(src)
	default:
		t.regs[in.Dst] = nil
	}
}

// load follows bytes that are read: the program's own, copies, or an input.
func (t *Trace) load(in decode.Insn, op decode.Op, size int, before, after *[11]uint64) {
	addr := before[in.Src] + uint64(int64(in.Off))
	v := t.read(addr, size, after[in.Dst])
	switch op {
	case decode.OpLdxSB:
		v = v.then(Step{decode.OpMovSX8To64, 0, true})
	case decode.OpLdxSH:
		v = v.then(Step{decode.OpMovSX16To64, 0, true})
	case decode.OpLdxSW:
		v = v.then(Step{decode.OpMovSX32To64, 0, true})
	}
	t.regs[in.Dst] = v
}

// legacy follows a load of packet bytes in network order.
func (t *Trace) legacy(in decode.Insn, op decode.Op, size int, before, after *[11]uint64) {
	clear(t.regs[:6])
	off := uint64(uint32(in.Imm))
	if op >= decode.OpLdIndB {
		off = uint64(uint32(before[in.Src]) + uint32(in.Imm))
	}
	if t.packet == nil || int32(off) < 0 {
		return
	}
	swap := map[int]decode.Op{2: decode.OpBE16, 4: decode.OpBE32}[size]
	was := after[0]
	if swap != 0 {
		was, _ = swap.Compute(was, 0)
	}
	v := t.read(t.data+off, size, was)
	if swap != 0 {
		v = v.then(Step{Op: swap})
	}
	t.regs[0] = v
}

// read returns what size bytes at an address came from; loaded is their value.
func (t *Trace) read(addr uint64, size int, loaded uint64) *Value {
	if size < 8 {
		loaded &= 1<<(8*size) - 1
	}
	first, known := t.memory[addr]
	for i := range size {
		c, ok := t.memory[addr+uint64(i)]
		if ok != known || ok && (c.v != first.v || c.v != nil && c.i != first.i+i || c.v == nil && (c.copy == 0 || c.copy != first.copy+uint64(i))) {
			return nil
		}
	}
	switch {
	case known && first.v != nil:
		v := first.v
		if first.i > 0 {
			v = v.then(Step{Op: decode.OpRsh64Imm, Constant: uint64(8 * first.i)})
		}
		if size < 8 {
			v = v.then(Step{Op: decode.OpAnd64Reg, Constant: 1<<(8*size) - 1})
		}
		return v
	case known:
		addr = first.copy
	}
	return &Value{From: t.source(addr, size), Was: loaded}
}

// source is memory as an input, or the packet's length where a context shows that.
func (t *Trace) source(addr uint64, size int) *Source {
	s := &Source{Kind: Memory, Addr: addr, Size: size, packet: -1}
	if p := t.packet; p != nil {
		now := t.ctx.Packet
		switch {
		case p.Contains(addr) && addr >= t.data:
			s.packet = int(addr - t.data)
		case now.Region() != p && now.Region().Contains(addr) && addr >= now.Data() && now.Len() == t.length: // it was moved
			s.packet = int(addr - now.Data())
		}
	}
	if c := t.ctx; c != nil && c.Packet != nil && c.Region != nil && c.Region.View != nil && c.Region.Contains(addr) {
		if c.LengthAt(addr - c.Addr) {
			s.Kind = Length
		}
	}
	return s
}

// longest is the length up to which packets are made longer.
const longest = 1500

// jump notes a comparison whose outcome depends on inputs.
func (t *Trace) jump(p *loader.LinkedProgram, pc int, in decode.Insn, op decode.Op, before *[11]uint64) {
	b := Branch{At: Site{p, pc}, Op: op, Sides: [2]uint64{before[in.Dst], uint64(int64(in.Imm))}, From: [2]*Value{t.regs[in.Dst], nil}}
	if usesSrc(op) {
		b.Sides[1], b.From[1] = before[in.Src], t.regs[in.Src]
	}
	taken, ok := op.Holds(b.Sides[0], b.Sides[1])
	target, jumps := in.Target(pc)
	if !ok || !jumps {
		return
	}
	b.Other, b.Taken = Site{p, target}, taken
	if taken {
		b.Other.Insn = pc + 1
	}
	t.bounds(&b)
	t.Branches = append(t.Branches, b)
}

// bounds makes a comparison of an address with the packet's end one of a length with the packet's.
func (t *Trace) bounds(b *Branch) {
	if t.packet == nil {
		return
	}
	end := t.ctx.Packet.DataEnd()
	for i := range b.Sides {
		if want := b.Sides[1-i] - t.data; b.Sides[i] == end && want <= longest && end >= t.data {
			b.From = [2]*Value{}
			b.From[i] = &Value{From: &Source{Kind: Length}, Was: end - t.data}
			b.Sides = [2]uint64{b.Sides[0] - t.data, b.Sides[1] - t.data}
			return
		}
	}
}
