package fromdwarf

import (
	"debug/dwarf"
	"fmt"
)

// Forms of attributes (DWARF 5 section 7.5.6) that debug/dwarf has no names for.
const (
	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21

	// formSkip stands for adjacent attributes of known size that are not needed.
	formSkip = 0xffff
)

// use is the purpose an attribute is read for.
type use uint8

const (
	useNothing use = iota
	useName
	useType
	useOrigin
	useSize
	useEncoding
	useConst
	useBitSize
	useBitOffset
	useDataBitOffset
	useMemberLocation
	useLocation
	useDeclaration
	useExternal
	useSibling
	useLanguage
	useCount
	useUpperBound
	useStrOffsets
	useAddrBase
	useSpecification

	// The uses from here on serve only functionFeatures.
	useLowPC
	useInline
	useConvention
	useProducer
	useListBase
)

// uses maps attributes to their use.
var uses = map[dwarf.Attr]use{
	dwarf.AttrName: useName, dwarf.AttrType: useType, dwarf.AttrAbstractOrigin: useOrigin, dwarf.AttrSpecification: useSpecification, dwarf.AttrByteSize: useSize,
	dwarf.AttrEncoding: useEncoding, dwarf.AttrConstValue: useConst, dwarf.AttrBitSize: useBitSize, dwarf.AttrBitOffset: useBitOffset,
	dwarf.AttrDataBitOffset: useDataBitOffset, dwarf.AttrDataMemberLoc: useMemberLocation, dwarf.AttrLocation: useLocation,
	dwarf.AttrDeclaration: useDeclaration, dwarf.AttrExternal: useExternal, dwarf.AttrSibling: useSibling, dwarf.AttrLanguage: useLanguage,
	dwarf.AttrCount: useCount, dwarf.AttrUpperBound: useUpperBound, dwarf.AttrStrOffsetsBase: useStrOffsets, dwarf.AttrAddrBase: useAddrBase,
	dwarf.AttrLowpc: useLowPC, dwarf.AttrInline: useInline, dwarf.AttrCalling: useConvention, dwarf.AttrProducer: useProducer,
	dwarf.AttrLoclistsBase: useListBase,
}

// tagClass decides how a DIE is handled.
type tagClass uint8

const (
	classOther   tagClass = iota // skipped, but children are read
	classSkipped                 // skipped with its children
	classUnit
	classType
	classFunction
	classVariable
	classPart // part of its parent: a member, enumerator, parameter or tag
	classDimension
)

// Tags that debug/dwarf has no names for.
const (
	tagLLVMAnnotation = dwarf.Tag(0x6000)
	tagGNUAnnotation  = dwarf.Tag(0x6001)
	tagGNUCallSite    = dwarf.Tag(0x4109)
)

func classOf(tag dwarf.Tag) tagClass {
	switch tag {
	case dwarf.TagBaseType, dwarf.TagPointerType, dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType,
		dwarf.TagArrayType, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagSubroutineType,
		dwarf.TagUnspecifiedType, dwarf.TagAtomicType:
		return classType
	case dwarf.TagSubprogram:
		return classFunction
	case dwarf.TagVariable:
		return classVariable
	case dwarf.TagMember, dwarf.TagEnumerator, dwarf.TagFormalParameter, dwarf.TagUnspecifiedParameters, tagLLVMAnnotation, tagGNUAnnotation:
		return classPart
	case dwarf.TagSubrangeType:
		return classDimension
	case dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit:
		return classUnit
	case dwarf.TagInlinedSubroutine, dwarf.TagCallSite, tagGNUCallSite: // not needed, and frequent
		return classSkipped
	}
	return classOther
}

// field is an attribute of an abbreviation, or several that are skipped together.
type field struct {
	use   use
	form  uint16
	value int64 // of formImplicitConst; the number of bytes of formSkip
}

// abbrev is an entry of an abbreviation table.
type abbrev struct {
	tag      dwarf.Tag
	class    tagClass
	children bool
	fields   []field
}

// abbrevKey identifies an abbreviation table and the parameters that its form sizes depend on.
type abbrevKey struct {
	off      uint64
	version  uint16
	addrSize uint8
	offSize  uint8
}

// abbrevs is an abbreviation table by code. Codes are mostly 1, 2, 3...; others are in rest.
type abbrevs struct {
	list []abbrev
	rest map[uint64]abbrev
}

func (t *abbrevs) find(code uint64) *abbrev {
	if code-1 < uint64(len(t.list)) {
		return &t.list[code-1]
	}
	if a, ok := t.rest[code]; ok {
		return &a
	}
	return nil
}

// fixedSize returns the size in bytes of a form whose size does not depend on the data, or -1.
func (k abbrevKey) fixedSize(form uint16) int {
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int(k.addrSize)
	case formStrp, formSecOffset, formLineStrp, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return int(k.offSize)
	case formRefAddr:
		if k.version < 3 {
			return int(k.addrSize)
		}
		return int(k.offSize)
	}
	return -1
}

// parseAbbrevs parses the table at an offset of .debug_abbrev. located adds the attributes that
// functionFeatures need.
func parseAbbrevs(section []byte, key abbrevKey, located bool) (*abbrevs, error) {
	if key.off > uint64(len(section)) {
		return nil, fmt.Errorf("%w: abbreviations at %#x of %#x bytes", ErrMalformed, key.off, len(section))
	}
	c := cursor{b: section, at: int(key.off)}
	t := &abbrevs{}
	for {
		code := c.uleb()
		if c.bad {
			return nil, fmt.Errorf("%w: abbreviations at %#x do not end", ErrMalformed, key.off)
		}
		if code == 0 {
			return t, nil
		}
		a := abbrev{tag: dwarf.Tag(c.uleb())}
		a.class = classOf(a.tag)
		a.children = c.u8() != 0
		for {
			attr, form := c.uleb(), c.uleb()
			if c.bad || form > formGNUStrpAlt {
				return nil, fmt.Errorf("%w: abbreviation %d at %#x", ErrMalformed, code, key.off)
			}
			f := field{use: uses[dwarf.Attr(attr)], form: uint16(form)}
			if f.use >= useLowPC && !located {
				f.use = useNothing
			}
			if form == formImplicitConst {
				f.value = c.sleb()
			}
			if attr == 0 && form == 0 {
				break
			}
			a.addField(f, key)
		}
		if code == uint64(len(t.list))+1 {
			t.list = append(t.list, a)
			continue
		}
		if t.rest == nil {
			t.rest = map[uint64]abbrev{}
		}
		t.rest[code] = a
	}
}

func (a *abbrev) addField(f field, key abbrevKey) {
	wanted := a.class != classOther && a.class != classSkipped || f.use == useSibling
	if size := key.fixedSize(f.form); size >= 0 && (!wanted || f.use == useNothing) {
		if n := len(a.fields); n > 0 && a.fields[n-1].form == formSkip {
			a.fields[n-1].value += int64(size)
			return
		}
		f = field{form: formSkip, value: int64(size)}
	}
	a.fields = append(a.fields, f)
}

// crossReferences reports whether abbreviations have references from one unit to another.
func crossReferences(section []byte) bool {
	c := cursor{b: section}
	for !c.bad && c.at < len(section) {
		if c.uleb() == 0 {
			continue
		}
		c.uleb()
		c.u8()
		for !c.bad {
			attr, form := c.uleb(), c.uleb()
			switch form {
			case formImplicitConst:
				c.sleb()
			case formRefAddr, formRefSig8:
				// Importing a unit is not a reference by itself.
				return true
			}
			if attr == 0 && form == 0 {
				break
			}
		}
	}
	return false
}
