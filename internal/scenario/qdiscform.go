package scenario

// qdiscForm describes traffic, qdiscFlowForm its flows, and the others what is expected of a
// queueing discipline.
var qdiscForm = &form{"qdisc", "Traffic: flows of packets that a queueing discipline of the object (struct Qdisc_ops) queues for a device with a link. See qdisc.md.", []member{
	{name: "ops", doc: "The discipline: the name of the struct Qdisc_ops. The default is the only one.", shape: text},
	{name: "rate", doc: "The link's rate in bits per second: a number, or one with kbit, mbit or gbit (default: 1gbit).", shape: text},
	{name: "mtu", doc: "The device's MTU in bytes (default: 1500). Packets have up to 14 bytes more, an Ethernet header.", shape: integer},
	{name: "ring", doc: "Packets that the device takes before it stops the queue (default: 1).", shape: integer},
	{name: "bulk", doc: "Bytes that the device queues (BQL). Up to that, the kernel dequeues several packets at once, and requeues what the ring has no room for. The default is a device without that limit: one packet at a time.", shape: integer},
	{name: "duration", doc: "Simulated time after which the discipline is deleted, at the latest (default: 1m).", shape: duration},
	{name: "flows", doc: "The flows by name.", shape: mapOf(formOf(qdiscFlowForm)), required: true},
}}

var qdiscFlowForm = &form{"qdisc flow", "A flow: packets of one connection.", []member{
	{name: "size", doc: "Bytes of a packet with the Ethernet header, or a list that the packets go through (default: 1514, or the length of packet).", shape: oneOf(integer, listOf(integer))},
	{name: "count", doc: "Number of packets (default: 1).", shape: integer},
	{name: "start", doc: "When the first arrives (default: 0s).", shape: duration},
	{name: "interval", doc: "Time between bursts.", shape: duration},
	{name: "rate", doc: "Instead of interval: bits per second that arrive.", shape: text},
	{name: "burst", doc: "Packets that arrive at once (default: 1).", shape: integer},
	{name: "priority", doc: "skb->priority.", shape: integer},
	{name: "mark", doc: "skb->mark.", shape: integer},
	{name: "depart", doc: "How long after its arrival a packet may leave at the earliest: skb->tstamp (default: it is 0).", shape: duration},
	{name: "packet", doc: "The packet: an expression such as eth/ip/udp, hex digits or @FILE. The default is UDP over IPv4 with addresses of the flow's own.", shape: text},
}}

var expectQdiscForm = &form{"expect qdisc", "What is expected of a queueing discipline. A discipline that leaks packets, never sends some, or counts its queue wrongly fails the run, unless leaked, stalled or qlen expects that. Values are compared as elsewhere: !le 5.", []member{
	{name: "sent", doc: "Packets that were sent.", shape: integer},
	{name: "dropped", doc: "Packets that the discipline dropped.", shape: integer},
	{name: "purged", doc: "Packets that were in the queue when the discipline was deleted.", shape: integer},
	{name: "leaked", doc: "Packets that existed after that.", shape: integer},
	{name: "stalled", doc: "Whether packets were in the queue, the link idle, and the watchdog not set.", shape: shapeOf(shapeBool)},
	{name: "held", doc: "Packets in the queue when traffic ended.", shape: integer},
	{name: "qlen", doc: "What q.qlen was then.", shape: integer},
	{name: "backlog", doc: "What qstats.backlog was then.", shape: integer},
	{name: "drops", doc: "What qstats.drops was then.", shape: integer},
	{name: "requeues", doc: "What qstats.requeues was then.", shape: integer},
	{name: "bytes", doc: "What bstats.bytes was then.", shape: integer},
	{name: "packets", doc: "What bstats.packets was then.", shape: integer},
	{name: "most_held", doc: "The longest queue, in packets.", shape: integer},
	{name: "most_bytes", doc: "The longest queue, in bytes.", shape: integer},
	{name: "watchdogs", doc: "How often the watchdog fired.", shape: integer},
	{name: "order", doc: "The first packets that are sent, in order: a#1 is the first of flow a.", shape: listOf(text)},
	{name: "lost", doc: "The packets that the discipline dropped, all of them, in the order of their arrival.", shape: listOf(text)},
	{name: "flows", doc: "Flows by name.", shape: mapOf(formOf(expectFlowForm))},
	{name: "fair", doc: "Flows that send as many bytes: {flows: [a, b], within: 5} percent.", shape: formOf(expectFairFlowsForm)},
	{name: "calls", doc: "How often operations are called, by name.", shape: mapOf(integer)},
}}

var expectFlowForm = &form{"expect qdisc flow", "What is expected of a flow. Waiting is the time from a packet's arrival until the discipline gives it to the kernel.", []member{
	{name: "sent", doc: "Packets that were sent.", shape: integer},
	{name: "dropped", doc: "Packets that the discipline dropped.", shape: integer},
	{name: "bytes", doc: "Bytes that were sent.", shape: integer},
	{name: "rate", doc: "Bits per second that were sent, until the last packet of all flows.", shape: text},
	{name: "max_wait", doc: "The longest wait.", shape: duration},
	{name: "mean_wait", doc: "The mean wait.", shape: duration},
	{name: "p50_wait", doc: "The wait of half of the packets, at most.", shape: duration},
	{name: "p99_wait", doc: "The wait of 99 % of the packets, at most.", shape: duration},
}}

var expectFairFlowsForm = &form{"expect qdisc fair", "Flows that get the same.", []member{
	{name: "flows", doc: "The flows.", shape: listOf(text), required: true},
	{name: "within", doc: "How far one may be from the mean, in percent of it.", shape: integer, required: true},
}}

// qdiscMembers are the members that a run with traffic may have.
var qdiscMembers = []string{"name", "each", "since", "arch", "qdisc", "after", "expect"}
