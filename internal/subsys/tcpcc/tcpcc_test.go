package tcpcc

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reno is the algorithm of the kernel's tcp_cong.c.
type reno struct {
	fields [Fields]uint64
	has    []Op
	log    []string
	fail   Op
	rate   uint64
}

var errFailed = errors.New("it failed")

func (r *reno) Has(op Op) bool           { return slices.Contains(r.has, op) }
func (r *reno) Load(f Field) uint64      { return r.fields[f] }
func (r *reno) Store(f Field, v uint64)  { r.fields[f] = v }
func (r *reno) PacingRate() uint64       { return r.rate }
func (r *reno) note(text string) *string { r.log = append(r.log, text); return nil }

func (r *reno) Pass(_ context.Context, _, until uint64) (uint64, error) { return until, nil }

func (r *reno) Acked(segments uint32, rtt int64, _ uint32) error {
	if segments == 0 || rtt == 0 {
		return errFailed
	}
	return nil
}

func (r *reno) Control(_, _ uint32, s *Sample) error {
	r.fields[FieldCwnd] += uint64(s.AckedSacked)
	return nil
}

func (r *reno) Call(op Op, args ...uint64) (uint64, error) {
	if op == r.fail {
		return 0, errFailed
	}
	cwnd := r.fields[FieldCwnd]
	switch op {
	case OpSSThresh:
		r.note("ssthresh")
		return max(cwnd/2, 2), nil
	case OpUndoCwnd:
		r.note("undo")
		return max(cwnd, r.fields[FieldPriorCwnd]), nil
	case OpSetState:
		r.note(State(args[0]).String())
	case OpCwndEvent:
		r.note([]string{"start", "restart", "complete", "loss"}[args[0]])
	case OpInit, OpRelease, OpTxStart:
		r.note(string(op))
	case OpCongAvoid:
		if cwnd < r.fields[FieldSSThresh] {
			r.fields[FieldCwnd] = min(cwnd+args[1], r.fields[FieldSSThresh])
			return 0, nil
		}
		if r.fields[FieldCwndCount] += args[1]; r.fields[FieldCwndCount] >= cwnd {
			r.fields[FieldCwndCount] = 0
			r.fields[FieldCwnd]++
		}
	}
	return 0, nil
}

var usual = []Op{OpSSThresh, OpCongAvoid, OpUndoCwnd, OpSetState, OpCwndEvent, OpInit, OpRelease, OpPktsAcked}

func run(t *testing.T, r *reno, cfg Config) *Result {
	t.Helper()
	if r.has == nil {
		r.has = usual
	}
	if cfg.Rate == 0 {
		cfg.Rate = DefaultRate
	}
	cfg.RTT, cfg.Queue, cfg.Duration = DefaultRTT, max(cfg.Queue, DefaultQueue), 10*time.Second
	sim, err := New(cfg, r)
	require.NoError(t, err)
	res, err := sim.Run(t.Context())
	require.NoError(t, err)
	return res
}

// TestWindowDoublesEachRoundInSlowStart: without a loss the window grows by what was acknowledged,
// and every segment arrives once.
func TestWindowDoublesEachRoundInSlowStart(t *testing.T) {
	r := &reno{}
	res := run(t, r, Config{Segments: 150, Rate: 1_000_000_000, Queue: 1000})
	assert.Equal(t, 150, res.Acked)
	assert.Equal(t, 150, res.Sent)
	assert.Zero(t, res.Lost+res.Recoveries+res.Timeouts)
	assert.EqualValues(t, 160, res.Cwnd)
	assert.EqualValues(t, Infinite, res.SSThresh)
	assert.Equal(t, []string{"init", "start", "release"}, r.log)
	// 10, 20, 40 and 80 segments: four rounds.
	assert.InDelta(t, 4*float64(DefaultRTT), float64(res.End), 4e6)
}

// TestLossesAreCalledAsTheKernelDoes: the threshold first, the state after it; at the end of
// recovery the window is the threshold, the event comes before the state.
func TestLossesAreCalledAsTheKernelDoes(t *testing.T) {
	for name, c := range map[string]struct {
		cfg                          Config
		want                         []string
		recoveries, timeouts, undone int
		retransmitted, lost          int
		ssthresh                     uint32
	}{
		"one loss":          {Config{Segments: 60, Drops: []int{15}}, []string{"init", "start", "disorder", "ssthresh", "recovery", "complete", "open", "release"}, 1, 0, 0, 1, 1, 12},
		"the last segments": {Config{Segments: 12, Drops: []int{11, 12}}, []string{"init", "start", "ssthresh", "loss", "loss", "open", "release"}, 0, 1, 0, 2, 2, 10},
		"a late segment":    {Config{Segments: 60, Late: map[int]time.Duration{15: 30 * time.Millisecond}}, []string{"init", "start", "disorder", "ssthresh", "recovery", "undo", "open", "release"}, 1, 0, 1, 1, 0, Infinite},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reno{}
			res := run(t, r, c.cfg)
			assert.Equal(t, c.want, r.log)
			assert.Equal(t, c.cfg.Segments, res.Acked)
			assert.Equal(t, []int{c.recoveries, c.timeouts, c.undone, c.retransmitted, c.lost}, []int{res.Recoveries, res.Timeouts, res.Undone, res.Retransmitted, res.Lost})
			assert.Equal(t, c.ssthresh, res.SSThresh)
		})
	}
}

// TestReductionIsProportional: in recovery a window goes down to the threshold, not below it, and
// not at once.
func TestReductionIsProportional(t *testing.T) {
	res := run(t, &reno{}, Config{Segments: 400, Drops: []int{100}})
	var seen []uint32
	for _, p := range res.Points {
		if p.State == Recovery {
			seen = append(seen, p.Cwnd)
		}
	}
	require.Greater(t, len(seen), 5)
	assert.GreaterOrEqual(t, seen[0], res.SSThresh)
	assert.EqualValues(t, res.SSThresh, slices.Min(seen))
	assert.True(t, slices.IsSortedFunc(seen[:5], func(a, b uint32) int { return int(b) - int(a) }), "%v", seen[:5])
}

// TestQueueOverflows: a window that grows loses segments at the queue, whose length is measured by
// the RTT, and the link stays busy.
func TestQueueOverflows(t *testing.T) {
	res := run(t, &reno{}, Config{})
	assert.Positive(t, res.Recoveries)
	assert.Positive(t, res.Lost)
	assert.GreaterOrEqual(t, res.MostQueue, DefaultQueue)
	assert.Greater(t, res.Throughput(), 0.7*DefaultRate)
	assert.Less(t, res.Throughput(), float64(DefaultRate))
	assert.Greater(t, res.MaxRTT, res.MinRTT+uint64(20*time.Millisecond))
	again := run(t, &reno{}, Config{})
	assert.Equal(t, res, again, "a simulation is repeatable")
}

// TestControlReplacesTheOthers: an algorithm with cong_control sets the window itself, also in
// recovery, and segments leave no faster than it says.
func TestControlReplacesTheOthers(t *testing.T) {
	r := &reno{has: append(slices.Clone(usual), OpCongControl, OpTxStart), rate: 100_000}
	res := run(t, r, Config{Segments: 200, Drops: []int{50}, TxStart: true})
	assert.Zero(t, res.Calls[OpCongAvoid])
	assert.Positive(t, res.Calls[OpCongControl])
	assert.NotContains(t, r.log, "complete")
	assert.Contains(t, r.log, "cwnd_event_tx_start")
	assert.NotContains(t, r.log, "start")
	assert.InDelta(t, 200*MSS*1e9/100_000, float64(res.End), 2e8)
}

// TestErrorsEndIt: an operation that fails ends the connection with its error.
func TestErrorsEndIt(t *testing.T) {
	for _, op := range []Op{OpInit, OpSSThresh, OpSetState, OpCongAvoid, OpCwndEvent} {
		sim, err := New(Config{Rate: DefaultRate, RTT: DefaultRTT, Queue: 10, Duration: time.Second}, &reno{has: usual, fail: op})
		require.NoError(t, err)
		_, err = sim.Run(t.Context())
		assert.ErrorIs(t, err, errFailed, op)
	}
}

// TestHostileWindows: windows of nothing and of everything end too.
func TestHostileWindows(t *testing.T) {
	for _, cwnd := range []uint64{0, 1, 1 << 31, 1<<32 - 1} {
		r := &hostile{cwnd: cwnd}
		r.has = usual
		sim, err := New(Config{Rate: DefaultRate, RTT: DefaultRTT, Queue: 10, Duration: time.Second}, r)
		require.NoError(t, err)
		_, err = sim.Run(t.Context())
		require.NoError(t, err)
	}
}

type hostile struct {
	reno
	cwnd uint64
}

func (h *hostile) Call(Op, ...uint64) (uint64, error) {
	h.fields[FieldCwnd] = h.cwnd
	return h.cwnd, nil
}

func TestConfigsThatMakeNoSense(t *testing.T) {
	good := Config{Rate: DefaultRate, RTT: DefaultRTT, Queue: 1, Duration: time.Second}
	require.NoError(t, Check(good))
	for what, change := range map[string]func(*Config){
		"rate": func(c *Config) { c.Rate = LeastRate - 1 }, "rtt": func(c *Config) { c.RTT = 0 }, "queue": func(c *Config) { c.Queue = 0 },
		"segments": func(c *Config) { c.Segments = MaxSegments + 1 }, "duration": func(c *Config) { c.Duration = 0 }, "late": func(c *Config) { c.Late = map[int]time.Duration{1: -1} },
	} {
		c := good
		change(&c)
		assert.ErrorContains(t, Check(c), what)
	}
}

// TestOnlyProgressCounts: an ACK of what was acknowledged before leaves the retransmission timer, its
// backoff and the state; one of more begins all anew.
func TestOnlyProgressCounts(t *testing.T) {
	sim, err := New(Config{Segments: 100, Rate: DefaultRate, RTT: DefaultRTT, Queue: DefaultQueue, Duration: time.Second}, &reno{has: usual})
	require.NoError(t, err)
	sim.store(FieldCwnd, initialWindow)
	sim.send()
	require.NotEmpty(t, sim.out)
	sim.timer, sim.backoff, sim.state = 5, 2, Disorder
	sim.ack(sim.una, -1, 0, false)
	assert.EqualValues(t, 5, sim.timer)
	assert.EqualValues(t, 2, sim.backoff)
	assert.Equal(t, Disorder, sim.state)
	assert.Zero(t, sim.res.Calls[OpCongAvoid])
	sim.ack(sim.una+1, -1, 0, false)
	assert.EqualValues(t, firstRTO, sim.timer)
	assert.Zero(t, sim.backoff)
	assert.Equal(t, Open, sim.state)
	assert.EqualValues(t, 1, sim.res.Calls[OpCongAvoid])
}
