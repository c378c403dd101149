package packet

import "fmt"

// linkType is what the packets of a capture begin with (www.tcpdump.org/linktypes.html).
type linkType uint32

const (
	linkNull       linkType = 0
	linkEthernet   linkType = 1
	linkRawBSD     linkType = 12
	linkRawOpenBSD linkType = 14
	linkRaw        linkType = 101
	linkLoop       linkType = 108
	linkSLL        linkType = 113
	linkIPv4       linkType = 228
	linkIPv6       linkType = 229
	linkSLL2       linkType = 276
)

// linkRefused explains why captures with a link type cannot be used, or returns "" if they can.
func linkRefused(t linkType) string {
	switch t {
	case linkEthernet, linkRaw, linkRawBSD, linkRawOpenBSD, linkIPv4, linkIPv6, linkNull, linkLoop, linkSLL, linkSLL2:
		return ""
	}
	return fmt.Sprintf("link type %d is not supported: want Ethernet, raw IP, BSD loopback or Linux cooked captures", t)
}

// toEthernet prepends an Ethernet header to a packet of another link type, because programs expect
// one. Addresses that the capture lacks are zero.
func (r *Reader) toEthernet(t linkType, data []byte) (frame []byte, why string) {
	if why := linkRefused(t); why != "" {
		return nil, why
	}
	skip, proto := 0, 0
	src := [6]byte{}
	short := func(n int) bool {
		if len(data) < n {
			why = fmt.Sprintf("%d bytes are too few for the header of link type %d, which has %d", len(data), t, n)
		}
		return why != ""
	}
	switch t {
	case linkNull, linkLoop:
		if skip = 4; short(skip) {
			return nil, why
		}
	case linkSLL:
		if skip = 16; short(skip) {
			return nil, why
		}
		copy(src[:], data[6:12])
		proto = int(be.Uint16(data[14:]))
	case linkSLL2:
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
