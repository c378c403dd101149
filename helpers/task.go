package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var taskHelpers = []row{
	{ID: uapi.FuncGetCurrentPidTgid, Do: getCurrentPidTgid},
	{ID: uapi.FuncGetCurrentUidGid, Do: getCurrentUidGid},
	{ID: uapi.FuncGetCurrentComm, Do: getCurrentComm},
	{ID: uapi.FuncGetCurrentTask, Do: getCurrentTask},
	{ID: uapi.FuncGetCurrentTaskBtf, Do: getCurrentTask},
	{ID: uapi.FuncGetCurrentCgroupId, Do: getCurrentCgroupID},
	{ID: uapi.FuncGetCurrentAncestorCgroupId, Do: getCurrentAncestorCgroupID},
	{ID: uapi.FuncCurrentTaskUnderCgroup, Do: currentTaskUnderCgroup,
		Note: "of the current task in the default hierarchy"},
	{ID: uapi.FuncGetNsCurrentPidTgid, Do: getNsCurrentPidTgid},
	{ID: uapi.FuncTaskPtRegs, Do: taskPtRegs},
	{ID: uapi.FuncSendSignal, Do: sendSignal, Note: "recorded as an event"},
	{ID: uapi.FuncSendSignalThread, Do: sendSignal, Note: "recorded as an event"},
}

func getCurrentPidTgid(c *Call) (uint64, *vm.Action) {
	pid, tgid := c.Kernel.PidTgid()
	return uint64(tgid)<<32 | uint64(pid), nil
}

func getCurrentUidGid(c *Call) (uint64, *vm.Action) {
	uid, gid := c.Kernel.UidGid()
	return uint64(gid)<<32 | uint64(uid), nil
}

// getCurrentComm pads the name with zeros up to the size given (strscpy_pad, since 5.18;
// before that strncpy, with the same bytes).
func getCurrentComm(c *Call) (uint64, *vm.Action) {
	buf := c.Out(0)
	clear(buf)
	if len(buf) > 0 {
		copy(buf[:len(buf)-1], c.Kernel.Comm())
	}
	return 0, c.guest.Write(c.Args[0], buf)
}

func getCurrentTask(c *Call) (uint64, *vm.Action) {
	task := c.Kernel.Current()
	if task == nil {
		return 0, notSimulated("the current task: the kernel's types have no struct task_struct")
	}
	return task.Addr(), nil
}

func getCurrentCgroupID(c *Call) (uint64, *vm.Action) {
	return c.Kernel.CgroupID(), nil
}

func getCurrentAncestorCgroupID(c *Call) (uint64, *vm.Action) {
	return c.Kernel.AncestorCgroupID(int(int32(c.Args[0]))), nil
}

func currentTaskUnderCgroup(c *Call) (uint64, *vm.Action) { return c.underCgroup(c.Args[1]) }

// underCgroup checks the current task against the cgroup in a slot of the map argument.
func (c *Call) underCgroup(index uint64) (uint64, *vm.Action) {
	m := c.ref.m
	if uint64(uint32(index)) >= uint64(m.Spec().MaxEntries) {
		return errnoRet(uapi.E2BIG), nil
	}
	refs, ok := m.(maps.RefArray)
	if !ok {
		return 0, wrongMap(m)
	}
	ref, ok := refs.Ref(uint32(index))
	if !ok {
		return errnoRet(uapi.EAGAIN), nil
	}
	id, ok := cgroupOf(ref)
	if !ok {
		return 0, notSimulated(fmt.Sprintf("element %d of cgroup array %s, which is not a cgroup", uint32(index), m.Spec().Name))
	}
	for level := 0; ; level++ {
		own := c.Kernel.AncestorCgroupID(level)
		if own == 0 || own == id {
			return boolRet(own == id && own != 0), nil
		}
	}
}

// cgroupOf returns the id of an element of a cgroup array: an id, or the cgroup itself.
func cgroupOf(ref any) (uint64, bool) {
	switch ref := ref.(type) {
	case uint64:
		return ref, true
	case *object.Object:
		id, err := ref.Uint("kn.id")
		return id, err == nil
	}
	return 0, false
}

// getNsCurrentPidTgid fills struct bpf_pidns_info if dev and ino identify the task's pid namespace;
// otherwise it zeroes it and returns -EINVAL (bpf_get_ns_current_pid_tgid).
func getNsCurrentPidTgid(c *Call) (uint64, *vm.Action) {
	out := make([]byte, 8)
	errno := uapi.EINVAL
	if size := c.Args[3] & 0xffffffff; size != 8 {
		return c.zeroed(2, errno)
	}
	if dev, ino := c.Kernel.PidNamespace(); dev == c.Args[0] && ino == c.Args[1] {
		pid, tgid := c.Kernel.PidTgid()
		c.guest.Order().PutUint32(out, pid)
		c.guest.Order().PutUint32(out[4:], tgid)
		errno = 0
	}
	return errnoRet(errno), c.guest.Write(c.Args[2], out)
}

func taskPtRegs(c *Call) (uint64, *vm.Action) {
	addr, err := c.Kernel.TaskPtRegs(c.Args[0])
	if err != nil {
		return 0, notSimulated("bpf_task_pt_regs: " + err.Error())
	}
	return addr, nil
}

func sendSignal(c *Call) (uint64, *vm.Action) {
	sig := uint32(c.Args[0])
	// _NSIG is 64; bpf_send_signal_common refuses what valid_signal does.
	if sig > 64 {
		return errnoRet(uapi.EINVAL), nil
	}
	return 0, c.Run.emit(Event{Kind: Signal, Number: uint64(sig)})
}
