package debug

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/packet"
	"github.com/bpfrun/bpfrun/progtype"
)

// packet is the packet of the run.
func (s *Session) packet() (*Value, error) {
	if s.state == Idle || s.run.Context().Packet == nil {
		return nil, &UnavailableError{"pkt", "no program with a packet is running"}
	}
	p := s.run.Context().Packet
	return &Value{kind: aPacket, Addr: p.Data(), Data: p.Bytes(), name: "pkt"}, nil
}

func (s *Session) packetByte(x *Value, i uint64) (*Value, error) {
	if i >= uint64(len(x.Data)) {
		return nil, fmt.Errorf("the packet has %d bytes", len(x.Data))
	}
	return s.at(s.basic.named("unsigned char"), x.Addr+i)
}

// kernelStructs are the kernel's structs of headers: their members can be named besides the fields.
var kernelStructs = map[string]string{
	"eth": "ethhdr", "vlan": "vlan_hdr", "qinq": "vlan_hdr", "arp": "arphdr", "ip": "iphdr", "ip6": "ipv6hdr", "icmp": "icmphdr",
	"icmp6": "icmp6hdr", "tcp": "tcphdr", "udp": "udphdr", "sctp": "sctphdr",
}

// packetStart describes what the packets of the running program begin with.
func (s *Session) packetStart() packet.Start {
	if progtype.Of(s.run.Program().Type).Layer == progtype.Network {
		return packet.Network
	}
	return packet.Ethernet
}

// Headers returns the layers of the run's packet.
func (s *Session) Headers() (packet.Headers, error) {
	p, err := s.packet()
	if err != nil {
		return packet.Headers{}, err
	}
	return packet.Decode(p.Data, s.packetStart()), nil
}

// layerRef means that a value is a header of the packet.
type layerRef struct {
	layer packet.Layer
	whole []byte // the packet
}

// packetLayer is pkt.NAME.
func (s *Session) packetLayer(x *Value, name string) (*Value, error) {
	h := packet.Decode(x.Data, s.packetStart())
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
	return s.layerValue(x, l)
}

func (s *Session) layerValue(x *Value, l packet.Layer) (*Value, error) {
	v := &Value{kind: inMemory, Addr: x.Addr + uint64(l.Off), Data: x.Data[l.Off : l.Off+l.Len], name: "pkt." + l.Path()}
	v.Type = s.basic.named("unsigned char")
	v.Type.Elems = l.Len
	if t, err := s.FindType("struct", kernelStructs[l.Name]); err == nil {
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
func (s *Session) otherLayer(x *Value, n uint64) (*Value, error) {
	pkt, err := s.packet()
	if err != nil {
		return nil, err
	}
	return s.packetLayer(pkt, fmt.Sprintf("%s[%d]", x.layer.layer.Name, n))
}

// layerField is pkt.LAYER.NAME: a field by the names of packets, else a member of the kernel's struct.
func (s *Session) layerField(x *Value, name string) (*Value, bool) {
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
		v.Type = s.basic.named("unsigned char")
		v.Type.Elems = len(v.Data)
	default:
		v.Type = s.bytesType(min(8, ceilPow2(len(v.Data))))
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
func (s *Session) layerNames(x *Value) []string {
	var out []string
	for _, f := range x.layer.layer.Fields(x.layer.whole) {
		out = append(out, f.Name)
	}
	if x.Type.isComposite() {
		out = append(out, x.Type.Spec.MemberNames(x.Type.ID)...)
	}
	return out
}

// formatLayer writes the fields of a header.
func (s *Session) formatLayer(v *Value) string {
	var parts []string
	for _, f := range v.layer.layer.Fields(v.layer.whole) {
		parts = append(parts, f.Name+" = "+f.Text(v.layer.whole))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// encodeField writes v over the bytes of a packet's field: a number, or text as packets are written.
func (s *Session) encodeField(v *Value, f packet.Field, data []byte) error {
	if v.isText {
		raw, err := f.Parse(v.text)
		if err != nil {
			return err
		}
		f.PutRaw(data, raw)
		return nil
	}
	n, _, err := s.asInt(v)
	if err != nil {
		return err
	}
	switch {
	case f.Bits > 64 || len(data) > 8:
		return fmt.Errorf("%s takes text, as in %q", f.Path(), f.Text(data))
	case f.Bits < 64 && n>>f.Bits != 0:
		return fmt.Errorf("%d does not fit into the %d bits of %s", int64(n), f.Bits, f.Path())
	}
	f.Put(data, n)
	return nil
}

// packetField names the field of the packet that byte off belongs to, "" when no header has it.
func (s *Session) packetField(off uint64) string {
	pkt, err := s.packet()
	if err != nil {
		return ""
	}
	for _, l := range packet.Decode(pkt.Data, s.packetStart()).Layers {
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

// SetPacket gives the programs that are started from now on a packet.
func (s *Session) SetPacket(p []byte) { s.in.Packet, s.packetNo = p, 0 }

// Packets are the packets of a capture that runs can be started with.
func (s *Session) Packets() [][]byte { return s.packets }

// PacketNumber returns the number of the packet that was chosen, from 1; 0 for none.
func (s *Session) PacketNumber() int { return s.packetNo }

// SetPackets replaces the packets of the capture and chooses the first.
func (s *Session) SetPackets(list [][]byte) error {
	if len(list) == 0 {
		return errors.New("the capture has no packets")
	}
	s.packets = list
	return s.ChoosePacket(1)
}

// ChoosePacket makes packet n of the capture, counted from 1, the one that runs get.
func (s *Session) ChoosePacket(n int) error {
	switch {
	case len(s.packets) == 0:
		return errors.New("there is no capture (start with --pcap FILE, or packet FILE)")
	case n < 1 || n > len(s.packets):
		return fmt.Errorf("there is no packet %d, the capture has %d", n, len(s.packets))
	}
	s.packetNo, s.in.Packet = n, s.packets[n-1]
	return nil
}

// Limits of a capture that is kept for a session.
const (
	maxPackets      = 1 << 20
	maxPacketsBytes = 256 << 20
)

// ReadPackets reads the packets of a capture, pcap or pcapng. Of a larger one the first are taken.
func ReadPackets(path string) ([][]byte, error) {
	r, err := packet.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out [][]byte
	for size := 0; len(out) < maxPackets && size < maxPacketsBytes; {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		out = append(out, bytes.Clone(p.Data))
		size += len(p.Data)
	}
	return out, nil
}

// LoadPacket makes a packet from what users write: an expression, hex digits, @FILE or @CAPTURE#N.
func LoadPacket(text string) ([]byte, error) { return packet.Load(text, "") }

// PacketText describes a packet in a line.
func PacketText(p []byte) string { return packet.Describe(p, packet.Ethernet) }
