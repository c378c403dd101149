package qdisc

import "math"

// watchdog is struct qdisc_watchdog: a timer after which the discipline is asked for packets again.
type watchdog struct {
	armed bool
	soft  uint64 // when it may fire, monotonic
	gen   int
}

// In returns the operation that runs, "" for none.
func (s *Sim) In() Op { return s.in }

// Watchdog is bpf_qdisc_watchdog_schedule: the timer fires at a point of monotonic time, or up to
// delta nanoseconds later. Nothing else is due then, so it fires at the latest time.
func (s *Sim) Watchdog(expires, delta uint64) {
	w := &s.watchdog
	if s.down || w.armed && w.soft-expires <= delta {
		return
	}
	w.armed, w.soft = true, expires
	w.gen++
	gen, at := w.gen, s.Now()
	if expires <= math.MaxInt64 { // a ktime_t, else before the epoch
		hard := expires + min(delta, math.MaxInt64-expires)
		at = max(s.Now(), hard-min(hard, s.cfg.Base))
	}
	s.events.At(at, func() {
		if w.armed && w.gen == gen {
			w.armed = false
			s.result.Watchdogs++
			s.qdiscRun()
		}
	})
}

// Held reports whether programs have a packet.
func (s *Sim) Held(p *Packet) bool { return p.state == queued }

// List is bpf_qdisc_skb_drop: the packet goes to the list that is freed when enqueue has returned.
func (s *Sim) List(p *Packet) {
	p.state, p.By = listed, s.in
	s.held(-1, -p.Size)
}

// Kfree is bpf_kfree_skb, also of a packet whose owner is freed.
func (s *Sim) Kfree(p *Packet) { s.dropped(p, s.in) }

// Bstats is bpf_qdisc_bstats_update.
func (s *Sim) Bstats(bytes, segments uint64) {
	s.ops.Store(FieldBytes, s.ops.Load(FieldBytes)+bytes)
	s.ops.Store(FieldPackets, s.ops.Load(FieldPackets)+segments)
}
