package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// arena is BPF_MAP_TYPE_ARENA (kernel/bpf/arena.c): a window of up to 4 GiB with pages allocated by
// the program. Its pointers have two forms: user addresses, which are stored and shown, and kernel
// addresses, which are accessed. Both have the same low 32 bits.
type arena struct {
	base
	win   *mem.Window
	user  uint64 // user address of the first page
	kern  uint64 // kernel address that corresponds to a user address with low 32 bits 0
	first uint64 // kernel address of the first page
	pages uint32
	free  []pageRange // ascending
}

type pageRange struct{ start, n uint32 }

const (
	arenaFlags = uapi.MapSegvOnFault | uapi.MapMmapable | uapi.MapNoUserConv
	arenaSpan  = 4 << 30
	// Default addresses of arenas, used unless map_extra is set: what user space would have got
	// from mmap, and a part of the vmalloc area.
	arenaUser = 0x7f0010000000
	arenaKern = 0xffffc90000000000
	// Size in bytes of the gap around each arena, the range of an instruction's offset (GUARD_SZ).
	arenaGuard = 4 << 30
	// How far beyond the span an instruction's 16-bit offset reaches, in bytes.
	arenaReach = 64 << 10
)

func newArena(b base) (Map, error) {
	s := &b.spec
	page := uint64(b.env.pageSize())
	size := uint64(s.MaxEntries) * page
	switch {
	case s.KeySize != 0 || s.ValueSize != 0 || s.MaxEntries == 0:
		return nil, b.refuse(uapi.EINVAL, "an arena needs key_size 0, value_size 0 and max_entries, its pages")
	case s.Flags&uapi.MapMmapable == 0 || s.Flags&^uint32(arenaFlags) != 0:
		return nil, b.refuse(uapi.EINVAL, "an arena needs BPF_F_MMAPABLE and allows BPF_F_SEGV_ON_FAULT and BPF_F_NO_USER_CONV")
	case s.Extra%page != 0:
		return nil, b.refuse(uapi.EINVAL, "map_extra is the address of the first page")
	case size > arenaSpan:
		return nil, b.refuse(uapi.E2BIG, "an arena is at most 4 GiB")
	case s.Extra>>32 != (s.Extra+size-1)>>32:
		return nil, b.refuse(uapi.ERANGE, "an arena may not cross a 4 GiB boundary")
	}
	a := &arena{base: b, user: s.Extra, pages: s.MaxEntries, free: []pageRange{{0, s.MaxEntries}}}
	a.self = a
	id := uint64(b.id)
	if a.user == 0 {
		a.user = arenaUser + id<<32
		if size > arenaSpan-a.user%arenaSpan {
			a.user &^= arenaSpan - 1
		}
	}
	a.kern = arenaKern + id*2*(arenaSpan+arenaGuard)
	a.first = a.kern + a.user%arenaSpan
	// Any pointer within the arena's span may be dereferenced: where no page is, loads yield 0 and
	// stores have no effect.
	win, err := b.env.Mem.AddWindow(mem.Window{Base: a.kern - arenaReach, Size: arenaSpan + 2*arenaReach, Kind: mem.WindowArena, Name: s.Name})
	if err != nil {
		return nil, err
	}
	a.win = win
	return a, nil
}

func (a *arena) UserBase() uint64 { return a.user }

// SetUserBase mirrors arena_map_mmap, which sets user_vm_start.
func (a *arena) SetUserBase(addr uint64) uapi.Errno {
	size := uint64(a.pages) * uint64(a.env.pageSize())
	switch {
	case addr == 0, addr%uint64(a.env.pageSize()) != 0, addr>>32 != (addr+size-1)>>32:
		return uapi.EINVAL
	case a.spec.Extra != 0, len(a.free) != 1, a.free[0].n != a.pages:
		return uapi.EBUSY
	}
	a.user = addr
	a.first = a.kern + addr%arenaSpan
	return OK
}

func (a *arena) Pages(f func(off uint64, data []byte)) {
	page := uint64(a.env.pageSize())
	buf := make([]byte, page)
	next := uint32(0)
	for _, r := range append(slices.Clone(a.free), pageRange{a.pages, 0}) { // between free ranges
		for ; next < r.start; next++ {
			at := a.first + uint64(next)*page
			if a.win.Mapped(at) && a.win.Peek(at, buf) == nil {
				f(uint64(next)*page, buf)
			}
		}
		next = r.start + r.n
	}
}

func (a *arena) KernelBase() uint64 { return a.kern }

func (a *arena) ToKernel(addr uint64) uint64 {
	if addr = uint64(uint32(addr)); addr == 0 {
		return 0
	}
	return a.kern + addr
}

func (a *arena) ToUser(addr uint64) uint64 {
	if addr = uint64(uint32(addr)); addr == 0 {
		return 0
	}
	return a.user&^(arenaSpan-1) | addr
}

// AllocPages mirrors arena_alloc_pages: it allocates at hint, or in the smallest sufficient free
// range.
func (a *arena) AllocPages(hint uint64, count uint32) uint64 {
	if count == 0 || count > a.pages {
		return 0
	}
	page := uint64(a.env.pageSize())
	at := noSlot
	if hint != 0 {
		first := uint64(uint32(hint) - uint32(a.user))
		if hint%page != 0 || first/page > uint64(a.pages-count) {
			return 0
		}
		start := uint32(first / page)
		at = uint32(slices.IndexFunc(a.free, func(r pageRange) bool {
			return start >= r.start && start-r.start <= r.n && r.n-(start-r.start) >= count
		}))
		if at == noSlot {
			return 0
		}
		return a.take(at, start, count)
	}
	for i, r := range a.free {
		if r.n >= count && (at == noSlot || r.n < a.free[at].n) {
			at = uint32(i)
		}
	}
	if at == noSlot {
		return 0
	}
	return a.take(at, a.free[at].start, count)
}

// cut removes pages from free range i.
func (a *arena) cut(i, start, count uint32) {
	r := a.free[i]
	var rest []pageRange
	if start > r.start {
		rest = append(rest, pageRange{r.start, start - r.start})
	}
	if end := start + count; end < r.start+r.n {
		rest = append(rest, pageRange{end, r.start + r.n - end})
	}
	a.free = slices.Replace(a.free, int(i), int(i)+1, rest...)
}

// take removes pages from free range i and maps them.
func (a *arena) take(i, start, count uint32) uint64 {
	page := uint64(a.env.pageSize())
	if err := a.win.Map(a.first+uint64(start)*page, uint64(count)*page); err != nil {
		a.env.fail(err)
		return 0
	}
	a.cut(i, start, count)
	return a.user + uint64(start)*page
}

// ReservePages mirrors arena_reserve_pages.
func (a *arena) ReservePages(addr uint64, count uint32) uapi.Errno {
	page := uint64(a.env.pageSize())
	first := uint64(uint32(addr)-uint32(a.user)) / page
	switch {
	case count == 0:
		return OK
	case addr%page != 0, first > uint64(a.pages), uint64(count) > uint64(a.pages)-first:
		return uapi.EINVAL
	}
	start := uint32(first)
	i := slices.IndexFunc(a.free, func(r pageRange) bool {
		return start >= r.start && start-r.start <= r.n && r.n-(start-r.start) >= count
	})
	if i < 0 {
		return uapi.EBUSY
	}
	a.cut(uint32(i), start, count)
	return OK
}

// FreePages mirrors arena_free_pages; pages beyond the arena or not allocated are ignored.
func (a *arena) FreePages(addr uint64, count uint32) {
	page := uint64(a.env.pageSize())
	first := uint64(uint32(addr)-uint32(a.user)) / page
	if addr%page != 0 || first >= uint64(a.pages) {
		return
	}
	start, end := uint32(first), uint32(min(first+uint64(count), uint64(a.pages)))
	if start >= end {
		return
	}
	a.win.Unmap(a.first+first*page, uint64(end-start)*page)
	// Merge with the free ranges it touches.
	merged := pageRange{start, end - start}
	out := a.free[:0:0]
	for _, r := range a.free {
		if r.start+r.n < merged.start || r.start > merged.start+merged.n {
			out = append(out, r)
			continue
		}
		lo, hi := min(r.start, merged.start), max(r.start+r.n, merged.start+merged.n)
		merged = pageRange{lo, hi - lo}
	}
	out = append(out, merged)
	slices.SortFunc(out, func(x, y pageRange) int { return int(int64(x.start) - int64(y.start)) })
	a.free = out
}

// DirectValue returns the user address of a byte; its page must already be allocated.
func (a *arena) DirectValue(off uint32) (uint64, uapi.Errno) {
	if uint64(off) >= uint64(a.pages)*uint64(a.env.pageSize()) {
		return 0, uapi.ERANGE
	}
	return a.user + uint64(off), OK
}

// Poke writes to the arena as user space does through its mapping: missing pages are allocated.
func (a *arena) Poke(off uint64, data []byte) error {
	page := uint64(a.env.pageSize())
	if len(data) == 0 {
		return nil
	}
	for p := off / page; p <= (off+uint64(len(data))-1)/page; p++ {
		if !a.win.Mapped(a.first + p*page) {
			a.AllocPages(a.user+p*page, 1)
		}
	}
	if f := a.win.Poke(a.first+off, data); f != nil {
		return f
	}
	return nil
}

// Peek reads the arena as user space does; missing pages are zero.
func (a *arena) Peek(off uint64, data []byte) error {
	if f := a.win.Peek(a.first+off, data); f != nil {
		return f
	}
	return nil
}

func (a *arena) Lookup(int, []byte) (uint64, uapi.Errno)       { return 0, uapi.EINVAL }
func (a *arena) Update(int, []byte, []byte, uint64) uapi.Errno { return uapi.EOPNOTSUPP }
func (a *arena) Delete([]byte) uapi.Errno                      { return uapi.EOPNOTSUPP }
func (a *arena) NextKey([]byte) ([]byte, uapi.Errno)           { return nil, uapi.EOPNOTSUPP }
func (a *arena) Snapshot() any                                 { return slices.Clone(a.free) }
func (a *arena) Restore(v any)                                 { a.free = slices.Clone(v.([]pageRange)) }
