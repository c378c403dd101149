package mem

import "fmt"

// Rest ends a live region as [Memory.Free] does, but keeps its space for [Memory.Wake]. Accesses
// fault as use after free, and why ("bpf_x moved") completes their message. Free releases the space
// of a resting region.
func (m *Memory) Rest(r *Region, why string) {
	if r.Freed || m.arena == nil {
		return
	}
	m.touch(r.block)
	lo, hi := (r.Base-m.base)&^(granule-1), (r.Base+r.Size-m.base+granule-1)&^(granule-1)
	m.changed(m.offsets(lo, hi))
	m.dropMarks(lo, hi)
	m.fill(lo, hi, ClassFreed) // its surroundings are already redzones
	if p := r.part; p != nil {
		m.fill(p.Base-m.base, (p.Base+p.Size-m.base+granule-1)&^(granule-1), ClassFreed)
		p.Freed, p.why = true, why
	}
	r.Freed, r.resting, r.why = true, true, why
}

// Wake makes a resting region live again with bounds [lo, hi) within its extent and with its old
// contents.
func (m *Memory) Wake(r *Region, lo, hi uint64) error {
	if !r.resting || m.arena == nil {
		return fmt.Errorf("mem: %s does not rest", r.Describe(lo))
	}
	m.touch(r.block)
	m.fill((r.Base-m.base)&^(granule-1), (r.Base+r.Size-m.base+granule-1)&^(granule-1), ClassRedzone)
	if lo > hi || lo < r.ext || hi > r.ext+r.extSz {
		return boundsError(r, lo, hi)
	}
	if r.part != nil {
		r.part.Freed, r.part.why = false, ""
	}
	r.Freed, r.resting, r.why = false, false, ""
	r.Base, r.Size = lo, hi-lo
	m.paint(r)
	m.rewatch()
	return nil
}
