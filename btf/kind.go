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
func (k Kind) hasRef() bool { return k < kindCount && k != KindVoid && kindWords[k].fixed[0] == WordID }

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
	f, e := k.Words()
	return uint8(max(len(f)-1, 0)) * 4, uint8(len(e)) * 4
}

// extra returns the size in bytes of Body for vlen entries.
func (k Kind) extra(vlen uint32) uint32 {
	fixed, entry := k.Body()
	return uint32(fixed) + uint32(entry)*vlen
}

// Word is the meaning of a 32-bit word in a type's encoding.
type Word uint8

// Words of a type: numbers as they are, offsets of strings, ids of types.
const (
	WordNumber Word = iota
	WordName
	WordID
)

// kindWords are the words of each kind after the first two, which are the name and the [Info].
var kindWords = [kindCount]struct{ fixed, entry []Word }{
	KindInt:       {fixed: []Word{WordNumber, WordNumber}},
	KindPtr:       {fixed: []Word{WordID}},
	KindArray:     {fixed: []Word{WordNumber, WordID, WordID, WordNumber}},
	KindStruct:    {fixed: []Word{WordNumber}, entry: []Word{WordName, WordID, WordNumber}},
	KindUnion:     {fixed: []Word{WordNumber}, entry: []Word{WordName, WordID, WordNumber}},
	KindEnum:      {fixed: []Word{WordNumber}, entry: []Word{WordName, WordNumber}},
	KindFwd:       {fixed: []Word{WordNumber}},
	KindTypedef:   {fixed: []Word{WordID}},
	KindVolatile:  {fixed: []Word{WordID}},
	KindConst:     {fixed: []Word{WordID}},
	KindRestrict:  {fixed: []Word{WordID}},
	KindFunc:      {fixed: []Word{WordID}},
	KindFuncProto: {fixed: []Word{WordID}, entry: []Word{WordName, WordID}},
	KindVar:       {fixed: []Word{WordID, WordNumber}},
	KindDatasec:   {fixed: []Word{WordNumber}, entry: []Word{WordID, WordNumber, WordNumber}},
	KindFloat:     {fixed: []Word{WordNumber}},
	KindDeclTag:   {fixed: []Word{WordID, WordNumber}},
	KindTypeTag:   {fixed: []Word{WordID}},
	KindEnum64:    {fixed: []Word{WordNumber}, entry: []Word{WordName, WordNumber, WordNumber}},
}

// Words returns what a type's encoding holds after its name and its [Info]: words that every type
// of the kind has, and words of each of the vlen entries. Both are nil for unknown kinds. The
// slices are shared: do not change them.
func (k Kind) Words() (fixed, entry []Word) {
	if k >= kindCount {
		return nil, nil
	}
	return kindWords[k].fixed, kindWords[k].entry
}
