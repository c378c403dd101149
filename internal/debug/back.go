package debug

import (
	"context"

	"github.com/bpfrun/bpfrun/vm"
)

// entry is the state before one instruction of a stretch of the run that was executed again.
type entry struct {
	pos   uint64
	img   *vm.Image
	pc    int32
	depth int16
	cpu   int16
	hit   bool // the instruction triggered a watchpoint
}

// search looks through the run backwards. feed receives entries with decreasing positions and
// returns true to stop; found is the position it was looking for.
type search interface {
	feed(e *entry) (enough bool)
	found() (pos uint64, ok bool)
}

// Stretches executed again grow, so that a search that ends soon stays cheap and a long one does
// not start over too often.
const (
	firstStretch  = 1 << 12
	lastStretch   = 1 << 20
	stretchGrowth = 16
)

// record executes the positions [lo, hi) one by one and returns their entries.
func (s *Session) record(ctx context.Context, lo, hi uint64) ([]entry, error) {
	if err := s.goTo(ctx, lo); err != nil {
		return nil, err
	}
	out := make([]entry, 0, hi-lo)
	t := s.m.Thread()
	s.resetSoft()
	soft, watched := s.anySoft(), len(s.watches) > 0
	for i := 0; s.running() && s.Pos() < hi; i++ {
		if i%firstStretch == firstStretch-1 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.applyEdits()
		s.face()
		e := entry{pos: s.Pos(), img: t.Image(), pc: int32(t.PC()), depth: int16(t.Depth()), cpu: int16(s.cpu)}
		s.hits, s.lastAt = s.hits[:0], spot{e.img, int(e.pc)}
		s.execute(1)
		if watched && (len(s.hits) > 0 || soft) && s.running() {
			e.hit = len(s.takeHits()) > 0
		}
		out = append(out, e)
	}
	return out, nil
}

// backward searches backwards from the current position and moves to the match, or to a breakpoint
// or watchpoint before that.
func (s *Session) backward(ctx context.Context, w search) (*Stop, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	s.Unlook()
	origin, cpu, began := s.Pos(), s.cpu, s.began
	back := func(err error) (*Stop, error) {
		// An interrupted search does not move the session.
		if ctx.Err() != nil {
			if gerr := s.goBackTo(ctx, origin, cpu); gerr != nil {
				return nil, gerr
			}
			return s.stopped(Interrupted), nil
		}
		return nil, err
	}
	breaks := s.spots()
	if err := s.prepareBack(ctx, origin); err != nil {
		return back(err)
	}
	for hi, size := origin, uint64(firstStretch); hi > began; size = min(stretchGrowth*size, lastStretch) {
		lo := s.stretchStart(hi, size)
		entries, err := s.record(ctx, lo, hi)
		if err != nil {
			return back(err)
		}
		for i := len(entries) - 1; i >= 0; i-- {
			e := &entries[i]
			if int(e.cpu) == cpu && e.pos >= began && w.feed(e) {
				pos, ok := w.found()
				if !ok {
					pos = e.pos
				}
				if err := s.goTo(ctx, pos); err != nil {
					return back(err)
				}
				s.applyEdits()
				return s.stopped(Stepped), nil
			}
			if !e.hit && !breaks[spot{e.img, int(e.pc)}] {
				continue
			}
			st, err := s.stopAt(ctx, e)
			if err != nil {
				return back(err)
			}
			if st != nil {
				return st, nil
			}
		}
		hi = lo
	}
	if pos, ok := w.found(); ok {
		if err := s.goTo(ctx, pos); err != nil {
			return back(err)
		}
		s.applyEdits()
		return s.stopped(Stepped), nil
	}
	return s.toStart(ctx, cpu, began)
}

// toStart moves to where the program of a CPU began.
func (s *Session) toStart(ctx context.Context, cpu int, began uint64) (*Stop, error) {
	if began == 0 {
		s.rewind()
		s.applyEdits()
		s.face()
	} else {
		if err := s.goTo(ctx, began); err != nil {
			return nil, err
		}
		s.applyEdits()
		s.load(cpu)
	}
	return s.stopped(AtStart), nil
}

// stopAt moves to an entry with a breakpoint or watchpoint and returns the stop, nil if its
// condition does not hold there.
func (s *Session) stopAt(ctx context.Context, e *entry) (*Stop, error) {
	if err := s.goTo(ctx, e.pos); err != nil {
		return nil, err
	}
	s.applyEdits()
	if e.hit {
		// Execute the instruction once more to see what the watchpoint sees.
		s.resetSoft()
		s.hits = s.hits[:0]
		s.exec(1)
		hits := s.takeHits()
		if err := s.goTo(ctx, e.pos); err != nil {
			return nil, err
		}
		s.applyEdits()
		st := s.stopped(AtWatchpoint)
		st.Watches = hits
		return st, nil
	}
	return s.breakHere(false), nil
}

// backBy moves n instructions back.
func (s *Session) backBy(ctx context.Context, n uint64) (*Stop, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	s.Unlook()
	pos, cpu := s.Pos(), s.cpu
	to, ok := s.countBack(n)
	if !ok {
		return s.toStart(ctx, cpu, s.began)
	}
	err := s.prepareBack(ctx, pos)
	if err == nil {
		err = s.goTo(ctx, to)
	}
	if err != nil {
		if ctx.Err() == nil {
			return nil, err
		}
		if err := s.goBackTo(ctx, pos, cpu); err != nil {
			return nil, err
		}
		return s.stopped(Interrupted), nil
	}
	s.applyEdits()
	if st := s.breakHere(false); st != nil {
		return st, nil
	}
	return s.stopped(Stepped), nil
}

// backToStop moves back to the last stop before the current position: a breakpoint, a watchpoint,
// or one of the places. It examines the stretches between kept states, the last one first.
func (s *Session) backToStop(ctx context.Context, places []Place) (*Stop, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	s.Unlook()
	origin, cpu := s.Pos(), s.cpu
	temps := map[spot]bool{}
	for _, p := range places {
		if at, ok := s.spot(p); ok {
			temps[at] = true
		}
	}
	var last uint64
	var hit stopKind
	err := s.prepareBack(ctx, origin)
	for hi := origin; err == nil && hi > 0 && !hit.found; {
		lo := s.wayTo(hi - 1).pos
		last, hit, err = s.lastStop(ctx, lo, hi, places, temps)
		hi = lo
	}
	if err != nil {
		if ctx.Err() == nil {
			return nil, err
		}
		if err := s.goBackTo(ctx, origin, cpu); err != nil {
			return nil, err
		}
		return s.stopped(Interrupted), nil
	}
	if !hit.found {
		return s.toStart(ctx, cpu, 0)
	}
	st, err := s.stopAt(ctx, &entry{pos: last, hit: hit.watch})
	if err == nil && st == nil {
		st = s.stopped(Arrived)
	}
	return st, err
}

type stopKind struct{ found, watch bool }

// lastStop executes the run from position from to position limit and returns the last position
// before limit at which it would have stopped.
func (s *Session) lastStop(ctx context.Context, from, limit uint64, places []Place, temps map[spot]bool) (last uint64, kind stopKind, err error) {
	if err := s.goTo(ctx, from); err != nil {
		return 0, kind, err
	}
	defer s.arm(places)()
	t := s.m.Thread()
	s.resetSoft()
	for s.running() && s.Pos() < limit {
		if err := ctx.Err(); err != nil {
			return 0, kind, err
		}
		s.applyEdits()
		s.face()
		if temps[spot{t.Image(), t.PC()}] || s.breakHere(false) != nil {
			last, kind = s.Pos(), stopKind{found: true}
		}
		s.Unlook()
		n := min(limit-s.Pos(), s.untilEdit(), chunk)
		if s.anySoft() {
			n = 1
		}
		s.exec(n)
		if s.running() && len(s.takeHits()) > 0 {
			last, kind = s.Pos()-1, stopKind{found: true, watch: true}
		}
	}
	return last, kind, nil
}

// backMatch finds the first matching entry.
type backMatch struct {
	match func(*entry) bool
	pos   uint64
	ok    bool
}

func (b *backMatch) feed(e *entry) bool {
	if b.match(e) {
		b.pos, b.ok = e.pos, true
	}
	return b.ok
}

func (b *backMatch) found() (uint64, bool) { return b.pos, b.ok }

// backLine finds the first instruction of the source line executed before; if the search starts in
// the middle of a line, of that line.
type backLine struct {
	s     *Session
	over  bool // step over calls
	depth int  // call depth at which it began
	ended bool // the search starts after the end of the run

	have   bool
	target lineKey
	best   uint64
}

type lineKey struct {
	depth int16 // calls, and in the low byte inlined calls
	img   *vm.Image
	line  int32
}

func (b *backLine) feed(e *entry) bool {
	p := b.s.place(e.img, int(e.pc))
	if p.Prog == nil {
		return false
	}
	c := b.s.codeOf(p.Prog)
	k := lineKey{e.depth<<8 | int16(c.inlined[p.PC]), e.img, c.line[p.PC]}
	if !b.have {
		if k.line == 0 || b.over && !b.ended && int(k.depth) > b.depth {
			return false
		}
		b.have, b.target, b.best = true, k, e.pos
		return false
	}
	switch {
	case k == b.target:
		b.best = e.pos
	case k.depth > b.target.depth:
		if !b.over && k.line != 0 {
			b.target, b.best = k, e.pos
		}
	case k.line != 0 || k.depth < b.target.depth || k.img != b.target.img:
		return true
	}
	return false
}

func (b *backLine) found() (uint64, bool) { return b.best, b.have }
