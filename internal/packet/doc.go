// Package packet works with network packets as bytes: their headers and fields, a small language to
// write them, the differences between two of them, and capture files. It does not know programs,
// simulated memory or the kernel.
//
// Start from [Decode], which finds the headers of a packet, and [Headers.Field], which finds a
// field and its position by a path such as "ip.ttl", so that it can be read and changed. [Parse]
// builds a packet from an expression such as
// "eth/ip(src=10.0.0.1,ttl=63)/tcp(dport=80,flags=S)/'GET /'". [Diff] describes what a program did
// to a packet. [Open] and [Create] read and write pcap and pcapng files.
package packet
