package race

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/machine/finding"
	"github.com/bpfrun/bpfrun/loader"
)

// Config is how orders are explored.
type Config struct {
	// Preemptions is how often an actor that could go on is interrupted at most in one order.
	Preemptions int
	// Until ends the exploration; the zero time does not.
	Until time.Time
	// Random are how many orders are taken at random when those within the bound are explored.
	Random int
	Seed   uint64
	// Most is how many orders are explored at most; 0 is no limit. Unlike Until, it ends where it
	// does on every machine.
	Most int
	// Memory is how soon other CPUs see stores.
	Memory Memory
	// Check is asked at the end of each order; nil for no questions.
	Check Checker
	// Scene is what a user wrote; nil for nothing.
	Scene *Scene
	// Prepared has inputs and states besides the default ones; nil for these alone.
	Prepared *Prepared
	// Ignore silences findings, those of a program if one of its instructions interferes.
	Ignore []finding.Ignore
}

// Checker says what must hold at the end of every order. What does not hold at the end of a
// sequential order either is about single runs, and does not count.
type Checker interface {
	// Begin is called before each order, with the first program and its context.
	Begin(*loader.LinkedProgram, *hook.Context)
	// End returns what does not hold, by name, with the reason.
	End(p *loader.LinkedProgram, c *hook.Context, ret uint64) map[string]string
}

// Report is what the orders of some actors led to.
type Report struct {
	Actors []Actor
	// Orders is how many orders were followed, Complete that those are all within the bound.
	Orders   int
	Complete bool
	Findings []Finding
	// Insns is how many instructions one sequential order has.
	Insns uint64
}

// mostWrong is how many different outcomes that no sequential order has are looked at.
const mostWrong = 64

// hunt is the exploration of one set of actors.
type hunt struct {
	s          *system
	cells      cells
	sequential map[string]*outcome
	wrong      map[string]bool
	report     *Report
	known      map[string]bool // findings by what they are about
	races      map[[2]spot]bool
	misuses    map[spot]bool
	check      Checker
	faults     map[int]bool    // actors that fault in sequential orders too
	single     map[string]bool // what does not hold at the end of sequential orders either
	stop       bool
}

// Run explores the orders of some actors on the machine's state, which is the same afterwards. The
// error is that of ctx, with what was found until then, or a [*NotRunnableError].
func Run(ctx context.Context, m *machine.Machine, actors []Actor, cfg Config) (*Report, error) {
	if interrupts(actors) != 0 {
		cfg.Memory = Sequential // a CPU sees its own stores
	}
	s, err := newSystem(m, actors, cfg.Memory)
	if err != nil {
		return nil, err
	}
	defer s.x.Close()
	h := newHunt(s, cfg.Check)
	h.runSequential()
	if !cfg.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, cfg.Until)
		defer cancel()
	}
	e := &order.Explorer{System: &noting{h.s, h}, Each: h.each, Pair: h.pair, Most: cfg.Most, Interrupts: interrupts(actors), Triggered: triggered(actors), Buffers: s.bufferMask()}
	for bound := 1; bound <= max(cfg.Preemptions, 1); bound++ {
		e.Preemptions = min(bound, cfg.Preemptions)
		if cfg.Most > 0 {
			if e.Most = cfg.Most - h.report.Orders; e.Most <= 0 {
				h.report.Complete = false
				return h.done(ctx, cfg, nil)
			}
		}
		stats, err := e.Run(ctx)
		h.report.Orders += stats.Orders
		h.report.Complete = stats.Complete && bound >= cfg.Preemptions
		if err != nil {
			return h.done(ctx, cfg, err)
		}
		if h.stop || !stats.Complete {
			return h.done(ctx, cfg, nil)
		}
		if !stats.Bounded {
			h.report.Complete = true
			return h.done(ctx, cfg, nil)
		}
	}
	rng := rand.New(rand.NewPCG(cfg.Seed, 0))
	for n := 0; n < cfg.Random && ctx.Err() == nil && !h.stop && (cfg.Most == 0 || h.report.Orders < cfg.Most); n++ {
		e.Random(rng, 1+rng.IntN(3))
		h.report.Orders++
	}
	if ctx.Err() != nil {
		return h.done(ctx, cfg, ctx.Err())
	}
	return h.done(ctx, cfg, nil)
}

func newHunt(s *system, check Checker) *hunt {
	return &hunt{
		s: s, check: check, single: map[string]bool{}, faults: map[int]bool{}, report: &Report{Actors: s.actors}, wrong: map[string]bool{}, known: map[string]bool{}, races: map[[2]spot]bool{}, misuses: map[spot]bool{},
		cells: cells{words: map[uint64]bool{}, accesses: map[uint64][]order.Touch{}},
	}
}

// done returns the report. That the time is over is no error.
func (h *hunt) done(ctx context.Context, cfg Config, err error) (*Report, error) {
	if err != nil && !cfg.Until.IsZero() && !time.Now().Before(cfg.Until) {
		err = nil
	}
	if err != nil {
		h.report.Complete = false
	} else {
		h.addRaces()
	}
	h.report.Findings = slices.DeleteFunc(h.report.Findings, func(f Finding) bool { return f.silenced(cfg.Ignore) })
	sortFindings(h.report.Findings)
	return h.report, err
}

// interrupts returns the actors that interrupt others, one bit each.
func interrupts(actors []Actor) uint32 {
	var out uint32
	for i, a := range actors {
		if a.Over >= 0 {
			out |= 1 << i
		}
	}
	return out
}

// triggered returns the actors that are callbacks, one bit each.
func triggered(actors []Actor) uint32 {
	var out uint32
	for i, a := range actors {
		if a.Callback != nil {
			out |= 1 << i
		}
	}
	return out
}

// noting notes what steps write.
type noting struct {
	*system
	h *hunt
}

// Begin implements [order.System].
func (n *noting) Begin() {
	n.system.Begin()
	if i := n.first(); n.h.check != nil && i >= 0 {
		n.turn(i)
		s := n.x.Session(n.run[i])
		n.h.check.Begin(s.Program(), s.Context())
	}
}

// first returns the first actor that is a program, -1 for none.
func (s *system) first() int { return slices.IndexFunc(s.run, func(n int) bool { return n >= 0 }) }

// broken returns what does not hold at the end of an order.
func (h *hunt) broken() map[string]string {
	i := h.s.first()
	if h.check == nil || i < 0 || h.s.now[i].end.fault != nil {
		return nil
	}
	h.s.turn(i)
	s := h.s.x.Session(h.s.run[i])
	return h.check.End(s.Program(), s.Context(), h.s.now[i].end.ret)
}

// Step implements [order.System].
func (n *noting) Step(i int) {
	if i < len(n.actors) {
		n.note(&n.h.cells, &n.now[i].next)
	}
	n.system.Step(i)
}

// runSequential runs the actors one after the other, in every order of whole actors.
func (h *hunt) runSequential() {
	s := &noting{h.s, h}
	h.sequential = map[string]*outcome{}
	var all []*outcome
	collect := func(perm []int) {
		s.Begin()
		for _, a := range perm {
			for n := 0; n < 1<<16; n++ {
				if s.stores != nil {
					s.drain(a)
				}
				if state, _ := s.Next(a); state != order.Ready {
					break
				}
				s.Step(a)
			}
		}
		rest(h.s, s.Step) // callbacks that a later one armed
		all = append(all, h.s.outcome(&h.cells))
		for name := range h.broken() {
			h.single[name] = true
		}
		for i := range h.s.now {
			h.faults[i] = h.faults[i] || h.s.now[i].end.fault != nil
		}
		h.report.Insns = 0
		for i := range h.s.actors {
			h.report.Insns += h.s.insns(i)
		}
	}
	// The first time is to find out which bytes they write.
	for range 2 {
		all = all[:0]
		permute(len(h.s.actors), collect)
		h.cells.sort()
		if !h.cells.grown {
			break
		}
		h.cells.grown = false
	}
	for _, o := range all {
		h.sequential[o.key] = o
	}
}

// permute calls f with every order of 0 to n-1.
func permute(n int, f func([]int)) {
	perm := make([]int, n)
	for i := range perm {
		perm[i] = i
	}
	var rec func(int)
	rec = func(k int) {
		if k == n {
			f(perm)
			return
		}
		for i := k; i < n; i++ {
			perm[k], perm[i] = perm[i], perm[k]
			rec(k + 1)
			perm[k], perm[i] = perm[i], perm[k]
		}
	}
	rec(0)
}

// each looks at the end of an order.
func (h *hunt) each(o order.Order) bool {
	if h.cells.grown { // it wrote bytes that no order wrote before
		h.cells.grown = false
		h.again(o.Trail)
	}
	if o.Stuck {
		h.stuck(o)
		return !h.stop
	}
	h.hold(o)
	key := h.s.outcomeKey(&h.cells)
	if h.sequential[string(key)] != nil || h.wrong[string(key)] {
		h.misused(o)
		return true
	}
	out := h.s.outcome(&h.cells)
	if len(h.wrong) >= mostWrong {
		h.stop = true
		return false
	}
	h.wrong[out.key] = true
	h.explain(slices.Clone(o.Trail), o.Preemptions, out)
	return true
}

// hold adds a finding for what does not hold at the end of an order.
func (h *hunt) hold(o order.Order) {
	broken := h.broken()
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		why := broken[name]
		if h.single[name] || h.known["invariant "+name] {
			continue
		}
		h.known["invariant "+name] = true
		trail := slices.Clone(o.Trail)
		f := Finding{Kind: finding.Invariant, Actors: h.s.actors, Trail: trail, Preemptions: o.Preemptions, Text: name + ": " + why}
		f.Differs = h.differs(h.s.outcome(&h.cells))
		w := h.follow(trail)
		if v, ok := w.judge(); ok {
			for _, at := range v.events {
				e := &w.events[at]
				s := h.side(e.actor, e.prog, e.pc)
				s.What = h.what(e)
				f.Sides = append(f.Sides, s)
			}
		}
		f.Turns = h.turns(trail)
		h.report.Findings = append(h.report.Findings, f)
		h.s.Begin() // as the order ended, for what is asked next
		for _, a := range trail {
			h.s.Step(int(a))
		}
	}
}

// again runs the sequential orders, with more bytes to look at, and then the same order once more.
func (h *hunt) again(trail []uint8) {
	trail = slices.Clone(trail)
	h.cells.sort()
	h.runSequential()
	h.s.Begin()
	for _, a := range trail {
		h.s.Step(int(a))
	}
}

// explain looks for what makes an outcome wrong.
func (h *hunt) explain(trail []uint8, preemptions int, out *outcome) {
	w := h.follow(trail)
	v, ok := w.judge()
	f := Finding{Kind: finding.NotSerialisable, Actors: h.s.actors, Trail: trail, Preemptions: preemptions}
	switch {
	case h.faulted(&f), h.reused(&f, w):
	case ok:
		h.tell(&f, w, v)
	default:
		return // free of locks by design
	}
	if len(f.Sides) == 0 {
		return
	}
	f.Differs = h.differs(out)
	h.add(f)
}

// follow repeats an order and watches every instruction.
func (h *hunt) follow(trail []uint8) *watch {
	w := newWatch(h.s.actors)
	h.s.Begin()
	w.weak = h.s.model != Sequential
	h.s.watch = w
	for _, a := range trail {
		h.s.Step(int(a))
	}
	h.s.watch = nil
	return w
}

// add adds a finding, once for each set of places.
func (h *hunt) add(f Finding) {
	key := f.about()
	if h.known[key] {
		return
	}
	h.known[key] = true
	f.Turns = h.turns(f.Trail)
	h.report.Findings = append(h.report.Findings, f)
}

// turns returns an order in instructions.
func (h *hunt) turns(trail []uint8) []Turn {
	if h.s.model != Sequential {
		return nil // when stores are seen is not part of turns
	}
	var out []Turn
	h.s.Begin()
	for _, a := range trail {
		i := int(a)
		before := h.s.insns(i)
		h.s.Step(i)
		n := h.s.insns(i) - before
		if len(out) > 0 && out[len(out)-1].Actor == i {
			out[len(out)-1].Insns += n
			continue
		}
		if len(out) == 0 || !slices.ContainsFunc(out, func(t Turn) bool { return t.Actor == i }) {
			n += before // up to its first shared access
		}
		out = append(out, Turn{i, n})
	}
	return out
}
