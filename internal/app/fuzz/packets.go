package fuzz

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/packet"
)

// seedExprs are packets that searches begin with: what networks carry most, and what parsers
// forget.
var seedExprs = []string{
	"eth/ip/tcp(dport=80,flags=S)", "eth/ip/udp(dport=53)/'x'*24", "eth/ip6/tcp(dport=443,flags=S)", "eth/ip6/udp(dport=53)/'x'*24", "eth/ip/icmp", "eth/ip6/icmp6", "eth/arp",
	"eth/vlan(id=5)/ip/tcp(dport=80,flags=PA)/'GET / HTTP/1.1'", "eth/qinq(id=9)/vlan(id=5)/ip6/udp(dport=53)/'x'*8", "eth/ip(mf=1)/udp(dport=53)/'x'*64", "eth/ip(frag=64)/'x'*64",
	"eth/ip6/frag/udp/'x'*64", "eth/ip/gre/ip/tcp", "eth/ip/ip/udp/'x'*8", "eth/ip/ip6/tcp", "eth/ip6/ip/tcp", "eth/ip/udp(dport=4789)/vxlan(vni=42)/eth/ip/tcp", "eth/ip/sctp",
	"eth/ip(ttl=1)/tcp(flags=A)", "eth/ip/tcp(flags=F)", "eth/ip/tcp(flags=R)", "eth/ip/udp/'x'*1200", "eth/ip6/hopopts/tcp",
}

// seedPackets are those of them that parse.
var seedPackets = sync.OnceValue(func() [][]byte {
	var out [][]byte
	for _, e := range seedExprs {
		if p, err := packet.Parse(e); err == nil {
			out = append(out, p)
		}
	}
	return out
})

// mutatePacket returns a changed copy of a packet. Usually what comes out is valid: lengths and
// checksums are computed again.
func mutatePacket(r *rand.Rand, p []byte, values []uint64, least, most int) []byte {
	p = slices.Clone(p)
	repair := r.IntN(8) != 0
	for range 1 + r.IntN(3) {
		switch n := r.IntN(16); {
		case n < 7:
			mutateField(r, p, values)
		case n < 9:
			p = slices.Clone(seedPackets()[r.IntN(len(seedPackets()))])
		case n < 11:
			mutateBytes(r, p, values)
		case n == 11 && len(p) > least:
			p = p[:least+r.IntN(len(p)-least)]
		case n == 12:
			p = append(p, make([]byte, []int{1, 4, 8, 20, 64, 512}[r.IntN(6)])...)
		case n == 13:
			p = insertLayer(r, p)
		case n == 14:
			repair = false
		default:
			mutatePayload(r, p, values)
		}
	}
	p = fit(p, least, most)
	if repair {
		packet.Repair(p, packet.Ethernet)
	}
	return p
}

// fit makes a packet as long as the program accepts.
func fit(p []byte, least, most int) []byte {
	if most = min(most, maxPacket); len(p) > most {
		p = p[:most]
	}
	for len(p) < least {
		p = append(p, 0)
	}
	return p
}

// mutateField changes a field of a header.
func mutateField(r *rand.Rand, p []byte, values []uint64) {
	h := packet.Decode(p, packet.Ethernet)
	if len(h.Layers) == 0 {
		mutateBytes(r, p, values)
		return
	}
	l := h.Layers[r.IntN(len(h.Layers))]
	fields := l.Fields(p)
	if len(fields) == 0 {
		mutatePayload(r, p, values)
		return
	}
	f := fields[r.IntN(len(fields))]
	if f.Bits > 64 {
		if at, end := f.Off, f.Off+f.Size(); end <= len(p) {
			mutateBytes(r, p[at:end], values)
		}
		return
	}
	f.Put(p, number(r, f.Get(p), values))
}

// mutateBytes changes some bytes.
func mutateBytes(r *rand.Rand, p []byte, values []uint64) {
	if len(p) == 0 {
		return
	}
	size := []int{1, 1, 2, 4, 8}[r.IntN(5)]
	if size > len(p) {
		size = 1
	}
	at := r.IntN(len(p) - size + 1)
	putNumber(r, p[at:at+size], values)
}

// mutatePayload changes bytes after the headers, near their beginning more often, because protocols
// are decided there.
func mutatePayload(r *rand.Rand, p []byte, values []uint64) {
	h := packet.Decode(p, packet.Ethernet)
	at := len(p)
	for _, l := range h.Layers {
		if len(l.Fields(p)) > 0 {
			at = min(l.Off+l.Len, len(p))
		}
	}
	if rest := p[at:]; len(rest) > 0 {
		mutateBytes(r, rest[:max(1, min(len(rest), 1<<r.IntN(10)))], values)
	}
}

// putNumber changes a number in memory, in either byte order.
func putNumber(r *rand.Rand, b []byte, values []uint64) {
	var buf [8]byte
	copy(buf[:], b)
	big := r.IntN(2) == 0
	v := binary.LittleEndian.Uint64(buf[:])
	if big {
		v = binary.BigEndian.Uint64(buf[:]) >> (64 - 8*len(b))
	}
	v = number(r, v, values)
	if big {
		binary.BigEndian.PutUint64(buf[:], v<<(64-8*len(b)))
	} else {
		binary.LittleEndian.PutUint64(buf[:], v)
	}
	copy(b, buf[:])
}

// interesting are numbers at the borders of types and sizes.
var interesting = []uint64{
	0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 511, 512, 1023, 1024, 1500, 4095, 4096, 0x7fff, 0x8000, 0xffff, 0x10000, 1 << 20, 0x7fffffff, 0x80000000,
	0xffffffff, 1 << 32, 1<<63 - 1, 1 << 63, ^uint64(0), ^uint64(0) - 1, ^uint64(12), // -13, EACCES
}

// number returns another value for a number.
func number(r *rand.Rand, was uint64, values []uint64) uint64 {
	switch n := r.IntN(8); {
	case n < 2 && len(values) > 0:
		v := values[r.IntN(len(values))]
		return v + uint64(r.IntN(3)) - 1
	case n < 4:
		return interesting[r.IntN(len(interesting))]
	case n < 5:
		return was ^ 1<<r.IntN(64)
	case n < 6:
		return was + uint64(r.IntN(33)) - 16
	case n < 7:
		return r.Uint64() >> r.IntN(64)
	}
	return uint64(r.IntN(256))
}

// insertLayer adds a VLAN tag after the Ethernet header, or takes bytes out of the middle.
func insertLayer(r *rand.Rand, p []byte) []byte {
	if len(p) < 18 {
		return p
	}
	if r.IntN(2) == 0 {
		tag := []byte{0x81, 0, byte(r.IntN(256)), byte(r.IntN(256))}
		return slices.Insert(p, 12, tag...)
	}
	at := 12 + r.IntN(len(p)-16)
	return slices.Delete(p, at, min(at+4, len(p)))
}
