package fuzz

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine/differ"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/loader"
)

// worker searches with machines of its own.
type worker struct {
	f   *Fuzzer
	rnd *rand.Rand

	main   *side   // the object as it is
	others []*side // what it is compared with

	made  map[string]uint64 // inputs by the program of their last event
	tail  bool              // only the last event changes from one input to the next
	since int               // runs in loops since one was looked at closely
}

// worker makes a worker; -1 is the one that runs the seeds.
func (f *Fuzzer) worker(n int) *worker {
	stream := uint64(n+1) + uint64(f.opt.Shard)<<32
	return &worker{f: f, rnd: rand.New(rand.NewPCG(f.opt.Seed, stream)), made: map[string]uint64{}} //nolint:gosec // a search, not a secret
}

func (w *worker) close() {
	w.f.mu.Lock()
	for name, n := range w.made {
		w.f.progRuns[name] += n
	}
	w.f.mu.Unlock()
	if w.main != nil {
		w.main.close()
	}
	for _, s := range w.others {
		s.close()
	}
}

// sides returns the machines: the object's own first, then those it is compared with. The error is
// that of opening them.
func (w *worker) sides() ([]*side, error) {
	f := w.f
	if w.main == nil {
		s, err := f.open("", f.obj, f.target, f.file)
		if err != nil {
			return nil, err
		}
		w.main = s
	}
	for _, o := range f.opt.Others[len(w.others):] {
		s, err := f.open(o.Name, o.Object, o.Target, f.file)
		if err != nil {
			return nil, err
		}
		w.others = append(w.others, s)
	}
	return append([]*side{w.main}, w.others...), nil
}

// work searches until ctx ends or the budget is spent.
func (w *worker) work(ctx context.Context) error {
	f := w.f
	for ctx.Err() == nil && !f.spent() {
		if s, ok := f.nextSeed(); ok {
			if err := w.sow(ctx, s); err != nil {
				return w.ended(ctx, err)
			}
		}
		e, explore := w.pick()
		if e == nil {
			if err := w.try(ctx, &Input{Events: []Event{{Run: f.order[w.rnd.IntN(len(f.order))]}}}); err != nil {
				return w.ended(ctx, err)
			}
			continue
		}
		if explore {
			if err := w.explore(ctx, e); err != nil {
				return w.ended(ctx, err)
			}
			continue
		}
		n := 64
		if e.insns > 1<<14 {
			n = 4
		}
		for i := range n {
			if ctx.Err() != nil || f.spent() {
				break
			}
			// Events before the last one take most of the time: they are made once for many changes
			// of the last.
			w.tail = len(e.in.Events) > 1 && i >= n/16
			err := w.try(ctx, w.mutate(e.in))
			w.tail = false
			if err != nil {
				return w.ended(ctx, err)
			}
		}
	}
	return nil
}

// ended drops the error of a search whose time is over.
func (w *worker) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// pick chooses an input: one that this worker is to explore, else of some the one that was tried
// least for what it reached.
func (w *worker) pick() (e *entry, explore bool) {
	f := w.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.corpus) == 0 {
		return nil, false
	}
	if f.explored < len(f.corpus) {
		f.explored++
		return f.corpus[f.explored-1], true
	}
	for _, e := range f.corpus {
		// There are other events now that may make what it looks for. Asking at every new one would
		// leave no time for anything else.
		if e.asks && e.asked+e.asked/4 < len(f.corpus) {
			e.asked = len(f.corpus)
			return e, true
		}
	}
	var best *entry
	cost := 0.0
	for range 4 {
		e := f.corpus[w.rnd.IntN(len(f.corpus))]
		c := float64(e.tried+64) * float64(e.insns+256) / float64(1+len(e.edges))
		if best == nil || c < cost {
			best, cost = e, c
		}
	}
	best.tried += 64
	return best, false
}

// sampled is how many runs in loops there are for one that is looked at closely although it told
// nothing new: not all that is wrong is seen from outside of the run.
const sampled = 2048

// PanicError is a failure of bpfrun itself with an input. The search ends, and writes what it has
// and the input.
type PanicError struct {
	Input []byte
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("bpfrun failed with the input %s: %v", e.Input, e.Value)
}

// try runs an input, and looks at it closely if it may tell something.
func (w *worker) try(ctx context.Context, in *Input) (err error) {
	f := w.f
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{in.encode(), v, debug.Stack()}
		}
	}()
	list, err := w.sides()
	if err != nil {
		return err
	}
	f.runs.Add(1)
	w.made[f.first.runs[in.Events[len(in.Events)-1].Run].Prog]++
	if len(in.Events) == 1 || w.tail {
		q, err := list[0].run(ctx, in)
		if err != nil {
			return err
		}
		look := !q.ok || q.fresh || q.look
		for _, o := range list[1:] {
			if look {
				break
			}
			p, err := o.run(ctx, in)
			if err != nil {
				return err
			}
			look = p.fresh || p.ok && (p.look || uint32(p.ret) != uint32(q.ret) || string(p.frame) != string(q.frame))
		}
		if w.since++; !look && w.since < sampled {
			return nil
		}
		w.since = 0
	}
	rec, err := list[0].examine(ctx, in, -1, nil)
	if err != nil {
		return err
	}
	if err := w.compare(ctx, in, rec, list); err != nil {
		return err
	}
	return w.judge(ctx, in, rec, list)
}

// judge learns from an input that was looked at closely.
func (w *worker) judge(ctx context.Context, in *Input, rec *record, list []*side) error {
	f := w.f
	f.wrote(rec)
	for i := range in.Maps {
		if !f.isInput(in.Maps[i].Map) {
			return nil // what programs write comes from events
		}
	}
	if fresh := f.learn(rec); len(fresh) > 0 || rec.elsewhere {
		small, err := in, error(nil)
		if len(fresh) > 0 && !rec.elsewhere {
			small, err = w.small(ctx, in, fresh)
		}
		f.keep(small, fresh, rec.insns) // also when there was no time to make it small
		f.noteReads(list[0], rec)
		if err != nil {
			return err
		}
	}
	for i := range rec.problems {
		if err := w.report(ctx, in, rec, &rec.problems[i]); err != nil {
			return err
		}
	}
	return nil
}

// compare adds what the other sides do differently from the first, whose record it is.
func (w *worker) compare(ctx context.Context, in *Input, rec *record, sides []*side) error {
	for _, o := range sides[1:] {
		other, err := o.examine(ctx, in, -1, nil)
		if err != nil {
			return err
		}
		rec.elsewhere = w.f.learnOther(o, other) || rec.elsewhere
		for i := range min(len(rec.results), len(other.results)) {
			if text := differ.Between(differ.Run{Result: rec.results[i], Linked: sides[0].linked()}, differ.Run{Result: other.results[i], Linked: o.linked()}); text != "" {
				rec.problems = append(rec.problems, problem{
					Finding: finding.Finding{Kind: finding.Differs, Program: rec.results[i].Program, Insn: -1, Text: text + " with " + o.name + o.alone(in)},
					event:   i, own: rec.results[i], other: other.results[i],
				})
				break
			}
		}
	}
	return nil
}

// alone names the variables of an input that only the other build has: no scenario of the object
// can set them.
func (s *side) alone(in *Input) (text string) {
	obj := s.f.first.linked().Object
	for _, g := range in.Globals {
		if _, _, ok := loader.FindVariable(obj.Maps, g.Name, (*loader.Map).Settable); !ok {
			text += fmt.Sprintf(", whose own %s is %x", g.Name, []byte(g.Value))
		}
	}
	return text
}

func since(t time.Time) float64 { return time.Since(t).Seconds() }
