package traffic

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
)

// driver is the discipline as the simulation sees it: programs on a machine.
type driver struct {
	*drive.Driver
	res   *Result
	cfg   qdisc.Config
	sim   *qdisc.Sim
	state *helpers.Traffic

	sch, free, extack, dev *object.Object
	skbs                   map[*qdisc.Packet]*skb

	calls drive.Calls // of Spec
	other *other      // made for it
}

// skb is the kernel's memory of a packet.
type skb struct {
	o    *object.Object
	data *mem.Region
}

// AbsentError means that the kernel has no queueing disciplines in BPF.
type AbsentError struct{ Ops string }

// Error names the type that is missing.
func (e *AbsentError) Error() string {
	return "queueing discipline " + e.Ops + ": the kernel has no struct bpf_struct_ops_Qdisc_ops (Linux 6.16 and later have it with CONFIG_NET_SCH_BPF)"
}

// noMemoryError means that there is no room for another packet in simulated memory.
type noMemoryError struct {
	packet string
	err    error
}

// Error names the packet.
func (e *noMemoryError) Error() string {
	return fmt.Sprintf("packet %s has no room in simulated memory, with all those that the discipline has: give it a limit, or less traffic: %v", e.packet, e.err)
}

// Unwrap returns the reason.
func (e *noMemoryError) Unwrap() error { return e.err }

func noMemory(p *qdisc.Packet, err error) error {
	return drive.Is(machine.StatusNotSimulated, &noMemoryError{p.Name(), err})
}

// errReturned means that dequeue returned something else than a packet, or enqueue left a broken
// list.
var errReturned = drive.Is(machine.StatusFault, errors.New("the discipline does not own this packet"))

// newDriver checks that the discipline can be registered (bpf_qdisc_init_member,
// bpf_qdisc_validate, register_qdisc) and its programs run.
func newDriver(ctx context.Context, m *machine.Machine, res *Result) (*driver, error) {
	base, err := drive.New(ctx, m, kind(), &res.Outcome, &AbsentError{res.Ops})
	d := &driver{Driver: base, res: res, skbs: map[*qdisc.Packet]*skb{}}
	if err == nil {
		res.Name, err = register(m.Linked().Target.BTF, d.Ops, m.Memory().ByteOrder())
	}
	return d, err
}

// call runs an operation's program.
func (d *driver) call(op qdisc.Op, in machine.Input) (uint64, error) {
	now := d.sim.Now()
	d.Reach(now)
	if err := d.before(op, in); err != nil {
		return 0, err
	}
	res, err := d.Run(string(op), now, in)
	if err != nil {
		return 0, err
	}
	return res.Ret, nil
}

// Enqueue calls the operation, and reads the list of packets to free that it leaves.
func (d *driver) Enqueue(p *qdisc.Packet) (int64, []*qdisc.Packet, error) {
	if err := d.free.SetUint("skb", 0); err != nil {
		return 0, nil, err
	}
	o := d.skbs[p].o
	ret, err := d.call(qdisc.OpEnqueue, machine.Input{Values: []any{o, d.sch, d.free}, Holds: []uint64{o.Addr()}})
	if err != nil {
		return 0, nil, err
	}
	var list []*qdisc.Packet
	for at := d.free.Num("skb"); at != 0; {
		q := d.state.Packets[at]
		if q == nil || slices.Contains(list, q) {
			return 0, nil, fmt.Errorf("ops.enqueue(): the list to free has %#x: %w", at, errReturned)
		}
		list = append(list, q)
		at = d.skbs[q].o.Num("next")
	}
	return int64(int32(uint32(ret))), list, nil
}

// Dequeue calls the operation.
func (d *driver) Dequeue() (*qdisc.Packet, error) {
	ret, err := d.call(qdisc.OpDequeue, machine.Input{Values: []any{d.sch}, Gives: true})
	if err != nil || ret == 0 {
		return nil, err
	}
	p := d.state.Packets[ret]
	if p == nil || !d.sim.Held(p) {
		return nil, fmt.Errorf("ops.dequeue() returned %#x: %w", ret, errReturned)
	}
	return p, nil
}

// Init calls the operation without options of tc.
func (d *driver) Init() (int64, error) {
	ret, err := d.call(qdisc.OpInit, machine.Input{Values: []any{d.sch, nil, d.extack}})
	return int64(int32(uint32(ret))), err
}

// Reset calls the operation.
func (d *driver) Reset() error { return d.plain(qdisc.OpReset) }

// Destroy calls the operation.
func (d *driver) Destroy() error { return d.plain(qdisc.OpDestroy) }

func (d *driver) plain(op qdisc.Op) error {
	_, err := d.call(op, machine.Input{Values: []any{d.sch}})
	return err
}
