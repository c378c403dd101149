package mem

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Load reads size (1, 2, 4 or 8) bytes as the guest would and returns them zero-extended.
func (m *Memory) Load(addr uint64, size int) (uint64, *Fault) {
	if off := addr - m.base; off < m.limit {
		// Both granules are committed: see Memory.limit.
		s := *(*uint8)(unsafe.Add(m.shadow, off>>3)) | *(*uint8)(unsafe.Add(m.shadow, (off+uint64(size)-1)>>3))
		if s&^uint8(LoadsIgnore) == 0 {
			return m.get(off, size), nil
		}
	}
	return m.loadSlow(addr, size)
}

// Store writes the low size (1, 2, 4 or 8) bytes of v as the guest would.
func (m *Memory) Store(addr uint64, size int, v uint64) *Fault {
	if off := addr - m.base; off < m.limit {
		// As in Load.
		s := *(*uint8)(unsafe.Add(m.shadow, off>>3)) | *(*uint8)(unsafe.Add(m.shadow, (off+uint64(size)-1)>>3))
		if s == 0 {
			m.put(off, size, v)
			return nil
		}
	}
	return m.storeSlow(addr, size, v)
}

// get reads a value at an arena offset that has been checked.
func (m *Memory) get(off uint64, size int) uint64 {
	// The whole access is valid, so it lies below limit.
	p := unsafe.Add(m.data, off)
	var v uint64
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		v = uint64(binary.LittleEndian.Uint16((*[2]byte)(p)[:]))
	case 4:
		v = uint64(binary.LittleEndian.Uint32((*[4]byte)(p)[:]))
	default:
		v = binary.LittleEndian.Uint64((*[8]byte)(p)[:])
	}
	if m.big {
		v = bits.ReverseBytes64(v) >> (64 - 8*uint(size))
	}
	return v
}

func (m *Memory) put(off uint64, size int, v uint64) {
	if m.big {
		v = bits.ReverseBytes64(v) >> (64 - 8*uint(size))
	}
	p := unsafe.Add(m.data, off) // as in get
	switch size {
	case 1:
		*(*uint8)(p) = uint8(v)
	case 2:
		binary.LittleEndian.PutUint16((*[2]byte)(p)[:], uint16(v))
	case 4:
		binary.LittleEndian.PutUint32((*[4]byte)(p)[:], uint32(v))
	default:
		binary.LittleEndian.PutUint64((*[8]byte)(p)[:], v)
	}
}

// target is what an access resolves to: arena bytes, a view, or a window.
type target struct {
	off   uint64  // arena offset, or offset into view or window
	view  *Region // accesses go to view.View
	win   *Window
	watch bool // a watch covers it
	undef bool // a store marks bytes as written
}

func (m *Memory) loadSlow(addr uint64, size int) (uint64, *Fault) {
	t, f := m.resolve(addr, uint64(size), false)
	if f != nil {
		return 0, f
	}
	var v uint64
	switch {
	case t.view != nil:
		v, f = t.view.View.Load(t.off, size)
	case t.win != nil:
		v, f = t.win.load(m, t.off, size)
	default:
		v = m.get(t.off, size)
	}
	if f != nil {
		return 0, complete(f, addr&m.mask, size, false, t)
	}
	if t.watch {
		m.hit(addr&m.mask, uint64(size), false)
	}
	return v, nil
}

func (m *Memory) storeSlow(addr uint64, size int, v uint64) *Fault {
	t, f := m.resolve(addr, uint64(size), true)
	if f != nil {
		return f
	}
	switch {
	case t.view != nil:
		f = t.view.View.Store(t.off, size, v)
	case t.win != nil:
		f = t.win.store(m, t.off, size, v)
	default:
		if t.undef {
			m.define(t.off, uint64(size))
		}
		m.put(t.off, size, v)
	}
	if f != nil {
		return complete(f, addr&m.mask, size, true, t)
	}
	if t.watch {
		m.hit(addr&m.mask, uint64(size), true)
	}
	return nil
}

// complete sets the fields of a fault that a view or a window left unset.
func complete(f *Fault, addr uint64, size int, write bool, t target) *Fault {
	if f.Kind == 0 {
		f.Kind = NotPermitted
	}
	if f.Addr == 0 {
		f.Addr = addr
	}
	if f.Size == 0 {
		f.Size = size
	}
	f.Write = write
	if f.Region == nil {
		if t.view != nil {
			f.Region = t.view
		} else if t.win != nil {
			f.Region = &t.win.region
		}
		f.Delta = int64(t.off)
	}
	return f
}

// Read copies len(p) bytes from addr, with the checks of a guest load. After a fault p may have
// been written in part.
func (m *Memory) Read(addr uint64, p []byte) *Fault {
	if len(p) == 0 {
		return nil
	}
	m.charge(uint64(len(p)))
	if b := m.Plain(addr, uint64(len(p))); b != nil {
		copy(p, b)
		return nil
	}
	t, f := m.resolve(addr, uint64(len(p)), false)
	if f != nil {
		return f
	}
	switch {
	case t.view != nil:
		f = t.view.View.Read(t.off, p)
	case t.win != nil:
		f = t.win.read(m, t.off, p)
	default:
		copy(p, m.bytesAt(t.off, uint64(len(p))))
	}
	if f != nil {
		return complete(f, addr&m.mask, len(p), false, t)
	}
	if t.watch {
		m.hit(addr&m.mask, uint64(len(p)), false)
	}
	return nil
}

// Write copies p to addr, with the checks of a guest store. It checks the whole range first.
func (m *Memory) Write(addr uint64, p []byte) *Fault {
	if len(p) == 0 {
		return nil
	}
	m.charge(uint64(len(p)))
	t, f := m.resolve(addr, uint64(len(p)), true)
	if f != nil {
		return f
	}
	switch {
	case t.view != nil:
		f = t.view.View.Write(t.off, p)
	case t.win != nil:
		f = t.win.write(m, t.off, p)
	default:
		if t.undef {
			m.define(t.off, uint64(len(p)))
		}
		copy(m.bytesAt(t.off, uint64(len(p))), p)
	}
	if f != nil {
		return complete(f, addr&m.mask, len(p), true, t)
	}
	if t.watch {
		m.hit(addr&m.mask, uint64(len(p)), true)
	}
	return nil
}

// Check checks whether the guest may access all of [addr, addr+size), without accessing it. For
// views and windows it checks only the bounds.
func (m *Memory) Check(addr, size uint64, write bool) *Fault {
	if size == 0 {
		return nil
	}
	_, f := m.resolve(addr, size, write)
	if f == nil {
		m.charge(size)
	}
	return f
}

// ReadCString reads bytes up to a NUL, at most max; the NUL is not included. terminated is false if
// none of max bytes was a NUL. Bytes before a fault are returned with it.
func (m *Memory) ReadCString(addr uint64, max int) (s []byte, terminated bool, f *Fault) {
	for len(s) < max {
		c, f := m.Load(addr+uint64(len(s)), 1)
		if f != nil {
			return s, false, f
		}
		if c == 0 {
			return s, true, nil
		}
		s = append(s, byte(c))
		m.moved += granule // reading byte by byte takes longer
	}
	return s, false, nil
}

// resolve checks an access of size > 0 bytes. All faults are decided here.
func (m *Memory) resolve(addr, size uint64, write bool) (target, *Fault) {
	addr &= m.mask
	off := addr - m.base
	if off >= m.limit {
		return m.resolveOutside(addr, size, write)
	}
	t := target{off: off}
	var unset Unset
	end := min(size, m.limit-off) + off
	for at := off; at < end; {
		next := (at | (granule - 1)) + 1
		stop := min(next, end)
		c := m.class(at / granule)
		if c == ClassPlain {
			at = next
			continue
		}
		if c == ClassWatch {
			t.watch, c = true, m.watched[at/granule]
		} else if under, ok := m.watched[at/granule]; ok && c < ClassTrap {
			t.watch, c = true, under
		}
		if c < ClassTrap {
			if n := uint64(c &^ LoadsIgnore); n != 0 && (stop-1)%granule >= n {
				return t, m.outOfBounds(addr, size, write, max(at, at&^(granule-1)+n))
			}
			if c&ClassStoreTrap != 0 && write && m.sealed(at) {
				m.unseal(at, stop)
			} else if c&ClassStoreTrap != 0 && write {
				if f := m.guarded(addr, size); f != nil {
					return t, f
				}
			}
			at = next
			continue
		}
		switch c {
		case ClassMixed:
			r := m.blocks[m.blockAt(at)].r
			if at+m.base < r.Base || stop+m.base > r.Base+r.Size {
				return t, m.outOfBounds(addr, size, write, at)
			}
			if r.ReadOnly && write {
				return t, m.fault(ReadOnly, addr, size, write)
			}
		case ClassUndefined, ClassUnwritten:
			r := m.blocks[m.blockAt(at)].r
			lo, hi := r.bounds(at + m.base)
			if stop+m.base > hi {
				return t, m.outOfBounds(addr, size, write, hi-m.base)
			}
			if at+m.base < lo {
				return t, m.outOfBounds(addr, size, write, at)
			}
			if write {
				if len(r.Guards) != 0 {
					if f := m.guarded(addr, size); f != nil {
						return t, f
					}
				}
				t.undef = true
				at = next
				continue
			}
			k, mask := m.marksOf(at/granule, c), byteMask(at, stop)
			if loud := k.unset &^ k.quiet & mask; loud != 0 {
				if m.OnUnset == nil {
					f := m.fault(NeverSet, addr, size, write)
					f.Delta = int64(at&^(granule-1)+uint64(bits.TrailingZeros8(loud))+m.base) - int64(f.Region.Base)
					return t, f
				}
				unset.Offsets = appendOffsets(unset.Offsets, r, m.base, at, loud)
			}
			if quiet := k.quiet & mask; quiet != 0 && m.OnUnwritten != nil {
				unset.Unwritten = appendOffsets(unset.Unwritten, r, m.base, at, quiet)
			}
			unset.Region = r
		case ClassView:
			return m.resolveView(t, addr, size, write)
		case ClassFreed:
			return t, m.fault(UseAfterFree, addr, size, write)
		default:
			return t, m.outOfBounds(addr, size, write, at)
		}
		at = next
	}
	if end-off < size {
		return t, m.outOfBounds(addr, size, write, end-1)
	}
	if unset.Region != nil {
		unset.Addr, unset.Size = addr, size
		m.report(unset)
	}
	return t, nil
}

func (m *Memory) resolveView(t target, addr, size uint64, write bool) (target, *Fault) {
	r := m.blocks[m.blockAt(t.off)].r.at(addr)
	rel := addr - r.Base
	if r.View == nil || rel >= r.Size || size > r.Size-rel {
		return t, m.outOfBounds(addr, size, write, t.off)
	}
	if r.ReadOnly && write {
		return t, m.fault(ReadOnly, addr, size, write)
	}
	if len(m.watched) != 0 {
		for g := t.off / granule; g <= (t.off+size-1)/granule; g++ {
			if _, ok := m.watched[g]; ok {
				t.watch = true
			}
		}
	}
	t.view, t.off = r, rel
	return t, nil
}

// fault creates a fault that lies within a region.
func (m *Memory) fault(k FaultKind, addr, size uint64, write bool) *Fault {
	f := &Fault{Kind: k, Addr: addr, Size: int(size), Write: write}
	if off := addr - m.base; off < m.limit {
		f.Region = m.blocks[m.blockAt(off)].r.at(addr)
		lo, _ := f.Region.bounds(addr)
		f.Delta = int64(addr - lo)
	}
	return f
}

// outOfBounds creates the fault for an access whose first bad byte is at arena offset bad.
func (m *Memory) outOfBounds(addr, size uint64, write bool, bad uint64) *Fault {
	f := &Fault{Kind: OutOfBounds, Addr: addr, Size: int(size), Write: write}
	r, delta, inside := m.Nearest(addr)
	if inside { // starts within the region and extends past its end
		_, hi := r.bounds(addr)
		delta = int64(addr - hi) // negative; the message counts the bytes past the end
		if int64(size) > int64(hi-addr) {
			delta = 0
		}
	}
	if r != nil && r.Freed {
		f.Kind, delta = UseAfterFree, int64(addr-r.Base)
	}
	f.Region, f.Delta = r, delta
	return f
}

func byteMask(at, stop uint64) uint8 {
	n := stop - at
	return uint8((1<<n - 1) << (at % granule))
}
