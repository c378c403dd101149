package bpfsys

import (
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Bits of perf_event_attr.read_format (enum perf_event_read_format). PERF_FORMAT_LOST exists since
// Linux 6.0.
const (
	formatEnabled, formatRunning, formatID, formatGroup, formatLost = 1, 2, 4, 8, 16
)

// perfCounts is what an event has counted. Times are in nanoseconds of simulated time.
type perfCounts struct {
	format uint64
	task   uint32 // thread that the event is bound to, 0 for all
	hits   uint64 // firings of the hook while the event was enabled
	since  uint64 // when it was enabled, while it is
	before uint64 // for how long it was enabled before that
	base   uint64 // value at the last PERF_EVENT_IOC_RESET
	lost   uint64 // records that did not fit into a buffer
}

// validFormat reports whether the release knows the bits of a read format (perf_copy_attr).
func (s *System) validFormat(format uint64) bool {
	known := uint64(formatLost)
	if s.has(since.PerfLost) {
		known = formatLost << 1
	}
	return format < known
}

func (s *System) now() uint64 { return s.machine.Kernel().Clock().Mono() }

// enable starts or stops an event.
func (s *System) enable(e *PerfEvent, on bool) {
	now := s.now()
	switch {
	case on && !e.enabled:
		e.counts.since = now
	case !on && e.enabled:
		e.counts.before += now - e.counts.since
	}
	e.enabled = on
}

// time returns for how long the event was enabled. No event waits for a counter of the processor,
// so it ran for the same time.
func (s *System) time(e *PerfEvent) uint64 {
	if e.enabled {
		return e.counts.before + s.now() - e.counts.since
	}
	return e.counts.before
}

// Software events whose counts are not firings of their own hook (enum perf_sw_ids).
const (
	softwareCPUClock, softwareTaskClock, softwareSwitches, softwareMigrations = 0, 1, 3, 4
)

// total returns an event's count without regard to resets. Clocks count nanoseconds, tracepoints
// and probes their firings; context switches and migrations are firings of the tracepoints that
// report them. Nothing in the simulated kernel counts the other software events. Hardware counters
// grow with time, as those do that bpf_perf_event_read returns elsewhere.
func (s *System) total(e *PerfEvent) uint64 {
	switch {
	case e.typ == perfSoftware && (e.config == softwareCPUClock || e.config == softwareTaskClock), e.typ == perfHardware, e.typ == perfCache, e.typ == perfRaw:
		return s.time(e)
	}
	return e.counts.hits
}

func (s *System) count(e *PerfEvent) uint64 { return s.total(e) - e.counts.base }

// countedHook returns the name of the hook whose firings the event counts, and false if it counts
// none.
func (e *PerfEvent) countedHook() (string, bool) {
	switch {
	case e.typ == perfTracepoint || e.typ == perfKprobe || e.typ == perfUprobe:
		return e.hook.AttachTo, true
	case e.typ == perfSoftware && e.config == softwareSwitches:
		return "sched/sched_switch", true
	case e.typ == perfSoftware && e.config == softwareMigrations:
		return "sched/sched_migrate_task", true
	}
	return "", false
}

// counting reports whether an event waits for the firing of a hook.
func (s *System) counting() bool {
	for o := range s.byID[KindPerf].All() {
		if e := o.(*PerfEvent); e.enabled {
			if _, ok := e.countedHook(); ok {
				return true
			}
		}
	}
	return false
}

// countHits counts the firing of a hook in the events that are about it, and reports whether there
// are any.
func (s *System) countHits(ev Event, fits func(*attachment, string) bool) bool {
	counted := false
	for o := range s.byID[KindPerf].All() {
		e := o.(*PerfEvent)
		name, ok := e.countedHook()
		if !ok || !e.enabled || e.cpu >= 0 && e.cpu != ev.CPU || e.counts.task != 0 && !isTask(ev.Task, e.counts.task) {
			continue
		}
		h := &attachment{prog: &Prog{typ: e.programType()}, hook: e.hook, event: e}
		if h.hook.AttachTo = name; e.typ == perfSoftware {
			h.prog.typ, h.hook.Section = uapi.ProgTypeTracepoint, "tracepoint/"+name
		}
		if fits(h, ev.Hook) {
			e.counts.hits++
			counted = true
		}
	}
	return counted
}

// isTask reports whether the fields of an event's task are those of a thread.
func isTask(fields map[string]any, tid uint32) bool {
	switch pid := fields["pid"].(type) {
	case int64:
		return pid == int64(tid)
	case uint64:
		return pid == uint64(tid)
	case int:
		return pid == int(tid)
	}
	return false
}

// PerfRead implements read(2) of room bytes from a perf event (__perf_read).
func (s *System) PerfRead(c Caller, e *PerfEvent, addr, room uint64) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	b := s.readEvent(e)
	if room < uint64(len(b)) {
		return fail(uapi.ENOSPC)
	}
	if !c.Write(addr, b) {
		return fail(uapi.EFAULT)
	}
	return Result{Val: int64(len(b))}
}

// readEvent returns the bytes that read(2) returns: words in the layout of read_format
// (perf_read_one, perf_read_group).
func (s *System) readEvent(e *PerfEvent) []byte {
	f := e.counts.format
	var b []byte
	add := func(v uint64) { b = le.AppendUint64(b, v) }
	times := func(e *PerfEvent) {
		if f&formatEnabled != 0 {
			add(s.time(e))
		}
		if f&formatRunning != 0 {
			add(s.time(e))
		}
	}
	about := func(e *PerfEvent) {
		if f&formatID != 0 {
			add(uint64(e.id))
		}
		if f&formatLost != 0 {
			add(e.counts.lost)
		}
	}
	if f&formatGroup == 0 {
		add(s.count(e))
		times(e)
		about(e)
		return b
	}
	group := e.affected(wholeGroup)
	add(uint64(len(group)))
	times(group[0])
	for _, m := range group {
		add(s.count(m))
		about(m)
	}
	return b
}

// Count implements [maps.PerfSink] (perf_event_read_local): the event must be of the current task
// or CPU.
func (p *perfSink) Count(slot uint32, cpu int) (maps.PerfCount, uapi.Errno) {
	e, ok := p.m.slots[string(le.AppendUint32(nil, slot))].(*PerfEvent)
	if !ok {
		return maps.PerfCount{}, uapi.ENOENT
	}
	if e.counts.task == 0 {
		if e.cpu != cpu {
			return maps.PerfCount{}, uapi.EINVAL
		}
	} else if pid, err := p.s.machine.Kernel().Current().Uint("pid"); err != nil || uint32(pid) != e.counts.task || e.cpu >= 0 && e.cpu != cpu {
		return maps.PerfCount{}, uapi.EINVAL
	}
	t := p.s.time(e)
	return maps.PerfCount{Value: p.s.count(e), Enabled: t, Running: t}, 0
}

// dropEvents empties a perf event array whose last descriptor was closed, unless it was created to
// keep its events (perf_event_fd_array_release). The kernel drops the events that were stored
// through the closed descriptor; which descriptor that was is not known here.
func (s *System) dropEvents(m *Map) {
	if m.def.Flags&uapi.MapPreserveElems != 0 {
		return
	}
	arr, ok := m.m.(maps.PerfArray)
	if !ok {
		return
	}
	for key := range m.slots {
		_ = arr.Delete([]byte(key))
		s.emptySlot(m, key)
	}
}
