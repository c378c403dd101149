package tcpcc

import (
	"math"
	"time"
)

// ack is tcp_ack: an ACK of all before upTo that arrived because of segment n, which was sent at a
// point of time; n is -1 for a segment that had arrived before.
func (s *Sim) ack(upTo, n int, sent uint64, copied bool) {
	wasUna, flying, was := s.una, s.inFlight(), s.losses
	flags := uint64(0)
	if upTo == s.una || len(s.arrived) > 0 || s.state != Open {
		flags = ackSlowPath
	}
	s.share()
	s.call(OpInAckEvent, flags)
	rtt, acked, original := s.clean(upTo, n, sent, copied)
	sample := s.sample(rtt, flying, acked)
	if rtt > 0 {
		s.measure(rtt)
	}
	if s.ops.Has(OpPktsAcked) && acked.total > 0 && s.events.Err() == nil { // tcp_clean_rtx_queue
		s.share()
		s.res.Calls[OpPktsAcked]++
		s.events.Fail(s.ops.Acked(acked.total, rttMicros(rtt), flying))
	}
	if s.una > wasUna {
		s.backoff = 0
		s.arm()
	}
	s.markLost()
	s.share()
	s.alert(original, s.una > wasUna)
	s.control(uint32(upTo*MSS+1), uint32(flags), acked, s.una > wasUna, s.losses-was, sample)
	s.note()
	s.send()
}

func rttMicros(rtt uint64) int64 {
	if rtt == 0 {
		return -1
	}
	return int64(rtt / 1000)
}

// newly is what an ACK told of.
type newly struct {
	total uint32 // segments that are acknowledged or sacked for the first time
	last  *segment
}

// clean is tcp_clean_rtx_queue with tcp_sacktag_write_queue. original means that a segment was
// acknowledged whose first copy arrived, though it had been sent again (tcp_packet_delayed).
func (s *Sim) clean(upTo, n int, sent uint64, copied bool) (rtt uint64, acked newly, original bool) {
	now := s.events.Now()
	tell := func(x *segment) {
		if !x.sacked {
			acked.total++
			if acked.last == nil || x.sent > acked.last.sent {
				acked.last = x
			}
		}
	}
	if i := n - s.una; n >= 0 && i >= 0 && i < len(s.out) {
		x := s.out[i]
		tell(x)
		original = x.again && !copied
		s.change(x, func() { x.sacked = true })
		if !x.again || original {
			rtt = now - sent
		}
	}
	for s.una < upTo && len(s.out) > 0 {
		tell(s.out[0])
		s.tally(s.out[0], -1)
		s.out[0] = nil
		s.out = s.out[1:]
		s.una++
	}
	if acked.total > 0 {
		s.delivered += acked.total
		s.deliveredAt = now
		if rtt > 0 {
			r := s.res
			if r.RTTs == 0 || rtt < r.MinRTT {
				r.MinRTT = rtt
			}
			r.MaxRTT, r.SumRTT, r.RTTs = max(r.MaxRTT, rtt), r.SumRTT+rtt, r.RTTs+1
		}
	}
	return rtt, acked, original
}

// measure is tcp_rtt_estimator: the smoothed time, and its deviation.
func (s *Sim) measure(rtt uint64) {
	m := max(int64(rtt/1000), 1)
	if s.srtt == 0 {
		s.srtt, s.mdev = m<<3, m<<1
		return
	}
	off := m - s.srtt>>3
	s.srtt += off
	if off < 0 {
		off = -off
	}
	s.mdev += off - s.mdev>>2
}

// sample is tcp_rate_gen: how fast segments were delivered lately.
func (s *Sim) sample(rtt uint64, flying uint32, acked newly) *Sample {
	out := &Sample{Interval: -1, RTT: rttMicros(rtt), AckedSacked: acked.total, PriorInFlight: flying}
	if x := acked.last; x != nil {
		out.Delivered, out.PriorDelivered, out.Prior = s.delivered-x.delivered, x.delivered, x.sent/1000
		out.Interval = int64((s.events.Now() - max(x.deliveredAt, min(x.first, x.sent))) / 1000)
	}
	return out
}

// markLost marks segments beyond which enough arrived (tcp_mark_head_lost, RACK without its time):
// for one that was sent again, enough of what was sent after the copy.
func (s *Sim) markLost() {
	if s.sacked < duplicates {
		return
	}
	from := make([]int, len(s.out)+1) // how many arrived from a segment on
	for i := len(s.out) - 1; i >= 0; i-- {
		if from[i] = from[i+1]; s.out[i].sacked {
			from[i]++
		}
	}
	for i, x := range s.out {
		beyond := from[i+1]
		if x.again {
			beyond = from[min(max(x.returned-s.una, i+1), len(s.out))]
		}
		if x.sacked || beyond < duplicates || x.lost && !x.retransmitting {
			continue
		}
		s.losses++
		s.change(x, func() { x.lost, x.retransmitting = true, false })
	}
}

// alert is tcp_fastretrans_alert: what losses and their end make of the connection's state.
func (s *Sim) alert(original, advanced bool) {
	if s.undo && original {
		s.undoReduction()
	}
	switch {
	case s.state == Recovery && s.una >= s.high:
		s.endReduction()
	case s.state == Loss && s.una >= s.high:
		s.undo = false
		s.setState(Open)
	}
	switch {
	case s.state == Recovery || s.state == Loss:
	case s.lost > 0:
		s.res.Recoveries++
		s.reduce()
		s.setState(Recovery)
	case s.sacked > 0 && s.state == Open:
		s.setState(Disorder)
	case s.sacked == 0 && s.state == Disorder && advanced:
		s.setState(Open)
	}
}

// threshold asks for the window after a loss, and notes what it was (tcp_current_ssthresh: below a
// window in congestion avoidance three quarters of it).
func (s *Sim) threshold() {
	cwnd, ssthresh := s.cwnd(), uint32(s.ops.Load(FieldSSThresh))
	prior := ssthresh
	if s.state != CWR && s.state != Recovery {
		prior = max(ssthresh, cwnd>>1+cwnd>>2)
	}
	s.store(FieldPriorSSThresh, uint64(prior))
	s.store(FieldPriorCwnd, uint64(cwnd))
	s.store(FieldSSThresh, s.call(OpSSThresh)&math.MaxUint32)
	s.high, s.undo = s.next, true
}

// reduce is tcp_enter_recovery: the window goes down to what the algorithm says while segments are
// acknowledged (tcp_init_cwnd_reduction).
func (s *Sim) reduce() {
	s.store(FieldCwndCount, 0)
	s.prr.delivered, s.prr.out = 0, 0
	s.threshold()
	s.share()
}

// endReduction is tcp_end_cwnd_reduction.
func (s *Sim) endReduction() {
	if !s.ops.Has(OpCongControl) {
		if ssthresh := s.ops.Load(FieldSSThresh); ssthresh < Infinite && s.undo {
			s.store(FieldCwnd, ssthresh)
		}
		s.event(EventCompleteCWR)
	}
	s.undo = false
	s.setState(Open)
}

// undoReduction is tcp_undo_cwnd_reduction: what looked lost was late.
func (s *Sim) undoReduction() {
	s.res.Undone++
	for _, x := range s.out {
		s.change(x, func() { x.lost, x.retransmitting = false, false })
	}
	if prior := s.ops.Load(FieldPriorSSThresh); prior != 0 {
		s.store(FieldCwnd, s.call(OpUndoCwnd)&math.MaxUint32)
		if prior > s.ops.Load(FieldSSThresh) {
			s.store(FieldSSThresh, prior)
		}
	}
	s.undo = false
	s.setState(Open)
}

// control is tcp_cong_control: the algorithm sets the window itself, or it is asked to grow it,
// unless it goes down.
func (s *Sim) control(ack, flags uint32, acked newly, advanced bool, lost uint32, sample *Sample) {
	if s.events.Err() != nil {
		return
	}
	switch {
	case s.ops.Has(OpCongControl):
		sample.Losses = lost
		s.res.Calls[OpCongControl]++
		s.share()
		s.events.Fail(s.ops.Control(ack, flags, sample))
	case s.state == Recovery || s.state == CWR:
		s.proportional(acked.total, advanced, lost)
	case advanced: // tcp_may_raise_cwnd
		s.call(OpCongAvoid, uint64(ack), uint64(acked.total))
	}
}

// proportional is tcp_cwnd_reduction (RFC 6937).
func (s *Sim) proportional(acked uint32, advanced bool, lost uint32) {
	prior := uint64(s.ops.Load(FieldPriorCwnd))
	if acked == 0 || prior == 0 {
		return
	}
	flying := int64(s.inFlight())
	ssthresh := int64(uint32(s.ops.Load(FieldSSThresh)))
	delta := ssthresh - flying
	s.prr.delivered += acked
	var n int64
	if delta < 0 {
		n = int64((uint64(ssthresh)*uint64(s.prr.delivered)+prior-1)/prior) - int64(s.prr.out)
	} else {
		n = max(int64(s.prr.delivered)-int64(s.prr.out), int64(acked))
		if advanced && lost == 0 {
			n++
		}
		n = min(delta, n)
	}
	least := int64(0)
	if s.prr.out == 0 { // the first retransmission leaves in any case
		least = 1
	}
	s.store(FieldCwnd, uint64(flying+max(n, least)))
}

// arm sets the retransmission timer.
func (s *Sim) arm() {
	if len(s.out) == 0 {
		s.timer = 0
		return
	}
	rto := firstRTO
	if s.srtt > 0 {
		rto = max(time.Duration(s.srtt>>3)*time.Microsecond+max(time.Duration(s.mdev)*time.Microsecond, leastRTO), leastRTO)
	}
	rto = min(rto<<s.backoff, mostRTO)
	at := s.events.Now() + uint64(rto)
	s.timer = at
	s.events.At(at, func() {
		if s.timer == at {
			s.timeout()
		}
	})
}

// timeout is tcp_enter_loss.
func (s *Sim) timeout() {
	if len(s.out) == 0 {
		s.timer = 0
		return
	}
	s.res.Timeouts++
	s.share()
	if s.state <= Disorder || s.una >= s.high {
		s.threshold()
		s.event(EventLoss)
	}
	for _, x := range s.out {
		if !x.sacked {
			if !x.lost {
				s.losses++
			}
			s.change(x, func() { x.lost, x.retransmitting = true, false })
		}
	}
	s.store(FieldCwnd, uint64(s.inFlight())+1)
	s.store(FieldCwndCount, 0)
	s.high = s.next
	s.share()
	s.setState(Loss)
	s.backoff = min(s.backoff+1, 8)
	s.arm()
	s.note()
	s.send()
}
