package bpfsys

import (
	"bytes"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// User space maps an arena, and its pages are copied: what user space stored before programs run,
// what programs stored after they ran. Both see the same addresses.

// arenaView is what user space sees of an arena.
type arenaView struct {
	length uint64            // of every mapping, 0 before the first
	pages  map[uint64][]byte // contents when last copied, by offset
}

// arenaMost is the size of the largest arena (SZ_4G).
const arenaMost = 4 << 30

// MapArena checks an mmap(2) of an arena at an address, or with fixed only there, and allocates its
// shared memory on first use (arena_get_unmapped_area, arena_map_mmap). [System.ArenaAt] tells
// where the mapping is.
func (s *System) MapArena(m *Map, addr, off, length uint64, fixed bool) uapi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := uint64(m.def.MaxEntries) * uapi.PageSize
	switch start := m.def.Extra; {
	case off != 0, length == 0:
		return uapi.EINVAL
	case length > arenaMost, start != 0 && length > size:
		return uapi.E2BIG
	case start != 0 && (length != size || addr != start):
		return uapi.EINVAL
	case m.arena.length != 0 && (length != m.arena.length || fixed && addr != m.m.(maps.Arena).UserBase()):
		return uapi.EBUSY
	}
	if size > maxShared {
		s.note("map %s: arenas of more than 1 GiB cannot be mapped here", m.name)
		return uapi.ENOMEM
	}
	if e := s.share(m, int(size)); e != 0 {
		return e
	}
	if m.arena.pages == nil {
		m.arena.pages = map[uint64][]byte{}
	}
	m.arena.length = length
	m.views++
	s.pushArena(m)
	return 0
}

// ArenaAt sets the address of the first mapping of an arena, from which pointers in it count. Later
// calls have no effect.
func (s *System) ArenaAt(m *Map, addr uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := m.m.(maps.Arena)
	if !ok || a.UserBase() == addr {
		return
	}
	if e := a.SetUserBase(addr); e != 0 {
		s.note("map %s: programs see the arena at %#x, not where it is mapped (%#x)", m.name, a.UserBase(), addr)
	}
}

// toucher is memory that knows which of its parts were ever stored to.
type toucher interface {
	Touched(f func(off, end uint64))
}

// touched calls f for the parts of shared memory that may have contents.
func touched(m Memory, f func(off, end uint64)) {
	if t, ok := m.(toucher); ok {
		t.Touched(f)
		return
	}
	f(0, uint64(len(m.Bytes())))
}

// pullArena copies what user space stored to the arena. A page that user space touched first is
// allocated (arena_vm_fault).
func (s *System) pullArena(m *Map) {
	if m.mem == nil {
		return
	}
	a, b := m.m.(maps.Arena), m.mem.Bytes()
	touched(m.mem, func(off, end uint64) {
		for off -= off % uapi.PageSize; off < end; off += uapi.PageSize {
			cell, seen := b[off:off+uapi.PageSize], m.arena.pages[off]
			switch {
			case seen == nil:
				if seen = s.addPage(m, off); seen == nil {
					return
				}
				copy(seen, cell)
				_ = a.Poke(off, seen)
			case !bytes.Equal(cell, seen):
				for at := 0; at < len(seen); at += 8 {
					if !bytes.Equal(cell[at:at+8], seen[at:at+8]) {
						copy(seen[at:at+8], cell[at:at+8])
						_ = a.Poke(off+uint64(at), seen[at:at+8])
					}
				}
			}
		}
	})
}

// pushArena copies what programs stored to the memory that user space sees. It writes only the
// words that changed. Pages that programs freed read as zero.
func (s *System) pushArena(m *Map) {
	if m.mem == nil || m.views == 0 {
		return
	}
	a, b := m.m.(maps.Arena), m.mem.Bytes()
	live := map[uint64]bool{}
	a.Pages(func(off uint64, data []byte) {
		live[off] = true
		seen := m.arena.pages[off]
		if seen == nil {
			if seen = s.addPage(m, off); seen == nil {
				return
			}
		}
		cell := b[off : off+uapi.PageSize]
		for at := 0; at < len(seen); at += 8 {
			if !bytes.Equal(data[at:at+8], seen[at:at+8]) {
				copy(cell[at:at+8], data[at:at+8])
				copy(seen[at:at+8], data[at:at+8])
			}
		}
	})
	for off, seen := range m.arena.pages {
		if !live[off] {
			clear(b[off : off+uapi.PageSize])
			clear(seen)
		}
	}
}

// addPage makes room for a copy of a page; nil is a full memory.
func (s *System) addPage(m *Map, off uint64) []byte {
	const cost = 2 * uapi.PageSize // the copy, and the arena's own page
	if s.shared+cost > maxShared {
		s.note("map %s: no memory for more pages of the arena", m.name)
		return nil
	}
	s.shared += cost
	seen := make([]byte, uapi.PageSize)
	m.arena.pages[off] = seen
	return seen
}

// dropArena gives back the memory of an arena's copies.
func (s *System) dropArena(m *Map) {
	s.shared -= 2 * uapi.PageSize * len(m.arena.pages)
	m.arena.pages = nil
}
