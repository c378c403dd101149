package debug

import (
	"context"
	"fmt"

	"github.com/bpfrun/bpfrun/vm"
)

// walk describes where an execution stops, in addition to breakpoints, watchpoints and the end.
type walk struct {
	// single examines every instruction in frames up to depth over.
	single bool
	// over is the depth of the frames whose calls are stepped over; -1 for none.
	over int
	// temps are instructions to examine.
	temps []Place
	// stops returns all instructions at which done may hold. A long walk runs from one to the next.
	stops func() []Place
	// done is called at every instruction examined and ends the walk if it returns true; nil never
	// ends it.
	done   func() bool
	reason Reason
}

// noDepth is greater than any frame's depth: nothing is stepped over.
const noDepth = 1 << 20

// forward executes until something stops it.
func (s *Session) forward(ctx context.Context, w walk) (*Stop, error) {
	if err := s.mayRun(); err != nil {
		return nil, err
	}
	s.Unlook()
	s.select0()
	if s.follows() {
		return s.walk(ctx, w)
	}
	next, rest := s.cpuAt(s.Pos()), s.known-s.Pos()
	s.diverge()
	st, err := s.walk(ctx, w)
	if st != nil {
		st.Notes = append(st.Notes, fmt.Sprintf("In the record CPU %d went on there: the %d instructions recorded after it were dropped.", next, rest))
	}
	return st, err
}

// walk is forward on the selected CPU.
func (s *Session) walk(ctx context.Context, w walk) (*Stop, error) {
	cpu := s.cpu
	s.hits = s.hits[:0]
	s.resetSoft()
	single := w.single || s.anySoft()
	disarm := s.arm(w.temps)
	defer func() { disarm() }()
	t := s.m.Thread()
	inside := false // stepping over a call
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
		s.faceFor(cpu) // other CPUs repeat what they did in the meantime
		own := s.cpu == cpu
		n := min(s.untilEdit(), chunk)
		deep := own && t.Depth() > w.over
		if own && deep != inside {
			disarm()
			temps := w.temps
			if inside = deep; deep {
				temps = append(temps[:len(temps):len(temps)], s.returnsTo(w.over)...)
			}
			disarm = s.arm(temps)
		}
		if own && (first || single) && !deep || s.anySoft() {
			n = 1
		}
		tr := s.traceBefore()
		if tr != nil {
			n = 1
		}
		stop := s.exec(n)
		tr.after()
		switch {
		case s.state == Ended && own:
			return s.stopped(s.endReason()), nil
		case s.state == Ended:
			continue
		case stop == vm.Stopped && s.run.Waits() != nil:
			st := s.stopped(Waiting)
			st.Notes = []string{s.waitText(s.run.Waits())}
			return st, nil
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
		if own && w.done != nil && t.Depth() <= w.over && w.done() {
			s.applyEdits()
			return s.stopped(w.reason), nil
		}
	}
}

// StepInsn executes n instructions, or goes back n instructions.
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

// NextInsn executes one instruction; a call is executed as a whole.
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

// Step executes up to the start of another source line, including lines of called functions.
func (s *Session) Step(ctx context.Context) (*Stop, error) { return s.stepLine(ctx, noDepth, 0) }

// Next is Step, but steps over calls.
func (s *Session) Next(ctx context.Context) (*Stop, error) {
	return s.stepLine(ctx, s.m.Thread().Depth(), 0)
}

// Until is Next, but does not stop at an earlier instruction of the function, so it leaves loops.
func (s *Session) Until(ctx context.Context) (*Stop, error) {
	return s.stepLine(ctx, s.m.Thread().Depth(), s.m.Thread().PC()+1)
}

// patientSteps is the number of instructions that a walk examines one by one before it sets
// breakpoints where it may end.
const patientSteps = 1000

// stepLine steps to another line; least is the first instruction of the function that it may stop
// at.
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
		inlined = c.inlined[here.PC] // step over inlined calls too
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

// Finish executes until the selected frame returns. In reverse, it goes back to the call.
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
				return !sc.Covers(addr)
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
			return t.Depth() < d || !sc.Covers(s.addressOf(t))
		}})
	}
	byHelper := s.callerIsHelper()
	st, err := s.forward(ctx, walk{single: true, over: to, reason: Returned, done: func() bool { return true }})
	switch {
	case err != nil || st.Reason != Returned:
	case byHelper != "": // r0 belongs to the helper
		st.Notes = append(st.Notes, fmt.Sprintf("%s was called by %s, which has made all its calls and returned %s.", callee.funcName(), byHelper, s.AddressText(s.m.Thread().Reg(0))))
	default:
		s.returned(st, callee)
	}
	return st, err
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
