package debug

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// Decision is the branch that kept a run from reaching a place: no path from the side taken leads
// there, and one from the other side does.
type Decision struct {
	Place Place
	Pos   uint64
	// Taken reports whether the branch jumped.
	Taken bool
	// Sides are the two operands of the comparison.
	Sides [2]Compared
	// Because is the branch on which a called function's constant result depends; nil for other
	// values.
	Because *Decision
	// Hints are ways to change the outcome: flags and keys of scenario files.
	Hints []Hint
}

// Compared is one side of a comparison.
type Compared struct {
	Value uint64
	// From describes the origin of the value, nearest step first; empty for an immediate operand.
	From []string
}

// Hint is a way to change a value that a branch compared.
type Hint struct {
	// Flag is a command-line option, "" if none applies; Key is the equivalent key of a scenario
	// file.
	Flag, Key string

	known bool // whether the value that the flag needs is known
}

// Errors of [Session.WhyNot]; test with errors.Is.
var (
	// ErrReached: the run reached the place.
	ErrReached = errors.New("the run reached it")
	// ErrNoDecision: no branch in the run decides whether the place is reached.
	ErrNoDecision = errors.New("no branch decides it")
)

// maxNested limits how many nested functions that return constants are followed.
const maxNested = 4

// callOf returns the position of the call that produced a value. The origin of a function's result
// holds the position of the exit instead.
func (s *Session) callOf(run []entry, l *Origin) uint64 {
	for k := min(int(l.Pos), len(run)-1); k >= 0; k-- {
		if p := s.place(run[k].img, int(run[k].pc)); p == l.Place {
			return run[k].pos
		}
	}
	return ^uint64(0)
}

// maxDecided is the largest number of instructions in a run whose branches are examined.
const maxDecided = 1 << 20

// WhyNot finds the branch that kept the run from every place of goal. The session's position does
// not change. The errors include [ErrReached] and [ErrNoDecision].
func (s *Session) WhyNot(ctx context.Context, goal func(Place) bool) (*Decision, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	if s.several {
		return nil, errors.New("it looks at the run of one program, and programs run on several CPUs")
	}
	s.Unlook()
	origin, frame, inline := s.Pos(), s.frame, s.inline
	d, err := s.whyNot(ctx, goal)
	if gerr := s.goBackTo(ctx, origin, s.cpu); err == nil && gerr != nil {
		err = gerr
	}
	s.rewatch()
	s.frame, s.inline = frame, inline
	return d, err
}

func (s *Session) whyNot(ctx context.Context, goal func(Place) bool) (*Decision, error) {
	run, err := s.wholeRun(ctx)
	if err != nil {
		return nil, err
	}
	ways := map[*loader.LinkedProgram][]bool{}
	leads := func(e *entry, pc int) bool {
		lp := s.place(e.img, pc).Prog
		if pc >= len(lp.Insns) {
			return false
		}
		if ways[lp] == nil {
			ways[lp] = leadsTo(lp, func(pc int) bool { return goal(Place{lp, pc}) })
		}
		return ways[lp][pc]
	}
	// later[d] reports whether functions below depth d lead to the goal after a callee returns to
	// them.
	later := []bool{false}
	last := -1
	for i := range run {
		e := &run[i]
		p := s.place(e.img, int(e.pc))
		if p.Prog == nil {
			continue
		}
		if goal(p) {
			return nil, fmt.Errorf("%w, after %d instructions", ErrReached, e.pos)
		}
		if i > 0 && e.depth > run[i-1].depth {
			caller := &run[i-1]
			back := int(caller.pc) + s.place(caller.img, int(caller.pc)).Prog.Insns[caller.pc].Len()
			later = append(later[:caller.depth+1], later[caller.depth] || leads(caller, back))
		}
		if i+1 == len(run) || run[i+1].img != e.img || run[i+1].depth != e.depth || int(e.depth) >= len(later) || later[e.depth] {
			continue
		}
		in := p.Prog.Insns[p.PC]
		if form := in.Info().Form; form != decode.FormJumpImm && form != decode.FormJumpReg {
			continue
		}
		next, behind := int(run[i+1].pc), p.PC+in.Len()
		target, _ := in.Target(p.PC)
		other := target
		if next == target {
			other = behind
		}
		if !leads(e, next) && leads(e, other) {
			last = i
		}
	}
	if last < 0 {
		return nil, ErrNoDecision
	}
	return s.decision(ctx, run, last, 0)
}

// returning returns the last branch in the function called at a position whose other side would
// flip the branch at entry at. It finds it by executing that side. ok is false if there is none.
func (s *Session) returning(ctx context.Context, run []entry, call uint64, at int) (i int, ok bool, err error) {
	from := int(call)
	if from+1 >= at || run[from].pos != call {
		return 0, false, nil
	}
	defer s.resume(&s.ways[0]) // undo the attempts
	depth, tried := run[from].depth+1, 0
	for k := at - 1; k > from && tried < maxTried; k-- {
		p := s.place(run[k].img, int(run[k].pc))
		if p.Prog == nil || run[k].depth != depth {
			continue
		}
		in := p.Prog.Insns[p.PC]
		if form := in.Info().Form; form != decode.FormJumpImm && form != decode.FormJumpReg {
			continue
		}
		tried++
		other, _ := in.Target(p.PC)
		if int(run[k+1].pc) == other {
			other = p.PC + in.Len()
		}
		s.resume(&s.ways[0])
		if err := s.goTo(ctx, run[k].pos); err != nil {
			return 0, false, err
		}
		if s.flips(other, run, at) {
			return k, true, nil
		}
	}
	return 0, false, nil
}

// flips continues on the other side of a branch and reports whether that flips the branch at entry
// at. It leaves the session in a state that is not part of the run.
func (s *Session) flips(other int, run []entry, at int) bool {
	t, e := s.m.Thread(), &run[at]
	t.Advance(other, 1)
	for range maxTriedInsns {
		here := t.Image() == e.img && t.PC() == int(e.pc) && t.Depth() == int(e.depth)
		if stop := s.run.Run(1); stop == vm.Done || stop == vm.Faulted {
			return false
		}
		if here {
			return t.PC() != int(run[at+1].pc)
		}
	}
	return false
}

// Limits for a function that returned a constant: the branches tried, and the instructions executed
// for each.
const (
	maxTried      = 32
	maxTriedInsns = 1 << 14
)

// wholeRun executes the run from start to end.
func (s *Session) wholeRun(ctx context.Context) ([]entry, error) {
	if err := s.goTo(ctx, 0); err != nil {
		return nil, err
	}
	var out []entry
	t := s.m.Thread()
	for s.state == Running {
		if len(out)%firstStretch == firstStretch-1 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(out) == maxDecided {
			return nil, fmt.Errorf("the run is longer than the %d instructions that are searched", maxDecided)
		}
		s.applyEdits()
		out = append(out, entry{pos: s.Pos(), img: t.Image(), pc: int32(t.PC()), depth: int16(t.Depth())})
		s.execute(1)
	}
	return out, nil
}

// leadsTo marks the instructions from which a goal can be reached, following calls but not returns.
func leadsTo(lp *loader.LinkedProgram, goal func(pc int) bool) []bool {
	n := len(lp.Insns)
	out := make([]bool, n)
	at := func(pc int) bool { return pc >= 0 && pc < n && out[pc] }
	for changed := true; changed; {
		changed = false
		for pc := n - 1; pc >= 0; pc-- {
			if out[pc] {
				continue
			}
			in := lp.Insns[pc]
			leads := goal(pc)
			if target, ok := in.Target(pc); ok { // including calls
				leads = leads || at(target)
			}
			if in.Info().Flags&(decode.FlagJump|decode.FlagExit) == 0 {
				leads = leads || at(pc+max(in.Len(), 1))
			}
			if ref, ok := lp.Refs[pc]; ok && ref.Kind == loader.RefFunc { // a callback
				leads = leads || at(ref.Func)
			}
			if leads {
				out[pc], changed = true, true
			}
		}
	}
	return out
}

// decision describes an executed branch.
func (s *Session) decision(ctx context.Context, run []entry, at, nested int) (*Decision, error) {
	e, next := &run[at], int(run[at+1].pc)
	p := s.place(e.img, int(e.pc))
	in := p.Prog.Insns[p.PC]
	d := &Decision{Place: p, Pos: e.pos, Taken: next != p.PC+in.Len()}
	regs := []int{int(in.Dst)}
	if in.Info().Form == decode.FormJumpReg {
		regs = append(regs, int(in.Src))
	} else {
		d.Sides[1].Value = uint64(int64(in.Imm))
	}
	var leaves [2][]*Origin
	for i, r := range regs {
		if err := s.goTo(ctx, e.pos); err != nil {
			return nil, err
		}
		d.Sides[i].Value = s.m.Thread().Reg(r)
		o, err := s.Why(ctx, fmt.Sprintf("$r%d", r))
		if err != nil {
			return nil, err
		}
		leaves[i] = leavesOf(o)
		for _, l := range leaves[i] {
			d.Sides[i].From = append(d.Sides[i].From, l.Text)
		}
	}
	if in.Info().Width == 32 {
		d.Sides[0].Value, d.Sides[1].Value = uint64(uint32(d.Sides[0].Value)), uint64(uint32(d.Sides[1].Value))
	}
	for i := range regs {
		for _, l := range leaves[i] {
			if h, ok := s.hint(l, in, d, i); ok && !slices.Contains(d.Hints, h) {
				d.Hints = append(d.Hints, h)
			}
			if l.Place.Prog == nil || l.Place.Prog.Insns[l.Place.PC].Op() != decode.OpCallLocal || nested == maxNested || d.Because != nil {
				continue
			}
			k, ok, err := s.returning(ctx, run, s.callOf(run, l), at)
			if err != nil {
				return nil, err
			}
			if ok {
				because, err := s.decision(ctx, run, k, nested+1)
				if err != nil {
					return nil, err
				}
				d.Because = because
			}
		}
	}
	return d, nil
}

// leavesOf returns where a value originated: helper results, and origins other than constants.
func leavesOf(o *Origin) []*Origin {
	var out []*Origin
	for _, f := range o.From {
		if f.Place.Prog != nil && f.Place.Prog.Insns[f.Place.PC].Info().Has(decode.FlagCall) {
			if inner := leavesOf(f); len(inner) > 0 && f.Place.Prog.Insns[f.Place.PC].Op() == decode.OpCallLocal {
				out = append(out, inner...)
			} else {
				out = append(out, f)
			}
			continue
		}
		if len(f.From) > 0 {
			out = append(out, leavesOf(f)...)
			continue
		}
		if f.Place.Prog == nil {
			out = append(out, f)
		}
	}
	return out
}

// hint describes how to change the value that a branch compared as its side i.
func (s *Session) hint(l *Origin, in decode.Insn, d *Decision, i int) (Hint, bool) {
	want, known := otherwise(in, d, i)
	if l.Place.Prog != nil {
		call := l.Place.Prog.Insns[l.Place.PC]
		if call.Op() != decode.OpCallHelper {
			return Hint{}, false
		}
		switch id := uapi.FuncID(call.Imm); id {
		case uapi.FuncGetCurrentUidGid, uapi.FuncGetCurrentPidTgid, uapi.FuncGetCurrentComm, uapi.FuncGetCurrentTask, uapi.FuncGetCurrentTaskBtf:
			return Hint{Key: "current: a task of objects, {.type: !task, ...}"}, true
		case uapi.FuncMapLookupElem:
			name := "MAP"
			if _, rest, ok := strings.Cut(l.Text, "(map "); ok {
				name, _, _ = strings.Cut(rest, ",")
			}
			return Hint{Key: fmt.Sprintf("maps: {%s: {KEY: VALUE}}, or a program that stores it, run before", name)}, true
		default:
			return Hint{Key: fmt.Sprintf("helpers: {%s: VALUE}", id)}, true
		}
	}
	r := s.m.Memory().Find(l.addr)
	switch {
	case l.addr == 0 || r == nil:
		return Hint{}, false
	case r.Kind == mem.Global:
		name, _, _ := strings.Cut(s.globalName(l.addr), " ")
		if strings.Contains(name, "+") {
			return Hint{Key: "globals: {" + name[:strings.IndexByte(name, '+')] + ": VALUE}"}, true
		}
		value := "VALUE"
		if known {
			value = fmt.Sprint(want)
		}
		return Hint{Flag: fmt.Sprintf("--global %s=%s", name, value), Key: fmt.Sprintf("globals: {%s: %s}", name, value), known: known}, true
	case r.Kind == mem.Packet:
		return Hint{Flag: "--packet PACKET", Key: "packet: PACKET"}, true
	case r.Kind == mem.MapValue:
		return Hint{Key: "maps: {MAP: {KEY: VALUE}}"}, true
	case r.Kind == mem.Context:
		name := "NAME"
		if rest, ok := strings.CutPrefix(l.Text, "argument "); ok {
			name, _, _ = strings.Cut(rest, " ")
		}
		return Hint{Key: "args: {" + name + ": VALUE}"}, true
	case r.Kind == mem.KernelObject:
		return Hint{Key: "objects: {NAME: {.like: ..., FIELD: VALUE}}"}, true
	}
	return Hint{}, false
}

// otherwise returns a value of side i that flips an equality comparison; ok is false for other
// comparisons.
func otherwise(in decode.Insn, d *Decision, i int) (v uint64, ok bool) {
	other := d.Sides[1-i].Value
	equal := d.Sides[0].Value == d.Sides[1].Value
	switch in.Op() {
	case decode.OpJeq64Imm, decode.OpJeq64Reg, decode.OpJeq32Imm, decode.OpJeq32Reg, decode.OpJne64Imm, decode.OpJne64Reg, decode.OpJne32Imm, decode.OpJne32Reg:
		if equal {
			return other + 1, true
		}
		return other, true
	}
	return 0, false
}

// effects are the helpers with effects outside the program: on users, maps, other programs or the
// kernel.
var effects = map[uapi.FuncID]bool{
	uapi.FuncRingbufOutput: true, uapi.FuncRingbufSubmit: true, uapi.FuncRingbufSubmitDynptr: true, uapi.FuncPerfEventOutput: true,
	uapi.FuncSkbOutput: true, uapi.FuncXDPOutput: true, uapi.FuncMapUpdateElem: true, uapi.FuncMapDeleteElem: true, uapi.FuncMapPushElem: true,
	uapi.FuncMapPopElem: true, uapi.FuncTracePrintk: true, uapi.FuncTraceVprintk: true, uapi.FuncSeqWrite: true, uapi.FuncSeqPrintf: true,
	uapi.FuncSeqPrintfBtf: true, uapi.FuncSendSignal: true, uapi.FuncSendSignalThread: true, uapi.FuncOverrideReturn: true,
	uapi.FuncProbeWriteUser: true, uapi.FuncTailCall: true, uapi.FuncTimerStart: true,
}

// HasEffect reports whether an instruction has an effect visible outside the program: a call of a
// helper in effects, or a store to memory other than the stack.
func HasEffect(p Place) bool {
	in := p.Prog.Insns[p.PC]
	info := in.Info()
	switch {
	case in.Op() == decode.OpCallHelper:
		return effects[uapi.FuncID(in.Imm)]
	case info.Flags&decode.FlagStore == 0:
		return false
	}
	f, ok := p.Func()
	for pc, reg := p.PC-1, in.Dst; reg != 10; pc-- {
		if !ok || pc < f.Start {
			return true
		}
		def := p.Prog.Insns[pc]
		if !writes(def, def.Info(), int(reg)) || def.Info().Form == decode.FormALUImm && !isMove(def.Info()) {
			continue
		}
		if !isMove(def.Info()) || def.Info().Form != decode.FormALUReg {
			return true
		}
		reg = def.Src
	}
	return false
}

// Lines describes the decision in a few lines: the source line, the comparison, and what would
// change it.
func (d *Decision) Lines() []string {
	out := []string{"decided by " + d.Place.String()}
	if l, ok := d.Place.Line(); ok && strings.TrimSpace(l.Text) != "" {
		out[0] += ": " + strings.TrimSpace(l.Text)
	}
	did := "did not jump"
	if d.Taken {
		did = "jumped"
	}
	out = append(out, fmt.Sprintf("%s %s: %s against %s", d.Place.Insn(), did, d.Sides[0], d.Sides[1]))
	if d.Because != nil {
		for i, line := range d.Because.Lines() {
			if i == 0 {
				line = "there " + line
			}
			out = append(out, line)
		}
	}
	var flags, keys []string
	for _, h := range d.Hints {
		if h.Flag != "" {
			flags = append(flags, h.Flag)
		}
		keys = append(keys, h.Key)
	}
	if len(flags) > 0 {
		out = append(out, "to change it: "+strings.Join(flags, ", or "))
	}
	if len(keys) > 0 {
		out = append(out, "in a scenario file: "+strings.Join(keys, ", or "))
	}
	return out
}

// String returns the value and its origin.
func (c Compared) String() string {
	text := fmt.Sprint(c.Value)
	if v := int64(c.Value); v < 0 && v > -4096 {
		text = fmt.Sprint(v)
	} else if c.Value > 1<<32 {
		text = fmt.Sprintf("%#x", c.Value)
	}
	if len(c.From) > 0 {
		text += " (" + strings.Join(c.From, "; ") + ")"
	}
	return text
}

// Flags returns the command-line options that flip the branch, or the branch it depends on. Options
// whose value is unknown are left out.
func (d *Decision) Flags() []string {
	var out []string
	for _, h := range d.Hints {
		if h.Flag != "" && h.known {
			out = append(out, h.Flag)
		}
	}
	if d.Because != nil {
		out = append(out, d.Because.Flags()...)
	}
	return out
}
