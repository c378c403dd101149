package btf

// decode returns the Type of one of the Spec's own ids. The scan has already checked that all
// bytes, names and ids exist.
func (s *Spec) decode(id ID, off uint32) *Type {
	b := s.types[off:]
	info, third := Info(u32(b[4:])), u32(b[8:])
	t := &Type{ID: id, Kind: info.Kind(), Name: s.str(u32(b)), Flag: info.Flag()}
	vlen := int(info.Vlen())
	if t.Kind.hasSize() {
		t.Size = third
	} else if t.Kind.hasRef() {
		t.Ref = ID(third)
	}
	b = b[typeSize : typeSize+t.Kind.extra(uint32(vlen))]
	switch t.Kind {
	case KindInt:
		v := u32(b)
		t.Int = IntInfo{Encoding: uint8(v >> 24 & 0xf), Offset: uint8(v >> 16), Bits: uint8(v)}
	case KindArray:
		t.Ref = ID(u32(b))
		t.Array = ArrayInfo{Index: ID(u32(b[4:])), Nelems: u32(b[8:])}
	case KindStruct, KindUnion:
		t.Members = make([]Member, vlen)
		for i := range t.Members {
			m, e := &t.Members[i], b[12*i:]
			m.Name, m.Type, m.BitOffset = s.str(u32(e)), ID(u32(e[4:])), u32(e[8:])
			if t.Flag {
				m.BitfieldSize = m.BitOffset >> 24
				m.BitOffset &= 0xffffff
			}
		}
	case KindEnum:
		t.Values = make([]Enumerator, vlen)
		for i := range t.Values {
			v := u32(b[8*i+4:])
			t.Values[i] = Enumerator{Name: s.str(u32(b[8*i:])), Value: uint64(v)}
			if t.Flag {
				t.Values[i].Value = uint64(int64(int32(v)))
			}
		}
	case KindEnum64:
		t.Values = make([]Enumerator, vlen)
		for i := range t.Values {
			e := b[12*i:]
			t.Values[i] = Enumerator{Name: s.str(u32(e)), Value: uint64(u32(e[4:])) | uint64(u32(e[8:]))<<32}
		}
	case KindFunc:
		t.Linkage = uint32(vlen)
	case KindFuncProto:
		t.Params = make([]Param, vlen)
		for i := range t.Params {
			t.Params[i] = Param{Name: s.str(u32(b[8*i:])), Type: ID(u32(b[8*i+4:]))}
		}
	case KindVar:
		t.Linkage = u32(b)
	case KindDatasec:
		t.Vars = make([]VarSecinfo, vlen)
		for i := range t.Vars {
			e := b[12*i:]
			t.Vars[i] = VarSecinfo{Type: ID(u32(e)), Offset: u32(e[4:]), Size: u32(e[8:])}
		}
	case KindDeclTag:
		t.ComponentIdx = int32(u32(b))
	}
	return t
}
