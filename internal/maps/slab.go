package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/mem"
)

const (
	chunkBytes = 32 << 10 // of values in one region, roughly
	chunkSlots = 64
	valueGap   = 16   // bytes of redzone between values
	limboSize  = 4096 // freed slots of a map whose reuse is delayed
	noSlot     = ^uint32(0)
)

// slab allocates slots in simulated memory, each for a value or for one copy per CPU. Chunks of
// slots are allocated on demand and never freed.
type slab struct {
	mem    *mem.Memory
	region mem.Region // template
	size   uint64     // bytes of a value
	stride uint64
	copies uint64 // values per slot
	shift  uint   // slots per chunk is 1<<shift
	// delayed means that a freed slot is reused only after limboSize others or after the end of the
	// run.
	delayed bool

	chunks []chunk
	bases  []uint64 // of the chunks
	used   uint32   // slots ever used; the next fresh one
	free   []uint32 // last freed first
	limbo  []uint32 // freed, oldest first; only when delayed
	dirty  []uint32 // freed in this run and still accessible
	state  []slotState
	// changed is set by everything that changes the slots.
	changed bool
}

type chunk struct {
	data []byte // host view of the region
	r    *mem.Region
}

type slotState uint8

const (
	slotLive     slotState = 1 << iota
	slotPoisoned           // memory is marked freed
	slotDirty              // in slab.dirty
)

func newSlab(m *mem.Memory, r mem.Region, size, copies uint64, maxSlots uint64) slab {
	s := slab{mem: m, region: r, size: size, stride: (size+7)&^7 + valueGap, copies: copies}
	for s.shift < 6 && s.stride*copies<<(s.shift+1) <= chunkBytes && uint64(1)<<s.shift < maxSlots {
		s.shift++
	}
	return s
}

// alloc returns a slot. A fresh slot is zero; a reused one has its old contents.
func (s *slab) alloc() (uint32, error) {
	s.changed = true
	if len(s.limbo) > limboSize {
		s.free = append(s.free, s.limbo[0])
		s.limbo = s.limbo[1:]
	}
	var slot uint32
	if n := len(s.free); n > 0 {
		slot = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		if uint64(s.used)>>s.shift >= uint64(len(s.chunks)) {
			if err := s.addChunk(); err != nil {
				return 0, err
			}
		}
		slot = s.used
		s.used++
	}
	if s.state[slot]&slotPoisoned != 0 {
		c, i := s.at(slot)
		for k := range s.copies {
			s.mem.ReviveElem(c.r, i+k)
		}
	}
	s.state[slot] = s.state[slot]&slotDirty | slotLive
	return slot, nil
}

// nextSlot returns the slot that alloc would return; false if there is no memory for it yet.
func (s *slab) nextSlot() (slot uint32, ok bool) {
	n := len(s.free)
	switch {
	case len(s.limbo) > limboSize:
		return s.limbo[0], true
	case n > 0:
		return s.free[n-1], true
	}
	return s.used, uint64(s.used)>>s.shift < uint64(len(s.chunks))
}

func (s *slab) addChunk() error {
	n := uint64(1) << s.shift
	r, err := s.mem.AllocArray(n*s.copies, s.size, s.stride, s.region)
	if err != nil {
		return err
	}
	for i := range n * s.copies {
		s.mem.FreeElem(r, i)
	}
	s.chunks = append(s.chunks, chunk{data: s.mem.Bytes(r), r: r})
	s.bases = append(s.bases, r.Base)
	for range n {
		s.state = append(s.state, slotPoisoned)
	}
	return nil
}

// release frees a live slot. Its memory stays accessible until endRun.
func (s *slab) release(slot uint32) {
	s.changed = true
	st := s.state[slot] &^ slotLive
	if st&slotDirty == 0 {
		st |= slotDirty
		s.dirty = append(s.dirty, slot)
	}
	s.state[slot] = st
	if s.delayed {
		s.limbo = append(s.limbo, slot)
	} else {
		s.free = append(s.free, slot)
	}
}

// retire makes a slot that is neither live nor free (a spare) inaccessible at the end of the run.
func (s *slab) retire(slot uint32) {
	s.changed = true
	if s.state[slot] &^= slotLive; s.state[slot]&slotDirty == 0 {
		s.state[slot] |= slotDirty
		s.dirty = append(s.dirty, slot)
	}
}

// revive takes a retired slot back into use.
func (s *slab) revive(slot uint32) {
	s.changed = true
	if s.state[slot]&slotPoisoned != 0 {
		c, i := s.at(slot)
		for k := range s.copies {
			s.mem.ReviveElem(c.r, i+k)
		}
	}
	s.state[slot] = s.state[slot]&slotDirty | slotLive
}

// endRun makes every slot freed during the run inaccessible.
func (s *slab) endRun() {
	if len(s.dirty)+len(s.limbo) == 0 {
		return
	}
	s.changed = true
	for _, slot := range s.dirty {
		s.state[slot] &^= slotDirty
		if s.state[slot]&(slotLive|slotPoisoned) != 0 {
			continue
		}
		c, i := s.at(slot)
		for k := range s.copies {
			s.mem.FreeElem(c.r, i+k)
		}
		s.state[slot] |= slotPoisoned
	}
	s.dirty = s.dirty[:0]
	if len(s.limbo) > 0 {
		// Reversed, so that the oldest is reused first.
		slices.Reverse(s.limbo)
		s.free = append(s.free, s.limbo...)
		s.limbo = nil
	}
}

// at returns the chunk of a slot and the index of its first element there.
func (s *slab) at(slot uint32) (*chunk, uint64) {
	return &s.chunks[slot>>s.shift], uint64(slot&(1<<s.shift-1)) * s.copies
}

// addr returns the guest address of a slot's value for one copy.
func (s *slab) addr(slot uint32, copy int) uint64 {
	return s.bases[slot>>s.shift] + (uint64(slot&(1<<s.shift-1))*s.copies+uint64(copy))*s.stride
}

// bytes returns the host view of a slot's value for one copy.
func (s *slab) bytes(slot uint32, copy int) []byte {
	c, i := s.at(slot)
	off := (i + uint64(copy)) * s.stride
	return c.data[off : off+s.size : off+s.size]
}

// written is bytes for a caller that changes them.
func (s *slab) written(slot uint32, copy int) []byte {
	s.mem.Written(s.addr(slot, copy), s.size)
	return s.bytes(slot, copy)
}

// slotOf returns the slot and the copy that contain a guest address.
func (s *slab) slotOf(addr uint64) (slot uint32, copy int, ok bool) {
	for ci := range s.chunks {
		i, _, ok := s.chunks[ci].r.Elem(addr)
		if ok {
			return uint32(ci)<<s.shift + uint32(i/s.copies), int(i % s.copies), true
		}
	}
	return 0, 0, false
}

// note tells watches that the simulation itself wrote a value.
func (s *slab) note(slot uint32, copy int) {
	s.mem.NoteWrite(s.addr(slot, copy), s.size)
}

// regions returns the regions that hold values.
func (s *slab) regions() []*mem.Region {
	var out []*mem.Region
	for i := range s.chunks {
		out = append(out, s.chunks[i].r)
	}
	return out
}

type slabState struct {
	chunks             []chunk
	bases              []uint64
	used               uint32
	free, limbo, dirty []uint32
	state              []slotState
}

func (s *slab) snapshot() slabState {
	return slabState{slices.Clone(s.chunks), slices.Clone(s.bases), s.used, slices.Clone(s.free), slices.Clone(s.limbo), slices.Clone(s.dirty), slices.Clone(s.state)}
}

func (s *slab) restore(t *slabState) {
	s.chunks, s.bases, s.used = append(s.chunks[:0], t.chunks...), append(s.bases[:0], t.bases...), t.used
	s.free, s.limbo, s.dirty, s.state = append(s.free[:0], t.free...), append(s.limbo[:0], t.limbo...), append(s.dirty[:0], t.dirty...), append(s.state[:0], t.state...)
}
