package sched

// maxSegments limits the record of a schedule. What follows is only counted.
const maxSegments = 200_000

// Segment is a time that a task spent on a CPU without interruption.
type Segment struct {
	CPU      int
	Task     *Task
	From, To uint64
}

// Result is what a simulation did.
type Result struct {
	Tasks    []*Task
	Segments []Segment
	// Dropped counts the segments that are not recorded.
	Dropped int
	// Busy is the time that each CPU ran tasks, in nanoseconds.
	Busy []uint64
	// End is the simulated time at which the scheduler ended.
	End  uint64
	Exit *Exit
	// Calls counts the calls of operations.
	Calls map[Op]int
	// Events is the number of events that were simulated.
	Events int
}

// record ends the time of a task on a CPU.
func (s *Sim) record(c *rq, t *Task) {
	if s.result.Busy == nil {
		s.result.Busy = make([]uint64, len(s.cpus))
	}
	from := c.since
	c.since = s.Now()
	s.result.Busy[c.id] += s.Now() - from
	if s.Now() == from {
		return
	}
	if len(s.result.Segments) == maxSegments {
		s.result.Dropped++
		return
	}
	s.result.Segments = append(s.result.Segments, Segment{c.id, t, from, s.Now()})
}

// ran counts that a task was put on a CPU after it had waited for that.
func (st *Stats) ran(cpu int, waited uint64) {
	st.Runs++
	st.Waited += waited
	st.MaxWait = max(st.MaxWait, waited)
}

// finish completes the result: tasks that still wait have waited until the end.
func (s *Sim) finish() *Result {
	r := s.result
	r.Tasks, r.End, r.Exit, r.Events = s.tasks, s.Now(), s.exit, s.events.Count()
	if r.Busy == nil {
		r.Busy = make([]uint64, len(s.cpus))
	}
	running := map[*Task]bool{}
	for _, c := range s.cpus {
		if c.curr != nil {
			running[c.curr] = true
		}
	}
	for _, t := range s.tasks {
		if t.state == runnable && !running[t] {
			d := s.Now() - t.waitsSince
			t.Stats.Waited += d
			t.Stats.MaxWait = max(t.Stats.MaxWait, d)
			if t.woken {
				t.Stats.MaxLatency = max(t.Stats.MaxLatency, s.Now()-t.wokenAt)
			}
		}
	}
	return r
}
