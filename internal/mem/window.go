package mem

import (
	"fmt"
	"sort"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// WindowKind determines the rules for accesses to a window.
type WindowKind uint8

const (
	// WindowKernel is kernel memory in pages: mapped pages are plain memory, accesses to others
	// fault Unmapped.
	WindowKernel WindowKind = iota
	// WindowUser is user memory: direct accesses fault UserPointer; ReadUser and WriteUser can
	// access mapped pages.
	WindowUser
	// WindowText is code: mapped pages can be loaded, stores fault ReadOnly.
	WindowText
	// WindowArena is a BPF arena: a load from an unmapped page yields 0, a store there is dropped
	// (as with the kernel's exception tables for arena accesses).
	WindowArena
	// WindowAbsent is a range in which no page is ever mapped.
	WindowAbsent
)

const pageSize = 4096

// Window is an address range outside the arena. Its pages are mapped one by one.
type Window struct {
	Base, Size uint64
	Kind       WindowKind
	Name       string
	View       View // handles all accesses if not nil; offsets are relative to Base

	region Region
	pages  map[uint64]*[pageSize]byte // by page number inside the window
	// touched are pages that changed since the last snapshot; forgot means that there were too
	// many. See journal.
	touched []uint64
	forgot  bool
}

// AddWindow adds an address range. It must not overlap the arena's reservation or another window.
func (m *Memory) AddWindow(w Window) (*Window, error) {
	if m.arena == nil {
		return nil, ErrClosed
	}
	if w.Size == 0 || w.Base+w.Size-1 < w.Base || w.Base+w.Size-1 > m.mask {
		return nil, fmt.Errorf("mem: window %s of %d bytes at %#x does not fit the address space", w.Name, w.Size, w.Base)
	}
	last := w.Base + w.Size - 1
	if w.Base <= m.base+m.size-1 && m.base <= last {
		return nil, fmt.Errorf("mem: window %s at %#x overlaps the arena", w.Name, w.Base)
	}
	i := sort.Search(len(m.windows), func(i int) bool { return m.windows[i].Base+m.windows[i].Size-1 >= w.Base })
	if i < len(m.windows) && m.windows[i].Base <= last {
		return nil, fmt.Errorf("mem: window %s at %#x overlaps window %s", w.Name, w.Base, m.windows[i].Name)
	}
	p := &w
	p.pages = make(map[uint64]*[pageSize]byte)
	kind := [...]RegionKind{KernelObject, UserMem, Text, ArenaMem, Scratch}[min(w.Kind, WindowAbsent)]
	p.region = Region{Base: w.Base, Size: w.Size, Kind: kind, Name: w.Name, View: w.View, ReadOnly: w.Kind == WindowText, Owner: p, block: -1, ext: w.Base, extSz: w.Size}
	m.windows = append(m.windows, nil)
	copy(m.windows[i+1:], m.windows[i:])
	m.windows[i] = p
	return p, nil
}

// Region returns the region that represents the window in faults.
func (w *Window) Region() *Region { return &w.region }

// Map maps the pages of [addr, addr+size); new pages are zero. It refuses ranges outside the window
// and more than 1 GiB at once.
func (w *Window) Map(addr, size uint64) error {
	rel := addr - w.Base
	if rel >= w.Size || size > w.Size-rel {
		return fmt.Errorf("mem: [%#x, +%d) is outside of window %s", addr, size, w.Name)
	}
	if size > DefaultSize {
		return &LimitError{What: "window " + w.Name, Requested: size, Available: DefaultSize}
	}
	if size == 0 {
		return nil
	}
	for p := rel / pageSize; p <= (rel+size-1)/pageSize; p++ {
		if w.pages[p] == nil {
			w.touch(p)
			w.pages[p] = new([pageSize]byte)
		}
	}
	return nil
}

// Unmap unmaps every page that [addr, addr+size) touches.
func (w *Window) Unmap(addr, size uint64) {
	rel := addr - w.Base
	if rel >= w.Size || size == 0 {
		return
	}
	size = min(size, w.Size-rel)
	first, last := rel/pageSize, (rel+size-1)/pageSize
	if last-first > uint64(len(w.pages)) {
		for p := range w.pages {
			if p >= first && p <= last {
				w.touch(p)
				delete(w.pages, p)
			}
		}
		return
	}
	for p := first; p <= last; p++ {
		w.touch(p)
		delete(w.pages, p)
	}
}

// Mapped reports whether the page of addr is mapped.
func (w *Window) Mapped(addr uint64) bool {
	return addr-w.Base < w.Size && w.pages[(addr-w.Base)/pageSize] != nil
}

// Poke writes p to mapped pages, whatever the window's kind. It is for the simulation itself.
func (w *Window) Poke(addr uint64, p []byte) *Fault { return w.copy(addr-w.Base, p, true) }

// Peek reads mapped pages, whatever the window's kind. It is for the simulation itself.
func (w *Window) Peek(addr uint64, p []byte) *Fault { return w.copy(addr-w.Base, p, false) }

// copy copies bytes between p and the pages from offset rel on; it stops at the first unmapped
// page.
func (w *Window) copy(rel uint64, p []byte, write bool) *Fault {
	if len(p) == 0 {
		return nil
	}
	if rel >= w.Size || uint64(len(p)) > w.Size-rel {
		return &Fault{Kind: Unmapped, Addr: w.Base + rel, Size: len(p), Write: write, Region: &w.region, Delta: int64(rel)}
	}
	for len(p) > 0 {
		in := rel % pageSize
		n := min(uint64(len(p)), pageSize-in)
		page := w.pages[rel/pageSize]
		switch {
		case page == nil && w.Kind == WindowArena:
			if !write {
				clear(p[:n])
			}
		case page == nil:
			return &Fault{Kind: Unmapped, Addr: w.Base + rel, Size: len(p), Write: write, Region: &w.region, Delta: int64(rel)}
		case write:
			w.touch(rel / pageSize)
			copy(page[in:], p[:n])
		default:
			copy(p[:n], page[in:])
		}
		p, rel = p[n:], rel+n
	}
	return nil
}

func (w *Window) load(m *Memory, rel uint64, size int) (uint64, *Fault) {
	if w.View != nil {
		return w.View.Load(rel, size)
	}
	var b [8]byte
	if f := w.copy(rel, b[:size], false); f != nil {
		return 0, f
	}
	return endian.Uint(m.order, b[:size]), nil
}

func (w *Window) store(m *Memory, rel uint64, size int, v uint64) *Fault {
	if w.View != nil {
		return w.View.Store(rel, size, v)
	}
	var b [8]byte
	endian.PutUint(m.order, b[:size], v)
	return w.copy(rel, b[:size], true)
}

func (w *Window) read(_ *Memory, rel uint64, p []byte) *Fault {
	if w.View != nil {
		return w.View.Read(rel, p)
	}
	return w.copy(rel, p, false)
}

func (w *Window) write(_ *Memory, rel uint64, p []byte) *Fault {
	if w.View != nil {
		return w.View.Write(rel, p)
	}
	return w.copy(rel, p, true)
}

// window returns the window that contains addr.
func (m *Memory) window(addr uint64) *Window {
	i := sort.Search(len(m.windows), func(i int) bool { return m.windows[i].Base+m.windows[i].Size-1 >= addr })
	if i < len(m.windows) && addr >= m.windows[i].Base {
		return m.windows[i]
	}
	return nil
}

// Window returns the window that contains addr, or nil.
func (m *Memory) Window(addr uint64) *Window { return m.window(addr & m.mask) }

// resolveOutside checks an access that does not start in the used part of the arena.
func (m *Memory) resolveOutside(addr, size uint64, write bool) (target, *Fault) {
	f := &Fault{Kind: Unmapped, Addr: addr, Size: int(size), Write: write}
	if w := m.window(addr); w != nil {
		rel := addr - w.Base
		f.Region, f.Delta = &w.region, int64(rel)
		switch {
		case size > w.Size-rel:
			f.Kind, f.Delta = OutOfBounds, 0
		case w.View != nil:
			return target{off: rel, win: w}, nil
		case w.Kind == WindowUser:
			f.Kind = UserPointer
		case w.Kind == WindowText && write:
			f.Kind = ReadOnly
		case w.Kind == WindowAbsent:
		default:
			return target{off: rel, win: w}, nil
		}
		return target{}, f
	}
	if addr < pageSize {
		f.Kind = NullPointer
		return target{}, f
	}
	if off := addr - m.base; off < m.size {
		if r, delta, _ := m.Nearest(addr); r != nil {
			f.Kind, f.Region, f.Delta = OutOfBounds, r, delta
		}
	} else if size > 1 && addr+size-1 < addr {
		f.Detail = "the access wraps around the address space"
	}
	return target{}, f
}

// ReadUser copies user memory as copy_from_user does: only mapped pages of user windows. Anything
// else is a fault, and p is zero from the first unreadable byte on.
func (m *Memory) ReadUser(addr uint64, p []byte) *Fault {
	if len(p) == 0 {
		return nil
	}
	m.charge(uint64(len(p)))
	addr &= m.mask
	clear(p)
	w := m.window(addr)
	if w == nil || w.Kind != WindowUser {
		return &Fault{Kind: Unmapped, Addr: addr, Size: len(p), Detail: "not a user address"}
	}
	return w.read(m, addr-w.Base, p)
}

// WriteUser copies p to user memory as copy_to_user does.
func (m *Memory) WriteUser(addr uint64, p []byte) *Fault {
	if len(p) == 0 {
		return nil
	}
	m.charge(uint64(len(p)))
	addr &= m.mask
	w := m.window(addr)
	if w == nil || w.Kind != WindowUser {
		return &Fault{Kind: Unmapped, Addr: addr, Size: len(p), Write: true, Detail: "not a user address"}
	}
	return w.write(m, addr-w.Base, p)
}

// IsUser reports whether addr lies in a user window.
func (m *Memory) IsUser(addr uint64) bool {
	w := m.window(addr & m.mask)
	return w != nil && w.Kind == WindowUser
}
