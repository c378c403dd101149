package debug

import (
	"context"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// crumb is one executed instruction, with the address it accessed.
type crumb struct {
	img   *vm.Image
	addr  uint64
	pc    int32
	depth int16
	cpu   int16
}

// trailStretch is the number of instructions recorded at once.
const trailStretch = 1 << 14

// trail looks up executed instructions by position. It moves the session, so its caller has to
// restore the position.
type trail struct {
	s    *Session
	ctx  context.Context
	lo   uint64
	list []crumb
}

// at returns the instruction executed at a position of the run.
func (t *trail) at(pos uint64) (crumb, error) {
	if pos < t.lo || pos >= t.lo+uint64(len(t.list)) {
		if err := t.record(pos); err != nil {
			return crumb{}, err
		}
	}
	return t.list[pos-t.lo], nil
}

// record executes the stretch that ends at a position.
func (t *trail) record(pos uint64) error {
	s := t.s
	lo := pos - min(pos, trailStretch-1)
	if err := s.goTo(t.ctx, lo); err != nil {
		return err
	}
	t.lo, t.list = lo, t.list[:0]
	thread := s.m.Thread()
	for s.running() && s.Pos() <= pos {
		s.applyEdits()
		s.face()
		c := crumb{img: thread.Image(), pc: int32(thread.PC()), depth: int16(thread.Depth()), cpu: int16(s.cpu)}
		if p := s.place(c.img, int(c.pc)); p.Prog != nil {
			c.addr = effective(p.Prog.Insns[p.PC], thread.Regs())
		}
		before := s.Pos()
		s.execute(1)
		if s.Pos() == before { // it faulted and was not executed
			break
		}
		t.list = append(t.list, c)
	}
	if pos >= lo+uint64(len(t.list)) {
		return ErrRange
	}
	return nil
}

// effective returns the address that an instruction accesses, 0 if it accesses none.
func effective(in decode.Insn, regs *[256]uint64) uint64 {
	info := in.Info()
	switch {
	case info.Flags&(decode.FlagLoad|decode.FlagStore) == 0 || info.Has(decode.FlagPacket):
		return 0
	case info.Has(decode.FlagStore):
		return regs[in.Dst] + uint64(int64(in.Off))
	}
	return regs[in.Src] + uint64(int64(in.Off))
}

// define finds the last instruction before a position that set a register of a frame. If there is
// none, the register has its initial value in the frame, and pos is where the frame began; began is
// where the program began.
func (t *trail) define(x want, began uint64) (def definition, err error) {
	depth, reg := x.depth, x.reg
	returned := uint64(0) // position after the exit of the callee seen last
	for p := x.pos; p > began; {
		p--
		c, err := t.at(p)
		if err != nil {
			return def, err
		}
		if int(c.cpu) != x.cpu {
			continue
		}
		place := t.s.place(c.img, int(c.pc))
		if place.Prog == nil {
			return def, ErrRange
		}
		in := place.Prog.Insns[place.PC]
		info := in.Info()
		switch d := int(c.depth); {
		case d > depth:
			if d == depth+1 && info.Has(decode.FlagExit) && returned == 0 {
				returned = p + 1
			}
			continue
		case d < depth:
			return definition{pos: p, place: place, kind: fromCaller}, nil
		}
		switch {
		case !writes(in, info, reg):
		case info.Has(decode.FlagCall) && info.Op == decode.OpCallLocal:
			return definition{pos: returned, place: place, kind: fromCallee}, nil
		default:
			return definition{pos: p, place: place, crumb: c, kind: fromInsn}, nil
		}
		returned = 0
	}
	return definition{kind: fromStart}, nil
}

type definitionKind uint8

const (
	fromInsn   definitionKind = iota
	fromCaller                // an argument: place is the call
	fromCallee                // r0 of the function that returned before pos
	fromStart                 // the program's initial value
)

// definition is where a register was set.
type definition struct {
	pos   uint64
	place Place
	crumb crumb
	kind  definitionKind
}

// writes reports whether an instruction sets a register.
func writes(in decode.Insn, info *decode.Info, reg int) bool {
	w := info.Writes
	switch {
	case w&decode.RegDst != 0 && int(in.Dst) == reg,
		w&decode.RegSrc != 0 && int(in.Src) == reg,
		w&decode.RegR0 != 0 && reg == 0,
		w&decode.RegArgs != 0 && reg >= 1 && reg <= 5:
		return true
	}
	return false
}
