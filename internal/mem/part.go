package mem

import "fmt"

// Attach adds an object to the reserved extent of a live region, at addr: the struct that a kernel
// keeps after a packet's bytes. It has a view, and lasts as long as the region; the region's bounds
// must stay outside it. addr is a multiple of
// 8. A region has at most one such part, and an array has none.
func (m *Memory) Attach(r *Region, addr, size uint64, part Region) (*Region, error) {
	switch {
	case r.Freed || r.Count != 0 || r.part != nil || part.View == nil || addr%granule != 0:
		return nil, fmt.Errorf("mem: nothing can be attached to %s at %#x", r.Describe(addr), addr)
	case addr < r.Base+r.Size || size > r.extSz || addr-r.ext > r.extSz-size:
		return nil, boundsError(r, addr, addr+size)
	}
	m.touch(r.block)
	p := new(Region)
	*p = part
	p.Base, p.Size, p.Freed, p.ReadOnly = addr, size, false, false
	p.block, p.ext, p.extSz = r.block, addr, size
	r.part = p
	m.changed(span{addr, addr + size})
	m.paintPart(r)
	m.rewatch()
	return p, nil
}

// Part returns the object attached to a region, or nil.
func (r *Region) Part() *Region { return r.part }

// paintPart sets the shadow of a region's part.
func (m *Memory) paintPart(r *Region) {
	if p := r.part; p != nil {
		m.paintRange(p.Base-m.base, p.Base-m.base+p.Size, p.plainClass())
	}
}

// at returns the region or its part, whichever contains addr; the region if neither does.
func (r *Region) at(addr uint64) *Region {
	if r.part != nil && r.part.Contains(addr) {
		return r.part
	}
	return r
}
