package bpfsys

import (
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/perfattr"
)

// Types of perf events (enum perf_type_id), and the dynamic types of the probes' PMUs in
// /sys/bus/event_source.
const (
	perfHardware   = 0
	perfSoftware   = 1
	perfTracepoint = 2
	perfCache      = 3
	perfRaw        = 4
	perfKprobe     = 8
	perfUprobe     = 9
)

// PerfEvent is an event of perf_event_open(2): a tracepoint, a probe, a clock, or a buffer for
// program output.
type PerfEvent struct {
	object
	typ     uint32
	config  uint64
	cpu     int
	pid     int32
	hook    machine.Hook
	bpf     *Prog // attached by ioctl
	at      *attachment
	link    *Link
	enabled bool
	ret     bool
	offset  uint64
	output  bool   // programs write to this event
	samples uint64 // what records have (PERF_SAMPLE_*)
	clock   uint32 // CLOCK_*, or clockLocal, of their times
	wakeup  uint64 // records, or bytes with watermark set, until readers are woken
	unread  uint64
	bytes   bool // watermark
	back    bool // write_backward: newest record first, old ones are overwritten
	paused  bool
	// sampling means that the event was opened with a sample period or frequency.
	sampling bool
	filter   string
	lost     uint64 // records lost since the last PERF_RECORD_LOST
	counts   perfCounts
	data     uint64 // bytes of the data ring
	leader   *PerfEvent
	members  []*PerfEvent // other events of the group that this event leads
	into     *PerfEvent   // the event whose buffer gets this event's records, if not its own
}

// PerfEventOpen implements perf_event_open(2).
func (s *System) PerfEventOpen(c Caller, addr uint64, pid int32, cpu int32, group int32, flags uint64) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	head := make([]byte, 8)
	if !c.Read(addr, head) {
		return fail(uapi.EFAULT)
	}
	size := le.Uint32(head[4:])
	// Programs that leave the size out have the first version of the struct (perf_copy_attr).
	if size == 0 {
		size = perfattr.MinSize
	}
	if size < perfattr.MinSize || size > uapi.PageSize {
		return fail(uapi.E2BIG)
	}
	raw := make([]byte, size)
	if !c.Read(addr, raw) {
		return fail(uapi.EFAULT)
	}
	a := perfattr.New(raw)
	switch {
	case flags&^uint64(perfNoGroup|perfFDOutput|perfCgroup|perfCloexec) != 0, !s.validFormat(a.ReadFormat()):
		return fail(uapi.EINVAL)
	case flags&perfCgroup != 0 && (pid == -1 || cpu == -1):
		return fail(uapi.EINVAL)
	case flags&perfCgroup != 0:
		return Result{Errno: uapi.EOPNOTSUPP, Note: "PERF_FLAG_PID_CGROUP, events of the tasks in a cgroup, is not simulated"}
	case pid == -1 && cpu == -1:
		// An event is of a task or of a CPU, or of both.
		return fail(uapi.EINVAL)
	case pid < -1:
		return fail(uapi.ESRCH)
	case cpu >= int32(s.cpus()):
		return fail(uapi.ENODEV)
	case s.full(KindPerf):
		return fail(uapi.EMFILE)
	}
	e := &PerfEvent{typ: a.Type(), config: a.Config(), cpu: int(cpu), pid: pid, wakeup: uint64(a.WakeupEvents())}
	leader, output, errno := s.groupOf(c, group, flags)
	if errno != 0 {
		return fail(errno)
	}
	e.sampling = a.SamplePeriod() != 0
	e.bytes, e.back = a.Watermark(), a.WriteBackward()
	e.counts.format = a.ReadFormat()
	if e.counts.task = uint32(max(pid, 0)); pid == 0 {
		_, e.counts.task, _ = c.Thread()
	}
	if e.typ == uint32(uapi.PerfTypeBreakpoint) {
		return Result{Errno: uapi.EOPNOTSUPP, Note: "perf events of type PERF_TYPE_BREAKPOINT (breakpoints and watchpoints of the processor) are not simulated"}
	}
	if a.EnableOnExec() && a.Disabled() {
		s.note("perf events with enable_on_exec stay disabled, and perf stat says \"not counted\": the simulated kernel counts what events fire, and has no counts of a real program")
	}
	if errno := s.describeEvent(c, e, a); errno != 0 {
		return fail(errno)
	}
	if errno := e.join(leader, a); errno != 0 {
		return fail(errno)
	}
	if output != nil {
		if errno := s.redirect(e, output); errno != 0 {
			e.leave()
			return fail(errno)
		}
	}
	s.enable(e, !a.Disabled())
	s.add(e, KindPerf, e.hook.AttachTo, func() {
		if e.at != nil {
			s.detach(e.at)
		}
		if e.bpf != nil {
			s.put(e.bpf)
		}
		e.leave()
		_ = s.redirect(e, nil)
	})
	return s.newFile(e, ReadWrite)
}

func (s *System) cpus() int { return s.machine.Kernel().CPUs() }

// describeEvent determines what an event measures from its struct perf_event_attr.
func (s *System) describeEvent(c Caller, e *PerfEvent, a *perfattr.Attr) uapi.Errno {
	switch e.typ {
	case perfTracepoint:
		name := s.trace.byID[e.config]
		if name == "" {
			return uapi.ENOENT
		}
		e.hook = machine.Hook{AttachTo: name, Section: "tracepoint/" + name}
		if p, ok := s.trace.probes[name]; ok {
			e.hook, e.ret, e.offset, e.typ = p.hook, p.ret, p.offset, perfKprobe
			if p.user {
				e.typ = perfUprobe
			}
		}
	case perfKprobe:
		ptr, off := a.KprobeFunc(), a.ProbeOffset()
		name := ""
		if ptr == 0 {
			sym, at, ok := s.machine.Kernel().SymbolAt(off)
			if !ok {
				return uapi.EINVAL
			}
			name, off = sym, at
		} else {
			var ok bool
			if name, ok = cstring(c, ptr, 512); !ok {
				return uapi.EINVAL
			}
		}
		if name == "" || !s.hasFunction(name) {
			s.lacks(name)
			return uapi.ENOENT
		}
		// A probe there would be hit by the handling of probes.
		if kernel.NotProbed(name) {
			return uapi.EINVAL
		}
		e.ret, e.offset = e.config&1 != 0, off
		// A function returns once, wherever in it one looks.
		if e.ret && off != 0 {
			return uapi.EINVAL
		}
		e.hook = machine.Hook{AttachTo: name, Section: probeSection("kprobe", e.ret) + "/" + name}
	case perfUprobe:
		if e.pid > 0 && !c.HasProcess(uint32(e.pid)) {
			return uapi.ESRCH
		}
		path, ok := cstring(c, a.UprobePath(), 4096)
		if !ok || path == "" {
			return uapi.EINVAL
		}
		if regular, exists := c.IsFile(c.Path(-100, path)); !exists {
			return uapi.ENOENT
		} else if !regular {
			return uapi.EINVAL
		}
		e.ret, e.offset = e.config&1 != 0, a.ProbeOffset()
		name := c.Path(-100, path) + ":+0x" + hex(e.offset)
		e.hook = machine.Hook{AttachTo: name, Section: probeSection("uprobe", e.ret) + "/" + name}
	case perfSoftware:
		const output, last = 10, 11
		if e.config > last {
			return uapi.ENOENT
		}
		e.output = e.config == output
		e.samples, e.clock = a.SampleType(), clockLocal
		if a.UseClockid() {
			e.clock = a.Clockid()
		}
		e.hook = machine.Hook{AttachTo: "software:" + strconv.FormatUint(e.config, 10), Section: "perf_event"}
	case perfHardware, perfCache, perfRaw:
		e.hook = machine.Hook{AttachTo: "hardware:" + strconv.FormatUint(e.config, 10), Section: "perf_event"}
	default:
		return uapi.ENOENT
	}
	return 0
}

func probeSection(kind string, ret bool) string {
	if !ret {
		return kind
	}
	return strings.Replace(kind, "probe", "retprobe", 1)
}

func hex(n uint64) string { return strconv.FormatUint(n, 16) }

// programType returns the type of the programs that attach to the event.
func (e *PerfEvent) programType() uapi.ProgType {
	switch e.typ {
	case perfTracepoint:
		return uapi.ProgTypeTracepoint
	case perfKprobe, perfUprobe:
		return uapi.ProgTypeKprobe
	}
	return uapi.ProgTypePerfEvent
}

// accepts returns 0 if a program may be attached to the event, and else the errno
// (perf_event_set_bpf_prog).
func (e *PerfEvent) accepts(s *System, p *Prog) uapi.Errno {
	if p.typ != e.programType() || p.flags&flagSleepable != 0 && e.typ != perfUprobe {
		return uapi.EINVAL
	}
	if p.typ == uapi.ProgTypeTracepoint {
		// The program would read behind the record.
		if size := s.recordSize(e); size > 0 && p.ctxSize > size {
			return uapi.EACCES
		}
	}
	return 0
}

// recordHeader is the size of the fields that all trace records begin with.
const recordHeader = 8

// recordSize returns where the last field of a tracepoint's record ends (trace_event_get_offsets),
// 0 if it is not known.
func (s *System) recordSize(e *PerfEvent) int {
	name := e.hook.AttachTo
	_, event, _ := cutLast(name, '/')
	all := recordField.FindAllStringSubmatch(string(s.format(name, event)), -1)
	if len(all) == 0 {
		return 0
	}
	last := all[len(all)-1]
	off, err1 := strconv.Atoi(last[1])
	size, err2 := strconv.Atoi(last[2])
	if err1 != nil || err2 != nil || off < recordHeader {
		return 0
	}
	return off + size
}

// recordField finds the place and size of a field in the format of an event.
var recordField = lazyre.New(`;\toffset:(\d+);\tsize:(\d+);`)

// PerfIoctl implements ioctl(2) on a perf event.
func (s *System) PerfIoctl(c Caller, e *PerfEvent, request uint32, arg uint64) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if request>>8&0xff != '$' {
		return fail(uapi.ENOTTY)
	}
	s.follow()
	switch req := uapi.PerfIoctl(request); req {
	case uapi.PerfIoctlEnable, uapi.PerfIoctlDisable:
		for _, o := range e.affected(arg) {
			s.enable(o, req == uapi.PerfIoctlEnable)
		}
	case uapi.PerfIoctlReset:
		for _, o := range e.affected(arg) {
			o.counts.base = s.total(o)
		}
	case uapi.PerfIoctlRefresh:
		if !e.sampling {
			return fail(uapi.EINVAL)
		}
		s.enable(e, true)
		return Result{Note: "PERF_EVENT_IOC_REFRESH enables the event for any number of overflows, not only for the next ones"}
	case uapi.PerfIoctlPeriod:
		b := make([]byte, 8)
		switch {
		case !e.sampling:
			return fail(uapi.EINVAL)
		case !c.Read(arg, b):
			return fail(uapi.EFAULT)
		case le.Uint64(b) == 0, le.Uint64(b)>>63 != 0:
			return fail(uapi.EINVAL)
		}
		return Result{Note: "PERF_EVENT_IOC_PERIOD has no effect: programs of perf events run when an event fires them"}
	case uapi.PerfIoctlSetOutput:
		if arg == ^uint64(0) {
			return fail(s.redirect(e, nil))
		}
		to, _, errno := fileOf[*PerfEvent](c, int32(arg))
		if errno != 0 {
			return fail(uapi.EBADF)
		}
		return fail(s.redirect(e, to))
	case uapi.PerfIoctlPauseOutput:
		if e.buffer().mem == nil {
			return fail(uapi.EINVAL)
		}
		e.buffer().paused = arg != 0
	case uapi.PerfIoctlID:
		if !c.Write(arg, le.AppendUint64(nil, uint64(e.id))) {
			return fail(uapi.EFAULT)
		}
	case uapi.PerfIoctlSetBPF:
		p, _, errno := fileOf[*Prog](c, int32(arg))
		if errno != 0 {
			return fail(errno)
		}
		if errno := e.accepts(s, p); errno != 0 {
			return fail(errno)
		}
		if e.bpf != nil || e.link != nil {
			return fail(uapi.EEXIST)
		}
		s.hold(p)
		e.bpf = p
		e.at = s.attach(&attachment{prog: p, hook: e.hook, event: e})
	case uapi.PerfIoctlSetFilter:
		return s.setFilter(c, e, arg)
	case uapi.PerfIoctlQueryBPF:
		return s.queryEvent(c, e, arg)
	default:
		if req < uapi.PerfIoctl(len(uapi.PerfIoctls())) {
			return Result{Errno: uapi.EOPNOTSUPP, Note: "ioctl " + req.String() + " on a perf event is not simulated"}
		}
		return fail(uapi.ENOTTY)
	}
	return Result{}
}

// queryEvent implements PERF_EVENT_IOC_QUERY_BPF, which lists the programs of a tracepoint.
func (s *System) queryEvent(c Caller, e *PerfEvent, arg uint64) Result {
	if e.typ != perfTracepoint {
		return fail(uapi.EINVAL)
	}
	b := make([]byte, 8)
	if !c.Read(arg, b) {
		return fail(uapi.EFAULT)
	}
	room := le.Uint32(b)
	if room > 64 {
		return fail(uapi.E2BIG)
	}
	var ids []byte
	n := uint32(0)
	for h := range s.hooks.All() {
		if h.event != nil && h.event.typ == perfTracepoint && h.event.config == e.config {
			if n < room {
				ids = le.AppendUint32(ids, h.prog.id)
			}
			n++
		}
	}
	if !c.Write(arg+4, le.AppendUint32(nil, n)) || !c.Write(arg+8, ids) {
		return fail(uapi.EFAULT)
	}
	if room > 0 && n > room { // without room only the number is asked for (bpf_prog_array_copy_info)
		return fail(uapi.ENOSPC)
	}
	return Result{}
}

// Offsets in the first page of a mapped event (struct perf_event_mmap_page).
const (
	perfHead, perfTail, perfDataOffset, perfDataSize = 1024, 1032, 1040, 1048
	recordLost, recordSample                         = 2, 9
)

// mapped allocates an event's buffer of length bytes: one page and 2^n pages of data.
func (e *PerfEvent) mapped(s *System, length uint64) uapi.Errno {
	n := length/uapi.PageSize - 1
	if length%uapi.PageSize != 0 || length < uapi.PageSize || n&(n-1) != 0 || n > 1<<16 {
		return uapi.EINVAL
	}
	if e.mem != nil {
		if int(length) != len(e.mem.Bytes()) {
			return uapi.EINVAL
		}
		return 0
	}
	if errno := s.share(e, int(length)); errno != 0 {
		return errno
	}
	if e.data = length - uapi.PageSize; e.data > 0 && !e.output {
		s.note("perf event %s has a buffer, but its samples are not simulated, only what programs write (PERF_COUNT_SW_BPF_OUTPUT): perf trace and perf record print none", e.hook.AttachTo)
	}
	if left := e.samples &^ samplesKnown; e.output && left != 0 {
		s.note("records of perf event %s lack what sample_type %#x asks for besides times, ids, the CPU and the program's data", e.hook.AttachTo, left)
	}
	b := e.mem.Bytes()
	le.PutUint64(b[perfDataOffset:], uapi.PageSize)
	le.PutUint64(b[perfDataSize:], e.data)
	return 0
}

// pending reports whether there are records that the reader has not taken.
func (e *PerfEvent) pending() bool {
	if e.mem == nil {
		return false
	}
	b := e.mem.Bytes()
	return le.Uint64(b[perfHead:]) != le.Uint64(b[perfTail:])
}

// write appends a record to the buffer; false means that it does not fit.
func (e *PerfEvent) write(rec []byte) bool {
	if e.mem == nil || e.data == 0 {
		return false
	}
	b := e.mem.Bytes()
	head, tail, n := le.Uint64(b[perfHead:]), le.Uint64(b[perfTail:]), uint64(len(rec))
	ring := b[uapi.PageSize:]
	if e.back {
		if n > e.data {
			return false
		}
		head -= n
		at := head & (e.data - 1)
		k := copy(ring[at:e.data], rec)
		copy(ring, rec[k:])
		fence.Add(1)
		le.PutUint64(b[perfHead:], head)
		return true
	}
	// What the reader has not taken is not overwritten: the record is lost, and counted.
	if n > e.data || head+n-tail > e.data {
		return false
	}
	at := head & (e.data - 1)
	k := copy(ring[at:e.data], rec)
	copy(ring, rec[k:])
	fence.Add(1)
	le.PutUint64(b[perfHead:], head+n)
	return true
}

// What records of output have besides the program's data (PERF_SAMPLE_*).
const (
	sampleTime, sampleAddr, sampleID, sampleCPU, samplePeriod, sampleStreamID, sampleRaw, sampleIdentifier = 1 << 2, 1 << 3, 1 << 6, 1 << 7, 1 << 8, 1 << 9, 1 << 10, 1 << 16
	samplesKnown                                                                                           = sampleTime | sampleAddr | sampleID | sampleCPU | samplePeriod | sampleStreamID | sampleRaw | sampleIdentifier
)

// clockLocal is the clock of events that name none (perf_event_clock).
const clockLocal = ^uint32(0)

// now returns the time of a record.
func (e *PerfEvent) now(k *kernel.Kernel) uint64 {
	const realtime, boottime, tai = 0, 7, 11
	switch c := k.Clock(); e.clock {
	case realtime:
		return c.Real()
	case boottime:
		return c.Boot()
	case tai:
		return c.TAI()
	default:
		return c.Mono()
	}
}

// fields returns what a record has before the program's data, in the kernel's order
// (perf_output_sample). Output has no address and no period.
func (e *PerfEvent) fields(k *kernel.Kernel) (b []byte) {
	if e.samples&^sampleRaw == 0 {
		return nil
	}
	for _, f := range []struct{ bit, value uint64 }{
		{sampleIdentifier, uint64(e.id)}, {sampleTime, e.now(k)}, {sampleAddr, 0}, {sampleID, uint64(e.id)}, {sampleStreamID, uint64(e.id)}, {sampleCPU, uint64(uint32(e.cpu))}, {samplePeriod, 0},
	} {
		if e.samples&f.bit != 0 {
			b = le.AppendUint64(b, f.value)
		}
	}
	return b
}

// sample writes a PERF_RECORD_SAMPLE with fields and PERF_SAMPLE_RAW, preceded by a
// PERF_RECORD_LOST if samples were lost.
func (e *PerfEvent) sample(fields, data []byte) bool {
	raw := (4+len(data)+7)&^7 - 4
	rec := make([]byte, 0, 24+12+len(fields)+raw)
	if e.lost > 0 {
		rec = le.AppendUint32(rec, recordLost)
		rec = le.AppendUint32(rec, 24<<16)
		rec = le.AppendUint64(rec, uint64(e.id))
		rec = le.AppendUint64(rec, e.lost)
	}
	rec = le.AppendUint32(rec, recordSample)
	rec = le.AppendUint32(rec, uint32(12+len(fields)+raw)<<16)
	rec = append(rec, fields...)
	rec = le.AppendUint32(rec, uint32(raw))
	rec = append(rec, data...)
	rec = append(rec, make([]byte, raw-len(data))...)
	if !e.write(rec) {
		e.lost++
		e.counts.lost++
		return false
	}
	e.lost = 0
	return true
}

// perfSink delivers the records of a perf event array to the events in its slots.
type perfSink struct {
	s *System
	m *Map
}

const maxSample = 1<<16 - 64 // a record's length has 16 bits

// Sample writes a record to the event of a slot (bpf_perf_event_output). A slot is of a CPU: its
// event must be of that one.
func (p *perfSink) Sample(slot uint32, _ int, data []byte) bool {
	e, ok := p.m.slots[string(le.AppendUint32(nil, slot))].(*PerfEvent)
	if !ok || !e.output {
		return false
	}
	e = e.buffer()
	fields := e.fields(p.s.machine.Kernel())
	if len(fields)+len(data) > maxSample {
		return false
	}
	if e.mem == nil {
		return true // records are not enabled
	}
	if e.paused || !e.sample(fields, data) {
		p.m.held = max(p.m.held, e.data)
		return false
	}
	step, limit := uint64(1), e.wakeup
	if e.bytes || limit == 0 { // by default, readers are woken when the buffer is half full
		step = uint64(len(data)) + 16
	}
	if limit == 0 {
		limit = e.data / 2
	}
	if e.unread += step; e.unread >= limit {
		e.unread = 0
		p.s.woken(e)
	}
	return true
}
