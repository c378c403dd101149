package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// devmap implements devmap, devmap_hash and cpumap (kernel/bpf/devmap.c, cpumap.c) as maps: stored
// values and lookups, not redirects. Programs may read values, but only user space stores them.
type devmap struct {
	base
	table
	hashed bool
}

const (
	devFlags = uapi.MapNumaNode | uapi.MapRdonly | uapi.MapWronly
	cpuFlags = uapi.MapNumaNode
	// maxCPUs is NR_CPUS of common distribution kernels for x86-64.
	maxCPUs  = 8192
	maxQueue = 16384 // of a cpumap entry, __cpu_map_entry_alloc
)

func newDevmap(b base) (Map, error) {
	s := &b.spec
	cpu := s.Type == uapi.MapTypeCpumap
	flags := uint32(devFlags)
	if cpu {
		flags = cpuFlags
	}
	switch {
	case s.MaxEntries == 0 || s.KeySize != 4 || s.ValueSize != 4 && s.ValueSize != 8:
		return nil, b.refuse(uapi.EINVAL, "needs key_size 4, value_size 4 or 8, and max_entries")
	case s.Flags&^flags != 0:
		return nil, b.refuseFlags(flags)
	case cpu && s.MaxEntries > maxCPUs:
		return nil, b.refuse(uapi.E2BIG, "max_entries is at most the number of CPUs the kernel supports")
	case s.Type == uapi.MapTypeDevmapHash && s.MaxEntries > 1<<31:
		return nil, b.refuse(uapi.EINVAL, "max_entries is at most 2^31")
	}
	if !cpu {
		// A lookup returns a pointer into the kernel's own entry.
		s.Flags |= uapi.MapRdonlyProg
	}
	d := &devmap{base: b, hashed: s.Type == uapi.MapTypeDevmapHash}
	d.self = d
	r := d.region()
	r.ReadOnly = true
	d.slab = newSlab(b.env.Mem, r, uint64(s.ValueSize), 1, uint64(s.MaxEntries))
	d.delayed = true
	d.index.keySize = 4
	return d, nil
}

func (d *devmap) slot(key []byte) uint32 {
	if len(key) < 4 {
		return noSlot
	}
	return d.find(hashKey(key[:4]), key[:4])
}

func (d *devmap) Lookup(_ int, key []byte) (uint64, uapi.Errno) {
	if s := d.slot(key); s != noSlot {
		return d.addr(s, 0), OK
	}
	return 0, uapi.ENOENT
}

// Update stores {ifindex, program} or {queue size, program}; a first word of 0 deletes.
func (d *devmap) Update(_ int, key, value []byte, flags uint64) uapi.Errno {
	if len(key) < 4 || len(value) < int(d.spec.ValueSize) {
		return uapi.EINVAL
	}
	key, value = key[:4], value[:d.spec.ValueSize]
	order := d.env.Mem.ByteOrder()
	i, first, prog := order.Uint32(key), order.Uint32(value), uint32(0)
	if len(value) == 8 {
		prog = order.Uint32(value[4:])
	}
	old := d.slot(key)
	if d.hashed && old != noSlot && flags == uapi.NoExist && first != 0 {
		return uapi.EEXIST // checked before the device is looked up
	}
	if e := d.check(i, first, prog, flags); e != OK {
		return e
	}
	if first == 0 && !d.hashed { // an empty slot
		if old != noSlot {
			d.drop(hashKey(key), old)
		}
		return OK
	}
	if old == noSlot && d.hashed && d.n >= int(d.spec.MaxEntries) {
		return uapi.E2BIG
	}
	slot, err := d.alloc()
	if err != nil {
		return d.env.fail(err)
	}
	copy(d.written(slot, 0), value)
	if old != noSlot {
		d.index.replace(hashKey(key), old, slot)
		d.live.clear(old)
		d.release(old)
	} else {
		d.insert(hashKey(key), slot, key)
	}
	d.live.set(slot)
	return OK
}

// check returns the errors of __dev_map_update_elem, __dev_map_hash_update_elem and
// cpu_map_update_elem.
func (d *devmap) check(i, first, prog uint32, flags uint64) uapi.Errno {
	switch {
	case flags > uapi.Exist:
		return uapi.EINVAL
	case !d.hashed && i >= d.spec.MaxEntries:
		return uapi.E2BIG
	case !d.hashed && flags == uapi.NoExist:
		return uapi.EEXIST
	}
	if d.spec.Type == uapi.MapTypeCpumap {
		switch {
		case first > maxQueue:
			return uapi.EOVERFLOW
		case i >= uint32(d.env.CPUs):
			return uapi.ENODEV
		}
		return OK
	}
	switch {
	case first == 0 && d.hashed: // "ifindex 0" is not a device
		return uapi.EINVAL
	case first == 0 && int32(prog) > 0:
		return uapi.EINVAL
	case first != 0 && d.env.ValidDev != nil && !d.env.ValidDev(first):
		return uapi.EINVAL
	}
	return OK
}

func (d *devmap) Delete(key []byte) uapi.Errno {
	if len(key) < 4 {
		return uapi.EINVAL
	}
	s := d.slot(key)
	switch {
	case !d.hashed && d.env.u32(key) >= d.spec.MaxEntries:
		return uapi.EINVAL
	case s == noSlot && d.hashed:
		return uapi.ENOENT
	case s != noSlot:
		d.drop(hashKey(key[:4]), s)
	}
	return OK
}

func (d *devmap) NextKey(key []byte) ([]byte, uapi.Errno) {
	if !d.hashed {
		return nextIndex(d.env, key, d.spec.MaxEntries)
	}
	if len(key) >= 4 {
		key = key[:4]
	}
	return d.nextKey(key)
}

// Entries returns the elements sorted by index or interface key.
func (d *devmap) Entries() []Entry {
	order := d.env.Mem.ByteOrder()
	out := d.entries(func(s uint32) Entry { return Entry{Value: slices.Clone(d.bytes(s, 0))} })
	slices.SortFunc(out, func(a, b Entry) int { return int(int64(order.Uint32(a.Key)) - int64(order.Uint32(b.Key))) })
	return out
}

func (d *devmap) Snapshot() any { return d.snapshotTable() }
func (d *devmap) Restore(v any) { d.restoreTable(v.(*tableState)) }
