package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// perfArray implements BPF_MAP_TYPE_PERF_EVENT_ARRAY. The simulated user space has opened a
// software event for every CPU and put it into that CPU's slot, as tools usually do.
type perfArray struct {
	base
	events  map[uint32]int32 // CPU of the event in each slot
	records []Record
	used    []uint64 // unread bytes, by CPU
	lost    uint64
	sink    PerfSink // nil: the records are kept here
}

func newPerf(b base) (Map, error) {
	if b.spec.MaxEntries == 0 {
		// libbpf and cilium/ebpf create such maps with one slot per CPU.
		b.spec.MaxEntries = uint32(b.env.CPUs)
	}
	if err := b.checkFDArray(); err != nil {
		return nil, err
	}
	p := &perfArray{base: b, events: make(map[uint32]int32), used: make([]uint64, b.env.CPUs)}
	p.self = p
	for c := range min(uint32(b.env.CPUs), b.spec.MaxEntries) {
		p.events[c] = int32(c)
	}
	return p, nil
}

// perfRecordSize returns the size of a record in bytes: header, size word and data, rounded so that
// the total is a multiple of 8 (PERF_RECORD_SAMPLE with PERF_SAMPLE_RAW).
func perfRecordSize(n int) uint64 { return (uint64(n)+4+7)&^7 + 8 }

// Output mirrors ____bpf_perf_event_output: the slot is the lower 32 bits of flags, or the current
// CPU.
func (p *perfArray) Output(cpu int, flags uint64, data []byte) uapi.Errno {
	if flags&^uapi.PerfIndexMask != 0 {
		return uapi.EINVAL
	}
	index := uint32(flags)
	if flags&uapi.PerfIndexMask == uapi.PerfCurrentCPU {
		index = uint32(cpu)
	}
	on, e := p.EventCPU(index)
	switch {
	case e != OK:
		return e
	case on != cpu:
		return uapi.EOPNOTSUPP
	}
	if p.sink != nil {
		if !p.sink.Sample(index, cpu, data) {
			p.lost++
			return uapi.ENOSPC
		}
		return OK
	}
	if room := p.env.PerfBytes; room != 0 && p.env.Consume != ConsumeAtOnce {
		n := perfRecordSize(len(data))
		if p.used[cpu]+n > room {
			p.lost++
			return uapi.ENOSPC
		}
		p.used[cpu] += n
	}
	if e := p.env.host(&p.base, len(data)); e != OK {
		return e
	}
	p.records = append(p.records, p.env.record(cpu, data))
	return OK
}

func (p *perfArray) EventCPU(index uint32) (int, uapi.Errno) {
	if index >= p.spec.MaxEntries {
		return 0, uapi.E2BIG
	}
	cpu, ok := p.events[index]
	if !ok {
		return 0, uapi.ENOENT
	}
	return int(cpu), OK
}

func (p *perfArray) Count(index uint32, cpu int) (PerfCount, bool, uapi.Errno) {
	if _, e := p.EventCPU(index); e != OK || p.sink == nil {
		return PerfCount{}, e != OK, e
	}
	c, e := p.sink.Count(index, cpu)
	return c, true, e
}

func (p *perfArray) SetEvent(index uint32, cpu int) uapi.Errno {
	switch {
	case index >= p.spec.MaxEntries:
		return uapi.E2BIG
	case cpu >= p.env.CPUs:
		return uapi.ENODEV
	case cpu < 0:
		delete(p.events, index)
	default:
		p.events[index] = int32(cpu)
	}
	return OK
}

// Update needs the file descriptor of an event, so it returns EBADF. See SetEvent.
func (p *perfArray) Update(_ int, key, _ []byte, flags uint64) uapi.Errno {
	switch {
	case flags != uapi.Any || len(key) < 4:
		return uapi.EINVAL
	case p.env.u32(key) >= p.spec.MaxEntries:
		return uapi.E2BIG
	}
	return uapi.EBADF
}

func (p *perfArray) Delete(key []byte) uapi.Errno {
	if len(key) < 4 {
		return uapi.EINVAL
	}
	i := p.env.u32(key)
	if _, e := p.EventCPU(i); e != OK {
		return e
	}
	delete(p.events, i)
	return OK
}

func (p *perfArray) NextKey(key []byte) ([]byte, uapi.Errno) {
	return nextIndex(p.env, key, p.spec.MaxEntries)
}

func (p *perfArray) Records() []Record { return slices.Clone(p.records) }

func (p *perfArray) TakeRecords() []Record {
	r := p.records
	p.env.unhostRecords(r)
	p.records = nil
	return r
}

func (p *perfArray) Lost() uint64 { return p.lost }
func (p *perfArray) Consume()     { clear(p.used) }

func (p *perfArray) endRun() {
	if p.env.Consume != ConsumeNever {
		p.Consume()
	}
}

type perfState struct {
	events  map[uint32]int32
	records []Record
	used    []uint64
	lost    uint64
}

func (p *perfArray) Snapshot() any {
	return &perfState{cloneMap(p.events), slices.Clone(p.records), slices.Clone(p.used), p.lost}
}

func (p *perfArray) Restore(v any) {
	s := v.(*perfState)
	restoreMap(&p.events, s.events)
	p.records, p.used, p.lost = append(p.records[:0], s.records...), append(p.used[:0], s.used...), s.lost
}

// restoreMap makes m equal to a clone.
func restoreMap[K comparable, V any](m *map[K]V, to map[K]V) {
	if len(*m)+len(to) > 0 {
		*m = cloneMap(to)
	}
}

func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
