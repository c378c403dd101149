package event

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// log runs a queue that make fills and returns what happened when.
func log(t *testing.T, q Queue, s Steps, fill func(q *Queue, say func(string) func())) ([]string, error) {
	t.Helper()
	var out []string
	say := func(name string) func() { return func() { out = append(out, fmt.Sprintf("%s@%d", name, q.Now())) } }
	if s.Pass == nil {
		s.Pass = func(_ context.Context, _, until uint64) (uint64, error) { return until, nil }
	}
	fill(&q, say)
	q.Run(t.Context(), s)
	return out, q.Err()
}

func TestEventsHappenInOrder(t *testing.T) {
	for _, tt := range []struct {
		name string
		fill func(q *Queue, say func(string) func())
		want []string
	}{
		{"by time", func(q *Queue, say func(string) func()) {
			q.At(20, say("b"))
			q.At(10, say("a"))
		}, []string{"a@10", "b@20"}},
		{"those of one point as they were made", func(q *Queue, say func(string) func()) {
			for _, n := range []string{"a", "b", "c"} {
				q.At(5, say(n))
			}
		}, []string{"a@5", "b@5", "c@5"}},
		{"not at the end, nor after it", func(q *Queue, say func(string) func()) {
			q.At(99, say("a"))
			q.At(100, say("b"))
		}, []string{"a@99"}},
		{"one that another makes", func(q *Queue, say func(string) func()) {
			q.At(7, func() { q.After(3, say("a")) })
			q.At(9, say("b"))
		}, []string{"b@9", "a@10"}},
		{"one for the past at once", func(q *Queue, say func(string) func()) {
			q.At(7, func() { q.At(2, say("a")) })
			q.At(7, say("b"))
		}, []string{"a@7", "b@7"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := log(t, New(100, 0), Steps{}, tt.fill)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

// What happens between two events may make one, which comes before the later of the two.
func TestTimePassesInParts(t *testing.T) {
	var q Queue
	var out []string
	woke := false
	q = New(100, 0)
	q.At(50, func() { out = append(out, fmt.Sprint("late@", q.Now())) })
	q.Run(t.Context(), Steps{Pass: func(_ context.Context, now, until uint64) (uint64, error) {
		if !woke && until > 20 {
			woke = true
			q.Reach(20)
			q.At(30, func() { out = append(out, fmt.Sprint("made@", q.Now())) })
			return 20, nil
		}
		return until, nil
	}})
	require.NoError(t, q.Err())
	require.Equal(t, []string{"made@30", "late@50"}, out)
	require.Equal(t, 3, q.Count(), "the two and what happened on the way")
	require.EqualValues(t, 100, q.Now())
}

func TestARunEnds(t *testing.T) {
	boom := errors.New("boom")
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	loop := func(q *Queue) {
		var again func()
		again = func() { q.After(0, again) }
		q.At(1, again)
	}
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		most  int
		fill  func(q *Queue)
		steps Steps
		want  error
		count int
	}{
		{"with a limit on events at one point", context.Background(), 0, loop, Steps{}, ErrLimit, maxInstant + 1},
		{"with a limit on all events", context.Background(), 10, loop, Steps{}, ErrLimit, 11},
		{"with the context", canceled, 0, loop, Steps{Pass: func(context.Context, uint64, uint64) (uint64, error) {
			t.Error("time passes after the end")
			return 0, boom
		}}, context.Canceled, 0},
		{"with an error of an event, the first", context.Background(), 0, func(q *Queue) {
			q.At(1, func() { q.Fail(boom); q.Fail(errors.New("later")) })
			q.At(2, func() { t.Error("it happens after an error") })
		}, Steps{}, boom, 1},
		{"with an error on the way", context.Background(), 0, loop, Steps{
			Pass: func(context.Context, uint64, uint64) (uint64, error) { return 0, boom },
			Then: func() { t.Error("it goes on after an error") },
		}, boom, 0},
		{"when it is over", context.Background(), 0, loop, Steps{Over: func() bool { return true }}, nil, 0},
		{"without events", context.Background(), 0, func(*Queue) {}, Steps{}, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := New(100, tt.most)
			if tt.fill(&q); tt.steps.Pass == nil {
				tt.steps.Pass = func(_ context.Context, _, until uint64) (uint64, error) { return until, nil }
			}
			q.Run(tt.ctx, tt.steps)
			require.ErrorIs(t, q.Err(), tt.want)
			require.Equal(t, tt.count, q.Count())
		})
	}
}

// A limit at one point of time starts anew when time goes on, also if nothing was due then.
func TestTheInstantLimitStartsAnew(t *testing.T) {
	q := New(1000, 0)
	for at := range uint64(3) {
		for range maxInstant {
			q.At(at*10+1, func() {})
		}
	}
	q.Run(t.Context(), Steps{Pass: func(_ context.Context, _, until uint64) (uint64, error) { q.Reach(until); return until, nil }})
	require.NoError(t, q.Err())
	require.Equal(t, 3*maxInstant, q.Count())
}

// TestACloneHasItsOwnEvents: what happens to a queue does not happen to its clone.
func TestACloneHasItsOwnEvents(t *testing.T) {
	var out []string
	q := New(100, 0)
	for _, at := range []uint64{30, 10, 20} {
		q.At(at, func() { out = append(out, fmt.Sprint(at)) })
	}
	c := q.Clone()
	pass := Steps{Pass: func(_ context.Context, _, until uint64) (uint64, error) { return until, nil }}
	q.At(5, func() { out = append(out, "5") })
	q.Run(t.Context(), pass)
	require.Equal(t, []string{"5", "10", "20", "30"}, out)
	require.EqualValues(t, 0, c.Now())
	out = nil
	c.Run(t.Context(), pass)
	require.Equal(t, []string{"10", "20", "30"}, out)
}
