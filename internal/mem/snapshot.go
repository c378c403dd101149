package mem

import (
	"bytes"
	"maps"
	"slices"
)

// Snapshot is the state of a Memory at one point in time. It shares unchanged pages with the
// previous snapshot, and can be restored any number of times into the Memory it was taken from.
type Snapshot struct {
	m            *Memory
	data, shadow [][]byte // by page of 4096 bytes; nil is all zero
	limit        uint64
	blocks       []block
	regions      []Region         // the values of blocks[i].r
	parts        map[int32]Region // the values of their parts
	plain        []part           // see plainParts
	freeBlocks   map[uint64][]int32
	quarantine   []int32
	quarBytes    uint64
	windows      []windowSnapshot
	undef        map[uint64]marks
	undefIn      [2]uint64
	watches      []Watch
	watched      map[uint64]Class
	watchID      int
}

type windowSnapshot struct {
	w     *Window
	pages map[uint64]*[pageSize]byte // never written; equal ones are shared with the previous snapshot
}

var zeroPage [pageSize]byte

// savePages copies the pages of b and shares equal ones with prev.
func savePages(b []byte, prev [][]byte) [][]byte {
	out := make([][]byte, 0, (len(b)+pageSize-1)/pageSize)
	for i := 0; len(b) > 0; i++ {
		n := min(len(b), pageSize)
		page := b[:n]
		b = b[n:]
		switch {
		case bytes.Equal(page, zeroPage[:n]):
			out = append(out, nil)
		case i < len(prev) && bytes.Equal(page, prev[i]):
			out = append(out, prev[i])
		default:
			out = append(out, bytes.Clone(page))
		}
	}
	return out
}

// loadPages writes saved pages to b where they differ.
func loadPages(b []byte, pages [][]byte) {
	for _, p := range pages {
		n := min(len(b), pageSize)
		want := p
		if want == nil {
			want = zeroPage[:n]
		}
		if !bytes.Equal(b[:n], want) {
			copy(b[:n], want)
		}
		b = b[n:]
	}
}

// snapshot records the pages of a window. Snapshots of other windows in prev are ignored.
func (w *Window) snapshot(prev []windowSnapshot) windowSnapshot {
	s := windowSnapshot{w: w, pages: make(map[uint64]*[pageSize]byte, len(w.pages))}
	var old map[uint64]*[pageSize]byte
	for _, p := range prev {
		if p.w == w {
			old = p.pages
		}
	}
	for n, p := range w.pages {
		if q := old[n]; q != nil && *q == *p {
			s.pages[n] = q
			continue
		}
		q := *p
		s.pages[n] = &q
	}
	return s
}

// restore unmaps pages mapped since, maps those unmapped since, and writes what differs.
func (s *windowSnapshot) restore() {
	for n := range s.w.pages {
		if s.pages[n] == nil {
			delete(s.w.pages, n)
		}
	}
	for n, want := range s.pages {
		if have := s.w.pages[n]; have == nil {
			q := *want
			s.w.pages[n] = &q
		} else if *have != *want {
			*have = *want
		}
	}
}

// Snapshot records bytes, shadow, regions, windows, watches and the allocator's state.
func (m *Memory) Snapshot() *Snapshot {
	m.unsealAll()
	m.beginJournal(&Snapshot{})
	s := &Snapshot{
		m: m, limit: m.limit,
		blocks: slices.Clone(m.blocks), regions: make([]Region, len(m.blocks)),
		freeBlocks: make(map[uint64][]int32, len(m.freeBlocks)),
		quarantine: slices.Clone(m.quarantine), quarBytes: m.quarBytes,
		undef: maps.Clone(m.undef), undefIn: m.undefIn, watches: slices.Clone(m.watches), watched: maps.Clone(m.watched), watchID: m.watchID,
	}
	var prev Snapshot
	if m.lastSnap != nil {
		prev = *m.lastSnap
	}
	if m.arena != nil {
		s.data = savePages(m.bytesAt(0, m.limit), prev.data)
		s.shadow = savePages(m.shadowRange(0, m.limit/granule), prev.shadow)
	}
	for i, b := range m.blocks {
		s.regions[i] = *b.r
		if p := b.r.part; p != nil {
			if s.parts == nil {
				s.parts = map[int32]Region{}
			}
			s.parts[int32(i)] = *p
		}
	}
	for n, l := range m.freeBlocks {
		s.freeBlocks[n] = slices.Clone(*l)
	}
	for _, w := range m.windows {
		s.windows = append(s.windows, w.snapshot(prev.windows))
	}
	if m.arena != nil {
		s.plain = s.plainParts()
	}
	m.lastSnap = s
	m.beginJournal(s)
	if m.journal.base != nil {
		m.seal(s)
	}
	return s
}

// loadRegion restores a region and its part.
func (s *Snapshot) loadRegion(i int, r *Region) {
	*r = s.regions[i]
	if r.part != nil {
		*r.part = s.parts[int32(i)]
	}
}

// loadFree restores which blocks are free or in quarantine.
func (s *Snapshot) loadFree(m *Memory) {
	m.freeBlocks, m.freeLast = make(map[uint64]*[]int32, len(s.freeBlocks)), nil
	for n, l := range s.freeBlocks {
		l = slices.Clone(l)
		m.freeBlocks[n] = &l
	}
	m.quarantine, m.quarBytes = append(m.quarantine[:0:0], s.quarantine...), s.quarBytes
}

// loadMarks restores which bytes count as unset.
func (s *Snapshot) loadMarks(m *Memory) { m.undef, m.undefIn = maps.Clone(s.undef), s.undefIn }

// Restore restores the Memory to a snapshot of it. Regions allocated since are freed; regions freed
// since are live again under the same pointers. Restoring the snapshot that was taken or restored
// last takes only as long as what changed since.
func (m *Memory) Restore(s *Snapshot) {
	if s == nil || s.m != m || m.arena == nil {
		return
	}
	if m.rewind(s) {
		return
	}
	m.unsealAll()
	for i, b := range m.blocks {
		if i >= len(s.blocks) || s.blocks[i].r != b.r {
			b.r.Freed = true
		}
	}
	m.changed(everywhere)
	// Blocks are only appended, so those of the snapshot are a prefix of the current ones.
	m.limit = s.limit
	m.blocks = append(m.blocks[:0], s.blocks...)
	for i, b := range m.blocks {
		s.loadRegion(i, b.r)
	}
	loadPages(m.bytesAt(0, m.limit), s.data)
	loadPages(m.shadowRange(0, m.limit/granule), s.shadow)
	s.loadFree(m)
	s.loadMarks(m)
	m.watches, m.watched, m.watchID = slices.Clone(s.watches), maps.Clone(s.watched), s.watchID
	m.lastBlock = -1
	m.windows = m.windows[:0]
	for _, ws := range s.windows {
		ws.restore()
		m.windows = append(m.windows, ws.w)
	}
	m.lastSnap = s
	m.beginJournal(s)
	if m.journal.base != nil {
		m.seal(s)
	}
}
