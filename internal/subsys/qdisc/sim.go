package qdisc

import (
	"cmp"
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/internal/subsys/event"
)

// Sim is a simulation. Create it with [New]. While it runs, the functions that disciplines call are
// its methods.
type Sim struct {
	cfg    Config
	ops    Ops
	events event.Queue
	last   uint64 // when the last event of a packet was

	device   device
	requeued []*Packet // gso_skb
	watchdog watchdog
	in       Op   // the operation that runs
	down     bool // the device was deactivated
	result   *Result
}

// New prepares a simulation. The error is a [*ConfigError].
func New(cfg Config, ops Ops) (*Sim, error) {
	if err := Check(cfg); err != nil {
		return nil, err
	}
	cfg.Flows = slices.Clone(cfg.Flows)
	return &Sim{cfg: cfg, ops: ops, events: event.New(uint64(cfg.Duration), cfg.Events), result: &Result{Calls: map[Op]int{}}}, nil
}

// Now returns the simulated time since the start, in nanoseconds.
func (s *Sim) Now() uint64 { return s.events.Now() }

// SetNow sets the time that the machine has reached before the next event, for what it does then.
func (s *Sim) SetNow(now uint64) { s.events.Reach(now) }

// Run creates the discipline, lets packets arrive, and deletes it. The error is that of ctx, of an
// operation that could not be run, or [event.ErrLimit]; the result is what happened until then.
func (s *Sim) Run(ctx context.Context) (*Result, error) {
	s.during(OpInit, func() (err error) {
		s.result.Init, err = s.ops.Init()
		return err
	})
	if s.events.Err() == nil && s.result.Init == 0 {
		for i := range s.cfg.Flows {
			s.arrivals(&s.cfg.Flows[i], 0)
		}
		s.events.Run(ctx, event.Steps{Pass: s.ops.Pass})
	}
	s.remove()
	return s.finish(), s.events.Err()
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
	r.Stalled = r.held > 0 && len(s.device.ring) == 0 && !s.watchdog.armed && s.events.Err() == nil
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
			if s.events.Err() != nil {
				continue // it was not destroyed
			}
			p.state = leaked
			r.Leaked = append(r.Leaked, p)
		}
	}
	slices.SortStableFunc(r.Left, func(a, b *Packet) int { return cmp.Compare(a.Sent, b.Sent) })
	return r
}
