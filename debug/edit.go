package debug

import "math"

// edit is a change the user made, at its place in the run. It is kept as text and made again in every pass.
type edit struct {
	pos   uint64
	frame int
	text  string // the assignment
	dst   stored // what it changed
}

// stored is where an assignment stored its value.
type stored struct {
	isReg      bool
	depth, reg int
	addr, size uint64
}

// applyEdits makes the changes that belong to the position.
func (s *Session) applyEdits() {
	for s.done < len(s.edits) && s.edits[s.done].pos <= s.Pos() {
		e := s.edits[s.done]
		s.done++
		frame := s.frame
		s.frame = e.frame
		// It succeeded at this very place before; what it does is decided by the state alone.
		_, _ = s.assignNow(e.text)
		s.frame = frame
	}
}

// untilEdit is the number of instructions up to the next change.
func (s *Session) untilEdit() uint64 {
	if s.done < len(s.edits) && s.edits[s.done].pos > s.Pos() {
		return s.edits[s.done].pos - s.Pos()
	}
	return math.MaxUint64
}

// Assign evaluates an assignment ("$r0 = 1", "counters[3].n = 7") and returns the new value. Made while a program runs it
// becomes part of the run: going back and forward again makes it again, and drops changes that were made further on before.
func (s *Session) Assign(text string) (*Value, error) {
	s.unlook()
	v, err := s.assignNow(text)
	if err != nil || s.state != Running {
		return v, err
	}
	s.edits = append(s.edits[:s.done:s.done], edit{s.Pos(), s.frame, text, s.stored})
	s.done++
	s.end = 0
	s.dropWays(s.Pos())
	return v, nil
}

// Edits returns the number of changes that belong to the run.
func (s *Session) Edits() int { return len(s.edits) }
