package mem

// Unset is a read of bytes that were never written.
type Unset struct {
	Addr, Size uint64 // of the read
	Region     *Region
	// Offsets are the offsets of the bytes in the region, ascending.
	Offsets []uint64
}

// add records the bytes of the granule that contains arena offset at.
func (u *Unset) add(r *Region, base, at uint64, mask uint8) {
	u.Region = r
	for i := range uint64(granule) {
		if mask&(1<<i) != 0 {
			u.Offsets = append(u.Offsets, at&^(granule-1)+i+base-r.Base)
		}
	}
}

// Define marks [addr, addr+n) as written, without any checks.
func (m *Memory) Define(addr, n uint64) {
	addr &= m.mask
	if off := addr - m.base; off < m.limit && n <= m.limit-off {
		m.define(off, n)
	}
}

// MarkUndefined marks the bytes of a plain region as never written: loads of them fault NeverSet until a store writes
// them. Stack frames use it under strict checking.
func (m *Memory) MarkUndefined(r *Region) {
	if r.Freed || r.View != nil || r.Count > 1 || m.arena == nil {
		return
	}
	m.touch(r.block)
	lo, hi := r.Base-m.base, r.Base-m.base+r.Size
	m.changed(m.offsets(lo, hi))
	m.dropMarks(lo, hi)
	m.paintRange(lo, hi, ClassUndefined)
	m.rewatch()
}

// MarkDefined ends the tracking of a region.
func (m *Memory) MarkDefined(r *Region) {
	if r.Freed || m.arena == nil {
		return
	}
	m.touch(r.block)
	m.dropMarks(r.Base-m.base, r.Base-m.base+r.Size)
	m.paint(r)
	m.rewatch()
}

// undefMask returns the unwritten bytes of a granule of ClassUndefined.
func (m *Memory) undefMask(g uint64) uint8 {
	if mask, ok := m.undef[g]; ok {
		return mask
	}
	return 0xff
}

// define records that [off, off+n) was stored to.
func (m *Memory) define(off, n uint64) {
	for at, end := off, off+n; at < end; {
		next := (at | (granule - 1)) + 1
		g := at / granule
		c, watched := m.class(g), false
		if under, ok := m.watched[g]; ok {
			c, watched = under, true
		}
		if c == ClassUndefined {
			m.journal.marks = true
			m.touch(m.blockAt(at))
			mask := m.undefMask(g) &^ byteMask(at, min(next, end))
			// Bytes of the granule past the end of the region never become valid.
			r := m.blocks[m.blockAt(at)].r
			valid := min(r.Base+r.Size-m.base-g*granule, granule)
			if mask&uint8(1<<valid-1) == 0 {
				delete(m.undef, g)
				c = Class(valid % granule)
				if watched {
					m.watched[g] = c
				} else {
					m.setClass(g, c)
				}
			} else {
				if m.undef == nil {
					m.undef = make(map[uint64]uint8)
				}
				m.undef[g] = mask
			}
		}
		at = next
	}
}

// dropMarks drops undefined and watch marks of [lo, hi) before its shadow is rewritten.
func (m *Memory) dropMarks(lo, hi uint64) {
	if len(m.undef) == 0 && len(m.watched) == 0 {
		return
	}
	m.journal.marks = true
	if span := (hi - lo) / granule; span < uint64(len(m.undef)+len(m.watched)) {
		for g := lo / granule; g < (hi+granule-1)/granule; g++ {
			delete(m.undef, g)
			delete(m.watched, g)
		}
		return
	}
	for g := range m.undef {
		if g >= lo/granule && g < (hi+granule-1)/granule {
			delete(m.undef, g)
		}
	}
	for g := range m.watched {
		if g >= lo/granule && g < (hi+granule-1)/granule {
			delete(m.watched, g)
		}
	}
}
