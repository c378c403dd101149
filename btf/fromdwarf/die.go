package fromdwarf

import (
	"debug/dwarf"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/dwarfloc"
)

const maxNesting = 256

// decoder reads the DIEs of units. It is used by one goroutine.
type decoder struct {
	in *input
	// tables caches the abbreviation tables read last.
	tables map[abbrevKey]*abbrevs

	cursor
	u        *unit
	key      abbrevKey
	abbrevs  *abbrevs
	base     uint64 // start of the unit, for references within it
	strBase  uint64
	compiled compilation
	ops      []dwarfloc.Op // reused
	steps    int           // of searches in the unit
}

// attributes are those of a DIE that a node does not hold.
type attributes struct {
	sibling  uint64
	language int64
	count    int64
	hasCount bool
}

// read decodes the units of a span into u.
func (d *decoder) read(u *unit, s span) error {
	u.reset(s.start, s.size)
	if err := d.in.readAt(u.b, s.start); err != nil {
		return err
	}
	d.u = u
	for at := uint64(0); at < s.size; {
		h, err := d.in.header(u.b[at:], s.start+at)
		if err != nil {
			return err
		}
		if err := d.unit(h, at); err != nil {
			return fmt.Errorf("unit at %#x: %w", h.start, err)
		}
		at += h.size
	}
	if d.in.located {
		return d.judge()
	}
	return nil
}

// unit decodes the unit at an offset of the bytes.
func (d *decoder) unit(h unitHeader, at uint64) error {
	d.key = abbrevKey{off: h.abbrevs, version: h.version, addrSize: h.addrSize, offSize: h.offSize}
	t, ok := d.tables[d.key]
	if !ok {
		var err error
		if t, err = parseAbbrevs(d.in.abbrev, d.key, d.in.located); err != nil {
			return err
		}
		if len(d.tables) > 64 {
			clear(d.tables)
		}
		d.tables[d.key] = t
	}
	d.abbrevs, d.base = t, h.start
	d.cursor = cursor{b: d.u.b[:at+h.size], at: int(at + h.head), big: d.in.big}
	d.strBase = d.in.defaultBase(h)
	d.compiled = compilation{Unit: d.in.locations(h), start: h.start}
	if h.signature != 0 {
		if d.u.sigs == nil {
			d.u.sigs = map[uint64]uint64{}
		}
		if sig := h.signature | signatureBit; d.u.sigs[sig] == 0 {
			d.u.sigs[sig] = h.start + h.typeOff
		}
	}
	for d.at < len(d.b) {
		code := d.uleb()
		if code == 0 {
			continue
		}
		a := d.abbrevs.find(code)
		if a == nil || d.bad {
			return fmt.Errorf("%w: no abbreviation %d", ErrMalformed, code)
		}
		var x attributes
		from := d.at
		if err := d.attributes(a, nil, &x); err != nil {
			return err
		}
		if d.in.located && a.class == classUnit {
			// Again, because strings and addresses may come before the attributes that they are
			// relative to.
			if d.at = from; d.attributes(a, nil, &x) != nil {
				return fmt.Errorf("%w: attributes of a unit", ErrMalformed)
			}
			d.u.places.units = append(d.u.places.units, d.compiled)
		}
		if a.class != classUnit {
			if a.children && !d.skipTo(x.sibling) {
				if err := d.skipChildren(0); err != nil {
					return err
				}
			}
			continue
		}
		d.u.count++
		if !described(x.language) {
			d.u.skipped++
			return nil
		}
		if a.children {
			if err := d.children(0, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// children reads the children of a DIE. Types are collected at any depth; parent, when not 0, takes
// members, enumerators, parameters, dimensions and tags.
func (d *decoder) children(parent int32, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("%w: nested more than %d deep", ErrMalformed, maxNesting)
	}
	for d.at < len(d.b) {
		off := d.u.start + uint64(d.at)
		code := d.uleb()
		if code == 0 {
			break
		}
		a := d.abbrevs.find(code)
		if a == nil {
			return fmt.Errorf("%w: no abbreviation %d at %#x", ErrMalformed, code, off)
		}
		var x attributes
		i, err := d.die(a, off, parent, &x)
		switch {
		case err != nil:
			return fmt.Errorf("%w, at %#x", err, off)
		case !a.children:
		case a.class == classSkipped:
			if !d.skipTo(x.sibling) {
				if err := d.skipChildren(depth + 1); err != nil {
					return err
				}
			}
		default:
			if err := d.children(i, depth+1); err != nil {
				return err
			}
		}
	}
	if d.bad {
		return fmt.Errorf("%w: the unit ends inside a DIE", ErrMalformed)
	}
	return nil
}

// die reads the attributes of a DIE and makes a node if its class needs one. It returns the node's
// index, or 0.
func (d *decoder) die(a *abbrev, off uint64, parent int32, x *attributes) (int32, error) {
	switch a.class {
	case classType, classFunction, classVariable, classPart:
		if a.class == classPart && parent == 0 {
			break
		}
		i := int32(len(d.u.nodes))
		d.u.nodes = append(d.u.nodes, node{off: off, tag: a.tag, bitOffset: -1, oldBits: -1, elements: -1})
		n := &d.u.nodes[i]
		if err := d.attributes(a, n, x); err != nil {
			return 0, err
		}
		d.enter(i, n, a.class, parent)
		return i, nil
	case classDimension:
		if err := d.attributes(a, nil, x); err != nil {
			return 0, err
		}
		if p := &d.u.nodes[parent]; parent != 0 && p.tag == dwarf.TagArrayType {
			p.addDimension(x)
		}
		return 0, nil
	}
	return 0, d.attributes(a, nil, x)
}

// maxElements is one more than the largest number of elements in BTF.
const maxElements = 1 << 32

// addDimension multiplies the number of elements, since all dimensions become one array. An unknown
// or too large dimension counts as 0.
func (n *node) addDimension(x *attributes) {
	count := max(x.count, 0)
	switch {
	case n.elements < 0:
		n.elements = min(count, maxElements)
	case count != 0 && n.elements > maxElements/count:
		n.elements = maxElements
	default:
		n.elements *= count
	}
}

// enter lists a node where later steps look for it.
func (d *decoder) enter(i int32, n *node, class tagClass, parent int32) {
	u := d.u
	named := true
	switch class {
	case classType:
		u.typeNodes = append(u.typeNodes, i)
	case classFunction:
		if !n.declared {
			u.funcs = append(u.funcs, i)
		}
	case classVariable:
		// A variable on the stack is not global. One without a location may be completed by another
		// DIE.
		if n.place != placeOther {
			u.globals = append(u.globals, i)
		}
	case classPart:
		named = n.tag == dwarf.TagFormalParameter
		p := &u.nodes[parent]
		if p.last == 0 {
			p.first = i
		} else {
			u.nodes[p.last].next = i
		}
		p.last = i
	}
	if named && u.dense != nil {
		u.dense[n.off-u.start] = i
	}
}

// skipTo moves to a sibling, and reports whether there is one.
func (d *decoder) skipTo(sibling uint64) bool {
	if sibling < d.u.start {
		return false
	}
	to := sibling - d.u.start
	if to <= uint64(d.at) || to > uint64(len(d.b)) {
		return false
	}
	d.at = int(to)
	return true
}

func (d *decoder) skipChildren(depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("%w: nested more than %d deep", ErrMalformed, maxNesting)
	}
	for d.at < len(d.b) {
		code := d.uleb()
		if code == 0 {
			break
		}
		a := d.abbrevs.find(code)
		if a == nil {
			return fmt.Errorf("%w: no abbreviation %d", ErrMalformed, code)
		}
		var x attributes
		if err := d.attributes(a, nil, &x); err != nil {
			return err
		}
		if a.children && !d.skipTo(x.sibling) {
			if err := d.skipChildren(depth + 1); err != nil {
				return err
			}
		}
	}
	if d.bad {
		return fmt.Errorf("%w: the unit ends inside a DIE", ErrMalformed)
	}
	return nil
}
