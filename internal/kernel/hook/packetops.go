package hook

import (
	"net/netip"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// LinkHeader returns the Ethernet header before the packet's data, for program types whose data
// starts at the network header; nil for all others.
func (c *Context) LinkHeader() []byte {
	if c.Packet == nil || c.Packet.Lead() == 0 {
		return nil
	}
	frame := c.k.packetBytes(c)
	return frame[:min(len(frame), c.Packet.Lead())]
}

// DeviceOf returns the index of the interface a packet belongs to: the context's ifindex or, for
// XDP, ingress_ifindex.
func (c *Context) DeviceOf() (net.Device, bool) {
	for _, name := range [...]string{"ifindex", "ingress_ifindex"} {
		if i, ok := c.Field(name); ok {
			return c.k.Device(uint32(i))
		}
	}
	return net.Device{}, false
}

// Socket returns the socket of a packet, connection or system call that a context belongs to, or
// nil.
func (c *Context) Socket() *net.Socket {
	if c.view == nil {
		return nil
	}
	if f, ok := c.Field("sk"); ok && f == 0 && c.view.Field("sk").Kind == net.WideField {
		return nil
	}
	return c.view.Socket
}

// Assign implements bpf_sk_assign for a tc program, which is allowed only at ingress and with a
// socket that lookups find.
func (c *Context) Assign(s *net.Socket, flags uint64) uapi.Errno {
	switch {
	case s == nil || flags != 0:
		return uapi.EINVAL
	case !c.Ingress():
		return uapi.EOPNOTSUPP
	case !s.IsOpen() || c.view == nil || c.view.Index("sk") < 0:
		return uapi.EOPNOTSUPP
	}
	c.Carry(s)
	return 0
}

// Carry makes a socket that of the packet.
func (c *Context) Carry(s *net.Socket) {
	if c.view == nil || c.view.Index("sk") < 0 {
		return
	}
	c.view.Socket = s
	c.view.Field("sk").Kind = net.SocketField
	c.skbSockFields(c.view)
}

// Ingress reports whether the packet is incoming. Programs of the older attachment run as in a test
// run, which is neither ingress nor egress.
func (c *Context) Ingress() bool {
	at := progtype.Of(c.spec.ProgType).Attached(c.spec.Attach)
	return c.spec.Ingress || at != nil && at.Ingress
}

// Received is what a network card reports about a packet besides its bytes. Zero fields are not
// reported.
type Received struct {
	Timestamp      uint64
	Hash, HashType uint32
	VLANProto      uint16
	VLANTCI        uint16
}

// Received returns what the network card reports about the packet, or nil.
func (c *Context) Received() *Received { return c.spec.Received }

// Tunnel is the kernel's record of the tunnel that a packet came through; Remote is the sender.
// Both addresses are of one family.
type Tunnel struct {
	ID            uint32
	Remote, Local netip.Addr
	TOS, TTL      uint8
	Flags         uint16 // TUNNEL_* (include/uapi/linux/if_tunnel.h)
	Options       []byte
	// SourcePort and DestPort are those of an encapsulation in UDP (FOU, GUE).
	SourcePort, DestPort uint16
}

// Xfrm is what an XFRM interface says about a packet: the if_id of the state that it matched, and
// the device it came from.
type Xfrm struct {
	ID   uint32
	Link int32
}

// Xfrm returns the metadata of the XFRM interface that the packet came through, or nil.
func (c *Context) Xfrm() *Xfrm { return c.spec.Xfrm }

// Tunnel returns the tunnel that the packet came through, or nil.
func (c *Context) Tunnel() *Tunnel { return c.spec.Tunnel }

// Summed returns the skb->ip_summed that the packet arrived with.
func (c *Context) Summed() Summed { return c.spec.Summed }

// Came returns the packet as it arrived, including fragments, without a link header that the
// program does not see.
func (c *Context) Came() []byte {
	frame := c.k.packetBytes(c)
	out := append([]byte(nil), frame[min(len(frame), c.Packet.Lead()):]...)
	for _, f := range c.spec.Frags {
		out = append(out, f...)
	}
	return out
}
