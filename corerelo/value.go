package corerelo

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
)

// Result holds the values of a relocation before and after.
type Result struct {
	Orig, New uint64
	// Poison: the target has nothing that matches, so the instruction must not be reached. New has
	// no meaning.
	Poison bool
	// Validate: the instruction must contain Orig before it is patched.
	Validate bool
	// OrigSize and NewSize are the bytes that a direct load or store of the field accesses. They
	// are set only for FieldByteOffset of fields other than bitfields, else 0.
	OrigSize, NewSize uint32
	// OrigType and NewType are the field types with these sizes.
	OrigType, NewType btf.ID
	// FailMemSize: the sizes differ, and the types do not allow a load or store to be rewritten, so
	// it will be poisoned. Other instructions are not affected.
	FailMemSize bool
	// SignUnknown: Orig and New are 32-bit enumerators from BTF that does not record the signedness
	// of enums. They are sign-extended here; Apply uses the extension that the compiler chose in
	// the instruction.
	SignUnknown bool
}

// value is one side of a Result.
type value struct {
	val      uint64
	size     uint32
	typ      btf.ID
	poison   bool
	validate bool
}

// compute fills a Result from the local and the target spec, which is nil if no candidate matches
// (libbpf bpf_core_calc_relo). It computes the local side first, because errors there take
// precedence over poison.
func compute(rec Record, order binary.ByteOrder, local, target *Spec) (Result, *fault) {
	calc := func(s *Spec) (value, *fault) {
		switch {
		case rec.Kind.IsField():
			return fieldValue(rec, order, s)
		case rec.Kind.IsType():
			return typeValue(rec.Kind, s)
		}
		return enumeratorValue(rec.Kind, s)
	}
	orig, f := calc(local)
	if f != nil {
		return Result{}, f
	}
	now, f := calc(target)
	if f != nil {
		return Result{}, f
	}
	res := Result{
		Orig: orig.val, OrigSize: orig.size, OrigType: orig.typ,
		New: now.val, NewSize: now.size, NewType: now.typ,
		Poison: now.poison, Validate: orig.validate,
	}
	if !res.Poison {
		res.FailMemSize = res.OrigSize != res.NewSize && !resizable(local.BTF, res.OrigType, target.BTF, res.NewType)
	}
	if rec.Kind == EnumvalValue && !res.Poison {
		extendEnums(&res, local, target)
	}
	return res, nil
}

// resizable reports whether a load or store of one type may become one of the other type with a
// different width: pointers (a 32-bit kernel), and integers if neither is signed, because loads
// zero-extend.
func resizable(local *btf.Spec, orig btf.ID, target *btf.Spec, now btf.ID) bool {
	o, err := local.Type(orig)
	if err != nil {
		return false
	}
	n, err := target.Type(now)
	if err != nil || o.Kind != n.Kind {
		return false
	}
	switch o.Kind {
	case btf.KindPtr:
		return true
	case btf.KindInt:
		return o.Int.Encoding != btf.IntSigned && n.Int.Encoding != btf.IntSigned
	}
	return false
}

func fieldValue(rec Record, order binary.ByteOrder, s *Spec) (value, *fault) {
	if rec.Kind == FieldExists {
		if s == nil {
			return value{validate: true}, nil
		}
		return value{val: 1, validate: true}, nil
	}
	if s == nil {
		return value{poison: true}, nil
	}
	acc := s.Last()
	if acc.Name == "" {
		return elementValue(rec, s, acc)
	}
	owner, err := s.BTF.Type(acc.Type)
	if err != nil || acc.Index >= len(owner.Members) {
		return value{}, faultf(ErrInvalidRecord, eINVAL, "no member %d in type %d", acc.Index, acc.Type)
	}
	return memberValue(rec, order, s, &owner.Members[acc.Index])
}

// elementValue returns the value of a path that ends in an index.
func elementValue(rec Record, s *Spec, acc Accessor) (value, *fault) {
	switch rec.Kind {
	case FieldByteOffset:
		size, f := scalarSize(s.BTF, acc.Type)
		return value{val: uint64(s.BitOffset / 8), size: size, typ: acc.Type, validate: true}, f
	case FieldByteSize:
		size, f := sizeof(s.BTF, acc.Type)
		return value{val: uint64(size), validate: true}, f
	}
	f := faultf(ErrArrayAccess, eINVAL, "%s of %s", rec.Kind, s.Field())
	f.log = "relo " + utoa(uint32(rec.Kind)) + " at insn #" + utoa(rec.InsnOff/8) + " can't be applied to array access"
	return value{}, f
}

// memberValue returns the value of a path that ends in a member. Arithmetic is in 32 bits, as in
// libbpf: shifts for a field wider than 8 bytes wrap.
func memberValue(rec Record, order binary.ByteOrder, s *Spec, m *btf.Member) (value, *fault) {
	mt := skip(s.BTF, m.Type)
	if mt == nil {
		return value{}, faultf(ErrInvalidRecord, eINVAL, "type %d does not lead to a type", m.Type)
	}
	bitfield := m.BitfieldSize > 0
	var byteOff, byteSize, bits uint32
	var f *fault
	if bitfield {
		bits = m.BitfieldSize
		byteOff, byteSize, f = storageUnit(rec, s, mt, bits)
	} else {
		byteOff = s.BitOffset / 8
		byteSize, f = sizeof(s.BTF, mt.ID)
		bits = byteSize * 8
	}
	if f != nil {
		return value{}, f
	}
	v := value{validate: !bitfield}
	switch rec.Kind {
	case FieldByteOffset:
		v.val = uint64(byteOff)
		if !bitfield {
			v.typ = mt.ID
			v.size, f = scalarSize(s.BTF, mt.ID)
		}
	case FieldByteSize:
		v.val = uint64(byteSize)
	case FieldSigned:
		if mt.Kind.IsEnum() && mt.Flag || mt.Kind == btf.KindInt && mt.Int.Encoding&btf.IntSigned != 0 {
			v.val = 1
		}
		v.validate = true
	case FieldLShiftU64:
		// libbpf uses the byte order of its host; the code that shifts runs in the object's byte
		// order.
		start := s.BitOffset - byteOff*8
		if order == binary.BigEndian {
			v.val = uint64((8-byteSize)*8 + start)
		} else {
			v.val = uint64(64 - (start + bits))
		}
	case FieldRShiftU64:
		v.val = uint64(64 - bits)
		v.validate = true
	}
	return v, f
}

// storageUnit finds the smallest aligned load, starting with the bitfield's declared type, that
// contains all its bits.
func storageUnit(rec Record, s *Spec, mt *btf.Type, bits uint32) (off, size uint32, f *fault) {
	size = mt.Size
	switch mt.Kind {
	case btf.KindInt, btf.KindEnum, btf.KindEnum64:
	default:
		size = 0
	}
	if size == 0 {
		return 0, 0, faultf(ErrInvalidRecord, eINVAL, "bitfield %s of %s", s.Field(), typeText(s.BTF, mt.ID))
	}
	off = s.BitOffset / 8 / size * size
	for s.BitOffset+bits-off*8 > size*8 {
		if size >= 8 {
			f = faultf(ErrBitfield, e2BIG, "%s: %d bits at bit %d", s.Field(), bits, s.BitOffset)
			f.log = "relo " + utoa(uint32(rec.Kind)) + " at insn #" + utoa(rec.InsnOff/8) + " can't be satisfied for bitfield"
			return 0, 0, f
		}
		size *= 2
		off = s.BitOffset / 8 / size * size
	}
	return off, size, nil
}

func typeValue(kind Kind, s *Spec) (value, *fault) {
	v := value{validate: true}
	if s == nil {
		return v, nil
	}
	switch kind {
	case TypeIDTarget:
		v.val, v.validate = uint64(s.Root), false
	case TypeExists, TypeMatches:
		v.val = 1
	case TypeSize:
		size, f := sizeof(s.BTF, s.Root)
		v.val = uint64(size)
		return v, f
	default:
		return v, faultf(ErrUnsupported, eOPNOTSUPP, "kind %d", uint32(kind))
	}
	return v, nil
}

// enumeratorValue returns a 32-bit enumerator sign-extended; extendEnums later corrects those that
// BTF marks as unsigned.
func enumeratorValue(kind Kind, s *Spec) (value, *fault) {
	v := value{validate: true}
	switch kind {
	case EnumvalExists:
		if s != nil {
			v.val = 1
		}
		return v, nil
	case EnumvalValue:
		if s == nil {
			v.poison = true
			return v, nil
		}
	default:
		return v, faultf(ErrUnsupported, eOPNOTSUPP, "kind %d", uint32(kind))
	}
	acc := s.Last()
	t, err := s.BTF.Type(acc.Type)
	if err != nil || acc.Index >= len(t.Values) {
		return v, faultf(ErrInvalidRecord, eINVAL, "no enumerator %d in type %d", acc.Index, acc.Type)
	}
	v.val = t.Values[acc.Index].Value
	if t.Kind == btf.KindEnum {
		v.val = uint64(int32(v.val))
	}
	return v, nil
}

// sizeof implements libbpf's size arithmetic: 32 bits; negative and unknown sizes are errors.
func sizeof(spec *btf.Spec, id btf.ID) (uint32, *fault) {
	size, err := spec.Sizeof(id)
	if err != nil || size < 0 {
		return 0, faultf(ErrUnsized, eINVAL, "%s", typeText(spec, id))
	}
	return uint32(size), nil
}

// scalarSize returns the size of a type, or of the innermost element of arrays.
func scalarSize(spec *btf.Spec, id btf.ID) (uint32, *fault) {
	t := skip(spec, id)
	for depth := 0; t != nil && t.Kind == btf.KindArray; depth++ {
		if depth == maxSpecLen {
			return 0, faultf(ErrTooDeep, eINVAL, "array %d", id)
		}
		t = skip(spec, t.Ref)
	}
	if t == nil {
		return 0, faultf(ErrUnsized, eINVAL, "%s", typeText(spec, id))
	}
	return sizeof(spec, t.ID)
}
