package traffic

import (
	"encoding/binary"
	"math/rand/v2"
)

// Protocol numbers in headers.
const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherVLAN = 0x8100
	etherQinQ = 0x88a8
	etherIPv6 = 0x86dd

	protoHop      = 0
	protoICMP     = 1
	protoIPIP     = 4
	protoTCP      = 6
	protoUDP      = 17
	protoRouting  = 43
	protoFragment = 44
	protoGRE      = 47
	protoICMPv6   = 58
	protoDest     = 60
	protoSCTP     = 132
)

// least is the length in bytes of the shortest frame that a kernel accepts.
const least = 14

// maker generates frames from a stream of random numbers.
type maker struct{ r *rand.Rand }

// Packets returns n frames. Flows repeat, in both directions. About one frame in eight is truncated
// or has an invalid header.
func Packets(seed uint64, n int) [][]byte {
	m := &maker{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	out := make([][]byte, n)
	for i := range out {
		f := m.frame()
		if m.r.IntN(8) == 0 {
			f = m.spoil(f)
		}
		out[i] = f
	}
	return out
}

func (m *maker) oneIn(n int) bool { return m.r.IntN(n) == 0 }

// pick chooses one of a few values, so that flows and ports repeat.
func pick[T any](m *maker, list ...T) T { return list[m.r.IntN(len(list))] }

func (m *maker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(m.r.Uint32())
	}
	return b
}

// frame generates an Ethernet frame.
func (m *maker) frame() []byte {
	host := byte(1 + m.r.IntN(3))
	f := append([]byte{2, 0, 0, 0, 0, host}, 2, 0, 0, 0, 0, 4-host)
	switch m.r.IntN(12) {
	case 0:
		copy(f, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	case 1:
		copy(f, []byte{1, 0, 0x5e, 0, 0, 1})
	}
	for range m.r.IntN(2) * m.r.IntN(2) * (1 + m.r.IntN(3)) {
		f = binary.BigEndian.AppendUint16(f, pick[uint16](m, etherVLAN, etherVLAN, etherQinQ))
		f = binary.BigEndian.AppendUint16(f, pick[uint16](m, 1, 2, 100, 0x2064, 4095))
	}
	switch m.r.IntN(20) {
	case 0:
		return append(binary.BigEndian.AppendUint16(f, etherARP), m.arp()...)
	case 1: // a length instead of an EtherType
		return append(binary.BigEndian.AppendUint16(f, 46), m.bytes(46)...)
	case 2:
		return append(binary.BigEndian.AppendUint16(f, uint16(m.r.Uint32())), m.bytes(m.r.IntN(100))...)
	case 3, 4, 5, 6, 7, 8:
		return append(binary.BigEndian.AppendUint16(f, etherIPv6), m.ipv6(0)...)
	}
	return append(binary.BigEndian.AppendUint16(f, etherIPv4), m.ipv4(0)...)
}

func (m *maker) arp() []byte {
	b := []byte{0, 1, 8, 0, 6, 4, 0, byte(1 + m.r.IntN(2)), 2, 0, 0, 0, 0, 1, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 192, 0, 2, 2}
	return append(b, make([]byte, 18)...)
}

// addr4 returns the address of one of a few hosts, so that programs have some of them in their
// tables.
func (m *maker) addr4() []byte { return []byte{192, 0, 2, byte(1 + m.r.IntN(4))} }

func (m *maker) addr6() []byte {
	b := make([]byte, 16)
	copy(b, []byte{0x20, 0x01, 0x0d, 0xb8})
	b[15] = byte(1 + m.r.IntN(4))
	return b
}

func (m *maker) ipv4(depth int) []byte {
	var options []byte
	if m.oneIn(6) {
		options = append([]byte{148, 4, 0, 0}, make([]byte, 4*m.r.IntN(4))...)
	}
	proto, body := m.transport(depth, false)
	h := make([]byte, 20, 60)
	h[0] = 0x40 | byte(5+len(options)/4)
	h[1] = byte(m.r.IntN(4) | m.r.IntN(2)<<5)
	binary.BigEndian.PutUint16(h[4:], uint16(m.r.Uint32()))
	switch m.r.IntN(10) {
	case 0:
		binary.BigEndian.PutUint16(h[6:], 0x2000) // a first fragment
	case 1:
		binary.BigEndian.PutUint16(h[6:], uint16(0x2000*m.r.IntN(2)|185)) // a later fragment
	default:
		binary.BigEndian.PutUint16(h[6:], 0x4000)
	}
	h[8], h[9] = pick[byte](m, 1, 63, 64, 255), proto
	copy(h[12:], m.addr4())
	copy(h[16:], m.addr4())
	h = append(h, options...)
	binary.BigEndian.PutUint16(h[2:], uint16(len(h)+len(body)))
	binary.BigEndian.PutUint16(h[10:], checksum(h))
	return append(h, body...)
}

func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

func (m *maker) ipv6(depth int) []byte {
	proto, body := m.transport(depth, true)
	// Prepend extension headers, innermost first.
	for range m.r.IntN(3) * m.r.IntN(2) {
		switch kind := pick[byte](m, protoHop, protoRouting, protoFragment, protoDest); kind {
		case protoFragment:
			body = append([]byte{proto, 0, 0, byte(m.r.IntN(2)), 0, 0, 0, 7}, body...)
			proto = kind
		default:
			n := m.r.IntN(2)
			body = append(append([]byte{proto, byte(n)}, make([]byte, 6+8*n)...), body...)
			proto = kind
		}
	}
	h := make([]byte, 40)
	h[0] = 0x60
	binary.BigEndian.PutUint16(h[4:], uint16(len(body)))
	h[6], h[7] = proto, 64
	copy(h[8:], m.addr6())
	copy(h[24:], m.addr6())
	return append(h, body...)
}

func (m *maker) port() uint16 { return pick[uint16](m, 22, 53, 80, 443, 12345, 40000, 4789) }

// transport generates the payload of an IP packet and returns it with its protocol number.
func (m *maker) transport(depth int, v6 bool) (proto byte, body []byte) {
	ports := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, m.port()), m.port())
	payload := m.bytes(pick(m, 0, 1, 10, 64, 200, 1200))
	switch m.r.IntN(12) {
	case 0, 1, 2, 3, 4:
		h := append(ports, m.bytes(8)...)
		options := make([]byte, 4*m.r.IntN(4))
		h = append(h, byte(5+len(options)/4)<<4, pick[byte](m, 0x02, 0x10, 0x12, 0x18, 0x11, 0x04, 0x00), 0xfa, 0xf0, 0, 0, 0, 0)
		return protoTCP, append(append(h, options...), payload...)
	case 5, 6, 7:
		h := binary.BigEndian.AppendUint16(ports, uint16(8+len(payload)))
		return protoUDP, append(append(h, 0, 0), payload...)
	case 8:
		if v6 {
			return protoICMPv6, append([]byte{128, 0, 0, 0, 0, 1, 0, 2}, payload...)
		}
		return protoICMP, append([]byte{8, 0, 0, 0, 0, 1, 0, 2}, payload...)
	case 9:
		return protoSCTP, append(ports, m.bytes(20)...)
	case 10:
		return protoGRE, append([]byte{0, 0, 8, 0}, m.inner(depth)...)
	}
	return protoIPIP, m.inner(depth)
}

func (m *maker) inner(depth int) []byte {
	const deepest = 2
	if depth >= deepest {
		return m.bytes(20)
	}
	return m.ipv4(depth + 1)
}

// spoil truncates a frame or corrupts one of its bytes.
func (m *maker) spoil(f []byte) []byte {
	f = append([]byte(nil), f...)
	if m.oneIn(2) || len(f) <= least {
		return f[:max(least, m.r.IntN(len(f)+1))]
	}
	at := least + m.r.IntN(min(len(f)-least, 50))
	f[at] = byte(m.r.Uint32())
	return f
}
