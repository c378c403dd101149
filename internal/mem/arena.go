package mem

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

const (
	commitStep  = 256 << 10 // bytes of data committed at a time; a multiple of every page size times 8
	shadowSlack = 64 << 10  // shadow bytes beyond the last granule, so that a straddling access may read one more
	keepBytes   = 1 << 20   // bytes of data that a pooled arena keeps; the rest is returned to the system
	minReserve  = 16 << 20
)

// arena is one reservation with the shadow first and the data after it, so that native code needs
// one register for both. Data below committed is readable and writable, as is the shadow of
// everything below committed plus one granule.
type arena struct {
	whole        []byte
	data, shadow []byte // parts of whole
	size         uint64 // bytes of data reserved
	committed    uint64
	// fresh is the lowest offset from which on data and shadow still read as zero.
	fresh uint64
}

// arenaPool keeps the arenas of finished machines, so that a short run neither maps nor faults in
// pages. It is the only state shared between Memories; an arena in it is zeroed and has no owner.
var arenaPool struct {
	sync.Mutex
	free []*arena
}

func newArena(size uint64) (*arena, error) {
	arenaPool.Lock()
	for i := len(arenaPool.free) - 1; i >= 0; i-- {
		if a := arenaPool.free[i]; a.size == size {
			arenaPool.free = append(arenaPool.free[:i], arenaPool.free[i+1:]...)
			arenaPool.Unlock()
			return a, nil
		}
	}
	arenaPool.Unlock()
	// A multiple of every page size, so that data starts at a page.
	split := (size/granule + 2*shadowSlack - 1) &^ uint64(shadowSlack-1)
	whole, err := osReserve(split + size)
	if err != nil {
		return nil, fmt.Errorf("mem: reserve %d bytes of address space: %w", split+size, err)
	}
	a := &arena{whole: whole, shadow: whole[:split:split], data: whole[split:], size: size}
	if err := osCommit(a.shadow[:shadowSlack]); err != nil {
		a.release()
		return nil, fmt.Errorf("mem: commit shadow: %w", err)
	}
	return a, nil
}

// grow commits data up to end and its shadow.
func (a *arena) grow(end uint64) error {
	if end <= a.committed {
		return nil
	}
	end = min((end+commitStep-1)/commitStep*commitStep, a.size)
	if err := osCommit(a.data[a.committed:end]); err != nil {
		return fmt.Errorf("mem: commit %d bytes: %w", end-a.committed, err)
	}
	// The slack of 64 KiB is committed from the start, so the shadow stays ahead by it. The
	// step divided by 8 is a multiple of every page size (4, 16, 64 KiB on the step of 256 KiB
	// needs rounding, which the full slack allows).
	lo, hi := a.committed/granule, end/granule+shadowSlack
	lo &^= shadowSlack - 1
	hi = min((hi+shadowSlack-1)&^(shadowSlack-1), uint64(len(a.shadow)))
	if err := osCommit(a.shadow[lo:hi]); err != nil {
		return fmt.Errorf("mem: commit shadow: %w", err)
	}
	a.committed = end
	return nil
}

// recycle zeroes the used part and puts the arena into the pool.
func (a *arena) recycle() {
	if a.fresh > keepBytes {
		// fresh <= committed, and both are zeroed in whole pages.
		if !osZero(a.data[keepBytes:a.committed]) || !osZero(a.shadow[keepBytes/granule:min(uint64(len(a.shadow)), a.committed/granule+shadowSlack)]) {
			a.release()
			return
		}
	}
	clear(a.data[:min(a.fresh, keepBytes)])
	clear(a.shadow[:min(a.fresh, keepBytes)/granule+1])
	a.fresh = 0
	arenaPool.Lock()
	if len(arenaPool.free) < 4*runtime.GOMAXPROCS(0) {
		arenaPool.free = append(arenaPool.free, a)
		a = nil
	}
	arenaPool.Unlock()
	if a != nil {
		a.release()
	}
}

func (a *arena) release() {
	osRelease(a.whole)
	a.whole, a.data, a.shadow = nil, nil, nil
}

func (a *arena) dataPtr() unsafe.Pointer   { return unsafe.Pointer(unsafe.SliceData(a.data)) }
func (a *arena) shadowPtr() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(a.shadow)) }
