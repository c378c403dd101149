package intest

import (
	"context"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// firstInput returns the input of a test's first stage.
func firstInput(t *Test) machine.Input {
	in := machine.Input{Packet: make([]byte, firstPacket)}
	if usesSkb(t.Stages[Check].Type) {
		in.Context = make([]byte, firstContext)
	}
	return in
}

// nextInput returns the input of the stage after stage: its packet and context, with the return
// value prepended to the packet after setup.
func (r *Runner) nextInput(stage Stage, in machine.Input, got *machine.Result) machine.Input {
	in.Packet = got.DataOut
	if in.Context != nil {
		in.Context = got.CtxOut
	}
	if stage == Setup {
		word := make([]byte, 4, 4+len(in.Packet))
		r.object.ByteOrder.PutUint32(word, uint32(got.Ret))
		in.Packet = append(word, in.Packet...)
	}
	return in
}

// StageNames returns the stages of a test in the order they run, or only "" for a plain test.
func (t *Test) StageNames() []Stage {
	if t.Plain != nil {
		return []Stage{""}
	}
	var out []Stage
	for _, s := range stages {
		if t.Stages[s] != nil {
			out = append(out, s)
		}
	}
	return out
}

// Stage runs everything before a stage of a test and returns the stage's input. Staged tests share
// maps, so earlier tests run first, as in [Runner.All].
func (r *Runner) Stage(ctx context.Context, t *Test, stage Stage) (machine.Input, error) {
	r.m.Restore(r.base)
	if t.Plain != nil {
		return machine.Input{}, nil
	}
	for _, before := range r.tests {
		if before == t {
			break
		}
		if before.Plain == nil {
			if _, err := r.one(ctx, before, nil); err != nil {
				return machine.Input{}, err
			}
		}
	}
	in := firstInput(t)
	for _, s := range t.StageNames() {
		if s == stage {
			return in, nil
		}
		res := &Result{Test: t}
		got, ok, err := r.step(ctx, res, s, t.Stages[s], in)
		if err != nil {
			return in, err
		}
		if !ok {
			return in, fmt.Errorf("test %s never reaches its %s: %s", t.Name, stage, append(res.Failures, res.Skipped)[0])
		}
		in = r.nextInput(s, in, got)
	}
	return in, fmt.Errorf("test %s has no %s", t.Name, stage)
}
