package packet

import "strings"

// protocol describes one kind of header; decoding, expressions and differences are driven by it.
type protocol struct {
	name    string
	aliases []string
	// size is the length of the header in bytes, without options.
	size int
	// fields are in header order; those that share bits with an earlier one are alternative names.
	fields []spec
	// length returns the length of a header with its options, given at least size bytes. If nil, it
	// is always size.
	length func(b []byte) int
	// extra lists the fields that only some headers have; it may be nil.
	extra func(b []byte) []spec
	// full are the first bytes of a header with all optional fields; nil if extra is.
	full []byte
	// next returns the protocol of what follows the header; nil means payload.
	next func(b []byte) *protocol
	// inner returns the length of the enclosed packet according to the header, counted from its own
	// start; 0 means everything that follows.
	inner func(b []byte) int
	// begin writes the defaults for expressions.
	begin func(b []byte)
}

// spec describes a field relative to its header, in bits.
type spec struct {
	name   string
	at     int
	bits   int
	format Format
	alias  bool // shares bits with another field of the list
}

func (s *spec) field(layer string, off int) Field {
	return Field{Layer: layer, Name: s.name, Off: off + s.at/8, Bit: s.at % 8, Bits: s.bits, Format: s.format}
}

// names maps values to names and back.
type names []struct {
	value uint64
	name  string
}

func (n names) name(v uint64) string {
	for _, x := range n {
		if x.value == v {
			return x.name
		}
	}
	return ""
}

func (n names) value(name string) (uint64, bool) {
	for _, x := range n {
		if strings.EqualFold(x.name, name) {
			return x.value, true
		}
	}
	switch strings.ToLower(name) { // aliases of layers
	case "ipv4":
		return n.value("ip")
	case "ipv6":
		return n.value("ip6")
	case "icmpv6":
		return n.value("icmp6")
	}
	return 0, false
}

// Ethernet types.
const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherTEB  = 0x6558 // Ethernet in a tunnel
	etherVLAN = 0x8100
	etherIPv6 = 0x86dd
	etherQinQ = 0x88a8
)

var etherTypes = names{{etherIPv4, "ip"}, {etherARP, "arp"}, {etherVLAN, "vlan"}, {etherIPv6, "ip6"}, {etherQinQ, "qinq"}, {etherTEB, "eth"}}

// IP protocols.
const (
	ipHopOpts  = 0
	ipICMP     = 1
	ipIPIP     = 4
	ipTCP      = 6
	ipUDP      = 17
	ipIPv6     = 41
	ipRouting  = 43
	ipFragment = 44
	ipGRE      = 47
	ipICMPv6   = 58
	ipNone     = 59
	ipDstOpts  = 60
	ipSCTP     = 132
)

var protocols = names{
	{ipICMP, "icmp"}, {ipIPIP, "ipip"}, {ipTCP, "tcp"}, {ipUDP, "udp"}, {ipIPv6, "ip6"}, {ipFragment, "frag"}, {ipGRE, "gre"}, {ipICMPv6, "icmp6"},
	{ipSCTP, "sctp"}, {ipIPIP, "ip"}, {ipHopOpts, "hopopts"}, {ipRouting, "routing"}, {ipDstOpts, "dstopts"}, {ipNone, "none"},
}

// UDP ports of tunnels.
const (
	portVXLAN  = 4789
	portGeneve = 6081
)

// Names of layers that are not headers.
const (
	payloadName = "payload"
	trailerName = "trailer" // bytes after the end of the IP packet
)

// headers lists all protocols.
var headers []*protocol

// The protocols refer to each other.
var eth, vlan, qinq, arp, ip, ip6, hopopts, dstopts, routing, frag, icmp, icmp6, tcp, udp, sctp, gre, vxlan, geneve *protocol

func init() {
	linkLayers()
	networkLayers()
	transportLayers()
	tunnelLayers()
	headers = []*protocol{eth, vlan, qinq, arp, ip, ip6, hopopts, dstopts, routing, frag, icmp, icmp6, tcp, udp, sctp, gre, vxlan, geneve}
}

// protocolNamed finds a protocol by name or alias.
func protocolNamed(name string) *protocol {
	for _, p := range headers {
		if p.name == name {
			return p
		}
		for _, a := range p.aliases {
			if a == name {
				return p
			}
		}
	}
	return nil
}

// LayerNames lists the names of all headers.
func LayerNames() []string {
	out := make([]string, len(headers))
	for i, p := range headers {
		out[i] = p.name
	}
	return out
}

// specs lists the fields of a header, including those that only this header has.
func (p *protocol) specs(b []byte) []spec {
	if p.extra == nil {
		return p.fields
	}
	return append(p.fields[:len(p.fields):len(p.fields)], p.extra(b)...)
}

func (p *protocol) spec(name string, b []byte) *spec {
	list := p.specs(b)
	for i := range list {
		if list[i].name == name {
			return &list[i]
		}
	}
	return nil
}

// known lists every field that a header of the protocol may have. The positions of fields after an
// optional one, and the width of options, depend on the header.
func (p *protocol) known() []spec {
	header := make([]byte, max(p.size, len(p.full)))
	copy(header, p.full)
	return p.specs(header)
}

// fieldNames lists the names of all fields that a header of the protocol may have.
func (p *protocol) fieldNames() []string {
	var out []string
	for _, s := range p.known() {
		out = append(out, s.name)
	}
	return out
}

// byEtherType returns the protocol for an Ethernet type.
func byEtherType(t uint64) *protocol {
	switch t {
	case etherIPv4:
		return ip
	case etherARP:
		return arp
	case etherVLAN:
		return vlan
	case etherIPv6:
		return ip6
	case etherQinQ:
		return qinq
	case etherTEB:
		return eth
	}
	return nil
}

// byProtocol returns the protocol for an IP protocol number.
func byProtocol(n byte) *protocol {
	switch n {
	case ipHopOpts:
		return hopopts
	case ipICMP:
		return icmp
	case ipIPIP:
		return ip
	case ipTCP:
		return tcp
	case ipUDP:
		return udp
	case ipIPv6:
		return ip6
	case ipRouting:
		return routing
	case ipFragment:
		return frag
	case ipGRE:
		return gre
	case ipICMPv6:
		return icmp6
	case ipDstOpts:
		return dstopts
	case ipSCTP:
		return sctp
	}
	return nil
}
