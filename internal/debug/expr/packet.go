package expr

import (
	"bytes"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/packet"
)

// Packet returns the packet of the run.
func (vs *Values) Packet() (*Value, error) {
	vs.Elsewhere()
	addr, data, ok := vs.Now.PacketNow()
	if !ok {
		return nil, &UnavailableError{"pkt", "no program with a packet is running"}
	}
	return &Value{Kind: WholePacket, Addr: addr, Data: data, Name: "pkt"}, nil
}

func (vs *Values) packetByte(x *Value, i uint64) (*Value, error) {
	if i >= uint64(len(x.Data)) {
		return nil, fmt.Errorf("the packet has %d bytes", len(x.Data))
	}
	return vs.At(vs.Basic.Named("unsigned char"), x.Addr+i)
}

// kernelStructs are the kernel's header structs, whose members are accepted in addition to the
// fields.
var kernelStructs = map[string]string{
	"eth": "ethhdr", "vlan": "vlan_hdr", "qinq": "vlan_hdr", "arp": "arphdr", "ip": "iphdr", "ip6": "ipv6hdr", "icmp": "icmphdr",
	"icmp6": "icmp6hdr", "tcp": "tcphdr", "udp": "udphdr", "sctp": "sctphdr",
}

// Headers returns the layers of the run's packet.
func (vs *Values) Headers() (packet.Headers, error) {
	p, err := vs.Packet()
	if err != nil {
		return packet.Headers{}, err
	}
	return vs.headers(p.Data), nil
}

// decodedPacket are the headers of the packet that was asked for last: an invariant names several
// fields of one packet.
type decodedPacket struct {
	data    []byte
	start   packet.Start
	headers packet.Headers
}

// headers decodes a packet of the running program.
func (vs *Values) headers(data []byte) packet.Headers {
	d, start := &vs.decoded, vs.Now.PacketStart()
	if d.start != start || len(d.headers.Layers) == 0 || !bytes.Equal(d.data, data) {
		*d = decodedPacket{append(d.data[:0], data...), start, packet.Decode(data, start)}
	}
	return d.headers
}

// layerRef marks a value as a header of the packet.
type layerRef struct {
	layer packet.Layer
	whole []byte // the entire packet
}

// packetLayer evaluates pkt.NAME.
func (vs *Values) packetLayer(x *Value, name string) (*Value, error) {
	h := vs.headers(x.Data)
	l, ok := h.Layer(name)
	if !ok {
		var names []string
		for _, l := range h.Layers {
			names = append(names, l.Path())
		}
		e := &UnknownError{What: "header", Name: name, In: "the packet, which is " + h.String(), Nearest: Near(name, names)}
		if h.Cut != "" {
			e.In += "; " + h.Cut
		}
		return nil, e
	}
	return vs.LayerValue(x, l)
}

// LayerValue returns a header of the packet x: the kernel's struct for it, or an array of bytes.
func (vs *Values) LayerValue(x *Value, l packet.Layer) (*Value, error) {
	v := &Value{Kind: InMemory, Addr: x.Addr + uint64(l.Off), Data: x.Data[l.Off : l.Off+l.Len], Name: "pkt." + l.Path()}
	v.Type = vs.Basic.Named("unsigned char")
	v.Type.Elems = l.Len
	if t, err := vs.FindType("struct", kernelStructs[l.Name]); err == nil {
		if n, err := t.Size(); err == nil && n <= int64(l.Len) {
			v.Type = t
		}
	}
	if packet.IsHeader(l.Name) {
		v.Layer = &layerRef{l, x.Data}
	}
	return v, nil
}

// otherLayer evaluates pkt.ip[1]: the n-th header of the same kind.
func (vs *Values) otherLayer(x *Value, n uint64) (*Value, error) {
	pkt, err := vs.Packet()
	if err != nil {
		return nil, err
	}
	return vs.packetLayer(pkt, fmt.Sprintf("%s[%d]", x.Layer.layer.Name, n))
}

// layerField evaluates pkt.LAYER.NAME: a field by its packet name, or a member of the kernel's
// struct.
func (vs *Values) layerField(x *Value, name string) (*Value, bool) {
	f, ok := x.Layer.layer.Field(x.Layer.whole, name)
	if !ok {
		return nil, false
	}
	v := &Value{Kind: InMemory, Addr: x.Addr + uint64(f.Off-x.Layer.layer.Off)}
	v.Data = x.Layer.whole[f.Off : f.Off+f.Size()]
	f.Off = 0
	v.Field = &f
	switch {
	case f.Bits > 64 || len(v.Data) > 8:
		v.Type = vs.Basic.Named("unsigned char")
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

// LayerNames lists the names that can follow pkt.LAYER.
func (vs *Values) LayerNames(x *Value) []string {
	var out []string
	for _, f := range x.Layer.layer.Fields(x.Layer.whole) {
		out = append(out, f.Name)
	}
	if x.Type.IsComposite() {
		out = append(out, x.Type.Spec.MemberNames(x.Type.ID)...)
	}
	return out
}

// PacketField names the packet field that contains byte off, "" if no header has one there.
func (vs *Values) PacketField(off uint64) string {
	pkt, err := vs.Packet()
	if err != nil {
		return ""
	}
	for _, l := range vs.headers(pkt.Data).Layers {
		if off >= uint64(l.Off+l.Len) { // the next one begins where it ends
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
