package mem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/bpfrun/bpfrun/internal/endian"
)

const (
	// DefaultBase is the arena's address on targets with 8-byte pointers: the start of the
	// direct map of x86-64 kernels.
	DefaultBase = 0xffff888000000000
	// DefaultBase32 is the arena's address on targets with 4-byte pointers.
	DefaultBase32 = 0xc0000000
	// DefaultSize is the address space reserved by default, in bytes.
	DefaultSize = 1 << 30
	// maxSize32 keeps the arena of a 32-bit target below 4 GiB.
	maxSize32 = 1<<32 - DefaultBase32 - 1<<24
)

// Config describes a Memory. The zero value is a 64-bit little-endian target with the defaults.
type Config struct {
	Base        uint64 // address of the arena, a multiple of 4096; 0 = DefaultBase or DefaultBase32
	Size        uint64 // address space to reserve in bytes, rounded up; 0 = DefaultSize; less if the system refuses
	PointerSize int    // 4 or 8; 0 = 8
	ByteOrder   binary.ByteOrder
	// TrackStores makes restores of a snapshot cheap, however large the memory of maps: only what
	// was stored to is looked at. The first store into each block costs more. Regions of that many
	// bytes are tracked ([SealedFrom] is a good number); 0 = none.
	TrackStores uint64
}

// Memory is the simulated memory of one machine. Create it with [New] and release it with
// [Memory.Close]. It is not safe for concurrent use.
type Memory struct {
	arena        *arena
	data, shadow unsafe.Pointer // start of arena.data and arena.shadow
	base         uint64
	// limit is the end of the last block. Invariant of every unsafe access in this package and in
	// engines: data[0, limit+64) and its shadow are committed, every granule below limit has its
	// true class, and the last granules below limit are redzone, so that an access of up to eight
	// bytes that starts below limit reads only committed memory.
	limit  uint64
	size   uint64
	mask   uint64 // significant bits of an address: all, or the low 32
	ptrLen int
	order  binary.ByteOrder
	big    bool

	blocks     []block
	freeBlocks map[uint64]*[]int32 // by block size
	freeLast   *[]int32            // of freeBlocks, that of freeSize; nil for none
	freeSize   uint64
	quarantine []int32
	quarBytes  uint64
	lastBlock  int32
	slab       []Region

	windows []*Window
	undef   map[uint64]marks // by granule; absent = all eight bytes, see wholeMarks
	undefIn [2]uint64        // the keys of undef are not below the first, and below the second
	watches []Watch
	watched map[uint64]Class // granule -> class beneath the watch
	watchID int

	// OnWatch is called after an access that a watch covers was performed.
	OnWatch func(Hit)

	// OnUnset is called for reads of bytes that count as unset ([Memory.MarkUndefined]); the read
	// then returns their contents. Without it such reads are faults.
	OnUnset func(Unset)

	// OnUnwritten is called for reads of bytes that this run did not write ([Memory.Unwrite]) if
	// none of them is unset.
	OnUnwritten func(Unset)

	moved   uint64 // see Moved
	trusted bool   // see StoreField
	marked  bool   // Unwrite was called

	lastSnap *Snapshot
	journal  journal
	seals    seals
	epoch    uint64
	changes  [Changes]span // by epoch
}

// New reserves the arena. It fails if the system refuses even a small reservation, or if the
// configuration is invalid.
func New(cfg Config) (*Memory, error) {
	m := &Memory{mask: ^uint64(0), ptrLen: 8, order: cfg.ByteOrder, base: cfg.Base, lastBlock: -1}
	if m.order == nil {
		m.order = binary.LittleEndian
	}
	m.big = endian.IsBig(m.order)
	size := cfg.Size
	if size == 0 {
		size = DefaultSize
	}
	switch cfg.PointerSize {
	case 0, 8:
		if m.base == 0 {
			m.base = DefaultBase
		}
	case 4:
		m.ptrLen, m.mask = 4, 1<<32-1
		if m.base == 0 {
			m.base = DefaultBase32
		}
		if m.base >= 1<<32 {
			return nil, fmt.Errorf("mem: base %#x does not fit pointers of 4 bytes", m.base)
		}
		size = min(size, maxSize32, (1<<32-m.base)&^(commitStep-1))
	default:
		return nil, fmt.Errorf("mem: pointer size %d, want 4 or 8", cfg.PointerSize)
	}
	if m.base&4095 != 0 || m.base < 4096 {
		return nil, fmt.Errorf("mem: base %#x is not a multiple of 4096 above 0", m.base)
	}
	if size > 1<<46 {
		return nil, &LimitError{What: "arena", Requested: size, Available: 1 << 46}
	}
	size = max((size+commitStep-1)&^uint64(commitStep-1), minReserve)
	if m.base+size < m.base || m.base+size-1 > m.mask {
		return nil, fmt.Errorf("mem: arena of %d bytes at %#x does not fit the address space", size, m.base)
	}
	var err error
	for {
		if m.arena, err = newArena(size); err == nil {
			break
		}
		if size /= 2; size < minReserve {
			return nil, err
		}
	}
	m.size = m.arena.size
	m.seals.least = cfg.TrackStores
	m.data, m.shadow = m.arena.dataPtr(), m.arena.shadowPtr()
	return m, nil
}

// ErrClosed is the error of allocations after Close.
var ErrClosed = errors.New("mem: memory is closed")

// Close releases the arena. Regions, host views ([Memory.Bytes]) and engines of this Memory must
// not be used afterwards; guest accesses fault. Closing twice is harmless.
func (m *Memory) Close() {
	if m.arena == nil {
		return
	}
	a := m.arena
	m.arena, m.data, m.shadow = nil, nil, nil
	m.limit, m.size = 0, 0
	m.changed(everywhere)
	m.freeLast = nil
	m.blocks, m.freeBlocks, m.quarantine, m.windows, m.lastSnap = nil, nil, nil, nil, nil
	m.undef, m.watched, m.watches, m.journal, m.seals = nil, nil, nil, journal{}, seals{}
	a.recycle()
}

// ByteOrder returns the byte order of the target.
func (m *Memory) ByteOrder() binary.ByteOrder { return m.order }

// PointerSize returns the size of a pointer of the target in bytes, 4 or 8.
func (m *Memory) PointerSize() int { return m.ptrLen }

// Base returns the guest address of the arena.
func (m *Memory) Base() uint64 { return m.base }

// Truncate returns the significant part of an address: its low 32 bits on targets with 4-byte
// pointers.
func (m *Memory) Truncate(addr uint64) uint64 { return addr & m.mask }

// Used returns the number of arena bytes below the end of the last block.
func (m *Memory) Used() uint64 { return m.limit }

// ArenaInfo is what an engine needs for its inline checks.
type ArenaInfo struct {
	// Data and Shadow point to the first byte and to its shadow. They do not move until Close.
	Data, Shadow unsafe.Pointer
	Base         uint64 // guest address of Data
	// Size is the number of bytes that an inline check may allow. It changes with every call that
	// may allocate or free, so an engine must read it again afterwards.
	Size     uint64
	Truncate bool // addresses are truncated to 32 bits (the inline check fails on upper bits, the precise path truncates)
	Big      bool // big-endian target
}

// Arena describes the arena to an engine.
func (m *Memory) Arena() ArenaInfo {
	return ArenaInfo{Data: m.data, Shadow: m.shadow, Base: m.base, Size: m.limit, Truncate: m.ptrLen == 4, Big: m.big}
}

// bulk is the size in bytes from which an access on a program's behalf is work that counts. What is
// smaller costs no more than the instructions around the call; engines do some of it on their own
// and count nothing, and whether its bytes are plain memory depends on the engine.
const bulk = 64

// charge counts an access of n bytes if it is a bulk one.
func (m *Memory) charge(n uint64) {
	if n >= bulk {
		m.moved += n
	}
}

// Moved returns the number of bytes copied or checked in bulk since the last [Memory.TakeMoved],
// which measures the work of helpers.
func (m *Memory) Moved() uint64 { return m.moved }

// TakeMoved returns [Memory.Moved] and resets it.
func (m *Memory) TakeMoved() uint64 {
	n := m.moved
	m.moved = 0
	return n
}

// NoteMoved adds n bytes that were copied by other means.
func (m *Memory) NoteMoved(n uint64) { m.moved += n }

// Limit returns the same as ArenaInfo.Size.
func (m *Memory) Limit() uint64 { return m.limit }

// bytesAt returns the n bytes at arena offset off. The caller guarantees off+n <= limit.
func (m *Memory) bytesAt(off, n uint64) []byte {
	// off+n <= limit <= committed, so the range is inside the mapping.
	return unsafe.Slice((*byte)(unsafe.Add(m.data, off)), n)
}

// class returns the class of granule g, g < limit/8.
func (m *Memory) class(g uint64) Class {
	return *(*Class)(unsafe.Add(m.shadow, g)) // g*8 < limit, so its shadow is committed
}

func (m *Memory) setClass(g uint64, c Class) {
	*(*Class)(unsafe.Add(m.shadow, g)) = c // as class
}

// shadowRange returns the shadow of granules [lo, hi).
func (m *Memory) shadowRange(lo, hi uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(m.shadow, lo)), hi-lo)
}

// mulOverflow multiplies, saturating on overflow.
func mulOverflow(a, b uint64) (uint64, bool) {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return ^uint64(0), true
	}
	return lo, false
}
