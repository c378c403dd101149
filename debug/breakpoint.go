package debug

import (
	"fmt"
	"slices"
)

// Breakpoint stops the program before one of its places is executed.
type Breakpoint struct {
	ID     int
	Spec   string // as the user wrote it
	Places []Place
	// Note is said when the place is not exactly the one asked for.
	Note      string
	Enabled   bool
	Temporary bool
	// Cond is an expression that must be true, "" for none.
	Cond string
	cond node
	// Ignore is how many hits are passed over before the next stop.
	Ignore int
	// Hits counts the times the place was reached forwards with the condition true.
	Hits int
	// Commands are for the front end, to be carried out at a stop.
	Commands []string
	// StopAt decides by the number of hits whether the program stops, going forwards; nil always stops.
	StopAt func(hits int) bool
	// Log makes a log point of the breakpoint: it is called at each hit forwards, and the program never stops there.
	Log func()
}

// Break makes a breakpoint at a location (see [Session.Locate]).
func (s *Session) Break(location string, temporary bool) (*Breakpoint, error) {
	places, note, err := s.Locate(location)
	if err != nil {
		return nil, err
	}
	s.nextPt++
	b := &Breakpoint{ID: s.nextPt, Spec: location, Places: places, Note: note, Enabled: true, Temporary: temporary}
	s.breaks = append(s.breaks, b)
	return b, nil
}

// Breakpoints returns all breakpoints in the order they were made.
func (s *Session) Breakpoints() []*Breakpoint { return slices.Clone(s.breaks) }

// Breakpoint returns a breakpoint by number.
func (s *Session) Breakpoint(id int) (*Breakpoint, error) {
	for _, b := range s.breaks {
		if b.ID == id {
			return b, nil
		}
	}
	return nil, fmt.Errorf("there is no breakpoint %d", id)
}

// Delete removes a breakpoint or watchpoint.
func (s *Session) Delete(id int) error {
	for i, b := range s.breaks {
		if b.ID == id {
			s.breaks = slices.Delete(s.breaks, i, i+1)
			return nil
		}
	}
	for i, w := range s.watches {
		if w.ID == id {
			s.watches = slices.Delete(s.watches, i, i+1)
			s.rewatch()
			return nil
		}
	}
	return fmt.Errorf("there is no breakpoint or watchpoint %d", id)
}

// SetCondition gives a breakpoint a condition, "" for none. Names in it are looked up when the place is reached.
func (s *Session) SetCondition(id int, cond string) error {
	b, err := s.Breakpoint(id)
	if err != nil {
		return err
	}
	var n node
	if cond != "" {
		if n, err = parseExpr(cond, s.isType); err != nil {
			return err
		}
	}
	b.Cond, b.cond = cond, n
	return nil
}

// spots are the places of all enabled breakpoints.
func (s *Session) spots() map[spot]bool {
	out := map[spot]bool{}
	for _, b := range s.breaks {
		if b.Enabled {
			for _, p := range b.Places {
				if at, ok := s.spot(p); ok {
					out[at] = true
				}
			}
		}
	}
	return out
}

// breakHere returns the stop of the breakpoints at the next instruction whose conditions hold, nil when there are none. Counting
// is for ways forwards: hits are counted, ignored ones are used up, temporary breakpoints go.
func (s *Session) breakHere(count bool) *Stop {
	if len(s.breaks) == 0 || s.state != Running {
		return nil
	}
	t := s.m.Thread()
	here := s.place(t.Image(), t.PC())
	var hit []*Breakpoint
	var failed error
	for _, b := range s.breaks {
		if !b.Enabled || !slices.Contains(b.Places, here) {
			continue
		}
		if b.cond != nil {
			ok, err := s.truth(b.cond)
			if err != nil {
				failed = fmt.Errorf("condition of breakpoint %d (%s): %w", b.ID, b.Cond, err)
			} else if !ok {
				continue
			}
		}
		if b.Log != nil && !count {
			continue
		}
		if count {
			b.Hits++
			if b.Ignore > 0 {
				b.Ignore--
				continue
			}
			if b.StopAt != nil && !b.StopAt(b.Hits) {
				continue
			}
		}
		if b.Log != nil {
			b.Log()
			s.unlook()
			continue
		}
		hit = append(hit, b)
	}
	if len(hit) == 0 {
		return nil
	}
	if count {
		for _, b := range hit {
			if b.Temporary {
				s.breaks = slices.DeleteFunc(s.breaks, func(x *Breakpoint) bool { return x == b })
			}
		}
	}
	st := s.stopped(AtBreakpoint)
	st.Breakpoints, st.Err = hit, failed
	return st
}

// truth evaluates a condition in the innermost frame.
func (s *Session) truth(n node) (bool, error) {
	frame := s.frame
	s.frame = 0
	defer func() { s.frame = frame }()
	defer s.unlook()
	v, err := s.eval(n)
	if err != nil {
		return false, err
	}
	return s.isTrue(v)
}

// Holds evaluates a condition in the innermost frame.
func (s *Session) Holds(cond string) (bool, error) {
	n, err := parseExpr(cond, s.isType)
	if err != nil {
		return false, err
	}
	return s.truth(n)
}

// Enable switches a breakpoint or watchpoint on or off.
func (s *Session) Enable(id int, on bool) error {
	for _, w := range s.watches {
		if w.ID == id {
			w.Enabled = on
			s.rewatch()
			return nil
		}
	}
	b, err := s.Breakpoint(id)
	if err != nil {
		return fmt.Errorf("there is no breakpoint or watchpoint %d", id)
	}
	b.Enabled = on
	return nil
}

// At reports whether the breakpoint is at a place.
func (b *Breakpoint) At(p Place) bool { return slices.Contains(b.Places, p) }

// StopHere returns the stop of the breakpoints at the place where the session stands, as if the program had come there; nil when
// there are none. Front ends that let a program continue from its first instruction ask for it.
func (s *Session) StopHere() *Stop { return s.breakHere(true) }
