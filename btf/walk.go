package btf

// maxDepth limits every walk through types: longer chains are cycles or nonsense.
const maxDepth = 64

// SkipID skips CONST, VOLATILE, RESTRICT, TYPEDEF and TYPE_TAG and returns the id of the underlying
// type. It returns void for a chain that never ends and for an id out of range.
func (s *Spec) SkipID(id ID) ID {
	for range maxDepth * 4 {
		o, off, ok := s.owner(id)
		if !ok {
			return 0
		}
		if !o.kindAt(off).IsMod() {
			return id
		}
		id = ID(u32(o.types[off+8:]))
	}
	return 0
}

// SkipMods returns the type that [Spec.SkipID] finds. It never returns nil.
func (s *Spec) SkipMods(id ID) *Type {
	t, err := s.Type(s.SkipID(id))
	if err != nil {
		return voidType
	}
	return t
}

// Sizeof returns the size of a type in bytes, as C's sizeof on the target would; for a VAR, the
// size of its type. The error is ErrUnsized for void, forward declarations and functions, ErrCycle,
// ErrTooLarge for an array beyond 63 bits, or ErrBadID.
func (s *Spec) Sizeof(id ID) (int64, error) {
	n := int64(1)
	start := id
	for range maxDepth * 4 {
		t, err := s.Type(id)
		if err != nil {
			return 0, err
		}
		elem := int64(0)
		switch t.Kind {
		case KindConst, KindVolatile, KindRestrict, KindTypedef, KindTypeTag, KindDeclTag, KindVar:
			id = t.Ref
			continue
		case KindArray:
			if n, err = mulSize(t, n, int64(t.Array.Nelems)); err != nil {
				return 0, err
			}
			id = t.Ref
			continue
		case KindPtr:
			elem = int64(s.ptrSize)
		case KindInt, KindStruct, KindUnion, KindEnum, KindEnum64, KindFloat, KindDatasec:
			elem = int64(t.Size)
		default:
			return 0, typeError(t, ErrUnsized, "%s", s.TypeString(id))
		}
		return mulSize(t, n, elem)
	}
	t := s.MustType(start)
	return 0, typeError(t, ErrCycle, "its size is never reached")
}

func mulSize(t *Type, a, b int64) (int64, error) {
	if a != 0 && b > (1<<62)/a {
		return 0, typeError(t, ErrTooLarge, "%d x %d bytes", a, b)
	}
	return a * b, nil
}

// size is [Spec.Sizeof], with 0 instead of an error.
func (s *Spec) size(id ID) int64 {
	n, err := s.Sizeof(id)
	if err != nil {
		return 0
	}
	return n
}

// MemberBits returns the bit offset of a member from the start of its STRUCT or UNION, and the
// width of a bitfield or
// 0. It handles both encodings of bitfields: the width in the member (kind_flag 1), and the width and an additional
// offset in the INT (kind_flag 0; btf.rst 2.2.1, 2.2.5).
func (s *Spec) MemberBits(t *Type, m *Member) (off, width uint32) {
	if t.Flag {
		return m.BitOffset, m.BitfieldSize
	}
	mt := s.SkipMods(m.Type)
	if mt.Kind == KindInt && (mt.Int.Offset != 0 || uint32(mt.Int.Bits) != mt.Size*8) {
		return m.BitOffset + uint32(mt.Int.Offset), uint32(mt.Int.Bits)
	}
	if m.BitOffset%8 != 0 {
		return m.BitOffset, uint32(min(s.size(m.Type)*8, 128))
	}
	return m.BitOffset, 0
}

// FuncProto returns the first function with this name and its prototype.
func (s *Spec) FuncProto(name string) (proto, fn *Type, ok bool) {
	fn, ok = s.Find(KindFunc, name)
	if !ok {
		return nil, nil, false
	}
	proto = s.SkipMods(fn.Ref)
	return proto, fn, proto.Kind == KindFuncProto
}

type enumRef struct {
	id    ID
	value uint64
}

// EnumValue returns the value of an enumerator, extended to 64 bits according to its enum's
// signedness. If enumName is "", all enums are searched and the lowest id wins; the first such
// search of a Spec indexes all enumerators.
func (s *Spec) EnumValue(enumName, enumerator string) (uint64, bool) {
	if enumName == "" {
		_, v, ok := s.FindEnumerator(enumerator)
		return v, ok
	}
	for _, kind := range [...]Kind{KindEnum, KindEnum64} {
		for _, id := range s.IDs(kind, enumName) {
			for _, v := range s.MustType(id).Values {
				if v.Name == enumerator {
					return v.Value, true
				}
			}
		}
	}
	return 0, false
}

// FindEnumerator returns the lowest id of an enum with an enumerator of this name, and its value.
func (s *Spec) FindEnumerator(name string) (ID, uint64, bool) {
	if s.base != nil {
		if id, v, ok := s.base.FindEnumerator(name); ok {
			return id, v, true
		}
	}
	s.enumOnce.Do(func() {
		s.enums = make(map[string]enumRef)
		for i, off := range s.offs {
			if k := s.kindAt(off); !k.IsEnum() {
				continue
			}
			t := s.decode(s.first+ID(i), off)
			for _, v := range t.Values {
				if _, dup := s.enums[v.Name]; !dup {
					s.enums[v.Name] = enumRef{t.ID, v.Value}
				}
			}
		}
	})
	r, ok := s.enums[name]
	return r.id, r.value, ok
}
