package packet

import "encoding/binary"

var be = binary.BigEndian

func linkLayers() {
	eth = &protocol{
		name: "eth", aliases: []string{"ether", "ethernet"}, size: 14,
		fields: []spec{{"dst", 0, 48, MAC, false}, {"src", 48, 48, MAC, false}, {"type", 96, 16, EtherType, false}},
		next:   func(b []byte) *protocol { return byEtherType(uint64(be.Uint16(b[12:]))) },
		begin: func(b []byte) {
			copy(b, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2})
		},
	}
	tag := []spec{{"pcp", 0, 3, Decimal, false}, {"dei", 3, 1, Decimal, false}, {"id", 4, 12, Decimal, false}, {"type", 16, 16, EtherType, false}, {"tci", 0, 16, Hex, true}}
	vlan = &protocol{name: "vlan", size: 4, fields: tag, next: func(b []byte) *protocol { return byEtherType(uint64(be.Uint16(b[2:]))) }}
	qinq = &protocol{name: "qinq", size: 4, fields: tag, next: vlan.next}
	arp = &protocol{
		name: "arp", size: 28,
		fields: []spec{
			{"htype", 0, 16, Decimal, false}, {"ptype", 16, 16, EtherType, false}, {"hlen", 32, 8, Decimal, false}, {"plen", 40, 8, Decimal, false},
			{"op", 48, 16, Decimal, false}, {"sha", 64, 48, MAC, false}, {"spa", 112, 32, IPv4, false}, {"tha", 144, 48, MAC, false}, {"tpa", 192, 32, IPv4, false},
		},
		begin: func(b []byte) {
			copy(b, []byte{0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 198, 51, 100, 2})
		},
	}
}

func networkLayers() {
	ip = &protocol{
		name: "ip", aliases: []string{"ipv4", "ip4"}, size: 20,
		fields: []spec{
			{"version", 0, 4, Decimal, false}, {"ihl", 4, 4, Decimal, false}, {"tos", 8, 8, Hex, false}, {"len", 16, 16, Decimal, false}, {"id", 32, 16, Hex, false},
			{"df", 49, 1, Decimal, false}, {"mf", 50, 1, Decimal, false}, {"frag", 51, 13, Decimal, false}, {"ttl", 64, 8, Decimal, false},
			{"proto", 72, 8, Protocol, false}, {"csum", 80, 16, Checksum, false}, {"src", 96, 32, IPv4, false}, {"dst", 128, 32, IPv4, false},
			{"dscp", 8, 6, Decimal, true}, {"ecn", 14, 2, Decimal, true}, {"flags", 48, 3, Hex, true},
		},
		length: func(b []byte) int { return int(b[0]&15) * 4 },
		extra:  func(b []byte) []spec { return options(20, int(b[0]&15)*4) },
		full:   []byte{15},
		next: func(b []byte) *protocol {
			if be.Uint16(b[6:])&0x1fff != 0 {
				return nil // not the first fragment
			}
			return byProtocol(b[9])
		},
		inner: func(b []byte) int { return int(be.Uint16(b[2:])) },
		begin: func(b []byte) {
			copy(b, []byte{0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, 0, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2})
		},
	}
	ip6 = &protocol{
		name: "ip6", aliases: []string{"ipv6"}, size: 40,
		fields: []spec{
			{"version", 0, 4, Decimal, false}, {"tclass", 4, 8, Hex, false}, {"flow", 12, 20, Hex, false}, {"len", 32, 16, Decimal, false},
			{"next", 48, 8, Protocol, false}, {"hlim", 56, 8, Decimal, false}, {"src", 64, 128, IPv6, false}, {"dst", 192, 128, IPv6, false},
			{"dscp", 4, 6, Decimal, true}, {"ecn", 10, 2, Decimal, true}, {"ttl", 56, 8, Decimal, true}, {"proto", 48, 8, Protocol, true},
		},
		next: func(b []byte) *protocol { return byProtocol(b[6]) },
		inner: func(b []byte) int {
			if n := int(be.Uint16(b[4:])); n != 0 {
				return n + 40
			}
			return 0
		},
		begin: func(b []byte) {
			b[0], b[7] = 0x60, 64
			copy(b[8:], []byte{0x20, 1, 0x0d, 0xb8})
			b[23] = 1
			copy(b[24:], []byte{0x20, 1, 0x0d, 0xb8})
			b[39] = 2
		},
	}
	extension := func(name string) *protocol {
		return &protocol{
			name: name, size: 8,
			fields: []spec{{"next", 0, 8, Protocol, false}, {"len", 8, 8, Decimal, false}},
			length: func(b []byte) int { return 8 + 8*int(b[1]) },
			extra:  func(b []byte) []spec { return options(2, 8+8*int(b[1])) },
			full:   []byte{0, 1},
			next:   func(b []byte) *protocol { return byProtocol(b[0]) },
			begin:  func(b []byte) { b[2], b[3] = 1, 4 }, // PadN
		}
	}
	hopopts, dstopts, routing = extension("hopopts"), extension("dstopts"), extension("routing")
	frag = &protocol{
		name: "frag", size: 8,
		fields: []spec{{"next", 0, 8, Protocol, false}, {"frag", 16, 13, Decimal, false}, {"mf", 31, 1, Decimal, false}, {"id", 32, 32, Hex, false}},
		next: func(b []byte) *protocol {
			if be.Uint16(b[2:])&0xfff8 != 0 {
				return nil
			}
			return byProtocol(b[0])
		},
	}
}

func transportLayers() {
	echo := []spec{
		{"type", 0, 8, Decimal, false}, {"code", 8, 8, Decimal, false}, {"csum", 16, 16, Checksum, false}, {"id", 32, 16, Decimal, false}, {"seq", 48, 16, Decimal, false},
		{"rest", 32, 32, Hex, true},
	}
	icmp = &protocol{
		name: "icmp", size: 8, fields: append(echo[:len(echo):len(echo)], spec{"mtu", 48, 16, Decimal, true}, spec{"gateway", 32, 32, IPv4, true}),
		begin: func(b []byte) { b[0], b[5], b[7] = 8, 1, 1 },
	}
	icmp6 = &protocol{
		name: "icmp6", aliases: []string{"icmpv6"}, size: 8, fields: append(echo[:len(echo):len(echo)], spec{"mtu", 32, 32, Decimal, true}),
		begin: func(b []byte) { b[0], b[5], b[7] = 128, 1, 1 },
	}
	tcp = &protocol{
		name: "tcp", size: 20,
		fields: []spec{
			{"sport", 0, 16, Decimal, false}, {"dport", 16, 16, Decimal, false}, {"seq", 32, 32, Decimal, false}, {"ack", 64, 32, Decimal, false},
			{"doff", 96, 4, Decimal, false}, {"res", 100, 4, Decimal, false}, {"flags", 104, 8, TCPFlags, false}, {"win", 112, 16, Decimal, false},
			{"csum", 128, 16, Checksum, false}, {"urg", 144, 16, Decimal, false},
		},
		length: func(b []byte) int { return int(b[12]>>4) * 4 },
		extra:  func(b []byte) []spec { return options(20, int(b[12]>>4)*4) },
		full:   []byte{12: 0xf0},
		begin: func(b []byte) {
			be.PutUint16(b, 12345)
			be.PutUint16(b[2:], 80)
			b[12], b[13] = 0x50, 2
			be.PutUint16(b[14:], 0xfaf0)
		},
	}
	udp = &protocol{
		name: "udp", size: 8,
		fields: []spec{{"sport", 0, 16, Decimal, false}, {"dport", 16, 16, Decimal, false}, {"len", 32, 16, Decimal, false}, {"csum", 48, 16, Checksum, false}},
		next: func(b []byte) *protocol {
			switch be.Uint16(b[2:]) {
			case portVXLAN:
				return vxlan
			case portGeneve:
				return geneve
			}
			return nil
		},
		begin: func(b []byte) {
			be.PutUint16(b, 12345)
			be.PutUint16(b[2:], 53)
		},
	}
	sctp = &protocol{
		name: "sctp", size: 12,
		fields: []spec{{"sport", 0, 16, Decimal, false}, {"dport", 16, 16, Decimal, false}, {"vtag", 32, 32, Hex, false}, {"csum", 64, 32, Checksum, false}},
		begin: func(b []byte) {
			be.PutUint16(b, 12345)
			be.PutUint16(b[2:], 80)
		},
	}
}

// Bits of the GRE header that indicate optional fields (RFC 2890).
const greCsum, greKey, greSeq = 0x8000, 0x2000, 0x1000

func tunnelLayers() {
	gre = &protocol{
		name: "gre", size: 4,
		fields: []spec{{"flags", 0, 16, Hex, false}, {"proto", 16, 16, EtherType, false}},
		length: func(b []byte) int { return greLength(be.Uint16(b)) },
		extra: func(b []byte) []spec {
			flags, at := be.Uint16(b), 32
			var out []spec
			if flags&greCsum != 0 {
				out = append(out, spec{"csum", at, 16, Checksum, false})
				at += 32
			}
			if flags&greKey != 0 {
				out = append(out, spec{"key", at, 32, Decimal, false})
				at += 32
			}
			if flags&greSeq != 0 {
				out = append(out, spec{"seq", at, 32, Decimal, false})
			}
			return out
		},
		full: []byte{(greCsum | greKey | greSeq) >> 8},
		next: func(b []byte) *protocol {
			if b[1]&7 != 0 {
				return nil // another version, such as PPTP
			}
			return byEtherType(uint64(be.Uint16(b[2:])))
		},
	}
	vxlan = &protocol{
		name: "vxlan", size: 8,
		fields: []spec{{"flags", 0, 8, Hex, false}, {"vni", 32, 24, Decimal, false}},
		next:   func([]byte) *protocol { return eth },
		begin:  func(b []byte) { b[0], b[6] = 8, 1 },
	}
	geneve = &protocol{
		name: "geneve", size: 8,
		fields: []spec{
			{"version", 0, 2, Decimal, false}, {"optlen", 2, 6, Decimal, false}, {"oam", 8, 1, Decimal, false}, {"critical", 9, 1, Decimal, false},
			{"proto", 16, 16, EtherType, false}, {"vni", 32, 24, Decimal, false},
		},
		length: func(b []byte) int { return 8 + int(b[0]&63)*4 },
		extra:  func(b []byte) []spec { return options(8, 8+int(b[0]&63)*4) },
		full:   []byte{63},
		next:   func(b []byte) *protocol { return byEtherType(uint64(be.Uint16(b[2:]))) },
		begin: func(b []byte) {
			be.PutUint16(b[2:], etherTEB)
			b[6] = 1
		},
	}
}

func greLength(flags uint16) int {
	n := 4
	for _, bit := range [...]uint16{greCsum, greKey, greSeq} {
		if flags&bit != 0 {
			n += 4
		}
	}
	return n
}

// options returns the field for the options between two offsets.
func options(from, to int) []spec {
	if to <= from {
		return nil
	}
	return []spec{{"options", 8 * from, 8 * (to - from), Bytes, false}}
}
