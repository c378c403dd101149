package helpers

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// qdiscRig is a rig whose kfuncs are called by the operations of a discipline in Go.
type qdiscRig struct {
	*rig
	sim                  *qdisc.Sim
	sch                  *object.Object
	skbs                 map[*qdisc.Packet]*object.Object
	fields               [qdisc.Fields]uint64
	onEnqueue, onDequeue func(*qdisc.Packet) // of the packet that was enqueued last
	last                 *qdisc.Packet
	freed                []string
}

func (p *qdiscRig) Load(f qdisc.Field) uint64     { return p.fields[f] }
func (p *qdiscRig) Store(f qdisc.Field, v uint64) { p.fields[f] = v }
func (p *qdiscRig) Make(q *qdisc.Packet) error {
	o, err := p.kernel.NewObjectNamed(q.Name(), "sk_buff")
	p.skbs[q], p.env.Simulation.(*Traffic).Packets[o.Addr()] = o, q
	return err
}
func (p *qdiscRig) Free(q *qdisc.Packet) { p.freed = append(p.freed, q.Name()) }
func (p *qdiscRig) Enqueue(q *qdisc.Packet) (int64, []*qdisc.Packet, error) {
	p.last = q
	p.env.Run.Held.Take(held.Reference, p.skbs[q].Addr(), "argument")
	p.onEnqueue(q)
	return 0, nil, nil
}
func (p *qdiscRig) Dequeue() (*qdisc.Packet, error) {
	if p.onDequeue != nil {
		p.onDequeue(p.last)
	}
	return nil, nil
}
func (p *qdiscRig) Init() (int64, error) { return 0, nil }
func (p *qdiscRig) Reset() error         { return nil }
func (p *qdiscRig) Destroy() error       { return nil }
func (p *qdiscRig) Pass(_ context.Context, _, until uint64) (uint64, error) {
	return until, nil
}

// traffic lets so many packets arrive.
func (p *qdiscRig) traffic(n int) *qdisc.Result {
	p.t.Helper()
	sim, err := qdisc.New(qdisc.Config{
		Rate: 1e6, MTU: 1500, Ring: 1, Duration: time.Second,
		Flows: []qdisc.Flow{{Name: "a", Sizes: []int{100}, Burst: n, Count: n}},
	}, p)
	require.NoError(p.t, err)
	p.sim, p.env.Simulation = sim, &Traffic{Sim: sim, Packets: map[uint64]*qdisc.Packet{}}
	res, err := sim.Run(p.t.Context())
	require.NoError(p.t, err)
	return res
}

func newQdiscRig(t *testing.T) *qdiscRig {
	p := &qdiscRig{rig: newRig(t, newest), skbs: map[*qdisc.Packet]*object.Object{}}
	p.context(uapi.ProgTypeSchedCls, hook.ContextSpec{})
	var err error
	p.sch, err = p.kernel.NewObjectNamed("sch", "Qdisc")
	require.NoError(t, err)
	return p
}

func TestQdiscFunctions(t *testing.T) {
	p := newQdiscRig(t)
	p.onEnqueue = func(q *qdisc.Packet) {
		skb := p.skbs[q].Addr()
		p.kok("bpf_qdisc_bstats_update", p.sch.Addr(), skb)
		p.kok("bpf_kfree_skb", skb)
		assert.Len(t, p.freed, q.Number, "at once")
		_, f := p.kfunc("bpf_kfree_skb", skb)
		require.NotNil(t, f, "twice")
	}
	p.onDequeue = func(*qdisc.Packet) {
		if p.sim.Now() == 0 {
			p.kok("bpf_qdisc_watchdog_schedule", p.sch.Addr(), 5000, 0)
		}
	}
	res := p.traffic(2)
	assert.Equal(t, []string{"a#1", "a#2"}, p.freed)
	assert.Equal(t, 1, res.Watchdogs)
	assert.EqualValues(t, 200, p.fields[qdisc.FieldBytes])
	assert.EqualValues(t, 2, p.fields[qdisc.FieldPackets])
	assert.Equal(t, qdisc.FateDropped, res.Packets[1].Fate())
}

// TestQdiscFunctionsRefuse what is no packet that the discipline has, and calls without traffic.
func TestQdiscFunctionsRefuse(t *testing.T) {
	p := newQdiscRig(t)
	calls := map[string][]uint64{
		"bpf_kfree_skb": {p.sch.Addr()}, "bpf_qdisc_skb_drop": {0x1234, p.sch.Addr()}, "bpf_qdisc_bstats_update": {p.sch.Addr(), 0x1234},
	}
	for name, args := range calls {
		_, f := p.kfunc(name, args...)
		require.NotNil(t, f, name)
		assert.Equal(t, vm.NotSimulated, f.Kind, name)
	}
	p.onEnqueue = func(q *qdisc.Packet) {
		for name, args := range calls {
			_, f := p.kfunc(name, args...)
			require.NotNil(t, f, name)
			assert.Equal(t, vm.BadArgument, f.Kind, name)
		}
		_, f := p.kfunc("bpf_qdisc_skb_drop", p.skbs[q].Addr(), p.sch.Addr())
		require.NotNil(t, f, "not a list")
	}
	p.traffic(1)
}
