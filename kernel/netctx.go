package kernel

import (
	"encoding/binary"
	"fmt"

	"github.com/bpfrun/bpfrun/uapi"
)

// Fields of struct xdp_md (include/uapi/linux/bpf.h).
var xdpFields = []uapiField{
	{name: "data", off: 0, size: 4, kind: dataField},
	{name: "data_end", off: 4, size: 4, kind: dataEndField},
	{name: "data_meta", off: 8, size: 4, kind: dataMetaField},
	{name: "ingress_ifindex", off: 12, size: 4},
	{name: "rx_queue_index", off: 16, size: 4},
	{name: "egress_ifindex", off: 20, size: 4},
}

func (h *Hooks) packetBytes(c *Context) []byte {
	if len(c.spec.Packet) == 0 {
		return DefaultPacket()
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
	p, err := h.newXDP(data, meta, rest, c.spec.Frags)
	c.Packet = p
	if err != nil {
		return err
	}
	v := &uapiView{k: h.Host, typ: "xdp_md", who: "xdp", size: 24, fields: xdpFields, pkt: p}
	devmap := c.spec.Attach == uapi.AttachXDPDevmap
	v.may = func(f *uapiField, write bool) bool { return !write && (f.name != "egress_ifindex" || devmap) }
	v.out = func(v *uapiView) []byte {
		b := make([]byte, 24)
		copy(b, in)
		le.PutUint32(b[0:], uint32(p.Data()-p.Meta()))
		le.PutUint32(b[4:], uint32(p.DataEnd()-p.Meta()))
		return b
	}
	if err := c.attach(v); err != nil {
		return err
	}
	v.put("ingress_ifindex", loopbackIndex)
	if len(in) >= 20 {
		if i := le.Uint32(in[12:]); i != 0 {
			v.put("ingress_ifindex", uint64(i))
			v.put("rx_queue_index", uint64(le.Uint32(in[16:])))
		}
	}
	return nil
}

// Fields of struct __sk_buff. Those with narrow take loads of parts (bpf_skb_is_valid_access).
var skbFields = func() []uapiField {
	fields := []uapiField{
		{name: "len", off: 0, kind: lenField}, {name: "pkt_type", off: 4}, {name: "mark", off: 8}, {name: "queue_mapping", off: 12},
		{name: "protocol", off: 16}, {name: "vlan_present", off: 20}, {name: "vlan_tci", off: 24}, {name: "vlan_proto", off: 28},
		{name: "priority", off: 32}, {name: "ingress_ifindex", off: 36}, {name: "ifindex", off: 40}, {name: "tc_index", off: 44},
		{name: "cb[0]", off: 48}, {name: "cb[1]", off: 52}, {name: "cb[2]", off: 56}, {name: "cb[3]", off: 60}, {name: "cb[4]", off: 64},
		{name: "hash", off: 68}, {name: "tc_classid", off: 72},
		{name: "napi_id", off: 84}, {name: "family", off: 88}, {name: "remote_port", off: 132}, {name: "local_port", off: 136},
		{name: "wire_len", off: 160}, {name: "gso_segs", off: 164}, {name: "gso_size", off: 176},
	}
	for i := range fields {
		fields[i].size, fields[i].narrow = 4, true
	}
	fields = append(fields,
		uapiField{name: "data", off: 76, size: 4, kind: dataField}, uapiField{name: "data_end", off: 80, size: 4, kind: dataEndField},
		uapiField{name: "data_meta", off: 140, size: 4, kind: dataMetaField},
		uapiField{name: "remote_ip4", off: 92, size: 4}, uapiField{name: "local_ip4", off: 96, size: 4},
		uapiField{name: "flow_keys", off: 144, size: 8, kind: wideField},
		uapiField{name: "tstamp", off: 152, size: 8}, uapiField{name: "sk", off: 168, size: 8, kind: socketField},
		uapiField{name: "tstamp_type", off: 180, size: 1}, uapiField{name: "hwtstamp", off: 184, size: 8},
	)
	for i := range uint16(4) {
		n := string(rune('0' + i))
		fields = append(fields, uapiField{name: "remote_ip6[" + n + "]", off: 100 + 4*i, size: 4}, uapiField{name: "local_ip6[" + n + "]", off: 116 + 4*i, size: 4})
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
	eth := data[:min(len(data), ethHeader)]
	p, err := h.newSkb(data, rules.l2, !rules.pktWrite, c.spec.Cloned, c.spec.Frags)
	c.Packet = p
	if err != nil {
		return err
	}
	v := &uapiView{k: h.Host, typ: "__sk_buff", who: c.spec.ProgType.String(), size: skbSize, fields: skbFields, pkt: p}
	v.may = func(f *uapiField, write bool) bool {
		g := skbGroup(f.name)
		switch {
		case write:
			return rules.written[g]
		case f.name == "flow_keys":
			return false
		case sockFields[g]:
			return rules.sock
		}
		return !rules.denied[g]
	}
	in := c.spec.Bytes
	v.out = func(v *uapiView) []byte { return h.skbOut(v, in) }
	if err := c.attach(v); err != nil {
		return err
	}
	return h.receive(c, v, eth)
}

// receive sets the fields of a __sk_buff that depend on its packet.
func (h *Hooks) receive(c *Context, v *uapiView, eth []byte) error {
	in := c.spec.Bytes
	proto := uint16(0)
	if len(eth) == ethHeader {
		proto = etherType(h.packetBytes(c))
		// skb->protocol is in network order; so a load of it is what htons gives.
		v.put("protocol", uint64(h.Order().Uint16([]byte{byte(proto >> 8), byte(proto)})))
		switch {
		case !loopback(in, h.Order()) && eth[0] == 0xff && eth[1] == 0xff && eth[2] == 0xff && eth[3] == 0xff && eth[4] == 0xff && eth[5] == 0xff:
			v.put("pkt_type", 1)
		case eth[0]&1 != 0:
			v.put("pkt_type", 2)
		case eth[0]|eth[1]|eth[2]|eth[3]|eth[4]|eth[5] != 0:
			v.put("pkt_type", 3) // not the address of the loopback device: PACKET_OTHERHOST
		}
	}
	v.put("ifindex", loopbackIndex)
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
	typ, rest := binary.BigEndian.Uint16(frame[12:]), frame[ethHeader:]
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
	return len(in) < ifindex+4 || order.Uint32(in[ifindex:]) <= loopbackIndex
}

// skbIn takes over ctx_in (convert___skb_to_skb).
func (h *Hooks) skbIn(v *uapiView, in []byte) error {
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
		v.put(f.name, uint64(le.Uint32(full[f.off:])))
	}
	if i := le.Uint32(full[40:]); i > loopbackIndex {
		v.put("ifindex", uint64(i))
	}
	v.put("tstamp", le.Uint64(full[152:]))
	v.put("hwtstamp", le.Uint64(full[184:]))
	wire := uint64(le.Uint32(full[160:]))
	switch n := uint64(v.pkt.Len()); {
	case wire == 0:
		wire = n
	case wire < n || wire > 65536:
		return fmt.Errorf("kernel: wire_len %d of a packet of %d bytes: %w", wire, n, uapi.EINVAL)
	}
	v.put("wire_len", wire)
	return nil
}

// skbOut gives ctx_out (convert_skb_to___skb): ctx_in with what the program may have changed.
func (h *Hooks) skbOut(v *uapiView, in []byte) []byte {
	b := make([]byte, max(len(in), skbSize))
	copy(b, in)
	le := h.Order()
	for _, f := range [...]struct {
		name string
		off  int
	}{{"mark", 8}, {"priority", 32}, {"ingress_ifindex", 36}, {"ifindex", 40}, {"cb[0]", 48}, {"cb[1]", 52}, {"cb[2]", 56}, {"cb[3]", 60}, {"cb[4]", 64}, {"wire_len", 160}, {"gso_segs", 164}} {
		le.PutUint32(b[f.off:], uint32(v.get(f.name)))
	}
	le.PutUint64(b[152:], v.get("tstamp"))
	le.PutUint64(b[184:], v.get("hwtstamp"))
	return b
}

// skbSock gives the packet its socket: the one of the context, else the one a test run gives it: closed, without ports, its
// addresses those of the packet.
func (h *Hooks) skbSock(c *Context, v *uapiView, proto uint16) error {
	if c.spec.NoSocket {
		v.field("sk").kind = wideField // NULL
		return nil
	}
	if o := c.spec.Socket; o != nil {
		s, err := h.SocketOf(o)
		if err != nil {
			return err
		}
		v.sock = s
		h.skbSockFields(v)
		return nil
	}
	ip := v.pkt.Bytes()
	if skbRulesOf(c.spec.ProgType).l2 {
		ip = ip[min(len(ip), ethHeader):]
	}
	s := h.flowSocket(proto, ip)
	v.sock, c.own = s, s
	h.skbSockFields(v)
	return nil
}

// skbSockFields copies what __sk_buff shows of its socket.
func (h *Hooks) skbSockFields(v *uapiView) {
	s := v.sock
	v.put("family", s.value(sockFamily))
	v.put("local_ip4", s.value(sockSrcIP4))
	v.put("remote_ip4", s.value(sockDstIP4))
	v.put("local_port", s.value(sockSrcPort))
	v.put("remote_port", h.portWord(s.value(sockDstPort)))
	for i := range sockVal(4) {
		if s.value(sockSrcIP6+i)|s.value(sockDstIP6+i) == 0 {
			continue // as the fields are
		}
		n := string(rune('0' + i))
		v.put("local_ip6["+n+"]", s.value(sockSrcIP6+i))
		v.put("remote_ip6["+n+"]", s.value(sockDstIP6+i))
	}
}
