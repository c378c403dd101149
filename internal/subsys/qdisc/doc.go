// Package qdisc simulates how a kernel queues packets with a queueing discipline at the root of a
// device: flows of packets that arrive, a device with a ring of descriptors and a link of some
// rate, the kernel's requeueing, the watchdog, and the calls of the discipline's operations in the
// kernel's order (net/core/dev.c __dev_xmit_skb, net/sched/sch_generic.c, sch_api.c and
// bpf_qdisc.c, as of Linux 7.2). Start from [New] and [Sim.Run]. It knows numbers and names only:
// what a program is, how one is called, and where a packet's bytes are is behind [Ops].
//
// A simulation is a sequence of events at points of simulated time; operations take none of it. It
// is deterministic.
package qdisc
