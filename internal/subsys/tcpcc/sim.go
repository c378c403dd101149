package tcpcc

import (
	"context"
	"math"
	"time"

	"github.com/bpfrun/bpfrun/internal/subsys/event"
)

// Point is the window at a point of time, in nanoseconds since the connection began.
type Point struct {
	At             uint64
	Cwnd, SSThresh uint32
	InFlight       uint32
	State          State
}

// maxPoints limits the points that are kept.
const maxPoints = 20_000

// Result is what became of a connection.
type Result struct {
	// End is when it was closed: the last segment was acknowledged, or its time was over.
	End uint64
	// Sent counts segments with those that were sent again, which Retransmitted counts. Acked are
	// those that were acknowledged, Lost those that got lost on the way.
	Sent, Retransmitted, Acked, Lost int
	// Recoveries, Timeouts and Undone count how often the window was reduced after a loss, after a
	// timeout, and that it was brought back.
	Recoveries, Timeouts, Undone int
	// Cwnd and SSThresh are those at the end, LeastCwnd and MostCwnd the window's borders.
	Cwnd, SSThresh, LeastCwnd, MostCwnd uint32
	// MinRTT and MaxRTT are measured ones, in nanoseconds; SumRTT is that of RTTs.
	MinRTT, MaxRTT, SumRTT uint64
	RTTs                   int
	// MostQueue is how many segments waited for the link at most.
	MostQueue int
	// Points are the windows over time, as they change; Dropped counts those beyond the limit.
	Points  []Point
	Dropped int
	// Calls counts the calls of the operations.
	Calls map[Op]int
}

// Throughput are the bits per second that were acknowledged, without headers.
func (r *Result) Throughput() float64 {
	if r.End == 0 {
		return 0
	}
	return float64(r.Acked) * MSS * 8 * float64(time.Second) / float64(r.End)
}

// segment is one of the sender's that was not acknowledged with all before it.
type segment struct {
	sent           uint64 // when it was last sent
	first          uint64 // when it was sent first
	delivered      uint32 // segments that had been delivered then
	deliveredAt    uint64
	again          bool // it was sent again
	sacked, lost   bool
	retransmitting bool // the second copy is on its way
	returned       int  // what had been sent before the copy
}

// Sim is a connection. Create it with [New].
type Sim struct {
	cfg    Config
	ops    Ops
	events event.Queue
	res    *Result

	una, next           int        // the first segment that is not acknowledged, and the next one to send
	out                 []*segment // from una on
	sacked, lost, again int        // of these
	state               State
	high                int  // recovery point: the next segment when the window was reduced
	undo                bool // the reduction may be undone (undo_marker)
	backoff             uint // of the retransmission timeout
	timer               uint64
	pacedTo             uint64 // when the next segment may leave
	waking              bool

	delivered   uint32 // segments
	deliveredAt uint64
	losses      uint32
	prr         struct{ delivered, out uint32 }
	srtt, mdev  int64 // microseconds, srtt times 8 and mdev times 4

	arrived  map[int]bool // beyond the receiver's next one
	expected int          // the receiver's next segment
	free     uint64       // when the link has sent what waits for it
	drops    map[int]bool
}

// New returns a connection.
func New(cfg Config, ops Ops) (*Sim, error) {
	if err := Check(cfg); err != nil {
		return nil, err
	}
	s := &Sim{
		cfg: cfg, ops: ops, events: event.New(uint64(cfg.Duration), cfg.Events), arrived: map[int]bool{}, drops: map[int]bool{},
		res: &Result{LeastCwnd: math.MaxUint32, Calls: map[Op]int{}},
	}
	for _, n := range cfg.Drops {
		s.drops[n-1] = true
	}
	return s, nil
}

// Now returns the time.
func (s *Sim) Now() uint64 { return s.events.Now() }

// SetNow sets the time that has been reached before the next event.
func (s *Sim) SetNow(now uint64) { s.events.Reach(now) }

// Run lets the connection send until it ends.
func (s *Sim) Run(ctx context.Context) (*Result, error) {
	s.store(FieldCwnd, initialWindow)
	s.store(FieldSSThresh, Infinite)
	s.store(FieldClamp, math.MaxUint32)
	s.store(FieldMSS, MSS)
	s.store(FieldSndUna, 1)
	s.share()
	s.call(OpInit) // tcp_init_congestion_control
	s.note()
	s.send()
	s.events.Run(ctx, event.Steps{Pass: s.ops.Pass, Over: func() bool { return s.cfg.Segments > 0 && s.una == s.cfg.Segments }})
	s.share()
	s.call(OpRelease) // tcp_cleanup_congestion_control
	r := s.res
	r.End, r.Acked = s.events.Now(), s.una
	r.Cwnd, r.SSThresh = s.cwnd(), uint32(s.ops.Load(FieldSSThresh))
	return r, s.events.Err()
}

func (s *Sim) store(f Field, v uint64) { s.ops.Store(f, v) }
func (s *Sim) cwnd() uint32            { return uint32(s.ops.Load(FieldCwnd)) }
func (s *Sim) micros() uint64          { return s.events.Now() / 1000 }

// call calls an operation that the algorithm has; the result is 0 if it has none.
func (s *Sim) call(op Op, args ...uint64) uint64 {
	if !s.ops.Has(op) || s.events.Err() != nil {
		return 0
	}
	s.res.Calls[op]++
	ret, err := s.ops.Call(op, args...)
	s.events.Fail(err)
	return ret
}

// event is tcp_ca_event. Since Linux 7.1 the start of a transmission has an operation of its own.
func (s *Sim) event(ev uint64) {
	if ev == EventTxStart && s.cfg.TxStart {
		s.call(OpTxStart)
		return
	}
	s.call(OpCwndEvent, ev)
}

// tally adds a segment to the counts of those that are out, or takes it away.
func (s *Sim) tally(x *segment, by int) {
	switch {
	case x.sacked:
		s.sacked += by
	case x.lost:
		s.lost += by
		if x.retransmitting {
			s.again += by
		}
	}
}

// change changes a segment that is out.
func (s *Sim) change(x *segment, do func()) {
	s.tally(x, -1)
	do()
	s.tally(x, 1)
}

// inFlight is tcp_packets_in_flight.
func (s *Sim) inFlight() uint32 { return uint32(len(s.out) - s.sacked - s.lost + s.again) }

// share writes what the connection knows into the socket, before operations are called.
func (s *Sim) share() {
	for _, x := range [...]struct {
		f Field
		v int
	}{
		{FieldSndUna, s.una*MSS + 1}, {FieldSndNxt, s.next*MSS + 1}, {FieldHighSeq, s.high*MSS + 1},
		{FieldPacketsOut, len(s.out)}, {FieldSackedOut, s.sacked}, {FieldLostOut, s.lost}, {FieldRetransOut, s.again},
		{FieldDelivered, int(s.delivered)}, {FieldLost, int(s.losses)}, {FieldTotalRetrans, s.res.Retransmitted}, {FieldSRTT, int(s.srtt)}, {FieldMDev, int(s.mdev)},
		{FieldState, int(s.state)},
	} {
		s.store(x.f, uint64(x.v)&math.MaxUint32)
	}
	s.store(FieldStamp, s.micros())
}

// note notes the window, if it changed.
func (s *Sim) note() {
	r := s.res
	p := Point{s.events.Now(), s.cwnd(), uint32(s.ops.Load(FieldSSThresh)), s.inFlight(), s.state}
	r.LeastCwnd, r.MostCwnd = min(r.LeastCwnd, p.Cwnd), max(r.MostCwnd, p.Cwnd)
	if n := len(r.Points); n > 0 {
		if last := r.Points[n-1]; last.Cwnd == p.Cwnd && last.SSThresh == p.SSThresh && last.State == p.State {
			return
		}
	}
	if len(r.Points) == maxPoints {
		r.Dropped++
		return
	}
	r.Points = append(r.Points, p)
}

// setState is tcp_set_ca_state: the algorithm is told before.
func (s *Sim) setState(to State) {
	s.call(OpSetState, uint64(to))
	s.state = to
	s.store(FieldState, uint64(to))
}

// send is tcp_write_xmit after tcp_xmit_retransmit_queue: what is lost goes first, then new
// segments, as the window allows.
func (s *Sim) send() {
	next := 0 // nothing before it is lost and was not sent again
	for s.events.Err() == nil {
		flying := s.inFlight()
		if flying >= s.cwnd() || s.waitsForPace() {
			break
		}
		if next = s.nextLost(next); next < len(s.out) {
			s.transmit(s.una+next, s.out[next], true)
			continue
		}
		if s.cfg.Segments > 0 && s.next == s.cfg.Segments || len(s.out) == receiveWindow {
			break
		}
		if flying == 0 {
			s.share()
			if s.event(EventTxStart); s.events.Err() != nil {
				return
			}
		}
		x := &segment{}
		s.out = append(s.out, x)
		s.next++
		s.transmit(s.next-1, x, false)
	}
	// tcp_cwnd_validate: whether the window, and not the data, limits what is out.
	if n := uint64(len(s.out)); n > s.ops.Load(FieldMaxPacketsOut) {
		s.store(FieldMaxPacketsOut, n)
	}
	limited := uint64(0)
	if s.inFlight() >= s.cwnd() {
		limited = 1
	}
	s.store(FieldCwndLimited, limited)
}

// nextLost returns the next segment that is lost and was not sent again, len(out) if there is none.
func (s *Sim) nextLost(from int) int {
	if s.lost == s.again {
		return len(s.out)
	}
	for i := from; i < len(s.out); i++ {
		if x := s.out[i]; x.lost && !x.retransmitting && !x.sacked {
			return i
		}
	}
	return len(s.out)
}

// waitsForPace reports whether pacing holds the next segment back, and comes back when it does not.
func (s *Sim) waitsForPace() bool {
	if s.pacedTo <= s.events.Now() {
		return false
	}
	if !s.waking {
		s.waking = true
		s.events.At(s.pacedTo, func() {
			s.waking = false
			s.send()
		})
	}
	return true
}

// transmit puts a segment on the path.
func (s *Sim) transmit(n int, x *segment, again bool) {
	now := s.events.Now()
	x.sent, x.delivered, x.deliveredAt = now, s.delivered, s.deliveredAt
	if again {
		s.change(x, func() { x.again, x.retransmitting, x.returned = true, true, s.next })
		s.res.Retransmitted++
		s.prr.out++
	} else {
		x.first = now
		if s.state == Recovery {
			s.prr.out++
		}
	}
	s.res.Sent++
	if rate := s.ops.PacingRate(); rate > 0 {
		s.pacedTo = max(s.pacedTo, now) + uint64(float64(MSS)*float64(time.Second)/float64(rate))
	}
	if s.timer == 0 {
		s.arm()
	}
	per := uint64(float64(wire) * 8 * float64(time.Second) / float64(s.cfg.Rate))
	waiting := 0
	if s.free > now {
		waiting = int((s.free - now + per - 1) / per)
	}
	s.res.MostQueue = max(s.res.MostQueue, waiting)
	if waiting > s.cfg.Queue || !again && s.drops[n] {
		s.res.Lost++
		return
	}
	s.free = max(s.free, now) + per
	at := s.free + uint64(s.cfg.RTT)/2
	if !again {
		at += uint64(s.cfg.Late[n+1])
	}
	s.events.At(at, func() { s.receive(n, now, again) })
}

// receive is the other side: it acknowledges every segment at once, with SACK and timestamps.
func (s *Sim) receive(n int, sent uint64, again bool) {
	if s.arrived[n] || n < s.expected {
		n = -1 // again
	} else {
		s.arrived[n] = true
		for s.arrived[s.expected] {
			delete(s.arrived, s.expected)
			s.expected++
		}
	}
	upTo := s.expected
	s.events.After(uint64(s.cfg.RTT)/2, func() { s.ack(upTo, n, sent, again) })
}
