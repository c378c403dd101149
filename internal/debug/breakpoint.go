package debug

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/vm"
)

// stops owns the breakpoints and watchpoints, and decides whether they stop the run at the current
// instruction.
type stops struct {
	*subject
	*expr.Memory
	*codeMap
	*expr.Values
	*expr.Printer
	*expr.Evaluator
	*timeline
	*selection
	*frames
	breaks  []*Breakpoint
	watches []*Watch
	nextPt  int
	spy     *watching
}

// Breakpoint stops the program before one of its places is executed.
type Breakpoint struct {
	ID     int
	Spec   string // as the user wrote it
	Places []Place
	// Note explains how the place differs from the location given.
	Note      string
	Enabled   bool
	Temporary bool
	// CPU is the CPU that the breakpoint applies to, AllCPUs for all.
	CPU int
	// Cond is an expression that must be true, "" for none.
	Cond string
	cond expr.Node
	// Ignore is the number of hits to skip before the next stop.
	Ignore int
	// Hits counts how often the place was reached going forwards with the condition true.
	Hits int
	// Commands are for the front end to execute at a stop.
	Commands []string
	// StopAt decides from the number of hits whether the program stops, going forwards; nil always
	// stops.
	StopAt func(hits int) bool
	// Log makes the breakpoint a log point: Log is called at each hit going forwards, and the
	// program never stops there.
	Log func()
}

// AllCPUs is the CPU of breakpoints that apply to every CPU.
const AllCPUs = -1

// Break creates a breakpoint at a location (see [Session.Locate]).
func (s *Session) Break(location string, temporary bool) (*Breakpoint, error) {
	places, note, err := s.Locate(location)
	if err != nil {
		return nil, err
	}
	s.nextPt++
	b := &Breakpoint{ID: s.nextPt, Spec: location, Places: places, Note: note, Enabled: true, Temporary: temporary, CPU: AllCPUs}
	s.breaks = append(s.breaks, b)
	return b, nil
}

// Breakpoints returns all breakpoints in the order they were created.
func (sp *stops) Breakpoints() []*Breakpoint { return slices.Clone(sp.breaks) }

// Breakpoint returns a breakpoint by number.
func (sp *stops) Breakpoint(id int) (*Breakpoint, error) {
	for _, b := range sp.breaks {
		if b.ID == id {
			return b, nil
		}
	}
	return nil, fmt.Errorf("no breakpoint %d", id)
}

// Delete removes a breakpoint or watchpoint.
func (sp *stops) Delete(id int) error {
	for i, b := range sp.breaks {
		if b.ID == id {
			sp.breaks = slices.Delete(sp.breaks, i, i+1)
			return nil
		}
	}
	for i, w := range sp.watches {
		if w.ID == id {
			sp.watches = slices.Delete(sp.watches, i, i+1)
			sp.rewatch()
			return nil
		}
	}
	return fmt.Errorf("no breakpoint or watchpoint %d", id)
}

// SetCondition sets the condition of a breakpoint, "" for none. Names in it are resolved when the
// place is reached.
func (sp *stops) SetCondition(id int, cond string) error {
	b, err := sp.Breakpoint(id)
	if err != nil {
		return err
	}
	var n expr.Node
	if cond != "" {
		if n, err = sp.Parse(cond); err != nil {
			return err
		}
	}
	b.Cond, b.cond = cond, n
	return nil
}

// spots returns the places of all enabled breakpoints.
func (sp *stops) spots() map[spot]bool {
	out := map[spot]bool{}
	for _, b := range sp.breaks {
		if b.Enabled {
			for _, p := range b.Places {
				if at, ok := sp.spot(p); ok {
					out[at] = true
				}
			}
		}
	}
	return out
}

// breakHere returns the stop of the breakpoints at the next instruction whose conditions hold, nil
// if there are none. count is set when the run goes forwards: hits are counted, ignore counts
// decrease, and temporary breakpoints are deleted.
func (s *Session) breakHere(count bool) *Stop {
	if len(s.breaks) == 0 || s.state != Running {
		return nil
	}
	t := s.m.Thread()
	here := s.place(t.Image(), t.PC())
	var hit []*Breakpoint
	var failed error
	for _, b := range s.breaks {
		if !b.Enabled || b.CPU != AllCPUs && b.CPU != s.cpu || !slices.Contains(b.Places, here) {
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
			s.Unlook()
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
func (sp *stops) truth(n expr.Node) (bool, error) {
	frame := sp.frame
	sp.frame = 0
	defer func() { sp.frame = frame }()
	defer sp.Unlook()
	v, err := sp.EvalNode(n)
	if err != nil {
		return false, err
	}
	return sp.IsTrue(v)
}

// Holds evaluates a condition in the innermost frame.
func (sp *stops) Holds(cond string) (bool, error) {
	n, err := sp.Parse(cond)
	if err != nil {
		return false, err
	}
	return sp.truth(n)
}

// Enable enables or disables a breakpoint or watchpoint.
func (sp *stops) Enable(id int, on bool) error {
	for _, w := range sp.watches {
		if w.ID == id {
			w.Enabled = on
			sp.rewatch()
			return nil
		}
	}
	b, err := sp.Breakpoint(id)
	if err != nil {
		return fmt.Errorf("no breakpoint or watchpoint %d", id)
	}
	b.Enabled = on
	return nil
}

// At reports whether the breakpoint is at a place.
func (b *Breakpoint) At(p Place) bool { return slices.Contains(b.Places, p) }

// StopHere returns the stop of the breakpoints at the current position, as if the program had just
// reached it; nil if there are none. Front ends that continue a program from its first instruction
// call it.
func (s *Session) StopHere() *Stop { return s.breakHere(true) }

// arm inserts breakpoints into the code and returns the function that removes them.
func (sp *stops) arm(temps []Place) (disarm func()) {
	patches := sp.m.Thread().Patches()
	if patches == nil {
		patches = vm.NewPatches(false)
		sp.m.Thread().SetPatches(patches)
	}
	var set []spot
	put := func(p Place) {
		if at, ok := sp.spot(p); ok && patches.SetBreak(at.img, at.pc) {
			set = append(set, at)
		}
	}
	for _, b := range sp.breaks {
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
