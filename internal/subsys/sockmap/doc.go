// Package sockmap simulates how bytes move between sockets of sockmaps and sockhashes: the stream
// parser cuts what a socket receives into messages, sk_skb and sk_msg programs decide about them,
// and what they redirect reaches the queue or the sending side of another socket (net/core/skmsg.c,
// net/ipv4/tcp_bpf.c, net/strparser). It does not know programs, maps and simulated memory:
// [Programs] is the interface to them. Start from [New].
package sockmap
