package packet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Start is the kind of header that a packet begins with.
type Start uint8

// The kinds of headers.
const (
	Ethernet Start = iota
	Network        // an IPv4 or IPv6 header, for programs that see packets from layer 3 on
)

// Layer is a header of a packet, its payload or its trailer.
type Layer struct {
	Name string // "eth", "ip", "tcp", "payload", "trailer"
	Nth  int    // number of earlier layers with that name
	Off  int
	Len  int

	proto *protocol
	end   int  // end of what the layer contains, without trailer
	short bool // the packet ends before that
}

// Path returns the name of the layer in paths: "ip", "ip[1]" for the second one.
func (l Layer) Path() string {
	if l.Nth == 0 {
		return l.Name
	}
	return l.Name + "[" + strconv.Itoa(l.Nth) + "]"
}

// Headers are the layers of a packet, in order. They hold positions; the bytes remain in the
// packet.
type Headers struct {
	Layers []Layer
	// Cut names the header that the packet is too short for, or "".
	Cut string
}

// maxLayers limits the headers that are decoded in a packet.
const maxLayers = 32

// Decode finds the headers of a packet. Everything after the last known header is payload.
func Decode(p []byte, start Start) Headers {
	next := eth
	if start == Network {
		next = ip
		if len(p) > 0 && p[0]>>4 == 6 {
			next = ip6
		}
	}
	h := Headers{Layers: make([]Layer, 0, 4)}
	at, end, short := 0, len(p), false
	for next != nil && len(h.Layers) < maxLayers {
		b := p[at:end]
		size, why := next.measure(b)
		if why != "" {
			h.Cut = fmt.Sprintf("%s header at byte %d: %s", next.name, at, why)
			break
		}
		if next.inner != nil {
			n := next.inner(b)
			if n >= size && at+n < end {
				end = at + n
			}
			short = short || at+n > end
		}
		h.add(Layer{Name: next.name, Off: at, Len: size, proto: next, end: end, short: short})
		at += size
		if next.next == nil {
			break
		}
		if next = next.next(b); next == ip && at < end && p[at]>>4 != 4 || next == ip6 && at < end && p[at]>>4 != 6 {
			next = nil // not what the previous header announced
		}
	}
	if at < end {
		h.add(Layer{Name: payloadName, Off: at, Len: end - at, end: end})
	}
	if end < len(p) {
		h.add(Layer{Name: trailerName, Off: end, Len: len(p) - end, end: len(p)})
	}
	return h
}

// measure returns the length in bytes of the header at the start of b, or why there is none.
func (p *protocol) measure(b []byte) (size int, why string) {
	if len(b) < p.size {
		return 0, fmt.Sprintf("%d of %d bytes", len(b), p.size)
	}
	size = p.size
	if p.length != nil {
		size = p.length(b)
	}
	if size < p.size {
		return 0, fmt.Sprintf("its length field is %d bytes, want at least %d", size, p.size)
	}
	if size > len(b) {
		return 0, fmt.Sprintf("%d of %d bytes", len(b), size)
	}
	return size, ""
}

func (h *Headers) add(l Layer) {
	for _, x := range h.Layers {
		if x.Name == l.Name {
			l.Nth++
		}
	}
	h.Layers = append(h.Layers, l)
}

// Layer finds a layer by path: "ip", "ip[1]", or an alias such as "ipv6".
func (h Headers) Layer(path string) (Layer, bool) {
	name, nth, err := splitLayer(path)
	if err != nil {
		return Layer{}, false
	}
	for _, l := range h.Layers {
		if l.Name == name && l.Nth == nth {
			return l, true
		}
	}
	return Layer{}, false
}

// splitLayer splits "ip[1]" and resolves aliases.
func splitLayer(path string) (name string, nth int, err error) {
	name = path
	if head, tail, ok := strings.Cut(path, "["); ok {
		digits, closed := strings.CutSuffix(tail, "]")
		if nth, err = strconv.Atoi(digits); err != nil || !closed || nth < 0 {
			return "", 0, fmt.Errorf("%q: want a layer such as ip or ip[1]", brief(path))
		}
		name = head
	}
	if p := protocolNamed(name); p != nil {
		name = p.name
	}
	return name, nth, nil
}

// Fields lists the fields of a layer with their positions in the packet. Payload has none.
func (l Layer) Fields(p []byte) []Field {
	if l.proto == nil || l.Off+l.Len > len(p) {
		return nil
	}
	var out []Field
	for _, s := range l.proto.specs(p[l.Off:]) {
		out = append(out, s.field(l.Path(), l.Off))
	}
	return out
}

// Field finds a field of the layer by name.
func (l Layer) Field(p []byte, name string) (Field, bool) {
	if l.proto == nil || l.Off+l.Len > len(p) {
		return Field{}, false
	}
	s := l.proto.spec(name, p[l.Off:])
	if s == nil {
		return Field{}, false
	}
	return s.field(l.Path(), l.Off), true
}

// PathError reports a path that is not a field of a packet.
type PathError struct {
	Path string
	Why  string
	// Unknown means that no packet has such a field: the path is wrong. Otherwise only this packet
	// lacks it.
	Unknown bool
	Nearest []string
}

// Error describes what is wrong with the path and lists what exists.
func (e *PathError) Error() string {
	s := fmt.Sprintf("%s: %s", e.Path, e.Why)
	if len(e.Nearest) > 0 {
		s += " (nearest: " + strings.Join(e.Nearest, ", ") + ")"
	}
	return s
}

// Field finds a field of the decoded packet by its path, such as "ip.ttl" or "ip[1].src". "payload"
// and "trailer" are fields of bytes. The error is a [*PathError].
func (h Headers) Field(p []byte, path string) (Field, error) {
	layer, name, dotted := strings.Cut(path, ".")
	if err := CheckPath(path); err != nil {
		return Field{}, err
	}
	l, ok := h.Layer(layer)
	if !ok {
		why := fmt.Sprintf("the packet has no such layer: it is %s", h)
		if h.Cut != "" {
			why += "; " + h.Cut
		}
		return Field{}, &PathError{Path: path, Why: why}
	}
	if !dotted {
		return Field{Layer: l.Path(), Off: l.Off, Bits: 8 * l.Len, Format: Bytes}, nil
	}
	f, ok := l.Field(p, name)
	if !ok {
		return Field{}, &PathError{Path: path, Why: fmt.Sprintf("this %s header has none", l.Name)}
	}
	return f, nil
}

// CheckPath checks that some packet can have a field with that path. The error is a [*PathError].
func CheckPath(path string) error {
	layer, name, dotted := strings.Cut(path, ".")
	kind, _, err := splitLayer(layer)
	if err != nil {
		return &PathError{Path: path, Why: err.Error(), Unknown: true}
	}
	if kind == payloadName || kind == trailerName {
		if dotted {
			return &PathError{Path: path, Why: kind + " has no fields", Unknown: true}
		}
		return nil
	}
	p := protocolNamed(kind)
	if p == nil {
		all := append(LayerNames(), payloadName, trailerName)
		return &PathError{Path: path, Why: noLayer(kind, all), Unknown: true, Nearest: near(kind, all)}
	}
	if dotted && !slices.Contains(p.fieldNames(), name) {
		return &PathError{Path: path, Why: p.noField(name), Unknown: true, Nearest: near(name, p.fieldNames())}
	}
	return nil
}

// IsHeader reports whether there is a header of that name, whose fields [FieldNames] lists.
func IsHeader(layer string) bool { return protocolNamed(layer) != nil }

// FieldNames lists the fields of the named header, or nil if there is no such header.
func FieldNames(layer string) []string {
	if p := protocolNamed(layer); p != nil {
		return p.fieldNames()
	}
	return nil
}

// String returns the stack of layers: "eth/ip/tcp/payload".
func (h Headers) String() string {
	if len(h.Layers) == 0 {
		return "empty"
	}
	parts := make([]string, len(h.Layers))
	for i, l := range h.Layers {
		parts[i] = l.Name
	}
	return strings.Join(parts, "/")
}

// FieldNamed describes a field by path without a packet: its format and its width, which is 0 if it
// depends on the packet. Off and Bit have no meaning. The error is a [*PathError].
func FieldNamed(path string) (Field, error) {
	if err := CheckPath(path); err != nil {
		return Field{}, err
	}
	layer, name, dotted := strings.Cut(path, ".")
	kind, _, _ := splitLayer(layer)
	f := Field{Layer: layer, Name: name, Format: Bytes}
	p := protocolNamed(kind)
	if !dotted || p == nil {
		return f, nil
	}
	for _, sp := range p.known() {
		if sp.name == name {
			f = sp.field(layer, 0)
			if f.Format == Bytes {
				f.Bits = 0
			}
		}
	}
	return f, nil
}
