package mem

// Changes is the number of recent epochs whose changes are remembered.
const Changes = 8

// span is a range of guest addresses.
type span struct{ lo, hi uint64 }

// everywhere is a change of unknown extent.
var everywhere = span{0, ^uint64(0)}

// changed begins a new epoch, because bytes in s may no longer be accessible.
func (m *Memory) changed(s span) {
	m.epoch++
	m.changes[m.epoch%Changes] = s
}

// offsets returns the span of the arena offsets from lo up to hi.
func (m *Memory) offsets(lo, hi uint64) span { return span{m.base + lo, m.base + hi} }

// Epoch changes whenever bytes that an inline check allowed may no longer be accessible: what an
// engine knows of the shadow is valid as long as the epoch stays the same.
func (m *Memory) Epoch() uint64 { return m.epoch }

// Change returns the guest addresses, from lo up to hi, that may have become inaccessible when that
// epoch began: all addresses if it is not one of the last [Changes].
func (m *Memory) Change(epoch uint64) (lo, hi uint64) {
	s := everywhere
	if m.epoch-epoch < Changes {
		s = m.changes[epoch%Changes]
	}
	return s.lo, s.hi
}
