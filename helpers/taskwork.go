package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/helpers/deferred"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Signals, and callbacks that run when a task returns to user space (kernel/bpf/helpers.c
// bpf_task_work_schedule).
var taskWorkKfuncs = []kfuncRow{
	{Name: "bpf_send_signal_task", Args: []proto.Arg{argObject, argAny, argAny, argAny}, Do: sendSignalTask, Note: "recorded as an event"},
	{Name: "bpf_task_work_schedule_signal", Args: []proto.Arg{argObject, argTimer, argMap, argFunc}, Do: taskWorkSchedule, Note: taskWorkNote},
	{Name: "bpf_task_work_schedule_resume", Args: []proto.Arg{argObject, argTimer, argMap, argFunc}, Do: taskWorkSchedule, Note: taskWorkNote},
	{Name: "bpf_task_work_schedule_signal_impl", Args: []proto.Arg{argObject, argTimer, argMap, argFunc, argAny}, Do: taskWorkSchedule, Note: taskWorkNote},
	{Name: "bpf_task_work_schedule_resume_impl", Args: []proto.Arg{argObject, argTimer, argMap, argFunc, argAny}, Do: taskWorkSchedule, Note: taskWorkNote},
	{Name: "bpf_timer_cancel_async", Args: []proto.Arg{argTimer}, Do: timerCancelAsync},
	{Name: "bpf_copy_from_user_task_str", Args: []proto.Arg{argOut, argSize, argPtr, argObject, argAny}, Do: copyFromUserTaskStr, Note: "every task shares the simulated user memory"},
}

const taskWorkNote = "runs between runs"

// Kinds of ids for signals (enum pid_type), and a flag of kernel threads.
const (
	pidTypeTGID  = 1
	kernelThread = 0x200000 // PF_KTHREAD
)

func (at *finder) taskAt(addr uint64) (*object.Object, *vm.Action) {
	if o := at.kernel.ObjectAt(addr); o != nil && o.TypeName() == "task_struct" {
		return o, nil
	}
	return nil, badArg("%#x is no task", addr)
}

// sendSignalTask refuses kernel threads and init, like bpf_send_signal_common.
func sendSignalTask(c *Call) (uint64, *vm.Action) {
	task, f := c.taskAt(c.Args[0])
	sig, kind := uint32(c.Args[1]), uint32(c.Args[2])
	switch {
	case f != nil:
		return 0, f
	case kind > pidTypeTGID:
		return errnoRet(uapi.EINVAL), nil
	case task.Num("flags")&kernelThread != 0, task.Num("tgid") == 1:
		return errnoRet(uapi.EPERM), nil
	case sig > 64:
		return errnoRet(uapi.EINVAL), nil
	}
	return 0, c.Run.emit(Event{Kind: TaskSignal, Number: uint64(sig), Detail: fmt.Sprintf("pid %d", task.Num("pid"))})
}

// taskWorkSchedule schedules a callback; -EBUSY if the previous one has not run yet.
func taskWorkSchedule(c *Call) (uint64, *vm.Action) {
	if _, f := c.taskAt(c.Args[0]); f != nil {
		return 0, f
	}
	work := c.Args[1]
	d, ok := c.Timers.Item(work)
	switch {
	case ok && (d.Armed || c.Timers.Firing(work)):
		return errnoRet(uapi.EBUSY), nil
	case !ok:
		if errno, f := c.Timers.Init(work, c.Args[2], uapi.ClockMonotonic, deferred.TaskWork); errno != 0 || f != nil {
			return errnoRet(errno), f
		}
	}
	if errno, f := c.Timers.SetCallback(work, c.Args[3]); errno != 0 || f != nil {
		return errnoRet(errno), f
	}
	return 0, c.Timers.Arm(work, c.Kernel.Clock().Mono(), c.Thread.CPU)
}

// timerCancelAsync does not wait: it returns 1 if the timer was armed, -1 if its callback is
// running (hrtimer_try_to_cancel). Unlike bpf_timer_cancel it keeps the callback.
func timerCancelAsync(c *Call) (uint64, *vm.Action) {
	d, ok := c.Timers.Item(c.Args[0])
	switch {
	case !ok:
		return errnoRet(uapi.EINVAL), nil
	case c.Timers.Firing(c.Args[0]):
		return ^uint64(0), nil
	}
	return boolRet(d.Armed), c.Timers.Disarm(c.Args[0])
}

// copyFromUserTaskStr accepts the flag of bpf_copy_from_user_str.
func copyFromUserTaskStr(c *Call) (uint64, *vm.Action) {
	if _, f := c.taskAt(c.Args[3]); f != nil {
		return 0, f
	}
	return c.copyUserStr(c.Args[4], true)
}
