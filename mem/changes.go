package mem

// Changes is how many of the last changes of the epoch are remembered.
const Changes = 8

// span is a range of guest addresses.
type span struct{ lo, hi uint64 }

// everywhere is a change that is not known better.
var everywhere = span{0, ^uint64(0)}

// changed begins a new epoch, since bytes in s may no longer be accessible.
func (m *Memory) changed(s span) {
	m.epoch++
	m.changes[m.epoch%Changes] = s
}

// offsets returns the span of the arena offsets from lo up to hi.
func (m *Memory) offsets(lo, hi uint64) span { return span{m.base + lo, m.base + hi} }

// Epoch changes whenever bytes that an inline check admitted may no longer be accessible: what an engine knows of
// the shadow holds while it stays the same.
func (m *Memory) Epoch() uint64 { return m.epoch }

// Change returns the guest addresses, from lo up to hi, of what may have become inaccessible when that epoch began: all there are, if it is
// not one of the last [Changes].
func (m *Memory) Change(epoch uint64) (lo, hi uint64) {
	s := everywhere
	if m.epoch-epoch < Changes {
		s = m.changes[epoch%Changes]
	}
	return s.lo, s.hi
}
