package mem

import (
	"bytes"
	"fmt"
	"sort"
)

const (
	minRedzone      = 16
	maxRedzone      = 256
	guardZone       = 2048    // on each side of a kernel object
	quarantineBytes = 1 << 20 // freed bytes whose addresses are not yet reused
	quarantineCount = 4096
)

// block is the space of one region: redzone, extent, redzone. Blocks are sorted by address and are
// never split or merged; a freed one is reused for a later request of the same size.
type block struct {
	start, end uint64 // offsets into the arena, multiples of 16
	r          *Region
	touched    bool // see journal
}

// redzone returns the size of a redzone. It grows with the object, so that an out-of-range index
// still lands in it. Wrong pointers to kernel objects are off by the size of a struct, as from
// container_of with the wrong type, so there is a page between kernel objects while there is room.
func (m *Memory) redzone(size uint64, kind RegionKind) uint64 {
	if kind == KernelObject && m.limit < m.size/4 {
		return guardZone
	}
	return min(max(size/4, minRedzone), maxRedzone) &^ 15
}

// roundBlock rounds large sizes up to eighths of powers of two, so that freed blocks are more often
// reusable.
func roundBlock(n uint64) uint64 {
	step := uint64(16)
	for step*32 < n {
		step *= 2
	}
	return (n + step - 1) &^ (step - 1)
}

// Alloc allocates a region of size bytes, zeroed, 16-byte aligned, with redzones on both sides. r
// sets kind, name, owner, view and ReadOnly; Alloc sets its other fields. The error is a
// *LimitError, ErrClosed, or the system's refusal to commit memory.
func (m *Memory) Alloc(size uint64, r Region) (*Region, error) {
	r.Count, r.ElemSize, r.Stride = 0, 0, 0
	return m.alloc(size, r)
}

// AllocArray allocates one region of n elements of elemSize bytes each, stride bytes apart (0 =
// elemSize rounded up to 8). Each element has its own bounds: the gaps between elements are
// redzones. stride must be a multiple of 8.
func (m *Memory) AllocArray(n, elemSize, stride uint64, r Region) (*Region, error) {
	if stride == 0 {
		if elemSize > 1<<62 {
			return nil, m.limitError(r, ^uint64(0))
		}
		stride = (elemSize + granule - 1) &^ (granule - 1)
	}
	if stride%granule != 0 || stride < elemSize {
		return nil, fmt.Errorf("mem: stride %d for elements of %d bytes must be a multiple of 8 and not less", stride, elemSize)
	}
	if n == 0 || elemSize == 0 {
		return nil, fmt.Errorf("mem: array of %d elements of %d bytes", n, elemSize)
	}
	size, over := mulOverflow(n, stride)
	if over {
		return nil, m.limitError(r, size)
	}
	size -= stride - elemSize
	r.Count, r.ElemSize, r.Stride = n, elemSize, stride
	return m.alloc(size, r)
}

func (m *Memory) limitError(r Region, size uint64) error {
	r.Count = 0
	return &LimitError{What: r.Describe(0), Requested: size, Available: m.size - m.limit}
}

func (m *Memory) alloc(size uint64, r Region) (*Region, error) {
	if m.arena == nil {
		return nil, ErrClosed
	}
	if size > m.size {
		return nil, m.limitError(r, size)
	}
	rz := m.redzone(size, r.Kind)
	need := roundBlock(rz + (size+15)&^15 + rz)
	bi := int32(-1)
	if l := m.freeOf(need); l != nil && len(*l) > 0 {
		bi = (*l)[len(*l)-1]
		*l = (*l)[:len(*l)-1]
		m.journal.reused = true
		m.touch(bi)
	} else {
		var err error
		if bi, err = m.newBlock(need, size, r); err != nil {
			return nil, err
		}
	}
	return m.occupy(bi, rz, size, r), nil
}

// newBlock adds a block of need bytes after all others, for a region of size bytes.
func (m *Memory) newBlock(need, size uint64, r Region) (int32, error) {
	if need+commitStep > m.size-m.limit || len(m.blocks) >= 1<<31-1 {
		return -1, m.limitError(r, size)
	}
	if err := m.arena.grow(m.limit + need + 64); err != nil {
		return -1, err
	}
	m.blocks = append(m.blocks, block{start: m.limit, end: m.limit + need})
	m.limit += need
	return int32(len(m.blocks) - 1), nil
}

// occupy puts a region of size bytes into a block, after a redzone of rz bytes.
func (m *Memory) occupy(bi int32, rz, size uint64, r Region) *Region {
	m.lastBlock = bi // which probably is looked up next
	b := &m.blocks[bi]
	lo := b.start + rz
	if len(m.slab) == 0 {
		m.slab = make([]Region, 32)
	}
	p := &m.slab[0]
	m.slab = m.slab[1:]
	*p = r
	p.Base, p.Size, p.Freed, p.unwritten, p.resting, p.why = m.base+lo, size, false, false, false, ""
	p.block, p.ext, p.extSz, p.part = bi, p.Base, size, nil
	if old := b.r; old != nil {
		// The old region is unreachable but shares a slab with others: it must not keep its owner
		// alive.
		if old.part != nil {
			old.part.Owner, old.part.View = nil, nil
		}
		old.Owner, old.View, old.part = nil, nil, nil
	}
	b.r = p
	if b.start < m.arena.fresh { // used before
		clear(m.bytesAt(b.start, b.end-b.start))
		clear(m.shadowRange(b.start/granule, b.end/granule))
	}
	m.fill(b.start, lo, ClassRedzone)
	m.fill((lo+size+granule-1)&^(granule-1), b.end, ClassRedzone)
	m.paint(p) // skips memory that is fresh and plain
	m.arena.fresh = max(m.arena.fresh, b.end)
	m.rewatch()
	return p
}

// redzones is a row of redzone granules to copy from.
var redzones = [512]byte(bytes.Repeat([]byte{byte(ClassRedzone)}, 512))

// fill sets the class of the granules in [lo, hi), both multiples of 8.
func (m *Memory) fill(lo, hi uint64, c Class) {
	if lo >= hi {
		return
	}
	s := m.shadowRange(lo/granule, hi/granule)
	switch c {
	case ClassPlain:
		clear(s)
	case ClassRedzone: // by far the most frequent of the others
		for len(s) > 0 {
			s = s[copy(s, redzones[:]):]
		}
	default:
		for i := range s {
			s[i] = byte(c)
		}
	}
}

// plainClass returns the class of the region's full granules.
func (r *Region) plainClass() Class {
	switch {
	case r.View != nil:
		return ClassView
	case r.ReadOnly:
		return ClassStoreTrap
	}
	return ClassPlain
}

// paint sets the shadow of a region's extent from its bounds, View and ReadOnly.
func (m *Memory) paint(r *Region) {
	m.paintPart(r)
	c := r.plainClass()
	lo := r.Base - m.base
	if r.Count <= 1 || r.Stride == r.ElemSize {
		m.paintRange(lo, lo+r.Size, c)
		if len(r.Guards) != 0 {
			for i := range max(r.Count, 1) {
				m.paintGuards(r, lo+i*r.Stride)
			}
		}
		return
	}
	for i := range r.Count {
		at := lo + i*r.Stride
		m.paintRange(at, at+r.ElemSize, c)
		m.paintGuards(r, at)
		if i+1 < r.Count {
			m.fill((at+r.ElemSize+granule-1)&^(granule-1), at+r.Stride, ClassRedzone)
		}
	}
}

// paintRange sets the class of [lo, hi): c for full granules, c with the number of valid bytes for
// a last partial one, ClassMixed for a granule that starts with invalid bytes.
func (m *Memory) paintRange(lo, hi uint64, c Class) {
	if lo >= hi {
		return
	}
	if lo%granule != 0 {
		first := c
		if c < ClassTrap {
			first = ClassMixed
		}
		m.setClass(lo/granule, first)
		if lo = (lo + granule - 1) &^ (granule - 1); lo >= hi {
			return
		}
	}
	full := hi &^ (granule - 1)
	if c != ClassPlain || lo < m.arena.fresh {
		m.fill(lo, full, c)
	}
	if n := hi - full; n != 0 {
		if c < ClassTrap {
			c |= Class(n)
		}
		m.setClass(full/granule, c)
	}
}

// Free ends a region: later accesses fault as use after free, and its address is not reused until
// much else has been freed. Freeing twice, or nothing, is harmless.
func (m *Memory) Free(r *Region) {
	if r == nil || r.Freed && !r.resting || m.arena == nil {
		return
	}
	r.Freed, r.resting = true, false
	if r.part != nil {
		r.part.Freed = true
	}
	m.touch(r.block)
	b := m.blocks[r.block]
	m.changed(m.offsets(b.start, b.end))
	m.dropMarks(b.start, b.end)
	m.fill(b.start, b.end, ClassFreed)
	m.quarantine = append(m.quarantine, r.block)
	m.quarBytes += b.end - b.start
	for m.quarBytes > quarantineBytes || len(m.quarantine) > quarantineCount {
		bi := m.quarantine[0]
		m.quarantine = m.quarantine[1:]
		m.journal.reused = true
		n := m.blocks[bi].end - m.blocks[bi].start
		m.quarBytes -= n
		l := m.freeOf(n)
		if l == nil {
			l = m.newFree(n)
		}
		*l = append(*l, bi)
	}
}

// freeOf returns the free blocks of a size, nil if there never were any. Programs mostly allocate and
// free blocks of one size.
func (m *Memory) freeOf(size uint64) *[]int32 {
	if m.freeLast != nil && m.freeSize == size {
		return m.freeLast
	}
	l := m.freeBlocks[size]
	m.freeLast, m.freeSize = l, size
	return l
}

// newFree returns an empty list of free blocks of a size that had none.
func (m *Memory) newFree(size uint64) *[]int32 {
	if m.freeBlocks == nil {
		m.freeBlocks = make(map[uint64]*[]int32)
	}
	l := new([]int32)
	m.freeBlocks[size] = l
	m.freeLast, m.freeSize = l, size
	return l
}

// SetBounds moves the bounds of a live, non-array region to the guest addresses [lo, hi) within its
// extent, as packets need when headroom is used or the tail is trimmed. Bytes keep their values.
func (m *Memory) SetBounds(r *Region, lo, hi uint64) error {
	if r.Freed || r.Count != 0 || lo > hi || lo < r.ext || hi > r.ext+r.extSz || r.part != nil && hi > r.part.Base {
		return boundsError(r, lo, hi)
	}
	m.touch(r.block)
	switch end := r.Base + r.Size; {
	case lo > r.Base && hi < end:
		m.changed(span{r.Base, end})
	case lo > r.Base:
		m.changed(span{r.Base, lo})
	case hi < end:
		m.changed(span{hi, end})
	}
	if !r.unwritten && len(m.undef) == 0 && len(m.watched) == 0 && len(m.watches) == 0 {
		m.moveEdges(r, lo, hi)
		return nil
	}
	start, end := r.ext-m.base, (r.ext-m.base+r.extSz+granule-1)&^(granule-1)
	unwritten := m.Unwritten(r.Base, r.Size)
	m.dropMarks(start, end)
	m.fill(start, end, ClassRedzone)
	r.Base, r.Size = lo, hi-lo
	m.paint(r)
	for _, addr := range unwritten {
		if r.Contains(addr) {
			m.Unwrite(addr, 1)
		}
	}
	m.rewatch()
	return nil
}

func boundsError(r *Region, lo, hi uint64) error {
	return fmt.Errorf("mem: bounds [%#x, %#x) of %s do not fit its extent [%#x, %#x)", lo, hi, r.Describe(lo), r.ext, r.ext+r.extSz)
}

// moveEdges sets the bounds of a region without marks. Only granules between old and new bounds,
// and those that contain a bound, change class.
func (m *Memory) moveEdges(r *Region, lo, hi uint64) {
	oldLo, oldHi := r.Base-m.base, r.Base+r.Size-m.base
	r.Base, r.Size = lo, hi-lo
	lo, hi = lo-m.base, hi-m.base
	c := r.plainClass()
	if lo != oldLo {
		m.repaint(min(lo, oldLo)/granule, (max(lo, oldLo)+granule-1)/granule, lo, hi, c)
	}
	if hi != oldHi {
		m.repaint(min(hi, oldHi)/granule, (max(hi, oldHi)+granule-1)/granule, lo, hi, c)
	}
}

// repaint sets the class of the granules [first, last) of a region with bounds [lo, hi) whose full
// granules have class c.
func (m *Memory) repaint(first, last, lo, hi uint64, c Class) {
	if lo >= hi {
		m.fill(first*granule, last*granule, ClassRedzone)
		return
	}
	// Before the region, a partial first granule, the full ones, a partial last one, after the
	// region.
	full, end := (lo+granule-1)/granule, hi/granule
	if first < full {
		m.fill(first*granule, min(lo/granule, last)*granule, ClassRedzone)
		if g := lo / granule; g < full && g >= first && g < last {
			m.setClass(g, boundedClass(g, lo, hi, c))
		}
	}
	m.fill(max(full, first)*granule, min(end, last)*granule, c)
	if end >= first && end < last && end >= full {
		m.setClass(end, boundedClass(end, lo, hi, c))
	}
	m.fill(max(end+1, full, first)*granule, last*granule, ClassRedzone)
}

// boundedClass returns the class of granule g of a region with bounds [lo, hi) whose full granules
// have class c.
func boundedClass(g, lo, hi uint64, c Class) Class {
	start, end := g*granule, g*granule+granule
	switch {
	case lo >= hi || end <= lo || start >= hi:
		return ClassRedzone
	case start >= lo && end <= hi || c >= ClassTrap:
		return c
	case start < lo:
		return ClassMixed
	}
	return c | Class(hi-start)
}

// SetReadOnly changes whether the guest may store to a region.
func (m *Memory) SetReadOnly(r *Region, ro bool) {
	if r.Freed || r.ReadOnly == ro {
		return
	}
	m.touch(r.block)
	r.ReadOnly = ro
	m.changed(span{r.ext, r.ext + r.extSz})
	m.dropMarks(r.ext-m.base, r.ext-m.base+r.extSz)
	m.paint(r)
	m.rewatch()
}

// SetView attaches or removes the view of a live region.
func (m *Memory) SetView(r *Region, v View) {
	if r.Freed {
		return
	}
	m.touch(r.block)
	r.View = v
	m.changed(span{r.ext, r.ext + r.extSz})
	m.dropMarks(r.ext-m.base, r.ext-m.base+r.extSz)
	m.paint(r)
	m.rewatch()
}

// blockAt returns the index of the block that contains arena offset off < limit.
func (m *Memory) blockAt(off uint64) int32 {
	if l := m.lastBlock; l >= 0 && int(l) < len(m.blocks) && off >= m.blocks[l].start && off < m.blocks[l].end {
		return l
	}
	i := sort.Search(len(m.blocks), func(i int) bool { return m.blocks[i].end > off })
	m.lastBlock = int32(i)
	return int32(i)
}

// Find returns the live region or window that contains addr, or nil.
func (m *Memory) Find(addr uint64) *Region {
	addr &= m.mask
	if off := addr - m.base; off < m.limit {
		if r := m.blocks[m.blockAt(off)].r.at(addr); r.Contains(addr) && !r.Freed {
			return r
		}
		return nil
	}
	if w := m.window(addr); w != nil {
		return &w.region
	}
	return nil
}

// Nearest returns the region, live or freed, whose block contains addr, and the distance in bytes:
// negative before its start, from 0 on past its end. If inside is true, delta is the offset in the
// region. A nil region means that there is none nearby.
func (m *Memory) Nearest(addr uint64) (r *Region, delta int64, inside bool) {
	addr &= m.mask
	off := addr - m.base
	if off >= m.limit {
		if w := m.window(addr); w != nil {
			return &w.region, int64(addr - w.Base), true
		}
		n := len(m.blocks)
		if n == 0 || off-m.limit > 4096 {
			return nil, 0, false
		}
		r = m.blocks[n-1].r
		return r, int64(addr - r.Base - r.Size), false
	}
	bi := m.blockAt(off)
	r = m.blocks[bi].r.at(addr)
	lo, hi := r.bounds(addr)
	switch {
	case addr < lo:
		// In a redzone between two regions, choose the nearer one.
		if bi > 0 && addr < r.Base {
			if p := m.blocks[bi-1].r; !p.Freed && addr-(p.Base+p.Size) < lo-addr {
				return p, int64(addr - p.Base - p.Size), false
			}
		}
		return r, -int64(lo - addr), false
	case addr >= hi:
		if int(bi)+1 < len(m.blocks) && addr >= r.Base+r.Size {
			if q := m.blocks[bi+1].r; !q.Freed && q.Base-addr < addr-hi {
				return q, -int64(q.Base - addr), false
			}
		}
		return r, int64(addr - hi), false
	}
	return r, int64(addr - r.Base), true
}

// Bytes returns the host view of a region's current bounds, nil for a freed region. It is for the
// simulation itself: it bypasses shadow, watches and views. It is valid until Free of the region or
// Close of the Memory.
func (m *Memory) Bytes(r *Region) []byte {
	if r == nil || r.Freed || m.arena == nil {
		return nil
	}
	return m.bytesAt(r.Base-m.base, r.Size)
}

// ExtentBytes is like Bytes for the whole reserved extent.
func (m *Memory) ExtentBytes(r *Region) []byte {
	if r == nil || r.Freed || m.arena == nil {
		return nil
	}
	return m.bytesAt(r.ext-m.base, r.extSz)
}

// ElemBytes is like Bytes for element i of an array region; nil if there is no such element.
func (m *Memory) ElemBytes(r *Region, i uint64) []byte {
	if r == nil || r.Freed || i >= r.Count || m.arena == nil {
		return nil
	}
	return m.bytesAt(r.Base-m.base+i*r.Stride, r.ElemSize)
}

// Regions calls yield for every live region of the arena in address order until it returns false.
func (m *Memory) Regions(yield func(*Region) bool) {
	for _, b := range m.blocks {
		if b.r != nil && !b.r.Freed && !yield(b.r) {
			return
		}
	}
}
