package bpfsys

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Values of task storage may point to user memory (type tag uptr). An update pins the page of each
// pointer, and programs see it as memory of the kernel. Here it is copied: what user space stored
// before programs run, what programs stored after they ran.

// Page is a page of a caller's memory that stays reachable after the call.
type Page interface {
	// Read copies the page, of [uapi.PageSize] bytes; false means that it is gone.
	Read(p []byte) bool
	// Write stores bytes at an offset; false means that the page is gone.
	Write(off int, p []byte) bool
	// Close releases the page.
	Close()
}

// maxUserPages limits the pinned pages of all maps.
const maxUserPages = 1 << 12

// userPage is a pinned page.
type userPage struct {
	tgid uint32         // the process
	addr uint64         // in its memory
	page Page           // nil when the process has it no more; programs then see what it had last
	copy *kernel.Buffer // what programs see
	seen []byte         // contents when last copied
}

// has reports whether a pointer of programs is into the page.
func (u *userPage) has(ptr uint64) bool { return ptr-u.copy.Addr() < uapi.PageSize }

// userPtr is a pointer to user memory in the values of a map: its offset, and the size of what it
// points to, in bytes.
type userPtr struct{ off, size uint32 }

// userPtrs returns the pointers to user memory in a map's values.
func (s *System) userPtrs(m *Map) []userPtr {
	if m.def.Type != uapi.MapTypeTaskStorage {
		return nil
	}
	var out []userPtr
	for _, f := range s.special(m) {
		if f.Kind != maps.Uptr {
			continue
		}
		if n, err := m.m.Spec().BTF.Sizeof(f.Type); err == nil {
			out = append(out, userPtr{f.Off, uint32(n)})
		}
	}
	return out
}

// updateStorage stores an element of local storage. Pointers to user memory in its value become
// those that programs use (bpf_map_update_value, bpf_obj_swap_uptrs).
func (s *System) updateStorage(c Caller, m *Map, t maps.LocalStorage, key, value []byte, flags uint64) Result {
	ptrs := s.userPtrs(m)
	if len(ptrs) == 0 {
		return fail(t.Update(maps.AllCPUs, key, value, flags))
	}
	if _, runs := c.(*process); !runs { // else a program may still use them
		s.unpin()
	}
	pinned := make([]uint64, len(ptrs))
	for i, p := range ptrs {
		var r Result
		if pinned[i], r = s.pin(c, le.Uint64(value[p.off:]), p.size); r.Errno != 0 {
			return r
		}
	}
	if flags&uapi.Lock != 0 { // bpf_pid_task_storage_update_elem
		return fail(uapi.EOPNOTSUPP)
	}
	if e := t.Update(maps.AllCPUs, key, value, flags); e != 0 {
		return fail(e)
	}
	at, _ := t.Get(le.Uint64(key), nil, false)
	for i, p := range ptrs {
		if f := s.machine.Kernel().Mem().StoreField(at+uint64(p.off), 8, pinned[i]); f != nil {
			return Result{Errno: uapi.EFAULT, Note: fmt.Sprintf("map %s: %v", m.name, f)}
		}
	}
	return Result{}
}

// pin pins the page of a pointer to user memory, and returns the address at which programs see what
// it points to, which has size bytes (bpf_obj_pin_uptrs).
func (s *System) pin(c Caller, ptr uint64, size uint32) (uint64, Result) {
	end := ptr + uint64(size) - 1
	addr := ptr &^ (uapi.PageSize - 1)
	switch {
	case ptr == 0:
		return 0, Result{}
	case end < ptr:
		return 0, fail(uapi.EFAULT)
	case addr != end&^(uapi.PageSize-1):
		return 0, fail(uapi.EOPNOTSUPP)
	}
	tgid, _, _ := c.Thread()
	for _, u := range s.userPages {
		if u.tgid == tgid && u.addr == addr && u.pull() {
			return u.copy.Addr() + ptr - addr, Result{}
		}
	}
	if len(s.userPages) >= maxUserPages {
		return 0, Result{Errno: uapi.ENOMEM, Note: fmt.Sprintf("pointers to more than %d pages of user memory in maps are not served", maxUserPages)}
	}
	page, ok := c.Pin(addr)
	if !ok {
		return 0, fail(uapi.EFAULT)
	}
	u := &userPage{tgid: tgid, addr: addr, page: page, seen: make([]byte, uapi.PageSize)}
	var err error
	if u.copy, err = s.machine.Kernel().NewBuffer("page of user memory", u.seen); err != nil {
		page.Close()
		return 0, Result{Errno: uapi.ENOMEM, Note: err.Error()}
	}
	if !u.pull() {
		u.copy.Free()
		return 0, fail(uapi.EFAULT)
	}
	s.userPages = append(s.userPages, u)
	return u.copy.Addr() + ptr - addr, Result{}
}

// pullPages and pushPages copy all pinned pages, before and after programs.
func (s *System) pullPages() {
	s.unpin()
	for _, u := range s.userPages {
		u.pull()
	}
}

func (s *System) pushPages() {
	for _, u := range s.userPages {
		u.push()
	}
}

// unpin releases the pages that no element points to any more.
func (s *System) unpin() {
	if len(s.userPages) == 0 {
		return
	}
	memory := s.machine.Kernel().Mem()
	used := map[*userPage]bool{}
	for o := range s.byID[KindMap].All() {
		m := o.(*Map)
		ptrs := s.userPtrs(m)
		if len(ptrs) == 0 {
			continue
		}
		t := m.m.(maps.LocalStorage)
		for _, owner := range t.Owners() {
			at, _ := t.Get(owner, nil, false)
			for _, p := range ptrs {
				ptr, _ := memory.Load(at+uint64(p.off), 8)
				if i := slices.IndexFunc(s.userPages, func(u *userPage) bool { return u.has(ptr) }); i >= 0 {
					used[s.userPages[i]] = true
				}
			}
		}
	}
	s.userPages = slices.DeleteFunc(s.userPages, func(u *userPage) bool {
		if used[u] {
			return false
		}
		u.gone()
		u.copy.Free()
		return true
	})
}

// gone says that the process has the page no more.
func (u *userPage) gone() {
	if u.page != nil {
		u.page.Close()
		u.page = nil
	}
}

// pull copies what user space stored, and reports whether the process still has the page.
func (u *userPage) pull() bool {
	if u.page == nil {
		return false
	}
	now := make([]byte, uapi.PageSize)
	if !u.page.Read(now) {
		u.gone()
		return false
	}
	b := u.copy.Bytes()
	for at := range differences(now, u.seen) {
		copy(b[at:at+8], now[at:at+8])
	}
	u.seen = now
	return true
}

// push copies what programs stored. It writes only the words that changed, so that concurrent
// stores by user space survive.
func (u *userPage) push() {
	b := u.copy.Bytes()
	for at := range differences(b, u.seen) {
		if u.page == nil {
			return
		}
		copy(u.seen[at:at+8], b[at:at+8])
		if !u.page.Write(at, b[at:at+8]) {
			u.gone()
		}
	}
}

// differences returns the offsets of the words in which two pages differ.
func differences(a, b []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		if bytes.Equal(a, b) {
			return
		}
		for at := 0; at < len(a); at += 8 {
			if !bytes.Equal(a[at:at+8], b[at:at+8]) && !yield(at) {
				return
			}
		}
	}
}
