// Package traffic generates mixed traffic to compare the behaviour of real tools' XDP and packet
// programs here and on a kernel.
//
// [Packets] generates frames of every kind that such programs parse: IPv4 and IPv6, TCP, UDP, ICMP,
// ARP, tags, tunnels, fragments, options, extension headers, and truncated versions of all. It
// knows no programs and reads no captures; the same seed yields the same frames. The package's
// tests record and compare the results of a kernel (testdata/verdicts.json).
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package traffic
