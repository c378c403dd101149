package machine

import "github.com/bpfrun/bpfrun/internal/maps"

// sent holds the records of one map, oldest first.
type sent struct {
	b       *boundMap
	kind    string
	records []maps.Record
}

// takeEvents takes the records of all ring and perf buffers, in the order in which they were sent.
func (rec *recorder) takeEvents() []Event {
	events, _ := rec.takeSent()
	return events
}

// takeSent does the same and says when each was sent.
func (rec *recorder) takeSent() ([]Event, []uint64) {
	var queues []sent
	for b := range rec.reg.maps.All() {
		q := sent{b: b}
		switch t := q.b.m.(type) {
		case maps.RingBuffer:
			q.kind, q.records = "ringbuf", t.TakeRecords()
		case maps.PerfArray:
			q.kind, q.records = "perf", t.TakeRecords()
		}
		if len(q.records) > 0 {
			queues = append(queues, q)
		}
	}
	return rec.merge(queues)
}

// merge merges the records of several maps by sequence number. Each map's records are already in
// order, so the next one is at the front of some queue; a heap of the fronts finds it.
func (rec *recorder) merge(queues []sent) (out []Event, times []uint64) {
	n := 0
	for i := range queues {
		n += len(queues[i].records)
	}
	if n == 0 {
		return nil, nil
	}
	for i := len(queues)/2 - 1; i >= 0; i-- {
		sink(queues, i)
	}
	out, times = make([]Event, 0, n), make([]uint64, 0, n)
	for len(queues) > 0 {
		q := &queues[0]
		r := &q.records[0]
		out = append(out, Event{Map: q.b.def.Name, Kind: q.kind, CPU: r.CPU, Data: r.Data, Type: rec.events.Find(q.b.def.Name, len(r.Data))})
		times = append(times, r.At)
		if q.records = q.records[1:]; len(q.records) == 0 {
			last := len(queues) - 1
			queues[0], queues = queues[last], queues[:last]
		}
		sink(queues, 0)
	}
	return out, times
}

// sink moves queue i down the heap until no child begins with an earlier record.
func sink(queues []sent, i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(queues); c++ {
			if queues[c].records[0].Seq < queues[least].records[0].Seq {
				least = c
			}
		}
		if least == i {
			return
		}
		queues[i], queues[least] = queues[least], queues[i]
		i = least
	}
}
