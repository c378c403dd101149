package hook

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

var xdpFields = fieldsOf(uapi.ProgTypeXDP, packetWords)

// packetWords are the context fields whose values come from the packet.
func packetWords() map[string]net.Source {
	return map[string]net.Source{
		"data": {Kind: net.DataField}, "data_end": {Kind: net.DataEndField}, "data_meta": {Kind: net.DataMetaField}, "len": {Kind: net.LenField},
		"sk": {Kind: net.SocketField},
	}
}

func (h *Hooks) packetBytes(c *Context) []byte {
	if len(c.spec.Packet) == 0 {
		return net.DefaultPacket()
	}
	return c.spec.Packet
}

// xdpContext creates an xdp_md as BPF_PROG_TEST_RUN does: a page with 256 bytes of headroom.
func (h *Hooks) xdpContext(c *Context) error {
	data, meta := h.packetBytes(c), 0
	var rest []byte // what does not fit into the linear part
	le := h.Order()
	in := c.spec.Bytes
	if len(in) > 0 {
		if !c.spec.TestRun && le.Uint32(in[4:]) == 0 {
			le.PutUint32(in[4:], uint32(len(data))) // only bpf(2) can mean an empty linear part
		}
		first, end, err := h.xdpIn(in, len(data))
		if err != nil {
			return err
		}
		rest, data, meta = data[end:], data[:end], first
	}
	p, err := h.NewXDP(data, meta, rest, c.spec.Frags)
	c.Packet = p
	if err != nil {
		return err
	}
	v := h.newView(c, xdpFields, c.spec.ProgType.String())
	v.Packet = p
	v.Out = func(v *net.View) []byte {
		b := make([]byte, 24)
		copy(b, in)
		le.PutUint32(b[0:], uint32(p.Data()-p.Meta()))
		le.PutUint32(b[4:], uint32(p.DataEnd()-p.Meta()))
		return b
	}
	if err := c.attach(v); err != nil {
		return err
	}
	v.Put("ingress_ifindex", net.LoopbackIndex)
	if len(in) > 0 {
		if i := le.Uint32(in[12:]); i != 0 {
			v.Put("ingress_ifindex", uint64(i))
			v.Put("rx_queue_index", uint64(le.Uint32(in[16:])))
		}
	}
	return nil
}

var skbFields = fieldsOf(uapi.ProgTypeSchedCls, packetWords)

const skbSize = 192

// linkLayer reports whether the data of programs of that type starts at the Ethernet header, not at
// the network header.
func linkLayer(t uapi.ProgType) bool { return progtype.Of(t).Layer == progtype.Link }

// skbContext creates a __sk_buff as BPF_PROG_TEST_RUN does (net/bpf/test_run.c
// bpf_prog_test_run_skb).
func (h *Hooks) skbContext(c *Context) error {
	row := progtype.Of(c.spec.ProgType)
	data := h.packetBytes(c)
	eth := data[:min(len(data), net.EthHeader)]
	in := c.spec.Bytes
	linear, err := h.linearIn(row, in, len(data))
	if err != nil {
		return err
	}
	frags := slices.Concat(pages(data[linear:]), c.spec.Frags)
	p, err := h.NewSkb(data[:linear], row.Layer == progtype.Link, row.Packet != progtype.WritesPacket, c.spec.Cloned, frags)
	c.Packet = p
	if err != nil {
		return err
	}
	v := h.newView(c, skbFields, c.spec.ProgType.String())
	v.Packet = p
	var length uint32 // before the program runs
	v.Out = func(v *net.View) []byte {
		out := h.skbOut(v, in)
		if len(in) == 0 { // a test run that only asks for the context begins with one of zeros (bpf_ctx_init)
			h.Order().PutUint32(out[160:], length)
		}
		return out
	}
	if err := c.attach(v); err != nil {
		return err
	}
	err = h.receive(c, v, eth)
	length = uint32(p.Len())
	return err
}

// pages divides what does not fit into the linear part of a test run's packet into fragments.
func pages(rest []byte) [][]byte {
	var out [][]byte
	for p := range slices.Chunk(rest, uapi.PageSize) {
		out = append(out, p)
	}
	return out
}

// receive sets the fields of a __sk_buff that depend on its packet.
func (h *Hooks) receive(c *Context, v *net.View, eth []byte) error {
	in := c.spec.Bytes
	proto := uint16(0)
	if len(eth) == net.EthHeader {
		proto = etherType(h.packetBytes(c))
		// skb->protocol is in network byte order, so loading it yields htons of the protocol.
		v.Put("protocol", uint64(h.Order().Uint16([]byte{byte(proto >> 8), byte(proto)})))
		switch {
		case !loopback(in, h.Order()) && eth[0] == 0xff && eth[1] == 0xff && eth[2] == 0xff && eth[3] == 0xff && eth[4] == 0xff && eth[5] == 0xff:
			v.Put("pkt_type", 1)
		case eth[0]&1 != 0:
			v.Put("pkt_type", 2)
		case eth[0]|eth[1]|eth[2]|eth[3]|eth[4]|eth[5] != 0:
			v.Put("pkt_type", 3) // not the address of the loopback device: PACKET_OTHERHOST
		}
	}
	v.Put("ifindex", net.LoopbackIndex)
	if err := h.skbSock(c, v, proto); err != nil {
		return err
	}
	return h.skbIn(v, in)
}

// etherType returns the protocol of a frame: its type or, if the field is a length, one of two
// constants (eth_type_trans).
func etherType(frame []byte) uint16 {
	const (
		least      = 0x0600
		etherNovel = 0x0001 // ETH_P_802_3: the payload starts with ones
		etherLLC   = 0x0004 // ETH_P_802_2
	)
	typ, rest := binary.BigEndian.Uint16(frame[12:]), frame[net.EthHeader:]
	switch {
	case typ >= least:
		return typ
	case len(rest) >= 2 && rest[0] == 0xff && rest[1] == 0xff:
		return etherNovel
	}
	return etherLLC
}

// loopback reports whether a test run with that ctx_in uses the loopback device, which has no
// broadcast address.
func loopback(in []byte, order binary.ByteOrder) bool {
	const ifindex = 40
	return len(in) < ifindex+4 || order.Uint32(in[ifindex:]) <= net.LoopbackIndex
}

// skbIn applies ctx_in (convert___skb_to_skb).
func (h *Hooks) skbIn(v *net.View, in []byte) error {
	if len(in) == 0 {
		return nil
	}
	le := h.Order()
	const segs, segSize, dataEnd = 164, 176, 80
	allowed := [...][2]int{{8, 12}, {32, 44}, {48, 68}, {152, 168}, {segSize, segSize + 4}, {184, 192}}
	linear := since.Of(h.Version()).Has(since.TestFrags)
	for i, b := range in {
		ok := b == 0 || linear && i >= dataEnd && i < dataEnd+4
		for _, r := range allowed {
			ok = ok || i >= r[0] && i < r[1]
		}
		if !ok {
			return fmt.Errorf("kernel: ctx_in sets byte %d of __sk_buff, which a test run does not accept: %w", i, uapi.EINVAL)
		}
	}
	for _, f := range [...]struct {
		name string
		off  int
	}{{"mark", 8}, {"priority", 32}, {"ingress_ifindex", 36}, {"cb[0]", 48}, {"cb[1]", 52}, {"cb[2]", 56}, {"cb[3]", 60}, {"cb[4]", 64}} {
		v.Put(f.name, uint64(le.Uint32(in[f.off:])))
	}
	if i := le.Uint32(in[40:]); i > net.LoopbackIndex {
		if err := h.deviceIn(i, 0); err != nil {
			return err
		}
		v.Put("ifindex", uint64(i))
	}
	if n := le.Uint32(in[segs:]); n > 0xffff {
		return fmt.Errorf("kernel: gso_segs %d, at most 65535: %w", n, uapi.EINVAL)
	}
	v.Put("gso_segs", uint64(le.Uint32(in[segs:])))
	v.Put("gso_size", uint64(uint16(le.Uint32(in[segSize:]))))
	v.Put("tstamp", le.Uint64(in[152:]))
	v.Put("hwtstamp", le.Uint64(in[184:]))
	wire := uint64(le.Uint32(in[160:]))
	switch n := uint64(v.Packet.Len()); {
	case wire == 0:
		wire = n
	case wire < n || wire > 65536:
		return fmt.Errorf("kernel: wire_len %d of a packet of %d bytes: %w", wire, n, uapi.EINVAL)
	}
	v.Put("wire_len", wire)
	return nil
}

// skbOut returns ctx_out (convert_skb_to___skb): ctx_in with the fields that the program may have
// changed.
func (h *Hooks) skbOut(v *net.View, in []byte) []byte {
	b := make([]byte, skbSize)
	copy(b, in)
	le := h.Order()
	for _, f := range [...]struct {
		name string
		off  int
	}{{"mark", 8}, {"priority", 32}, {"ingress_ifindex", 36}, {"ifindex", 40}, {"cb[0]", 48}, {"cb[1]", 52}, {"cb[2]", 56}, {"cb[3]", 60}, {"cb[4]", 64}, {"wire_len", 160}, {"gso_segs", 164}} {
		le.PutUint32(b[f.off:], uint32(v.Get(f.name)))
	}
	le.PutUint64(b[152:], v.Get("tstamp"))
	le.PutUint64(b[184:], v.Get("hwtstamp"))
	return b
}

// skbSock sets the packet's socket: that of the context, else the one that a test run creates:
// closed, without ports, with the packet's addresses.
func (h *Hooks) skbSock(c *Context, v *net.View, proto uint16) error {
	if c.spec.NoSocket {
		v.Field("sk").Kind = net.WideField // NULL
		return nil
	}
	if o := c.spec.Socket; o != nil {
		s, err := h.SocketOf(o)
		if err != nil {
			return err
		}
		v.Socket = s
		c.skbSockFields(v)
		return nil
	}
	ip := v.Packet.Bytes()
	if linkLayer(c.spec.ProgType) {
		ip = ip[min(len(ip), net.EthHeader):]
	}
	s := h.FlowSocket(proto, ip, c.flow)
	v.Socket, c.own, c.flow = s, s, s
	c.skbSockFields(v)
	return nil
}

// skbSockFields copies the socket's fields that __sk_buff shows.
func (c *Context) skbSockFields(v *net.View) {
	if c.skb == nil { // found once: contexts are filled again for millions of packets
		for i := range skbSocket {
			c.skb = append(c.skb, v.Index(skbSocket[i].name))
		}
	}
	for i, at := range c.skb {
		if at < 0 {
			continue
		}
		x := v.Socket.Value(skbSocket[i].of)
		if skbSocket[i].of == net.SockDstPort {
			x = c.k.PortWord(x)
		}
		v.SetValue(&v.Fields[at], x)
	}
}

// skbSocket are the fields of __sk_buff that are its socket's.
var skbSocket = [...]struct {
	name string
	of   net.Value
}{
	{"family", net.SockFamily}, {"local_ip4", net.SockSrcIP4}, {"remote_ip4", net.SockDstIP4}, {"local_port", net.SockSrcPort}, {"remote_port", net.SockDstPort},
	{"local_ip6[0]", net.SockSrcIP6}, {"local_ip6[1]", net.SockSrcIP6 + 1}, {"local_ip6[2]", net.SockSrcIP6 + 2}, {"local_ip6[3]", net.SockSrcIP6 + 3},
	{"remote_ip6[0]", net.SockDstIP6}, {"remote_ip6[1]", net.SockDstIP6 + 1}, {"remote_ip6[2]", net.SockDstIP6 + 2}, {"remote_ip6[3]", net.SockDstIP6 + 3},
}
