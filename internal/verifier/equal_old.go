package verifier

// Comparison of states as in releases before 6.3: registers that are the same in every respect are
// equal before identities are looked at, and each frame maps identities on its own.

// mapOnce reports whether an identity of the old state corresponds to the current one. Unlike same,
// it takes 0 for an identity and lets two old identities correspond to one current identity
// (check_ids before 6.3).
func (m *idMap) mapOnce(old, cur uint32) bool {
	for _, p := range m.pairs {
		if p[0] == old {
			return p[1] == cur
		}
	}
	m.pairs = append(m.pairs, [2]uint32{old, cur})
	return true
}

// safeOld is safe for these releases (regsafe).
func (p *checkpoints) safeOld(o, c *reg) bool {
	return o.live&liveRead == 0 || p.safeOldRead(o, c)
}

// safeOldRead compares memory images first, as these releases do, so that even ids must be the same
// for a pointer of a kind that is not listed.
func (p *checkpoints) safeOldRead(o, c *reg) bool {
	equal := o.value == c.value && o.id == c.id && o.ref == c.ref
	switch {
	case o.typ == ptrStack:
		return equal && o.frame == c.frame
	case equal, o.typ == notInit:
		return true
	case o.typ != c.typ:
		return false
	}
	switch o.typ.base() {
	case scalar:
		return !o.precise || o.Within(&c.Bounds) && o.Var.Contains(c.Var)
	case ptrMapKey, ptrMapValue:
		// A null check changes all copies, so the ids must have the same relations.
		if o.typ.mayBeNull() {
			return sameBeforeBounds(o, c) && p.idmap.mapOnce(o.id, c.id)
		}
		return sameBeforeBounds(o, c) && o.Within(&c.Bounds) && o.Var.Contains(c.Var)
	case ptrPacketMeta, ptrPacket:
		if !p.safeRange(o, c) || o.off != c.off {
			return false
		}
		if o.id != 0 && !p.idmap.mapOnce(o.id, c.id) {
			return false
		}
		return o.Within(&c.Bounds) && o.Var.Contains(c.Var)
	}
	return false
}
