package maps

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
)

// Spec describes what map to create, in the terms of union bpf_attr of BPF_MAP_CREATE.
type Spec struct {
	Name       string
	Type       uapi.MapType
	KeySize    uint32 // bytes
	ValueSize  uint32 // bytes
	MaxEntries uint32 // elements; bytes for ring buffers; pages for arenas
	Flags      uint32 // uapi.MapNoPrealloc, ...
	Extra      uint64 // map_extra: hash functions of a bloom filter, address of an arena
	NumaNode   int32  // read only with uapi.MapNumaNode

	// BTF and the type ids of key and value are optional. They give the value's special fields.
	BTF                *btf.Spec
	KeyType, ValueType btf.ID
	// Offsets places the variables of a data section by name: the type information of an object file has only zeros.
	Offsets map[string]uint32

	// Inner is the template of the maps an array or hash of maps may hold.
	Inner *Spec

	// Data marks a data section of an object (.data, .bss, .rodata) for messages.
	Data bool
}

// ConsumeMode says when the simulated user space reads ring and perf buffers.
type ConsumeMode uint8

const (
	// ConsumeEachRun reads everything at the end of every run. The default.
	ConsumeEachRun ConsumeMode = iota
	// ConsumeAtOnce reads every record as soon as it is complete: the buffer never fills.
	ConsumeAtOnce
	// ConsumeNever reads nothing: records pile up until the buffer is full.
	ConsumeNever
)

// AllCPUs in place of a CPU number marks an operation of user space: values of per-CPU maps
// then hold the copies of all CPUs, each rounded up to 8 bytes.
const AllCPUs = -1

// OK is the Errno of an operation that succeeded.
const OK uapi.Errno = 0

// Env is what the maps of one machine share. Fill in Mem and CPUs before the first
// [New]; the other fields are optional. The zero value is not usable.
type Env struct {
	Mem           *mem.Memory
	CPUs          int    // possible CPUs, at least 1
	Seed          uint64 // for what the kernel draws at random (seed of a bloom filter's hash)
	KernelVersion uint32 // KERNEL_VERSION of the target, 0 = newest
	Consume       ConsumeMode
	// Host books what maps keep outside simulated memory: elements of queues and stacks, records nobody has
	// taken, and the slots of large arrays; nil is one of its own.
	Host *mem.Host
	// OnLimit is called when a record or an element finds no room at Host: the operation failed as it cannot in the kernel.
	OnLimit func(error)
	// PerfBytes is the room of each CPU's perf buffer in bytes; 0 = unlimited.
	PerfBytes uint64
	// PageSize of the target in bytes; 0 = 4096.
	PageSize uint32
	// KernelBTF gives the layout of struct bpf_map, so that a program may read a map's attributes
	// through its pointer. Without it such reads fault.
	KernelBTF *btf.Spec
	// FreeField is called when an element is deleted or overwritten for each special field in it that
	// owns something (timers, kptrs, lists, ...), before the field is zeroed. addr is the
	// guest address of the field.
	FreeField func(m Map, s Special, addr uint64)
	// ValidDev reports whether a network device exists; nil accepts every index above 0.
	ValidDev func(ifindex uint32) bool

	maps   []Map
	enders []runEnder // of them
	byAddr map[uint64]Map
	last   uint32 // id of the newest map
	seq    uint64
	err    error
	big    bool // target's byte order, set by New
}

// host makes room for a record or an element of n bytes outside simulated memory. A program that fills them would take all of
// the host's.
func (e *Env) host(m *base, n int) uapi.Errno {
	if err := e.reserve(m, mem.HostCost(n)); err != nil {
		if e.OnLimit != nil {
			e.OnLimit(err)
		}
		return e.fail(err)
	}
	return OK
}

// reserve makes room for n bytes of the host.
func (e *Env) reserve(m *base, n uint64) error {
	if e.Host == nil {
		e.Host = &mem.Host{}
	}
	if err := e.Host.Take(n); err != nil {
		return &LimitError{Map: m.spec.Name, Need: e.Host.Used() + n, Err: err}
	}
	return nil
}

// unhost gives the room of a record or an element of n bytes back.
func (e *Env) unhost(n int) { e.Host.Give(mem.HostCost(n)) }

// unhostRecords gives the room of records back.
func (e *Env) unhostRecords(records []Record) {
	for i := range records {
		e.unhost(len(records[i].Data))
	}
}

// u32 reads a word in the target's byte order.
func (e *Env) u32(p []byte) uint32 {
	v := binary.LittleEndian.Uint32(p)
	if e.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

// Maps returns all maps in the order of their creation.
func (e *Env) Maps() []Map { return slices.Clone(e.maps) }

// ByAddr returns the map whose handle is at a guest address: what a program passes as a map pointer.
func (e *Env) ByAddr(addr uint64) (Map, bool) {
	m, ok := e.byAddr[addr]
	return m, ok
}

// ByID returns the map with that id.
func (e *Env) ByID(id uint32) (Map, bool) {
	i, ok := slices.BinarySearchFunc(e.maps, id, func(m Map, id uint32) int { return cmp.Compare(m.ID(), id) })
	if !ok {
		return nil, false
	}
	return e.maps[i], true
}

// Remove frees a map: its handle, its values, and what they own. Its id is not given again. No map may hold it any more.
func (e *Env) Remove(m Map) {
	i := slices.Index(e.maps, m)
	if i < 0 {
		return
	}
	e.maps = slices.Delete(e.maps, i, i+1)
	e.enders = slices.DeleteFunc(e.enders, func(r runEnder) bool { return r.(Map) == m })
	delete(e.byAddr, m.Addr())
	e.release(m)
	var mine []*mem.Region
	e.Mem.Regions(func(r *mem.Region) bool {
		if r.Owner == any(m) {
			mine = append(mine, r)
		}
		return true
	})
	for _, r := range mine {
		e.Mem.Free(r)
	}
	e.Mem.Free(e.Mem.Find(m.Addr()))
}

// Err returns the first failure of the simulation itself, such as simulated memory that ran
// out in the middle of an operation. The operation then reported ENOMEM to the program, but
// the kernel might have succeeded: the run's result is not to be trusted.
func (e *Env) Err() error { return e.err }

func (e *Env) fail(err error) uapi.Errno {
	if e.err == nil {
		e.err = err
	}
	return uapi.ENOMEM
}

func (e *Env) pageSize() uint32 {
	if e.PageSize == 0 {
		return 4096
	}
	return e.PageSize
}

// nextSeq numbers records of all maps in the order of their completion, from 1 on.
func (e *Env) nextSeq() uint64 {
	e.seq++
	return e.seq
}

// atLeast reports whether the target is kernel a.b or newer; an unknown version is the newest.
func (e *Env) atLeast(a, b uint32) bool {
	return e.KernelVersion == 0 || e.KernelVersion>>8 >= a<<8|b
}

// runEnder is a map that has something to do after every run.
type runEnder interface{ endRun() }

// add makes a map one of the environment's.
func (e *Env) add(m Map) {
	e.maps = append(e.maps, m)
	if r, ok := m.(runEnder); ok {
		e.enders = append(e.enders, r)
	}
}

// EndRun ends a run for all maps, in the order of creation: deleted elements become inaccessible and user space reads buffers.
func (e *Env) EndRun() {
	for _, r := range e.enders {
		r.endRun()
	}
}

// Snapshot is the state of all maps of an Env, without the bytes that live in simulated memory.
type Snapshot struct {
	maps   []Map
	states []any
	byAddr map[uint64]Map
	last   uint32
	seq    uint64
	hosted uint64
	err    error
}

// Snapshot records the state of all maps. It is complete only together with a snapshot of the
// memory taken at the same moment.
func (e *Env) Snapshot() *Snapshot {
	s := &Snapshot{maps: slices.Clone(e.maps), byAddr: maps.Clone(e.byAddr), last: e.last, seq: e.seq, err: e.err}
	if e.Host != nil {
		s.hosted = e.Host.Used()
	}
	for _, m := range e.maps {
		s.states = append(s.states, m.Snapshot())
	}
	return s
}

// Restore brings all maps back to a snapshot taken from this Env. Restore the memory first. Maps
// created since are forgotten.
func (e *Env) Restore(s *Snapshot) {
	e.maps, e.enders, e.byAddr, e.last, e.seq, e.err = nil, nil, maps.Clone(s.byAddr), s.last, s.seq, s.err
	if e.Host != nil {
		e.Host.Reset(s.hosted)
	}
	for i, m := range s.maps {
		e.add(m)
		m.Restore(s.states[i])
	}
}

// NotSimulated refuses a map type by name.
type NotSimulated struct {
	Map  string
	Type uapi.MapType
}

// Error names the map and its type.
func (e *NotSimulated) Error() string {
	return fmt.Sprintf("map %s: type %s is not simulated", e.Map, e.Type)
}

// CreateError is the refusal of BPF_MAP_CREATE, with the errno the kernel gives.
type CreateError struct {
	Map    string
	Type   uapi.MapType
	Errno  uapi.Errno
	Detail string // which attribute is wrong and what would be right
}

// Error names the map, the errno and the attribute.
func (e *CreateError) Error() string {
	return fmt.Sprintf("map %s (%s): %s: %s", e.Map, e.Type, e.Errno, e.Detail)
}

// Unwrap returns the errno.
func (e *CreateError) Unwrap() error { return e.Errno }

// ErrLimit is the kind of a refusal by this simulation (not by the kernel) for size.
var ErrLimit = errors.New("larger than the simulated memory")

// LimitError refuses a map that cannot fit the simulated memory, although a kernel might create it.
type LimitError struct {
	Map         string
	Need, Limit uint64 // bytes
	// Err is the refusal when it is not simulated memory that lacks.
	Err error
}

// Error gives both sizes.
func (e *LimitError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("map %s: %v", e.Map, e.Err)
	}
	return fmt.Sprintf("map %s needs %d bytes, the limit is %d: %v", e.Map, e.Need, e.Limit, ErrLimit)
}

// Unwrap returns ErrLimit.
func (e *LimitError) Unwrap() error { return ErrLimit }
