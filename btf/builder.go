package btf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Builder builds BTF type by type. The zero value is not usable; start with [NewBuilder]. It is not
// safe for concurrent use.
type Builder struct {
	base  *Spec
	first ID
	types []Type
}

// NewBuilder returns an empty Builder. Its ids continue those of base, which may be nil.
func NewBuilder(base *Spec) *Builder {
	b := &Builder{base: base, first: 1}
	if base != nil {
		b.first = ID(base.NumTypes())
	}
	return b
}

// NextID returns the id that the next call of Add will return.
func (b *Builder) NextID() ID { return b.first + ID(len(b.types)) }

// Add appends a type and returns its id; t.ID is ignored. References may name types that are added
// later: nothing is checked before Marshal.
func (b *Builder) Add(t Type) ID {
	id := b.NextID()
	t.ID = id
	b.types = append(b.types, t)
	return id
}

// AddSpec appends a copy of every type of s but not of its base. With the same base the types keep
// their ids.
func (b *Builder) AddSpec(s *Spec) {
	for i, off := range s.offs {
		b.Add(*s.decode(s.first+ID(i), off))
	}
}

// Set replaces a type added earlier, for example to fill in a forward reference.
func (b *Builder) Set(id ID, t Type) {
	t.ID = id
	b.types[id-b.first] = t
}

// Int adds an INT of size bytes without unused bits.
func (b *Builder) Int(name string, size uint32, encoding uint8) ID {
	return b.Add(Type{Kind: KindInt, Name: name, Size: size, Int: IntInfo{Encoding: encoding, Bits: uint8(size * 8)}})
}

// Ptr adds a PTR.
func (b *Builder) Ptr(to ID) ID { return b.Add(Type{Kind: KindPtr, Ref: to}) }

// Mod adds a CONST, VOLATILE, RESTRICT, TYPEDEF or TYPE_TAG. Only the last two have a name.
func (b *Builder) Mod(kind Kind, name string, to ID) ID {
	return b.Add(Type{Kind: kind, Name: name, Ref: to})
}

// Array adds an ARRAY.
func (b *Builder) Array(elem, index ID, nelems uint32) ID {
	return b.Add(Type{Kind: KindArray, Ref: elem, Array: ArrayInfo{Index: index, Nelems: nelems}})
}

// Struct adds a STRUCT; its kind_flag is set when a member is a bitfield.
func (b *Builder) Struct(name string, size uint32, members ...Member) ID {
	return b.composite(KindStruct, name, size, members)
}

// Union adds a UNION; its kind_flag is set when a member is a bitfield.
func (b *Builder) Union(name string, size uint32, members ...Member) ID {
	return b.composite(KindUnion, name, size, members)
}

func (b *Builder) composite(kind Kind, name string, size uint32, members []Member) ID {
	t := Type{Kind: kind, Name: name, Size: size, Members: members}
	for _, m := range members {
		t.Flag = t.Flag || m.BitfieldSize != 0
	}
	return b.Add(t)
}

// strTable collects the strings of one Marshal.
type strTable struct {
	start uint32
	buf   []byte
	offs  map[string]uint32
}

func (st *strTable) add(s string) uint32 {
	if s == "" {
		return 0
	}
	if off, ok := st.offs[s]; ok {
		return off
	}
	off := st.start + uint32(len(st.buf))
	st.offs[s] = off
	st.buf = append(append(st.buf, s...), 0)
	return off
}

// Marshal returns raw BTF in the given byte order; split BTF must use that of its base. Each string
// is stored once, in the order of first use. The error is an *[Error]: ErrInvalid for what BTF
// cannot encode, ErrBadID for a reference to a type that does not exist, ErrBadString for a name
// that contains a zero byte.
func (b *Builder) Marshal(bo binary.ByteOrder) ([]byte, error) {
	st := &strTable{offs: make(map[string]uint32)}
	if b.base != nil {
		if b.base.ByteOrder() != bo {
			return nil, headerError(ErrHeader, "split BTF must have the byte order of its base, %s", orderName(b.base.big))
		}
		st.start = b.base.strBase + uint32(len(b.base.strs))
	} else {
		st.buf = append(st.buf, 0)
	}
	out := make([]byte, headerSize, headerSize+len(b.types)*24)
	a, ok := bo.(binary.AppendByteOrder)
	if !ok {
		return nil, headerError(ErrHeader, "byte order %v", bo)
	}
	e := encoder{out: out, order: a, strs: st, limit: b.NextID()}
	for i := range b.types {
		if err := e.encode(&b.types[i]); err != nil {
			return nil, err
		}
	}
	typeLen := len(e.out) - headerSize
	if uint64(typeLen)+uint64(len(st.buf))+uint64(st.start) > MaxRaw {
		return nil, headerError(ErrTooLarge, "%d bytes of types", typeLen)
	}
	h := e.out[:headerSize]
	bo.PutUint16(h, magic)
	h[2] = 1
	bo.PutUint32(h[4:], headerSize)
	bo.PutUint32(h[12:], uint32(typeLen))
	bo.PutUint32(h[16:], uint32(typeLen))
	bo.PutUint32(h[20:], uint32(len(st.buf)))
	return append(e.out, st.buf...), nil
}

// Spec marshals the types and parses the result. Its errors are those of Marshal.
func (b *Builder) Spec(bo binary.ByteOrder) (*Spec, error) {
	raw, err := b.Marshal(bo)
	if err != nil {
		return nil, err
	}
	return Parse(raw, b.base)
}

type encoder struct {
	out   []byte
	order binary.AppendByteOrder
	strs  *strTable
	limit ID
	err   error
	t     *Type
}

func (e *encoder) fail(kind error, format string, args ...any) {
	if e.err == nil {
		e.err = typeError(e.t, kind, "%q: %s", e.t.Name, fmt.Sprintf(format, args...))
	}
}

func (e *encoder) put(v uint32) { e.out = e.order.AppendUint32(e.out, v) }

func (e *encoder) name(s string) {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			e.fail(ErrBadString, "%q holds a zero byte", s)
		}
	}
	e.put(e.strs.add(s))
}

func (e *encoder) ref(id ID) {
	if id >= e.limit {
		e.fail(ErrBadID, "refers to [%d], the last one is [%d]", id, e.limit-1)
	}
	e.put(uint32(id))
}

func (e *encoder) encode(t *Type) error {
	e.t = t
	if t.Kind == KindVoid || t.Kind >= kindCount {
		e.fail(ErrUnknownKind, "kind %d", t.Kind)
		return e.err
	}
	vlen := len(t.Members) + len(t.Values) + len(t.Params) + len(t.Vars)
	if t.Kind == KindFunc {
		vlen = int(t.Linkage)
	}
	if vlen > MaxVlen {
		e.fail(ErrInvalid, "%d entries, the limit is %d", vlen, MaxVlen)
		return e.err
	}
	e.name(t.Name)
	e.put(uint32(MakeInfo(t.Kind, vlen, t.Flag)))
	switch {
	case t.Kind.hasSize():
		e.put(t.Size)
	case t.Kind.hasRef():
		e.ref(t.Ref)
	default:
		e.put(0)
	}
	e.body(t)
	return e.err
}

func (e *encoder) body(t *Type) {
	switch t.Kind {
	case KindInt:
		e.put(uint32(t.Int.Encoding&0xf)<<24 | uint32(t.Int.Offset)<<16 | uint32(t.Int.Bits))
	case KindArray:
		e.ref(t.Ref)
		e.ref(t.Array.Index)
		e.put(t.Array.Nelems)
	case KindStruct, KindUnion:
		for _, m := range t.Members {
			e.name(m.Name)
			e.ref(m.Type)
			switch {
			case !t.Flag && m.BitfieldSize != 0:
				e.fail(ErrInvalid, "member %q is a bitfield, but the kind_flag is not set", m.Name)
			case t.Flag && (m.BitOffset > 0xffffff || m.BitfieldSize > 0xff):
				e.fail(ErrInvalid, "member %q at bit %d does not fit into 24 bits, as the kind_flag requires", m.Name, m.BitOffset)
			}
			e.put(m.BitfieldSize<<24 | m.BitOffset)
		}
	case KindEnum:
		for _, v := range t.Values {
			if t.Size < 8 && v.Value != uint64(uint32(v.Value)) && v.Value != uint64(int64(int32(v.Value))) {
				e.fail(ErrInvalid, "enumerator %s = %#x needs ENUM64", v.Name, v.Value)
			}
			e.name(v.Name)
			e.put(uint32(v.Value))
		}
	case KindEnum64:
		for _, v := range t.Values {
			e.name(v.Name)
			e.put(uint32(v.Value))
			e.put(uint32(v.Value >> 32))
		}
	case KindFuncProto:
		for _, p := range t.Params {
			e.name(p.Name)
			e.ref(p.Type)
		}
	case KindVar:
		e.put(t.Linkage)
	case KindDatasec:
		for _, v := range t.Vars {
			e.ref(v.Type)
			e.put(v.Offset)
			e.put(v.Size)
		}
	case KindDeclTag:
		e.put(uint32(t.ComponentIdx))
	}
	if len(e.out) > math.MaxInt32 {
		e.fail(ErrTooLarge, "more than 2 GB of types")
	}
}
