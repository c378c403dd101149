package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/progtype"
)

// Chained is what the programs of one hook did and decided.
type Chained struct {
	// Verdict is what the kernel does in the end, in its words; "" if the programs decide nothing, or if one of them cannot run.
	Verdict string
	// NotRun are the programs after the one that decided.
	NotRun []string
	// Broken is the program that cannot run or did not end, "" if there is none.
	Broken string
}

// ErrChain means that programs cannot run one after the other on one hook.
var ErrChain = errors.New("these programs do not share a hook")

// RunChain runs the programs of one hook in the given order, as the kernel does with programs attached in it: on the same context, until one
// decides. done gets the result of each. RunChain ends at a program that the kernel would not have accepted, since that is then not attached.
func (m *Machine) RunChain(ctx context.Context, names []string, in Input, done func(*Result)) (*Chained, error) {
	decision, err := m.decision(names)
	if err != nil {
		return nil, err
	}
	c := &Chained{}
	for i, name := range names {
		in.sameContext = i > 0
		s, res, err := m.Begin(name, in)
		if err != nil {
			return nil, err
		}
		if s == nil {
			done(res)
			c.Broken = name
			return c, nil
		}
		m.env.Run.Retval = decision.Retval()
		if err := s.execute(ctx, in.Trace); err != nil {
			s.Leave()
			return nil, err
		}
		retval := m.env.Run.Retval
		done(s.Finish())
		if res.Fault != nil {
			c.Broken = name
			return c, nil
		}
		if !decision.Add(uint32(res.Ret), retval) {
			c.NotRun = names[i+1:]
			break
		}
	}
	c.Verdict = decision.Verdict()
	return c, nil
}

// decision begins what the programs decide together.
func (m *Machine) decision(names []string) (*progtype.Decision, error) {
	var first *program
	for _, name := range names {
		p := m.byName[name]
		switch {
		case p == nil:
			return nil, fmt.Errorf("%w: %s", ErrNoProgram, name)
		case first == nil:
			first = p
		case p.typ != first.typ || p.lp.Attach != first.lp.Attach || p.lp.AttachTo != first.lp.AttachTo || p.lp.SectionFlags != first.lp.SectionFlags:
			return nil, fmt.Errorf("%w: %s (%s) and %s (%s)", ErrChain, first.lp.Name, first.lp.Section, name, p.lp.Section)
		}
	}
	if first == nil {
		return nil, fmt.Errorf("%w: none is chosen", ErrChain)
	}
	d, ok := progtype.NewDecision(first.typ, first.lp.Attach)
	if !ok {
		return nil, fmt.Errorf("%w: a hook has one program of type %v", ErrChain, first.typ)
	}
	return d, nil
}
