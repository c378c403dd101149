package mem

import "math/bits"

// Unwrite marks [addr, addr+n) as not written by this run: what a kernel hands out without clearing
// it, or what earlier runs left. Reads of such bytes are allowed and reported to OnUnwritten, a
// store ends the mark. The range must be inside one object of plain memory that programs may write;
// elsewhere nothing is marked. Contents stay.
func (m *Memory) Unwrite(addr, n uint64) {
	off := (addr & m.mask) - m.base
	if n == 0 || off >= m.limit || n > m.limit-off {
		return
	}
	r := m.blocks[m.blockAt(off)].r
	lo, hi := r.bounds(addr & m.mask)
	if r.Freed || r.View != nil || r.ReadOnly || off+m.base < lo || off+n+m.base > hi {
		return
	}
	m.journal.marks, m.marked, r.unwritten = true, true, true
	if r.Count > 1 {
		m.touchShadow(off, off+n)
	} else {
		m.touch(r.block)
	}
	m.changed(m.offsets(off, off+n))
	for at, end := off, off+n; at < end; {
		next := (at | (granule - 1)) + 1
		g := at / granule
		if mask := byteMask(at, min(next, end)); mask == 0xff {
			delete(m.undef, g)
			m.setUnder(g, ClassUnwritten)
		} else {
			c := m.under(g)
			k := m.marksOf(g, c)
			k.unset |= mask
			k.quiet |= mask
			m.setMarks(g, k)
			if !c.marked() {
				m.setUnder(g, ClassUnwritten)
			}
		}
		at = next
	}
	m.rewatch()
}

// Allow makes reads of the unset bytes in [addr, addr+n) no longer count as such: a helper was told
// to fill them. Whether it did is recorded by its stores.
func (m *Memory) Allow(addr, n uint64) {
	off := (addr & m.mask) - m.base
	if off >= m.limit || n > m.limit-off {
		return
	}
	for at, end := off, off+n; at < end; {
		next := (at | (granule - 1)) + 1
		g := at / granule
		if c := m.under(g); c.marked() {
			m.journal.marks = true
			m.touch(m.blockAt(at))
			k := m.marksOf(g, c)
			k.quiet |= k.unset & byteMask(at, min(next, end))
			if k == wholeMarks[1] {
				delete(m.undef, g)
				m.setUnder(g, ClassUnwritten)
			} else {
				m.setMarks(g, k)
			}
		}
		at = next
	}
}

// Unwritten returns the addresses of the marked bytes in [addr, addr+n), those of stacks included,
// ascending.
func (m *Memory) Unwritten(addr, n uint64) []uint64 {
	count := m.CountUnwritten(addr, n)
	if count == 0 {
		return nil
	}
	out := make([]uint64, 0, count)
	m.eachUnwritten(addr, n, func(g uint64, mask uint8) {
		for i := range uint64(granule) {
			if mask&(1<<i) != 0 {
				out = append(out, m.base+g*granule+i)
			}
		}
	})
	return out
}

// CountUnwritten returns the number of those.
func (m *Memory) CountUnwritten(addr, n uint64) (count int) {
	m.eachUnwritten(addr, n, func(_ uint64, mask uint8) { count += bits.OnesCount8(mask) })
	return count
}

// eachUnwritten calls f for the granules with marked bytes in [addr, addr+n), ascending, with the
// mask of those.
func (m *Memory) eachUnwritten(addr, n uint64, f func(g uint64, mask uint8)) {
	off := (addr & m.mask) - m.base
	if off >= m.limit {
		return
	}
	for at, end := off, off+min(n, m.limit-off); at < end; {
		next := (at | (granule - 1)) + 1
		g := at / granule
		if mask := m.marksOf(g, m.under(g)).unset & byteMask(at, min(next, end)); mask != 0 {
			f(g, mask)
		}
		at = next
	}
}

// Marked reports whether bytes of the region may be marked by [Memory.Unwrite].
func (r *Region) Marked() bool { return r.unwritten }

// Leaves reports [addr, addr+n) as read to OnUnset and OnUnwritten, without reading it.
func (m *Memory) Leaves(addr, n uint64) {
	if n > 0 {
		_, _ = m.resolve(addr, n, false)
	}
}
