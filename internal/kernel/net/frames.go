package net

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Lengths of packets in bytes, Ethernet header included (net/bpf/test_run.c bpf_test_init,
// bpf_prog_test_run_xdp).
const (
	LeastFrame = EthHeader
	MostXDP    = XDPFrame - xdpHeadroom - xdpTailroom // of the linear part
)

// NewXDP places a frame as BPF_PROG_TEST_RUN does for XDP: in a page with 256 bytes of headroom.
// Its first meta bytes are metadata. What does not fit into the page becomes fragments, followed by
// rest and frags.
func (h *Host) NewXDP(data []byte, meta int, rest []byte, frags [][]byte) (*Packet, error) {
	if most := MostXDP + meta; len(data) > most {
		data, rest = data[:most], append(data[most:len(data):len(data)], rest...)
	}
	room := MostXDP - (len(data) - meta)
	p, err := h.newPacket("xdp", data, uint64(xdpHeadroom-meta), uint64(max(room, 0)), 0, false)
	if err != nil {
		return nil, err
	}
	p.xdp = true
	p.data += uint64(meta)
	// placeAt rounds up the headroom; the padding must not become part of the frame.
	p.min = p.data - xdpHeadroom
	if err := p.bound(); err != nil {
		return nil, err
	}
	return p, p.extend(rest, frags)
}

// NewSkb places the packet of an sk_buff. If l2 is false, the Ethernet header counts as already
// removed, and Out puts zeros in its place.
func (h *Host) NewSkb(data []byte, l2, readOnly, cloned bool, frags [][]byte) (*Packet, error) {
	lead := 0
	if !l2 {
		data, lead = data[min(len(data), EthHeader):], EthHeader
	}
	p, err := h.newPacket("skb", data, skbHeadroom, skbTailroom, sharedRoom, readOnly)
	if err != nil {
		return nil, err
	}
	p.lead, p.cloned = lead, cloned
	return p, p.extend(nil, frags)
}

// extend adds fragments after the linear part: bytes that did not fit into it, then the given ones.
func (p *Packet) extend(rest []byte, frags [][]byte) error {
	if err := p.addFrags(rest); err != nil {
		return err
	}
	for _, f := range frags {
		if len(f) == 0 || len(f) > uapi.PageSize {
			return fmt.Errorf("kernel: fragment of %d bytes, want 1 to %d", len(f), uapi.PageSize)
		}
		if len(p.frags) == maxFrags {
			return fmt.Errorf("kernel: more than %d fragments: %w", maxFrags, uapi.ENOMEM)
		}
		if err := p.addFrag(f); err != nil {
			return err
		}
	}
	return nil
}

// XDP reports whether the packet is that of an XDP program.
func (p *Packet) XDP() bool { return p.xdp }

// Lead returns the length in bytes of the link header before the data, 0 if the data begins with
// it.
func (p *Packet) Lead() int { return p.lead }

// Word returns the storage of a packet address field, nil for other fields.
func (p *Packet) Word(kind fieldKind) *uint64 {
	switch kind {
	case DataField:
		return &p.data
	case DataEndField:
		return &p.end
	case DataMetaField:
		return &p.meta
	}
	return nil
}

// Reuse puts one frame after another into the memory of a packet.
type Reuse struct {
	p     *Packet
	was   Packet
	frame []byte // of the packet's whole memory
	start int    // of the data in it
	head  int    // of the headroom
	tail  uint64 // bytes after the data of an sk_buff, whatever its length
}

// Reuse prepares a packet that no program has changed yet. It returns nil for packets with
// fragments.
func (p *Packet) Reuse() *Reuse {
	if len(p.frags) != 0 {
		return nil
	}
	base, _ := p.region.Extent()
	r := &Reuse{p: p, was: *p, frame: p.buffer(), start: int(p.data - base), head: int(p.min - base)}
	if !p.xdp {
		r.tail = p.max - p.end
	}
	return r
}

// With replaces the packet's frame, as if it were new. It returns false if that is not possible,
// because the program moved the packet or the frame does not fit; the packet must then be created
// anew. called means that the program may have called functions, the only way to move the packet's
// bounds.
func (r *Reuse) With(frame []byte, called bool) bool {
	p := r.p
	if len(frame) < LeastFrame {
		return false
	}
	data := frame[r.was.lead:]
	size := uint64(len(data))
	if !p.rewind(r.was.region) || p.region.Freed || len(p.frags) != 0 || uint64(r.start)+size+r.tail > uint64(len(r.frame)) {
		return false
	}
	if called {
		places := p.places
		*p = r.was
		p.places = places
		clear(r.frame[r.head:r.start]) // what the last program left in the headroom
	}
	p.end = p.data + size
	copy(r.frame[r.start:], data)
	if (p.region.Base != p.meta || p.region.Size != size) && p.bound() != nil {
		return false
	}
	if !p.xdp {
		p.max = p.end + r.tail
	}
	return true
}

// FlowSocket creates the socket that a test run gives a packet: closed, without ports, with the
// packet's addresses. ip is the packet starting with its network header, proto its protocol. before
// is the socket of the context's previous packet, or nil: it becomes the new one if nothing can
// lead to it any more, as most programs never look at theirs.
func (h *Host) FlowSocket(proto uint16, ip []byte, before *Socket) *Socket {
	s := before
	if s == nil || s.shown || s.obj != nil || s.key != 0 || s.age != h.snapshots {
		s = new(Socket)
	}
	*s = Socket{k: h, role: "skb.sk", age: h.snapshots}
	s.vals[SockState], s.vals[sockRxQueue] = TCPClose, 0xffffffff
	s.vals[sockCookie] = 1 + h.Hash("skb.sk", "cookie")%(1<<16)
	switch {
	case proto == EtherIPv4 && len(ip) >= 20:
		s.vals[SockFamily] = uapi.AFInet
		s.vals[SockSrcIP4], s.vals[SockDstIP4] = uint64(h.Order().Uint32(ip[12:])), uint64(h.Order().Uint32(ip[16:]))
	case proto == EtherIPv6 && len(ip) >= 40:
		s.vals[SockFamily] = uapi.AFInet6
		for i := range 4 {
			s.vals[int(SockSrcIP6)+i], s.vals[int(SockDstIP6)+i] = uint64(h.Order().Uint32(ip[8+4*i:])), uint64(h.Order().Uint32(ip[24+4*i:]))
		}
	}
	return s
}

// Value returns a value of the socket.
func (s *Socket) Value(v Value) uint64 { return s.vals[v] }

// IsOpen reports whether lookups find the socket.
func (s *Socket) IsOpen() bool { return s.open }
