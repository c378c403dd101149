package qdisc

import "time"

// device is the network device with its link.
type device struct {
	ring  []*Packet // that it has, in the order of sending
	bytes int       // of them
	free  uint64    // when the link has sent everything
}

// full reports whether the driver has stopped the queue, stopped whether anything has
// (netif_xmit_frozen_or_stopped).
func (s *Sim) full() bool { return len(s.device.ring) >= s.cfg.Ring }

func (s *Sim) stopped() bool { return s.full() || s.cfg.Bulk > 0 && s.device.bytes > s.cfg.Bulk }

// qdiscRun is __qdisc_run: it sends until the device or the discipline stops. The kernel pauses
// after 64 packets, but goes on at the same point of time.
func (s *Sim) qdiscRun() {
	for s.events.Err() == nil && !s.down {
		list := s.take()
		if len(list) == 0 || !s.transmit(list) {
			return
		}
	}
}

// take is dequeue_skb: a packet that was requeued, or what the discipline gives.
func (s *Sim) take() []*Packet {
	if s.stopped() {
		return nil
	}
	if len(s.requeued) > 0 {
		p := s.requeued[0]
		s.requeued = s.requeued[1:]
		s.held(-1, -p.Size)
		s.add(FieldQlen, -1)
		s.add(FieldBacklog, -p.Size)
		return []*Packet{p}
	}
	p := s.dequeue()
	if p == nil {
		return nil
	}
	list := []*Packet{p}
	for room := s.cfg.Bulk - s.device.bytes - p.Size; room > 0 && len(list) <= sendBudget; { // try_bulk_dequeue_skb
		p := s.dequeue()
		if p == nil {
			break
		}
		list = append(list, p)
		room -= p.Size
	}
	return list
}

// add changes a 32-bit field of struct Qdisc.
func (s *Sim) add(f Field, by int) { s.ops.Store(f, uint64(uint32(s.ops.Load(f))+uint32(by))) }

// transmit is sch_direct_xmit. It returns false if the device has no room for all packets; the
// others are requeued (dev_requeue_skb).
func (s *Sim) transmit(list []*Packet) bool {
	for i, p := range list {
		if s.full() {
			for _, p := range list[i:] {
				p.Requeues++
				s.requeued = append(s.requeued, p)
				s.held(1, p.Size)
				s.add(FieldRequeues, 1)
				s.add(FieldBacklog, p.Size)
				s.add(FieldQlen, 1)
			}
			s.sample()
			return false
		}
		s.send(p)
	}
	return true
}

// send gives a packet to the device, whose link sends one after the other.
func (s *Sim) send(p *Packet) {
	d := &s.device
	p.state = onDevice
	d.ring = append(d.ring, p)
	d.bytes += p.Size
	start := max(s.Now(), d.free)
	d.free = start + s.duration(p)
	s.result.Busy += d.free - start
	s.events.At(d.free, s.completed)
}

// duration is how long the link takes for a packet, in nanoseconds.
func (s *Sim) duration(p *Packet) uint64 {
	return uint64(p.Size) * 8 * uint64(time.Second) / s.cfg.Rate
}

// completed is the end of a transmission; a queue that was stopped goes on.
func (s *Sim) completed() {
	d := &s.device
	was := s.stopped()
	p := d.ring[0]
	d.ring = d.ring[1:]
	d.bytes -= p.Size
	p.state, p.Sent = sent, s.Now()
	s.ops.Free(p)
	s.last = s.Now()
	if was && !s.stopped() {
		s.qdiscRun()
	}
}
