package kernel

import (
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
)

// What programs of packet types take (net/bpf/test_run.c bpf_test_init, bpf_prog_test_run_xdp).
const (
	leastFrame = ethHeader
	mostXDP    = xdpFrame - xdpHeadroom - xdpTailroom
)

// FrameLimits returns how long a packet for programs of a type may be, from its Ethernet header on; most is 0 for programs
// that take none. frags says that the program takes XDP packets of several buffers.
func FrameLimits(t uapi.ProgType, frags bool) (least, most int) {
	switch {
	case progtype.Of(t).FragsByFlag && !frags:
		return leastFrame, mostXDP
	case progtype.Of(t).Takes.Has(progtype.TakesPacket):
		return leastFrame, maxPacket
	}
	return 0, 0
}

// FrameIn is the packet the context was made with, from its Ethernet header on; nil without packet.
func (c *Context) FrameIn() []byte {
	if c.Packet == nil {
		return nil
	}
	data := c.k.packetBytes(c)
	if in := c.spec.Bytes; c.Packet.xdp && len(in) >= 12 { // the context says where metadata ends and the packet
		data = data[c.k.Order().Uint32(in):]
	}
	return data
}

// Frame is the packet as it is now, from its Ethernet header on and without metadata; nil without packet. It stays valid until the
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
	for i := range c.view.fields {
		f := &c.view.fields[i]
		var at *uint64
		switch f.kind {
		case dataField:
			at = &c.Packet.data
		case dataEndField:
			at = &c.Packet.end
		case dataMetaField:
			at = &c.Packet.meta
		}
		if at == nil || f.size != 4 || !c.view.may(f, false) {
			continue
		}
		for len(out) <= int(f.off/4) {
			out = append(out, nil)
		}
		out[f.off/4] = at
	}
	return out
}

// Refill gives a context one packet after another, without making it anew.
type Refill struct {
	c     *Context
	was   Packet
	vals  []uint64
	frame []byte // of the packet's whole memory
	start int    // of the data in it
	head  int    // of the headroom
	tail  uint64 // bytes behind the data, of an sk_buff whatever its length
}

// Refill prepares a context that no program has run with yet. Nil for those that have to be made anew for each packet.
func (c *Context) Refill() *Refill {
	if c.view == nil || c.Packet == nil || len(c.spec.Bytes) != 0 || len(c.more) != 0 || len(c.Packet.frags) != 0 || len(c.spec.Fields) != 0 {
		return nil
	}
	p := c.Packet
	if c.view.typ != "xdp_md" && c.view.typ != "__sk_buff" {
		return nil
	}
	base, _ := p.region.Extent()
	r := &Refill{
		c: c, was: *p, vals: append([]uint64(nil), c.view.vals...),
		frame: c.k.Mem().ExtentBytes(p.region), start: int(p.data - base), head: int(p.min - base),
	}
	if !p.xdp {
		r.tail = p.max - p.end
	}
	return r
}

// With makes the context that of another packet, as if it were new. False when it cannot: the program moved the packet, or this one
// does not fit; then it has to be made anew. called says that the program may have called functions since, which alone move the packet's bounds.
func (r *Refill) With(frame []byte, called bool) bool {
	p, c := r.c.Packet, r.c
	if len(frame) < leastFrame {
		return false
	}
	data := frame[r.was.lead:]
	size := uint64(len(data))
	if p.region != r.was.region || p.region.Freed || len(p.frags) != 0 || uint64(r.start)+size+r.tail > uint64(len(r.frame)) || p.xdp && size > mostXDP {
		return false
	}
	if called {
		*p = r.was
		clear(r.frame[r.head:r.start]) // what the last program left in the headroom
	}
	p.end = p.data + size
	copy(r.frame[r.start:], data)
	if (p.region.Base != p.meta || p.region.Size != size) && p.bound() != nil {
		return false
	}
	c.spec.Packet = frame
	if p.xdp {
		copy(c.view.vals, r.vals)
		return true
	}
	p.max = p.end + r.tail
	if c.own != nil {
		c.own.free()
	}
	clear(c.view.vals)
	return c.k.receive(c, c.view, frame[:ethHeader]) == nil
}
