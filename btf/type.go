package btf

// Encoding bits of an INT (btf.rst 2.2.1).
const (
	IntSigned = 1 << 0
	IntChar   = 1 << 1
	IntBool   = 1 << 2
)

// Linkage of FUNC and VAR (btf.rst 2.3).
const (
	LinkageStatic = 0
	LinkageGlobal = 1
	LinkageExtern = 2
)

// Type is one decoded type. It is shared and must not be modified.
type Type struct {
	ID   ID
	Kind Kind
	Name string
	// Flag is the kind_flag: it marks bitfield encoding in STRUCT and UNION, signed ENUM and
	// ENUM64, a union FWD, and attributes in DECL_TAG and TYPE_TAG.
	Flag bool
	// Size in bytes of an INT, STRUCT, UNION, ENUM, ENUM64, FLOAT or DATASEC.
	Size uint32
	// Ref is the pointee, the array element, the aliased or qualified type, the return type of a
	// FUNC_PROTO, the FUNC_PROTO of a FUNC, the type of a VAR, or the tagged type.
	Ref     ID
	Int     IntInfo
	Array   ArrayInfo
	Members []Member
	Values  []Enumerator
	Params  []Param
	Vars    []VarSecinfo
	// Linkage of a FUNC or VAR.
	Linkage uint32
	// ComponentIdx of a DECL_TAG: -1 for the type itself, else the index of a member or parameter.
	ComponentIdx int32
}

// IntInfo is the decoded encoding word of an INT.
type IntInfo struct {
	Encoding uint8 // IntSigned, IntChar, IntBool
	Offset   uint8 // in bits
	Bits     uint8
}

// ArrayInfo is the index type and length of an ARRAY; the element type is Ref.
type ArrayInfo struct {
	Index  ID
	Nelems uint32
}

// Member is a member of a STRUCT or UNION as encoded: BitfieldSize is 0 unless the type's kind_flag
// is set. [Spec.MemberBits] also handles the older encoding, in which the member's INT holds the
// width.
type Member struct {
	Name         string
	Type         ID
	BitOffset    uint32
	BitfieldSize uint32
}

// Enumerator is one value of an ENUM or ENUM64, extended to 64 bits according to the enum's
// signedness.
type Enumerator struct {
	Name  string
	Value uint64
}

// Param is a parameter of a FUNC_PROTO. A last one with no name and type 0 is the "..." of variable
// arguments.
type Param struct {
	Name string
	Type ID
}

// VarSecinfo places a VAR in a DATASEC. Offset and Size are in bytes.
type VarSecinfo struct {
	Type         ID
	Offset, Size uint32
}

// Signed reports whether values of an INT, ENUM or ENUM64 are signed.
func (t *Type) Signed() bool {
	switch t.Kind {
	case KindInt:
		return t.Int.Encoding&IntSigned != 0
	case KindEnum, KindEnum64:
		return t.Flag
	}
	return false
}

// Variadic reports whether a FUNC_PROTO ends in "...".
func (t *Type) Variadic() bool {
	n := len(t.Params)
	return t.Kind == KindFuncProto && n > 0 && t.Params[n-1] == Param{}
}

// Member returns the direct member with this name, or nil.
func (t *Type) Member(name string) *Member {
	for i := range t.Members {
		if t.Members[i].Name == name {
			return &t.Members[i]
		}
	}
	return nil
}

// ValueName returns the name of the first enumerator with value v, extended as in [Enumerator].
func (t *Type) ValueName(v uint64) (string, bool) {
	for i := range t.Values {
		if t.Values[i].Value == v {
			return t.Values[i].Name, true
		}
	}
	return "", false
}
