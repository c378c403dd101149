package packet

import (
	"fmt"

	"github.com/gopacket/gopacket/layers"
)

// Link types of captures without an Ethernet header (www.tcpdump.org/linktypes.html).
const (
	linkRawBSD     = layers.LinkType(12)
	linkRawOpenBSD = layers.LinkType(14)
)

// linkRefused says why captures of a link type cannot be used; "" when they can.
func linkRefused(t layers.LinkType) string {
	switch t {
	case layers.LinkTypeEthernet, layers.LinkTypeRaw, linkRawBSD, linkRawOpenBSD, layers.LinkTypeIPv4, layers.LinkTypeIPv6,
		layers.LinkTypeNull, layers.LinkTypeLoop, layers.LinkTypeLinuxSLL, layers.LinkTypeLinuxSLL2:
		return ""
	}
	return fmt.Sprintf("link type %d (%s) is not supported: want Ethernet, raw IP, BSD loopback or Linux cooked captures", uint32(t), t)
}

// toEthernet gives a packet of another link type an Ethernet header, as programs expect one; addresses the capture does not have are zero.
func (r *Reader) toEthernet(t layers.LinkType, data []byte) (frame []byte, why string) {
	if why := linkRefused(t); why != "" {
		return nil, why
	}
	skip, proto := 0, 0
	src := [6]byte{}
	short := func(n int) bool {
		if len(data) < n {
			why = fmt.Sprintf("%d bytes are too few for the header of link type %d, which has %d", len(data), uint32(t), n)
		}
		return why != ""
	}
	switch t {
	case layers.LinkTypeNull, layers.LinkTypeLoop:
		if skip = 4; short(skip) {
			return nil, why
		}
	case layers.LinkTypeLinuxSLL:
		if skip = 16; short(skip) {
			return nil, why
		}
		copy(src[:], data[6:12])
		proto = int(be.Uint16(data[14:]))
	case layers.LinkTypeLinuxSLL2:
		if skip = 20; short(skip) {
			return nil, why
		}
		copy(src[:], data[12:18])
		proto = int(be.Uint16(data))
	}
	data = data[skip:]
	if proto == 0 {
		proto = etherIPv4
		if len(data) > 0 && data[0]>>4 == 6 {
			proto = etherIPv6
		}
	}
	r.frame = append(r.frame[:0], make([]byte, 6)...)
	r.frame = append(r.frame, src[:]...)
	r.frame = append(r.frame, byte(proto>>8), byte(proto))
	r.frame = append(r.frame, data...)
	return r.frame, ""
}
