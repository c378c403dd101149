package fromdwarf

import "debug/dwarf"

// function is what the DWARF tells about how a function is called.
type function struct {
	node        int32
	unit        int32
	first, last int32 // indexes of its parameters in placesOfUnit.params
	// changed: clang marks the function as one with another signature than its source
	// (DW_CC_nocall).
	changed bool
	// reordered: a parameter has another position than in the function that this is a copy of.
	reordered bool
	optimized bool // a parameter was optimized out
	misplaced bool // a parameter is not where the convention puts it
	packed    bool // a packed struct is passed on the stack, where its place is uncertain
}

// callNoCall is DW_CC_nocall (DWARF 5 section 7.15).
const callNoCall = 0x03

// judge decodes the locations of the unit's parameters and compares them with the calling
// convention, by the rules of pahole 1.32 (dwarf_loader.c): a copy of a function
// (DW_AT_abstract_origin) shares what it knows of its parameters with the original.
func (d *decoder) judge() error {
	d.steps = 0
	p := &d.u.places
	for i := range d.u.nodes {
		if n := &d.u.nodes[i]; n.tag == dwarf.TagSubprogram {
			if err := d.function(int32(i), n); err != nil {
				return err
			}
		}
	}
	for i := range p.funcs[1:] {
		d.share(&p.funcs[i+1])
	}
	for i := range p.funcs[1:] {
		f := &p.funcs[i+1]
		d.compare(f)
		if err := d.conclude(f); err != nil {
			return err
		}
	}
	return nil
}

// function records a function and its parameters.
func (d *decoder) function(i int32, n *node) error {
	p := &d.u.places
	f := function{node: i, unit: d.unitOf(n.off), first: int32(len(p.params))}
	if f.unit < 0 {
		return nil
	}
	unit := &p.units[f.unit]
	if unit.clang && !n.inline {
		with := n
		if n.origin != 0 && !n.specified {
			with = d.u.at(n.origin)
		}
		f.changed = with != nil && with.convention == callNoCall
	}
	word := int64(unit.AddrSize)
	for c := n.first; c != 0; c = d.u.nodes[c].next {
		m := &d.u.nodes[c]
		if m.tag != dwarf.TagFormalParameter {
			continue
		}
		q := param{node: c, index: int32(len(p.params)) - f.first, reg: noReg, constant: m.constant, size: d.typeSize(m, word)}
		q.inMemory = q.size > word && !d.in.calls.split || q.size > 2*word
		if at := m.record; at != 0 {
			q.located = true
			if err := d.place(&q, p.attrs[at]); err != nil {
				return err
			}
			if err := d.onlyMember(&q, word); err != nil {
				return err
			}
		}
		m.record = int32(len(p.params))
		p.params = append(p.params, q)
	}
	f.last = int32(len(p.params))
	n.record = int32(len(p.funcs))
	p.funcs = append(p.funcs, f)
	return nil
}

// unitOf returns the index of the compilation unit that contains an offset, or -1.
func (d *decoder) unitOf(off uint64) int32 {
	units := d.u.places.units
	lo, hi := 0, len(units)
	for lo < hi {
		if mid := (lo + hi) / 2; units[mid].start <= off {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int32(lo) - 1
}

// share passes what a copy of a function knows of its parameters to the original.
func (d *decoder) share(f *function) {
	params := d.u.places.params
	for i := f.first; i < f.last; i++ {
		p := &params[i]
		n := &d.u.nodes[p.node]
		if n.ref != 0 || n.origin == 0 {
			continue
		}
		o := d.u.at(n.origin)
		if o == nil || o.tag != dwarf.TagFormalParameter || o.record == 0 || int(o.record) >= len(params) || &d.u.nodes[params[o.record].node] != o {
			continue
		}
		to := &params[o.record]
		f.reordered = f.reordered || p.index != to.index
		to.located = to.located || p.located
		to.constant = to.constant || p.constant
		to.literal = to.literal || p.literal
		to.onStack = to.onStack || p.onStack
		to.inMemory = to.inMemory || p.inMemory
		if p.reg != noReg {
			to.reg = p.reg
		}
		if p.size != 0 {
			to.size = p.size
		}
		to.parts[0] |= p.parts[0]
		to.parts[1] |= p.parts[1]
		if to.member == 0 {
			to.member = p.member
		}
	}
}

// slots returns the number of registers that a parameter needs.
func (d *decoder) slots(p *param, word int64) int {
	if !d.in.calls.split || p.size <= word {
		return 1
	}
	return int(min((p.size+word-1)/word, 1<<20))
}

// compare finds the parameters of a function that are not where the convention puts them, or that
// were optimized out.
func (d *decoder) compare(f *function) {
	params := d.u.places.params[f.first:f.last]
	unit := &d.u.places.units[f.unit]
	word := int64(unit.AddrSize)
	if unit.clang && !f.changed {
		d.compareClang(params, word)
		return
	}
	slot := 0
	for i := range params {
		p := &params[i]
		slot += d.compareParam(p, params[i+1:], slot, word, f.changed && d.in.trueSignature, unit.clang)
	}
}

// compareClang compares the registers of a function that clang did not change.
func (d *decoder) compareClang(params []param, word int64) {
	calls := &d.in.calls
	if len(calls.regs) == 0 {
		return
	}
	slot := 0
	for i := range params {
		p := &params[i]
		if p.inMemory {
			continue
		}
		if slot >= calls.slots {
			return
		}
		n := d.slots(p, word)
		expected := false
		for s := slot; s < min(slot+n, calls.slots); s++ {
			expected = expected || p.reg == calls.reg(s)
		}
		p.misplaced = p.misplaced || p.reg != noReg && !expected
		slot += n
	}
}

// compareParam judges the parameter that is expected in a slot and returns how many slots it takes.
// changed is set for a function whose changed signature is wanted.
func (d *decoder) compareParam(p *param, after []param, slot int, word int64, changed, clang bool) int {
	calls := &d.in.calls
	n := d.slots(p, word)
	takes := n
	if p.inMemory {
		takes = 1
	}
	// nextStays: the parameter after this one is in the register that it has if this one keeps its
	// slots.
	nextStays := len(after) > 0 && after[0].reg != noReg && slot+n < calls.slots && after[0].reg == calls.reg(slot+n)
	inRegister := slot < calls.slots
	switch {
	case !p.located && p.constant && !clang:
		p.dropped = true
		return takes
	case !p.located && !changed:
		return takes
	case !p.located:
		if inRegister && nextStays {
			return n
		}
		p.dropped = true
		return 0
	case changed && p.literal:
		p.dropped = true
		return 0
	case !inRegister:
		return 0
	case changed && p.onStack:
		if p.inMemory {
			return 0
		}
		p.misplaced = true
		return takes
	case p.reg == noReg:
		p.misplaced, p.dropped = p.misplaced || changed, p.dropped || !changed
		return takes
	case len(calls.regs) > 0 && p.reg != calls.reg(slot):
		p.misplaced = true
		return takes
	case !changed || !p.inPieces():
		return takes
	case p.parts[0] != 0 && p.parts[1] != 0:
		return n
	case nextStays:
		p.member = 0
		return n
	case p.member != 0:
		p.typed = d.u.at(d.u.nodes[p.member].ref) != nil
		if p.typed {
			return 1
		}
	}
	return takes
}

// conclude sets the properties of a function that follow from its parameters.
func (d *decoder) conclude(f *function) error {
	params := d.u.places.params[f.first:f.last]
	misplaced, structs := false, false
	for i := range params {
		p := &params[i]
		f.optimized = f.optimized || p.dropped || !p.located
		misplaced = misplaced || p.misplaced
		structs = structs || d.isStruct(d.typeOf(p))
	}
	// The registers of structs cannot be told from other parameters'.
	f.misplaced = misplaced && !structs
	if len(params) < d.in.calls.slots {
		return nil
	}
	for i := d.in.calls.slots; i < len(params); i++ {
		packed, err := d.isPacked(d.typeOf(&params[i]), int64(d.u.places.units[f.unit].AddrSize))
		if err != nil {
			return err
		}
		f.packed = f.packed || packed
	}
	return nil
}

// typeOf returns the type of a parameter, or nil.
func (d *decoder) typeOf(p *param) *node {
	if p.typed {
		return d.u.at(d.u.nodes[p.member].ref)
	}
	_, ref := d.u.completed(&d.u.nodes[p.node])
	return d.u.at(ref)
}

// isStruct reports whether a type is a struct, a typedef of one, or a constant one.
func (d *decoder) isStruct(t *node) bool {
	for range maxNesting {
		switch {
		case t == nil:
			return false
		case t.tag == dwarf.TagStructType:
			return true
		case t.tag != dwarf.TagTypedef && t.tag != dwarf.TagConstType:
			return false
		}
		t = d.u.at(t.ref)
	}
	return false
}
