package race

import (
	"context"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/machine"
)

// TurnError means that a schedule does not fit: an actor cannot make its turn.
type TurnError struct {
	Turn  int // from 0
	Actor string
	Why   string
}

// Error names the turn.
func (e *TurnError) Error() string {
	return fmt.Sprintf("turn %d: %s %s", e.Turn+1, e.Actor, e.Why)
}

// Replay repeats one order: its turns, and then whatever actors have left to do, one after the
// other. The report has the finding if its outcome is wrong. The error is that of ctx, a
// [*NotRunnableError] or a [*TurnError].
func Replay(ctx context.Context, m *machine.Machine, actors []Actor, turns []Turn, check Checker) (*Report, error) {
	s, err := newSystem(m, actors, Sequential)
	if err != nil {
		return nil, err
	}
	defer s.x.Close()
	h := newHunt(s, check)
	h.runSequential()
	note := &noting{s, h}
	note.Begin()
	var trail []uint8
	target := make([]uint64, len(actors))
	step := func(i int) {
		trail = append(trail, uint8(i))
		note.Step(i)
	}
	for n, t := range turns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		target[t.Actor] += t.Insns
		for s.insns(t.Actor) < target[t.Actor] || s.interrupting(t.Actor) && s.waits(t.Actor) { // it begins, and executes nothing
			if state, _ := s.Next(t.Actor); state != order.Ready {
				return nil, &TurnError{n, Names(actors)[t.Actor], [...]string{order.Blocked: "waits for another one", order.Done: "has ended"}[state]}
			}
			before := s.insns(t.Actor)
			if step(t.Actor); s.insns(t.Actor) == before && len(trail) > 1<<16 {
				break
			}
		}
	}
	stuck := rest(s, step)
	h.report.Orders = 1
	h.each(order.Order{Trail: trail, Stuck: stuck})
	return h.report, nil
}

// rest lets all actors end, one after the other. It reports whether some cannot.
func rest(s *system, step func(int)) (stuck bool) {
	for n := 0; n < 1<<16; n++ {
		went, left := false, false
		for i := range s.actors {
			switch state, _ := s.Next(i); state {
			case order.Ready:
				step(i)
				went = true
			case order.Blocked:
				left = true
			}
			if went {
				break
			}
		}
		if !went {
			return left
		}
	}
	return true
}
