package maps

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// bloom implements BPF_MAP_TYPE_BLOOM_FILTER (kernel/bpf/bloom_filter.c) with the kernel's own
// hash: a filter created with BPF_F_ZERO_SEED has exactly the kernel's false positives.
type bloom struct {
	base
	mask   uint32
	hashes uint32
	seed   uint32
	bits   map[uint32]uint64 // by word number; sparse
}

const bloomFlags = uapi.MapNumaNode | uapi.MapZeroSeed | accessFlags

func newBloom(b base) (Map, error) {
	s := &b.spec
	switch {
	case s.ValueSize > kmallocMax:
		return nil, b.refuse(uapi.E2BIG, "value_size is at most 4 MiB")
	case s.KeySize != 0 || s.ValueSize == 0 || s.MaxEntries == 0:
		return nil, b.refuse(uapi.EINVAL, "a bloom filter needs key_size 0, a value_size and max_entries")
	case s.Flags&^uint32(bloomFlags) != 0 || !accessOK(s.Flags):
		return nil, b.refuseFlags(bloomFlags)
	case s.Extra&^0xf != 0:
		return nil, b.refuse(uapi.EINVAL, "map_extra is the number of hash functions, at most 15")
	}
	f := &bloom{base: b, hashes: uint32(s.Extra), bits: make(map[uint32]uint64)}
	f.self = f
	if f.hashes == 0 {
		f.hashes = 5
	}
	if s.Flags&uapi.MapZeroSeed == 0 {
		f.seed = uint32(b.env.Seed>>32) ^ uint32(b.env.Seed)
	}
	// bits = entries * hashes / ln 2, with 7/5 for 1/ln 2; all 2^32 on overflow.
	f.mask = ^uint32(0)
	if n := uint64(s.MaxEntries) * uint64(f.hashes); n < 1<<32 {
		if n = n / 5 * 7; n <= 1<<31 {
			size := uint64(64) // BITS_PER_LONG
			for size < n {
				size *= 2
			}
			f.mask = uint32(size - 1)
		}
	}
	return f, nil
}

func (f *bloom) bit(value []byte, i uint32) (word uint32, bit uint64) {
	var h uint32
	if v := value[:f.spec.ValueSize]; len(v)%4 == 0 {
		var few [16]uint32
		k := few[:0]
		for ; len(v) > 0; v = v[4:] {
			k = append(k, binary.LittleEndian.Uint32(v))
		}
		h = jhash2(k, f.seed+i) & f.mask
	} else {
		h = jhash(v, f.seed+i) & f.mask
	}
	return h / 64, 1 << (h % 64)
}

// Push adds a value.
func (f *bloom) Push(value []byte, flags uint64) uapi.Errno {
	if flags != uapi.Any || len(value) < int(f.spec.ValueSize) {
		return uapi.EINVAL
	}
	for i := range f.hashes {
		w, b := f.bit(value, i)
		f.bits[w] |= b
	}
	return OK
}

// Peek reports whether value may be in the filter; it does not write to value.
func (f *bloom) Peek(value []byte) uapi.Errno {
	if len(value) < int(f.spec.ValueSize) {
		return uapi.EINVAL
	}
	for i := range f.hashes {
		if w, b := f.bit(value, i); f.bits[w]&b == 0 {
			return uapi.ENOENT
		}
	}
	return OK
}

func (f *bloom) Pop([]byte) uapi.Errno                         { return uapi.EOPNOTSUPP }
func (f *bloom) Lookup(int, []byte) (uint64, uapi.Errno)       { return 0, uapi.EINVAL }
func (f *bloom) Update(int, []byte, []byte, uint64) uapi.Errno { return uapi.EINVAL }
func (f *bloom) Delete([]byte) uapi.Errno                      { return uapi.EOPNOTSUPP }
func (f *bloom) NextKey([]byte) ([]byte, uapi.Errno)           { return nil, uapi.EOPNOTSUPP }
func (f *bloom) Snapshot() any                                 { return cloneMap(f.bits) }
func (f *bloom) Restore(v any)                                 { restoreMap(&f.bits, v.(map[uint32]uint64)) }
