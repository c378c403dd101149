package jit

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/vm"
)

// The maps of a world, by address.
const (
	mapPlain  = 0x1_0000_1000 // 10 elements of 8 bytes
	mapPercpu = 0x1_0000_2000 // 6 elements of 12 bytes on 4 CPUs
	mapChunks = 0x1_0000_3000 // 37 elements of 24 bytes, 8 in a chunk, on 4 CPUs
	mapSingle = 0x1_0000_4000 // 5 elements in chunks of one
	mapOther  = 0x1_0000_5000 // one that engines do not know
	mapHash4  = 0x1_0000_6000 // hashes with keys of 2, 4, 8 and 23 bytes, see hash_test.go
	mapHash8  = 0x1_0000_7000
	mapHash23 = 0x1_0000_8000 // on 4 CPUs
	mapHash2  = 0x1_0000_9000
	mapLRU    = 0x1_0000_a000 // with keys of 4 bytes
	mapTrie   = 0x1_0000_b000 // with keys of 8 bytes
	mapWide   = 0x1_0000_d000 // a trie with keys of 20 bytes
	mapOwned  = 0x1_0000_e000 // local storage of every second word of the buffer
	mapProgs  = 0x1_0000_c000 // a program array, see tail_test.go
	mapRing   = 0x1_0000_f000 // a ring buffer, see record_test.go
)

var mapNames = strings.NewReplacer("PLAIN", fmt.Sprint(uint64(mapPlain), " ll"), "PERCPU", fmt.Sprint(uint64(mapPercpu), " ll"),
	"CHUNKS", fmt.Sprint(uint64(mapChunks), " ll"), "SINGLE", fmt.Sprint(uint64(mapSingle), " ll"), "OTHER", fmt.Sprint(uint64(mapOther), " ll"),
	"HASH4", fmt.Sprint(uint64(mapHash4), " ll"), "HASH8", fmt.Sprint(uint64(mapHash8), " ll"), "HASH23", fmt.Sprint(uint64(mapHash23), " ll"),
	"HASH2", fmt.Sprint(uint64(mapHash2), " ll"), "LRU", fmt.Sprint(uint64(mapLRU), " ll"), "TRIE", fmt.Sprint(uint64(mapTrie), " ll"), "WIDE", fmt.Sprint(uint64(mapWide), " ll"), "PROGS", fmt.Sprint(uint64(mapProgs), " ll"),
	"OWNED", fmt.Sprint(uint64(mapOwned), " ll"), "RING", fmt.Sprint(uint64(mapRing), " ll"))

// world is what functions with an Inline work on: a clock, counts, arrays. It implements vm.Ledger.
type world struct {
	*rig
	now, step uint64
	made      [vm.NumInlines]uint64 // calls by kind
	called    int                   // of them, those that Go executed
	pause     int                   // each pause-th of those suspends the thread, as the end of a slice of work does; 0 is none
	shut      bool
	arrays    map[uint64]*testArray
	hashes    map[uint64]*testHash
	progs     []*vm.Image // the program array
	links     []uint64    // of its slots
	buffer    *mem.Region
	held      heldLock
	records   map[uint64]*testRecords // of mapRing, by size
}

type testArray struct {
	vm.Array
	w    *world
	size uint64
	data []*mem.Region
}

// bootDelta is how long the machine slept.
const bootDelta = 7_000_000

func newWorld(t testing.TB) *world {
	w := &world{rig: newRig(t), now: 1_000_000, step: 1000, arrays: map[uint64]*testArray{}, hashes: map[uint64]*testHash{}, progs: make([]*vm.Image, 4), links: make([]uint64, 4)}
	w.thread.User = w
	w.add(t, mapPlain, 10, 8, 1, 0)
	w.add(t, mapPercpu, 6, 12, 4, 0)
	w.add(t, mapChunks, 37, 24, 4, 3)
	w.add(t, mapSingle, 5, 8, 1, 0)
	single := w.arrays[mapSingle]
	single.Base, single.Table, single.data = 0, make([]uint64, 5), make([]*mem.Region, 5)
	w.add(t, mapOther, 3, 8, 1, 0)
	w.addHashes(t)
	w.addRecords(t)
	r, err := w.mem.Alloc(64, mem.Region{Name: "buffer"})
	require.NoError(t, err)
	w.buffer = r
	for off := uint64(0); off < r.Size; off += 16 {
		require.NoError(t, w.hashes[mapOwned].insert(binary.LittleEndian.AppendUint64(nil, r.Base+off)))
	}
	for i, b := 0, w.mem.Bytes(r); i < len(b); i++ {
		b[i] = byte(i * 0x3b & 15 >> (i & 2))
	}
	return w
}

func (w *world) add(t testing.TB, addr uint64, n uint32, size uint64, cpus int, shift uint) {
	a := &testArray{w: w, size: size, Array: vm.Array{Elements: n, CPUs: cpus, Shift: shift, Open: size}}
	stride := (size+7)&^7 + 16
	a.Stride = stride * uint64(cpus)
	if cpus > 1 {
		a.CPUStride = stride
	}
	w.arrays[addr] = a
	if shift == 0 {
		a.data = make([]*mem.Region, 1)
		a.Table = make([]uint64, 1)
		require.NoError(t, a.grow(0, uint64(n)))
		a.Base, a.Table = a.Table[0], nil
		return
	}
	a.Table = make([]uint64, n>>shift+1)
	a.data = make([]*mem.Region, len(a.Table))
}

func (a *testArray) grow(chunk, n uint64) error {
	cpus := a.Stride / max(a.CPUStride, 1)
	if a.CPUStride == 0 {
		cpus = 1
	}
	r, err := a.w.mem.AllocArray(n*cpus, a.size, a.Stride/cpus, mem.Region{Name: "array"})
	if err == nil {
		a.Table[chunk], a.data[chunk] = r.Base, r
	}
	return err
}

func (a *testArray) lookup(cpu int, i uint32) uint64 {
	if i >= a.Elements || a.CPUStride != 0 && uint(cpu) >= uint(a.CPUs) {
		return 0
	}
	off := uint64(cpu) * a.CPUStride
	if a.Table == nil {
		return a.Base + uint64(i)*a.Stride + off
	}
	chunk := uint64(i) >> a.Shift
	if a.Table[chunk] == 0 && a.grow(chunk, 1<<a.Shift) != nil {
		return 0
	}
	return a.Table[chunk] + uint64(i&(1<<a.Shift-1))*a.Stride + off
}

// Open implements vm.Ledger.
func (w *world) Open() bool { return !w.shut && w.held.addr == 0 }

// Lock implements vm.Ledger.
func (w *world) Lock() uint64 {
	if w.shut || w.held.addr == 0 || w.mem.Check(w.held.addr, 4, true) != nil {
		return 0
	}
	return w.held.addr
}

// Locked implements vm.Ledger.
func (w *world) Locked(lock uint64, img *vm.Image, pc int) {
	if w.held = (heldLock{}); lock != 0 {
		w.held = heldLock{lock, img.Name, pc}
	}
}

// heldLock is a lock and the call that took it.
type heldLock struct {
	addr uint64
	img  string
	pc   int
}

// lock takes the lock r1, unless one is held; r0 is not 0 then. A lock is held from one run to the
// next.
func lock(w *world, t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
	v, f := w.mem.Load(args[0], 4)
	if f == nil && (v&math.MaxUint32 != 0 || w.held.addr != 0) {
		return 1, nil
	}
	if f == nil {
		f = w.mem.Store(args[0], 4, 1)
	}
	if f != nil {
		return 0, vm.MemFault(f)
	}
	w.held = heldLock{args[0], t.Image().Name, t.PC()}
	return 0, nil
}

// unlock releases the lock r1 if it is held.
func unlock(w *world, _ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
	if w.held.addr != args[0] || args[0] == 0 {
		return 1, nil
	}
	if f := w.mem.Store(args[0], 4, 0); f != nil {
		return 0, vm.MemFault(f)
	}
	w.held = heldLock{}
	return 0, nil
}

// Time implements vm.Ledger.
func (w *world) Time() (mono, boot, step uint64) { return w.now, w.now + bootDelta, w.step }

// Book implements vm.Ledger.
func (w *world) Book(calls *[vm.NumInlines]uint64) {
	for k, n := range calls {
		w.made[k] += n
		w.now += n * w.step
	}
}

// owned finds the value of the owner r2 in the storage r1. r3 is what a new one begins with, r4 asks
// for one.
func owned(w *world, _ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
	h := w.hashes[args[0]]
	if h == nil || h.KeySize != 8 || w.mem.Find(args[1]) == nil {
		return 0, vm.FaultAction(&vm.Fault{Kind: vm.BadArgument})
	}
	if args[2] != 0 {
		if _, f := w.mem.Load(args[2], 8); f != nil {
			return 0, vm.MemFault(f)
		}
	}
	key := binary.LittleEndian.AppendUint64(nil, args[1])
	slot, ok := h.find(key)
	switch {
	case args[3] > 1 || !ok && args[3] == 0:
		return 0, nil
	case !ok:
		if h.insert(key) != nil {
			return 0, nil
		}
		slot = h.n - 1
	}
	return h.bases[slot>>hashShift] + uint64(slot&(1<<hashShift-1))*h.Stride, nil
}

// functions are bound by number: those of a world, whose engine is that of ledger, and probe as 7.
func functions(ledger *world) func(int, decode.Insn) (*vm.Func, error) {
	call := func(kind vm.InlineKind, fn func(w *world, t *vm.Thread, args *[5]uint64) (uint64, *vm.Action)) *vm.Func {
		return &vm.Func{
			Inline: &vm.Inline{Kind: kind, Ledger: ledger, Array: func(addr uint64) (vm.Array, bool) {
				a, ok := ledger.arrays[addr]
				if !ok || addr == mapOther {
					return vm.Array{}, false
				}
				return a.Array, true
			}, Hash: func(addr uint64) (vm.Hash, bool) {
				h, ok := ledger.hashes[addr]
				if !ok {
					return vm.Hash{}, false
				}
				return h.Hash, true
			}, Records: func(addr, size uint64) (vm.Records, bool) {
				r, ok := ledger.records[size]
				return r, ok && addr == mapRing
			}, Progs: func(addr uint64) (vm.Progs, bool) {
				return vm.Progs{Links: ledger.links, Image: func(slot uint32) *vm.Image { return ledger.progs[slot] }}, addr == mapProgs
			}},
			Fn: func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
				w := t.User.(*world)
				w.made[kind]++
				w.now += w.step
				w.called++
				if w.pause != 0 && w.called%w.pause == 0 {
					t.Suspend("slice")
				}
				return fn(w, t, args)
			},
		}
	}
	lookup := func(w *world, t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		if h := w.hashes[args[0]]; h != nil {
			return h.call(t, args[1])
		}
		a := w.arrays[args[0]]
		if a == nil {
			return 0, vm.FaultAction(&vm.Fault{Kind: vm.BadArgument})
		}
		key, f := w.mem.Load(args[1], 4)
		if f != nil {
			return 0, vm.MemFault(f)
		}
		return a.lookup(t.CPU, uint32(key)), nil
	}
	next := func(w *world, _ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		cur, f := w.mem.Load(args[0], 4)
		end, g := w.mem.Load(args[0]+4, 4)
		if f = cmp.Or(f, g); f != nil {
			return 0, vm.MemFault(f)
		}
		r0 := args[0]
		if cur++; int32(cur) >= int32(end) {
			r0, cur, end = 0, 0, 0
		}
		if f = cmp.Or(w.mem.Store(args[0], 4, cur&math.MaxUint32), w.mem.Store(args[0]+4, 4, end)); f != nil {
			return 0, vm.MemFault(f)
		}
		return r0, nil
	}
	fs := map[int32]*vm.Func{
		5:  call(vm.InlineNext, next),
		1:  call(vm.InlineLookup, lookup),
		2:  call(vm.InlineMono, func(w *world, _ *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) { return w.now, nil }),
		3:  call(vm.InlineBoot, func(w *world, _ *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) { return w.now + bootDelta, nil }),
		4:  call(vm.InlineCPU, func(_ *world, t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) { return uint64(t.CPU), nil }),
		6:  change,
		8:  call(vm.InlineTail, tailCallTo),
		9:  moveProgs,
		7:  probe,
		10: call(vm.InlineLock, lock),
		11: call(vm.InlineUnlock, unlock),
		12: call(vm.InlineOwned, owned),
		13: call(vm.InlineReserve, reserve),
		14: call(vm.InlineSubmit, endRecord(vm.RecordSubmitted)),
		15: call(vm.InlineDiscard, endRecord(vm.RecordDiscarded)),
	}
	return func(_ int, in decode.Insn) (*vm.Func, error) { return fs[in.Imm], nil }
}

// same requires two worlds and their threads to be in the same state.
func same(t *testing.T, native, plain *world, where string) {
	t.Helper()
	require.Empty(t, native.thread.Snapshot().Diff(plain.thread.Snapshot()), where)
	require.Equal(t, plain.now, native.now, where)
	require.Equal(t, plain.made, native.made, where)
	require.Equal(t, plain.held, native.held, where)
	for addr, a := range plain.arrays {
		b := native.arrays[addr]
		require.Equal(t, a.Table, b.Table, where)
		for i := range a.data {
			if a.data[i] != nil {
				require.Equal(t, plain.mem.Bytes(a.data[i]), native.mem.Bytes(b.data[i]), where)
			}
		}
	}
	require.Equal(t, plain.mem.Bytes(plain.buffer), native.mem.Bytes(native.buffer), where)
	sameHashes(t, native, plain, where)
	sameRecords(t, native, plain, where)
}

// inlinePrograms have calls that code makes itself; r1 is the address of the buffer.
var inlinePrograms = []struct {
	name, text string
	cpu        int
	calls      bool // all calls are left to Go
}{
	{"key in the stack", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 &= 15\n*(u32 *)(r10 - 4) = r1\nr2 = r10\nr2 += -4\nr1 = PLAIN\ncall 1\nif r0 == 0 goto l\nr3 = *(u64 *)(r0 + 0)\nr3 += r6\n*(u64 *)(r0 + 0) = r3\ngoto l", 0, false},
	{"keys in memory", "r6 = r1\nr7 = 0\nl: r7 += 1\nr2 = r7\nr2 &= 31\nr2 += r6\nr1 = PLAIN\ncall 1\nr8 = *(u8 *)(r6 + 5)\nif r0 == 0 goto l\n*(u32 *)(r0 + 2) = r7\nr8 += r2\ngoto l", 0, false},
	{"per CPU, CPU 0", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 &= 7\n*(u32 *)(r10 - 12) = r1\nr2 = r10\nr2 += -12\nr1 = PERCPU\ncall 1\nif r0 == 0 goto l\nlock *(u64 *)(r0 + 0) += r6\ngoto l", 0, false},
	{"per CPU, CPU 3", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 &= 7\n*(u32 *)(r10 - 12) = r1\nr2 = r10\nr2 += -12\nr1 = PERCPU\ncall 1\nif r0 == 0 goto l\nlock *(u64 *)(r0 + 0) += r6\ngoto l", 3, false},
	{"no such CPU", "r6 = 0\nl: r6 += 1\n*(u32 *)(r10 - 12) = 1\nr2 = r10\nr2 += -12\nr1 = PERCPU\ncall 1\ncall 2\ngoto l", 4, true},
	{"chunks", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 *= 11\nr1 &= 63\n*(u32 *)(r10 - 4) = r1\nr2 = r10\nr2 += -4\nr1 = CHUNKS\ncall 1\nif r0 == 0 goto l\n*(u64 *)(r0 + 8) = r6\ngoto l", 2, false},
	{"chunks of one", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 &= 7\n*(u32 *)(r10 - 4) = r1\nr2 = r10\nr2 += -4\nr1 = SINGLE\ncall 1\nif r0 == 0 goto l\n*(u64 *)(r0 + 0) = r6\ngoto l", 0, false},
	{"map from elsewhere", "r8 = PLAIN\nr6 = 0\nl: r6 += 1\n*(u32 *)(r10 - 4) = 3\nr2 = r10\nr2 += -4\nr1 = r8\ncall 1\nr1 = r6\ncall 7\nr6 = r0\nr6 &= 255\ngoto l", 0, false},
	{"one of two maps", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 &= 3\n*(u32 *)(r10 - 4) = r1\nr2 = r10\nr2 += -4\nr1 = PLAIN\nr3 = r6\nr3 &= 1\nif r3 == 0 goto m\nr1 = PERCPU\nm: r9 = 2\ncall 1\nr9 += 1\nif r0 == 0 goto l\n*(u32 *)(r0 + 0) = r6\ngoto l", 1, false},
	{"map that has to be called for", "l: *(u32 *)(r10 - 4) = 2\nr2 = r10\nr2 += -4\nr1 = OTHER\ncall 1\n*(u64 *)(r0 + 0) = r2\ngoto l", 0, true},
	{"time and CPU", "l: call 2\nr6 = r0\ncall 3\nr7 = r0\ncall 4\nr7 += r0\ncall 2\nr0 -= r6\ngoto l", 2, false},
	{"arguments stay", "l: *(u32 *)(r10 - 4) = 2\nr2 = r10\nr2 += -4\nr1 = PLAIN\nr3 = 3\nr4 = 4\nr5 = 5\ncall 1\nr4 += r5\nr3 += r4\nr1 += r2\ncall 2\nr3 += r4\ngoto l", 0, false},
	{"result is another pointer", "l: *(u32 *)(r10 - 4) = 1\nr0 = r10\nr0 += -16\n*(u64 *)(r0 + 0) = 7\nr2 = r10\nr2 += -4\nr1 = PLAIN\ncall 1\n*(u64 *)(r0 + 0) = r2\ngoto l", 0, false},
	{"result is another value", "r6 = 5\nl: r6 *= 77\nr0 = r6\nr0 >>= 51\ncall 2\nr3 = r6\nr3 <<= 13\nr3 |= r0\nr7 += r3\ngoto l", 0, false},
	{"iterator in the stack", "l: r1 = -2\n*(u32 *)(r10 - 8) = r1\n*(u32 *)(r10 - 4) = 9\nm: r1 = r10\nr1 += -8\ncall 5\nif r0 == 0 goto l\nr3 = *(u32 *)(r0 + 0)\nr6 += r3\ngoto m", 0, false},
	{"iterator in memory", "r6 = r1\nl: *(u32 *)(r6 + 12) = -7\n*(u32 *)(r6 + 16) = 100\nr2 = 0\nm: r1 = r6\nr1 += 12\ncall 5\nif r0 == 0 goto l\nr3 = *(u32 *)(r0 + 0)\nr7 += r3\ngoto m", 0, false},
	{"iterator beyond its end", "r6 = r1\nl: r7 += 1\nr8 = r7\nr8 &= 3\nr8 <<= 30\n*(u32 *)(r6 + 8) = r8\n*(u32 *)(r6 + 12) = r7\nr1 = r6\nr1 += 8\ncall 5\nr9 += r0\ngoto l", 0, false},
	{"hash of 4 bytes", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 &= 127\n*(u32 *)(r10 - 4) = r1\nr2 = r10\nr2 += -4\nr1 = HASH4\ncall 1\nif r0 == 0 goto l\nr3 = *(u64 *)(r0 + 0)\nr3 += r6\n*(u64 *)(r0 + 0) = r3\ngoto l", 0, false},
	{"hash of 8 bytes", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 &= 127\n*(u64 *)(r10 - 8) = r1\nr2 = r10\nr2 += -8\nr1 = HASH8\ncall 1\nif r0 == 0 goto l\nr3 = *(u64 *)(r0 + 0)\nr3 += r6\n*(u64 *)(r0 + 0) = r3\ngoto l", 0, false},
	{"hash of 23 bytes, per CPU", "r6 = 0\n*(u64 *)(r10 - 23) = 0\n*(u64 *)(r10 - 15) = 0\n*(u64 *)(r10 - 8) = 0\nl: r6 += 1\nr1 = r6\nr1 &= 127\n*(u8 *)(r10 - 1) = r1\nr2 = r10\nr2 += -23\nr1 = HASH23\ncall 1\nif r0 == 0 goto l\n*(u32 *)(r0 + 0) = r6\ngoto l", 3, false},
	{"hash of 2 bytes in memory", "r6 = r1\nr7 = 0\nl: r7 += 1\nr2 = r7\nr2 &= 31\nr2 += r6\nr1 = HASH2\ncall 1\nif r0 == 0 goto l\n*(u8 *)(r0 + 2) = r7\ngoto l", 0, false},
	{"hash without elements", "r6 = 0\nl: r6 += 1\n*(u32 *)(r10 - 4) = r6\nr2 = r10\nr2 += -4\nr1 = HASH4\nr3 = 3\nr4 = 4\nr5 = 5\ncall 1\nr8 += r3\nr8 += r4\nr8 += r5\ngoto l", 0, false},
	{"LRU hash, the same key again", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 >>= 6\nr1 &= 63\n*(u32 *)(r10 - 4) = r1\nr2 = r10\nr2 += -4\nr1 = LRU\ncall 1\nif r0 == 0 goto l\n*(u64 *)(r0 + 0) = r6\ngoto l", 0, false},
	{"LRU hash, another key each time", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 *= 7\nr1 &= 63\n*(u32 *)(r10 - 4) = r1\nr2 = r10\nr2 += -4\nr1 = LRU\nr3 = 3\nr4 = 4\nr5 = 5\ncall 1\nr8 += r3\nr8 += r4\nr8 += r5\nif r0 == 0 goto l\n*(u64 *)(r0 + 0) = r6\ngoto l", 0, false},
	{"trie", "r6 = 0\nl: r6 += 1\nr1 = r6\nr1 &= 63\n*(u32 *)(r10 - 8) = r1\nr1 = r6\nr1 *= 0x01010101\n*(u32 *)(r10 - 4) = r1\nr2 = r10\nr2 += -8\nr1 = TRIE\ncall 1\nif r0 == 0 goto l\nr3 = *(u64 *)(r0 + 0)\nr3 += r6\n*(u64 *)(r0 + 0) = r3\ngoto l", 0, false},
	{"trie with long keys", "r6 = 0\n*(u64 *)(r10 - 8) = 0\n*(u64 *)(r10 - 16) = 0\nl: r6 += 1\nr1 = r6\nr1 &= 255\n*(u32 *)(r10 - 24) = r1\nr1 = r6\nr1 *= 0x01010101\n*(u32 *)(r10 - 20) = r1\nr2 = r10\nr2 += -24\nr1 = WIDE\nr3 = 3\nr4 = 4\nr5 = 5\ncall 1\nr8 += r3\nr8 += r4\nr8 += r5\nif r0 == 0 goto l\nr3 = *(u64 *)(r0 + 0)\nr3 += r6\n*(u64 *)(r0 + 0) = r3\ngoto l", 0, false},
	{"a lock", "r6 = r1\n*(u32 *)(r6 + 12) = 0\nr7 = r1\nr7 += 12\nr1 = r7\ncall 11\nl: r1 = r7\nr3 = 3\nr4 = 4\ncall 10\nr8 += r0\nr8 += r3\nr3 = *(u32 *)(r6 + 12)\nr8 += r3\nr1 = r7\ncall 11\nr8 += r4\ncall 2\nr8 += r0\ngoto l", 0, false},
	{"locks by turns", "r6 = r1\n*(u64 *)(r6 + 8) = 0\n*(u64 *)(r6 + 16) = 0\nl: r7 += 1\nr9 = r7\nr9 &= 3\nr9 <<= 2\nr9 += r6\nr9 += 8\nr1 = r9\ncall 10\nr8 += r0\nr1 = r9\ncall 11\nr8 += r0\ngoto l", 0, false},
	{"a lock held twice, and the wrong one released", "r6 = r1\n*(u64 *)(r6 + 8) = 0\n*(u32 *)(r6 + 48) = 0\nr9 = 0\nl: r1 = r6\nr1 += 8\ncall 10\nr8 += r0\nr1 = r6\nr1 += 48\ncall 11\nr8 += r0\nr1 = r6\nr1 += 8\ncall 11\nr8 += r0\nr9 += 1\nr1 = r9\nr1 &= 7\nif r1 != 0 goto l\nr1 = r6\nr1 += 8\ncall 10\nr1 = r6\nr1 += 8\ncall 10\nr8 += r0\nr1 = 0\ncall 11\ngoto l", 0, false},
	{"lookups while a lock is held", "*(u32 *)(r10 - 8) = 0\nr6 = r10\nr6 += -8\nl: r1 = r6\ncall 10\n*(u32 *)(r10 - 4) = 3\nr2 = r10\nr2 += -4\nr1 = PLAIN\ncall 1\nr1 = r6\ncall 11\n*(u32 *)(r10 - 4) = 3\nr2 = r10\nr2 += -4\nr1 = PLAIN\ncall 1\ncall 2\ncall 3\ncall 4\ngoto l", 0, false},
	{"storage of owners", "r6 = r1\nr7 = 0\nl: r7 += 1\nr2 = r7\nr2 &= 3\nr2 <<= 4\nr2 += r6\nr1 = OWNED\nr3 = 0\nr4 = r7\nr4 &= 1\nr5 = 5\ncall 12\nr3 = *(u64 *)(r0 + 0)\nr3 += r7\n*(u64 *)(r0 + 0) = r3\nr8 += r4\nr8 += r5\ngoto l", 0, false},
	{"storage of owners, some without", "r6 = r1\nr7 = 0\nl: r7 += 1\nr2 = r7\nr2 &= 7\nr2 <<= 2\nr2 += r6\nr1 = OWNED\nr3 = 0\nr4 = 0\ncall 12\nif r0 == 0 goto m\n*(u32 *)(r0 + 4) = r7\nm: r2 = r7\nr2 &= 31\nr2 += r6\nr1 = OWNED\nr3 = 0\nr4 = 1\ncall 12\nr9 += r0\ngoto l", 0, false},
	{"records", "r6 = 0\nl: r6 += 1\nr1 = RING\nr2 = 8\nr3 = 0\nr4 = 4\nr5 = 5\ncall 13\nif r0 == 0 goto l\nr3 = *(u64 *)(r0 + 0)\n*(u64 *)(r0 + 0) = r6\nr7 += r3\nr7 += r4\nr1 = r0\nr2 = r6\ncall 14\nr7 += r0\ngoto l", 0, false},
	{"records of two sizes", "r6 = 0\nl: r6 += 1\nr1 = RING\nr2 = 20\nr3 = 0\ncall 13\nif r0 == 0 goto m\n*(u32 *)(r0 + 16) = r6\n*(u8 *)(r0 + 3) = r6\nr1 = r0\ncall 15\nm: r1 = RING\nr2 = 64\nr3 = 0\ncall 13\nif r0 == 0 goto l\nr8 = r0\nr4 = 64\nn: *(u8 *)(r0 + 0) = r4\nr0 += 1\nr4 += -1\nif r4 != 0 goto n\nr3 = *(u64 *)(r8 + 56)\nr7 += r3\nr1 = r8\ncall 14\ngoto l", 0, false},
	{"records, two at a time, ended twice", "r6 = 0\nl: r6 += 1\nr1 = RING\nr2 = 8\nr3 = 0\ncall 13\nr8 = r0\nr1 = RING\nr2 = 8\nr3 = 0\ncall 13\nr9 = r0\nr1 = r8\ncall 14\nr7 += r0\nr1 = r9\ncall 15\nr1 = r8\ncall 15\nr7 += r0\nr1 = RING\nr2 = 8\nr3 = 0\ncall 13\nif r0 == 0 goto l\n*(u8 *)(r0 + 7) = r6\nr1 = r0\ncall 14\nr1 = RING\nr2 = 8\nr3 = 0\ncall 13\nif r0 == 0 goto l\nr1 = r0\ncall 14\nr1 = RING\nr2 = 8\nr3 = 0\ncall 13\nif r0 == 0 goto l\nr1 = r0\ncall 14\ngoto l", 0, false},
	{"records, ended in a function", "r6 = 0\nl: r6 += 1\nr1 = RING\nr2 = 20\nr3 = 0\ncall 13\nif r0 == 0 goto l\nr1 = r0\nr2 = r6\ncall f\nr7 += r0\ngoto l\nf: *(u32 *)(r1 + 8) = r2\ncall 14\nr0 = 3\nexit", 0, false},
	{"in a function", "r6 = 1\nl: r1 = r6\ncall f\nr6 += 1\nr6 &= 15\ngoto l\nf: r7 = r1\n*(u32 *)(r10 - 8) = r7\nr2 = r10\nr2 += -8\nr1 = PLAIN\ncall 1\nr6 = r0\nif r6 == 0 goto g\n*(u32 *)(r6 + 4) = r7\ng: r0 = 1\nexit", 0, false},
}

// TestInlineCalls stops programs after every number of instructions and compares all that can be
// seen with the interpreter.
func TestInlineCalls(t *testing.T) { eachTier(t, testInlineCalls) }

func testInlineCalls(t *testing.T) {
	for _, tt := range inlinePrograms {
		t.Run(tt.name, func(t *testing.T) {
			native, plain := newWorld(t), newWorld(t)
			plain.thread.SetEngine(nil)
			native.thread.CPU, plain.thread.CPU = tt.cpu, tt.cpu
			img := lower(t, mapNames.Replace(tt.text), functions(native))
			for size := uint64(1); size < 300; size += 1 + size/testsize.Sample[uint64](50, 6) {
				native.endRecords()
				plain.endRecords()
				native.thread.Start(img, native.buffer.Base)
				plain.thread.Start(img, plain.buffer.Base)
				for range 4 {
					require.Equal(t, vm.Budget, native.thread.Run(size), "%v", native.thread.Fault())
					require.Equal(t, vm.Budget, plain.thread.Run(size))
					same(t, native, plain, fmt.Sprintf("pieces of %d", size))
				}
			}
			require.Equal(t, vm.Budget, native.thread.Run(untilSettled))
			native.called = 0
			before := native.made
			require.Equal(t, vm.Budget, native.thread.Run(10_000))
			made := 0
			for k, n := range native.made {
				made += int(n - before[k])
			}
			assert.NotZero(t, native.engine.Executed())
			if tt.calls {
				assert.Equal(t, made, native.called)
			} else {
				assert.Less(t, native.called, made*3/4)
			}
		})
	}
}

// TestInlineCallsCheckClean: comparing with the interpreter finds nothing, and calls count once.
func TestInlineCallsCheckClean(t *testing.T) { eachTier(t, testInlineCallsCheckClean) }

func testInlineCallsCheckClean(t *testing.T) {
	for _, tt := range inlinePrograms {
		native, plain := newWorld(t), newWorld(t)
		plain.thread.SetEngine(nil)
		native.thread.CPU, plain.thread.CPU = tt.cpu, tt.cpu
		native.engine.Check(func(text string) { t.Error(tt.name, text) })
		img := lower(t, mapNames.Replace(tt.text), functions(native))
		native.thread.Start(img, native.buffer.Base)
		plain.thread.Start(img, plain.buffer.Base)
		require.Equal(t, vm.Budget, native.thread.Run(3000))
		require.Equal(t, vm.Budget, plain.thread.Run(3000))
		same(t, native, plain, tt.name)
		assert.NotZero(t, native.engine.Executed())
	}
}

// TestInlineCallsThatPauseCheckClean: a slice of work that ends in a call which native code made
// itself is no difference.
func TestInlineCallsThatPauseCheckClean(t *testing.T) {
	eachTier(t, testInlineCallsThatPauseCheckClean)
}

func testInlineCallsThatPauseCheckClean(t *testing.T) {
	const insns = 3000
	for _, tt := range inlinePrograms {
		native, plain := newWorld(t), newWorld(t)
		plain.thread.SetEngine(nil)
		native.thread.CPU, plain.thread.CPU = tt.cpu, tt.cpu
		native.pause = 3
		native.engine.Check(func(text string) { t.Error(tt.name, text) })
		img := lower(t, mapNames.Replace(tt.text), functions(native))
		native.thread.Start(img, native.buffer.Base)
		plain.thread.Start(img, plain.buffer.Base)
		stops := 0
		for native.thread.Insns() < insns {
			if native.thread.Run(insns-native.thread.Insns()) == vm.Stopped {
				stops++
			}
		}
		require.Equal(t, vm.Budget, plain.thread.Run(insns))
		same(t, native, plain, tt.name)
		assert.NotZero(t, stops)
		assert.NotZero(t, native.engine.Executed())
	}
}

// TestInlineLookupFaults: a key that cannot be read faults at the call, as if it was called.
func TestInlineLookupFaults(t *testing.T) { eachTier(t, testInlineLookupFaults) }

func testInlineLookupFaults(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"null", "r7 = 0\nl: r7 += 1\nr2 = 0\nif r7 > 50 goto m\nr2 = r1\nm: r1 = PLAIN\nr6 = r2\ncall 1\nr1 = r6\ngoto l"},
		{"the end of the buffer", "r6 = r1\nr7 = 0\nl: r7 += 1\nr2 = r6\nr2 += r7\nr1 = PLAIN\ncall 1\ngoto l"},
		{"the end of the stack", "r7 = -50\nl: r7 += 1\nr2 = r10\nr2 += r7\nr1 = PLAIN\ncall 1\ngoto l"},
		{"above the stack", "r2 = r10\nr2 += -2\nr1 = PLAIN\ncall 1\nexit"},
		{"iterator at the end of the buffer", "r6 = r1\nl: r6 += 4\nr1 = r6\ncall 5\ngoto l"},
		{"iterator that is only read", "r6 = r1\nr7 = 0\nl: r7 += 1\nr1 = r6\nif r7 < 50 goto m\nr1 = 0\nm: call 5\ngoto l"},
		{"no owner", "r6 = r1\nr7 = 0\nl: r7 += 1\nr2 = r6\nif r7 < 50 goto m\nr2 += 4096\nm: r1 = OWNED\nr3 = 0\nr4 = 0\ncall 12\ngoto l"},
		{"no map", "r7 = 0\nl: r7 += 1\nr2 = r10\nr2 += -4\n*(u32 *)(r2 + 0) = 1\nr1 = PLAIN\nif r7 < 50 goto m\nr1 += 1\nm: r7 += 0\ncall 1\ngoto l"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			native, plain := newWorld(t), newWorld(t)
			plain.thread.SetEngine(nil)
			img := lower(t, mapNames.Replace(tt.text), functions(native))
			for range 2 {
				native.thread.Start(img, native.buffer.Base)
				plain.thread.Start(img, plain.buffer.Base)
				require.Equal(t, vm.Faulted, native.thread.Run(1<<20))
				require.Equal(t, vm.Faulted, plain.thread.Run(1<<20))
				same(t, native, plain, "at the fault")
				assert.Equal(t, plain.thread.Fault().Kind, native.thread.Fault().Kind)
				assert.Equal(t, plain.thread.Fault().PC, native.thread.Fault().PC)
			}
		})
	}
}

// untilSettled is after how many instructions the short programs here are compiled for good: for a
// while before that they are looked at on the interpreter.
const untilSettled = 100_000

// TestInlineCallsShut: what is decided after compilation takes effect, both ways.
func TestInlineCallsShut(t *testing.T) { eachTier(t, testInlineCallsShut) }

func testInlineCallsShut(t *testing.T) {
	w := newWorld(t)
	img := lower(t, mapNames.Replace(inlinePrograms[0].text), functions(w))
	calls := func() int {
		w.called = 0
		w.thread.Start(img, w.buffer.Base)
		require.Equal(t, vm.Budget, w.thread.Run(5000))
		return w.called
	}
	calls()
	require.Equal(t, vm.Budget, w.thread.Run(untilSettled))
	assert.Less(t, calls(), 30)
	w.shut = true
	assert.Greater(t, calls(), 300)
	w.shut = false
	assert.Less(t, calls(), 30)
}

// TestInlineRandom joins random pieces to programs, with calls of all kinds and jumps over some of
// them.
func TestInlineRandom(t *testing.T) {
	for seed := range testsize.Pick[uint64](400, 50, 50) {
		native, plain := newWorld(t), newWorld(t)
		plain.thread.SetEngine(nil)
		if !randomInline(t, native, plain, seed) {
			t.Fatalf("seed %d", seed)
		}
		native.engine.Close()
		native.mem.Close()
		plain.mem.Close()
	}
}

// FuzzInline is TestInlineRandom with any seed.
func FuzzInline(f *testing.F) {
	for i := range uint64(20) {
		f.Add(i)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		native, plain := newWorld(t), newWorld(t)
		plain.thread.SetEngine(nil)
		randomInline(t, native, plain, seed)
	})
}

// inlinePieces end at their own end; %d is a number, and jumps go after the piece.
var inlinePieces = []string{
	"r1 = HASH4", "r1 = HASH8", "r1 = HASH2", "r1 = LRU", "r1 = TRIE", "r1 = WIDE", "r8 = HASH4", "r2 = r6\nr2 += %d\nr1 = HASH4\ncall 1\nif r0 == 0 goto +1\n*(u32 *)(r0 + 0) = r7",
	"r2 = r10\nr2 += -8\n*(u64 *)(r10 - 8) = %d\nr1 = HASH8\ncall 1\nif r0 == 0 goto +1\n*(u32 *)(r0 + 0) = r7", "r2 = r6\nr2 += %d\nr1 = HASH23\ncall 1\nr7 += r0",
	"r2 = r7\nr2 &= 31\nr2 += r6\nr1 = HASH2\ncall 1\nif r0 == 0 goto +1\n*(u8 *)(r0 + 1) = r7", "*(u32 *)(r10 - 8) = r7\nr2 = r10\nr2 += -8\nr1 = LRU\ncall 1\nr7 += r0",
	"*(u32 *)(r10 - 24) = r7\n*(u32 *)(r10 - 20) = r7\nr2 = r10\nr2 += -24\nr1 = WIDE\ncall 1\nif r0 == 0 goto +1\n*(u32 *)(r0 + 4) = r7",
	"*(u32 *)(r10 - 8) = %d\n*(u32 *)(r10 - 4) = r7\nr2 = r10\nr2 += -8\nr1 = TRIE\ncall 1\nif r0 == 0 goto +1\n*(u32 *)(r0 + 4) = r7", "r1 = r7\nr1 &= 31\ncall 6\nr7 += r0",
	"r1 = PLAIN", "r1 = PERCPU", "r1 = CHUNKS", "r1 = SINGLE", "r1 = OTHER", "r8 = PLAIN", "r8 = CHUNKS", "r1 = r8", "r9 = r1",
	"r2 = r10\nr2 += -%d", "r2 = r6\nr2 += %d", "r2 = r7\nr2 &= 31\nr2 += r6",
	"*(u32 *)(r10 - 8) = %d", "*(u32 *)(r10 - 16) = r7\nr2 = r10\nr2 += -16", "*(u8 *)(r6 + 8) = %d",
	"call 1", "call 1", "call 1\nif r0 == 0 goto +2\nr3 = *(u32 *)(r0 + 0)\nr7 += r3", "call 1\nif r0 == 0 goto +1\n*(u32 *)(r0 + 4) = r7",
	"r2 = r10\nr2 += -8\nr1 = PLAIN\ncall 1\nif r0 == 0 goto +3\nr3 = *(u64 *)(r0 + 0)\nr3 += r7\n*(u64 *)(r0 + 0) = r3",
	"r2 = r6\nr1 = CHUNKS\ncall 1\nif r0 == 0 goto +1\n*(u8 *)(r0 + 3) = r7",
	"r1 = r10\nr1 += -%d\ncall 5\nr7 += r0", "r1 = r6\nr1 += %d\ncall 5", "*(u64 *)(r10 - 24) = 0\n*(u32 *)(r10 - 20) = %d\nr1 = r10\nr1 += -24\ncall 5\nif r0 == 0 goto +3\nr3 = *(u32 *)(r0 + 0)\nr7 += r3\ngoto -7",
	"call 2\nr7 += r0", "call 3\nr7 ^= r0", "call 4\nr7 += r0", "r1 = r7\ncall 7\nr7 += r0",
	"r3 = 0\nr4 = r6\nr4 += r3\nr5 = *(u8 *)(r4 + 0)\nr7 += r5\nr3 += 1\nif r3 < %d goto -6",
	"r9 = 0\nr2 = r10\nr2 += -8\nr1 = PLAIN\ncall 1\nr4 = r6\nr4 += r9\nr5 = *(u8 *)(r4 + 0)\nr7 += r5\nr9 += 1\nif r9 < %d goto -11",
	"r9 = 0\nr1 = CHUNKS\nr2 = r6\nr2 += r9\ncall 1\nif r0 == 0 goto +1\n*(u8 *)(r0 + 1) = r9\nr9 += 1\nif r9 < %d goto -9",
	"r1 = r6\nr1 += %d\ncall 10\nr7 += r0", "r1 = r6\nr1 += %d\ncall 11\nr7 += r0", "r1 = r10\nr1 += -8\ncall 10", "r1 = r10\nr1 += -8\ncall 11",
	"r9 = r6\nr9 += %d\n*(u32 *)(r9 + 0) = 0\nr1 = r9\ncall 10\nr7 += r0\nr1 = r9\ncall 11\nr7 += r0", "r1 = r7\ncall 11", "r1 = r7\ncall 10",
	"r2 = r6\nr2 += %d\nr1 = OWNED\nr3 = 0\nr4 = 0\ncall 12\nif r0 == 0 goto +1\n*(u32 *)(r0 + 4) = r7", "r2 = r6\nr2 += %d\nr1 = OWNED\nr3 = r7\nr3 &= 1\nr4 = r7\nr4 &= 3\nr3 *= r6\ncall 12\nr7 += r0", "r4 = 1\nr3 = 0\ncall 12", "r1 = OWNED",
	"r1 = RING\nr2 = 8\nr3 = 0\ncall 13\nr8 = r0", "r1 = RING\nr2 = 20\nr3 = 0\ncall 13\nif r0 == 0 goto +6\nr3 = *(u32 *)(r0 + 4)\n*(u32 *)(r0 + 4) = r7\nr7 += r3\nr9 = r0\nr1 = r0\ncall 14",
	"r1 = r8\ncall 14\nr7 += r0", "r1 = r9\ncall 15\nr7 += r0", "r1 = RING\nr2 = 64\nr3 = 0\ncall 13\nif r0 == 0 goto +10\nr8 = r0\nr5 = 0\nr4 = r8\nr4 += r5\n*(u8 *)(r4 + 0) = r7\nr5 += 1\nif r5 < 60 goto -5\nr1 = r8\ncall 15\nr7 += r0",
	"r1 = RING\nr2 = 8\nr3 = 0\ncall 13\nif r0 == 0 goto +3\n*(u8 *)(r0 + 7) = r7\nr1 = r0\ncall 15", "if r9 == 0 goto +2\nr3 = *(u8 *)(r9 + 0)\nr7 += r3", "if r8 == 0 goto +1\n*(u32 *)(r8 + 4) = r7", "r3 = 1\ncall 13",
	"r7 += %d", "r7 *= 5\nr7 >>= 3", "r7 &= 63", "r3 = r7\nr3 <<= 13\nr4 = r7\nr4 >>= 51\nr3 |= r4",
}

// randomInline runs a program on both engines until its instructions are used up or it faults, in a
// few pieces.
func randomInline(t *testing.T, native, plain *world, seed uint64) bool {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var text strings.Builder
	text.WriteString("r6 = r1\nr7 = 0\nr8 = PLAIN\nr9 = 0\nr2 = r10\nr2 += -8\nr1 = r8\nl: r7 += 1\n")
	for range 4 + rnd.IntN(16) {
		piece := inlinePieces[rnd.IntN(len(inlinePieces))]
		if strings.Contains(piece, "%d") {
			piece = fmt.Sprintf(piece, 4*(1+rnd.IntN(5)))
		}
		if rnd.IntN(4) == 0 {
			insns, err := decode.Assemble(mapNames.Replace(piece))
			require.NoError(t, err)
			fmt.Fprintf(&text, "r5 = r7\nr5 &= %d\nif r5 == 0 goto +%d\n", 1+rnd.IntN(3), len(insns))
		}
		text.WriteString(piece + "\n")
	}
	text.WriteString("goto l")
	img := lower(t, mapNames.Replace(text.String()), functions(native))
	cpu := rnd.IntN(5)
	native.engine.SetEager(rnd.IntN(3))
	native.thread.CPU, plain.thread.CPU = cpu, cpu
	native.thread.Start(img, native.buffer.Base)
	plain.thread.Start(img, plain.buffer.Base)
	for range 4 {
		n := uint64(rnd.IntN(3000))
		if s := plain.thread.Run(n); !assert.Equal(t, s, native.thread.Run(n), "%v %v\n%s", plain.thread.Fault(), native.thread.Fault(), text.String()) {
			return false
		}
		same(t, native, plain, text.String())
	}
	return true
}
