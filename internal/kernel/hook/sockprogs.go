package hook

import (
	"encoding/binary"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// skMsgFields are the bytes of a message that a socket is about to send, and the socket's
// addresses.
var skMsgFields = fieldsOf(uapi.ProgTypeSkMsg, func() map[string]net.Source {
	m := map[string]net.Source{
		"data": {Kind: net.DataField}, "data_end": {Kind: net.DataEndField}, "size": {Kind: net.LenField}, "sk": {Kind: net.SocketField},
		"family": net.OfSocket(net.SockFamily), "remote_ip4": net.OfSocket(net.SockDstIP4), "local_ip4": net.OfSocket(net.SockSrcIP4),
		"local_port":  net.OfSocket(net.SockSrcPort),
		"remote_port": {From: func(v *net.View) uint64 { return v.Host.PortWord(v.Socket.Value(net.SockDstPort)) }},
	}
	for i := range net.Value(4) {
		n := string(rune('0' + i))
		m["remote_ip6["+n+"]"], m["local_ip6["+n+"]"] = net.OfSocket(net.SockDstIP6+i), net.OfSocket(net.SockSrcIP6+i)
	}
	return m
})

var reuseportFields = fieldsOf(uapi.ProgTypeSkReuseport, packetWords)

var netfilterFields = fieldsOf(uapi.ProgTypeNetfilter, nil)

// beyond creates an sk_buff for the part of the frame from a layer on. The bytes before it count as
// a removed link header.
func (h *Hooks) beyond(c *Context, cut int, writes bool) (*net.Packet, error) {
	frame := h.packetBytes(c)
	data := append(make([]byte, net.EthHeader), frame[min(cut, len(frame)):]...)
	return h.NewSkb(data, false, !writes, c.spec.Cloned, c.spec.Frags)
}

// headers returns the offsets in bytes of the transport header and of the payload in a frame, and
// the protocol number.
func headers(frame []byte) (transport, payload int, proto uint8) {
	transport = min(net.EthHeader, len(frame))
	ip := frame[transport:]
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		transport, proto = transport+int(ip[0]&15)*4, ip[9]
	case len(ip) >= 40 && ip[0]>>4 == 6:
		transport, proto = transport+40, ip[6]
	default:
		return transport, transport, 0
	}
	transport = min(transport, len(frame))
	l4 := frame[transport:]
	switch {
	case proto == net.ProtoTCP && len(l4) >= 20:
		payload = transport + int(l4[12]>>4)*4
	case proto == net.ProtoUDP && len(l4) >= 8:
		payload = transport + 8
	default:
		payload = transport
	}
	return transport, min(payload, len(frame)), proto
}

// streamContext creates the __sk_buff of a sockmap program: stream bytes, starting with the
// payload.
func (h *Hooks) streamContext(c *Context) error {
	_, payload, _ := headers(h.packetBytes(c))
	p, err := h.beyond(c, payload, true)
	c.Packet = p
	if err != nil {
		return err
	}
	v := h.newView(c, skbFields, c.spec.ProgType.String())
	v.Packet = p
	if err := c.attach(v); err != nil {
		return err
	}
	if v.Socket, err = h.contextSocket(c, net.SockSpec{}); err != nil {
		return err
	}
	v.Put("protocol", uint64(h.Order().Uint16([]byte{net.EtherIPv4 >> 8, net.EtherIPv4 & 0xff})))
	c.skbSockFields(v)
	return nil
}

// messageContext creates an sk_msg_md: a message sent by a socket in a sockmap.
func (h *Hooks) messageContext(c *Context) error {
	data := c.spec.Message
	if data == nil {
		frame := h.packetBytes(c)
		_, payload, _ := headers(frame)
		data = frame[min(payload, len(frame)):]
	}
	p, err := h.NewSkb(append(make([]byte, net.EthHeader), data...), false, false, c.spec.Cloned, c.spec.Frags)
	c.Packet = p
	if err != nil {
		return err
	}
	v := h.newView(c, skMsgFields, c.spec.ProgType.String())
	v.Packet = p
	if v.Socket, err = h.contextSocket(c, net.SockSpec{}); err != nil {
		return err
	}
	return c.attach(v)
}

// reuseportContext creates an sk_reuseport_md: a packet, starting with its transport header, for
// which the program chooses a socket of a group.
func (h *Hooks) reuseportContext(c *Context) error {
	frame := h.packetBytes(c)
	transport, _, proto := headers(frame)
	p, err := h.beyond(c, transport, false)
	c.Packet = p
	if err != nil {
		return err
	}
	v := h.newView(c, reuseportFields, c.spec.ProgType.String())
	v.Packet = p
	if v.Socket, err = h.contextSocket(c, net.SockSpec{}); err != nil {
		return err
	}
	if err := c.attach(v); err != nil {
		return err
	}
	typ := uint16(0)
	if len(frame) >= net.EthHeader {
		typ = binary.BigEndian.Uint16(frame[12:])
	}
	v.Put("eth_protocol", uint64(h.Order().Uint16([]byte{byte(typ >> 8), byte(typ)})))
	v.Put("ip_protocol", uint64(proto))
	v.Put("hash", uint64(h.FlowHash(frame[min(net.EthHeader, len(frame)):])))
	return nil
}

// Layout of struct bpf_flow_keys (include/uapi/linux/bpf.h).
const (
	flowKeysSize  = 56
	flowKeysNhoff = 0
	flowKeysThoff = 2
	flowKeysProto = 10
	flowKeysFlags = 48
)

// dissectorContext creates the __sk_buff of a flow dissector. flow_keys contains the offset of the
// network header and its protocol, as in a test run (net/bpf/test_run.c
// bpf_prog_test_run_flow_dissector).
func (h *Hooks) dissectorContext(c *Context) error {
	frame := h.packetBytes(c)
	p, err := h.NewSkb(frame, true, true, c.spec.Cloned, c.spec.Frags)
	c.Packet = p
	if err != nil {
		return err
	}
	keys := make([]byte, flowKeysSize)
	le := h.Order()
	le.PutUint16(keys[flowKeysNhoff:], net.EthHeader)
	le.PutUint16(keys[flowKeysThoff:], net.EthHeader)
	if len(frame) >= net.EthHeader {
		copy(keys[flowKeysProto:], frame[12:14])
	}
	in := c.spec.Bytes
	if len(in) > 0 { // a test run takes the flags from ctx_in
		if err := flowIn(in); err != nil {
			return err
		}
		copy(keys[flowKeysFlags:flowKeysFlags+4], in[flowKeysFlags:])
	}
	r, err := h.Mem().Alloc(flowKeysSize, mem.Region{Kind: mem.Context, Name: "bpf_flow_keys", Owner: c})
	if err != nil {
		return err
	}
	copy(h.Mem().Bytes(r), keys)
	c.more, c.keys = append(c.more, r), r
	v := h.newView(c, skbFields, c.spec.ProgType.String())
	v.Packet = p
	v.Out = func(*net.View) []byte { return slices.Clone(in) }
	if err := c.attach(v); err != nil {
		return err
	}
	v.Put("flow_keys", r.Base)
	return nil
}

// NoSkb reports whether the packet is bytes without an sk_buff, as in test runs of flow dissectors:
// helpers do not reach it (bpf_flow_dissector_load_bytes).
func (c *Context) NoSkb() bool {
	return c.spec.ProgType == uapi.ProgTypeFlowDissector && c.spec.TestRun
}

// flowOut returns the bpf_flow_keys of a test run: the kernel moves the offsets into the packet of
// n bytes (bpf_flow_dissect).
func (c *Context) flowOut(n int) []byte {
	keys := slices.Clone(c.k.Mem().Bytes(c.keys))
	le := c.k.Order()
	most := uint16(min(n, 0xffff))
	nhoff := min(max(le.Uint16(keys[flowKeysNhoff:]), net.EthHeader), most)
	le.PutUint16(keys[flowKeysNhoff:], nhoff)
	le.PutUint16(keys[flowKeysThoff:], min(max(le.Uint16(keys[flowKeysThoff:]), nhoff), most))
	return keys
}

// netfilterContext creates a bpf_nf_ctx: an incoming packet before routing, or what ctx_in of a
// test run says.
func (h *Hooks) netfilterContext(c *Context) error {
	packet, in := h.packetBytes(c), c.spec.Bytes
	link := net.EthHeader
	if c.spec.TestRun && len(in) == 0 {
		link = 0 // as for the hook that a test run starts with
	}
	if len(in) > 0 {
		var err error
		if link, err = hookStateIn(in, packet); err != nil {
			return err
		}
	}
	p, err := h.NewSkb(packet, link == 0, true, c.spec.Cloned, c.spec.Frags)
	c.Packet = p
	if err != nil {
		return err
	}
	v := h.newView(c, netfilterFields, c.spec.ProgType.String())
	v.Packet = p
	if err := c.attach(v); err != nil {
		return err
	}
	state, err := h.keptObject("netfilter state", "nf_hook_state")
	if err != nil {
		return err
	}
	skb, err := h.KernelSkb(c)
	if err != nil {
		return err
	}
	h.hookState(c, state, skb)
	v.Put("state", state.Addr())
	v.Put("skb", skb.Addr())
	return nil
}

// outgoing reports whether the program is a netfilter program in a test run, which is for an
// outgoing packet and returns none.
func (c *Context) outgoing() bool {
	return c.spec.ProgType == uapi.ProgTypeNetfilter && (c.spec.TestRun || len(c.spec.Bytes) > 0)
}

// hookState fills in the nf_hook_state of a netfilter program. A test run is for an outgoing packet
// whatever hook it names, and has no more than the device (verify_and_copy_hook_state looks at the
// hook of its default).
func (h *Hooks) hookState(c *Context, state, skb *object.Object) {
	b, in := object.Build(state), c.spec.Bytes
	dev := h.LayoutNamed("net_device")
	if !c.outgoing() {
		b.Num("hook", nfPreRouting)
		b.Num("pf", nfIPv4)
		if dev != nil {
			b.Ptr("in", h.Shared("dev", dev))
		}
		b.Null("out sk")
		b.Ptr("net", h.Singleton("net"))
		return
	}
	hook, pf := byte(nfLocalOut), byte(nfIPv4)
	b.Null("in out sk net okfn")
	if len(in) > 0 {
		hook, pf = in[hookStateHook], in[hookStatePF]
		if lo := h.deviceNumbered(net.LoopbackIndex); lo != nil {
			b.Ptr("out", lo)
		}
	}
	b.Num("hook", uint64(hook))
	b.Num("pf", uint64(pf))
	protocol := []byte{0x08, 0}
	if pf == nfIPv6 {
		protocol = []byte{0x86, 0xdd}
	}
	s := object.Build(skb)
	s.Num("protocol", uint64(h.Order().Uint16(protocol)))
	s.Null("mark priority skb_iif")
}

// keptObject returns the object cached under a key, and creates it first if there is none.
func (h *Hooks) keptObject(key, typ string) (*object.Object, error) {
	if o := h.Kept(key); o != nil {
		return o, nil
	}
	o, err := h.NewObjectNamed(key, typ)
	if err != nil {
		return nil, err
	}
	o.MarkBuiltin()
	h.Keep(key, o)
	return o, nil
}

// KernelSkb returns the struct sk_buff of a context's packet, which points to the packet's bytes.
func (h *Hooks) KernelSkb(c *Context) (*object.Object, error) {
	o, err := h.keptObject(keptSkb, "sk_buff")
	if err != nil {
		return nil, err
	}
	p := c.Packet
	base, _ := p.Region().Extent()
	b := object.Build(o)
	b.Num("head", base)
	b.Num("data", p.Data())
	at := func(field string, addr uint64) { // an offset, or a pointer on 32-bit kernels
		if h.Mem().PointerSize() == 8 {
			addr -= base
		}
		b.Num(field, addr)
	}
	at("tail", p.DataEnd())
	at("end", p.BufferEnd())
	network := p.Data()
	if p.Lead() == 0 && !c.outgoing() {
		network += net.EthHeader
	}
	b.Num("mac_header", network-net.EthHeader-base)
	b.Num("network_header", network-base)
	if c.spec.TestRun {
		b.Num("transport_header", headerUnset)
		b.Num("mac_len", 0)
	} else {
		b.Num("transport_header", network+20-base)
	}
	b.Num("truesize", p.BufferEnd()-base+truesizeMore)
	b.Num("len", uint64(p.Len()))
	b.Num("data_len", uint64(p.Len()-p.Linear()))
	for name, field := range skbMembers {
		if v, ok := c.Field(field); ok {
			b.Num(name, v)
		}
	}
	var gso net.GSO
	for field, to := range map[string]*uint64{"gso_size": &gso.Size, "gso_segs": &gso.Segs, "hwtstamp": &gso.Stamp} {
		if v, ok := c.Field(field); ok {
			*to = v
		}
	}
	if err := p.ShareInfo(gso); err != nil {
		return nil, err
	}
	if dev := h.deviceObject(c); dev != nil {
		b.Ptr("dev", dev)
	}
	if s := c.Socket(); s != nil {
		if sk, err := s.Object(); err == nil {
			b.Ptr("sk", sk)
		}
	}
	return o, nil
}

// headerUnset is the position of a header that nobody has looked for, as in a test run
// (skb_transport_header_was_set); truesizeMore is about what an sk_buff and its skb_shared_info add
// to the memory that is counted for a packet (SKB_TRUESIZE).
const (
	headerUnset  = 0xffff
	truesizeMore = 576
)

// skbMembers are the members of struct sk_buff by the field of __sk_buff that shows them.
var skbMembers = map[string]string{
	"mark": "mark", "priority": "priority", "skb_iif": "ingress_ifindex", "queue_mapping": "queue_mapping", "vlan_tci": "vlan_tci",
	"protocol": "protocol", "pkt_type": "pkt_type", "tc_index": "tc_index", "hash": "hash", "tstamp": "tstamp", "napi_id": "napi_id",
}

// deviceObject returns the net_device of a context's packet, or nil.
func (h *Hooks) deviceObject(c *Context) *object.Object {
	if d, ok := c.DeviceOf(); ok {
		return h.deviceNumbered(d.Index)
	}
	return nil
}

// deviceNumbered returns the net_device of the interface with an index, or nil.
func (h *Hooks) deviceNumbered(index uint32) *object.Object {
	d, ok := h.Device(index)
	if !ok {
		return nil
	}
	return h.Interface(d)
}

// KernelContext returns the kernel's own struct for the declared struct of a context
// (bpf_cast_to_kern_ctx).
func (h *Hooks) KernelContext(c *Context) (*object.Object, error) {
	typ := progtype.Of(c.spec.ProgType).Context.Kernel
	if typ == "sk_buff" && c.Packet != nil {
		return h.KernelSkb(c)
	}
	o, err := h.keptObject(keptContext(typ), typ)
	if err != nil {
		return nil, err
	}
	b := object.Build(o)
	if p := c.Packet; p != nil {
		base, _ := p.Region().Extent()
		b.Num("data_hard_start", base)
		b.Num("frame_sz", net.XDPFrame)
		if rxq := b.Child("rxq"); rxq != nil {
			q := object.Build(rxq)
			q.Ptr("dev", h.deviceObject(c))
			if v, ok := c.Field("rx_queue_index"); ok {
				q.Num("queue_index", v)
			}
		}
		b.Num("data", p.Data())
		b.Num("data_end|skb_data_end", p.DataEnd())
		b.Num("data_meta", p.Meta())
	}
	if s := c.Socket(); s != nil {
		if sk, err := s.Object(); err == nil {
			b.Ptr("sk", sk)
		}
	}
	return o, nil
}

// ContextOfKernel returns the context whose kernel struct is at an address, or nil if there is
// none.
func (h *Hooks) ContextOfKernel(addr uint64) *Context {
	for i := len(h.live) - 1; i >= 0; i-- { // a program that traces another has that one's packet
		c := h.live[i]
		row := progtype.Of(c.spec.ProgType).Context
		if row == nil || c.spec.Passed != nil {
			continue
		}
		for _, key := range [...]string{keptSkb, keptContext(row.Kernel)} {
			if o := h.Kept(key); o != nil && o.Addr() == h.Mem().Truncate(addr) {
				return c
			}
		}
		return nil
	}
	return nil
}

// keptSkb and keptContext are the cache keys of the kernel structs of contexts.
const keptSkb = "skb of the context"

func keptContext(typ string) string { return typ + " of the context" }
