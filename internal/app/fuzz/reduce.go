package fuzz

import (
	"bytes"
	"context"
	"slices"
)

// reducer makes an input small that keeps a property.
type reducer struct {
	w      *worker
	best   *Input
	still  func(*Input) bool
	budget int
}

// attempt makes a change, and keeps it if the input keeps its property.
func (r *reducer) attempt(change func(*Input)) {
	next := r.best.clone()
	change(next)
	if r.budget <= 0 || len(next.Events) == 0 || bytes.Equal(next.encode(), r.best.encode()) {
		return
	}
	if r.budget--; r.still(next) {
		r.best = next
	}
}

// without attempts to leave out each of n things, the last first.
func (r *reducer) without(n int, remove func(in *Input, i int)) {
	for i := n - 1; i >= 0; i-- {
		r.attempt(func(in *Input) { remove(in, i) })
	}
}

// reduce leaves out what is not needed.
func (r *reducer) reduce() {
	r.without(len(r.best.Events)-1, func(in *Input, i int) { in.Events = slices.Delete(in.Events, i, i+1) })
	r.without(len(r.best.Maps), func(in *Input, i int) { in.Maps = slices.Delete(in.Maps, i, i+1) })
	r.without(len(r.best.Globals), func(in *Input, i int) { in.Globals = slices.Delete(in.Globals, i, i+1) })
	r.without(len(r.best.Fields), func(in *Input, i int) { in.Fields = slices.Delete(in.Fields, i, i+1) })
	r.without(len(r.best.Texts), func(in *Input, i int) { in.Texts = slices.Delete(in.Texts, i, i+1) })
	r.without(len(r.best.Links), func(in *Input, i int) { in.Links = slices.Delete(in.Links, i, i+1) })
	for n := range r.best.Events {
		r.attempt(func(in *Input) { in.Events[n].Packet = nil })
		r.attempt(func(in *Input) { in.Events[n].Ctx = nil })
		r.attempt(func(in *Input) { in.Events[n].Option = nil })
		r.attempt(func(in *Input) { in.Events[n].Sysctl = nil })
		r.attempt(func(in *Input) { in.Events[n].CPU, in.Events[n].After = 0, 0 })
		r.without(len(r.best.Events[n].Args), func(in *Input, i int) { in.Events[n].Args = slices.Delete(in.Events[n].Args, i, i+1) })
		r.without(len(r.best.Events[n].Links), func(in *Input, i int) { in.Events[n].Links = slices.Delete(in.Events[n].Links, i, i+1) })
		r.without(len(r.best.Events[n].User), func(in *Input, i int) { in.Events[n].User = slices.Delete(in.Events[n].User, i, i+1) })
		r.without(len(r.best.Events[n].Helpers), func(in *Input, i int) { in.Events[n].Helpers = slices.Delete(in.Events[n].Helpers, i, i+1) })
		for _, p := range seedPackets() {
			was := r.best
			if was.Events[n].Packet == nil {
				break
			}
			if r.attempt(func(in *Input) { in.Events[n].Packet = p }); r.best != was {
				break // the first ones are the simplest
			}
		}
	}
}

// small leaves out of an input what it does not need to reach what it reached first.
func (w *worker) small(ctx context.Context, in *Input, fresh []edge) (*Input, error) {
	list, err := w.sides()
	if err != nil {
		return nil, err
	}
	const budget = 24
	r := reducer{w: w, best: in, budget: budget}
	r.still = func(next *Input) bool {
		rec, e := list[0].examine(ctx, next, -1, nil)
		if e != nil {
			err = e
			return false
		}
		for _, want := range fresh {
			if !slices.Contains(rec.edges, want) {
				return false
			}
		}
		return true
	}
	r.reduce()
	return r.best, err
}
