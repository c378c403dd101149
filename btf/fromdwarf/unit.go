package fromdwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
)

// node is a DIE that becomes a type, a function or a variable, with those children that belong to it.
type node struct {
	tag       dwarf.Tag
	name      string
	ref       dwarf.Offset // DW_AT_type
	origin    dwarf.Offset // DW_AT_abstract_origin or DW_AT_specification
	size      int64
	encoding  int64
	value     int64
	bitSize   int64
	bitOffset int64 // from the start of the struct; -1 when the DIE counts from the other end
	oldBits   int64 // DW_AT_bit_offset of DWARF 2 and 3
	location  int64 // of a member, in bytes
	counts    []int64
	address   uint64 // of a variable
	located   bool
	declared  bool
	external  bool
	children  []*node
	// id is the type's in the BTF.
	id uint32
}

// unit is one compilation unit.
type unit struct {
	*maker
	nodes    []*node
	byOffset map[dwarf.Offset]int
	// origins are functions and parameters that others may complete.
	origins map[dwarf.Offset]*node
	funcs   []*node
	globals []*node
	// index is the type of array indexes.
	index uint32
}

const maxNesting = 256

// children reads the DIEs below one. Types are collected wherever they stand; parent, when not nil, takes members, enumerators,
// parameters, dimensions and tags.
func (u *unit) children(parent *node, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("%w: nested more than %d deep", ErrMalformed, maxNesting)
	}
	for {
		e, err := u.r.Next()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		if e == nil || e.Tag == 0 {
			return nil
		}
		n := u.take(e, parent)
		if !e.Children {
			continue
		}
		if n == nil {
			switch e.Tag {
			case dwarf.TagInlinedSubroutine, dwarf.TagCallSite, dwarf.Tag(0x4109): // of no interest, and many
				u.r.SkipChildren()
				continue
			}
		}
		if err := u.children(n, depth+1); err != nil {
			return err
		}
	}
}

// take makes a node of an entry that is wanted.
func (u *unit) take(e *dwarf.Entry, parent *node) *node {
	switch e.Tag {
	case dwarf.TagBaseType, dwarf.TagPointerType, dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType,
		dwarf.TagArrayType, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagSubroutineType,
		dwarf.TagUnspecifiedType, dwarf.TagAtomicType:
		n := newNode(e)
		u.byOffset[e.Offset] = len(u.nodes)
		u.nodes = append(u.nodes, n)
		return n
	case dwarf.TagSubprogram:
		n := newNode(e)
		u.origins[e.Offset] = n
		if !n.declared {
			u.funcs = append(u.funcs, n)
		}
		return n
	case dwarf.TagVariable:
		n := newNode(e)
		u.globals = append(u.globals, n)
		u.byOffset[e.Offset] = -len(u.globals)
		return n
	case dwarf.TagMember, dwarf.TagEnumerator, dwarf.TagFormalParameter, dwarf.TagUnspecifiedParameters, tagLLVMAnnot:
		if parent == nil {
			return nil
		}
		n := newNode(e)
		if e.Tag == dwarf.TagFormalParameter {
			u.origins[e.Offset] = n
		}
		parent.children = append(parent.children, n)
		return n
	case dwarf.TagSubrangeType:
		if parent != nil && parent.tag == dwarf.TagArrayType {
			parent.counts = append(parent.counts, count(e))
		}
	}
	return nil
}

// count is the number of elements of a dimension: 0 when it is not known.
func count(e *dwarf.Entry) int64 {
	if n, ok := e.Val(dwarf.AttrCount).(int64); ok {
		return n
	}
	if n, ok := e.Val(dwarf.AttrUpperBound).(int64); ok {
		return n + 1
	}
	return 0
}

func newNode(e *dwarf.Entry) *node {
	n := &node{tag: e.Tag, bitOffset: -1, oldBits: -1}
	text := "" // of an annotation
	for _, f := range e.Field {
		switch f.Attr {
		case dwarf.AttrName:
			n.name, _ = f.Val.(string)
		case dwarf.AttrType:
			n.ref, _ = f.Val.(dwarf.Offset)
		case dwarf.AttrAbstractOrigin, dwarf.AttrSpecification:
			n.origin, _ = f.Val.(dwarf.Offset)
		case dwarf.AttrByteSize:
			n.size, _ = f.Val.(int64)
		case dwarf.AttrEncoding:
			n.encoding, _ = f.Val.(int64)
		case dwarf.AttrConstValue:
			text, _ = f.Val.(string)
			n.value, _ = f.Val.(int64)
		case dwarf.AttrBitSize:
			n.bitSize, _ = f.Val.(int64)
		case dwarf.AttrBitOffset:
			n.oldBits, _ = f.Val.(int64)
		case dwarf.AttrDataBitOffset:
			n.bitOffset, _ = f.Val.(int64)
		case dwarf.AttrDataMemberLoc:
			n.location = memberLocation(f.Val)
		case dwarf.AttrLocation:
			n.address, n.located = fixedAddress(f.Val)
		case dwarf.AttrDeclaration:
			n.declared, _ = f.Val.(bool)
		case dwarf.AttrExternal:
			n.external, _ = f.Val.(bool)
		}
	}
	if e.Tag == tagLLVMAnnot {
		n.name += "\x00" + text
	}
	return n
}

// fixedAddress is the address of a variable whose location is one (DW_OP_addr).
func fixedAddress(v any) (uint64, bool) {
	const opAddr = 0x03
	b, ok := v.([]byte)
	if !ok || len(b) != 9 || b[0] != opAddr {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[1:]), true
}

// memberLocation is the offset of a member: a constant, or in older DWARF an expression that adds one.
func memberLocation(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case []byte:
		const plusUconst = 0x23
		if len(v) < 2 || v[0] != plusUconst {
			return 0
		}
		var n int64
		for i, b := range v[1:] {
			if i > 8 {
				return 0
			}
			n |= int64(b&0x7f) << (7 * i)
			if b&0x80 == 0 {
				return n
			}
		}
	}
	return 0
}

// completed returns a function or parameter with the name and type of what it completes, such as a declaration in a header.
func (u *unit) completed(n *node) (name string, ref dwarf.Offset) {
	name, ref = n.name, n.ref
	for range maxNesting {
		if name != "" && ref != 0 || n.origin == 0 {
			break
		}
		o := u.origins[n.origin]
		if o == nil {
			break
		}
		if name == "" {
			name = o.name
		}
		if ref == 0 {
			ref = o.ref
		}
		n = o
	}
	return name, ref
}
