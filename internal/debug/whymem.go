package debug

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// watching is a range of memory whose last writers are sought.
type watching struct {
	addr  uint64
	last  []uint64 // per byte, the position after the instruction that wrote it; 0 if none did
	dirty []bool   // bytes written by the current instruction
	any   bool
}

// spied records writes to the watched memory.
func (w *why) spied(h mem.Hit) {
	x := w.watching
	if x == nil || !h.Write {
		return
	}
	for i := range x.dirty {
		if a := x.addr + uint64(i); a >= h.Addr && a < h.Addr+h.Size {
			x.dirty[i], x.any = true, true
		}
	}
	w.s.m.Thread().Suspend("looking for writes")
}

// writers returns, for each byte of memory, the position after the last instruction before pos that
// wrote it; 0 if none did.
func (w *why) writers(pos, addr uint64, size int) ([]uint64, error) {
	s := w.s
	x := &watching{addr: addr, last: make([]uint64, size), dirty: make([]bool, size)}
	defer func() {
		w.watching = nil
		s.spy = nil
		s.rewatch()
	}()
	for hi := pos; hi > 0 && slices.Contains(x.last, 0); {
		lo := s.wayTo(hi - 1).pos
		s.spy = nil
		if err := s.goTo(w.ctx, lo); err != nil {
			return nil, err
		}
		w.watching, s.spy = x, x
		s.rewatch()
		found := make([]uint64, size)
		for s.running() && s.Pos() < hi {
			if err := w.ctx.Err(); err != nil {
				return nil, err
			}
			s.applyEdits()
			x.any = false
			clear(x.dirty)
			s.execute(min(hi-s.Pos(), s.untilEdit(), chunk))
			for i, d := range x.dirty {
				if d {
					found[i] = s.Pos()
				}
			}
		}
		for i, f := range found {
			if x.last[i] == 0 {
				x.last[i] = f
			}
		}
		w.watching, s.spy = nil, nil
		hi = lo
	}
	return x.last, nil
}

// memory finds the writers of memory byte by byte; a range of bytes with the same writer becomes
// one step.
func (w *why) memory(x want) ([]step, error) {
	last, err := w.writers(x.pos, x.addr, x.size)
	if err != nil {
		return nil, err
	}
	var out []step
	for lo := 0; lo < x.size; {
		hi, edited := lo+1, w.editOf(x, lo, last[lo])
		for hi < x.size && last[hi] == last[lo] && w.editOf(x, hi, last[hi]) == edited {
			hi++
		}
		part := want{pos: x.pos, kind: wantMemory, addr: x.addr + uint64(lo), size: hi - lo}
		var steps []step
		var err error
		switch {
		case edited != nil:
			steps = begin(edited.pos, "%sset by you after %d instructions: %s", w.partly(x, part), edited.pos, edited.text)
		case last[lo] == 0:
			steps, err = w.beginning(x, part)
		default:
			steps, err = w.written(part, last[lo]-1)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, steps...)
		lo = hi
	}
	return out, nil
}

// partly names the bytes of a part, "" for the whole.
func (w *why) partly(whole, part want) string {
	if part.size == whole.size {
		return ""
	}
	lo := part.addr - whole.addr
	if part.size == 1 {
		return fmt.Sprintf("byte %d: ", lo)
	}
	return fmt.Sprintf("bytes %d to %d: ", lo, lo+uint64(part.size)-1)
}

// editOf returns the user's last edit of a byte after the instruction that wrote it.
func (w *why) editOf(x want, i int, since uint64) *edit {
	a := x.addr + uint64(i)
	for k := len(w.s.edits) - 1; k >= 0; k-- {
		e := &w.s.edits[k]
		if !e.dst.IsReg && e.dst.Size != 0 && a-e.dst.Addr < e.dst.Size && e.pos <= x.pos && e.pos >= since {
			return e
		}
	}
	return nil
}

// beginning describes memory that the run had not written before a position.
func (w *why) beginning(whole, part want) ([]step, error) {
	s := w.s
	if err := s.goTo(w.ctx, part.pos); err != nil {
		return nil, err
	}
	out := begin(part.pos, "%s%s", w.partly(whole, part), s.memoryOrigin(part.addr, part.size))
	out[0].origin.addr = part.addr
	return out, nil
}

// written returns the origins of memory written by the instruction at a position.
func (w *why) written(part want, pos uint64) ([]step, error) {
	s := w.s
	c, err := w.trail.at(pos)
	if err != nil {
		return nil, err
	}
	p := s.place(c.img, int(c.pc))
	in := p.Prog.Insns[p.PC]
	info := in.Info()
	if info.Has(decode.FlagCall) || info.Flags&decode.FlagStore == 0 {
		return w.copied(part, pos, p)
	}
	o := &Origin{Pos: pos, Place: p, Text: p.Insn()}
	src := want{pos: pos, kind: wantRegister, cpu: int(c.cpu), depth: int(c.depth), reg: int(in.Src)}
	old := want{pos: pos, kind: wantMemory, addr: part.addr, size: part.size}
	switch info.Form {
	case decode.FormStoreImm:
		return []step{{origin: o}}, nil
	case decode.FormAtomic, decode.FormFetch:
		return []step{{o, []want{old, src}}}, nil
	}
	return []step{{o, []want{src}}}, nil
}

// call formats the call at a position with its arguments. It leaves the session before the call.
func (w *why) call(pos uint64) (string, error) {
	if err := w.s.goTo(w.ctx, pos); err != nil {
		return "", err
	}
	return w.s.CallText(), nil
}

// copied returns the origins of memory written by a helper: the source it copied from, if the
// helper's prototype declares one.
func (w *why) copied(part want, pos uint64, p Place) ([]step, error) {
	s := w.s
	call, err := w.call(pos)
	if err != nil {
		return nil, err
	}
	o := &Origin{Pos: pos, Place: p, Text: call + " wrote it"}
	thread := s.m.Thread()
	in := p.Prog.Insns[p.PC]
	reg := func(i int) uint64 { return thread.Reg(i + 1) }
	from := func(addr uint64) ([]step, error) {
		o.Text = call + " copied it"
		return []step{{o, []want{{pos: pos, kind: wantMemory, addr: s.m.Memory().Truncate(addr), size: part.size}}}}, nil
	}
	if in.Op() == decode.OpCallHelper {
		switch uapi.FuncID(in.Imm) {
		case uapi.FuncSkbLoadBytes, uapi.FuncXDPLoadBytes:
			if pkt := s.run.Context().Packet; pkt != nil {
				return from(pkt.Data() + uint64(uint32(reg(1))) + part.addr - reg(2))
			}
		case uapi.FuncMapUpdateElem, uapi.FuncMapPushElem:
			return w.updated(part, o, call, from)
		}
		if h, ok := proto.Lookup(uapi.FuncID(in.Imm)); ok && h.Effects&(proto.Copies|proto.CopiesUser) != 0 && part.addr >= reg(0) {
			return from(reg(2) + part.addr - reg(0))
		}
	}
	reads, err := w.reads(pos)
	if err != nil {
		return nil, err
	}
	for _, r := range reads {
		o.From = append(o.From, &Origin{Pos: pos, Text: r})
	}
	return []step{{origin: o}}, nil
}

// updated returns the origins of map element memory written by an update.
func (w *why) updated(part want, o *Origin, call string, from func(uint64) ([]step, error)) ([]step, error) {
	s := w.s
	thread := s.m.Thread()
	value := thread.Reg(3)
	if uapi.FuncID(o.Place.Prog.Insns[o.Place.PC].Imm) == uapi.FuncMapPushElem {
		value = thread.Reg(2)
	}
	// The element may not exist before the call, so its address is looked up after it.
	if err := s.goTo(w.ctx, o.Pos+1); err != nil {
		return nil, err
	}
	r := s.m.Memory().Find(part.addr)
	if r == nil || r.Kind != mem.MapValue {
		return []step{{origin: o}}, nil
	}
	off := part.addr - r.Base
	if _, in, ok := r.Elem(part.addr); ok {
		off = in
	}
	if err := s.goTo(w.ctx, o.Pos); err != nil {
		return nil, err
	}
	return from(value + off)
}

// reads names the kernel fields read by the instruction at a position.
func (w *why) reads(pos uint64) ([]string, error) {
	s := w.s
	if err := s.goTo(w.ctx, pos); err != nil {
		return nil, err
	}
	if s.state != Running {
		return nil, nil
	}
	before := len(s.run.Result().Reads)
	if stop := s.execute(1); stop == vm.Done || stop == vm.Faulted {
		return nil, nil
	}
	var out []string
	for _, a := range s.run.Result().Reads[before:] {
		out = append(out, fmt.Sprintf("kernel field %s.%s of %s", a.Type, a.Path, a.Role))
	}
	if len(out) == 0 {
		c, err := w.trail.at(pos)
		if err != nil {
			return nil, err
		}
		if p := s.place(c.img, int(c.pc)); p.Prog != nil && p.Prog.Insns[p.PC].Op() == decode.OpCallHelper {
			out = answers[uapi.FuncID(p.Prog.Insns[p.PC].Imm)]
		}
	}
	return out, nil
}

// answers names the sources of helper results that come straight from simulated kernel state.
var answers = map[uapi.FuncID][]string{
	uapi.FuncGetCurrentComm:    {"kernel field task_struct.comm of current"},
	uapi.FuncGetCurrentPidTgid: {"kernel field task_struct.tgid of current", "kernel field task_struct.pid of current"},
	uapi.FuncGetCurrentUidGid:  {"kernel field cred.uid of current.cred", "kernel field cred.gid of current.cred"},
	uapi.FuncKtimeGetNs:        {"the simulated clock"},
	uapi.FuncKtimeGetBootNs:    {"the simulated clock"},
	uapi.FuncGetPrandomU32:     {"the simulated random numbers"},
	uapi.FuncGetSmpProcessorId: {"the CPU the program runs on"},
}

// result returns the origins of r0 after a call of a helper or kfunc.
func (w *why) result(def definition) ([]step, error) {
	s := w.s
	call, err := w.call(def.pos)
	if err != nil {
		return nil, err
	}
	o := &Origin{Pos: def.pos, Place: def.place, Text: call}
	reads, err := w.reads(def.pos)
	if err != nil {
		return nil, err
	}
	if s.state == Running && s.m.Thread().Depth() == int(def.crumb.depth) && s.Pos() == def.pos+1 {
		o.Text += " returned " + s.AddressText(s.m.Thread().Reg(0))
	}
	for _, r := range reads {
		o.From = append(o.From, &Origin{Pos: def.pos, Text: r})
	}
	return []step{{origin: o}}, nil
}

// sending maps the helpers that send records to user space to the register that points to the data.
var sending = map[uapi.FuncID]int{
	uapi.FuncRingbufSubmit: 1, uapi.FuncRingbufOutput: 2, uapi.FuncPerfEventOutput: 4, uapi.FuncSkbOutput: 4, uapi.FuncXDPOutput: 4,
	uapi.FuncRingbufSubmitDynptr: 0,
}

// record finds the call that sent a record and follows the data from there.
func (w *why) record(x want) ([]step, error) {
	s := w.s
	var sites []Place
	for _, lp := range s.linked.Programs {
		for pc := 0; pc < len(lp.Insns); pc += lp.Insns[pc].Len() {
			if _, ok := sending[uapi.FuncID(lp.Insns[pc].Imm)]; ok && lp.Insns[pc].Op() == decode.OpCallHelper {
				sites = append(sites, Place{lp, pc})
			}
		}
	}
	if err := s.goTo(w.ctx, 0); err != nil {
		return nil, err
	}
	defer s.arm(sites)()
	for s.running() && s.Pos() < x.pos {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		s.applyEdits()
		s.face()
		thread := s.m.Thread()
		at, pos := s.place(thread.Image(), thread.PC()), s.Pos()
		var addr uint64
		site := false
		if at.Prog != nil && at.Prog.Insns[at.PC].Op() == decode.OpCallHelper {
			if reg, ok := sending[uapi.FuncID(at.Prog.Insns[at.PC].Imm)]; ok {
				site = true
				if reg > 0 {
					addr = thread.Reg(reg)
				}
			}
		}
		call := ""
		if site {
			call = s.CallText()
			s.exec(1)
		} else {
			s.exec(min(x.pos-s.Pos(), s.untilEdit(), chunk))
		}
		if !site || len(s.RecordsOf(x.rec.Def)) <= x.rec.Index {
			continue
		}
		o := &Origin{Pos: pos, Place: at, Text: call + " sent it"}
		if addr == 0 {
			return []step{{origin: o}}, nil
		}
		return []step{{o, []want{{pos: pos, kind: wantMemory, addr: s.m.Memory().Truncate(addr) + uint64(x.rec.Off), size: x.size}}}}, nil
	}
	return begin(0, "a record from before this run"), nil
}
