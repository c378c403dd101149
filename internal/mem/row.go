package mem

// Row is space for regions of one size that take turns: records of a ring buffer. They are at the
// same distance from each other, and each has redzones of its own. All rest at first.
type Row struct {
	Regions []*Region
	Stride  uint64 // distance between them in bytes
}

// AllocRow allocates a row of n regions of size bytes, which r describes as for [Memory.Alloc].
func (m *Memory) AllocRow(n int, size uint64, r Region) (*Row, error) {
	if m.arena == nil {
		return nil, ErrClosed
	}
	if size > m.size {
		return nil, m.limitError(r, size)
	}
	r.Count, r.ElemSize, r.Stride = 0, 0, 0
	rz := m.redzone(size, r.Kind)
	need := roundBlock(rz + (size+15)&^15 + rz)
	if uint64(n) > (m.size-m.limit)/need { // all or none
		return nil, m.limitError(r, uint64(n)*need)
	}
	w := &Row{Regions: make([]*Region, n), Stride: need}
	for i := range w.Regions {
		bi, err := m.newBlock(need, size, r)
		if err != nil {
			for _, p := range w.Regions[:i] {
				m.Free(p)
			}
			return nil, err
		}
		p := m.occupy(bi, rz, size, r)
		m.Rest(p, "")
		w.Regions[i] = p
	}
	return w, nil
}

// Contains reports whether a region belongs to the row.
func (w *Row) Contains(r *Region) bool {
	i := (r.Base - w.Regions[0].Base) / w.Stride
	return i < uint64(len(w.Regions)) && w.Regions[i] == r
}

// Renew wakes region i with all bytes zero.
func (m *Memory) Renew(w *Row, i int) (*Region, error) {
	r := w.Regions[i]
	if err := m.Wake(r, r.ext, r.ext+r.extSz); err != nil {
		return nil, err
	}
	clear(m.bytesAt(r.Base-m.base, r.Size))
	return r, nil
}

// Lends reports whether an engine may wake the row's regions and let them rest, with what that does
// to the shadow: not while a snapshot has recorded them, since changes since it are counted.
func (m *Memory) Lends(w *Row) bool {
	return m.arena != nil && (m.journal.base == nil || int(w.Regions[0].block) >= len(m.journal.base.blocks))
}

// Lent records that an engine woke the n regions from i on, one after the other, and let each rest
// but, if open, the last.
func (m *Memory) Lent(w *Row, i, n int, open bool) {
	first, last := w.Regions[i], w.Regions[i+n-1]
	if open {
		last.Freed, last.resting = false, false
		if n--; n == 0 {
			return
		}
		last = w.Regions[i+n-1]
	}
	m.changed(span{first.Base, last.Base + last.Size})
}

// RestingBytes returns the last contents of a resting region without a view, as [Memory.Bytes] does.
func (m *Memory) RestingBytes(r *Region) []byte { return m.bytesAt(r.Base-m.base, r.Size) }
