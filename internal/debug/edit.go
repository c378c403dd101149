package debug

import (
	"github.com/bpfrun/bpfrun/internal/debug/expr"
)

// Assign evaluates an assignment ("$r0 = 1", "counters[3].n = 7") and returns the new value. While
// a program is running, the assignment becomes part of the run: going back and forward repeats it,
// and edits previously made at later positions are dropped.
func (s *Session) Assign(text string) (*expr.Value, error) {
	s.Unlook()
	v, err := s.AssignNow(text)
	if err != nil || s.state != Running {
		return v, err
	}
	s.diverge()
	s.edits = append(s.edits, edit{pos: s.Pos(), cpu: s.cpu, frame: s.frame, text: text, dst: s.Stored})
	s.done++
	return v, nil
}
