package fromdwarf

import "debug/dwarf"

// isPacked reports whether a named struct is packed. DWARF does not tell; it follows from members
// that are not aligned, or from a size that their alignment does not divide, in a struct without
// holes and padding, as in pahole's class__infer_packed_attributes.
func (d *decoder) isPacked(t *node, word int64) (bool, error) {
	if t == nil || t.tag != dwarf.TagStructType && t.tag != dwarf.TagClassType || t.name == 0 {
		return false, nil
	}
	largest, end, misaligned := int64(1), int64(0), false
	for i := t.first; i != 0; i = d.u.nodes[i].next {
		m := &d.u.nodes[i]
		if m.tag != dwarf.TagMember {
			continue
		}
		kind := d.stripped(m.ref)
		align, err := d.alignment(kind, word, 0)
		if err != nil {
			return false, err
		}
		largest = max(largest, align)
		at, bits := m.location*8, int64(m.bitSize)
		if m.bitOffset >= 0 {
			at = m.bitOffset
		}
		if bits == 0 {
			bits = d.bytesOf(kind, word) * 8
		}
		if at-end >= 8 {
			return false, nil // a hole
		}
		misaligned = misaligned || m.bitSize == 0 && m.location%align != 0
		end = at + bits
	}
	if t.size*8-end >= 8 {
		return false, nil // padding
	}
	return misaligned || t.size%largest != 0, nil
}

// stripped returns the type at a reference without typedefs and qualifiers, or nil.
func (d *decoder) stripped(ref uint64) *node {
	for range maxNesting {
		t := d.u.at(ref)
		if t == nil {
			return nil
		}
		switch t.tag {
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
			ref = t.ref
		default:
			return t
		}
	}
	return nil
}

// alignment returns the natural alignment of a type in bytes, at least 1.
func (d *decoder) alignment(t *node, word int64, depth int) (int64, error) {
	if err := d.spend(); err != nil || t == nil || depth > maxNesting {
		return 1, err
	}
	switch t.tag {
	case dwarf.TagPointerType:
		return max(word, 1), nil
	case dwarf.TagBaseType, dwarf.TagEnumerationType:
		return max(t.size, 1), nil
	case dwarf.TagArrayType:
		return d.alignment(d.stripped(t.ref), word, depth+1)
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		largest := int64(1)
		for i := t.first; i != 0; i = d.u.nodes[i].next {
			if m := &d.u.nodes[i]; m.tag == dwarf.TagMember {
				a, err := d.alignment(d.stripped(m.ref), word, depth+1)
				if err != nil {
					return 1, err
				}
				largest = max(largest, a)
			}
		}
		return largest, nil
	}
	return 1, nil
}

// bytesOf returns the size of a type without typedefs and qualifiers.
func (d *decoder) bytesOf(t *node, word int64) int64 {
	count := int64(1)
	for range maxNesting {
		switch {
		case t == nil:
			return 0
		case t.tag == dwarf.TagPointerType:
			return count * word
		case t.tag != dwarf.TagArrayType || t.size != 0:
			return count * t.size
		}
		count *= max(t.elements, 0)
		t = d.stripped(t.ref)
	}
	return 0
}
