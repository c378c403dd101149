package btf

import (
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"strconv"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// The types of values that [Spec.DecodeValue] returns, besides bool, string (an array of char),
// float64 and *big.Int (more than 64 bits).
type (
	// Int is an integer or an integer bitfield. V is sign-extended if Signed.
	Int struct {
		V      uint64
		Bits   uint32
		Signed bool
		// Network is the notation for a number in network byte order, as declared by its type's
		// name: the IPv4 address of a __be32, "htons(53)" for a __be16, "cpu_to_be64(1)" for a
		// __be64; "" for others.
		Network string
	}
	// Enum is a value of an ENUM or ENUM64. Name is "" if no enumerator has the value.
	Enum struct {
		Name string
		Int  Int
	}
	// Pointer is an address.
	Pointer uint64
	// Bytes is an array of unsigned bytes, or the content of a type that cannot be decoded.
	Bytes []byte
	// List is an array. If MaxElems cut it off, the last element is a More.
	List []any
	// Object is a struct, union or section with its members in order, including those of anonymous
	// members.
	Object []Entry
	// Entry is a member of an Object.
	Entry struct {
		Name  string
		Value any
	}
	// IPv6 is the address in a struct in6_addr.
	IPv6 [16]byte
	// Missing stands for data that is not there because the input is too short.
	Missing struct{}
	// More is the last element of a List that was cut off: the number of elements left out.
	More int64
)

// Int64 returns the value as a signed number.
func (v Int) Int64() int64 { return int64(v.V) }

// String returns the value in decimal.
func (v Int) String() string {
	if v.Signed {
		return strconv.FormatInt(int64(v.V), 10)
	}
	return strconv.FormatUint(v.V, 10)
}

// Get returns the member of this name, or nil.
func (o Object) Get(name string) any {
	for i := range o {
		if o[i].Name == name {
			return o[i].Value
		}
	}
	return nil
}

// DecodeOptions limits what [Spec.DecodeValue] decodes.
type DecodeOptions struct {
	// MaxElems is the number of elements decoded of each array that is neither a string nor bytes;
	// 0 means all.
	MaxElems int
}

// maxNodes limits the values decoded from data: members of unions and anonymous members of
// malformed BTF can decode the same bytes again and again.
func maxNodes(data []byte) int { return 4096 + 16*len(data) }

// DecodeValue decodes data as a value of type id. Byte order and pointer size are those of the BTF.
// Short data is not an error: what is not there becomes [Missing]. The error is that of an invalid
// id.
func (s *Spec) DecodeValue(id ID, data []byte, opt DecodeOptions) (any, error) {
	if _, err := s.Type(id); err != nil {
		return nil, err
	}
	d := valueDecoder{s: s, data: data, opt: opt, budget: maxNodes(data)}
	return d.value(id, 0, 0, 0), nil
}

// DecodeField is [Spec.DecodeValue] for one field of a root type, whose bytes are data.
func (s *Spec) DecodeField(f Field, data []byte) (any, error) {
	if _, err := s.Type(f.Type); err != nil {
		return nil, err
	}
	d := valueDecoder{s: s, data: data, budget: maxNodes(data)}
	return d.value(f.Type, uint64(f.BitOffset), f.BitSize, 0), nil
}

type valueDecoder struct {
	s      *Spec
	data   []byte
	opt    DecodeOptions
	budget int
}

// have reports whether the data contains width bits at bit offset off.
func (d *valueDecoder) have(off, width uint64) bool {
	return off+width <= uint64(len(d.data))*8
}

// value decodes a value at a bit offset; bits is the width of a bitfield, or 0.
func (d *valueDecoder) value(id ID, off uint64, bits uint32, depth int) any {
	if d.budget--; d.budget < 0 || depth > maxDepth {
		return Missing{}
	}
	t := d.s.SkipMods(id)
	switch t.Kind {
	case KindInt:
		v := d.int(t, off, bits)
		if n, ok := v.(Int); ok && id != t.ID && (n.Bits == 16 || n.Bits == 32) {
			if bits := d.s.NetworkBits(id); bits == n.Bits {
				n.Network = FormatNetwork(d.s.ByteOrder(), bits, n.V)
			}
			return n
		}
		return v
	case KindEnum, KindEnum64:
		width := bits
		if width == 0 {
			width = t.Size * 8
		}
		if width == 0 || width > 64 || !d.have(off, uint64(width)) {
			return Missing{}
		}
		v := Int{V: extend(d.bits(off, width), width, t.Signed()), Bits: width, Signed: t.Signed()}
		name, _ := t.ValueName(v.V)
		return Enum{Name: name, Int: v}
	case KindPtr:
		width := uint32(d.s.ptrSize) * 8
		if !d.have(off, uint64(width)) {
			return Missing{}
		}
		return Pointer(d.bits(off, width))
	case KindFloat:
		return d.float(t, off)
	case KindArray:
		return d.array(t, off, depth)
	case KindStruct, KindUnion:
		if isIPv6(t) && off%8 == 0 && d.have(off, 128) {
			return IPv6(d.data[off/8:][:16])
		}
		o := Object{}
		d.members(t, off, depth, &o)
		return o
	case KindDatasec:
		o := make(Object, 0, len(t.Vars))
		for _, v := range t.Vars {
			o = append(o, Entry{d.s.Name(v.Type), d.value(v.Type, off+uint64(v.Offset)*8, 0, depth+1)})
		}
		return o
	case KindVar, KindDeclTag:
		return d.value(t.Ref, off, 0, depth+1)
	}
	if off/8 <= uint64(len(d.data)) {
		return Bytes(d.data[off/8:])
	}
	return Missing{}
}

func (d *valueDecoder) members(t *Type, off uint64, depth int, o *Object) {
	for i := range t.Members {
		m := &t.Members[i]
		at, bits := d.s.MemberBits(t, m)
		if m.Name == "" {
			in := d.s.SkipMods(m.Type)
			if in.Kind.IsComposite() && depth < maxDepth && d.budget > 0 {
				d.budget--
				d.members(in, off+uint64(at), depth+1, o)
			}
			continue
		}
		if d.budget < 0 {
			return
		}
		*o = append(*o, Entry{m.Name, d.value(m.Type, off+uint64(at), bits, depth+1)})
	}
}

func (d *valueDecoder) int(t *Type, off uint64, bits uint32) any {
	width := bits
	if width == 0 {
		width = t.Size * 8
		if t.Int.Offset != 0 || t.Int.Bits != 0 && uint32(t.Int.Bits) != width {
			off, width = off+uint64(t.Int.Offset), uint32(t.Int.Bits)
		}
	}
	if width == 0 || width > 128 || !d.have(off, uint64(width)) {
		return Missing{}
	}
	if width > 64 {
		return d.wide(off, width, t.Signed())
	}
	v := d.bits(off, width)
	if t.Int.Encoding&IntBool != 0 && v <= 1 {
		return v == 1
	}
	return Int{V: extend(v, width, t.Signed()), Bits: width, Signed: t.Signed()}
}

func (d *valueDecoder) wide(off uint64, width uint32, signed bool) any {
	lo, hi := d.bits(off, 64), d.bits(off+64, width-64)
	if d.s.big {
		hi, lo = d.bits(off, width-64), d.bits(off+uint64(width)-64, 64)
	}
	v := new(big.Int).SetUint64(hi)
	v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(lo))
	if signed && v.Bit(int(width)-1) == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(width)))
	}
	return v
}

func (d *valueDecoder) float(t *Type, off uint64) any {
	if off%8 != 0 || !d.have(off, uint64(t.Size)*8) {
		return Missing{}
	}
	switch t.Size {
	case 4:
		return float64(math.Float32frombits(uint32(d.bits(off, 32))))
	case 8:
		return math.Float64frombits(d.bits(off, 64))
	}
	return Bytes(d.data[off/8 : off/8+uint64(t.Size)])
}

func (d *valueDecoder) array(t *Type, off uint64, depth int) any {
	es := uint64(d.s.size(t.Ref))
	if es == 0 || off%8 != 0 {
		return List{}
	}
	left := uint64(0)
	if off/8 < uint64(len(d.data)) {
		left = uint64(len(d.data)) - off/8
	}
	n := uint64(t.Array.Nelems)
	if n == 0 && depth > 0 {
		n = left / es // a flexible array extends to the end of the data
	}
	text, raw := d.s.charArray(t)
	if text || raw {
		if left < n && left == 0 {
			return Missing{}
		}
		b := d.data[off/8 : off/8+min(n, left)]
		if raw {
			return Bytes(b)
		}
		for i, c := range b {
			if c == 0 {
				b = b[:i]
				break
			}
		}
		return string(b)
	}
	if have := left / es; n > have {
		if have == 0 {
			return Missing{}
		}
		n = have + 1 // including the first missing element, which marks the data as short
	}
	list := make(List, 0, min(n, 1024))
	for i := range n {
		if d.opt.MaxElems > 0 && len(list) == d.opt.MaxElems {
			return append(list, More(n-i))
		}
		if d.budget < 0 {
			break
		}
		list = append(list, d.value(t.Ref, off+i*es*8, 0, depth+1))
	}
	return list
}

// charArray classifies arrays of char, which are text, and of unsigned bytes.
func (s *Spec) charArray(t *Type) (text, raw bool) {
	e := s.SkipMods(t.Ref)
	if e.Kind != KindInt || e.Size != 1 || e.Int.Bits != 8 || e.Int.Encoding&IntBool != 0 {
		return false, false
	}
	text = e.Name == "char" || e.Int.Encoding&IntChar != 0
	return text, !text && !e.Signed()
}

// bits reads up to 64 bits. Bit offsets count from the least significant bit of a byte on
// little-endian targets and from the most significant on big-endian ones, as compilers lay out
// bitfields.
func (d *valueDecoder) bits(off uint64, width uint32) uint64 {
	return endian.Bits(d.s.ByteOrder(), d.data, off, width)
}

func extend(v uint64, width uint32, signed bool) uint64 {
	if !signed || width >= 64 {
		return v
	}
	return uint64(int64(v<<(64-width)) >> (64 - width))
}

// String returns the enumerator's name, or the number.
func (e Enum) String() string {
	if e.Name != "" {
		return e.Name
	}
	return e.Int.String()
}

// String returns the address as people write it: 2001:db8::1.
func (a IPv6) String() string { return netip.AddrFrom16(a).String() }

// String returns the address in hexadecimal.
func (p Pointer) String() string { return fmt.Sprintf("%#x", uint64(p)) }
