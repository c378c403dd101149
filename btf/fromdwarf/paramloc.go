package fromdwarf

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"math/bits"

	"github.com/bpfrun/bpfrun/internal/dwarfloc"
)

// compilation holds the properties of a compilation unit that parameters' locations depend on.
type compilation struct {
	dwarfloc.Unit
	start uint64 // of the unit in .debug_info
	clang bool
}

// placesOfUnit holds the functions of a unit and where their parameters are. Index 0 of funcs,
// params and attrs means none.
type placesOfUnit struct {
	units  []compilation
	attrs  []location // DW_AT_location of parameters
	funcs  []function
	params []param
}

func (p *placesOfUnit) reset() {
	p.units = p.units[:0]
	p.attrs, p.funcs, p.params = append(p.attrs[:0], location{}), append(p.funcs[:0], function{}), append(p.params[:0], param{})
}

// location is a DW_AT_location that has not been decoded.
type location struct {
	unit int32
	kind valueKind
	num  uint64
	expr []byte
}

const noReg = -1

// param is a formal parameter, as far as its location tells about it.
type param struct {
	node  int32
	index int32 // among the function's parameters
	size  int64 // of its type; 0 if unknown
	reg   int16 // the DWARF number of the register that holds it when the function is entered, or noReg

	located  bool // has DW_AT_location
	constant bool // has DW_AT_const_value
	literal  bool // its location is a constant
	onStack  bool // its location is in the frame
	inMemory bool // the convention passes its type in memory

	// parts are the byte offsets, a bit each, of the pieces that the first and the second register
	// of a struct hold.
	parts [2]uint64
	// member is the node of the struct's only member that has a location. typed is set once the
	// parameter's type is the member's.
	member int32
	typed  bool

	dropped   bool // optimized out
	misplaced bool // not where the convention puts it
}

// inPieces reports whether the location splits the parameter.
func (p *param) inPieces() bool { return p.parts != [2]uint64{} }

// noteLocation keeps a parameter's location for judge.
func (d *decoder) noteLocation(n *node, v *value) {
	if !d.in.located {
		return
	}
	p := &d.u.places
	n.record = int32(len(p.attrs))
	p.attrs = append(p.attrs, location{unit: int32(len(p.units)) - 1, kind: v.kind, num: uint64(v.num), expr: v.raw})
}

// maxListBytes limits what is read of location lists: each of their bytes this many times on
// average, because many parameters may refer to one list.
const maxListBytes = 16

// place decodes a parameter's location.
func (d *decoder) place(p *param, at location) error {
	if at.unit < 0 {
		return nil
	}
	u := &d.u.places.units[at.unit]
	section, off := d.in.locLists, at.num
	if u.Version < 5 {
		section = d.in.loc
	}
	switch {
	case at.kind == valueBytes:
		return d.malformed(p, d.expression(p, u, at.expr, true))
	case at.kind == valueListIndex:
		var err error
		if off, err = u.ListAt(section, at.num); err != nil {
			return d.malformed(p, err)
		}
	case at.kind == valueAddr, at.kind == valueNumber && u.Version < 4:
	default:
		return nil
	}
	first := true
	var bad error
	n, err := u.List(section, off, func(e dwarfloc.Entry) bool {
		bad = d.expression(p, u, e.Expr, first)
		first = false
		return bad == nil
	})
	if d.in.listBytes.Add(int64(n)) > maxListBytes*int64(len(section))+1<<20 {
		return fmt.Errorf("%w: parameters refer to the same location lists again and again", ErrMalformed)
	}
	if err == nil {
		err = bad
	}
	return d.malformed(p, err)
}

// malformed names the parameter that an error is about. Operations that are not known are no error;
// the entries before them count.
func (d *decoder) malformed(p *param, err error) error {
	if err == nil || errors.Is(err, dwarfloc.ErrOperation) {
		return nil
	}
	return fmt.Errorf("%w: location of the parameter at %#x: %w; only optimized_func, consistent_func and true_signature need locations",
		ErrMalformed, d.u.nodes[p.node].off, err)
}

// expression adds what a location expression tells about a parameter. first is set for the entry of
// the list that holds at the function's start; addresses need not be compared, because compilers
// write lists in the order of the code.
func (d *decoder) expression(p *param, u *compilation, expr []byte, first bool) error {
	ops, err := u.Ops(d.ops[:0], expr)
	d.ops = ops
	if err != nil || len(ops) == 0 {
		return err
	}
	computed := ops[len(ops)-1].Code == dwarfloc.OpStackValue
	if len(ops) == 2 && computed {
		ops = ops[:1]
	}
	op := ops[0]
	if len(ops) > 1 {
		d.several(p, u, ops, first)
		return nil
	}
	switch {
	case op.IsReg() && first:
		p.enter(int16(op.Code - dwarfloc.OpReg0))
	case op.IsBreg() && first && computed:
		p.enter(int16(op.Code - dwarfloc.OpBreg0))
	case op.Code == dwarfloc.OpFbreg && first:
		p.onStack = true
	case op.IsConstant() && first:
		p.literal = true
	case op.Code == dwarfloc.OpEntryValue, op.Code == dwarfloc.OpGNUEntryValue:
		inner, err := u.Ops(nil, op.Block)
		if err != nil {
			return err
		}
		if len(inner) == 1 && inner[0].IsReg() {
			p.enter(int16(inner[0].Code - dwarfloc.OpReg0))
		}
	}
	return nil
}

// enter sets the parameter's register unless another entry did.
func (p *param) enter(reg int16) {
	if p.reg == noReg {
		p.reg = reg
	}
}

// several interprets an expression of several operations: a register with an offset, or the pieces
// of a struct in two registers.
func (d *decoder) several(p *param, u *compilation, ops []dwarfloc.Op, first bool) {
	word := int64(u.AddrSize)
	switch op := ops[0]; {
	case op.IsConstant():
		p.literal = p.literal || first
		return
	case p.size > word && d.in.calls.split:
	case op.IsReg() && first:
		p.enter(int16(op.Code - dwarfloc.OpReg0))
		return
	case op.IsBreg() && first:
		for _, later := range ops[1:] {
			if later.Code == dwarfloc.OpStackValue {
				p.enter(int16(op.Code - dwarfloc.OpBreg0))
			}
		}
		return
	default:
		return
	}
	at := int64(0)
	for i, op := range ops {
		switch {
		case op.Code == dwarfloc.OpPiece:
			size := int64(int32(op.Value))
			if i > 0 {
				reg, bit := 0, at
				if at >= word {
					reg, bit = 1, at-word
				}
				if bit >= 0 && bit < 64 {
					p.parts[reg] |= 1 << bit
				}
			}
			at += size
		case op.IsReg():
			p.enter(int16(op.Code - dwarfloc.OpReg0))
		}
	}
}

// onlyMember finds the member of a struct that is the only part of it with a location.
func (d *decoder) onlyMember(p *param, word int64) error {
	set := p.parts[0] | p.parts[1]
	n := &d.u.nodes[p.node]
	if p.parts[0] != 0 && p.parts[1] != 0 || bits.OnesCount64(set) != 1 || n.name == 0 || n.ref == 0 {
		return nil
	}
	at := int64(bits.TrailingZeros64(set))
	if p.parts[0] == 0 {
		at += word
	}
	t := d.sizedType(n.ref)
	if t == nil || t.tag != dwarf.TagStructType {
		return nil
	}
	for i := t.first; i != 0; i = d.u.nodes[i].next {
		if err := d.spend(); err != nil {
			return err
		}
		m := &d.u.nodes[i]
		off := m.location * 8
		if m.bitOffset >= 0 {
			off = m.bitOffset
		}
		if m.tag != dwarf.TagMember || off != at*8 {
			continue
		}
		if m.name != 0 && m.ref != 0 {
			p.member = i
		}
		return nil
	}
	return nil
}

// sizedType returns the first type with a size on the way from a reference, or nil.
func (d *decoder) sizedType(ref uint64) *node {
	for range maxNesting {
		t := d.u.at(ref)
		if t == nil || t.tag == dwarf.TagPointerType || t.size != 0 {
			return t
		}
		ref = t.ref
	}
	return nil
}

// typeSize returns the bytes of a parameter's type; 0 if unknown.
func (d *decoder) typeSize(n *node, word int64) int64 {
	ref := n.ref
	if n.origin != 0 && !n.specified {
		o := d.u.at(n.origin)
		if o == nil {
			return 0
		}
		ref = o.ref
	}
	switch t := d.sizedType(ref); {
	case t == nil:
		return 0
	case t.tag == dwarf.TagPointerType:
		return word
	default:
		return t.size
	}
}

// maxSteps limits the searches of struct members in a unit.
const maxSteps = 1 << 24

// spend counts a step of a search.
func (d *decoder) spend() error {
	if d.steps++; d.steps > maxSteps {
		return fmt.Errorf("%w: structs that are parameters have too many members", ErrMalformed)
	}
	return nil
}
