package event

import (
	"container/heap"
	"context"
	"errors"
	"math"
	"slices"
)

// Limits of a simulation.
const (
	DefaultEvents = 5_000_000
	maxInstant    = 100_000 // events at one point of time
	checkEvery    = 256     // events at one point of time between two looks at the context
)

// ErrLimit means that a simulation has reached a limit on its events: what it calls makes events
// without end, for example at one point of time.
var ErrLimit = errors.New("the simulation has too many events")

// Queue has the events of a simulation. Times are in nanoseconds since its start. Create it with
// [New].
type Queue struct {
	now, end uint64
	due      due
	made     uint64 // events so far, for their order
	most     int    // events that may happen
	count    int    // that happened
	still    int    // of these, at this point of time
	err      error
}

// event is something that happens at a point of time.
type event struct {
	at, made uint64
	do       func()
}

// due are events by time, those of one point in the order in which they were made.
type due []event

func (d due) Len() int { return len(d) }
func (d due) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].made < d[j].made
}
func (d due) Swap(i, j int) { d[i], d[j] = d[j], d[i] }

// Push and Pop implement heap.Interface.
func (d *due) Push(x any) { *d = append(*d, x.(event)) }

// Pop implements heap.Interface.
func (d *due) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	(*d)[last] = event{}
	*d = (*d)[:last]
	return x
}

// New returns an empty queue for a simulation that ends at a point of time, or after so many
// events; 0 means [DefaultEvents].
func New(end uint64, events int) Queue {
	if events == 0 {
		events = DefaultEvents
	}
	return Queue{end: end, most: events}
}

// Clone returns a queue with the same events and a list of its own.
func (q *Queue) Clone() Queue {
	c := *q
	c.due = slices.Clone(q.due)
	return c
}

// Now returns the time.
func (q *Queue) Now() uint64 { return q.now }

// End returns the time of the end.
func (q *Queue) End() uint64 { return q.end }

// Count returns how many events have happened.
func (q *Queue) Count() int { return q.count }

// Err returns why the simulation ends before its time, nil if it does not.
func (q *Queue) Err() error { return q.err }

// Fail ends the simulation with an error, unless it has failed before; nil does nothing.
func (q *Queue) Fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// At makes an event for a point of time.
func (q *Queue) At(t uint64, do func()) {
	q.made++
	heap.Push(&q.due, event{t, q.made, do})
}

// After makes an event that happens so much later.
func (q *Queue) After(d uint64, do func()) { q.At(q.now+d, do) }

// Reach sets the time that has been reached before the next event, for what happens then.
func (q *Queue) Reach(now uint64) {
	if now > q.now {
		q.now, q.still = now, 0
	}
}

// Happens counts an event, and reports whether there may be one.
func (q *Queue) Happens() bool {
	q.count++
	if q.still++; q.count > q.most || q.still > maxInstant {
		q.Fail(ErrLimit)
	}
	return q.err == nil
}

// Steps are what a simulation adds to its queue's loop.
type Steps struct {
	// Pass lets time pass until a point of it, or until something of its own happens before, which
	// counts as an event. It returns the time that is reached.
	Pass func(ctx context.Context, now, until uint64) (uint64, error)
	// Then is called when time has passed and after each event; it may be nil.
	Then func()
	// Over reports whether the simulation has ended before its time; it may be nil.
	Over func() bool
}

// Run makes events happen in their order until the end, or until Over. [Queue.Err] has the error:
// that of ctx or of Pass, [ErrLimit], or one that an event caused with [Queue.Fail].
func (q *Queue) Run(ctx context.Context, s Steps) {
	then := func() {
		if s.Then != nil {
			s.Then()
		}
	}
	for q.err == nil && (s.Over == nil || !s.Over()) {
		next := min(q.first(), q.end)
		if next > q.now || q.still%checkEvery == checkEvery-1 { // also where time does not go on
			if q.Fail(ctx.Err()); q.err != nil {
				return
			}
		}
		if next > q.now {
			if q.pass(ctx, s, next); q.err != nil {
				return
			}
			if then(); q.first() > q.now && q.now < q.end {
				continue // what happened on the way may have made events
			}
		}
		if q.now >= q.end || len(q.due) == 0 || !q.Happens() {
			return
		}
		heap.Pop(&q.due).(event).do()
		then()
	}
}

// first returns when the next event is due.
func (q *Queue) first() uint64 {
	if len(q.due) == 0 {
		return math.MaxUint64
	}
	return q.due[0].at
}

// pass lets time pass until a point of it, or until something else happened.
func (q *Queue) pass(ctx context.Context, s Steps, until uint64) {
	reached, err := s.Pass(ctx, q.now, until)
	if err != nil {
		q.Fail(err)
		return
	}
	if q.Reach(reached); reached < until {
		q.Happens()
	}
}
