package hook

import (
	"github.com/bpfrun/bpfrun/kernel/net"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
)

// FrameLimits returns how long a packet for programs of a type may be, from its Ethernet header on; most is 0 for programs
// that take none. frags says that the program takes XDP packets of several buffers.
func FrameLimits(t uapi.ProgType, frags bool) (least, most int) {
	switch {
	case progtype.Of(t).FragsByFlag && !frags:
		return net.LeastFrame, net.MostXDP
	case progtype.Of(t).Takes.Has(progtype.TakesPacket):
		return net.LeastFrame, net.MaxPacket
	}
	return 0, 0
}

// FrameIn returns the packet the context was made with, from its Ethernet header on; nil without packet.
func (c *Context) FrameIn() []byte {
	if c.Packet == nil {
		return nil
	}
	data := c.k.packetBytes(c)
	if in := c.spec.Bytes; c.Packet.XDP() && len(in) >= 12 { // the context says where metadata ends and the packet
		data = data[c.k.Order().Uint32(in):]
	}
	return data
}

// Frame returns the packet as it is now, from its Ethernet header on and without metadata; nil without packet. It stays valid until the
// packet changes.
func (c *Context) Frame() []byte {
	if c.Packet == nil {
		return nil
	}
	if link := c.LinkHeader(); len(link) > 0 {
		return append(append([]byte{}, link...), c.Packet.Whole()...)
	}
	return c.Packet.Whole()
}

// Words lists what the words of the context are that yield a value of the packet, whatever the program: its addresses. Entry i is about
// the four bytes at offset 4*i; nil where the context decides.
func (c *Context) Words() []*uint64 {
	if c.view == nil || c.Packet == nil {
		return nil
	}
	var out []*uint64
	for i := range c.view.Fields {
		f := &c.view.Fields[i]
		at := c.Packet.Word(f.Kind)
		if at == nil || f.Size != 4 || !c.view.Readable(f) {
			continue
		}
		for len(out) <= int(f.Off/4) {
			out = append(out, nil)
		}
		out[f.Off/4] = at
	}
	return out
}

// Refill gives a context one packet after another, without making it anew.
type Refill struct {
	c      *Context
	vals   []uint64
	packet *net.Reuse
}

// Refill prepares a context that no program has run with yet. Nil for those that have to be made anew for each packet.
func (c *Context) Refill() *Refill {
	if c.view == nil || c.Packet == nil || len(c.spec.Bytes) != 0 || len(c.more) != 0 || len(c.spec.Fields) != 0 {
		return nil
	}
	if c.view.Layout.User != "xdp_md" && c.view.Layout.User != "__sk_buff" {
		return nil
	}
	r := &Refill{c: c, vals: append([]uint64(nil), c.view.Values...), packet: c.Packet.Reuse()}
	if r.packet == nil {
		return nil
	}
	return r
}

// With makes the context that of another packet, as if it were new. False when it cannot: the program moved the packet, or this one
// does not fit; then it has to be made anew. called says that the program may have called functions since, which alone move the packet's bounds.
func (r *Refill) With(frame []byte, called bool) bool {
	c := r.c
	if !r.packet.With(frame, called) {
		return false
	}
	c.spec.Packet = frame
	if c.Packet.XDP() {
		copy(c.view.Values, r.vals)
		return true
	}
	if c.own != nil {
		c.own.Free()
	}
	clear(c.view.Values)
	return c.k.receive(c, c.view, frame[:net.EthHeader]) == nil
}
