package maps

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// array implements array and percpu_array (kernel/bpf/arraymap.c). Elements are allocated in chunks
// on first use; an element that was never used reads as zero.
type array struct {
	base
	percpu bool
	n      uint32
	copies uint64
	shift  uint     // elements per chunk is 1<<shift
	stride uint64   // bytes between values
	bases  []uint64 // the memory stays allocated, see Layout
	data   [][]byte

	at      *arrayState // which chunks there were when it last counted as unchanged
	changed bool
}

const (
	arrayFlags = uapi.MapNumaNode | uapi.MapMmapable | accessFlags | uapi.MapPreserveElems | uapi.MapInnerMap
	arrayChunk = 64 << 10
	// arrayLimit is the size in bytes of the largest array that is created here. Kernels are
	// limited only by their memory.
	arrayLimit = 1 << 36
)

func newArray(b base) (Map, error) {
	s := &b.spec
	a := &array{base: b, percpu: s.Type == uapi.MapTypePercpuArray, n: s.MaxEntries, copies: 1}
	a.self = a
	if err := b.checkArray(a.percpu); err != nil {
		return nil, err
	}
	if err := a.setFields(); err != nil {
		return nil, err
	}
	if a.percpu {
		a.copies = uint64(b.env.CPUs)
	}
	a.stride = round8(s.ValueSize) + valueGap
	total := a.stride * a.copies * uint64(a.n)
	if total > arrayLimit {
		return nil, &LimitError{Map: s.Name, Need: total, Limit: arrayLimit}
	}
	for a.stride*a.copies<<(a.shift+1) <= arrayChunk && uint64(1)<<a.shift < uint64(a.n) {
		a.shift++
	}
	chunks := (uint64(a.n) + 1<<a.shift - 1) >> a.shift
	const perChunk = 32 // in bases and data
	if err := b.reserve(chunks * perChunk); err != nil {
		return nil, err
	}
	a.bases, a.data = make([]uint64, chunks), make([][]byte, chunks)
	if chunks == 1 {
		if e := a.grow(0); e != OK {
			return nil, b.env.err
		}
	}
	return a, nil
}

// checkArray mirrors array_map_alloc_check.
func (b *base) checkArray(percpu bool) *CreateError {
	s := &b.spec
	switch {
	case s.MaxEntries == 0 || s.KeySize != 4 || s.ValueSize == 0:
		return b.refuse(uapi.EINVAL, "an array needs key_size 4, a value_size and max_entries")
	case s.Flags&^uint32(arrayFlags) != 0 || !accessOK(s.Flags):
		return b.refuseFlags(arrayFlags)
	case percpu && s.Flags&uapi.MapNumaNode != 0:
		return b.refuse(uapi.EINVAL, "a NUMA node cannot be chosen for a per-CPU map")
	case s.Type != uapi.MapTypeArray && s.Flags&(uapi.MapMmapable|uapi.MapInnerMap) != 0:
		return b.refuse(uapi.EINVAL, "BPF_F_MMAPABLE and BPF_F_INNER_MAP are for plain arrays")
	case s.Type != uapi.MapTypePerfEventArray && s.Flags&uapi.MapPreserveElems != 0:
		return b.refuse(uapi.EINVAL, "BPF_F_PRESERVE_ELEMS is for perf event arrays")
	case s.ValueSize > 1<<31-1:
		return b.refuse(uapi.E2BIG, "value_size is at most 2^31-1")
	case percpu && round8(s.ValueSize) > perCPUMax:
		return b.refuse(uapi.E2BIG, "a per-CPU value is at most 32 KiB")
	}
	return nil
}

func (a *array) grow(chunk uint32) uapi.Errno {
	n := min(uint64(1)<<a.shift, uint64(a.n)-uint64(chunk)<<a.shift)
	var r *mem.Region
	var err error
	if uint64(a.n)*a.copies == 1 {
		r, err = a.env.Mem.Alloc(uint64(a.spec.ValueSize), a.region())
	} else {
		r, err = a.env.Mem.AllocArray(n*a.copies, uint64(a.spec.ValueSize), a.stride, a.region())
	}
	if err != nil {
		return a.env.fail(err)
	}
	a.changed = true
	a.bases[chunk], a.data[chunk] = r.Base, a.env.Mem.Bytes(r)
	return OK
}

// regions returns the regions that hold values.
func (a *array) regions() []*mem.Region {
	var out []*mem.Region
	for _, at := range a.bases {
		if at != 0 {
			out = append(out, a.env.Mem.Find(at))
		}
	}
	return out
}

// index decodes a key; ok is false if it is out of range.
func (a *array) index(key []byte) (uint32, bool) {
	if len(key) < 4 {
		return 0, false
	}
	i := a.env.u32(key)
	return i, i < a.n
}

// At returns the guest address of element i, or 0 if i is out of range.
func (a *array) At(i uint32, cpu int) (uint64, uapi.Errno) {
	if i >= a.n {
		return 0, uapi.ENOENT
	}
	chunk := i >> a.shift
	if a.bases[chunk] == 0 {
		if e := a.grow(chunk); e != OK {
			return 0, e
		}
	}
	if a.copies == 1 {
		return a.bases[chunk] + uint64(i&(1<<a.shift-1))*a.stride, OK
	}
	return a.bases[chunk] + (uint64(i&(1<<a.shift-1))*a.copies+uint64(cpu))*a.stride, OK
}

// bytes returns the host view of a copy of element i, nil if its chunk was never used.
func (a *array) bytes(i uint32, cpu int) []byte {
	d := a.data[i>>a.shift]
	if d == nil {
		return nil
	}
	off := (uint64(i&(1<<a.shift-1))*a.copies + uint64(cpu)) * a.stride
	return d[off : off+uint64(a.spec.ValueSize)]
}

func (a *array) Lookup(cpu int, key []byte) (uint64, uapi.Errno) {
	i, ok := a.index(key)
	if !ok {
		return 0, uapi.ENOENT
	}
	if cpu < 0 || !a.percpu {
		cpu = 0
	} else if cpu >= a.env.CPUs {
		return 0, uapi.ENOENT
	}
	return a.At(i, cpu)
}

// LookupCPU implements bpf_map_lookup_percpu_elem.
func (a *array) LookupCPU(key []byte, cpu int) (uint64, uapi.Errno) {
	switch {
	case !a.percpu:
		return 0, uapi.EOPNOTSUPP
	case cpu < 0 || cpu >= a.env.CPUs:
		return 0, uapi.ENOENT
	}
	return a.Lookup(cpu, key)
}

// DirectValue returns the address of a byte of the only element (array_map_direct_value_addr).
func (a *array) DirectValue(off uint32) (uint64, uapi.Errno) {
	switch {
	case a.percpu || a.n != 1:
		return 0, uapi.EOPNOTSUPP
	case off >= a.spec.ValueSize:
		return 0, uapi.EINVAL
	}
	return a.bases[0] + uint64(off), OK
}

func (a *array) Update(cpu int, key, value []byte, flags uint64) uapi.Errno {
	i, inRange := a.index(key)
	mode := flags
	if !a.percpu || cpu >= 0 {
		mode &^= uapi.Lock
	}
	step := round8(a.spec.ValueSize)
	need := uint64(a.spec.ValueSize)
	if a.percpu && cpu < 0 {
		need = step * a.copies
	}
	switch {
	case mode > uapi.Exist || len(key) < 4 || uint64(len(value)) < need:
		return uapi.EINVAL
	case !inRange:
		return uapi.E2BIG
	case mode == uapi.NoExist:
		return uapi.EEXIST
	case flags&uapi.Lock != 0 && !a.hasLock():
		return uapi.EINVAL
	}
	if _, e := a.At(i, 0); e != OK {
		return e
	}
	first, last := 0, 0
	if a.percpu {
		first, last = cpu, cpu
		if cpu < 0 {
			first, last = 0, a.env.CPUs-1
		} else if cpu >= a.env.CPUs {
			return uapi.EINVAL
		}
	}
	for c := first; c <= last; c++ {
		val := a.bytes(i, c)
		addr, _ := a.At(i, c)
		a.env.Mem.Written(addr, uint64(a.spec.ValueSize))
		a.copyValue(val, value)
		a.freeFields(addr, val)
		a.env.Mem.NoteWrite(addr, uint64(a.spec.ValueSize))
		if a.percpu && c < last {
			value = value[step:]
		}
	}
	return OK
}

func (a *array) NextKey(key []byte) ([]byte, uapi.Errno) {
	return nextIndex(a.env, key, a.n)
}

// nextIndex mirrors array_map_get_next_key: a key out of range is followed by the first one.
func nextIndex(env *Env, key []byte, n uint32) ([]byte, uapi.Errno) {
	order := env.Mem.ByteOrder()
	next := uint32(0)
	if key != nil {
		if len(key) < 4 {
			return nil, uapi.EINVAL
		}
		switch i := order.Uint32(key); {
		case i >= n:
		case i == n-1:
			return nil, uapi.ENOENT
		default:
			next = i + 1
		}
	}
	out := make([]byte, 4)
	order.PutUint32(out, next)
	return out, OK
}

func (a *array) Walk(cpu int, c *Cursor) ([]byte, uint64, bool) {
	if c.next >= a.n {
		return nil, 0, false
	}
	if cpu < 0 || !a.percpu {
		cpu = 0
	}
	addr, e := a.At(c.next, cpu)
	if e != OK {
		return nil, 0, false
	}
	key := make([]byte, 4)
	a.env.Mem.ByteOrder().PutUint32(key, c.next)
	c.next++
	return key, addr, true
}

func (a *array) KeyOf(addr uint64) ([]byte, int, bool) {
	r := a.env.Mem.Find(addr)
	if r == nil || r.Owner != any(a) {
		return nil, 0, false
	}
	chunk := slices.Index(a.bases, r.Base)
	elem := (addr - r.Base) / a.stride
	if chunk < 0 {
		return nil, 0, false
	}
	key := make([]byte, 4)
	a.env.Mem.ByteOrder().PutUint32(key, uint32(chunk)<<a.shift+uint32(elem/a.copies))
	return key, int(elem % a.copies), true
}

// ElemName returns the index of the value at an address in the whole array: a region has one chunk,
// and all CPUs' values of an element.
func (a *array) ElemName(addr uint64) string {
	key, _, ok := a.KeyOf(addr)
	if !ok {
		return ""
	}
	return fmt.Sprint(a.env.u32(key))
}

func (a *array) Entries() []Entry {
	var out []Entry
	for chunk, d := range a.data {
		if d == nil || allZero(d) {
			continue
		}
		end := min(uint64(a.n), uint64(chunk+1)<<a.shift)
		for i := uint64(chunk) << a.shift; i < end; i++ {
			var e Entry
			zero := true
			for c := range int(a.copies) {
				v := a.userCopy(a.bytes(uint32(i), c))
				zero = zero && allZero(v)
				if a.percpu {
					e.PerCPU = append(e.PerCPU, v)
				} else {
					e.Value = v
				}
			}
			if zero {
				continue
			}
			e.Key = make([]byte, 4)
			a.env.Mem.ByteOrder().PutUint32(e.Key, uint32(i))
			out = append(out, e)
		}
	}
	return out
}

type arrayState struct {
	bases []uint64
	data  [][]byte
}

func (a *array) Snapshot() any {
	if a.at == nil || a.changed {
		a.at, a.changed = &arrayState{slices.Clone(a.bases), slices.Clone(a.data)}, false
	}
	return a.at
}

func (a *array) Restore(v any) {
	s := v.(*arrayState)
	if a.at == s && !a.changed {
		return
	}
	copy(a.bases, s.bases)
	copy(a.data, s.data)
	a.at, a.changed = s, false
}
