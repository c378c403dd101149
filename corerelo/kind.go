package corerelo

import "strconv"

// Kind is the kind of a relocation: what it asks about a type (enum bpf_core_relo_kind in the
// kernel's include/uapi/linux/bpf.h).
type Kind uint32

// The relocation kinds, with the kernel's numbers.
const (
	FieldByteOffset Kind = 0  // offset of the field in bytes
	FieldByteSize   Kind = 1  // size of the field in bytes
	FieldExists     Kind = 2  // 1 if the field exists, else 0
	FieldSigned     Kind = 3  // 1 if the field is signed, else 0
	FieldLShiftU64  Kind = 4  // left shift that removes the bits above a bitfield
	FieldRShiftU64  Kind = 5  // subsequent right shift that removes the bits below it
	TypeIDLocal     Kind = 6  // type id in the object's own BTF
	TypeIDTarget    Kind = 7  // type id in the target BTF
	TypeExists      Kind = 8  // 1 if a compatible type exists, else 0
	TypeSize        Kind = 9  // size of the type in bytes
	EnumvalExists   Kind = 10 // 1 if the enumerator exists, else 0
	EnumvalValue    Kind = 11 // value of the enumerator
	TypeMatches     Kind = 12 // 1 if a type matches member by member, else 0

	numKinds = 13
)

var kindNames = [numKinds]string{
	"byte_off", "byte_sz", "field_exists", "signed", "lshift_u64", "rshift_u64",
	"local_type_id", "target_type_id", "type_exists", "type_size",
	"enumval_exists", "enumval_value", "type_matches",
}

// String returns libbpf's name of the kind: "byte_off"; or "unknown".
func (k Kind) String() string {
	if k.Valid() {
		return kindNames[k]
	}
	return "unknown"
}

// GoString returns the name and the number, for kinds without a name.
func (k Kind) GoString() string { return k.String() + "(" + strconv.Itoa(int(k)) + ")" }

// ParseKind returns the kind whose String is s.
func ParseKind(s string) (Kind, bool) {
	for i, name := range kindNames {
		if name == s {
			return Kind(i), true
		}
	}
	return 0, false
}

// Valid reports whether k is one of the 13 kinds.
func (k Kind) Valid() bool { return k < numKinds }

// IsField reports whether k is about a field.
func (k Kind) IsField() bool { return k <= FieldRShiftU64 }

// IsType reports whether k is about a whole type.
func (k Kind) IsType() bool { return k >= TypeIDLocal && k <= TypeSize || k == TypeMatches }

// IsEnumval reports whether k is about an enumerator.
func (k Kind) IsEnumval() bool { return k == EnumvalExists || k == EnumvalValue }
