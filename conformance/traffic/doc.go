// Package traffic makes mixed traffic and says what XDP and packet programs of real tools did with it on a kernel.
//
// [Packets] makes frames of every kind such programs parse: IPv4 and IPv6, TCP, UDP, ICMP, ARP, tags, tunnels, fragments, options,
// extension headers, and all of these cut short. It knows no program and reads no capture: the same seed gives the same frames.
// What a kernel did with them is recorded by the package's tests, which also compare (testdata/verdicts.json).
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package traffic
