package qdisc

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/internal/subsys/event"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fifo is a discipline in Go: one queue with a limit. Its hooks replace operations.
type fifo struct {
	sim     *Sim
	fields  [Fields]uint64
	queue   []*Packet
	limit   int
	alive   map[*Packet]bool
	init    int64
	lossy   bool // reset forgets the packets
	dequeue func() (*Packet, error)
	calls   []Op
}

func (f *fifo) Load(x Field) uint64     { return f.fields[x] }
func (f *fifo) Store(x Field, v uint64) { f.fields[x] = v }
func (f *fifo) Make(p *Packet) error    { f.alive[p] = true; return nil }
func (f *fifo) Free(p *Packet)          { delete(f.alive, p) }

func (f *fifo) Enqueue(p *Packet) (int64, []*Packet, error) {
	f.calls = append(f.calls, OpEnqueue)
	if f.limit > 0 && len(f.queue) >= f.limit {
		f.sim.List(p)
		f.fields[FieldDrops]++
		return XmitDrop, []*Packet{p}, nil
	}
	f.queue = append(f.queue, p)
	f.fields[FieldQlen]++
	f.fields[FieldBacklog] += uint64(p.Size)
	return XmitSuccess, nil, nil
}

func (f *fifo) Dequeue() (*Packet, error) {
	f.calls = append(f.calls, OpDequeue)
	if f.dequeue != nil {
		return f.dequeue()
	}
	return f.pop(), nil
}

func (f *fifo) pop() *Packet {
	if len(f.queue) == 0 {
		return nil
	}
	p := f.queue[0]
	f.queue = f.queue[1:]
	f.fields[FieldQlen]--
	f.fields[FieldBacklog] -= uint64(p.Size)
	f.sim.Bstats(uint64(p.Size), 1)
	return p
}

func (f *fifo) Init() (int64, error) { f.calls = append(f.calls, OpInit); return f.init, nil }

func (f *fifo) Reset() error {
	f.calls = append(f.calls, OpReset)
	if !f.lossy {
		for _, p := range f.queue {
			f.sim.Kfree(p)
		}
	}
	f.queue = nil
	return nil
}

func (f *fifo) Destroy() error { f.calls = append(f.calls, OpDestroy); return nil }

func (f *fifo) Pass(_ context.Context, _, until uint64) (uint64, error) { return until, nil }

// run lets traffic pass through a FIFO.
func run(t *testing.T, cfg Config, f *fifo) (*Result, error) {
	t.Helper()
	if cfg.Rate == 0 {
		cfg.Rate = 8_000_000 // a byte per microsecond
	}
	if cfg.MTU == 0 {
		cfg.MTU = DefaultMTU
	}
	cfg.Ring = max(cfg.Ring, 1)
	if cfg.Duration == 0 {
		cfg.Duration = time.Second
	}
	f.alive = map[*Packet]bool{}
	s, err := New(cfg, f)
	require.NoError(t, err)
	f.sim = s
	return s.Run(t.Context())
}

func names(ps []*Packet) (out []string) {
	for _, p := range ps {
		out = append(out, p.Name())
	}
	return out
}

func TestPacketsTakeTurnsOnTheLink(t *testing.T) {
	f := &fifo{}
	r, err := run(t, Config{Flows: []Flow{
		{Name: "a", Sizes: []int{1000, 500}, Interval: time.Millisecond, Burst: 1, Count: 3},
		{Name: "b", Sizes: []int{100}, Start: 200 * time.Microsecond, Burst: 2, Count: 2},
	}}, f)
	require.NoError(t, err)
	assert.Equal(t, []string{"a#1", "b#1", "b#2", "a#2", "a#3"}, names(r.Left))
	p := r.Left[2] // waits for a#1 and b#1
	assert.EqualValues(t, 200_000, p.Arrival)
	assert.EqualValues(t, 1_100_000, p.Dequeued)
	assert.EqualValues(t, 1_200_000, p.Sent)
	wait, ok := p.Waited()
	assert.True(t, ok)
	assert.EqualValues(t, 900_000, wait)
	assert.EqualValues(t, 2_700_000, r.Busy, "a microsecond for each byte")
	assert.EqualValues(t, 3_000_000, r.End)
	assert.EqualValues(t, 2700, r.Fields[FieldBytes])
	assert.Zero(t, r.Held)
	assert.False(t, r.Stalled)
	assert.Empty(t, f.alive)
	assert.Equal(t, []Op{OpReset, OpDestroy}, f.calls[len(f.calls)-2:])
	flows := r.Flows()
	require.Len(t, flows, 2)
	assert.EqualValues(t, 900_000, flows[1].Wait(100))
	assert.EqualValues(t, 800_000, flows[1].Wait(50))
	assert.EqualValues(t, 850_000, flows[1].MeanWait())
}

func TestAFullQueueDrops(t *testing.T) {
	f := &fifo{limit: 2}
	r, err := run(t, Config{Flows: []Flow{{Name: "a", Sizes: []int{1000}, Burst: 5, Count: 5}}}, f)
	require.NoError(t, err)
	var fates []Fate
	for _, p := range r.Packets {
		fates = append(fates, p.Fate())
	}
	assert.Equal(t, []Fate{FateSent, FateSent, FateSent, FateDropped, FateDropped}, fates)
	assert.EqualValues(t, XmitDrop, r.Packets[4].Ret)
	assert.Equal(t, OpEnqueue, r.Packets[4].By)
	assert.Equal(t, 2, r.MostHeld)
	assert.Equal(t, 2000, r.MostHeldBytes)
}

// TestTheDeviceGivesBackWhatHasNoRoom: with BQL several packets are dequeued at once; those beyond
// the ring wait in gso_skb and count as part of the queue.
func TestTheDeviceGivesBackWhatHasNoRoom(t *testing.T) {
	f := &fifo{}
	r, err := run(t, Config{Ring: 2, Bulk: 5000, Flows: []Flow{{Name: "a", Sizes: []int{1000}, Burst: 6, Count: 6}}}, f)
	require.NoError(t, err)
	assert.Equal(t, []string{"a#1", "a#2", "a#3", "a#4", "a#5", "a#6"}, names(r.Left))
	assert.NotZero(t, r.Fields[FieldRequeues])
	requeues := 0
	for _, p := range r.Packets {
		requeues += p.Requeues
	}
	assert.EqualValues(t, r.Fields[FieldRequeues], requeues)
	for _, s := range r.Samples {
		assert.EqualValues(t, s.Held, s.Qlen, "at %d", s.At)
		assert.EqualValues(t, 1000*s.Held, s.Backlog, "at %d", s.At)
	}
}

func TestTheWatchdogWakesTheDiscipline(t *testing.T) {
	for name, c := range map[string]struct {
		expires, delta uint64
		want           uint64 // when the packet leaves
	}{
		"later":                   {1000 + 5_000_000, 0, 5_000_000},
		"at the end of its slack": {1000 + 5_000_000, 300, 5_000_300},
		"in the past":             {0, 0, 0},
		"before the epoch":        {math.MaxUint64, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fifo{}
			set := false
			f.dequeue = func() (*Packet, error) {
				if !set && len(f.queue) > 0 {
					set = true
					f.sim.Watchdog(c.expires, c.delta)
					return nil, nil
				}
				return f.pop(), nil
			}
			r, err := run(t, Config{Base: 1000, Flows: []Flow{{Name: "a", Sizes: []int{1000}, Burst: 1, Count: 1}}}, f)
			require.NoError(t, err)
			assert.Equal(t, 1, r.Watchdogs)
			require.Len(t, r.Left, 1)
			assert.Equal(t, c.want, r.Left[0].Dequeued)
		})
	}
}

// TestTheWatchdogStaysWithinItsSlack: a timer that is set to a time in the slack of the new one is
// left alone.
func TestTheWatchdogStaysWithinItsSlack(t *testing.T) {
	f := &fifo{}
	calls := 0
	f.dequeue = func() (*Packet, error) {
		switch calls++; calls {
		case 1:
			f.sim.Watchdog(5_000_000, 0)
			f.sim.Watchdog(4_999_000, 2000) // 5 ms is in its slack
			return nil, nil
		case 2:
			assert.EqualValues(t, 5_000_000, f.sim.Now())
			f.sim.Watchdog(9_000_000, 0)
			f.sim.Watchdog(8_000_000, 10) // earlier
			return nil, nil
		case 3:
			assert.EqualValues(t, 8_000_010, f.sim.Now())
		}
		return f.pop(), nil
	}
	r, err := run(t, Config{Flows: []Flow{{Name: "a", Sizes: []int{100}, Burst: 1, Count: 1}}}, f)
	require.NoError(t, err)
	assert.Equal(t, 2, r.Watchdogs)
}

func TestPacketsThatNobodyAsksForAreStalled(t *testing.T) {
	f := &fifo{}
	f.dequeue = func() (*Packet, error) { return nil, nil }
	r, err := run(t, Config{Flows: []Flow{{Name: "a", Sizes: []int{100}, Burst: 2, Count: 2}}}, f)
	require.NoError(t, err)
	assert.True(t, r.Stalled)
	assert.Equal(t, 2, r.Held)
	assert.Equal(t, FatePurged, r.Packets[0].Fate())
	assert.Empty(t, r.Leaked)
}

func TestPacketsThatResetForgetsAreLeaked(t *testing.T) {
	f := &fifo{lossy: true}
	f.dequeue = func() (*Packet, error) { return nil, nil }
	r, err := run(t, Config{Flows: []Flow{{Name: "a", Sizes: []int{100}, Burst: 2, Count: 2}}}, f)
	require.NoError(t, err)
	assert.Equal(t, []string{"a#1", "a#2"}, names(r.Leaked))
	assert.Equal(t, FateLeaked, r.Packets[0].Fate())
}

// TestADisciplineIsDeleted in the order of the release: before 7.2 the deactivated device resets it
// first.
func TestADisciplineIsDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		init int64
		want []Op
	}{
		"from 7.2 on":    {Config{}, 0, []Op{OpInit, OpReset, OpDestroy}},
		"before 7.2":     {Config{ResetTwice: true}, 0, []Op{OpInit, OpReset, OpReset, OpDestroy}},
		"after its init": {Config{}, -22, []Op{OpInit, OpDestroy}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fifo{init: c.init}
			r, err := run(t, c.cfg, f)
			require.NoError(t, err)
			assert.Equal(t, c.want, f.calls)
			assert.Equal(t, c.init, r.Init)
		})
	}
}

// TestEventsAreLimited: a discipline that sets its watchdog to the past does so without end, one
// that keeps a flow of events going reaches the limit of all events.
func TestEventsAreLimited(t *testing.T) {
	flow := []Flow{{Name: "a", Sizes: []int{100}, Burst: 1, Count: 100}}
	f := &fifo{}
	f.dequeue = func() (*Packet, error) { f.sim.Watchdog(0, 0); return nil, nil }
	_, err := run(t, Config{Flows: flow}, f)
	assert.ErrorIs(t, err, event.ErrLimit)
	_, err = run(t, Config{Flows: flow, Events: 50}, &fifo{})
	assert.ErrorIs(t, err, event.ErrLimit)
}

func TestASimulationCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fifo{alive: map[*Packet]bool{}}
	f.dequeue = func() (*Packet, error) { cancel(); return f.pop(), nil }
	s, err := New(Config{Rate: 1000, MTU: 1500, Ring: 1, Duration: time.Minute, Flows: []Flow{{Name: "a", Sizes: []int{100}, Interval: 1, Burst: 1, Count: MaxPackets}}}, f)
	require.NoError(t, err)
	f.sim = s
	r, err := s.Run(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, r.Leaked, "it was not destroyed")
}

func TestWhatCannotBeSimulated(t *testing.T) {
	good := Config{Rate: 1, MTU: 1500, Ring: 1, Duration: 1, Flows: []Flow{{Name: "a", Sizes: []int{100}, Burst: 1, Count: 1}}}
	require.NoError(t, Check(good))
	for name, change := range map[string]func(*Config){
		"rate":      func(c *Config) { c.Rate = 0 },
		"fast":      func(c *Config) { c.Rate = MaxRate + 1 },
		"mtu":       func(c *Config) { c.MTU = LeastMTU - 1 },
		"large mtu": func(c *Config) { c.MTU = MostMTU + 1 },
		"ring":      func(c *Config) { c.Ring = 0 },
		"bulk":      func(c *Config) { c.Bulk = -1 },
		"duration":  func(c *Config) { c.Duration = MaxDuration + 1 },
		"flows":     func(c *Config) { c.Flows = make([]Flow, MaxFlows+1) },
		"same name": func(c *Config) { c.Flows = append(c.Flows, c.Flows[0]) },
		"count":     func(c *Config) { c.Flows[0].Count = MaxPackets + 1 },
		"all packets": func(c *Config) {
			c.Flows = []Flow{c.Flows[0], c.Flows[0]}
			c.Flows[0].Count = MaxPackets
			c.Flows[1].Name = "b"
		},
		"burst":          func(c *Config) { c.Flows[0].Burst = 0 },
		"negative time":  func(c *Config) { c.Flows[0].Interval = -1 },
		"long time":      func(c *Config) { c.Flows[0].Depart = MaxDuration + 1 },
		"no size":        func(c *Config) { c.Flows[0].Sizes = nil },
		"small packet":   func(c *Config) { c.Flows[0].Sizes = []int{LeastSize - 1} },
		"beyond the MTU": func(c *Config) { c.Flows[0].Sizes = []int{1500 + LinkHeader + 1} },
	} {
		c := good
		c.Flows = append([]Flow(nil), good.Flows...)
		change(&c)
		var wrong *ConfigError
		assert.ErrorAs(t, Check(c), &wrong, name)
	}
}

func TestFairness(t *testing.T) {
	flows := func(bytes ...uint64) (out []*FlowResult) {
		for _, b := range bytes {
			out = append(out, &FlowResult{SentBytes: b})
		}
		return out
	}
	assert.Equal(t, 1.0, Fairness(flows(5, 5, 5)))
	assert.InDelta(t, 0.25, Fairness(flows(0, 0, 0, 9)), 1e-9)
	assert.Equal(t, 1.0, Fairness(nil))
}
