package btf

import "fmt"

// ID is a type id. 0 is void; base BTF starts at 1, split BTF continues after the last id of its
// base.
type ID uint32

// Kind is a BTF_KIND_* number.
type Kind uint8

// BTF kinds with the kernel's numbers (btf.rst 2.2).
const (
	KindVoid Kind = iota
	KindInt
	KindPtr
	KindArray
	KindStruct
	KindUnion
	KindEnum
	KindFwd
	KindTypedef
	KindVolatile
	KindConst
	KindRestrict
	KindFunc
	KindFuncProto
	KindVar
	KindDatasec
	KindFloat
	KindDeclTag
	KindTypeTag
	KindEnum64

	kindCount
)

var kindNames = [kindCount]string{
	"UNKNOWN", "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF", "VOLATILE", "CONST",
	"RESTRICT", "FUNC", "FUNC_PROTO", "VAR", "DATASEC", "FLOAT", "DECL_TAG", "TYPE_TAG", "ENUM64",
}

// String returns the name bpftool prints: "STRUCT"; "VOID" for void and "KIND_n" for an unknown
// number.
func (k Kind) String() string {
	switch {
	case k == KindVoid:
		return "VOID"
	case k < kindCount:
		return kindNames[k]
	}
	return fmt.Sprintf("KIND_%d", uint8(k))
}

// IsComposite reports whether k is STRUCT or UNION.
func (k Kind) IsComposite() bool { return k == KindStruct || k == KindUnion }

// IsEnum reports whether k is ENUM or ENUM64.
func (k Kind) IsEnum() bool { return k == KindEnum || k == KindEnum64 }

// IsMod reports whether k is a modifier or typedef, which most lookups skip: CONST, VOLATILE,
// RESTRICT, TYPEDEF or TYPE_TAG.
func (k Kind) IsMod() bool {
	switch k {
	case KindConst, KindVolatile, KindRestrict, KindTypedef, KindTypeTag:
		return true
	}
	return false
}

// hasRef reports whether the third word of the type header is a type id.
func (k Kind) hasRef() bool {
	switch k {
	case KindPtr, KindTypedef, KindVolatile, KindConst, KindRestrict, KindFunc, KindFuncProto, KindVar,
		KindDeclTag, KindTypeTag:
		return true
	}
	return false
}

// hasSize reports whether the third word of the type header is a size.
func (k Kind) hasSize() bool {
	switch k {
	case KindInt, KindStruct, KindUnion, KindEnum, KindDatasec, KindFloat, KindEnum64:
		return true
	}
	return false
}

// Body returns the number of bytes after the 12-byte type header: a fixed number, plus a number for
// each of the vlen entries (struct btf_layout of Linux 7.2). Both are 0 for unknown kinds.
func (k Kind) Body() (fixed, entry uint8) {
	switch k {
	case KindInt, KindVar, KindDeclTag:
		return 4, 0
	case KindArray:
		return 12, 0
	case KindStruct, KindUnion, KindDatasec, KindEnum64:
		return 0, 12
	case KindEnum, KindFuncProto:
		return 0, 8
	}
	return 0, 0
}

// extra returns the size in bytes of Body for vlen entries.
func (k Kind) extra(vlen uint32) uint32 {
	fixed, entry := k.Body()
	return uint32(fixed) + uint32(entry)*vlen
}
