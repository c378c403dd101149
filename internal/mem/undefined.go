package mem

// Unset is a read of bytes that were never written.
type Unset struct {
	Addr, Size uint64 // of the read
	Region     *Region
	// Offsets are the offsets of the bytes in the region that count as unset, Unwritten those of
	// the bytes that this run did not write but may read ([Memory.Unwrite]); both ascending.
	// Unwritten is valid only during the call.
	Offsets, Unwritten []uint64
}

// marks are the unwritten bytes of a granule as a mask, and those of them whose reads are allowed.
type marks struct{ unset, quiet uint8 }

// wholeMarks are those of a granule that no byte of was written.
var wholeMarks = [2]marks{{unset: 0xff}, {unset: 0xff, quiet: 0xff}}

// marked reports whether granules of the class have marks.
func (c Class) marked() bool { return c == ClassUndefined || c == ClassUnwritten }

// marksOf returns the marks of granule g, which has class c beneath watches.
func (m *Memory) marksOf(g uint64, c Class) marks {
	if !c.marked() {
		return marks{}
	}
	if k, ok := m.undef[g]; ok {
		return k
	}
	if c == ClassUnwritten {
		return wholeMarks[1]
	}
	return wholeMarks[0]
}

// appendOffsets appends the bytes of a mask, of the granule that contains arena offset at.
func appendOffsets(to []uint64, r *Region, base, at uint64, mask uint8) []uint64 {
	for i := range uint64(granule) {
		if mask&(1<<i) != 0 {
			to = append(to, at&^(granule-1)+i+base-r.Base)
		}
	}
	return to
}

// report tells of a read of unwritten bytes.
func (m *Memory) report(u Unset) {
	switch {
	case len(u.Offsets) > 0:
		m.OnUnset(u)
	case len(u.Unwritten) > 0:
		m.OnUnwritten(u)
	}
}

// Define marks [addr, addr+n) as written, without any checks.
func (m *Memory) Define(addr, n uint64) {
	addr &= m.mask
	if off := addr - m.base; off < m.limit && n <= m.limit-off {
		m.define(off, n)
	}
}

// MarkUndefined marks the bytes of a plain region as never written: loads of them fault NeverSet
// until a store writes them. Stack frames use it under strict checking.
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

// under returns the class of granule g beneath watches.
func (m *Memory) under(g uint64) Class {
	if c, ok := m.watched[g]; ok {
		return c
	}
	return m.class(g)
}

// setUnder sets the class of granule g beneath watches.
func (m *Memory) setUnder(g uint64, c Class) {
	if _, ok := m.watched[g]; ok {
		m.watched[g] = c
	} else {
		m.setClass(g, c)
	}
}

// define records that [off, off+n) was stored to.
func (m *Memory) define(off, n uint64) {
	for at, end := off, off+n; at < end; {
		next := (at | (granule - 1)) + 1
		g := at / granule
		if c := m.under(g); c.marked() {
			m.journal.marks = true
			r := m.blocks[m.blockAt(at)].r
			if r.Count > 1 {
				m.touchShadow(g*granule, g*granule+granule)
			} else {
				m.touch(r.block)
			}
			k, written := m.marksOf(g, c), byteMask(at, min(next, end))
			k.unset &^= written
			k.quiet &^= written
			// Bytes of the granule outside the region never become valid.
			lo, hi := r.bounds(at + m.base)
			lo, hi = lo-m.base, hi-m.base
			if k.unset&byteMask(max(lo, g*granule), min(hi, g*granule+granule)) == 0 {
				delete(m.undef, g)
				m.setUnder(g, boundedClass(g, lo, hi, ClassPlain))
				m.paintGuards(r, lo)
			} else {
				m.setMarks(g, k)
			}
		}
		at = next
	}
}

func (m *Memory) setMarks(g uint64, k marks) {
	switch {
	case m.undef == nil:
		m.undef = make(map[uint64]marks)
		fallthrough
	case len(m.undef) == 0:
		m.undefIn = [2]uint64{g, g + 1}
	default:
		m.undefIn = [2]uint64{min(m.undefIn[0], g), max(m.undefIn[1], g+1)}
	}
	m.undef[g] = k
}

// dropMarks drops undefined and watch marks of [lo, hi) before its shadow is rewritten.
func (m *Memory) dropMarks(lo, hi uint64) {
	if len(m.watched) == 0 && (len(m.undef) == 0 || lo/granule >= m.undefIn[1] || (hi+granule-1)/granule <= m.undefIn[0]) {
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
