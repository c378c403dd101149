package mem

import "bytes"

// A journal records what changed since the snapshot that the memory was last equal to, so that a
// Restore of that snapshot need not look at all of it. Changes of regions and of the shadow are
// recorded block by block, those of windows page by page. Stores are not recorded, since native
// code makes most of them: what a guest or a host view can change is compared (see plainParts).
type journal struct {
	base    *Snapshot
	touched []int32 // blocks of base whose region and shadow may have changed
	shadow  []span  // arena offsets of elements of base whose shadow may have changed
	marks   bool    // marks of unset bytes may have changed
	reused  bool    // the quarantine gave blocks back, or a free block was taken
}

// part is a piece of one page with its bytes in the snapshot.
type part struct {
	off  uint64
	want []byte
}

const (
	partGap = 256 // pieces closer than that are compared as one
	// maxChanges is the number of changes that are reported one by one.
	maxChanges = Changes - 1
)

// touch records that a block changes other than by stores.
func (m *Memory) touch(bi int32) {
	if bi >= 0 {
		m.unseal(m.blocks[bi].start, m.blocks[bi].end)
	}
	j := &m.journal
	if j.base == nil || bi < 0 || int(bi) >= len(j.base.blocks) || m.blocks[bi].touched {
		return
	}
	m.blocks[bi].touched = true
	j.touched = append(j.touched, bi)
}

// touchShadow records that the shadow of the arena offsets from lo up to hi changes.
func (m *Memory) touchShadow(lo, hi uint64) {
	m.unseal(lo, hi)
	if j := &m.journal; j.base != nil && hi <= j.base.limit {
		j.shadow = append(j.shadow, span{lo &^ (granule - 1), (hi + granule - 1) &^ (granule - 1)})
	}
}

// beginJournal starts a journal for a snapshot that the memory is equal to. With watches there is
// none: they are marks on any block.
func (m *Memory) beginJournal(s *Snapshot) {
	for _, bi := range m.journal.touched {
		if int(bi) < len(m.blocks) {
			m.blocks[bi].touched = false
		}
	}
	for _, w := range m.windows {
		w.touched, w.forgot = w.touched[:0], false
	}
	m.journal = journal{touched: m.journal.touched[:0], shadow: m.journal.shadow[:0]}
	if len(s.watches) == 0 && len(m.watches) == 0 && m.arena != nil {
		m.journal.base = s
	}
}

// noJournal ends the journal: the next Restore compares everything.
func (m *Memory) noJournal() {
	m.journal.base = nil
	m.unsealAll()
}

// plainParts lists the bytes that stores and host views can change: those of all regions without a
// view.
func (s *Snapshot) plainParts() []part {
	var out []part
	lo, hi := uint64(0), uint64(0) // of the piece to add
	flush := func() {
		for lo < hi {
			end := min(hi, lo&^(pageSize-1)+pageSize)
			want := zeroPage[:]
			if p := s.data[lo/pageSize]; p != nil {
				want = p
			}
			in := lo % pageSize
			out = append(out, part{lo, want[in : in+end-lo]})
			lo = end
		}
	}
	add := func(from, to uint64) {
		if lo < hi && from-hi > partGap {
			flush()
		}
		if from >= to {
			return
		}
		if lo >= hi {
			lo = from
		}
		hi = to
	}
	for i := range s.blocks {
		r := &s.regions[i]
		if r.View != nil || r.extSz == 0 {
			continue
		}
		start := r.ext - s.m.base
		if first, end := s.sealable(r); first < end {
			add(start, first<<sealShift)
			flush()
			add(end<<sealShift, start+r.extSz)
			continue
		}
		add(start, start+r.extSz)
	}
	flush()
	return out
}

// rewind restores the snapshot that the journal is about; false if there is no such journal.
func (m *Memory) rewind(s *Snapshot) bool {
	j := &m.journal
	if j.base != s || len(m.windows) != len(s.windows) {
		return false
	}
	changes := len(j.touched) + len(j.shadow) + len(m.seals.broken)
	if m.limit > s.limit {
		changes++
	}
	if changes > maxChanges {
		m.changed(everywhere)
	}
	if m.limit > s.limit {
		for _, b := range m.blocks[len(s.blocks):] {
			b.r.Freed = true
		}
		if changes <= maxChanges {
			m.changed(m.offsets(s.limit, m.limit))
		}
		m.blocks, m.limit = m.blocks[:len(s.blocks)], s.limit
	}
	for _, bi := range j.touched {
		if changes <= maxChanges {
			m.changed(m.offsets(s.blocks[bi].start, s.blocks[bi].end))
		}
		m.rewindBlock(s, bi)
	}
	for _, c := range j.shadow {
		if changes <= maxChanges {
			m.changed(m.offsets(c.lo, c.hi))
		}
		loadRange(m.shadowRange(c.lo/granule, c.hi/granule), s.shadow, c.lo/granule)
	}
	for i := range s.plain {
		p := &s.plain[i]
		if b := m.bytesAt(p.off, uint64(len(p.want))); !bytes.Equal(b, p.want) {
			copy(b, p.want)
		}
	}
	m.reseal(s, changes <= maxChanges)
	if j.reused {
		s.loadFree(m)
	} else {
		m.quarantine, m.quarBytes = m.quarantine[:len(s.quarantine)], s.quarBytes
	}
	if j.marks {
		s.loadMarks(m)
	}
	for i := range s.windows {
		s.windows[i].rewind()
	}
	m.lastBlock = -1
	j.touched, j.shadow, j.marks, j.reused = j.touched[:0], j.shadow[:0], false, false
	return true
}

// rewindBlock restores the region and the shadow of a block, and its bytes if it got another region
// meanwhile.
func (m *Memory) rewindBlock(s *Snapshot, bi int32) {
	b := &m.blocks[bi]
	if r := s.blocks[bi].r; r != b.r {
		b.r.Freed = true
		b.r = r
		loadRange(m.bytesAt(b.start, b.end-b.start), s.data, b.start)
	}
	b.touched = false
	s.loadRegion(int(bi), b.r)
	loadRange(m.shadowRange(b.start/granule, b.end/granule), s.shadow, b.start/granule)
}

// loadRange writes the saved bytes from offset off on to b.
func loadRange(b []byte, pages [][]byte, off uint64) {
	for len(b) > 0 {
		in := off % pageSize
		n := min(uint64(len(b)), pageSize-in)
		if p := pages[off/pageSize]; p == nil {
			clear(b[:n])
		} else {
			copy(b[:n], p[in:])
		}
		b, off = b[n:], off+n
	}
}

// touch records that a page of a window is written, mapped or unmapped.
func (w *Window) touch(page uint64) {
	const most = 1 << 10
	switch n := len(w.touched); {
	case w.forgot || n > 0 && w.touched[n-1] == page:
	case n >= most:
		w.touched, w.forgot = w.touched[:0], true
	default:
		w.touched = append(w.touched, page)
	}
}

// rewind restores the pages that were touched.
func (s *windowSnapshot) rewind() {
	w := s.w
	if w.forgot {
		s.restore()
	}
	for _, n := range w.touched {
		want, have := s.pages[n], w.pages[n]
		switch {
		case want == nil:
			delete(w.pages, n)
		case have == nil:
			q := *want
			w.pages[n] = &q
		case *have != *want:
			*have = *want
		}
	}
	w.touched, w.forgot = w.touched[:0], false
}
