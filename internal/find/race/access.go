package race

import (
	"encoding/binary"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// accessKind is how an instruction accesses what is shared.
type accessKind uint8

const (
	plainRead   accessKind = iota // a load
	plainWrite                    // a store
	atomicRead                    // load-acquire
	atomicWrite                   // an atomic operation, store-release
	compare                       // compare and exchange
	lookup                        // a call that only looks
	change                        // a call that changes a map
	validated                     // one that does so only if the key is, or is not, there
	lock                          // a call that takes a lock
	unlock                        // one that releases it
	otherCall                     // any other call
)

// access is what an actor does next to shared bytes.
type access struct {
	kind    accessKind
	touches []order.Touch
	// table is the map that a call is about; nil for none.
	table maps.Map
	// key is the place in a map that a call is about, 0 for none.
	key uint64
	// own means that it changes the value of its CPU alone.
	own bool
	// cancels is the field of the timer whose callback it waits for; frees are the bytes of an
	// element whose timers it frees, as many as freed.
	cancels, frees, freed uint64
	// deletes means that it takes that element out of the map.
	deletes bool
	// fresh is the number, from 1, of the touch that is the memory which an element of that name gets;
	// 0 for none.
	fresh int
	name  []byte
	// array is the element that bpf_map_update_elem copies to, and from where: kernels do not copy
	// it at once.
	array, value, size uint64
}

// structural reports whether an address is that of no bytes, but stands for a place of a map:
// neither user space nor a kernel has such addresses.
func structural(addr uint64) bool { return addr>>62 == 1 }

// cellOf is the address that stands for a key of a map, or for the map as a whole without a key.
func cellOf(m maps.Map, key []byte) uint64 {
	h := uint64(m.ID())*0x9e3779b97f4a7c15 + 1
	for len(key) > 0 {
		var w [8]byte
		n := copy(w[:], key)
		h = (h ^ binary.LittleEndian.Uint64(w[:])) * 0xbf58476d1ce4e5b9
		h ^= h >> 29
		key = key[n:]
	}
	return 1<<62 | h&(1<<62-8)
}

// next finds out what the instruction at the thread's place accesses. It returns false if that is
// nothing shared.
func (s *system) next(img *vm.Image, pc int, a *access) bool {
	in := img.Insns()[pc]
	info := in.Info()
	*a = access{touches: a.touches[:0], name: a.name[:0]}
	regs := s.thread.Regs()
	if info.Form == decode.FormCall || info.Form == decode.FormCallKfunc {
		f := img.Func(pc)
		return f != nil && s.call(f, (*[5]uint64)(regs[1:6]), a)
	}
	base := in.Dst
	t := order.Touch{Size: uint64(info.Size), Atomic: info.Flags&decode.FlagAtomic != 0, Write: info.Flags&decode.FlagStore != 0}
	if info.Flags&decode.FlagLoad != 0 && !t.Write {
		base = in.Src
	}
	t.Addr = regs[base] + uint64(int64(in.Off))
	if !s.shared(t.Addr) {
		return false
	}
	switch {
	case info.Form == decode.FormCmpXchg:
		a.kind = compare
	case t.Atomic && t.Write:
		a.kind = atomicWrite
	case t.Atomic:
		a.kind = atomicRead
	case t.Write:
		a.kind = plainWrite
	default:
		a.kind = plainRead
	}
	a.touches = append(a.touches, t)
	return true
}

// shared reports whether an address is memory that programs share.
func (s *system) shared(addr uint64) bool {
	r := s.region(addr)
	if r == nil || r.ReadOnly || r.View != nil {
		return false
	}
	switch r.Kind {
	case mem.MapValue, mem.Global, mem.ArenaMem, mem.LocalObject:
		return true
	}
	return false
}

// region finds a region; the last ones are found soon.
func (s *system) region(addr uint64) *mem.Region {
	for _, r := range s.lately {
		if r != nil && !r.Freed && r.Contains(addr) {
			return r
		}
	}
	r := s.memory.Find(addr)
	s.lately[s.nth%len(s.lately)] = r
	s.nth++
	return r
}

// call finds out what a call accesses.
func (s *system) call(f *vm.Func, args *[5]uint64, a *access) bool {
	a.kind = otherCall
	if f.Kfunc {
		s.kfunc(f, args, a)
		return len(a.touches) > 0
	}
	h, ok := proto.Lookup(uapi.FuncID(f.ID))
	if !ok {
		return false
	}
	var m maps.Map
	for i, arg := range h.Common().Args {
		addr := args[i]
		t := order.Touch{Addr: addr, Write: arg.Writes()}
		switch arg.Kind {
		case proto.ConstMap:
			m, _ = s.m.MapAt(addr)
			continue
		case proto.MapKey:
			if m != nil {
				t.Size = uint64(m.Spec().KeySize)
			}
		case proto.MapValue:
			if m != nil {
				t.Size = uint64(m.Spec().ValueSize)
			}
		case proto.Mem:
			if i+1 < len(args) {
				t.Size = args[i+1]
				t.Write = arg.Flags&proto.ReadOnly == 0
			}
		case proto.FixedMem:
			t.Size = uint64(arg.Size)
		case proto.SpinLock:
			t.Size, t.Write, t.Atomic = 4, true, true
		case proto.Kptr, proto.Timer:
			t.Size, t.Write, t.Atomic = 8, true, true
		default:
			continue
		}
		if t.Size > 0 && t.Size <= 1<<16 && s.shared(addr) {
			a.touches = append(a.touches, t)
		}
	}
	switch h.ID {
	case uapi.FuncSpinLock:
		a.kind = lock
	case uapi.FuncSpinUnlock:
		a.kind = unlock
	case uapi.FuncTimerCancel:
		a.cancels = args[0]
	}
	if m != nil {
		s.operation(h.ID, m, args, a)
	}
	return len(a.touches) > 0
}

// kfunc finds out what a call of a kernel function accesses: what its arguments point to.
func (s *system) kfunc(f *vm.Func, args *[5]uint64, a *access) {
	switch {
	case strings.HasPrefix(f.Name, "bpf_res_spin_lock"):
		a.kind = lock
	case strings.HasPrefix(f.Name, "bpf_res_spin_unlock"):
		a.kind = unlock
	}
	s.worldTouch(f.Name, a)
	for _, addr := range args {
		if s.shared(addr) {
			a.touches = append(a.touches, order.Touch{Addr: addr &^ 7, Size: 8, Write: true, Atomic: true})
		}
	}
}

// operation adds what an operation on a map accesses.
func (s *system) operation(id uapi.FuncID, m maps.Map, args *[5]uint64, a *access) {
	spec := m.Spec()
	a.table = m
	key := func() []byte {
		k := make([]byte, spec.KeySize)
		if s.memory.Read(args[1], k) != nil {
			return nil
		}
		return k
	}
	at := func(addr, size uint64, write, atomic bool) {
		a.touches = append(a.touches, order.Touch{Addr: addr, Size: size, Write: write, Atomic: atomic})
	}
	keyed := isHash(spec.Type)
	switch id {
	case uapi.FuncMapLookupElem, uapi.FuncMapLookupPercpuElem:
		if keyed {
			a.kind, a.key = lookup, cellOf(m, key())
			at(a.key, 1, false, true)
		}
	case uapi.FuncMapUpdateElem:
		s.update(m, key(), args, a)
	case uapi.FuncMapDeleteElem:
		if keyed {
			a.kind, a.key = change, cellOf(m, key())
			at(a.key, 1, true, true)
			at(cellOf(m, nil), 1, true, true)
			if addr, errno := m.Lookup(s.thread.CPU, key()); errno == 0 && spec.Inner == nil {
				at(addr, uint64(spec.ValueSize), true, true)
				a.frees, a.freed, a.deletes = addr, uint64(spec.ValueSize), true
			}
		}
	case uapi.FuncMapPushElem, uapi.FuncMapPopElem:
		a.kind, a.key = change, cellOf(m, nil)
		at(a.key, 1, true, true)
	case uapi.FuncMapPeekElem:
		a.kind, a.key = lookup, cellOf(m, nil)
		at(a.key, 1, false, true)
	case uapi.FuncForEachMapElem:
		a.kind = lookup
		at(cellOf(m, nil), 1, false, true)
	case uapi.FuncSkStorageGet, uapi.FuncTaskStorageGet, uapi.FuncInodeStorageGet, uapi.FuncCgrpStorageGet:
		var k [8]byte
		binary.LittleEndian.PutUint64(k[:], args[1])
		creates := args[3]&uapi.LocalStorageGetCreate != 0
		if a.kind, a.key = lookup, cellOf(m, k[:]); creates {
			a.kind = validated
		}
		at(a.key, 1, creates, true)
	case uapi.FuncSkStorageDelete, uapi.FuncTaskStorageDelete, uapi.FuncInodeStorageDelete, uapi.FuncCgrpStorageDelete:
		var k [8]byte
		binary.LittleEndian.PutUint64(k[:], args[1])
		a.kind, a.key = change, cellOf(m, k[:])
		at(a.key, 1, true, true)
	}
}

// update adds what bpf_map_update_elem accesses.
func (s *system) update(m maps.Map, key []byte, args *[5]uint64, a *access) {
	spec := m.Spec()
	flags := args[3]
	size := uint64(spec.ValueSize)
	switch {
	case spec.Type == uapi.MapTypeArray, spec.Type == uapi.MapTypePercpuArray:
		addr, errno := m.Lookup(s.thread.CPU, key)
		if errno != 0 || flags&^uapi.Lock != 0 && flags&^uapi.Lock != uapi.Exist {
			return
		}
		a.kind = plainWrite
		locked := flags&uapi.Lock != 0
		if locked {
			a.kind = change
		} else if size > 8 {
			a.array, a.value, a.size = addr, args[2], size
		}
		a.touches = append(a.touches, order.Touch{Addr: addr, Size: size, Write: true, Atomic: locked})
	case isHash(spec.Type):
		a.kind, a.key, a.own = change, cellOf(m, key), spec.Type.PerCPU()
		if mode := flags &^ uapi.Lock; mode == uapi.NoExist || mode == uapi.Exist {
			a.kind = validated
		}
		a.touches = append(a.touches, order.Touch{Addr: a.key, Size: 1, Write: true, Atomic: true})
		addr, errno := m.Lookup(s.thread.CPU, key)
		if p, ok := m.(maps.Placer); ok {
			if fresh, ok := p.NextValue(s.thread.CPU, key); ok { // memory that may have been another key's
				a.touches = append(a.touches, order.Touch{Addr: fresh, Size: size, Write: true, Atomic: true})
				a.fresh, a.name = len(a.touches), append(a.name[:0], key...)
			}
		}
		if errno != 0 {
			a.touches = append(a.touches, order.Touch{Addr: cellOf(m, nil), Size: 1, Write: true, Atomic: true})
		} else if spec.Type.PerCPU() || flags&uapi.Lock != 0 { // in place
			a.touches = append(a.touches, order.Touch{Addr: addr, Size: size, Write: true, Atomic: flags&uapi.Lock != 0})
		} else if spec.Inner == nil { // the old one is freed
			a.frees, a.freed = addr, size
		}
	default:
		a.kind, a.key = change, cellOf(m, key)
		a.touches = append(a.touches, order.Touch{Addr: a.key, Size: 1, Write: true, Atomic: true})
	}
}

// isHash reports whether elements of maps of a type come and go, found by their keys.
func isHash(t uapi.MapType) bool {
	switch t {
	case uapi.MapTypeHash, uapi.MapTypePercpuHash, uapi.MapTypeLRUHash, uapi.MapTypeLRUPercpuHash, uapi.MapTypeLPMTrie, uapi.MapTypeHashOfMaps, uapi.MapTypeArrayOfMaps:
		return true
	}
	return false
}
