package debug

import (
	"fmt"

	"github.com/bpfrun/bpfrun/uapi"
)

// packet is the packet of the run.
func (s *Session) packet() (*Value, error) {
	if !s.live() || s.run.Context().Packet == nil {
		return nil, &UnavailableError{"pkt", "no program with a packet is running"}
	}
	p := s.run.Context().Packet
	return &Value{kind: aPacket, Addr: p.Data(), Data: p.Bytes(), name: "pkt"}, nil
}

func (s *Session) packetByte(x *Value, i uint64) (*Value, error) {
	if i >= uint64(len(x.Data)) {
		return nil, fmt.Errorf("the packet has %d bytes", len(x.Data))
	}
	return s.at(s.basic.named("unsigned char"), x.Addr+i)
}

// Layer is a header of a packet.
type Layer struct {
	Name   string // "eth", "ip", "tcp"
	Struct string // the kernel's struct for it
	Off    int
}

const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100
	etherQinQ = 0x88a8
)

var transport = map[byte]Layer{
	1: {Name: "icmp", Struct: "icmphdr"}, 6: {Name: "tcp", Struct: "tcphdr"}, 17: {Name: "udp", Struct: "udphdr"},
	58: {Name: "icmp6", Struct: "icmp6hdr"}, 132: {Name: "sctp", Struct: "sctphdr"},
}

// layersOf finds the headers of a packet that begins with an Ethernet header, or with an IP header when ip is set.
func layersOf(p []byte, ip bool) []Layer {
	var out []Layer
	at, proto := 0, 0
	if ip {
		if len(p) > 0 && p[0]>>4 == 6 {
			proto = etherIPv6
		} else {
			proto = etherIPv4
		}
	} else {
		if len(p) < 14 {
			return nil
		}
		out = append(out, Layer{"eth", "ethhdr", 0})
		proto, at = int(p[12])<<8|int(p[13]), 14
		for range 2 {
			if proto != etherVLAN && proto != etherQinQ || len(p) < at+4 {
				break
			}
			out = append(out, Layer{"vlan", "vlan_hdr", at})
			proto, at = int(p[at+2])<<8|int(p[at+3]), at+4
		}
	}
	var next byte
	switch {
	case proto == etherIPv4 && len(p) >= at+20:
		out = append(out, Layer{"ip", "iphdr", at})
		next = p[at+9]
		if uint16(p[at+6])<<8&0x1f00|uint16(p[at+7]) != 0 {
			return out // not the first fragment
		}
		at += int(p[at]&0xf) * 4
	case proto == etherIPv6 && len(p) >= at+40:
		out = append(out, Layer{"ip6", "ipv6hdr", at})
		next, at = p[at+6], at+40
	default:
		return out
	}
	if l, ok := transport[next]; ok && at < len(p) {
		l.Off = at
		out = append(out, l)
	}
	return out
}

// startsAtIP lists the program types whose packets begin with the network header.
func startsAtIP(t uapi.ProgType) bool {
	switch t {
	case uapi.ProgTypeCgroupSkb, uapi.ProgTypeLwtIn, uapi.ProgTypeLwtOut, uapi.ProgTypeLwtXmit:
		return true
	}
	return false
}

// Layers returns the headers of the run's packet.
func (s *Session) Layers() ([]Layer, error) {
	p, err := s.packet()
	if err != nil {
		return nil, err
	}
	return layersOf(p.Data, startsAtIP(s.run.Program().Type)), nil
}

// packetLayer is pkt.NAME.
func (s *Session) packetLayer(x *Value, name string) (*Value, error) {
	var names []string
	for _, l := range layersOf(x.Data, startsAtIP(s.run.Program().Type)) {
		if l.Name != name {
			names = append(names, l.Name)
			continue
		}
		t, err := s.FindType("struct", l.Struct)
		if err != nil {
			return nil, err
		}
		return s.at(t, x.Addr+uint64(l.Off))
	}
	return nil, &UnknownError{What: "header", Name: name, In: "the packet", Nearest: names}
}
