package search

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
)

// Kind says what an override changes.
type Kind uint8

// The kinds of inputs.
const (
	// Memory is memory that the program reads: packet bytes, map values, variables, arguments,
	// fields of kernel objects.
	Memory Kind = iota
	// Element is an element of a map.
	Element
	// Result is what a helper returns.
	Result
	// Length is the length of the packet.
	Length
)

// Override is one changed input of a run.
type Override struct {
	Kind Kind
	// Place is what is changed, by name; Text is its new value as its type shows it.
	Place Place
	Text  string
	// Addr and Data are the bytes at an address, written before the program first reads them.
	Addr uint64
	Data []byte
	// Map and Key are an element that is inserted before the program looks it up.
	Map  string
	Key  []byte
	Like []byte // its value; nil for zeros
	addr uint64 // of the map
	nth  int    // lookup in the map
	// Helper is a helper whose calls return Value. Of a Length, Value is the number of bytes.
	Helper string
	Value  uint64
}

// String describes the override: "packet ip.protocol = 17", "map flows[167772161] inserted",
// "bpf_get_prandom_u32() = 0".
func (o Override) String() string {
	switch o.Kind {
	case Element:
		return o.Place.String() + " inserted"
	case Result:
		return o.Helper + "() = " + number(o.Value)
	case Length:
		return fmt.Sprintf("packet of %d bytes", o.Value)
	}
	return o.Place.String() + " = " + o.Text
}

// same reports whether two overrides change the same input, so that the later one counts.
func (o Override) same(p Override) bool {
	if o.Kind == Memory && p.Kind == Memory && o.Place.Input == Packet && p.Place.Input == Packet {
		return o.Place.Off == p.Place.Off && len(o.Data) == len(p.Data)
	}
	return o.Kind == p.Kind && o.Addr == p.Addr && o.addr == p.addr && o.nth == p.nth && o.Helper == p.Helper
}

// with adds an override to a list, in place of one of the same input.
func with(list []Override, o Override) []Override {
	out := make([]Override, 0, len(list)+1)
	for _, p := range list {
		if !p.same(o) {
			out = append(out, p)
		}
	}
	return append(out, o)
}

// Override makes the change that gives a source a value. Call it before the machine is changed or
// rewound, since it names the input as it is now.
func (t *Trace) Override(s *Source, x uint64) Override {
	switch s.Kind {
	case Element:
		o := Override{Kind: Element, Key: []byte(s.Key), addr: s.Map, nth: s.Nth}
		if _, def := mapAt(t.m, s.Map); def != nil {
			o.Map = def.Name
			o.Place = Place{Input: MapValue, Name: def.Name, Key: o.Key, key: keyText(t.m, def, o.Key)}
			if t.like != nil && !def.OfMaps() {
				o.Like = t.like(def)
			}
		}
		return o
	case Result:
		return Override{Kind: Result, Helper: s.Helper, Value: x}
	case Length:
		return Override{Kind: Length, Value: x}
	}
	o := Override{Kind: Memory, Addr: s.Addr, Place: s.Place, Data: t.bytes(x, s.Size)}
	if s.Place.Input == Packet {
		o.Text = t.packetText(&o.Place, o.Data)
	} else {
		o.Text = s.Place.value(t.m, o.Data)
	}
	return o
}

// overriding returns the helpers that a list of overrides answers.
func overriding(base map[string]machine.Override, changes []Override) map[string]machine.Override {
	out := map[string]machine.Override{}
	for name, o := range base {
		out[name] = o
	}
	for _, o := range changes {
		if o.Kind == Result {
			out[o.Helper] = machine.Override{Returns: []uint64{o.Value}}
		}
	}
	return out
}

// framed returns a packet with a list of overrides; lead is the number of bytes before those that
// the program sees. Its checksums are right, as a packet's that arrives are, unless they are what
// is changed.
func framed(frame []byte, lead int, changes []Override) []byte {
	out := append([]byte(nil), frame...)
	for _, o := range changes {
		if o.Kind == Length && lead+int(o.Value) > len(out) {
			out = append(out, make([]byte, lead+int(o.Value)-len(out))...)
		}
	}
	for _, o := range changes {
		if o.Kind == Memory && o.Place.Input == Packet && lead+o.Place.Off+len(o.Data) <= len(out) {
			copy(out[lead+o.Place.Off:], o.Data)
		}
	}
	packet.Mend(out, packet.Ethernet, func(from, to int) bool {
		return slices.ContainsFunc(changes, func(o Override) bool {
			at := lead + o.Place.Off
			return o.Kind == Memory && o.Place.Input == Packet && at < to && from < at+len(o.Data)
		})
	})
	return out
}

// inPacket reports whether an override changes the packet.
func inPacket(o Override) bool {
	return o.Kind == Length || o.Kind == Memory && o.Place.Input == Packet
}

// number is the value of the bytes.
func (o Override) number(m *machine.Machine) uint64 {
	return endian.Uint(m.Memory().ByteOrder(), o.Data)
}
