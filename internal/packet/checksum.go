package packet

import (
	"encoding/binary"
	"hash/crc32"
)

// SumState tells whether the checksum of a header is correct.
type SumState uint8

// The states of checksums.
const (
	// SumUnknown: the header has no checksum, or it cannot be computed: a fragment, a truncated
	// packet, UDP without a checksum.
	SumUnknown SumState = iota
	SumRight
	SumWrong
)

// Sum checks the checksum of layer i of the packet that was decoded, and returns the correct value.
func (h Headers) Sum(p []byte, i int) (state SumState, want uint64) {
	l := h.Layers[i]
	f, ok := l.Field(p, "csum")
	if !ok {
		return SumUnknown, 0
	}
	got := f.Get(p)
	if l.proto == udp && got == 0 {
		return SumUnknown, 0
	}
	want, ok = sumOf(p, h.Layers[:i], l)
	if !ok {
		return SumUnknown, 0
	}
	if got == want || got == 0xffff && want == 0 && f.Bits == 16 { // both are 0 in ones' complement, and receivers add up
		return SumRight, want
	}
	return SumWrong, want
}

// Mend makes the checksums of a packet right that are wrong and can be computed, from the inside
// out. keep reports whether the bytes from..to stay.
func Mend(p []byte, start Start, keep func(from, to int) bool) {
	h := Decode(p, start)
	for i := len(h.Layers) - 1; i >= 0; i-- {
		if state, want := h.Sum(p, i); state == SumWrong {
			if f, ok := h.Layers[i].Field(p, "csum"); ok && !keep(f.Off, f.Off+f.Size()) {
				f.Put(p, want)
			}
		}
	}
}

// sumOf computes the checksum for the header of l, which follows the layers in below; ok is false
// if that is not possible.
func sumOf(p []byte, below []Layer, l Layer) (sum uint64, ok bool) {
	f, ok := l.Field(p, "csum")
	if !ok {
		return 0, false
	}
	end := l.end
	if l.proto == ip {
		end = l.Off + l.Len
	} else if l.short {
		return 0, false
	}
	if l.proto == udp {
		if n := int(be.Uint16(p[l.Off+4:])); n >= l.Len && n < end-l.Off {
			end = l.Off + n
		}
	}
	var pseudo uint64
	switch l.proto {
	case icmp, sctp, tcp, udp, icmp6:
		host, whole := carrier(p, below)
		if !whole {
			return 0, false
		}
		if l.proto == icmp || l.proto == sctp {
			break
		}
		if host == nil {
			return 0, false
		}
		pseudo = pseudoHeader(p, host, map[*protocol]uint64{tcp: ipTCP, udp: ipUDP, icmp6: ipICMPv6}[l.proto], end-l.Off)
	}
	at := f.Off - l.Off
	if l.proto == sctp {
		table := crc32.MakeTable(crc32.Castagnoli)
		c := crc32.Update(0, table, p[l.Off:f.Off])
		c = crc32.Update(c, table, make([]byte, 4))
		c = crc32.Update(c, table, p[f.Off+4:end])
		return uint64(binary.BigEndian.Uint32(binary.LittleEndian.AppendUint32(nil, c))), true
	}
	sum = uint64(internetSum(p[l.Off:end], pseudo, at))
	if sum == 0 && l.proto == udp {
		sum = 0xffff // 0 means that there is no checksum
	}
	return sum, true
}

// carrier finds the IP header that carries a transport header, or nil. whole is false for fragments
// and for packets with a routing header, whose checksum covers another destination.
func carrier(p []byte, below []Layer) (host *Layer, whole bool) {
	for i := len(below) - 1; i >= 0; i-- {
		l := &below[i]
		switch l.proto {
		case ip:
			return l, be.Uint16(p[l.Off+6:])&0x3fff == 0
		case ip6:
			return l, true
		case frag, routing:
			return nil, false
		case hopopts, dstopts:
			continue
		}
		return nil, true
	}
	return nil, true
}

// pseudoHeader returns the sum of the addresses, the protocol and the length.
func pseudoHeader(p []byte, host *Layer, proto uint64, length int) uint64 {
	sum := proto + uint64(length)
	from, to := 12, 20
	if host.proto == ip6 {
		from, to = 8, 40
	}
	for i := from; i < to; i += 2 {
		sum += uint64(be.Uint16(p[host.Off+i:]))
	}
	return sum
}

// internetSum continues from sum the RFC 1071 checksum of b, in which the two bytes at skip count
// as zero.
func internetSum(b []byte, sum uint64, skip int) uint16 {
	for i := 0; i+1 < len(b); i += 2 {
		if i != skip {
			sum += uint64(be.Uint16(b[i:]))
		}
	}
	if len(b)%2 != 0 {
		sum += uint64(b[len(b)-1]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
