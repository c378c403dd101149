// Package deferred manages work that programs defer, timers and work items in map values, and which
// of them runs next.
//
// It does not know the time, which its callers pass, or how callbacks execute: it returns a
// [Callback], and the machine runs it.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package deferred

import (
	"cmp"
	stdmaps "maps"
	"slices"

	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Kind is what calls back.
type Kind uint8

// What calls back.
const (
	Timer    Kind = iota
	Work          // a work queue's worker
	TaskWork      // a task that returns to user space
)

// String is the kind in words: "timer".
func (k Kind) String() string { return [...]string{"timer", "work", "task work"}[k] }

// Item is a timer or work item in a map value.
type Item struct {
	Kind     Kind
	Clock    uint64 // CLOCK_MONOTONIC and others
	Callback uint64 // address of the function, 0 if not set
	Armed    bool

	m   uint64 // handle of the map
	at  uint64 // when it fires, in nanoseconds of the monotonic clock
	seq uint64 // order among those that fire at the same time
	cpu int
}

// Callback is a call by the kernel itself, of a timer or work item that is due. Start the
// callback's code with [vm.Thread.StartAt] and these arguments, then call [Queue.End].
type Callback struct {
	Entry uint64 // address of the function
	Args  [5]uint64
	CPU   int
	Kind  Kind
	Addr  uint64 // of the field
	At    uint64 // when it is due, in nanoseconds of the monotonic clock
	key   uint64
}

// Queue holds the timers and work items of all maps, by the address of their field. Create it with
// [New].
type Queue struct {
	guest  *guest.Memory                      `snapshot:"fixed"`
	mapAt  func(addr uint64) (maps.Map, bool) `snapshot:"fixed"`
	items  map[uint64]Item
	armed  uint64   // number armed
	firing []firing // those whose callbacks are running: several only where runs are interleaved
}

// firing is a callback that is running: of the item at addr, on a CPU.
type firing struct {
	addr uint64
	cpu  int
}

// New returns an empty queue; mapAt finds maps by their handle.
func New(g *guest.Memory, mapAt func(addr uint64) (maps.Map, bool)) Queue {
	return Queue{guest: g, mapAt: mapAt}
}

// Item returns the timer or work item at a field; ok is false if none has been initialised there.
func (q *Queue) Item(addr uint64) (i Item, ok bool) {
	i, ok = q.items[addr]
	return i, ok
}

// Firing reports whether the callback of the item at addr is running.
func (q *Queue) Firing(addr uint64) bool {
	return slices.ContainsFunc(q.firing, func(f firing) bool { return f.addr == addr })
}

// FiringOn reports whether the callback of the item at addr is running on a CPU (hrtimer_running).
func (q *Queue) FiringOn(addr uint64, cpu int) bool {
	return slices.Contains(q.firing, firing{addr, cpu})
}

// Items lists the fields of all items, in the order of their addresses.
func (q *Queue) Items() []uint64 {
	if len(q.items) == 0 {
		return nil
	}
	return slices.Sorted(stdmaps.Keys(q.items))
}

// Pending lists the fields of the armed items, the one that is due first first.
func (q *Queue) Pending() []uint64 {
	var out []uint64
	for addr, i := range q.items {
		if i.Armed {
			out = append(out, addr)
		}
	}
	slices.SortFunc(out, func(a, b uint64) int { return q.items[a].before(q.items[b]) })
	return out
}

// before compares items by when they fire.
func (i Item) before(j Item) int { return cmp.Or(cmp.Compare(i.at, j.at), cmp.Compare(i.seq, j.seq)) }

// Init initialises a timer or work item in a field of a value of the map with that handle
// (__bpf_async_init): -EBUSY if it is already initialised.
func (q *Queue) Init(addr, mapAddr, clock uint64, kind Kind) (uapi.Errno, *vm.Action) {
	if _, f := q.guest.ReadU64(addr); f != nil {
		return 0, f
	}
	if _, ok := q.items[addr]; ok {
		return uapi.EBUSY, nil
	}
	return 0, q.set(addr, Item{m: mapAddr, Clock: clock, Kind: kind})
}

// set stores the state of an item. As long as there is one, the guest sees a pointer in the field.
func (q *Queue) set(addr uint64, i Item) *vm.Action {
	if q.items == nil {
		q.items = map[uint64]Item{}
	}
	_, had := q.items[addr]
	q.items[addr] = i
	if had {
		return nil
	}
	return q.guest.WriteField(addr, 8, addr)
}

// SetCallback sets the function that an item calls: -EINVAL if there is no item.
func (q *Queue) SetCallback(addr, fn uint64) (uapi.Errno, *vm.Action) {
	i, ok := q.items[addr]
	if !ok {
		return uapi.EINVAL, nil
	}
	i.Callback = fn
	return 0, q.set(addr, i)
}

// Arm makes an item due at a time of the monotonic clock, in nanoseconds, on a CPU.
func (q *Queue) Arm(addr, at uint64, cpu int) *vm.Action {
	i := q.items[addr]
	q.armed++
	i.Armed, i.at, i.seq, i.cpu = true, at, q.armed, cpu
	return q.set(addr, i)
}

// Cancel disarms an item. The kernel releases the program along with the callback, which must be
// set again before the next start.
func (q *Queue) Cancel(addr uint64) *vm.Action {
	i := q.items[addr]
	i.Armed, i.Callback = false, 0
	return q.set(addr, i)
}

// Disarm disarms an item, and keeps its callback for the next start.
func (q *Queue) Disarm(addr uint64) *vm.Action {
	i := q.items[addr]
	i.Armed = false
	return q.set(addr, i)
}

// Drop removes the item of a map element that is deleted.
func (q *Queue) Drop(addr uint64) { delete(q.items, addr) }

// Next returns when the next item is due, in nanoseconds of the monotonic clock; ok is false if
// none is armed.
func (q *Queue) Next() (at uint64, ok bool) {
	addr := q.next()
	if addr == 0 {
		return 0, false
	}
	return q.items[addr].at, true
}

// next returns the armed item that is due first. Sequence numbers are unique, so the map's
// iteration order does not matter.
func (q *Queue) next() uint64 {
	if len(q.items) == 0 { // asked before each packet of a replay
		return 0
	}
	var best uint64
	var first Item
	for addr, i := range q.items {
		if i.Armed && (best == 0 || i.before(first) < 0) {
			best, first = addr, i
		}
	}
	return best
}

// Take takes the next item that is due at now (monotonic nanoseconds) and disarms it; ok is false
// if there is none.
func (q *Queue) Take(now uint64) (c Callback, ok bool) {
	addr := q.next()
	if addr == 0 || q.items[addr].at > now {
		return Callback{}, false
	}
	return q.TakeAt(addr, q.items[addr].cpu)
}

// TakeAt takes the item at a field to a CPU, whenever it is due, and disarms it; ok is false if
// none is armed there.
func (q *Queue) TakeAt(addr uint64, cpu int) (c Callback, ok bool) {
	i := q.items[addr]
	if !i.Armed {
		return Callback{}, false
	}
	i.Armed = false
	q.items[addr] = i
	m, found := q.mapAt(i.m)
	if !found {
		return Callback{}, false
	}
	value := q.guest.Element(addr)
	c = Callback{Entry: i.Callback, CPU: cpu, Kind: i.Kind, Addr: addr, At: i.at}
	key := q.guest.Scratch(max(uint64(m.Spec().KeySize), 4), "key of "+m.Spec().Name)
	if key == nil {
		return Callback{}, false
	}
	c.key = key.Base
	if finder, ok := m.(maps.KeyFinder); ok {
		if b, _, ok := finder.KeyOf(value); ok {
			copy(q.guest.Bytes(key), b)
		}
	}
	c.Args = [5]uint64{m.Addr(), c.key, value}
	q.firing = append(slices.Clip(q.firing), firing{addr, cpu})
	return c, true
}

// End ends what Take or TakeAt began. Call it after the callback has run, whatever its result.
func (q *Queue) End(c Callback) {
	q.guest.EndScratch(c.key)
	q.firing = slices.DeleteFunc(slices.Clone(q.firing), func(f firing) bool { return f.addr == c.Addr })
}

// Snapshot records the queue. Fields in map values are part of the memory's snapshot.
func (q *Queue) Snapshot() (restore func()) {
	items, armed, firing := stdmaps.Clone(q.items), q.armed, slices.Clone(q.firing)
	return func() {
		if len(q.items)+len(items) > 0 {
			q.items = stdmaps.Clone(items)
		}
		q.armed, q.firing = armed, slices.Clone(firing)
	}
}
