package helpers

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/helpers/proto"
	bpfmaps "github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var timerHelpers = []row{
	{ID: uapi.FuncTimerInit, Do: timerInit},
	{ID: uapi.FuncTimerSetCallback, Do: timerSetCallback},
	{ID: uapi.FuncTimerStart, Do: timerStart, Note: "fires between runs, on the simulated clock"},
	{ID: uapi.FuncTimerCancel, Do: timerCancel},
}

var workKfuncs = []kfuncRow{
	{Name: "bpf_wq_init", Args: []proto.Arg{argTimer, argMap, argAny}, Do: wqInit},
	{Name: "bpf_wq_set_callback_impl", Args: []proto.Arg{argTimer, argFunc, argAny, argAny}, Do: wqSetCallback},
	{Name: "bpf_wq_set_callback", Args: []proto.Arg{argTimer, argFunc, argAny}, Do: wqSetCallback},
	{Name: "bpf_wq_start", Args: []proto.Arg{argTimer, argAny}, Do: wqStart, Note: "runs between runs"},
}

// deferred is a timer or work item in a map value.
type deferred struct {
	m     uint64 // handle of the map
	clock uint64
	fn    uint64 // callback, 0 before it is set
	armed bool
	at    uint64 // when it fires, on the monotonic clock
	seq   uint64 // order among those that fire at the same time
	cpu   int
	work  bool
}

// Callback is a call the kernel makes by itself: of a timer or a work item that is due. Start the
// callback's code with [vm.Thread.StartAt] and these arguments, then call [Env.EndCallback].
type Callback struct {
	Entry uint64 // address of the function
	Args  [5]uint64
	CPU   int
	What  string // "timer" or "work"
	addr  uint64
	key   uint64
}

// NextCallback returns when the next timer or work item is due, in nanoseconds of the monotonic clock; ok is false when
// none is armed.
func (e *Env) NextCallback() (at uint64, ok bool) {
	d := e.nextDeferred()
	if d == 0 {
		return 0, false
	}
	return e.deferred[d].at, true
}

func (e *Env) nextDeferred() uint64 {
	var best uint64
	for _, addr := range slices.Sorted(maps.Keys(e.deferred)) {
		d := e.deferred[addr]
		if !d.armed {
			continue
		}
		if best == 0 || cmp.Or(cmp.Compare(d.at, e.deferred[best].at), cmp.Compare(d.seq, e.deferred[best].seq)) < 0 {
			best = addr
		}
	}
	return best
}

// TakeCallback takes the next timer or work item that is due by now (monotonic nanoseconds) and disarms it; ok is false
// when there is none.
func (e *Env) TakeCallback(now uint64) (c Callback, ok bool) {
	addr := e.nextDeferred()
	if addr == 0 || e.deferred[addr].at > now {
		return Callback{}, false
	}
	d := e.deferred[addr]
	d.armed = false
	e.deferred[addr] = d
	m, found := e.MapAt(d.m)
	if !found {
		return Callback{}, false
	}
	value := e.valueOf(addr)
	c = Callback{Entry: d.fn, CPU: d.cpu, What: "timer", addr: addr}
	if d.work {
		c.What = "work"
	}
	key := e.scratch(max(uint64(m.Spec().KeySize), 4), "key of "+m.Spec().Name)
	if key == nil {
		return Callback{}, false
	}
	c.key = key.Base
	if finder, ok := m.(bpfmaps.KeyFinder); ok {
		if b, _, ok := finder.KeyOf(value); ok {
			copy(e.Mem.Bytes(key), b)
		}
	}
	c.Args = [5]uint64{m.Addr(), c.key, value}
	e.firing = addr
	return c, true
}

// EndCallback ends what TakeCallback began. Call it after the callback's code ran, whatever its result.
func (e *Env) EndCallback(c Callback) {
	e.releaseScratch(c.key)
	e.firing = 0
}

// valueOf is the start of the map value that addr lies in.
func (e *Env) valueOf(addr uint64) uint64 {
	r := e.Mem.Find(addr)
	if r == nil {
		return addr
	}
	if _, off, ok := r.Elem(addr); ok {
		return addr - off
	}
	return r.Base
}

// setDeferred keeps the state of a timer. The guest sees a pointer in the field while there is one.
func (e *Env) setDeferred(addr uint64, d deferred) *vm.Action {
	if e.deferred == nil {
		e.deferred = map[uint64]deferred{}
	}
	_, had := e.deferred[addr]
	e.deferred[addr] = d
	if had {
		return nil
	}
	return e.writeField(addr, 8, addr)
}

// initDeferred is __bpf_async_init.
func (e *Env) initDeferred(addr, mapAddr, clock uint64, work bool) (uint64, *vm.Action) {
	if _, f := e.mapAt(mapAddr); f != nil {
		return 0, f
	}
	if _, f := e.readU64(addr); f != nil {
		return 0, f
	}
	if _, ok := e.deferred[addr]; ok {
		return errnoRet(uapi.EBUSY), nil
	}
	return 0, e.setDeferred(addr, deferred{m: mapAddr, clock: clock, work: work})
}

func timerInit(c *Call) (uint64, *vm.Action) {
	switch c.Args[2] {
	case uapi.ClockRealtime, uapi.ClockMonotonic, uapi.ClockBoottime:
		return c.initDeferred(c.Args[0], c.Args[1], c.Args[2], false)
	}
	return errnoRet(uapi.EINVAL), nil
}

func (e *Env) setCallback(addr, fn uint64) (uint64, *vm.Action) {
	d, ok := e.deferred[addr]
	if !ok {
		return errnoRet(uapi.EINVAL), nil
	}
	d.fn = fn
	return 0, e.setDeferred(addr, d)
}

func timerSetCallback(c *Call) (uint64, *vm.Action) {
	return c.setCallback(c.Args[0], c.Args[1])
}

func (e *Env) clock(id uint64) uint64 {
	switch c := e.Kernel.Clock(); id {
	case uapi.ClockRealtime:
		return c.Real()
	case uapi.ClockBoottime:
		return c.Boot()
	default:
		return c.Mono()
	}
}

// arm starts a timer or work item; at is on the monotonic clock.
func (e *Env) arm(t *vm.Thread, addr, at uint64) (uint64, *vm.Action) {
	d := e.deferred[addr]
	e.armed++
	d.armed, d.at, d.seq, d.cpu = true, at, e.armed, t.CPU
	return 0, e.setDeferred(addr, d)
}

func timerStart(c *Call) (uint64, *vm.Action) {
	d, ok := c.deferred[c.Args[0]]
	known := uint64(0)
	if c.Version >= uapi.VersionCode(6, 4) {
		known |= uapi.TimerAbs
	}
	if c.Version >= uapi.VersionCode(6, 7) {
		known |= uapi.TimerCPUPin
	}
	if c.Args[2]&^known != 0 || !ok || d.fn == 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	after := c.Args[1]
	if c.Args[2]&uapi.TimerAbs != 0 {
		after -= min(after, c.clock(d.clock))
	}
	at := c.Kernel.Clock().Mono() + after
	if at < after {
		at = ^uint64(0)
	}
	return c.arm(c.Thread, c.Args[0], at)
}

// timerCancel returns 1 when the timer was armed. In its own callback it would wait for itself: -EDEADLK.
func timerCancel(c *Call) (uint64, *vm.Action) {
	d, ok := c.deferred[c.Args[0]]
	switch {
	case !ok:
		return errnoRet(uapi.EINVAL), nil
	case c.firing == c.Args[0]:
		return errnoRet(uapi.EDEADLK), nil
	}
	// The kernel drops the program with its callback: a start needs it set again.
	cancelled := uint64(0)
	if d.armed {
		cancelled = 1
	}
	d.armed, d.fn = false, 0
	return cancelled, c.setDeferred(c.Args[0], d)
}

func wqInit(c *Call) (uint64, *vm.Action) {
	if c.Args[2] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return c.initDeferred(c.Args[0], c.Args[1], uapi.ClockMonotonic, true)
}

func wqSetCallback(c *Call) (uint64, *vm.Action) {
	if c.Args[2] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return c.setCallback(c.Args[0], c.Args[1])
}

func wqStart(c *Call) (uint64, *vm.Action) {
	if d, ok := c.deferred[c.Args[0]]; c.Args[1] != 0 || !ok || d.fn == 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return c.arm(c.Thread, c.Args[0], c.Kernel.Clock().Mono())
}

// FreeField releases what a special field of a deleted map element owns: it disarms timers and work items and gives
// back the object of a kptr. It fits [maps.Env.FreeField].
func (e *Env) FreeField(_ bpfmaps.Map, s bpfmaps.Special, addr uint64) {
	switch s.Kind {
	case bpfmaps.Timer, bpfmaps.Workqueue:
		delete(e.deferred, addr)
	case bpfmaps.Kptr, bpfmaps.KptrPercpu:
		if p, f := e.Mem.Load(addr, 8); f == nil && p != 0 {
			e.dropObject(p)
		}
	case bpfmaps.ListHead:
		e.dropNodes(addr)
	case bpfmaps.RBRoot:
		e.dropTree(addr)
	}
}
