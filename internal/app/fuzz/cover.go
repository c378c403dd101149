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
	var keys []string
	inputs := map[string][]*Input{} // by their constants, which need machines of their own
	for _, e := range f.corpus {
		key := f.frozenKey(e.in)
		if inputs[key] == nil {
			keys = append(keys, key)
		}
		inputs[key] = append(inputs[key], e.in)
	}
	for _, key := range keys {
		list := inputs[key]
		if ctx.Err() != nil {
			left += len(list)
			continue
		}
		ran, err := f.coverWith(ctx, &gate{sink: sink}, list)
		if err != nil && ctx.Err() == nil {
			return left, err
		}
		left += len(list) - ran
	}
	return left, nil
}

// coverWith runs inputs with the same constants and returns how many.
func (f *Fuzzer) coverWith(ctx context.Context, g *gate, list []*Input) (ran int, err error) {
	file := f.file
	if f.frozenKey(list[0]) != "" {
		if file, err = f.fileWith(list[0].Globals); err != nil {
			return 0, err
		}
	}
	s := &side{f: f, runs: map[string]*scenario.Run{}}
	for _, run := range file.Runs {
		s.runs[run.Name] = run
	}
	opt := f.opt.Scenario
	opt.Engine, opt.Restores, opt.Cover = machine.EngineJIT, true, g
	if s.whole, err = scenario.Open(file, f.obj, f.target, opt); err != nil {
		return 0, err
	}
	defer s.whole.Close()
	m := s.whole.Machine()
	s.start = m.Snapshot()
	s.warm(file)
	g.open = true
	for _, in := range list {
		m.Restore(s.start)
		s.watch.reset()
		s.state(s.whole, in)
		for i := range in.Events {
			res, err := s.event(ctx, s.whole, &in.Events[i], nil)
			if err != nil {
				return ran, err
			}
			if res == nil || res.Fault != nil || !res.Ran {
				break
			}
		}
		ran++
	}
	return ran, nil
}
