package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/vm"
)

// Traffic is the simulation of a queueing discipline whose programs are the machine's, with its
// packets.
type Traffic struct {
	*qdisc.Sim
	Packets map[uint64]*qdisc.Packet // by the address of their sk_buff
}

// held returns the packet of an sk_buff that programs have, or nil.
func (q *Traffic) held(addr uint64) *qdisc.Packet {
	if p := q.Packets[addr]; p != nil && q.Held(p) {
		return p
	}
	return nil
}

// Released frees a packet whose owner is freed, such as a map element. It returns false for what is
// no packet.
func (q *Traffic) Released(addr uint64) bool {
	p := q.held(addr)
	if p != nil {
		q.Kfree(p)
	}
	return p != nil
}

// Functions of queueing disciplines (net/sched/bpf_qdisc.c). bpf_qdisc_init_prologue and
// bpf_qdisc_reset_destroy_epilogue are not here: the kernel calls them, and no program may.
var qdiscKfuncs = []kfuncRow{
	{Name: "bpf_kfree_skb", Args: []proto.Arg{argObject}, Note: "with traffic", Do: onHeldPacket("bpf_kfree_skb", kfreeSkb)},
	{Name: "bpf_qdisc_skb_drop", Args: []proto.Arg{argObject, argObject}, Note: "with traffic", Do: onHeldPacket("bpf_qdisc_skb_drop", qdiscDrop)},
	{Name: "bpf_qdisc_watchdog_schedule", Args: []proto.Arg{argObject, argAny, argAny}, Note: "with traffic", Do: onTraffic("bpf_qdisc_watchdog_schedule", qdiscWatchdog)},
	{Name: "bpf_qdisc_bstats_update", Args: []proto.Arg{argObject, argObject}, Note: "with traffic", Do: onTraffic("bpf_qdisc_bstats_update", qdiscBstats)},
}

func onTraffic(name string, do func(*Call, *Traffic) (uint64, *vm.Action)) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		q, ok := c.Simulation.(*Traffic)
		if !ok {
			return 0, notSimulated(name + " without traffic (a scenario with qdisc: has some)")
		}
		return do(c, q)
	}
}

// onHeldPacket turns functions that release the packet in their first argument into
// implementations.
func onHeldPacket(name string, do func(*Call, *Traffic, *qdisc.Packet) *vm.Action) Impl {
	return onTraffic(name, func(c *Call, q *Traffic) (uint64, *vm.Action) {
		p := q.held(c.Args[0])
		if p == nil {
			return 0, badArg("%s of %#x, which is no packet that the discipline has", name, c.Args[0])
		}
		if f := c.give(name, held.Reference, c.Args[0]); f != nil {
			return 0, f
		}
		return 0, do(c, q, p)
	})
}

func kfreeSkb(_ *Call, q *Traffic, p *qdisc.Packet) *vm.Action {
	q.Kfree(p)
	return nil
}

// qdiscDrop puts the packet at the start of the list to free (__qdisc_drop).
func qdiscDrop(c *Call, q *Traffic, p *qdisc.Packet) *vm.Action {
	skb, list := c.Kernel.ObjectAt(c.Args[0]), c.Kernel.ObjectAt(c.Args[1])
	if skb == nil || list == nil || list.TypeName() != "bpf_sk_buff_ptr" {
		return badArg("bpf_qdisc_skb_drop with %#x, which is no list of packets to free", c.Args[1])
	}
	if err := skb.SetUint("next", list.Num("skb")); err != nil {
		return notSimulated("bpf_qdisc_skb_drop: " + err.Error())
	}
	if err := list.SetUint("skb", skb.Addr()); err != nil {
		return notSimulated("bpf_qdisc_skb_drop: " + err.Error())
	}
	q.List(p)
	return nil
}

func qdiscWatchdog(c *Call, q *Traffic) (uint64, *vm.Action) {
	q.Watchdog(c.Args[1], c.Args[2])
	return 0, nil
}

// qdiscBstats counts a packet: the length that the kernel noted in its control block, which
// programs cannot change, and its segments.
func qdiscBstats(c *Call, q *Traffic) (uint64, *vm.Action) {
	p := q.Packets[c.Args[1]]
	if p == nil {
		return 0, badArg("bpf_qdisc_bstats_update with %#x, which is no packet of the discipline", c.Args[1])
	}
	q.Bstats(uint64(p.Size), 1)
	return 0, nil
}

// foreignHash computes the hash of the flow of an sk_buff that is not the program's own packet
// (skb_get_hash).
func (c *Call) foreignHash(skb *object.Object) (uint64, *vm.Action) {
	at := skb.Num("head") + skb.Num("network_header")
	end := skb.Num("data") + skb.Num("len") - skb.Num("data_len")
	if end < at {
		return 0, notSimulated("the flow of a struct sk_buff without a network header")
	}
	const most = 60 + 8 // the longest IPv4 header with ports
	b, f := c.guest.Read(at, min(end-at, most))
	if f != nil {
		return 0, f
	}
	hash := c.Kernel.FlowHash(b)
	if skb.Has("hash") {
		_ = skb.SetUint("hash", uint64(hash)) // the kernel's cache of it
	}
	return uint64(hash), nil
}
