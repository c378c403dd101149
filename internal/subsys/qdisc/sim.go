package qdisc

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
)

// Sim is a simulation. Create it with [New]. While it runs, the functions that disciplines call are
// its methods.
type Sim struct {
	cfg    Config
	ops    Ops
	end    uint64
	now    uint64
	last   uint64 // of the last event of a packet
	events events
	seq    uint64
	count  int // events so far
	still  int // events at this point of time

	device   device
	requeued []*Packet // gso_skb
	watchdog watchdog
	in       Op   // the operation that runs
	down     bool // the device was deactivated
	err      error
	result   *Result
}

// event is something that happens at a point of time.
type event struct {
	at, seq uint64
	do      func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push and Pop implement heap.Interface.
func (e *events) Push(x any) { *e = append(*e, x.(event)) }

// Pop implements heap.Interface.
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = event{}
	*e = (*e)[:last]
	return x
}

// New prepares a simulation. The error is a [*ConfigError].
func New(cfg Config, ops Ops) (*Sim, error) {
	if err := Check(cfg); err != nil {
		return nil, err
	}
	if cfg.Events == 0 {
		cfg.Events = defaultEvents
	}
	cfg.Flows = slices.Clone(cfg.Flows)
	return &Sim{cfg: cfg, ops: ops, end: uint64(cfg.Duration), result: &Result{Calls: map[Op]int{}}}, nil
}

// Now returns the simulated time since the start, in nanoseconds.
func (s *Sim) Now() uint64 { return s.now }

func (s *Sim) at(t uint64, do func()) {
	s.seq++
	heap.Push(&s.events, event{t, s.seq, do})
}

// Run creates the discipline, lets packets arrive, and deletes it. The error is that of ctx, of an
// operation that could not be run, or [ErrLimit]; the result is what happened until then.
func (s *Sim) Run(ctx context.Context) (*Result, error) {
	s.during(OpInit, func() (err error) {
		s.result.Init, err = s.ops.Init()
		return err
	})
	if s.err == nil && s.result.Init == 0 {
		for i := range s.cfg.Flows {
			s.arrivals(&s.cfg.Flows[i], 0)
		}
		s.loop(ctx)
	}
	s.remove()
	return s.finish(), s.err
}

func (s *Sim) loop(ctx context.Context) {
	for s.err == nil {
		if err := ctx.Err(); err != nil {
			s.err = err
			return
		}
		next := s.end
		if len(s.events) > 0 {
			next = min(s.events[0].at, s.end)
		}
		if next > s.now {
			before := len(s.events)
			if s.pass(ctx, next); s.err != nil {
				return
			}
			if s.now < next || len(s.events) != before {
				continue // the machine's own event may have made others
			}
		}
		if s.now >= s.end || len(s.events) == 0 {
			return
		}
		if !s.happens() {
			return
		}
		heap.Pop(&s.events).(event).do()
	}
}

// pass lets time pass until a point of simulated time, or until the machine did something of its
// own, which counts as an event.
func (s *Sim) pass(ctx context.Context, until uint64) {
	reached, err := s.ops.Pass(ctx, s.now, until)
	if err != nil {
		s.err = err
		return
	}
	if reached > s.now {
		s.still = 0
	}
	if s.now = max(reached, s.now); reached < until {
		s.happens()
	}
}

// happens counts an event, and reports whether there may be one.
func (s *Sim) happens() bool {
	s.count++
	if s.still++; s.err == nil && (s.count > s.cfg.Events || s.still > maxInstant) {
		s.err = ErrLimit
	}
	return s.err == nil
}

// remove deletes the discipline: a failed init is followed by destroy alone (qdisc_create); else
// the device is deactivated, the discipline reset and destroyed (qdisc_graft, __qdisc_destroy).
func (s *Sim) remove() {
	r := s.result
	for f := range Fields {
		r.Fields[f] = s.ops.Load(f)
	}
	if s.last > r.since {
		r.area += uint64(r.held) * (s.last - r.since)
	}
	r.Held, r.HeldBytes = r.held, r.heldBytes
	r.Stalled = r.held > 0 && len(s.device.ring) == 0 && !s.watchdog.armed && s.err == nil
	for _, p := range s.device.ring { // it has them already
		p.state, p.Sent = sent, s.sendTime(p)
		s.ops.Free(p)
	}
	s.down = true
	if r.Init == 0 {
		s.reset()
		if s.cfg.ResetTwice {
			s.reset()
		}
	}
	s.during(OpDestroy, s.ops.Destroy)
	s.watchdog.armed = false
}

// sendTime returns when the link will have sent a packet that the device has.
func (s *Sim) sendTime(p *Packet) uint64 {
	at := s.device.free
	for _, q := range slices.Backward(s.device.ring) {
		if q == p {
			break
		}
		at -= s.duration(q)
	}
	return at
}

// finish completes the result.
func (s *Sim) finish() *Result {
	r := s.result
	r.End = s.last
	if s.last > 0 {
		r.MeanHeld = float64(r.area) / float64(s.last)
	}
	for _, p := range r.Packets {
		switch p.Fate() {
		case FateSent:
			r.Left = append(r.Left, p)
		case FateLeaked:
			if s.err != nil {
				continue // it was not destroyed
			}
			p.state = leaked
			r.Leaked = append(r.Leaked, p)
		}
	}
	slices.SortStableFunc(r.Left, func(a, b *Packet) int { return cmp.Compare(a.Sent, b.Sent) })
	return r
}
