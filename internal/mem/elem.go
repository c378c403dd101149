package mem

// FreeElem marks element i of a live array region as freed: accesses fault as use after
// free until ReviveElem. The bytes stay as they are.
func (m *Memory) FreeElem(r *Region, i uint64) {
	if r.Freed || i >= r.Count || m.arena == nil {
		return
	}
	lo := r.Base - m.base + i*r.Stride
	m.touchShadow(lo, lo+r.ElemSize)
	hi := (lo + r.ElemSize + granule - 1) &^ (granule - 1)
	m.changed(m.offsets(lo&^(granule-1), hi))
	m.dropMarks(lo, hi)
	m.fill(lo&^(granule-1), hi, ClassFreed)
}

// ReviveElem makes element i of a live array region accessible again.
func (m *Memory) ReviveElem(r *Region, i uint64) {
	if r.Freed || i >= r.Count || m.arena == nil {
		return
	}
	lo := r.Base - m.base + i*r.Stride
	m.touchShadow(lo, lo+r.ElemSize)
	m.dropMarks(lo, lo+r.ElemSize)
	m.paintRange(lo, lo+r.ElemSize, r.plainClass())
	m.paintGuards(r, lo)
	m.rewatch()
}

// NoteWrite reports a write through a host view to the watches that cover it.
func (m *Memory) NoteWrite(addr, size uint64) {
	m.Written(addr, size)
	if len(m.watches) != 0 {
		m.hit(addr, size, true)
	}
}
