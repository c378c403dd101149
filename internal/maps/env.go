package maps

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/ordered"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Spec describes a map to create, in terms of union bpf_attr of BPF_MAP_CREATE.
type Spec struct {
	Name       string
	Type       uapi.MapType
	KeySize    uint32 // bytes
	ValueSize  uint32 // bytes
	MaxEntries uint32 // elements; bytes for ring buffers; pages for arenas
	Flags      uint32 // uapi.MapNoPrealloc, ...
	Extra      uint64 // map_extra: hash functions of a bloom filter, address of an arena
	NumaNode   int32  // used only with uapi.MapNumaNode

	// BTF and the type ids of key and value are optional. They determine the value's special
	// fields.
	BTF                *btf.Spec
	KeyType, ValueType btf.ID
	// Offsets are the offsets in bytes of a data section's variables by name, because they are all
	// zero in an object file's BTF.
	Offsets map[string]uint32

	// Inner is the template of the maps an array or hash of maps may hold.
	Inner *Spec

	// Data marks a data section of an object (.data, .bss, .rodata) for messages.
	Data bool
}

// ConsumeMode selects when the simulated user space reads ring and perf buffers.
type ConsumeMode uint8

const (
	// ConsumeEachRun reads everything at the end of every run. It is the default.
	ConsumeEachRun ConsumeMode = iota
	// ConsumeAtOnce reads every record as soon as it is complete: the buffer never fills.
	ConsumeAtOnce
	// ConsumeNever reads nothing: records pile up until the buffer is full.
	ConsumeNever
)

// AllCPUs as a CPU number denotes an operation of user space: values of per-CPU maps then contain
// the copies of all CPUs, each rounded up to 8 bytes.
const AllCPUs = -1

// OK is the Errno of a successful operation.
const OK uapi.Errno = 0

// Env is shared by the maps of one machine. Set Mem and CPUs before the first [New]; the other
// fields are optional. The zero value is not usable.
type Env struct {
	Mem           *mem.Memory
	CPUs          int    // possible CPUs, at least 1
	Seed          uint64 // for values that the kernel draws at random (seed of a bloom filter's hash)
	KernelVersion uint32 // KERNEL_VERSION of the target, 0 = newest
	Consume       ConsumeMode
	// Host accounts for what maps keep outside simulated memory: elements of queues and stacks,
	// records not yet taken, and the slots of large arrays; nil means a separate account.
	Host *mem.Host
	// OnLimit is called if there is no room in Host for a record or element: the operation failed
	// in a way that it cannot fail in the kernel.
	OnLimit func(error)
	// Now is the time at which records are sent; nil means that they have none.
	Now func() uint64
	// PerfBytes is the size of each CPU's perf buffer in bytes; 0 = unlimited.
	PerfBytes uint64
	// PageSize of the target in bytes; 0 = 4096.
	PageSize uint32
	// KernelBTF provides the layout of struct bpf_map, so that programs can read a map's attributes
	// through its pointer. Without it such reads fault.
	KernelBTF *btf.Spec
	// FreeField is called when an element is deleted or overwritten, for each special field in it
	// that owns something (timers, kptrs, lists, ...), before the field is zeroed. addr is the
	// guest address of the field.
	FreeField func(m Map, s Special, addr uint64)
	// ValidDev reports whether a network device exists; nil accepts every index above 0.
	ValidDev func(ifindex uint32) bool

	maps   ordered.List[Map]
	enders ordered.List[runEnder] // of them
	byAddr map[uint64]Map
	last   uint32 // id of the newest map
	seq    uint64
	err    error
	chunk  []byte // see copied
	chunks int    // size of the last one
	big    bool   // target's byte order, set by New
	late   bool   // see TakeLate
}

// TakeLate reports whether elements were deleted since the last call whose memory the kernel frees
// only after a grace period of RCU Tasks Trace, because sleepable programs may still use it: those
// of local storage, since Linux 5.17 (call_rcu_tasks_trace of bpf_local_storage.c).
func (e *Env) TakeLate() bool {
	was := e.late
	e.late = false
	return was
}

// host reserves room for a record or an element of n bytes outside simulated memory. Otherwise a
// program could use up all of the host's memory.
func (e *Env) host(m *base, n int) uapi.Errno {
	if err := e.reserve(m, mem.HostCost(n)); err != nil {
		if e.OnLimit != nil {
			e.OnLimit(err)
		}
		return e.fail(err)
	}
	return OK
}

// reserve reserves n bytes of host memory.
func (e *Env) reserve(m *base, n uint64) error {
	if e.Host == nil {
		e.Host = &mem.Host{}
	}
	if err := e.Host.Take(n); err != nil {
		return &LimitError{Map: m.spec.Name, Need: e.Host.Used() + n, Err: err}
	}
	return nil
}

// unhost releases the room of a record or element of n bytes.
func (e *Env) unhost(n int) { e.Host.Give(mem.HostCost(n)) }

// unhostRecords releases the room of records.
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
func (e *Env) Maps() []Map { return slices.Collect(e.maps.All()) }

// ByAddr returns the map whose handle is at a guest address, which is what a program passes as a
// map pointer.
func (e *Env) ByAddr(addr uint64) (Map, bool) {
	m, ok := e.byAddr[addr]
	return m, ok
}

// ByID returns the map with that id.
func (e *Env) ByID(id uint32) (Map, bool) {
	return e.maps.Get(id)
}

// Remove frees a map: its handle, its values, and what they own. Its id is not reused. No other map
// may contain it.
func (e *Env) Remove(m Map) {
	if found, _ := e.maps.Get(m.ID()); found != m {
		return
	}
	e.maps.Remove(m.ID())
	e.enders.Remove(m.ID())
	delete(e.byAddr, m.Addr())
	e.release(m)
	if o, ok := m.(interface{ regions() []*mem.Region }); ok {
		for _, r := range o.regions() {
			e.Mem.Free(r)
		}
	}
	e.Mem.Free(e.Mem.Find(m.Addr()))
}

// Err returns the first failure of the simulation itself, for example because simulated memory was
// exhausted during an operation. The operation then reported ENOMEM to the program although the
// kernel might have succeeded, so the run's result is unreliable.
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

// record returns a record that is sent now, with the next number of those of all maps, from 1.
func (e *Env) record(cpu int, data []byte) Record {
	at := uint64(0)
	if e.Now != nil {
		at = e.Now()
	}
	return e.recordAt(cpu, data, at)
}

// recordAt is record for one that was sent at that time.
func (e *Env) recordAt(cpu int, data []byte, at uint64) Record {
	e.seq++
	r := Record{Seq: e.seq, CPU: cpu, Data: e.copied(data)}
	if e.Now != nil {
		r.At = at
	}
	return r
}

// copied returns a copy of a record. Small ones share memory: there may be very many.
func (e *Env) copied(data []byte) []byte {
	const small, first, most = 256, 256, 8192
	n := len(data)
	if n > small || n == 0 {
		return slices.Clone(data)
	}
	if len(e.chunk) < n {
		e.chunks = min(max(2*e.chunks, first), most)
		e.chunk = make([]byte, e.chunks)
	}
	p := e.chunk[:n:n]
	e.chunk = e.chunk[n:]
	copy(p, data)
	return p
}

// hostLeft returns how many bytes can be reserved outside simulated memory.
func (e *Env) hostLeft() uint64 {
	if e.Host == nil {
		e.Host = &mem.Host{}
	}
	return e.Host.Left()
}

// has reports whether the kernel follows a rule; an unknown version counts as the newest.
func (e *Env) has(r since.Rule) bool { return since.Of(e.KernelVersion).Has(r) }

// runEnder is a map that has something to do after every run.
type runEnder interface{ endRun() }

// add adds a map to the environment.
func (e *Env) add(m Map) {
	e.maps.Add(m.ID(), m)
	if r, ok := m.(runEnder); ok {
		e.enders.Add(m.ID(), r)
	}
}

// EndRun ends a run for all maps, in the order of creation: deleted elements become inaccessible
// and user space reads buffers.
func (e *Env) EndRun() {
	for r := range e.enders.All() {
		r.endRun()
	}
}

// Snapshot is the state of all maps of an Env, except for bytes in simulated memory.
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
// memory taken at the same time.
func (e *Env) Snapshot() *Snapshot {
	s := &Snapshot{maps: e.Maps(), byAddr: maps.Clone(e.byAddr), last: e.last, seq: e.seq, err: e.err}
	if e.Host != nil {
		s.hosted = e.Host.Used()
	}
	for _, m := range s.maps {
		s.states = append(s.states, m.Snapshot())
	}
	return s
}

// Restore restores all maps to a snapshot of this Env. Restore the memory first. Maps created since
// are forgotten.
func (e *Env) Restore(s *Snapshot) {
	e.last, e.seq, e.err = s.last, s.seq, s.err
	if e.Host != nil {
		e.Host.Reset(s.hosted)
	}
	if !e.hasExactly(s.maps) {
		e.maps, e.enders, e.byAddr = ordered.List[Map]{}, ordered.List[runEnder]{}, maps.Clone(s.byAddr)
		for _, m := range s.maps {
			e.add(m)
		}
	}
	for i, m := range s.maps {
		m.Restore(s.states[i])
	}
}

// hasExactly reports whether the environment's maps are these, in this order.
func (e *Env) hasExactly(list []Map) bool {
	i := 0
	for m := range e.maps.All() {
		if i == len(list) || m != list[i] {
			return false
		}
		i++
	}
	return i == len(list)
}

// NotSimulated is the error for a map type that is not simulated.
type NotSimulated struct {
	Map  string
	Type uapi.MapType
}

// Error names the map and its type.
func (e *NotSimulated) Error() string {
	return fmt.Sprintf("map %s: type %s is not simulated", e.Map, e.Type)
}

// CreateError is a refusal of BPF_MAP_CREATE with the kernel's errno.
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

// Unwrap returns Errno.
func (e *CreateError) Unwrap() error { return e.Errno }

// ErrLimit means that this simulation, not the kernel, refuses a map because of its size.
var ErrLimit = errors.New("larger than the simulated memory")

// LimitError reports a map that does not fit in simulated memory, although a kernel might create
// it.
type LimitError struct {
	Map         string
	Need, Limit uint64 // bytes
	// Err is the error if something other than simulated memory is exhausted.
	Err error
}

// Error contains both sizes.
func (e *LimitError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("map %s: %v", e.Map, e.Err)
	}
	return fmt.Sprintf("map %s needs %d bytes, the limit is %d: %v", e.Map, e.Need, e.Limit, ErrLimit)
}

// Unwrap returns ErrLimit.
func (e *LimitError) Unwrap() error { return ErrLimit }
