package hook

import (
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// FrameLimits returns the minimum and maximum length in bytes of a packet for programs of a type,
// Ethernet header included; most is 0 for programs without packets. frags means that the program
// supports multi-buffer XDP packets.
func FrameLimits(t uapi.ProgType, frags bool) (least, most int) {
	switch {
	case progtype.Of(t).FragsByFlag && !frags:
		return net.LeastFrame, net.MostXDP
	case progtype.Of(t).Takes.Has(progtype.TakesPacket):
		return net.LeastFrame, net.MaxPacket
	}
	return 0, 0
}

// FrameIn returns the packet that the context was created with, starting with its Ethernet header;
// nil if there is none.
func (c *Context) FrameIn() []byte {
	if c.Packet == nil {
		return nil
	}
	data := c.k.packetBytes(c)
	if in := c.spec.Bytes; c.Packet.XDP() && len(in) > 0 { // the context contains the bounds of metadata and packet
		data = data[c.k.Order().Uint32(in):]
	}
	return data
}

// Frame returns the current packet, starting with its Ethernet header and without metadata; nil if
// there is none. It is valid until the packet changes.
func (c *Context) Frame() []byte {
	if c.Packet == nil {
		return nil
	}
	if link := c.LinkHeader(); len(link) > 0 {
		return append(append([]byte{}, link...), c.Packet.Whole()...)
	}
	return c.Packet.Whole()
}

// Words lists the words of the context that always yield a value of the packet, its addresses.
// Entry i is for the four bytes at offset 4*i; nil where the context's view decides.
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

// Refill puts one packet after another into a context, without creating it anew.
type Refill struct {
	c      *Context
	vals   []uint64
	packet *net.Reuse
}

// Refill prepares a context that no program has used yet. It returns nil for those that must be
// created anew for each packet.
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

// With replaces the context's packet, as if it were new. It returns false if that is not possible,
// because the program moved the packet or the frame does not fit; the context must then be created
// anew. called means that the program may have called functions, the only way to move the packet's
// bounds.
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
