package bpfsys

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Loss is what did not fit into the buffers of a map, over the life of the system.
type Loss struct {
	// Map is the name of the ring buffer or perf event array.
	Map string
	// Records is the number of records that were lost.
	Records uint64
	// Holds is the size in bytes of its buffer; of a perf event array, of the buffer of one CPU.
	Holds uint64
}

// Losses returns what maps lost, also those that exist no more, by name.
func (s *System) Losses() []Loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := slices.Clone(s.losses)
	for o := range s.byID[KindMap].All() {
		total = addLoss(total, lossOf(o.(*Map)))
	}
	slices.SortFunc(total, func(a, b Loss) int { return strings.Compare(a.Map, b.Map) })
	return total
}

func lossOf(m *Map) Loss {
	l := Loss{Map: m.def.Name}
	switch t := m.m.(type) {
	case maps.RingBuffer:
		l.Records, l.Holds = t.Lost(), uint64(m.def.MaxEntries)
	case maps.PerfArray:
		l.Records, l.Holds = t.Lost(), m.held
	}
	return l
}

// addLoss adds what a map lost to what others of its name did.
func addLoss(list []Loss, l Loss) []Loss {
	if l.Records == 0 {
		return list
	}
	for i := range list {
		if list[i].Map == l.Map {
			list[i].Records += l.Records
			list[i].Holds = max(list[i].Holds, l.Holds)
			return list
		}
	}
	return append(list, l)
}

// Pressure is how full the buffers are that user space reads.
type Pressure struct {
	// Crowded means that one is more than half full, so that a few more records may not fit.
	Crowded bool
	// Read is the sum of the positions up to which user space has read: it grows while records are
	// read.
	Read uint64
}

// Pressure looks at all ring buffers, and at the buffers of all perf events that programs write to.
func (s *System) Pressure() Pressure {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p Pressure
	add := func(read, written, size uint64) {
		p.Read += read
		p.Crowded = p.Crowded || size > 0 && written-read > size/2
	}
	for o := range s.byID[KindMap].All() {
		m := o.(*Map)
		switch m.m.(type) {
		case maps.RingBuffer:
			if b := m.mem.Bytes(); m.def.Flags&uapi.MapRbOverwrite == 0 {
				add(le.Uint64(b), le.Uint64(b[uapi.PageSize:]), uint64(m.def.MaxEntries))
			}
		case maps.PerfArray:
			for _, o := range m.slots {
				e, ok := o.(*PerfEvent)
				if !ok || !e.output {
					continue
				}
				if e = e.buffer(); e.mem != nil && !e.back && !e.paused {
					b := e.mem.Bytes()
					add(le.Uint64(b[perfTail:]), le.Uint64(b[perfHead:]), e.data)
				}
			}
		}
	}
	return p
}
