package bpfsys

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/perfattr"
)

// Flags of perf_event_open(2) (PERF_FLAG_*).
const (
	perfNoGroup, perfFDOutput, perfCgroup, perfCloexec = 1, 2, 4, 8
)

// groupOf returns the leader that a new event joins and the event that gets its records. Both may
// be nil.
func (s *System) groupOf(c Caller, fd int32, flags uint64) (leader, output *PerfEvent, e uapi.Errno) {
	if fd == -1 {
		return nil, nil, 0
	}
	ev, _, e := fileOf[*PerfEvent](c, fd)
	if e != 0 {
		return nil, nil, uapi.EBADF
	}
	if flags&perfFDOutput != 0 {
		output = ev
	}
	if flags&perfNoGroup == 0 {
		leader = ev
	}
	return leader, output, 0
}

// join adds a new event to a group: all events of a group are of one task and one CPU, and members
// do not lead (perf_event_open).
func (e *PerfEvent) join(leader *PerfEvent, a *perfattr.Attr) uapi.Errno {
	if leader == nil {
		return 0
	}
	if leader.leader != nil || a.Pinned() || a.Exclusive() || leader.cpu != e.cpu || leader.pid != e.pid {
		return uapi.EINVAL
	}
	e.leader = leader
	leader.members = append(leader.members, e)
	return 0
}

// leave takes a closed event out of its group. The members of a closed leader become events of
// their own (perf_group_detach).
func (e *PerfEvent) leave() {
	if l := e.leader; l != nil {
		l.members = slices.DeleteFunc(l.members, func(o *PerfEvent) bool { return o == e })
		e.leader = nil
	}
	for _, m := range e.members {
		m.leader = nil
	}
	e.members = nil
}

const wholeGroup = 1 // PERF_IOC_FLAG_GROUP

// affected returns the events that an ioctl applies to: the whole group with PERF_IOC_FLAG_GROUP.
func (e *PerfEvent) affected(arg uint64) []*PerfEvent {
	if arg&wholeGroup == 0 {
		return []*PerfEvent{e}
	}
	l := e
	if e.leader != nil {
		l = e.leader
	}
	return append([]*PerfEvent{l}, l.members...)
}

// buffer returns the event whose buffer gets the records.
func (e *PerfEvent) buffer() *PerfEvent {
	if e.into != nil {
		return e.into
	}
	return e
}

// redirect makes the records of e go to the buffer of another event, which must be mapped; nil
// undoes that (perf_event_set_output).
func (s *System) redirect(e, to *PerfEvent) uapi.Errno {
	if to != nil {
		switch {
		case to == e, to.cpu != e.cpu, to.cpu == -1 && to.pid != e.pid, to.back != e.back, e.mem != nil, to.buffer().mem == nil:
			return uapi.EINVAL
		}
		to = to.buffer()
		s.hold(to)
	}
	if e.into != nil {
		s.put(e.into)
	}
	e.into = to
	return 0
}
