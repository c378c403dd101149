package fuzz

import (
	"context"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
)

// gate passes on to a sink what runs execute, while it is open.
type gate struct {
	sink machine.CoverSink
	open bool
}

// Begin implements [machine.CoverSink].
func (g *gate) Begin(m *machine.Machine) func([]machine.Covered) {
	told := g.sink.Begin(m)
	return func(ran []machine.Covered) {
		if g.open {
			told(ran)
		}
	}
}

// Cover runs the inputs that were kept once more and tells sink what they execute: together they
// reach all that the search reached. The number is how many of them there was no time for: ctx
// ended, which is no error. Call it after [Fuzzer.Run].
func (f *Fuzzer) Cover(ctx context.Context, sink machine.CoverSink) (left int, err error) {
	s := &side{f: f, runs: f.first.runs}
	g := &gate{sink: sink}
	opt := f.opt.Scenario
	opt.Engine, opt.Restores, opt.Cover = machine.EngineJIT, true, g
	if s.whole, err = scenario.Open(f.file, f.obj, f.target, opt); err != nil {
		return 0, err
	}
	defer s.whole.Close()
	m := s.whole.Machine()
	s.start = m.Snapshot()
	s.warm(f.file)
	g.open = true
	for i, e := range f.corpus {
		m.Restore(s.start)
		s.watch.reset()
		s.state(s.whole, e.in)
		for n := range e.in.Events {
			res, err := s.event(ctx, s.whole, &e.in.Events[n], nil)
			if ctx.Err() != nil {
				return len(f.corpus) - i, nil
			}
			if err != nil {
				return 0, err
			}
			if res == nil || res.Fault != nil || !res.Ran {
				break
			}
		}
	}
	return 0, nil
}
