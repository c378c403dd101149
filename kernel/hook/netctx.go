package hook

import (
	"encoding/binary"
	"fmt"

	"github.com/bpfrun/bpfrun/kernel/net"
	"github.com/bpfrun/bpfrun/uapi"
)

// Fields of struct xdp_md (include/uapi/linux/bpf.h).
var xdpFields = []net.Field{
	{Name: "data", Off: 0, Size: 4, Kind: net.DataField},
	{Name: "data_end", Off: 4, Size: 4, Kind: net.DataEndField},
	{Name: "data_meta", Off: 8, Size: 4, Kind: net.DataMetaField},
	{Name: "ingress_ifindex", Off: 12, Size: 4},
	{Name: "rx_queue_index", Off: 16, Size: 4},
	{Name: "egress_ifindex", Off: 20, Size: 4},
}

func (h *Hooks) packetBytes(c *Context) []byte {
	if len(c.spec.Packet) == 0 {
		return net.DefaultPacket()
	}
	return c.spec.Packet
}

// xdpContext makes an xdp_md as BPF_PROG_TEST_RUN does: a page with 256 bytes of headroom.
func (h *Hooks) xdpContext(c *Context) error {
	data, meta := h.packetBytes(c), 0
	var rest []byte // what does not fit into the linear part
	le := h.Order()
	in := c.spec.Bytes
	if len(in) >= 12 {
		first, end, before := le.Uint32(in), le.Uint32(in[4:]), le.Uint32(in[8:])
		if before != 0 || uint64(end) > uint64(len(data)) || first > end || first%4 != 0 || first > 252 {
			return fmt.Errorf("kernel: xdp_md of data %d, data_end %d, data_meta %d for %d bytes: %w", first, end, before, len(data), uapi.EINVAL)
		}
		rest, data, meta = data[end:], data[:end], int(first)
	}
	p, err := h.NewXDP(data, meta, rest, c.spec.Frags)
	c.Packet = p
	if err != nil {
		return err
	}
	v := &net.View{Host: h.Host, Type: "xdp_md", Who: "xdp", Size: 24, Fields: xdpFields, Packet: p}
	devmap := c.spec.Attach == uapi.AttachXDPDevmap
	v.May = func(f *net.Field, write bool) bool { return !write && (f.Name != "egress_ifindex" || devmap) }
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
	if len(in) >= 20 {
		if i := le.Uint32(in[12:]); i != 0 {
			v.Put("ingress_ifindex", uint64(i))
			v.Put("rx_queue_index", uint64(le.Uint32(in[16:])))
		}
	}
	return nil
}

// Fields of struct __sk_buff. Those with narrow take loads of parts (bpf_skb_is_valid_access).
var skbFields = func() []net.Field {
	fields := []net.Field{
		{Name: "len", Off: 0, Kind: net.LenField}, {Name: "pkt_type", Off: 4}, {Name: "mark", Off: 8}, {Name: "queue_mapping", Off: 12},
		{Name: "protocol", Off: 16}, {Name: "vlan_present", Off: 20}, {Name: "vlan_tci", Off: 24}, {Name: "vlan_proto", Off: 28},
		{Name: "priority", Off: 32}, {Name: "ingress_ifindex", Off: 36}, {Name: "ifindex", Off: 40}, {Name: "tc_index", Off: 44},
		{Name: "cb[0]", Off: 48}, {Name: "cb[1]", Off: 52}, {Name: "cb[2]", Off: 56}, {Name: "cb[3]", Off: 60}, {Name: "cb[4]", Off: 64},
		{Name: "hash", Off: 68}, {Name: "tc_classid", Off: 72},
		{Name: "napi_id", Off: 84}, {Name: "family", Off: 88}, {Name: "remote_port", Off: 132}, {Name: "local_port", Off: 136},
		{Name: "wire_len", Off: 160}, {Name: "gso_segs", Off: 164}, {Name: "gso_size", Off: 176},
	}
	for i := range fields {
		fields[i].Size, fields[i].Narrow = 4, true
	}
	fields = append(fields,
		net.Field{Name: "data", Off: 76, Size: 4, Kind: net.DataField}, net.Field{Name: "data_end", Off: 80, Size: 4, Kind: net.DataEndField},
		net.Field{Name: "data_meta", Off: 140, Size: 4, Kind: net.DataMetaField},
		net.Field{Name: "remote_ip4", Off: 92, Size: 4}, net.Field{Name: "local_ip4", Off: 96, Size: 4},
		net.Field{Name: "flow_keys", Off: 144, Size: 8, Kind: net.WideField},
		net.Field{Name: "tstamp", Off: 152, Size: 8}, net.Field{Name: "sk", Off: 168, Size: 8, Kind: net.SocketField},
		net.Field{Name: "tstamp_type", Off: 180, Size: 1}, net.Field{Name: "hwtstamp", Off: 184, Size: 8},
	)
	for i := range uint16(4) {
		n := string(rune('0' + i))
		fields = append(fields, net.Field{Name: "remote_ip6[" + n + "]", Off: 100 + 4*i, Size: 4}, net.Field{Name: "local_ip6[" + n + "]", Off: 116 + 4*i, Size: 4})
	}
	return fields
}()

const skbSize = 192

// sockFields are the fields of __sk_buff that come from its socket.
var sockFields = map[string]bool{"family": true, "remote_ip4": true, "local_ip4": true, "remote_ip6": true, "local_ip6": true, "remote_port": true, "local_port": true}

// skbRules says which fields a program type may not read and which it may write (the is_valid_access functions
// of net/core/filter.c).
type skbRules struct {
	denied, written map[string]bool
	sock            bool // the fields of the socket may be read
	direct          bool // the program sees packet data directly
	pktWrite        bool // and may store to it
	l2              bool // data starts at the Ethernet header, not at the network header
}

func names(s ...string) map[string]bool {
	m := make(map[string]bool, len(s))
	for _, n := range s {
		m[n] = true
	}
	return m
}

// skbRulesOf returns the rules of a type, which are made once.
func skbRulesOf(t uapi.ProgType) *skbRules {
	if r := skbRuleTable[t]; r != nil {
		return r
	}
	return skbRuleTable[uapi.ProgTypeSocketFilter]
}

var skbRuleTable = func() map[uapi.ProgType]*skbRules {
	table := map[uapi.ProgType]*skbRules{}
	for _, t := range [...]uapi.ProgType{uapi.ProgTypeSchedCls, uapi.ProgTypeSchedAct, uapi.ProgTypeCgroupSkb, uapi.ProgTypeSocketFilter,
		uapi.ProgTypeLwtIn, uapi.ProgTypeLwtOut, uapi.ProgTypeLwtXmit, uapi.ProgTypeLwtSeg6local} {
		r := makeSkbRules(t)
		table[t] = &r
	}
	return table
}()

func makeSkbRules(t uapi.ProgType) skbRules {
	switch t {
	case uapi.ProgTypeSchedCls, uapi.ProgTypeSchedAct:
		return skbRules{denied: names(), written: names("mark", "tc_index", "priority", "tc_classid", "cb", "tstamp", "queue_mapping"), direct: true, pktWrite: true, l2: true}
	case uapi.ProgTypeCgroupSkb:
		return skbRules{denied: names("tc_classid", "data_meta", "wire_len"), written: names("mark", "priority", "cb", "tstamp"), sock: true, direct: true}
	case uapi.ProgTypeLwtIn, uapi.ProgTypeLwtOut, uapi.ProgTypeLwtXmit, uapi.ProgTypeLwtSeg6local:
		return skbRules{denied: names("tc_classid", "data_meta", "tstamp", "wire_len", "hwtstamp"), written: names("mark", "priority", "cb"), direct: true, pktWrite: t == uapi.ProgTypeLwtXmit}
	}
	return skbRules{denied: names("tc_classid", "data", "data_meta", "data_end", "tstamp", "wire_len", "hwtstamp"), written: names("cb")}
}

// skbContext makes a __sk_buff as BPF_PROG_TEST_RUN does (net/bpf/test_run.c bpf_prog_test_run_skb).
func (h *Hooks) skbContext(c *Context) error {
	rules := skbRulesOf(c.spec.ProgType)
	data := h.packetBytes(c)
	eth := data[:min(len(data), net.EthHeader)]
	p, err := h.NewSkb(data, rules.l2, !rules.pktWrite, c.spec.Cloned, c.spec.Frags)
	c.Packet = p
	if err != nil {
		return err
	}
	v := &net.View{Host: h.Host, Type: "__sk_buff", Who: c.spec.ProgType.String(), Size: skbSize, Fields: skbFields, Packet: p}
	v.May = func(f *net.Field, write bool) bool {
		g := net.Group(f.Name)
		switch {
		case write:
			return rules.written[g]
		case f.Name == "flow_keys":
			return false
		case sockFields[g]:
			return rules.sock
		}
		return !rules.denied[g]
	}
	in := c.spec.Bytes
	v.Out = func(v *net.View) []byte { return h.skbOut(v, in) }
	if err := c.attach(v); err != nil {
		return err
	}
	return h.receive(c, v, eth)
}

// receive sets the fields of a __sk_buff that depend on its packet.
func (h *Hooks) receive(c *Context, v *net.View, eth []byte) error {
	in := c.spec.Bytes
	proto := uint16(0)
	if len(eth) == net.EthHeader {
		proto = etherType(h.packetBytes(c))
		// skb->protocol is in network order; so a load of it is what htons gives.
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

// etherType is the protocol of a frame: its type, or for what stands where others have a length one of two numbers
// (eth_type_trans).
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

// loopback reports whether a test run with that ctx_in takes the loopback device, which has no broadcast address.
func loopback(in []byte, order binary.ByteOrder) bool {
	const ifindex = 40
	return len(in) < ifindex+4 || order.Uint32(in[ifindex:]) <= net.LoopbackIndex
}

// skbIn takes over ctx_in (convert___skb_to_skb).
func (h *Hooks) skbIn(v *net.View, in []byte) error {
	if len(in) == 0 {
		return nil
	}
	full := make([]byte, max(len(in), skbSize))
	copy(full, in)
	le := h.Order()
	allowed := [...][2]int{{8, 12}, {32, 44}, {48, 68}, {80, 84}, {152, 168}, {176, 180}, {184, 192}}
	for i, b := range full {
		ok := b == 0
		for _, r := range allowed {
			ok = ok || i >= r[0] && i < r[1]
		}
		if !ok {
			return fmt.Errorf("kernel: ctx_in sets byte %d of __sk_buff, which a test run does not take: %w", i, uapi.EINVAL)
		}
	}
	for _, f := range [...]struct {
		name string
		off  int
	}{{"mark", 8}, {"priority", 32}, {"ingress_ifindex", 36}, {"cb[0]", 48}, {"cb[1]", 52}, {"cb[2]", 56}, {"cb[3]", 60}, {"cb[4]", 64}, {"gso_segs", 164}, {"gso_size", 176}} {
		v.Put(f.name, uint64(le.Uint32(full[f.off:])))
	}
	if i := le.Uint32(full[40:]); i > net.LoopbackIndex {
		v.Put("ifindex", uint64(i))
	}
	v.Put("tstamp", le.Uint64(full[152:]))
	v.Put("hwtstamp", le.Uint64(full[184:]))
	wire := uint64(le.Uint32(full[160:]))
	switch n := uint64(v.Packet.Len()); {
	case wire == 0:
		wire = n
	case wire < n || wire > 65536:
		return fmt.Errorf("kernel: wire_len %d of a packet of %d bytes: %w", wire, n, uapi.EINVAL)
	}
	v.Put("wire_len", wire)
	return nil
}

// skbOut gives ctx_out (convert_skb_to___skb): ctx_in with what the program may have changed.
func (h *Hooks) skbOut(v *net.View, in []byte) []byte {
	b := make([]byte, max(len(in), skbSize))
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

// skbSock gives the packet its socket: the one of the context, else the one a test run gives it: closed, without ports, its
// addresses those of the packet.
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
		h.skbSockFields(v)
		return nil
	}
	ip := v.Packet.Bytes()
	if skbRulesOf(c.spec.ProgType).l2 {
		ip = ip[min(len(ip), net.EthHeader):]
	}
	s := h.FlowSocket(proto, ip)
	v.Socket, c.own = s, s
	h.skbSockFields(v)
	return nil
}

// skbSockFields copies what __sk_buff shows of its socket.
func (h *Hooks) skbSockFields(v *net.View) {
	s := v.Socket
	v.Put("family", s.Value(net.SockFamily))
	v.Put("local_ip4", s.Value(net.SockSrcIP4))
	v.Put("remote_ip4", s.Value(net.SockDstIP4))
	v.Put("local_port", s.Value(net.SockSrcPort))
	v.Put("remote_port", h.PortWord(s.Value(net.SockDstPort)))
	for i := range net.Value(4) {
		if s.Value(net.SockSrcIP6+i)|s.Value(net.SockDstIP6+i) == 0 {
			continue // as the fields are
		}
		n := string(rune('0' + i))
		v.Put("local_ip6["+n+"]", s.Value(net.SockSrcIP6+i))
		v.Put("remote_ip6["+n+"]", s.Value(net.SockDstIP6+i))
	}
}
