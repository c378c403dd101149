package debug

import (
	"context"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
)

// Origin is a step in the history of a value: an instruction, a call, or the value's beginning.
type Origin struct {
	// Pos is the number of instructions executed before the step; Place is its instruction. A
	// beginning has no Place.
	Pos   uint64
	Place Place
	// CPU is the CPU that executed it.
	CPU int
	// Text describes the step: the instruction, the call with its arguments, or the initial value.
	Text string
	// From holds the origins of the step's inputs.
	From []*Origin

	addr uint64 // of memory that already had the value before the run
}

// maxOrigins is the largest number of steps followed.
const maxOrigins = 100

// Why traces the value of an expression back through instructions, stack slots and helper calls to
// kernel fields, packet bytes, map elements, arguments and constants. The session's position does
// not change.
func (s *Session) Why(ctx context.Context, text string) (*Origin, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	n, err := s.Parse(text)
	if err != nil {
		return nil, err
	}
	v, err := s.EvalNode(n)
	if err != nil {
		return nil, err
	}
	root := &Origin{Pos: s.Pos(), Text: text + " = " + s.Format(v, expr.FormatOptions{})}
	w := &why{s: s, ctx: ctx, trail: trail{s: s, ctx: ctx}, seen: map[want]bool{}}
	wants, err := w.targets(n)
	if err != nil {
		return nil, err
	}
	if len(wants) == 0 {
		root.From = []*Origin{{Pos: root.Pos, Text: "a constant of the expression"}}
		return root, nil
	}
	s.Unlook()
	origin, cpu, frame, inline := s.Pos(), s.cpu, s.frame, s.inline
	watch := s.m.Memory().OnWatch
	s.m.Memory().OnWatch = w.spied
	defer func() { s.m.Memory().OnWatch = watch }()
	if err = s.prepareBack(ctx, origin); err == nil {
		err = w.follow(root, wants)
	}
	w.watching = nil
	if gerr := s.goBackTo(ctx, origin, cpu); err == nil {
		err = gerr
	}
	s.rewatch()
	s.frame, s.inline = frame, inline
	if err != nil {
		return nil, err
	}
	foldLoops(root)
	return root, nil
}

// want is a value whose origin is sought: a register of a frame, memory, or a record, as it is
// before an instruction.
type want struct {
	pos   uint64
	kind  wantKind
	cpu   int // of a register
	depth int // of its frame
	reg   int
	addr  uint64 // of memory
	size  int
	rec   expr.RecordRef
}

type wantKind uint8

const (
	wantRegister wantKind = iota
	wantMemory
	wantRecord
)

// why is the state of one search.
type why struct {
	s     *Session
	ctx   context.Context
	trail trail
	seen  map[want]bool
	steps int

	// watching is the range of memory that is being watched, nil for none.
	watching *watching
}

// targets returns the registers and memory that an expression reads.
func (w *why) targets(n expr.Node) ([]want, error) {
	inputs, err := w.s.Inputs(n)
	if err != nil {
		return nil, err
	}
	var out []want
	for _, v := range inputs {
		at, ok, err := w.target(v)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, at)
		}
	}
	return out, nil
}

// target returns the register or memory that holds a value; ok is false for a value stored in
// neither.
func (w *why) target(v *expr.Value) (at want, ok bool, err error) {
	s := w.s
	at = want{pos: s.Pos(), kind: wantMemory}
	switch {
	case v.Rec != nil:
		at.kind, at.rec, at.size = wantRecord, *v.Rec, len(v.Data)
	case v.Kind == expr.InRegister:
		at.kind, at.cpu, at.reg, at.depth = wantRegister, s.cpu, v.Reg, s.m.Thread().Depth()-v.Frame
	case v.Kind == expr.WholeMap:
		return at, false, fmt.Errorf("%s is a map: name one of its elements", v.Name)
	case v.Kind == expr.InMemory || v.Kind == expr.WholePacket:
		at.addr, at.size = v.Addr, len(v.Data)
	case v.From != nil: // computed by debug information from a register
		at.kind, at.cpu, at.reg, at.depth = wantRegister, s.cpu, *v.From, s.m.Thread().Depth()-s.frame
	default:
		return at, false, nil
	}
	if at.size > maxTraced {
		return at, false, fmt.Errorf("%d bytes are too many to trace, the limit is %d: name a member", at.size, maxTraced)
	}
	return at, true, nil
}

// maxTraced is the size of the largest value that is traced, in bytes.
const maxTraced = 512

// follow finds the origins breadth first, so that a long chain on one side does not crowd out the
// other.
func (w *why) follow(root *Origin, wants []want) error {
	type job struct {
		parent *Origin
		want   want
	}
	var queue []job
	for _, x := range wants {
		queue = append(queue, job{root, x})
	}
	for len(queue) > 0 {
		j := queue[0]
		queue = queue[1:]
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.seen[j.want] {
			j.parent.From = append(j.parent.From, &Origin{Pos: j.want.pos, Text: "as found above"})
			continue
		}
		w.seen[j.want] = true
		if w.steps++; w.steps > maxOrigins {
			j.parent.From = append(j.parent.From, &Origin{Pos: j.want.pos, Text: fmt.Sprintf("and further back (stopped after %d steps)", maxOrigins)})
			continue
		}
		found, err := w.resolve(j.want)
		if err != nil {
			return err
		}
		for _, f := range found {
			f.origin.CPU = w.s.cpuAt(f.origin.Pos)
			j.parent.From = append(j.parent.From, f.origin)
			for _, next := range f.from {
				queue = append(queue, job{f.origin, next})
			}
		}
	}
	return nil
}

// step is one origin of a want, with the values it depends on.
type step struct {
	origin *Origin
	from   []want
}

func begin(pos uint64, format string, args ...any) []step {
	return []step{{origin: &Origin{Pos: pos, Text: fmt.Sprintf(format, args...)}}}
}

func (w *why) resolve(x want) ([]step, error) {
	switch x.kind {
	case wantRegister:
		return w.register(x)
	case wantRecord:
		return w.record(x)
	}
	return w.memory(x)
}

// register finds the instruction that set a register.
func (w *why) register(x want) ([]step, error) {
	s := w.s
	began := s.beganAt(x.cpu, x.pos)
	def, err := w.trail.define(x, began)
	if err != nil {
		return nil, err
	}
	since := def.pos
	if def.kind == fromStart {
		since = began
	}
	for _, e := range slices.Backward(s.edits) {
		if e.dst.IsReg && e.cpu == x.cpu && e.dst.Reg == x.reg && e.dst.Depth == x.depth && e.pos <= x.pos && (e.pos > since || def.kind == fromStart) {
			return begin(e.pos, "set by you after %d instructions: %s", e.pos, e.text), nil
		}
	}
	switch def.kind {
	case fromStart:
		if err := s.goTo(w.ctx, began); err != nil {
			return nil, err
		}
		s.applyEdits()
		s.load(x.cpu)
		switch {
		case x.reg == 1:
			return begin(began, "the context the program was called with: %s", s.AddressText(s.m.Thread().Reg(1))), nil
		case x.reg == 10:
			return begin(began, "the frame pointer of the program"), nil
		}
		return begin(began, "r%d as the program began: 0", x.reg), nil
	case fromCaller:
		return w.argument(x, def)
	case fromCallee:
		if x.reg != 0 || def.pos == 0 {
			return begin(def.pos, "r%d is clobbered by the call at insn %d", x.reg, def.place.PC), nil
		}
		o := &Origin{Pos: def.pos - 1, Place: def.place, Text: def.place.Insn() + ", which returned it"}
		return []step{{o, []want{{pos: def.pos, kind: wantRegister, cpu: x.cpu, depth: x.depth + 1, reg: 0}}}}, nil
	}
	if x.reg == 10 {
		return begin(def.pos, "the frame pointer"), nil
	}
	if def.place.Prog.Insns[def.place.PC].Info().Has(decode.FlagCall) {
		if x.reg != 0 {
			return begin(def.pos, "r%d is clobbered by the call at insn %d", x.reg, def.place.PC), nil
		}
		return w.result(def)
	}
	return w.computed(def, x)
}

// argument returns the origins of a register passed to a function.
func (w *why) argument(x want, def definition) ([]step, error) {
	in := def.place.Prog.Insns[def.place.PC]
	switch {
	case x.reg == 10:
		return begin(def.pos, "the frame pointer of the function called at insn %d", def.place.PC), nil
	case in.Op() == decode.OpCallLocal:
		o := &Origin{Pos: def.pos, Place: def.place, Text: fmt.Sprintf("%s, where it is argument %d", def.place.Insn(), x.reg)}
		return []step{{o, []want{{pos: def.pos, kind: wantRegister, cpu: x.cpu, depth: x.depth - 1, reg: x.reg}}}}, nil
	}
	call, err := w.call(def.pos)
	if err != nil {
		return nil, err
	}
	return []step{{origin: &Origin{Pos: def.pos, Place: def.place, Text: fmt.Sprintf("%s passed it to the callback as argument %d", call, x.reg)}}}, nil
}

// computed returns the origins of a register that an instruction computed or loaded.
func (w *why) computed(def definition, x want) ([]step, error) {
	p := def.place
	in := p.Prog.Insns[p.PC]
	info := in.Info()
	o := &Origin{Pos: def.pos, Place: p, Text: p.Insn()}
	if r, ok := p.Prog.RelocAt(p.PC); ok && r.Relocation != nil {
		o.Text += "  ; CO-RE " + w.s.RelocText(r)
	}
	reg := func(n uint8) want {
		return want{pos: def.pos, kind: wantRegister, cpu: x.cpu, depth: x.depth, reg: int(n)}
	}
	old := want{pos: def.pos, kind: wantMemory, addr: w.s.m.Memory().Truncate(def.crumb.addr), size: int(info.Size)}
	switch info.Form {
	case decode.FormALUImm:
		if isMove(info) {
			return []step{{origin: o}}, nil
		}
		return []step{{o, []want{reg(in.Dst)}}}, nil
	case decode.FormALUReg:
		switch {
		case isMove(info):
			return []step{{o, []want{reg(in.Src)}}}, nil
		case in.Dst == in.Src:
			return []step{{o, []want{reg(in.Dst)}}}, nil
		}
		return []step{{o, []want{reg(in.Dst), reg(in.Src)}}}, nil
	case decode.FormNeg, decode.FormEnd:
		return []step{{o, []want{reg(in.Dst)}}}, nil
	case decode.FormMovSX, decode.FormAddrCast:
		return []step{{o, []want{reg(in.Src)}}}, nil
	case decode.FormLoad, decode.FormLoadAcq, decode.FormFetch, decode.FormXchg, decode.FormCmpXchg:
		return []step{{o, []want{old}}}, nil
	}
	return []step{{origin: o}}, nil
}

func isMove(info *decode.Info) bool {
	switch info.Op {
	case decode.OpMov64Imm, decode.OpMov32Imm, decode.OpMov64Reg, decode.OpMov32Reg:
		return true
	}
	return false
}
