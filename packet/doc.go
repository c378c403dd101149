// Package packet knows network packets as bytes: their headers and fields, a small language to write them, what changed
// between two of them, and the files they are kept in. It knows nothing of programs, simulated memory or the kernel.
//
// Start from [Decode], which finds the headers of a packet, and [Headers.Field], which finds a field by a path such as
// "ip.ttl", with its place, so that it can be read and changed. [Parse] makes a packet from an expression such as
// "eth/ip(src=10.0.0.1,ttl=63)/tcp(dport=80,flags=S)/'GET /'". [Diff] says what a program did to a packet. [Open] and
// [Create] read and write pcap and pcapng files.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package packet
