package mem

// Watch is a watched range of guest addresses in the arena.
type Watch struct {
	ID          int
	Addr, Size  uint64
	Read, Write bool // which accesses to report
}

// Hit is an access to a watched range. It has already been performed.
type Hit struct {
	Watch Watch
	Addr  uint64
	Size  uint64
	Write bool
}

// AddWatch watches [addr, addr+size) and returns the watch's number. Accesses are reported to
// OnWatch. Only the part of the range in the used part of the arena is watched.
func (m *Memory) AddWatch(addr, size uint64, read, write bool) int {
	m.noJournal()
	m.watchID++
	m.changed(everywhere)
	m.watches = append(m.watches, Watch{ID: m.watchID, Addr: addr & m.mask, Size: size, Read: read, Write: write})
	m.rewatch()
	return m.watchID
}

// RemoveWatch ends a watch; an unknown number is ignored.
func (m *Memory) RemoveWatch(id int) {
	for i, w := range m.watches {
		if w.ID == id {
			m.watches = append(m.watches[:i:i], m.watches[i+1:]...)
			m.noJournal()
			m.unwatch()
			m.rewatch()
			return
		}
	}
}

// Watches returns the watches in the order they were added.
func (m *Memory) Watches() []Watch { return append([]Watch(nil), m.watches...) }

// Watched reports whether there are any watches.
func (m *Memory) Watched() bool { return len(m.watches) != 0 }

// unwatch restores the real classes.
func (m *Memory) unwatch() {
	for g, c := range m.watched {
		m.setClass(g, c)
	}
	clear(m.watched)
}

// rewatch marks the unmarked granules of all watches.
func (m *Memory) rewatch() {
	if m.arena == nil {
		return
	}
	for _, w := range m.watches {
		lo := w.Addr - m.base
		if lo >= m.limit || w.Size == 0 {
			continue
		}
		hi := lo + min(w.Size, m.limit-lo)
		for g := lo / granule; g <= (hi-1)/granule; g++ {
			c := m.class(g)
			under, ok := m.watched[g]
			if !ok {
				if under = c; c >= ClassTrap && c != ClassView && !c.marked() && c != ClassMixed {
					continue // faults anyway
				}
				if m.watched == nil {
					m.watched = make(map[uint64]Class)
				}
				m.watched[g] = under
			}
			switch {
			case under == ClassView: // always on the precise path
			case w.Read || under >= ClassTrap:
				m.setClass(g, ClassWatch)
			case c != ClassWatch:
				m.setClass(g, c.storeTrap())
			}
		}
	}
}

// hit reports an access to every watch it touches.
func (m *Memory) hit(addr, size uint64, write bool) {
	if m.OnWatch == nil {
		return
	}
	for _, w := range m.watches {
		if (write && !w.Write) || (!write && !w.Read) {
			continue
		}
		if addr < w.Addr+w.Size && w.Addr < addr+size {
			m.OnWatch(Hit{Watch: w, Addr: addr, Size: size, Write: write})
		}
	}
}
