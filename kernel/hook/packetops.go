package hook

import (
	"net/netip"

	"github.com/bpfrun/bpfrun/kernel/net"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
)

// LinkHeader returns the Ethernet header that lies before the packet's data, for program types whose data starts at the
// network header; empty for all others.
func (c *Context) LinkHeader() []byte {
	if c.Packet == nil || c.Packet.Lead() == 0 {
		return nil
	}
	frame := c.k.packetBytes(c)
	return frame[:min(len(frame), c.Packet.Lead())]
}

// DeviceOf returns the interface a packet belongs to: the context's ifindex or, of XDP, ingress_ifindex.
func (c *Context) DeviceOf() (net.Device, bool) {
	for _, name := range [...]string{"ifindex", "ingress_ifindex"} {
		if i, ok := c.Field(name); ok {
			return c.k.Device(uint32(i))
		}
	}
	return net.Device{}, false
}

// Socket returns the socket a context belongs to: of a packet, of a connection, of a system call. Nil when it has none.
func (c *Context) Socket() *net.Socket {
	if c.view == nil {
		return nil
	}
	if f, ok := c.Field("sk"); ok && f == 0 && c.view.Field("sk").Kind == net.WideField {
		return nil
	}
	return c.view.Socket
}

// Assign is bpf_sk_assign of a tc program, which only one at ingress may do, with a socket that lookups find.
func (c *Context) Assign(s *net.Socket, flags uint64) uapi.Errno {
	switch {
	case s == nil || flags != 0:
		return uapi.EINVAL
	case !c.ingress():
		return uapi.EOPNOTSUPP
	case !s.IsOpen() || c.view == nil || c.view.Index("sk") < 0:
		return uapi.EOPNOTSUPP
	}
	c.view.Socket = s
	c.view.Field("sk").Kind = net.SocketField
	c.k.skbSockFields(c.view)
	return 0
}

// ingress reports whether the packet comes in. Programs of the older attachment run as in a test run, which is neither way.
func (c *Context) ingress() bool {
	at := progtype.Of(c.spec.ProgType).Attached(c.spec.Attach)
	return c.spec.Ingress || at != nil && at.Ingress
}

// Received is what a network card says of a packet besides its bytes. What is zero it does not say.
type Received struct {
	Timestamp      uint64
	Hash, HashType uint32
	VLANProto      uint16
	VLANTCI        uint16
}

// Received returns what the network card says of the packet, nil when nothing.
func (c *Context) Received() *Received { return c.spec.Received }

// Tunnel is what the kernel keeps of the tunnel a packet came through: remote is who sent it. Addresses are of one family.
type Tunnel struct {
	ID            uint32
	Remote, Local netip.Addr
	TOS, TTL      uint8
	Flags         uint16 // TUNNEL_* (include/uapi/linux/if_tunnel.h)
	Options       []byte
}

// Tunnel returns the tunnel the packet came through, nil without.
func (c *Context) Tunnel() *Tunnel { return c.spec.Tunnel }

// Summed is skb->ip_summed as the packet came.
func (c *Context) Summed() Summed { return c.spec.Summed }

// Came returns the packet as it came, fragments included, without a link header that the program does not see.
func (c *Context) Came() []byte {
	frame := c.k.packetBytes(c)
	out := append([]byte(nil), frame[min(len(frame), c.Packet.Lead()):]...)
	for _, f := range c.spec.Frags {
		out = append(out, f...)
	}
	return out
}
