package fromdwarf

import "debug/dwarf"

// text locates a string: the section in the upper bits, the offset in it in the lower ones. 0 means
// no string.
type text uint64

const (
	textShift = 60

	textStr     = text(1) << textShift // .debug_str
	textLineStr = text(2) << textShift // .debug_line_str
	textInline  = text(3) << textShift // the bytes of the units that are decoded together

	textOffset = textStr - 1
)

// node is a DIE that becomes a type, function or variable, or part of one. It contains no pointers,
// since a kernel has tens of millions of DIEs.
type node struct {
	off       uint64 // of the DIE in .debug_info
	ref       uint64 // DW_AT_type
	origin    uint64 // DW_AT_abstract_origin or DW_AT_specification
	name      text
	label     text // DW_AT_const_value of an annotation
	size      int64
	value     int64
	location  int64 // of a member, in bytes
	bitOffset int64 // from the start of the struct; -1 when the DIE counts from the most significant bit
	oldBits   int64 // DW_AT_bit_offset of DWARF 2 and 3
	elements  int64 // of an array
	address   uint64
	bitSize   int32
	encoding  uint8
	place     placeKind
	declared  bool
	external  bool
	specified bool // origin is a specification

	// Set for functionFeatures only. record is the index of a function or parameter in unit.places,
	// if not 0.
	inline     bool
	constant   bool  // has DW_AT_const_value
	convention uint8 // DW_AT_calling_convention
	record     int32
	// first, last and next link a node's children; 0 means none.
	first, last, next int32
	// id is the node's type id in the BTF.
	id  uint32
	tag dwarf.Tag
}

// placeKind is the kind of a variable's location.
type placeKind uint8

const (
	placeNone  placeKind = iota // nothing
	placeFixed                  // address is its address
	placeOther                  // a register, the stack, ...
)

// unit is a decoded compilation unit, or all of them if they refer to each other.
type unit struct {
	start     uint64 // of the bytes in .debug_info
	b         []byte
	nodes     []node // node 0 means none
	typeNodes []int32
	funcs     []int32
	globals   []int32
	// dense maps offsets from start to nodes. It is nil for large units; their nodes, which are
	// sorted, are searched.
	dense   []int32
	sigs    map[uint64]uint64 // type units by signature
	places  placesOfUnit      // of functions and their parameters; empty without functionFeatures
	count   int               // compilation units
	skipped int
	err     error
	ready   chan struct{}
}

// bytesPerNode is how many bytes of .debug_info usually become a node. Growing nodes step by step
// would leave several times their size as garbage.
const bytesPerNode = 11

// maxDense limits the bytes of units that get a dense map.
const maxDense = 32 << 20

func (u *unit) reset(start uint64, size uint64) {
	u.start = start
	if uint64(cap(u.b)) < size {
		u.b = make([]byte, size)
	}
	u.b = u.b[:size]
	if n := size / bytesPerNode; size <= maxDense && uint64(cap(u.nodes)) < n {
		u.nodes = make([]node, 0, n)
	}
	u.nodes = append(u.nodes[:0], node{})
	u.typeNodes, u.funcs, u.globals = u.typeNodes[:0], u.funcs[:0], u.globals[:0]
	u.sigs, u.count, u.skipped, u.err = nil, 0, 0, nil
	u.places.reset()
	if size > maxDense {
		u.dense = nil
		return
	}
	if uint64(cap(u.dense)) < size {
		u.dense = make([]int32, size)
		return
	}
	u.dense = u.dense[:size]
	clear(u.dense)
}

// signatureBit marks a reference by the signature of a type unit.
const signatureBit = 1 << 63

// at returns the node of the DIE at an offset, or nil.
func (u *unit) at(off uint64) *node {
	if off&signatureBit != 0 {
		off = u.sigs[off]
	}
	if off < u.start || off-u.start >= uint64(len(u.b)) || off == 0 {
		return nil
	}
	if u.dense != nil {
		if i := u.dense[off-u.start]; i != 0 {
			return &u.nodes[i]
		}
		return nil
	}
	lo, hi := 1, len(u.nodes)
	for lo < hi {
		if mid := (lo + hi) / 2; u.nodes[mid].off < off {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(u.nodes) && u.nodes[lo].off == off {
		return &u.nodes[lo]
	}
	return nil
}

// parts calls f for each child of a node with that tag.
func (u *unit) parts(n *node, f func(p *node)) {
	for i := n.first; i != 0; i = u.nodes[i].next {
		f(&u.nodes[i])
	}
}

// completed returns the name and type of a function, parameter or variable. Missing ones come from
// the declaration or abstract origin that it completes.
func (u *unit) completed(n *node) (name text, ref uint64) {
	name, ref = n.name, n.ref
	for range maxNesting {
		if name != 0 && ref != 0 || n.origin == 0 {
			break
		}
		o := u.at(n.origin)
		if o == nil {
			break
		}
		if name == 0 {
			name = o.name
		}
		if ref == 0 {
			ref = o.ref
		}
		n = o
	}
	return name, ref
}
