package traffic

import (
	"github.com/bpfrun/bpfrun/helpers"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
)

// World is the state of traffic.
type World struct{ *helpers.Traffic }

// Touches reports whether a kernel function accesses what disciplines of several queues share, and
// whether it changes that: each has packets, counters and a watchdog of its own.
func (w *World) Touches(string) (shared, writes bool) { return false, false }

// other are the kernel objects of another queue.
type other struct{ sch, free *object.Object }

// before tells [Spec.Calls] of an operation on packets.
func (d *driver) before(op qdisc.Op, in machine.Input) error {
	if d.calls == nil || op != qdisc.OpEnqueue && op != qdisc.OpDequeue {
		return nil
	}
	k := d.M.Kernel()
	if d.other == nil {
		sch, err := k.Twin(d.sch)
		if err != nil {
			return err
		}
		free, err := k.Twin(d.free)
		if err != nil {
			return err
		}
		d.other = &other{sch, free}
	}
	in.IgnoreUnset = true
	c := &drive.Call{Name: string(op), Program: d.Progs()[string(op)], Input: in, World: &World{d.state}}
	c.Elsewhere = append(c.Elsewhere, d.elsewhere(qdisc.OpDequeue, machine.Input{Values: []any{d.other.sch}, Gives: true}))
	if op != qdisc.OpEnqueue {
		return d.calls(c)
	}
	was := d.M.Snapshot()
	o := in.Values[0].(*object.Object)
	twin, err := k.Twin(o)
	if err != nil {
		return nil //nolint:nilerr // no memory for another packet: dequeue alone
	}
	d.state.Packets[twin.Addr()] = d.sim.Twin(d.state.Packets[o.Addr()])
	c.Elsewhere = append(c.Elsewhere, d.elsewhere(op, machine.Input{Values: []any{twin, d.other.sch, d.other.free}, Holds: []uint64{twin.Addr()}}))
	err = d.calls(c)
	delete(d.state.Packets, twin.Addr())
	d.M.Restore(was)
	return err
}

// elsewhere is an operation of another queue's discipline, on the second CPU: on a struct Qdisc and
// with a packet of its own.
func (d *driver) elsewhere(op qdisc.Op, in machine.Input) drive.Call {
	in.CPU, in.IgnoreUnset = min(1, d.M.Kernel().CPUs()-1), true
	return drive.Call{Name: string(op) + " of another queue", Program: d.Progs()[string(op)], Input: in, World: &World{d.state}}
}
