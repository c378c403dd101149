package mem

// Guard is a range of bytes in a region, or in each element of an array, that the guest may read
// but not store to: a lock, a timer, a kptr in a map value. The simulation itself stores there with
// [Memory.StoreField].
type Guard struct {
	Off, Size uint64
	// What completes a fault's message: "the bpf_spin_lock lock".
	What string
}

// paintGuards sends stores to the precise path if they touch a granule with a guard of the element
// at arena offset lo.
func (m *Memory) paintGuards(r *Region, lo uint64) {
	for i := range r.Guards {
		g := &r.Guards[i]
		for at := (lo + g.Off) / granule; at <= (lo+g.Off+g.Size-1)/granule; at++ {
			c, head := m.class(at), lo+g.Off == at*granule && g.Size == granule/2
			switch {
			case c >= ClassTrap:
			case head && (c == ClassPlain || c == ClassHeadGuarded):
				m.setClass(at, ClassHeadGuarded)
			default:
				m.setClass(at, c.storeTrap())
			}
		}
	}
}

// storeTrap returns the class with which every store is on the precise path.
func (c Class) storeTrap() Class { return c&^(ClassHeadGuarded&^ClassStoreTrap) | ClassStoreTrap }

// guarded checks a store of size bytes at addr to a granule with a store trap.
func (m *Memory) guarded(addr, size uint64) *Fault {
	r := m.blocks[m.blockAt(addr-m.base)].r
	if r.ReadOnly || len(r.Guards) == 0 {
		return m.fault(ReadOnly, addr, size, true)
	}
	if m.trusted {
		return nil
	}
	lo, _ := r.bounds(addr)
	for i := range r.Guards {
		if g := &r.Guards[i]; addr < lo+g.Off+g.Size && addr+size > lo+g.Off {
			f := m.fault(NotPermitted, addr, size, true)
			f.Detail = "programs may not write to " + g.What + ", only helpers may"
			return f
		}
	}
	return nil
}

// StoreField is Store for the simulation itself, which ignores guards.
func (m *Memory) StoreField(addr uint64, size int, v uint64) *Fault {
	m.trusted = true
	f := m.Store(addr, size, v)
	m.trusted = false
	return f
}
