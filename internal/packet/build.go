package packet

import "slices"

// part is a layer or a piece of payload of an expression.
type part struct {
	proto *protocol // nil: payload
	col   int
	bytes []byte
	given []argument
	Layer
}

// argument is a field that an expression sets.
type argument struct {
	name, value  string
	col, valueAt int
}

// builder builds a packet from parts.
type builder struct {
	parts []*part
	pad   int
	padAt int
}

// Numbers that mark payload: an Ethernet type and an IP protocol reserved for experiments (IEEE
// 802, RFC 3692).
const (
	etherExperiment = 0x88b5
	ipExperiment    = 253
)

func (b *builder) addHeader(s *scanner, col int, p *protocol) error {
	if len(b.parts) == maxLayers {
		return s.errorAt(col, "more than %d layers", maxLayers)
	}
	if b.pad != 0 {
		return s.errorAt(b.padAt, "pad must come last")
	}
	if len(b.parts) == 0 && p != eth {
		if err := b.addHeader(s, col, eth); err != nil {
			return err
		}
	}
	if n := len(b.parts); n > 0 && b.parts[n-1].proto == nil {
		return s.errorAt(col, "%s after payload: a packet ends with its payload", p.name)
	}
	x := &part{proto: p, col: col, bytes: make([]byte, p.size)}
	if p.begin != nil {
		p.begin(x.bytes)
	}
	b.parts = append(b.parts, x)
	return nil
}

func (b *builder) addPayload(s *scanner, col int, data []byte) error {
	if len(b.parts) == maxLayers {
		return s.errorAt(col, "more than %d layers", maxLayers)
	}
	if b.pad != 0 {
		return s.errorAt(b.padAt, "pad must come last")
	}
	if len(b.parts) == 0 {
		return s.errorAt(col, "payload without a header: begin with eth, or give hex digits alone")
	}
	b.parts = append(b.parts, &part{col: col, bytes: data})
	return nil
}

// set records a field's value. Values are written when all are known, because some of them
// determine which other fields exist.
func (x *part) set(s *scanner, name string, col int, value string, valueAt int) error {
	if !slices.Contains(x.proto.fieldNames(), name) {
		e := s.errorAt(col, "%s", x.proto.noField(name))
		e.Nearest = near(name, x.proto.fieldNames())
		return e
	}
	if x.has(name) {
		return s.errorAt(col, "%s is given twice", name)
	}
	x.given = append(x.given, argument{name, value, col, valueAt})
	return nil
}

// has reports whether any of the fields was given.
func (x *part) has(names ...string) bool {
	return slices.ContainsFunc(x.given, func(a argument) bool { return slices.Contains(names, a.name) })
}

// fill writes the given fields into the header.
func (x *part) fill(s *scanner) error {
	if err := x.shape(s); err != nil {
		return err
	}
	for _, a := range x.given {
		sp := x.proto.spec(a.name, x.bytes)
		if sp == nil {
			return s.errorAt(a.col, "a %s header of these flags has no %s", x.proto.name, a.name)
		}
		f := sp.field(x.proto.name, 0)
		if a.name == "options" || f.Format == Checksum && a.value == "bad" {
			continue
		}
		v, err := f.Parse(a.value)
		if err != nil {
			return s.errorAt(a.valueAt, "%s: %v", f.Path(), err)
		}
		f.PutRaw(x.bytes, v)
	}
	return nil
}

// shape adds the header's options, and the optional fields of GRE.
func (x *part) shape(s *scanner) error {
	if x.proto == gre && !x.has("flags") {
		var flags uint16
		for name, bit := range map[string]uint16{"csum": greCsum, "key": greKey, "seq": greSeq} {
			if x.has(name) {
				flags |= bit
			}
		}
		be.PutUint16(x.bytes, flags)
	}
	for _, a := range x.given {
		switch {
		case x.proto == gre && a.name == "flags":
			v, err := x.proto.fields[0].field(x.proto.name, 0).Parse(a.value)
			if err != nil {
				return s.errorAt(a.valueAt, "gre.flags: %v", err)
			}
			copy(x.bytes, v)
		case a.name == "options":
			data, err := parseBytes(a.value)
			if err != nil {
				return s.errorAt(a.valueAt, "options: %v", err)
			}
			if err := x.options(s, a, data); err != nil {
				return err
			}
		}
	}
	if x.proto == gre {
		x.bytes = append(x.bytes, make([]byte, greLength(be.Uint16(x.bytes))-4)...)
	}
	return nil
}

// options appends options to the fixed part and updates the header length field.
func (x *part) options(s *scanner, a argument, data []byte) error {
	most := 40 // for headers whose length field counts words in four bits
	switch x.proto {
	case geneve:
		most = 63 * 4
	case hopopts, dstopts, routing:
		most = 255*8 + 6
	}
	if len(data) > most {
		return s.errorAt(a.valueAt, "%d bytes of options, at most %d", len(data), most)
	}
	switch x.proto {
	case hopopts, dstopts, routing:
		x.bytes = append(x.bytes[:2], data...)
		for len(x.bytes)%8 != 0 || len(x.bytes) < 8 {
			x.bytes = append(x.bytes, 0)
		}
		x.bytes[1] = byte(len(x.bytes)/8 - 1)
		return nil
	}
	for len(data)%4 != 0 {
		data = append(data, 0)
	}
	x.bytes = append(x.bytes, data...)
	words := byte(len(x.bytes) / 4)
	switch x.proto {
	case ip:
		x.bytes[0] = x.bytes[0]&0xf0 | words
	case tcp:
		x.bytes[12] = x.bytes[12]&0x0f | words<<4
	case geneve:
		x.bytes[0] = x.bytes[0]&0xc0 | byte(len(data)/4)
	}
	return nil
}

// build assembles the parts: given fields, then the fields that announce the next layer, then
// lengths, then checksums from the innermost layer outward.
func (b *builder) build(s *scanner) ([]byte, error) {
	var out []byte
	var layers []Layer
	for i, x := range b.parts {
		if x.proto != nil {
			if err := x.fill(s); err != nil {
				return nil, err
			}
			if err := b.announce(s, i); err != nil {
				return nil, err
			}
		}
		if len(out)+len(x.bytes) > MaxSize {
			return nil, s.errorAt(x.col, "the packet exceeds %d bytes", MaxSize)
		}
		x.Layer = Layer{Off: len(out), Len: len(x.bytes), proto: x.proto}
		out = append(out, x.bytes...)
	}
	for i, x := range b.parts {
		x.end = len(out)
		layers = append(layers, x.Layer)
		if err := b.length(s, out, i); err != nil {
			return nil, err
		}
	}
	for i := len(b.parts) - 1; i >= 0; i-- {
		b.checksum(out, layers, i)
	}
	if b.pad > len(out) {
		out = append(out, make([]byte, b.pad-len(out))...)
	}
	return out, nil
}

// announce sets the field of part i that identifies the next layer, unless it was given.
func (b *builder) announce(s *scanner, i int) error {
	x := b.parts[i]
	var next *protocol
	last := i+1 == len(b.parts)
	if !last {
		next = b.parts[i+1].proto
	}
	field, value, ok := x.proto.link(next)
	if field == "" || x.has(field) || x.proto == ip6 && x.has("proto") {
		if field == "" && next != nil && !ok {
			return s.errorAt(b.parts[i+1].col, "%s cannot carry %s", x.proto.name, next.name)
		}
		return nil
	}
	if !ok {
		return s.errorAt(b.parts[i+1].col, "%s cannot carry %s (%s.%s=N makes it so)", x.proto.name, next.name, x.proto.name, field)
	}
	if x.proto == udp && value == 0 {
		return nil
	}
	x.proto.spec(field, x.bytes).field(x.proto.name, 0).Put(x.bytes, value)
	return nil
}

// link returns the field of a header that identifies the next layer, and its value for the protocol
// next (nil for payload). field is empty for headers without such a field. ok is false if there is
// no value for next.
func (p *protocol) link(next *protocol) (field string, value uint64, ok bool) {
	switch p {
	case eth, vlan, qinq, gre, geneve:
		field, value = "proto", etherExperiment
		if p == eth || p == vlan || p == qinq {
			field = "type"
		}
		if next == nil {
			return field, value, true
		}
		value, ok = etherTypes.value(next.name)
		return field, value, ok
	case ip, ip6, hopopts, dstopts, routing, frag:
		field = "next"
		if p == ip {
			field = "proto"
		}
		if next == nil {
			return field, ipExperiment, true
		}
		if next == ip {
			return field, ipIPIP, true
		}
		value, ok = protocols.value(next.name)
		return field, value, ok
	case udp:
		switch next {
		case nil:
			return "dport", 0, true
		case vxlan:
			return "dport", portVXLAN, true
		case geneve:
			return "dport", portGeneve, true
		}
		return "dport", 0, false
	case vxlan:
		return "", 0, next == nil || next == eth
	case icmp:
		return "", 0, next == nil || next == ip // the packet that an ICMP error quotes
	case icmp6:
		return "", 0, next == nil || next == ip6
	}
	return "", 0, next == nil
}

// length sets the length of part i, unless it was given.
func (b *builder) length(s *scanner, out []byte, i int) error {
	x := b.parts[i]
	n, at := len(out)-x.Off, x.Off
	switch x.proto {
	case ip:
		at += 2
	case ip6:
		n, at = n-40, at+4
	case udp:
		at += 4
	default:
		return nil
	}
	if x.has("len") {
		return nil
	}
	if n > 0xffff {
		return s.errorAt(x.col, "%s with %d bytes: its length field takes at most %d (%s(len=N) sets it)", x.proto.name, n, 0xffff, x.proto.name)
	}
	be.PutUint16(out[at:], uint16(n))
	return nil
}

// checksum sets the checksum of part i, unless it was given.
func (b *builder) checksum(out []byte, layers []Layer, i int) {
	x := b.parts[i]
	if x.proto == nil {
		return
	}
	f, ok := x.Field(out, "csum")
	if !ok {
		return
	}
	bad := slices.ContainsFunc(x.given, func(a argument) bool { return a.name == "csum" && a.value == "bad" })
	if x.has("csum") && !bad {
		return
	}
	sum, ok := sumOf(out, layers[:i], x.Layer)
	if bad {
		sum ^= 0x5555 // neither 0 nor the correct value
		ok = true
	}
	if ok {
		f.Put(out, sum)
	}
}
