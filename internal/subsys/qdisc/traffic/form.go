package traffic

import (
	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/bpfrun/bpfrun/internal/subsys/scene"
)

// Scene is how scenario files write traffic.
func Scene() *scene.Form { return &form }

var form = scene.Form{
	Member: grammar.Member{Name: "qdisc", Doc: "The traffic for a queueing discipline, instead of one program.", Shape: grammar.FormOf(runForm)},
	Expect: []grammar.Member{{Name: "qdisc", Doc: "What a queueing discipline did.", Shape: grammar.FormOf(expectForm)}},
	Parts:  []*grammar.Form{runForm, flowForm}, Judged: []*grammar.Form{expectForm, expectFlowForm, expectFairForm},
	Calls: true,
	Only:  []string{"name", "each", "since", "arch", "qdisc", "after", "expect"}, Callers: "the traffic",
	Missing: "the run has no traffic",
	Decode:  decode,
}

// runForm describes traffic, flowForm its flows, and the others what is expected of a
// queueing discipline.
var runForm = &grammar.Form{Name: "qdisc", Doc: "Traffic: flows of packets that a queueing discipline of the object (struct Qdisc_ops) queues for a device with a link. See qdisc.md.", Members: []grammar.Member{
	{Name: "ops", Doc: "The discipline: the name of the struct Qdisc_ops. The default is the only one.", Shape: grammar.Text},
	{Name: "rate", Doc: "The link's rate in bits per second: a number, or one with kbit, mbit or gbit (default: 1gbit).", Shape: grammar.Text},
	{Name: "mtu", Doc: "The device's MTU in bytes (default: 1500). Packets have up to 14 bytes more, an Ethernet header.", Shape: grammar.Integer},
	{Name: "ring", Doc: "Packets that the device takes before it stops the queue (default: 1).", Shape: grammar.Integer},
	{Name: "bulk", Doc: "Bytes that the device queues (BQL). Up to that, the kernel dequeues several packets at once, and requeues what the ring has no room for. The default is a device without that limit: one packet at a time.", Shape: grammar.Integer},
	{Name: "duration", Doc: "Simulated time after which the discipline is deleted, at the latest (default: 1m).", Shape: grammar.Duration},
	{Name: "flows", Doc: "The flows by name.", Shape: grammar.MapOf(grammar.FormOf(flowForm)), Required: true},
}}

var flowForm = &grammar.Form{Name: "qdisc flow", Doc: "A flow: packets of one connection.", Members: []grammar.Member{
	{Name: "size", Doc: "Bytes of a packet with the Ethernet header, or a list that the packets go through (default: 1514, or the length of packet).", Shape: grammar.OneOf(grammar.Integer, grammar.ListOf(grammar.Integer))},
	{Name: "count", Doc: "Number of packets (default: 1).", Shape: grammar.Integer},
	{Name: "start", Doc: "When the first arrives (default: 0s).", Shape: grammar.Duration},
	{Name: "interval", Doc: "Time between bursts.", Shape: grammar.Duration},
	{Name: "rate", Doc: "Instead of interval: bits per second that arrive.", Shape: grammar.Text},
	{Name: "burst", Doc: "Packets that arrive at once (default: 1).", Shape: grammar.Integer},
	{Name: "priority", Doc: "skb->priority.", Shape: grammar.Integer},
	{Name: "mark", Doc: "skb->mark.", Shape: grammar.Integer},
	{Name: "depart", Doc: "How long after its arrival a packet may leave at the earliest: skb->tstamp (default: it is 0).", Shape: grammar.Duration},
	{Name: "packet", Doc: "The packet: an expression such as eth/ip/udp, hex digits or @FILE. The default is UDP over IPv4 with addresses of the flow's own.", Shape: grammar.Text},
}}

var expectForm = &grammar.Form{Name: "expect qdisc", Doc: "What is expected of a queueing discipline. A discipline that leaks packets, never sends some, or counts its queue wrongly fails the run, unless leaked, stalled or qlen expects that. Values are compared as elsewhere: !le 5.", Members: []grammar.Member{
	{Name: "sent", Doc: "Packets that were sent.", Shape: grammar.Integer},
	{Name: "dropped", Doc: "Packets that the discipline dropped.", Shape: grammar.Integer},
	{Name: "purged", Doc: "Packets that were in the queue when the discipline was deleted.", Shape: grammar.Integer},
	{Name: "leaked", Doc: "Packets that existed after that.", Shape: grammar.Integer},
	{Name: "stalled", Doc: "Whether packets were in the queue, the link idle, and the watchdog not set.", Shape: grammar.ShapeOf(grammar.ShapeBool)},
	{Name: "held", Doc: "Packets in the queue when traffic ended.", Shape: grammar.Integer},
	{Name: "qlen", Doc: "What q.qlen was then.", Shape: grammar.Integer},
	{Name: "backlog", Doc: "What qstats.backlog was then.", Shape: grammar.Integer},
	{Name: "drops", Doc: "What qstats.drops was then.", Shape: grammar.Integer},
	{Name: "requeues", Doc: "What qstats.requeues was then.", Shape: grammar.Integer},
	{Name: "bytes", Doc: "What bstats.bytes was then.", Shape: grammar.Integer},
	{Name: "packets", Doc: "What bstats.packets was then.", Shape: grammar.Integer},
	{Name: "most_held", Doc: "The longest queue, in packets.", Shape: grammar.Integer},
	{Name: "most_bytes", Doc: "The longest queue, in bytes.", Shape: grammar.Integer},
	{Name: "watchdogs", Doc: "How often the watchdog fired.", Shape: grammar.Integer},
	{Name: "order", Doc: "The first packets that are sent, in order: a#1 is the first of flow a.", Shape: grammar.ListOf(grammar.Text)},
	{Name: "lost", Doc: "The packets that the discipline dropped, all of them, in the order of their arrival.", Shape: grammar.ListOf(grammar.Text)},
	{Name: "flows", Doc: "Flows by name.", Shape: grammar.MapOf(grammar.FormOf(expectFlowForm))},
	{Name: "fair", Doc: "Flows that send as many bytes: {flows: [a, b], within: 5} percent.", Shape: grammar.FormOf(expectFairForm)},
	{Name: "calls", Doc: "How often operations are called, by name.", Shape: grammar.MapOf(grammar.Integer)},
}}

var expectFlowForm = &grammar.Form{Name: "expect qdisc flow", Doc: "What is expected of a flow. Waiting is the time from a packet's arrival until the discipline gives it to the kernel.", Members: []grammar.Member{
	{Name: "sent", Doc: "Packets that were sent.", Shape: grammar.Integer},
	{Name: "dropped", Doc: "Packets that the discipline dropped.", Shape: grammar.Integer},
	{Name: "bytes", Doc: "Bytes that were sent.", Shape: grammar.Integer},
	{Name: "rate", Doc: "Bits per second that were sent, until the last packet of all flows.", Shape: grammar.Text},
	{Name: "max_wait", Doc: "The longest wait.", Shape: grammar.Duration},
	{Name: "mean_wait", Doc: "The mean wait.", Shape: grammar.Duration},
	{Name: "p50_wait", Doc: "The wait of half of the packets, at most.", Shape: grammar.Duration},
	{Name: "p99_wait", Doc: "The wait of 99 % of the packets, at most.", Shape: grammar.Duration},
}}

var expectFairForm = &grammar.Form{Name: "expect qdisc fair", Doc: "Flows that get the same.", Members: []grammar.Member{
	{Name: "flows", Doc: "The flows.", Shape: grammar.ListOf(grammar.Text), Required: true},
	{Name: "within", Doc: "How far one may be from the mean, in percent of it.", Shape: grammar.Integer, Required: true},
}}
