// Package traffic runs the programs of a queueing discipline (struct Qdisc_ops) as a kernel would:
// it is the discipline that package internal/subsys/qdisc calls, on a machine whose sk_buffs are
// the packets of the simulation. Start from [Run]. It knows which programs implement which
// operation, and where the fields of a Qdisc and an sk_buff are; it does not know when packets are
// queued and sent, nor what is expected of them.
package traffic
