package debug

import (
	"context"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
)

// Jump makes the program continue at another instruction of the running function without executing
// the ones between. Like [Session.Assign], it is an edit that belongs to the run.
func (s *Session) Jump(location string) (*Stop, error) {
	if err := s.mayRun(); err != nil {
		return nil, err
	}
	places, _, err := s.Locate(location)
	if err != nil {
		return nil, err
	}
	s.select0()
	here := s.Here()
	f, _ := here.Func()
	for _, p := range places {
		if p.Prog == here.Prog && p.PC >= f.Start && p.PC < f.Start+f.Len {
			if _, err := s.Assign(fmt.Sprintf("$pc = %d", p.PC)); err != nil {
				return nil, err
			}
			return s.stopped(Arrived), nil
		}
	}
	return nil, fmt.Errorf("%s is not in the current function, %s: jump cannot leave the function", location, here.funcName())
}

// LastValue is the last known value of a variable.
type LastValue struct {
	Text  string
	Place Place
	// Pos is the number of instructions executed before it; Ago is the number executed since.
	Pos, Ago uint64
}

// maxLast is how many instructions back a variable is searched for.
const maxLast = 1 << 20

// LastKnown finds the last position in this activation at which a local variable of the selected
// frame has a value. The session's position does not change.
func (s *Session) LastKnown(ctx context.Context, name string) (*LastValue, error) {
	if err := s.mayRun(); err != nil && !s.live() {
		return nil, err
	}
	if v, ok, err := s.local(name); !ok {
		return nil, &expr.UnknownError{What: "local variable", Name: name, Nearest: expr.Near(name, s.Names())}
	} else if err == nil {
		return &LastValue{Text: s.Format(v, expr.FormatOptions{}), Place: s.Here(), Pos: s.Pos()}, nil
	}
	s.Unlook()
	origin, cpu, frame, inline := s.Pos(), s.cpu, s.frame, s.inline
	depth := s.m.Thread().Depth() - frame
	defer func() { s.frame, s.inline = frame, inline }()
	back := func(err error) error {
		if gerr := s.goBackTo(ctx, origin, cpu); err == nil {
			err = gerr
		}
		return err
	}
	if err := s.prepareBack(ctx, origin); err != nil {
		return nil, back(err)
	}
	t := trail{s: s, ctx: ctx}
	began := s.beganAt(cpu, origin)
	for pos := origin; pos > began && origin-pos < maxLast; {
		pos--
		c, err := t.at(pos)
		if err != nil {
			return nil, back(err)
		}
		if int(c.cpu) != cpu {
			continue
		}
		if int(c.depth) < depth { // the activation began
			break
		}
		if int(c.depth) > depth || !s.mayKnow(name, s.place(c.img, int(c.pc))) {
			continue
		}
		if err := s.goTo(ctx, pos); err != nil {
			return nil, back(err)
		}
		s.applyEdits()
		s.select0()
		v, ok, err := s.localAnywhere(name)
		if !ok || err != nil {
			continue // the location is known, but its register was overwritten
		}
		out := &LastValue{Text: s.Format(v, expr.FormatOptions{}), Place: s.Here(), Pos: pos, Ago: origin - pos}
		s.Unlook()
		return out, back(nil)
	}
	return nil, errors.Join(back(nil), &expr.UnavailableError{Name: name, Why: "according to the debug information, it had no value in this call of the function"})
}
