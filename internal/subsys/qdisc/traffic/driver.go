package traffic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/loader"
)

// driver is the discipline as the simulation sees it: programs on a machine.
type driver struct {
	ctx   context.Context
	m     *machine.Machine
	res   *Result
	progs map[qdisc.Op]string
	cfg   qdisc.Config
	sim   *qdisc.Sim
	state *helpers.Traffic

	sch, free, extack, dev *kernel.Object
	skbs                   map[*qdisc.Packet]*skb
}

// skb is the kernel's memory of a packet.
type skb struct {
	o    *kernel.Object
	data *mem.Region
}

// programError means that a program of the discipline cannot run.
type programError struct {
	op, prog string
	status   machine.Status
	err      error
}

// Error names the operation, the program and the reason.
func (e *programError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("program %s (ops.%s) cannot run: it is %s", e.prog, e.op, e.status)
	}
	return fmt.Sprintf("program %s (ops.%s) cannot run: %v", e.prog, e.op, e.err)
}

// Unwrap returns the reason.
func (e *programError) Unwrap() error { return e.err }

// AbsentError means that the kernel has no queueing disciplines in BPF.
type AbsentError struct{ Ops string }

// Error names the type that is missing.
func (e *AbsentError) Error() string {
	return "queueing discipline " + e.Ops + ": the kernel has no struct bpf_struct_ops_Qdisc_ops (Linux 6.16 and later have it with CONFIG_NET_SCH_BPF)"
}

// stoppedError means that a program was stopped.
type stoppedError struct {
	op  qdisc.Op
	res *machine.Result
}

// Error names the operation and the fault.
func (e *stoppedError) Error() string {
	where := "a timer's callback"
	if e.op != "" {
		where = "ops." + string(e.op) + "()"
	}
	return fmt.Sprintf("%s was stopped: %v", where, e.res.Fault)
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

// errReturned means that dequeue returned something else than a packet, or enqueue left a broken
// list.
var errReturned = errors.New("the discipline does not own this packet")

// newDriver checks that the discipline can be registered (bpf_qdisc_init_member,
// bpf_qdisc_validate, register_qdisc) and its programs run.
func newDriver(ctx context.Context, m *machine.Machine, name string, res *Result) (*driver, error) {
	var ops *loader.LinkedStructOps
	for _, s := range m.Linked().StructOps {
		if s.Map.Name == name {
			ops = s
		}
	}
	switch {
	case ops == nil || ops.Absent:
		return nil, &AbsentError{name}
	case ops.Err != nil:
		return nil, ops.Err
	}
	d := &driver{ctx: ctx, m: m, res: res, progs: map[qdisc.Op]string{}, skbs: map[*qdisc.Packet]*skb{}}
	res.Progs = ops.Progs
	for _, op := range slices.Sorted(maps.Keys(ops.Progs)) {
		prog := ops.Progs[op]
		if status, err := m.ProgramStatus(prog); status != machine.StatusOK {
			return nil, &programError{op, prog, status, err}
		}
		d.progs[qdisc.Op(op)] = prog
	}
	id, err := register(m.Linked().Target.BTF, ops, m.Memory().ByteOrder())
	if res.Name = id; err != nil {
		return nil, err
	}
	return d, nil
}

// call runs an operation's program.
func (d *driver) call(op qdisc.Op, in machine.Input) (uint64, error) {
	d.reach(d.sim.Now())
	in.IgnoreUnset = true
	res, err := d.m.Run(d.ctx, d.progs[op], in)
	if err != nil {
		return 0, err
	}
	d.collect(res)
	if !res.Ran || res.Fault != nil {
		return 0, &stoppedError{op, res}
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

// maxTrace limits the lines that are kept.
const maxTrace = 10_000

func (d *driver) collect(res *machine.Result) {
	d.res.Insns += res.Insns
	room := min(maxTrace-len(d.res.Trace), len(res.Trace))
	d.res.Trace = append(d.res.Trace, res.Trace[:room]...)
	d.res.DroppedTrace += len(res.Trace) - room
}

// reach sets the machine's clocks to a point of simulated time.
func (d *driver) reach(now uint64) {
	clock := d.m.Kernel().Clock()
	if at := d.cfg.Base + now; at > clock.Mono() {
		clock.Advance(at - clock.Mono())
	}
}

// Pass lets timers and work items fire that are due before the next event.
func (d *driver) Pass(ctx context.Context, now, until uint64) (uint64, error) {
	at, ok := d.m.NextDue()
	if !ok || at > d.cfg.Base+until {
		return until, nil
	}
	at = max(at, d.cfg.Base+now)
	d.reach(at - d.cfg.Base)
	res, err := d.m.Settle(ctx, 0)
	if err != nil {
		return now, err
	}
	d.collect(res)
	if res.Fault != nil {
		return now, &stoppedError{"", res}
	}
	return at - d.cfg.Base, nil
}
