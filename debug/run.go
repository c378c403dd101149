package debug

import (
	"context"

	"github.com/bpfrun/bpfrun/vm"
)

// walk describes where an execution stops, besides breakpoints, watchpoints and the end.
type walk struct {
	// single looks at every instruction in frames up to depth over.
	single bool
	// over runs through calls made from frames at this depth; -1 does not.
	over int
	// temps are instructions to look at.
	temps []Place
	// stops returns all instructions at which done may hold. A walk that takes long runs from one to the next.
	stops func() []Place
	// done is asked at every instruction looked at; nil never stops.
	done   func() bool
	reason Reason
}

// noDepth is deeper than every frame: nothing is run through.
const noDepth = vm.MaxFrames + 1

func (s *Session) mayRun() error {
	switch s.state {
	case Idle:
		return ErrIdle
	case Ended:
		return ErrEnded
	}
	return nil
}

// spot is an instruction as the processor knows it.
type spot struct {
	img *vm.Image
	pc  int
}

func (s *Session) spot(p Place) (spot, bool) {
	if p.Prog == nil {
		return spot{}, false
	}
	img, ok := s.m.ImageOf(p.Prog.Name)
	return spot{img, p.PC}, ok
}

// arm puts breakpoints into the code and returns what takes them out.
func (s *Session) arm(temps []Place) (disarm func()) {
	patches := s.m.Thread().Patches()
	if patches == nil {
		patches = vm.NewPatches(false)
		s.m.Thread().SetPatches(patches)
	}
	var set []spot
	put := func(p Place) {
		if at, ok := s.spot(p); ok && patches.SetBreak(at.img, at.pc) {
			set = append(set, at)
		}
	}
	for _, b := range s.breaks {
		if b.Enabled {
			for _, p := range b.Places {
				put(p)
			}
		}
	}
	for _, p := range temps {
		put(p)
	}
	return func() {
		for _, at := range set {
			patches.ClearBreak(at.img, at.pc)
		}
	}
}

// exec executes at most n instructions and at least one, and notes the end of the run.
func (s *Session) exec(n uint64) vm.Stop {
	before := s.Pos()
	t := s.m.Thread()
	s.lastAt = spot{t.Image(), t.PC()}
	stop := s.run.Run(n)
	if stop == vm.Break && s.Pos() == before {
		stop = s.run.Run(n) // leave the breakpoint the session stands at
	}
	if stop == vm.Done || stop == vm.Faulted {
		s.ended()
	}
	return stop
}

// forward executes until something stops it.
func (s *Session) forward(ctx context.Context, w walk) (*Stop, error) {
	if err := s.mayRun(); err != nil {
		return nil, err
	}
	s.unlook()
	s.select0()
	s.hits = s.hits[:0]
	s.resetSoft()
	single := w.single || s.anySoft()
	disarm := s.arm(w.temps)
	defer func() { disarm() }()
	t := s.m.Thread()
	inside := false // a callee is being run through
	patience := patientSteps
	for first := true; ; first = false {
		if ctx.Err() != nil {
			return s.stopped(Interrupted), nil
		}
		if patience--; patience == 0 && w.stops != nil && single && !s.anySoft() {
			single = false
			w.temps = append(w.temps[:len(w.temps):len(w.temps)], w.stops()...)
			disarm()
			disarm = s.arm(w.temps)
		}
		s.applyEdits()
		n := min(s.untilEdit(), chunk)
		deep := t.Depth() > w.over
		if deep != inside {
			disarm()
			temps := w.temps
			if inside = deep; deep {
				temps = append(temps[:len(temps):len(temps)], s.returnsTo(w.over)...)
			}
			disarm = s.arm(temps)
		}
		if first && !deep || single && !deep || s.anySoft() {
			n = 1
		}
		tr := s.traceBefore()
		if tr != nil {
			n = 1
		}
		s.exec(n)
		tr.after()
		if s.state == Ended {
			return s.stopped(s.endReason()), nil
		}
		if hits := s.takeHits(); len(hits) > 0 {
			s.applyEdits()
			st := s.stopped(AtWatchpoint)
			st.Watches = hits
			return st, nil
		}
		if st := s.breakHere(true); st != nil {
			s.applyEdits()
			return st, nil
		}
		if w.done != nil && t.Depth() <= w.over && w.done() {
			s.applyEdits()
			return s.stopped(w.reason), nil
		}
	}
}

// returnsTo are the places at which a frame at that depth continues after the calls it made.
func (s *Session) returnsTo(depth int) []Place {
	t := s.m.Thread()
	frames := t.Frames()
	if i := t.Depth() - depth; i > 0 && i < len(frames) {
		p := s.place(frames[i].Image, frames[i].PC)
		out := []Place{p}
		if p.Prog != nil && p.Prog.ExceptionCallback > 0 {
			out = append(out, Place{p.Prog, p.Prog.ExceptionCallback})
		}
		return out
	}
	return nil
}

// StepInsn executes n instructions, or goes back as many.
func (s *Session) StepInsn(ctx context.Context, n uint64) (*Stop, error) {
	if s.Reverse {
		return s.backBy(ctx, n)
	}
	left := n
	return s.forward(ctx, walk{single: true, over: noDepth, reason: Stepped, done: func() bool {
		left--
		return left == 0
	}})
}

// NextInsn executes one instruction, with all of what a call does.
func (s *Session) NextInsn(ctx context.Context) (*Stop, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	d := s.m.Thread().Depth()
	if s.Reverse {
		if s.state == Ended {
			d = noDepth
		}
		return s.backward(ctx, &backMatch{match: func(e *entry) bool { return int(e.depth) <= d }})
	}
	return s.forward(ctx, walk{single: true, over: d, reason: Stepped, done: func() bool { return true }})
}

// Step executes up to the start of another source line, also one of a function called.
func (s *Session) Step(ctx context.Context) (*Stop, error) { return s.stepLine(ctx, noDepth, 0) }

// Next is Step that runs through calls.
func (s *Session) Next(ctx context.Context) (*Stop, error) {
	return s.stepLine(ctx, s.m.Thread().Depth(), 0)
}

// Until is Next that does not go back to an earlier instruction of the function: it leaves loops.
func (s *Session) Until(ctx context.Context) (*Stop, error) {
	return s.stepLine(ctx, s.m.Thread().Depth(), s.m.Thread().PC()+1)
}

// patientSteps is how many instructions a walk looks at one by one, before it puts breakpoints where it may end.
const patientSteps = 1000

// lineStops are the instructions at which a step from a line may end: where other lines begin, in this function from least on. Calls
// are entered with into; inlined ones up to a depth.
func (s *Session) lineStops(here Place, into bool, least int, inlined uint8) []Place {
	cur := s.codeOf(here.Prog)
	var out []Place
	for _, lp := range s.linked.Programs {
		c := s.codeOf(lp)
		for pc, start := range c.starts {
			switch {
			case !start:
			case lp != here.Prog: // a tail call
			case c.fn[pc] == cur.fn[here.PC]:
				// A function that is entered again ends the step where it begins.
				start = c.line[pc] != cur.line[here.PC] && pc >= least && c.inlined[pc] <= inlined || into && lp.Funcs[c.fn[pc]].Start == pc
			default:
				start = into || pc == lp.ExceptionCallback
			}
			if start {
				out = append(out, Place{lp, pc})
			}
		}
	}
	return out
}

// returnsToOf is where the running function returns to, nothing for the outermost.
func (s *Session) returnsToOf(depth int) []Place {
	if depth == 0 {
		return nil
	}
	return s.returnsTo(depth - 1)
}

// noInline is more than every count of inlined functions.
const noInline = 255

// stepLine steps to another line; least is the first instruction of the function it may stop at.
func (s *Session) stepLine(ctx context.Context, over, least int) (*Stop, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	if s.Reverse {
		return s.backward(ctx, &backLine{s: s, over: over != noDepth, depth: s.nesting(), ended: s.state == Ended})
	}
	t := s.m.Thread()
	depth, img, here := t.Depth(), t.Image(), s.place(t.Image(), t.PC())
	if here.Prog == nil {
		return nil, ErrEnded
	}
	c := s.codeOf(here.Prog)
	inlined := uint8(noInline)
	if over != noDepth {
		inlined = c.inlined[here.PC] // calls that were inlined are run through too
	}
	line, lined := c.line[here.PC], c.hasLines(here.PC)
	outer := s.returnsToOf(depth)
	stops := func() []Place { return append(s.lineStops(here, over == noDepth, least, inlined), outer...) }
	return s.forward(ctx, walk{single: true, over: over, stops: stops, reason: Stepped, done: func() bool {
		p := s.place(t.Image(), t.PC())
		if p.Prog == nil {
			return false
		}
		at := s.codeOf(p.Prog)
		switch d := t.Depth(); {
		case d < depth:
			return true
		case d > depth:
			return at.starts[p.PC]
		case t.Image() != img:
			return true // a tail call
		case !lined:
			return at.starts[p.PC]
		default:
			return at.starts[p.PC] && at.line[p.PC] != line && p.PC >= least && at.inlined[p.PC] <= inlined
		}
	}})
}

// Finish executes until the selected frame returns. Backwards it goes to the call.
func (s *Session) Finish(ctx context.Context) (*Stop, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	t := s.m.Thread()
	to := t.Depth() - s.frame - 1
	if s.Reverse {
		if s.state == Ended {
			to = -1
		}
		sc := s.selectedInline()
		return s.backward(ctx, &backMatch{match: func(e *entry) bool {
			if sc != nil && int(e.depth) == to+1 {
				addr, _ := s.codeAddress(s.place(e.img, int(e.pc)))
				return !sc.covers(addr)
			}
			return int(e.depth) <= to
		}})
	}
	if s.state == Running && to < 0 && s.selectedInline() == nil {
		return s.forward(ctx, walk{over: noDepth, reason: Stepped})
	}
	callee := s.Here()
	if sc := s.selectedInline(); sc != nil {
		d := to + 1
		return s.forward(ctx, walk{single: true, over: d, reason: Stepped, done: func() bool {
			return t.Depth() < d || !sc.covers(s.addressOf(t))
		}})
	}
	st, err := s.forward(ctx, walk{single: true, over: to, reason: Returned, done: func() bool { return true }})
	if err == nil && st.Reason == Returned {
		st.Value = s.returned(callee)
	}
	return st, err
}

// selectedInline is the scope of the selected frame when that is an inlined function, nil otherwise.
func (s *Session) selectedInline() *scope {
	if s.state != Running {
		return nil
	}
	if list := s.inlinedAt(s.Here()); s.inline < len(list) {
		return list[s.inline]
	}
	return nil
}

// addressOf is the address of the next instruction in terms of the object's DWARF.
func (s *Session) addressOf(t *vm.Thread) uint64 {
	addr, _ := s.codeAddress(s.place(t.Image(), t.PC()))
	return addr
}

// returned is r0 in the type the function returns.
func (s *Session) returned(callee Place) *Value {
	v := s.number(s.m.Thread().Reg(0), false)
	f, ok := callee.Func()
	spec := s.linked.Object.BTF
	if !ok || f.Type == 0 || spec == nil {
		return v
	}
	fn, err := spec.Type(f.Type)
	if err != nil {
		return v
	}
	proto := spec.SkipMods(fn.Ref)
	if proto.Ref == 0 {
		return nil // void
	}
	if typed, err := s.convert(v, Type{Spec: spec, ID: proto.Ref}); err == nil {
		return typed
	}
	return v
}

// Continue executes until something stops the program.
func (s *Session) Continue(ctx context.Context) (*Stop, error) {
	if s.Reverse {
		return s.backToStop(ctx, nil)
	}
	return s.forward(ctx, walk{over: noDepth})
}

// Advance executes until one of the places is reached, or the function returns.
func (s *Session) Advance(ctx context.Context, places []Place) (*Stop, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	if s.Reverse {
		return s.backToStop(ctx, places)
	}
	t := s.m.Thread()
	depth := t.Depth()
	temps := append([]Place(nil), places...)
	if depth > 0 {
		temps = append(temps, s.returnsTo(depth-1)...)
	}
	return s.forward(ctx, walk{over: noDepth, temps: temps, reason: Arrived, done: func() bool {
		if t.Depth() < depth {
			return true
		}
		here := s.place(t.Image(), t.PC())
		for _, p := range places {
			if p == here {
				return true
			}
		}
		return false
	}})
}
