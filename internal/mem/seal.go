package mem

import "bytes"

// With Config.TrackStores, large memory that programs may write is sealed in each snapshot: its
// shadow sends the first store into each block to the precise path, which notes the block and
// breaks its seal. So a restore looks only at the blocks that were stored to, and engines need to
// know nothing of it: they take a sealed block for read-only memory until the precise path has been
// there. What the host writes through a view is noted by [Memory.Written]. Smaller memory is
// compared as a whole, which costs less.
type seals struct {
	least  uint64   // regions of that many bytes are sealed; 0: none are
	intact []uint64 // bitmap of blocks with a seal, from arena offset 0
	broken []uint32 // blocks that had one
}

const (
	sealShift = 10 // blocks are of 1 KiB
	sealBlock = 1 << sealShift
	// SealedFrom is the size in bytes of a region that is sealed, by default.
	SealedFrom = 4 << 10
)

// sealable returns the blocks inside a region that seals are for: none unless it is large plain
// memory that programs may write everywhere.
func (s *Snapshot) sealable(r *Region) (first, end uint64) {
	m := s.m
	if m.seals.least == 0 || r.Freed || r.View != nil || r.ReadOnly || len(r.Guards) != 0 || r.extSz < m.seals.least || r.Kind != MapValue && r.Kind != Global {
		return 0, 0
	}
	lo := r.ext - m.base
	first, end = (lo+sealBlock-1)>>sealShift, (lo+r.extSz)>>sealShift
	return first, max(first, end)
}

// seal seals what is sealable in a snapshot that the memory is equal to.
func (m *Memory) seal(s *Snapshot) {
	if m.seals.least == 0 || m.arena == nil {
		return
	}
	words := int(m.limit>>sealShift)/64 + 1
	if len(m.seals.intact) < words {
		m.seals.intact = make([]uint64, words)
	}
	m.seals.broken = m.seals.broken[:0]
	for i := range s.blocks {
		first, end := s.sealable(&s.regions[i])
		if first == end {
			continue
		}
		m.changed(m.offsets(first<<sealShift, end<<sealShift))
		for b := first; b < end; b++ {
			m.sealOne(b)
		}
	}
}

// sealOne seals a block.
func (m *Memory) sealOne(b uint64) {
	m.seals.intact[b/64] |= 1 << (b % 64)
	for i, c := range m.sealShadow(b) {
		if c < byte(ClassTrap) {
			m.sealShadow(b)[i] = c | byte(ClassStoreTrap)
		}
	}
}

// sealShadow returns the shadow of a block.
func (m *Memory) sealShadow(b uint64) []byte {
	return m.shadowRange(b<<sealShift/granule, (b+1)<<sealShift/granule)
}

// unseal breaks the seals of the arena offsets from lo up to hi, before they or their shadow
// change.
func (m *Memory) unseal(lo, hi uint64) {
	if len(m.seals.intact) == 0 || lo >= hi {
		return
	}
	for b := lo >> sealShift; b <= (hi-1)>>sealShift && b/64 < uint64(len(m.seals.intact)); b++ {
		if m.seals.intact[b/64]>>(b%64)&1 == 0 {
			continue
		}
		m.seals.intact[b/64] &^= 1 << (b % 64)
		m.seals.broken = append(m.seals.broken, uint32(b))
		shadow := m.sealShadow(b)
		for i, c := range shadow {
			if c < byte(ClassTrap) {
				shadow[i] = c &^ byte(ClassStoreTrap)
			}
		}
	}
}

// sealed reports whether arena offset at is sealed.
func (m *Memory) sealed(at uint64) bool {
	b := at >> sealShift
	return b/64 < uint64(len(m.seals.intact)) && m.seals.intact[b/64]>>(b%64)&1 != 0
}

// unsealAll breaks all seals.
func (m *Memory) unsealAll() {
	for i, w := range m.seals.intact {
		if w != 0 {
			m.unseal(uint64(i)*64<<sealShift, min(uint64(i+1)*64<<sealShift, m.limit))
		}
	}
	m.seals.broken = m.seals.broken[:0]
}

// reseal restores and seals the blocks that were stored to. report tells engines of each.
func (m *Memory) reseal(s *Snapshot, report bool) {
	for _, b := range m.seals.broken {
		off := uint64(b) << sealShift
		have, want := m.bytesAt(off, sealBlock), zeroPage[:sealBlock]
		if p := s.data[off/pageSize]; p != nil {
			want = p[off%pageSize:][:sealBlock]
		}
		if !bytes.Equal(have, want) {
			copy(have, want)
		}
		if report {
			m.changed(m.offsets(off, off+sealBlock))
		}
		m.sealOne(uint64(b))
	}
	m.seals.broken = m.seals.broken[:0]
}

// TracksStores reports whether Config.TrackStores is set.
func (m *Memory) TracksStores() bool { return m.seals.least != 0 }

// Written records that the host writes [addr, addr+n) through a view, such as that of
// [Memory.Bytes].
func (m *Memory) Written(addr, n uint64) {
	if off := (addr & m.mask) - m.base; off < m.limit && n != 0 {
		n = min(n, m.limit-off)
		m.unseal(off, off+n)
		if m.marked {
			m.define(off, n)
		}
	}
}
