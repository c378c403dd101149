package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/progtype"
)

// Chained is what the programs of one hook did and decided.
type Chained struct {
	// Verdict is what the kernel does in the end, in its words; "" if the programs decide nothing,
	// or if one of them cannot run.
	Verdict string
	// NotRun are the programs after the one that decided.
	NotRun []string
	// Broken is the program that cannot run or did not end, "" if there is none.
	Broken string
	// Results are those of the programs that ran, in order; the last may be that of Broken.
	Results []*Result
}

// Whole returns what the programs did together.
func (c *Chained) Whole() *Result { return Together(c.Results) }

// Together joins results of runs that follow each other: the last one, with the records, effects,
// changes, calls and accesses of all; nil for none.
func Together(results []*Result) *Result {
	if len(results) == 0 {
		return nil
	}
	out := *results[len(results)-1]
	out.Insns, out.Helpers, out.PacketIn, out.From = 0, map[string]int{}, results[0].PacketIn, results[0].From
	out.Sent = nil
	out.Trace, out.Events, out.Effects, out.Changes, out.Reads, out.Writes, out.Warnings, out.StackReads = nil, nil, nil, nil, nil, nil, nil, nil
	for _, r := range results {
		out.Insns += r.Insns
		for name, n := range r.Helpers {
			out.Helpers[name] += n
		}
		out.Trace, out.Events, out.Effects = append(out.Trace, r.Trace...), append(out.Events, r.Events...), append(out.Effects, r.Effects...)
		out.Changes, out.Reads, out.Writes = append(out.Changes, r.Changes...), append(out.Reads, r.Reads...), append(out.Writes, r.Writes...)
		out.Warnings, out.StackReads, out.Sent = append(out.Warnings, r.Warnings...), append(out.StackReads, r.StackReads...), append(out.Sent, r.Sent...)
	}
	return &out
}

// ErrChain means that programs cannot run one after the other on one hook.
var ErrChain = errors.New("these programs do not share a hook")

// RunChain runs the programs of one hook in the given order, as the kernel does with programs
// attached in it: on the same context, until one decides. begun is called before the first
// instruction of the first program; it may be nil. RunChain ends at a program that the kernel would
// not have accepted, since that is then not attached.
func (m *Machine) RunChain(ctx context.Context, names []string, in Input, begun func(*Session) error) (*Chained, error) {
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
		if c.Results = append(c.Results, res); s == nil {
			c.Broken = name
			return c, nil
		}
		res, retval, err := m.link(ctx, s, decision, begun)
		if err != nil {
			return nil, err
		}
		begun = nil
		c.Results[i] = res
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

// link runs one program of a chain. It also returns the value that the next one finds with
// bpf_get_retval.
func (m *Machine) link(ctx context.Context, s *Session, d *progtype.Decision, begun func(*Session) error) (*Result, int32, error) {
	defer s.Leave()
	if begun != nil {
		if err := begun(s); err != nil {
			return nil, 0, err
		}
	}
	m.env.Run.Retval = d.Retval()
	if err := s.Execute(ctx, s.in.Trace); err != nil {
		return nil, 0, err
	}
	retval := m.env.Run.Retval
	return s.Finish(), retval, nil
}

// CheckChain returns an error if the programs do not share a hook, or if their hook has only one
// program.
func (m *Machine) CheckChain(names []string) error {
	_, err := m.decision(names)
	return err
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
