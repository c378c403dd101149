package bpfsys_test

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// event opens a perf event.
func (k *caller) event(typ uapi.PerfType, config uint64) (int64, result) {
	a := make([]byte, 136)
	le.PutUint32(a, uint32(typ))
	le.PutUint32(a[4:], 136)
	le.PutUint64(a[8:], config)
	le.PutUint64(a[16:], 1000) // period
	return k.openEvent(a, -1)
}

// openEvent calls perf_event_open(2) with a struct perf_event_attr.
func (k *caller) openEvent(a []byte, group int32) (int64, result) {
	before := len(k.notes)
	r := k.s.PerfEventOpen(k, k.put(a), -1, 0, group, 0)
	if r.Note != "" {
		k.notes = append(k.notes, r.Note)
	}
	if r.File != nil {
		k.files[k.next] = *r.File
		r.Val = int64(k.next)
		k.next++
	}
	return r.Val, result{r.Errno, k.notes[before:]}
}

// perfSubjects are the types of events, and what open(2) of them may ask for besides.
func perfSubjects() []subject {
	var out []subject
	for _, typ := range uapi.PerfTypes() {
		config := uint64(0)
		out = append(out, subject{name: typ.String(), try: func(k *caller) result {
			if typ == uapi.PerfTypeTracepoint {
				b, _ := k.s.ReadFile("/sys/kernel/tracing/events/sched/sched_switch/id")
				_, err := fmt.Sscan(string(b), &config)
				if err != nil {
					panic(err)
				}
			}
			_, r := k.event(typ, config)
			return r
		}})
	}
	for _, sw := range uapi.PerfSoftwareEvents() {
		out = append(out, subject{name: sw.String(), try: func(k *caller) result { _, r := k.event(uapi.PerfTypeSoftware, uint64(sw)); return r }})
	}
	probe := func(typ uint32, name string) func(k *caller) result {
		return func(k *caller) result {
			a := make([]byte, 136)
			le.PutUint32(a, typ)
			le.PutUint32(a[4:], 136)
			le.PutUint64(a[56:], k.text(name))
			_, r := k.openEvent(a, -1)
			return r
		}
	}
	return append(out,
		subject{name: "kprobe", try: probe(8, "vfs_read")}, subject{name: "uprobe", try: probe(9, "/bin/sh")},
		subject{name: "a group of events", word: "group", try: func(k *caller) result {
			leader, r := k.event(uapi.PerfTypeSoftware, 0)
			k.must(leader, r.errno)
			a := make([]byte, 136)
			le.PutUint32(a, uint32(uapi.PerfTypeSoftware))
			le.PutUint32(a[4:], 136)
			_, r = k.openEvent(a, int32(leader))
			return r
		}},
	)
}

func perfIoctlSubjects() []subject {
	var out []subject
	for _, req := range uapi.PerfIoctls() {
		out = append(out, subject{name: req.String(), try: func(k *caller) result {
			b, _ := k.s.ReadFile("/sys/kernel/tracing/events/sched/sched_switch/id")
			id := uint64(0)
			if _, err := fmt.Sscan(string(b), &id); err != nil {
				panic(err)
			}
			ev, r := k.event(uapi.PerfTypeTracepoint, id)
			fd := k.must(ev, r.errno)
			arg := k.room(256)
			switch req {
			case uapi.PerfIoctlSetBPF:
				arg = uint64(k.must(k.load(uapi.ProgTypeTracepoint, exitZero)))
			case uapi.PerfIoctlSetOutput:
				other, r := k.event(uapi.PerfTypeSoftware, uint64(uapi.PerfSoftwareBpfOutput))
				arg = uint64(k.must(other, r.errno))
				k.must(0, k.s.MapRange(k.files[int32(arg)].Object, bpfsys.ReadWrite, 0, 2*uapi.PageSize, true, true))
			case uapi.PerfIoctlPauseOutput:
				k.must(0, k.s.MapRange(k.files[int32(fd)].Object, bpfsys.ReadWrite, 0, 2*uapi.PageSize, true, true))
			case uapi.PerfIoctlPeriod:
				arg = k.put(le.AppendUint64(nil, 100))
			case uapi.PerfIoctlQueryBPF:
				le.PutUint32(k.at(arg, 4), 4)
			case uapi.PerfIoctlSetFilter:
				arg = k.text("common_pid > 0")
			}
			res := k.s.PerfIoctl(k, k.files[int32(fd)].Object.(*bpfsys.PerfEvent), 0x2400|uint32(req), arg)
			return result{res.Errno, []string{res.Note}}
		}})
	}
	return out
}
