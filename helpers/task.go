package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var taskHelpers = []Helper{
	{ID: uapi.FuncGetCurrentPidTgid, Topic: "task", Fn: getCurrentPidTgid},
	{ID: uapi.FuncGetCurrentUidGid, Topic: "task", Fn: getCurrentUidGid},
	{ID: uapi.FuncGetCurrentComm, Topic: "task", Args: []Arg{ArgOut, ArgSize}, Fn: getCurrentComm},
	{ID: uapi.FuncGetCurrentTask, Topic: "task", Fn: getCurrentTask},
	{ID: uapi.FuncGetCurrentTaskBtf, Topic: "task", Fn: getCurrentTask},
	{ID: uapi.FuncGetCurrentCgroupId, Topic: "task", Fn: getCurrentCgroupID},
	{ID: uapi.FuncGetCurrentAncestorCgroupId, Topic: "task", Args: []Arg{ArgAny}, Fn: getCurrentAncestorCgroupID},
	{ID: uapi.FuncCurrentTaskUnderCgroup, Topic: "task", Args: []Arg{ArgMap, ArgAny}, Fn: currentTaskUnderCgroup,
		Note: "of the current task in the default hierarchy"},
	{ID: uapi.FuncGetNsCurrentPidTgid, Topic: "task", Args: []Arg{ArgAny, ArgAny, ArgOut, ArgSize}, Fn: getNsCurrentPidTgid},
	{ID: uapi.FuncTaskPtRegs, Topic: "task", Args: []Arg{ArgObject}, Fn: taskPtRegs},
	{ID: uapi.FuncSendSignal, Topic: "task", Args: []Arg{ArgAny}, Fn: sendSignal, Note: "recorded as an event"},
	{ID: uapi.FuncSendSignalThread, Topic: "task", Args: []Arg{ArgAny}, Fn: sendSignal, Note: "recorded as an event"},
}

func getCurrentPidTgid(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	pid, tgid := envOf(t).Kernel.PidTgid()
	return uint64(tgid)<<32 | uint64(pid), nil
}

func getCurrentUidGid(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	uid, gid := envOf(t).Kernel.UidGid()
	return uint64(gid)<<32 | uint64(uid), nil
}

// getCurrentComm pads the name with zeros up to the size given (strscpy_pad, since 5.18;
// before that strncpy, with the same bytes).
func getCurrentComm(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	buf, f := e.out(a[0], a[1]&0xffffffff)
	if f != nil {
		return 0, f
	}
	clear(buf)
	if len(buf) > 0 {
		copy(buf[:len(buf)-1], e.Kernel.Comm())
	}
	return 0, e.write(a[0], buf)
}

func getCurrentTask(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	task := envOf(t).Kernel.Current()
	if task == nil {
		return 0, notSimulated("the current task: the target's types have no struct task_struct")
	}
	return task.Addr(), nil
}

func getCurrentCgroupID(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).Kernel.CgroupID(), nil
}

func getCurrentAncestorCgroupID(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).Kernel.AncestorCgroupID(int(int32(a[0]))), nil
}

func currentTaskUnderCgroup(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	m, f := e.mapAt(a[0])
	if f != nil {
		return 0, f
	}
	if uint64(uint32(a[1])) >= uint64(m.Spec().MaxEntries) {
		return errnoRet(uapi.E2BIG), nil
	}
	refs, ok := m.(maps.RefArray)
	if !ok {
		return 0, wrongMap(m)
	}
	ref, ok := refs.Ref(uint32(a[1]))
	if !ok {
		return errnoRet(uapi.EAGAIN), nil
	}
	id, ok := cgroupOf(ref)
	if !ok {
		return 0, notSimulated(fmt.Sprintf("cgroup array %s holds a %T", m.Spec().Name, ref))
	}
	for level := 0; ; level++ {
		own := e.Kernel.AncestorCgroupID(level)
		if own == 0 || own == id {
			return boolRet(own == id && own != 0), nil
		}
	}
}

// cgroupOf is the id of what a cgroup array holds: an id or the cgroup itself.
func cgroupOf(ref any) (uint64, bool) {
	switch ref := ref.(type) {
	case uint64:
		return ref, true
	case *kernel.Object:
		id, err := ref.Uint("kn.id")
		return id, err == nil
	}
	return 0, false
}

// getNsCurrentPidTgid fills struct bpf_pidns_info when dev and ino name the task's pid
// namespace; otherwise it zeroes it and returns -EINVAL (bpf_get_ns_current_pid_tgid).
func getNsCurrentPidTgid(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	out := make([]byte, 8)
	errno := uapi.EINVAL
	if size := a[3] & 0xffffffff; size != 8 {
		buf, f := e.out(a[2], size)
		if f != nil {
			return 0, f
		}
		clear(buf)
		return errnoRet(errno), e.write(a[2], buf)
	}
	if dev, ino := e.Kernel.PidNamespace(); dev == a[0] && ino == a[1] {
		pid, tgid := e.Kernel.PidTgid()
		e.order().PutUint32(out, pid)
		e.order().PutUint32(out[4:], tgid)
		errno = 0
	}
	return errnoRet(errno), e.write(a[2], out)
}

func taskPtRegs(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	addr, err := envOf(t).Kernel.TaskPtRegs(a[0])
	if err != nil {
		return 0, notSimulated("bpf_task_pt_regs: " + err.Error())
	}
	return addr, nil
}

func sendSignal(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	sig := uint32(a[0])
	// _NSIG is 64; bpf_send_signal_common refuses what valid_signal does.
	if sig > 64 {
		return errnoRet(uapi.EINVAL), nil
	}
	return 0, envOf(t).Run.emit(Event{Kind: "signal", Number: uint64(sig)})
}
