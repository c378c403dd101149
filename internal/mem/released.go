package mem

// Released describes the freed memory at addr ("ring buffer record rb was freed"), or returns "" if
// there is none. After an address has been reused it belongs to the new region only.
func (m *Memory) Released(addr uint64) string {
	r, _, ok := m.released(addr)
	switch {
	case !ok:
		return ""
	case r.why != "":
		return r.Describe(addr) + " " + r.why
	}
	return r.Describe(addr) + " was freed"
}

// ReadReleased reads the last contents of freed memory. ok is false unless all of it lies in one
// freed region or array element. Contents of regions with a view are not kept.
func (m *Memory) ReadReleased(addr uint64, p []byte) (ok bool) {
	_, hi, ok := m.released(addr)
	addr &= m.mask
	if !ok || uint64(len(p)) > hi-addr {
		return false
	}
	copy(p, m.bytesAt(addr-m.base, uint64(len(p))))
	return true
}

// LastBytes returns the last contents of the freed memory around addr from its start, or that of
// the array's element, at most n bytes; nil when nothing there was freed, or its contents are not
// kept.
func (m *Memory) LastBytes(addr uint64, n int) []byte {
	r, hi, ok := m.released(addr)
	if !ok {
		return nil
	}
	lo, _ := r.bounds(addr & m.mask)
	p := make([]byte, min(uint64(n), hi-lo))
	copy(p, m.bytesAt(lo-m.base, uint64(len(p))))
	return p
}

// released finds the freed region at addr, and the end of it or of its freed element.
func (m *Memory) released(addr uint64) (r *Region, hi uint64, ok bool) {
	addr &= m.mask
	if m.arena == nil || addr-m.base >= m.limit {
		return nil, 0, false
	}
	r, _, inside := m.Nearest(addr)
	if !inside || r.View != nil || m.class((addr-m.base)/granule) != ClassFreed {
		return nil, 0, false
	}
	_, hi = r.bounds(addr)
	return r, hi, true
}
