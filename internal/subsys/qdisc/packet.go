package qdisc

import "fmt"

// state is where a packet is.
type state uint8

const (
	unborn   state = iota // it has not arrived
	queued                // programs have it
	listed                // it is in a list of packets to free
	dequeued              // the kernel has it again
	onDevice
	sent
	gone
	leaked
)

// Packet is a packet of a flow. Times are in nanoseconds since the start.
type Packet struct {
	Flow   *Flow
	Number int // in its flow, from 1 on
	Size   int // bytes, with the Ethernet header
	// Arrival is when it arrived; Dequeued when the discipline gave it to the kernel, Sent when its
	// last bit was on the link, Dropped when it was freed instead: 0 if that did not happen.
	Arrival, Dequeued, Sent, Dropped uint64
	// By is the operation that dropped it; "" for a timer.
	By Op
	// Ret is what enqueue returned.
	Ret int64
	// Requeues counts how often the device had no room for it.
	Requeues int

	state state
}

// Name identifies the packet: "a#1" is the first of flow a.
func (p *Packet) Name() string { return fmt.Sprintf("%s#%d", p.Flow.Name, p.Number) }

// Waited is the time from its arrival until the discipline gave it to the kernel; ok is false if it
// did not.
func (p *Packet) Waited() (ns uint64, ok bool) {
	return p.Dequeued - p.Arrival, p.state == sent || p.state == onDevice || p.state == dequeued
}

// Fate is what became of a packet.
type Fate string

// Fates.
const (
	FateSent    Fate = "sent"
	FateDropped Fate = "dropped" // by an operation
	FatePurged  Fate = "purged"  // with the discipline: by reset or destroy
	FateLeaked  Fate = "leaked"  // nobody freed it
	FateAbsent  Fate = "absent"  // it did not arrive in time
)

// Fate returns what became of it.
func (p *Packet) Fate() Fate {
	switch {
	case p.state == unborn:
		return FateAbsent
	case p.state == sent:
		return FateSent
	case p.state == gone && (p.By == OpReset || p.By == OpDestroy):
		return FatePurged
	case p.state == gone:
		return FateDropped
	}
	return FateLeaked
}

// arrivals schedules the next packet of a flow.
func (s *Sim) arrivals(f *Flow, n int) {
	if n >= f.Count {
		return
	}
	at := uint64(f.Start) + uint64(n/f.Burst)*uint64(f.Interval)
	if at >= s.events.End() {
		return
	}
	s.events.At(at, func() {
		p := &Packet{Flow: f, Number: n + 1, Size: f.Sizes[n%len(f.Sizes)], Arrival: s.Now()}
		s.arrivals(f, n+1)
		s.enqueue(p)
	})
}

// arrived notes a packet.
func (s *Sim) arrived(p *Packet) {
	s.result.Packets = append(s.result.Packets, p)
	s.last = s.Now()
}

// enter gives a packet to the programs.
func (s *Sim) enter(p *Packet) {
	p.state = queued
	s.held(1, p.Size)
}

// held counts the packets that the discipline has, with the requeued ones.
func (s *Sim) held(packets, bytes int) {
	r := s.result
	r.area += uint64(r.held) * (s.Now() - r.since)
	r.since = s.Now()
	r.held += packets
	r.heldBytes += bytes
}

// dropped frees a packet that will not be sent.
func (s *Sim) dropped(p *Packet, by Op) {
	if p.state == queued {
		s.held(-1, -p.Size)
	}
	p.state, p.By, p.Dropped = gone, by, s.Now()
	s.ops.Free(p)
	s.last = s.Now()
}
