package play

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/packet"
)

// Packet is a packet with its headers.
type Packet struct {
	// Bytes are hex digits; Size is the length of the packet, which may be more.
	Bytes  string        `json:"bytes"`
	Size   int           `json:"size"`
	Layers []PacketLayer `json:"layers"`
	// Cut names the header that the packet is too short for.
	Cut  string `json:"cut,omitempty"`
	Text string `json:"text"` // on one line
}

// PacketLayer is a header, the payload or the trailer.
type PacketLayer struct {
	Path   string        `json:"path"`
	Name   string        `json:"name"`
	Nth    int           `json:"nth"` // earlier layers with the name
	Off    int           `json:"off"`
	Len    int           `json:"len"`
	Fields []PacketField `json:"fields"`
	// Sum is "right" or "wrong" for a header with a checksum that can be checked, Want what it
	// should be if it is wrong.
	Sum  string `json:"sum,omitempty"`
	Want uint64 `json:"want,omitempty"`
}

// PacketField is a field. Off is its first byte in the packet, Bit its first bit in that byte, from
// the most significant one.
type PacketField struct {
	Path string `json:"path"`
	Name string `json:"name"`
	Off  int    `json:"off"`
	Bit  int    `json:"bit"`
	Bits int    `json:"bits"`
	Text string `json:"text"` // the value, as expressions have it
}

// Limits of what is shown of a packet.
const (
	maxBytes  = 2000
	maxLayers = 40
)

// newPacket describes a packet.
func newPacket(data []byte, start packet.Start) *Packet {
	h := packet.Decode(data, start)
	out := &Packet{Bytes: hex.EncodeToString(data[:min(len(data), maxBytes)]), Size: len(data), Layers: []PacketLayer{}, Cut: h.Cut, Text: packet.Describe(data, start)}
	for i, l := range h.Layers[:min(len(h.Layers), maxLayers)] {
		pl := PacketLayer{Path: l.Path(), Name: l.Name, Nth: l.Nth, Off: l.Off, Len: l.Len, Fields: []PacketField{}}
		switch state, want := h.Sum(data, i); state {
		case packet.SumRight:
			pl.Sum = "right"
		case packet.SumWrong:
			pl.Sum, pl.Want = "wrong", want
		}
		for _, f := range l.Fields(data) {
			pl.Fields = append(pl.Fields, PacketField{Path: l.Path() + "." + f.Name, Name: f.Name, Off: f.Off, Bit: f.Bit, Bits: f.Bits, Text: f.Text(data)})
		}
		out.Layers = append(out.Layers, pl)
	}
	return out
}

// packetOf builds the packet of an expression or of hex digits. A message has no files, so a packet
// cannot be read from one.
func packetOf(text string) ([]byte, error) {
	if strings.Contains(text, "@") {
		return nil, errors.New("want an expression or hex digits; a page cannot read files")
	}
	return packet.Load(text, "")
}

func (p *Player) packet(_ context.Context, m *Message) (any, error) {
	data, err := packetOf(strings.TrimSpace(m.Packet))
	if err != nil {
		return nil, fmt.Errorf("packet: %w", err)
	}
	return newPacket(data, packet.Ethernet), nil
}

// Layers is the answer to layers: the headers that expressions may have, with their fields.
type Layers struct {
	Layers []LayerNames `json:"layers"`
}

// LayerNames are a header and its fields.
type LayerNames struct {
	Name   string   `json:"name"`
	Fields []string `json:"fields"`
}

func (p *Player) layers(context.Context, *Message) (any, error) {
	var out Layers
	for _, name := range packet.LayerNames() {
		out.Layers = append(out.Layers, LayerNames{name, packet.FieldNames(name)})
	}
	return out, nil
}
