package maps

import "github.com/bpfrun/bpfrun/internal/uapi"

// Map is implemented by every map type. Keys and values are in the target's byte order. Operations
// that a type lacks return the kernel's errno.
type Map interface {
	// Spec returns the attributes of the map, including those that the kernel changes at creation
	// (flags of device maps, max_entries of some LRU maps).
	Spec() *Spec
	// ID returns the map's id; ids count from 1 in the order of creation.
	ID() uint32
	// Addr returns the guest address of the map's handle, the value of an LD_IMM64 of the map.
	Addr() uint64
	// Lookup returns the guest address of the value, as bpf_map_lookup_elem does for a program on
	// that CPU. For an array or hash of maps it is the address of the inner map's handle.
	Lookup(cpu int, key []byte) (addr uint64, err uapi.Errno)
	// Update stores a value as bpf_map_update_elem does on that CPU, or with AllCPUs as user space
	// does.
	Update(cpu int, key, value []byte, flags uint64) uapi.Errno
	// Delete removes an element.
	Delete(key []byte) uapi.Errno
	// NextKey returns the key after key, or the first one if key is nil or not in the map. After
	// the last key it returns ENOENT.
	NextKey(key []byte) ([]byte, uapi.Errno)
	// Entries returns a copy of the contents: hashes sorted by key bytes, arrays by index without
	// all-zero elements, queues and stacks in pop order. Special fields read as zero.
	Entries() []Entry
	// Snapshot and Restore save and restore all state except for bytes in simulated memory.
	Snapshot() any
	Restore(any)
}

// Entry is one element of a map.
type Entry struct {
	Key []byte
	// Value is nil for per-CPU maps and for elements that are Go values.
	Value []byte
	// PerCPU holds the value of each CPU.
	PerCPU [][]byte
	// Ref is the object that the element refers to: a Map, a program, a cgroup.
	Ref any
}

// ValueBase is implemented by maps whose value bytes have a fixed address (LD_IMM64 of a map
// value): arrays of one element, arenas.
type ValueBase interface {
	DirectValue(off uint32) (addr uint64, err uapi.Errno)
}

// PercpuLookup is implemented by maps with one copy of each value per CPU
// (bpf_map_lookup_percpu_elem).
type PercpuLookup interface {
	LookupCPU(key []byte, cpu int) (addr uint64, err uapi.Errno)
}

// Cursor is a position in a map being walked. The zero value is the start; a Cursor can be copied.
type Cursor struct {
	next uint32
}

// Walker is implemented by maps that bpf_for_each_map_elem can walk. The element just returned may
// be deleted.
type Walker interface {
	// Walk returns the next element's key, which is valid until the map changes, and the guest
	// address of its value on that CPU.
	Walk(cpu int, c *Cursor) (key []byte, addr uint64, ok bool)
}

// KeyFinder is implemented by maps that can find the element at a guest address, for messages.
type KeyFinder interface {
	KeyOf(addr uint64) (key []byte, cpu int, ok bool)
}

// Placer is implemented by maps that give a key another element when it is set.
type Placer interface {
	// NextValue returns the guest address of the value that an update of the key on that CPU would
	// write; ok is false if it writes none, or in place, or if there is no memory for it yet.
	NextValue(cpu int, key []byte) (addr uint64, ok bool)
}

// LookupDeleter is implemented by maps with BPF_MAP_LOOKUP_AND_DELETE_ELEM for keyed elements.
type LookupDeleter interface {
	// LookupDelete copies the value (for all CPUs, each rounded up to 8 bytes) to value and deletes
	// the element.
	LookupDelete(key, value []byte, flags uint64) uapi.Errno
}

// Record is one complete record of a ring or perf buffer.
type Record struct {
	Seq  uint64 // order among the records of all maps of the Env
	At   uint64 // when it was sent, by [Env.Now]
	CPU  int    // producing CPU; 0 for ring buffers unless the producer set it
	Data []byte
}

// RingBuffer is BPF_MAP_TYPE_RINGBUF.
type RingBuffer interface {
	Map
	// Reserve returns the address of size writable bytes; ok is false if the kernel returns NULL.
	Reserve(size, flags uint64) (addr uint64, ok bool)
	// Submit and Discard end a reservation; later accesses fault. ENOENT: addr is not an open
	// reservation.
	Submit(addr, flags uint64) uapi.Errno
	Discard(addr, flags uint64) uapi.Errno
	// Output copies data as one record.
	Output(data []byte, flags uint64) uapi.Errno
	// Query implements bpf_ringbuf_query: BPF_RB_AVAIL_DATA and others; 0 for unknown flags.
	Query(flags uint64) uint64
	// Open returns the addresses of open reservations, oldest first.
	Open() []uint64
	// Records returns all records that user space has consumed or could consume, oldest first.
	Records() []Record
	// TakeRecords returns the same records as Records and forgets them.
	TakeRecords() []Record
	// Lost returns the number of records that were refused because the buffer was full.
	Lost() uint64
	// Consume makes user space read everything that is complete.
	Consume()
	// SetSink passes records to user space as they are created, instead of keeping them.
	SetSink(RingSink)
	// Stock returns how many records of a size can be reserved and ended, one after the other,
	// without anyone who has to know of each at once: n of them, at most most, from addr on, stride
	// bytes apart. An engine may do that, until something else uses the buffer, by what it does to
	// their bytes and shadow (a reserved record is zeroed and plain, an ended one freed memory). share
	// is by how many such sizes the room that is left is shared.
	Stock(size uint64, most, share int) (addr, stride uint64, n int)
	// Lent accounts for the first n records of that stock: how each ended, and when. Records of all
	// buffers are numbered in the order of these calls.
	Lent(size uint64, n int, record func(i int) (RingEnd, uint64))
}

// PerfArray is BPF_MAP_TYPE_PERF_EVENT_ARRAY.
type PerfArray interface {
	Map
	// Output implements bpf_perf_event_output on that CPU; flags contains the index or
	// BPF_F_CURRENT_CPU.
	Output(cpu int, flags uint64, data []byte) uapi.Errno
	// SetEvent puts a perf event of a CPU into a slot; cpu < 0 empties the slot. Initially every
	// slot below the number of CPUs holds the event of its CPU.
	SetEvent(index uint32, cpu int) uapi.Errno
	// EventCPU returns the CPU of the event in a slot: ENOENT if empty, E2BIG if out of range.
	EventCPU(index uint32) (int, uapi.Errno)
	// Count returns what the event in a slot has counted, for a program on that CPU; the errors are
	// those of EventCPU and [PerfSink]. Without a sink, known is false for events, which then are
	// the simulated user space's.
	Count(index uint32, cpu int) (count PerfCount, known bool, e uapi.Errno)
	Records() []Record
	TakeRecords() []Record
	// Lost returns the number of records lost because the buffer was full.
	Lost() uint64
	Consume()
	// SetSink passes records to user space as they are created, instead of keeping them.
	SetSink(PerfSink)
}

// StackTrace is BPF_MAP_TYPE_STACK_TRACE.
type StackTrace interface {
	Map
	// StackID implements bpf_get_stackid for a call chain, innermost first: the id, or a negative
	// errno.
	StackID(ips []uint64, flags uint64) int64
	// Stack returns the addresses stored under an id.
	Stack(id uint32) ([]uint64, bool)
}

// RefArray is a map of objects that file descriptors refer to, here Go values: prog_array,
// cgroup_array, xskmap, reuseport_sockarray.
type RefArray interface {
	Map
	// Ref returns the value in a slot.
	Ref(index uint32) (any, bool)
	// SetRef stores a value as user space does; nil deletes it.
	SetRef(index uint32, v any) uapi.Errno
}

// XSKMap is BPF_MAP_TYPE_XSKMAP.
type XSKMap interface {
	RefArray
	// SetSocket stores an AF_XDP socket bound to a queue.
	SetSocket(index, queue uint32) uapi.Errno
}

// ProgArray is BPF_MAP_TYPE_PROG_ARRAY.
type ProgArray interface {
	Map
	Prog(index uint32) (any, bool)
	SetProg(index uint32, prog any) uapi.Errno
	// Links returns a number for each slot, for the engine's use. The map sets it to 0 when the
	// slot changes. It returns nil for large arrays.
	Links() []uint64
}

// OuterMap is an array or a hash of maps.
type OuterMap interface {
	Map
	// SetInner stores a map as user space does; EINVAL if it does not match the template.
	SetInner(key []byte, inner Map, flags uint64) uapi.Errno
	Inner(key []byte) (Map, bool)
}

// Queue is a queue, a stack or a bloom filter (which has no Pop).
type Queue interface {
	Map
	Push(value []byte, flags uint64) uapi.Errno
	// Pop and Peek copy to value; for an empty map they zero it and return ENOENT. Peek on a bloom
	// filter reports whether value may be in it.
	Pop(value []byte) uapi.Errno
	Peek(value []byte) uapi.Errno
}

// LocalStorage is storage attached to kernel objects: task, socket, inode, cgroup storage. An owner
// is identified by the guest address of its object.
type LocalStorage interface {
	Map
	// Get returns the owner's value. If there is none and create is set, it creates it from init
	// (nil = zero).
	Get(owner uint64, init []byte, create bool) (addr uint64, err uapi.Errno)
	// DeleteOwner deletes the owner's value, FreeOwner that of an owner that is freed.
	DeleteOwner(owner uint64) uapi.Errno
	FreeOwner(owner uint64) uapi.Errno
	// Owners returns the addresses of all owners in slot order.
	Owners() []uint64
}

// UserRing is BPF_MAP_TYPE_USER_RINGBUF.
type UserRing interface {
	Map
	// Push adds a sample as user space does; ENOSPC if it does not fit.
	Push(sample []byte) uapi.Errno
	// Next takes the oldest sample and returns the address of its bytes, which are readable until
	// Release; ENODATA if there is none.
	Next() (addr uint64, size uint32, err uapi.Errno)
	// Release ends access to the sample that Next returned.
	Release(addr uint64)
	// Pending returns the number of samples not taken yet.
	Pending() int
	// SetSource makes the samples come from memory that is shared with user space.
	SetSource(UserSource)
}

// Arena is BPF_MAP_TYPE_ARENA. Programs hold user addresses; memory is at kernel addresses with the
// same low 32 bits.
type Arena interface {
	Map
	// AllocPages returns the user address of count new pages, at hint unless that is 0; 0 on
	// failure.
	AllocPages(hint uint64, count uint32) uint64
	FreePages(addr uint64, count uint32)
	// ReservePages excludes free pages from allocation.
	ReservePages(addr uint64, count uint32) uapi.Errno
	// Poke and Peek access the arena at an offset, as user space does through its mapping.
	Poke(off uint64, data []byte) error
	Peek(off uint64, data []byte) error
	// ToKernel and ToUser convert pointers as addr_space_cast does; an offset of zero gives null.
	ToKernel(addr uint64) uint64
	ToUser(addr uint64) uint64
	// UserBase returns the user address of the first page; KernelBase the kernel address for a
	// pointer whose low 32 bits are 0.
	UserBase() uint64
	KernelBase() uint64
	// SetUserBase moves the user addresses, as the first mmap of an arena without map_extra does:
	// EBUSY once pages are allocated, EINVAL if the arena would cross a 4 GiB boundary there.
	SetUserBase(addr uint64) uapi.Errno
	// Pages calls f for each allocated page with its offset and contents, which are valid during
	// the call.
	Pages(f func(off uint64, data []byte))
}
