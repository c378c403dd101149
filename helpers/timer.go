package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/deferred"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
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

func timerInit(c *Call) (uint64, *vm.Action) {
	switch c.Args[2] {
	case uapi.ClockRealtime, uapi.ClockMonotonic, uapi.ClockBoottime:
		return c.initDeferred(c.Args[2], deferred.Timer)
	}
	return errnoRet(uapi.EINVAL), nil
}

func (c *Call) initDeferred(clock uint64, kind deferred.Kind) (uint64, *vm.Action) {
	errno, f := c.Timers.Init(c.Args[0], c.Args[1], clock, kind)
	return errnoRet(errno), f
}

func timerSetCallback(c *Call) (uint64, *vm.Action) {
	errno, f := c.Timers.SetCallback(c.Args[0], c.Args[1])
	return errnoRet(errno), f
}

// now returns the time of a clock in nanoseconds, by clock number.
func now(k *kernel.Kernel, id uint64) uint64 {
	switch c := k.Clock(); id {
	case uapi.ClockRealtime:
		return c.Real()
	case uapi.ClockBoottime:
		return c.Boot()
	default:
		return c.Mono()
	}
}

func timerStart(c *Call) (uint64, *vm.Action) {
	d, ok := c.Timers.Item(c.Args[0])
	known := uint64(0)
	if c.has(since.TimerAbs) {
		known |= uapi.TimerAbs
	}
	if c.has(since.TimerCPUPin) {
		known |= uapi.TimerCPUPin
	}
	if c.Args[2]&^known != 0 || !ok || d.Callback == 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	after := c.Args[1]
	if c.Args[2]&uapi.TimerAbs != 0 {
		after -= min(after, now(c.Kernel, d.Clock))
	}
	at := c.Kernel.Clock().Mono() + after
	if at < after {
		at = ^uint64(0)
	}
	return 0, c.Timers.Arm(c.Args[0], at, c.Thread.CPU)
}

// timerCancel returns 1 if the timer was armed. On the CPU of its callback, whether in that or in
// what runs in the middle of it, it would wait for itself: -EDEADLK, or -EOPNOTSUPP where it does
// not work in interrupts at all. A callback that runs elsewhere is waited for: where runs are
// interleaved, the call is executed only when that has ended, if it does not fail: in a callback
// that the other one waits for, and in interrupts.
func timerCancel(c *Call) (uint64, *vm.Action) {
	d, ok := c.Timers.Item(c.Args[0])
	interrupt := c.Run.Callback == 0
	switch {
	case !ok:
		return errnoRet(uapi.EINVAL), nil
	case c.Timers.FiringOn(c.Args[0], c.Thread.CPU) && !(interrupt && c.has(since.TracingTimers)), c.Timers.Firing(c.Args[0]) && !interrupt:
		return errnoRet(uapi.EDEADLK), nil
	case c.Timers.Firing(c.Args[0]):
		return errnoRet(uapi.EOPNOTSUPP), nil
	}
	return boolRet(d.Armed), c.Timers.Cancel(c.Args[0])
}

func wqInit(c *Call) (uint64, *vm.Action) {
	if c.Args[2] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return c.initDeferred(uapi.ClockMonotonic, deferred.Work)
}

func wqSetCallback(c *Call) (uint64, *vm.Action) {
	if c.Args[2] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return timerSetCallback(c)
}

func wqStart(c *Call) (uint64, *vm.Action) {
	if d, ok := c.Timers.Item(c.Args[0]); c.Args[1] != 0 || !ok || d.Callback == 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return 0, c.Timers.Arm(c.Args[0], c.Kernel.Clock().Mono(), c.Thread.CPU)
}
