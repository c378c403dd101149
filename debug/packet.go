package debug

import (
	"fmt"

	"github.com/bpfrun/bpfrun/packet"
)

// packet is the packet of the run.
func (vs *values) packet() (*Value, error) {
	addr, data, ok := vs.now.packetNow()
	if !ok {
		return nil, &UnavailableError{"pkt", "no program with a packet is running"}
	}
	return &Value{kind: aPacket, Addr: addr, Data: data, name: "pkt"}, nil
}

func (vs *values) packetByte(x *Value, i uint64) (*Value, error) {
	if i >= uint64(len(x.Data)) {
		return nil, fmt.Errorf("the packet has %d bytes", len(x.Data))
	}
	return vs.at(vs.basic.named("unsigned char"), x.Addr+i)
}

// kernelStructs are the kernel's structs of headers: their members can be named besides the fields.
var kernelStructs = map[string]string{
	"eth": "ethhdr", "vlan": "vlan_hdr", "qinq": "vlan_hdr", "arp": "arphdr", "ip": "iphdr", "ip6": "ipv6hdr", "icmp": "icmphdr",
	"icmp6": "icmp6hdr", "tcp": "tcphdr", "udp": "udphdr", "sctp": "sctphdr",
}

// Headers returns the layers of the run's packet.
func (vs *values) Headers() (packet.Headers, error) {
	p, err := vs.packet()
	if err != nil {
		return packet.Headers{}, err
	}
	return packet.Decode(p.Data, vs.now.packetStart()), nil
}

// layerRef means that a value is a header of the packet.
type layerRef struct {
	layer packet.Layer
	whole []byte // the packet
}

// packetLayer is pkt.NAME.
func (vs *values) packetLayer(x *Value, name string) (*Value, error) {
	h := packet.Decode(x.Data, vs.now.packetStart())
	l, ok := h.Layer(name)
	if !ok {
		var names []string
		for _, l := range h.Layers {
			names = append(names, l.Path())
		}
		e := &UnknownError{What: "header", Name: name, In: "the packet, which is " + h.String(), Nearest: near(name, names)}
		if h.Cut != "" {
			e.In += "; " + h.Cut
		}
		return nil, e
	}
	return vs.layerValue(x, l)
}

func (vs *values) layerValue(x *Value, l packet.Layer) (*Value, error) {
	v := &Value{kind: inMemory, Addr: x.Addr + uint64(l.Off), Data: x.Data[l.Off : l.Off+l.Len], name: "pkt." + l.Path()}
	v.Type = vs.basic.named("unsigned char")
	v.Type.Elems = l.Len
	if t, err := vs.FindType("struct", kernelStructs[l.Name]); err == nil {
		if n, err := t.size(); err == nil && n <= int64(l.Len) {
			v.Type = t
		}
	}
	if packet.FieldNames(l.Name) != nil {
		v.layer = &layerRef{l, x.Data}
	}
	return v, nil
}

// otherLayer is pkt.ip[1]: the same header further in.
func (vs *values) otherLayer(x *Value, n uint64) (*Value, error) {
	pkt, err := vs.packet()
	if err != nil {
		return nil, err
	}
	return vs.packetLayer(pkt, fmt.Sprintf("%s[%d]", x.layer.layer.Name, n))
}

// layerField is pkt.LAYER.NAME: a field by the names of packets, else a member of the kernel's struct.
func (vs *values) layerField(x *Value, name string) (*Value, bool) {
	f, ok := x.layer.layer.Field(x.layer.whole, name)
	if !ok {
		return nil, false
	}
	v := &Value{kind: inMemory, Addr: x.Addr + uint64(f.Off-x.layer.layer.Off)}
	v.Data = x.layer.whole[f.Off : f.Off+f.Size()]
	f.Off = 0
	v.field = &f
	switch {
	case f.Bits > 64 || len(v.Data) > 8:
		v.Type = vs.basic.named("unsigned char")
		v.Type.Elems = len(v.Data)
	default:
		v.Type = vs.bytesType(min(8, ceilPow2(len(v.Data))))
	}
	return v, true
}

func ceilPow2(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// layerNames lists what can stand after pkt.LAYER.
func (vs *values) layerNames(x *Value) []string {
	var out []string
	for _, f := range x.layer.layer.Fields(x.layer.whole) {
		out = append(out, f.Name)
	}
	if x.Type.isComposite() {
		out = append(out, x.Type.Spec.MemberNames(x.Type.ID)...)
	}
	return out
}

// packetField names the field of the packet that byte off belongs to, "" when no header has it.
func (vs *values) packetField(off uint64) string {
	pkt, err := vs.packet()
	if err != nil {
		return ""
	}
	for _, l := range packet.Decode(pkt.Data, vs.now.packetStart()).Layers {
		if off < uint64(l.Off) || off >= uint64(l.Off+l.Len) {
			continue
		}
		for _, f := range l.Fields(pkt.Data) {
			if off >= uint64(f.Off) && off < uint64(f.Off+f.Size()) {
				return f.Path()
			}
		}
		return l.Path()
	}
	return ""
}
