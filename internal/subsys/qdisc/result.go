package qdisc

import (
	"math"
	"slices"
)

// Sample is what the discipline says of its queue at one point of time, and what it has.
type Sample struct {
	At            uint64
	Qlen, Backlog uint64 // q.qlen and qstats.backlog
	Held          int    // packets that it has, with the requeued ones
}

// Result is what happened.
type Result struct {
	// End is the time of the last event of a packet, in nanoseconds; Busy how long the link was
	// sending.
	End, Busy uint64
	// Packets are those that arrived, in that order. Left are the packets that were sent, in the
	// order in which the discipline gave them to the kernel.
	Packets, Left []*Packet
	Calls         map[Op]int
	// Watchdogs counts how often the watchdog fired.
	Watchdogs int
	// Init is what init returned. If it is not 0, there was no traffic.
	Init int64
	// Fields are those of struct Qdisc when traffic ended, before it was reset.
	Fields [Fields]uint64
	// Held and HeldBytes are what the discipline had then; Stalled means that nothing would ever
	// have made the kernel ask for it: the link was idle and the watchdog not set.
	Held, HeldBytes int
	Stalled         bool
	// MostHeld and MostHeldBytes are the largest queue, MeanHeld the mean number of packets over
	// time.
	MostHeld, MostHeldBytes int
	MeanHeld                float64
	// Leaked are packets that still existed when the discipline was destroyed.
	Leaked []*Packet
	// Samples are the lengths of the queue over time; Dropped counts those beyond a limit.
	Samples []Sample
	Dropped int

	held, heldBytes int
	since, area     uint64
}

// sample notes the length of the queue between operations, if it changed.
func (s *Sim) sample() {
	x := Sample{s.Now(), s.ops.Load(FieldQlen), s.ops.Load(FieldBacklog), s.result.held}
	r := s.result
	r.MostHeld, r.MostHeldBytes = max(r.MostHeld, r.held), max(r.MostHeldBytes, r.heldBytes)
	if n := len(r.Samples); n > 0 {
		last := &r.Samples[n-1]
		switch {
		case last.Qlen == x.Qlen && last.Backlog == x.Backlog && last.Held == x.Held:
			return
		case last.At == x.At:
			*last = x
			return
		}
	}
	if len(r.Samples) == maxSamples {
		r.Dropped++
		return
	}
	r.Samples = append(r.Samples, x)
}

// FlowResult sums up what happened to a flow.
type FlowResult struct {
	Flow *Flow
	// Arrived, Sent, Dropped, Purged and Leaked count packets, SentBytes the bytes of those that
	// were sent.
	Arrived, Sent, Dropped, Purged, Leaked int
	SentBytes                              uint64
	// waits are the times in the queue of sent packets, sorted.
	waits []uint64
}

// Flows sums up flows in the order of their first packets.
func (r *Result) Flows() []*FlowResult {
	var out []*FlowResult
	by := map[*Flow]*FlowResult{}
	for _, p := range r.Packets {
		f := by[p.Flow]
		if f == nil {
			f = &FlowResult{Flow: p.Flow}
			by[p.Flow] = f
			out = append(out, f)
		}
		f.Arrived++
		switch p.Fate() {
		case FateSent:
			f.Sent++
			f.SentBytes += uint64(p.Size)
			if w, ok := p.Waited(); ok {
				f.waits = append(f.waits, w)
			}
		case FateDropped:
			f.Dropped++
		case FatePurged:
			f.Purged++
		case FateLeaked:
			f.Leaked++
		}
	}
	for _, f := range out {
		slices.Sort(f.waits)
	}
	return out
}

// Wait returns a percentile, from 0 to 100, of the times that sent packets were in the queue, by
// the nearest rank; 0 if none was sent.
func (f *FlowResult) Wait(percent float64) uint64 {
	n := len(f.waits)
	if n == 0 {
		return 0
	}
	rank := int(math.Ceil(percent / 100 * float64(n)))
	return f.waits[min(max(rank, 1), n)-1]
}

// MeanWait returns the mean of these times.
func (f *FlowResult) MeanWait() uint64 {
	var sum uint64
	for _, w := range f.waits {
		sum += w
	}
	return sum / uint64(max(len(f.waits), 1))
}

// Throughput returns bits per second over the time until the last event.
func (f *FlowResult) Throughput(end uint64) float64 {
	return float64(f.SentBytes) * 8e9 / float64(max(end, 1))
}

// Fairness is Jain's index of the bytes that flows sent: 1 if all sent as much, 1/n if only one of
// n did.
func Fairness(flows []*FlowResult) float64 {
	var sum, squares float64
	for _, f := range flows {
		sum += float64(f.SentBytes)
		squares += float64(f.SentBytes) * float64(f.SentBytes)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(flows)) * squares)
}
