package kernel

// LinkHeader returns the Ethernet header that lies before the packet's data, for program types whose data starts at the
// network header; empty for all others.
func (c *Context) LinkHeader() []byte {
	if c.Packet == nil || c.Packet.lead == 0 {
		return nil
	}
	frame := c.k.packetBytes(c)
	return frame[:min(len(frame), c.Packet.lead)]
}

// FlowHash is the hash of a packet's flow, from its network header on: of addresses, protocol and ports where it has
// them. It is never 0. The kernel's depends on a random key, this one on the seed.
func (k *Kernel) FlowHash(p []byte) uint32 {
	const ports = 4
	var flow []byte
	switch {
	case len(p) >= 20 && p[0]>>4 == 4:
		flow = append(append(flow, p[9]), p[12:20]...)
		if n := int(p[0]&15) * 4; (p[9] == ipprotoTCP || p[9] == ipprotoUDP) && len(p) >= n+ports {
			flow = append(flow, p[n:n+ports]...)
		}
	case len(p) >= 40 && p[0]>>4 == 6:
		flow = append(append(flow, p[6]), p[8:40]...)
		if (p[6] == ipprotoTCP || p[6] == ipprotoUDP) && len(p) >= 40+ports {
			flow = append(flow, p[40:40+ports]...)
		}
	}
	h := k.hash("flow", string(flow))
	return max(uint32(h)^uint32(h>>32), 1)
}

const ipprotoUDP = 17

// Device is a network interface of the simulated machine.
type Device struct {
	Index    uint32
	Name     string
	MTU      int
	Loopback bool
}

// devices are the interfaces there are: loopback and one Ethernet card.
var devices = [...]Device{
	{Index: loopbackIndex, Name: "lo", MTU: 65536, Loopback: true},
	{Index: ethernetIndex, Name: "eth0", MTU: 1500},
}

// Device returns the interface with that index; ok is false when there is none.
func (k *Kernel) Device(index uint32) (d Device, ok bool) {
	for _, d := range devices {
		if d.Index == index {
			return d, true
		}
	}
	return Device{}, false
}

// DeviceOf returns the interface a packet belongs to: the context's ifindex or, of XDP, ingress_ifindex.
func (c *Context) DeviceOf() (Device, bool) {
	for _, name := range [...]string{"ifindex", "ingress_ifindex"} {
		if i, ok := c.Field(name); ok {
			return c.k.Device(uint32(i))
		}
	}
	return Device{}, false
}

// SocketCookie is the cookie of the socket of a context's packet (sock_gen_cookie): of the default sockets it comes from
// the seed.
func (c *Context) SocketCookie() uint64 {
	if sk, ok := c.Field("sk"); !ok || sk == 0 {
		return 0
	}
	return 1 + c.k.hash("skb.sk", "cookie")%(1<<16)
}

// NetnsCookie is the cookie of the initial network namespace, the first one given out.
func (k *Kernel) NetnsCookie() uint64 { return 1 }
