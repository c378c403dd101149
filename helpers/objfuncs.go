package helpers

import (
	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfuncs that acquire, release and relate kernel objects.
var objectKfuncs = []kfuncRow{
	{Name: "bpf_task_from_pid", Wide: true, Args: []proto.Arg{argAny}, Do: taskFromPID, Note: "finds the tasks the machine knows"},
	{Name: "bpf_task_from_vpid", Wide: true, Args: []proto.Arg{argAny}, Do: taskFromPID, Note: "finds the tasks the machine knows; one pid namespace"},
	{Name: "bpf_task_acquire", Wide: true, Args: []proto.Arg{argObject}, Do: acquire},
	{Name: "bpf_task_release", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_cgroup_from_id", Wide: true, Args: []proto.Arg{argAny}, Do: cgroupFromID},
	{Name: "bpf_cgroup_acquire", Wide: true, Args: []proto.Arg{argObject}, Do: acquire},
	{Name: "bpf_cgroup_release", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_cgroup_ancestor", Wide: true, Args: []proto.Arg{argObject, argAny}, Do: cgroupAncestor},
	{Name: "bpf_task_under_cgroup", Wide: true, Args: []proto.Arg{argObject, argObject}, Do: taskUnderCgroup},
	{Name: "bpf_get_task_exe_file", Wide: true, Args: []proto.Arg{argObject}, Do: getTaskExeFile},
	{Name: "bpf_put_file", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_path_d_path", Args: []proto.Arg{argObject, argOut, argSize}, Do: dPath},
	{Name: "bpf_arena_alloc_pages", Wide: true, Args: []proto.Arg{argMap, argAny, argAny, argAny, argAny}, Do: onArena(0, arenaAllocPages)},
	{Name: "bpf_arena_free_pages", Args: []proto.Arg{argMap, argAny, argAny}, Do: onArena(0, arenaFreePages)},
	{Name: "bpf_arena_reserve_pages", Args: []proto.Arg{argMap, argAny, argAny}, Do: onArena(uapi.EINVAL, arenaReservePages)},
	{Name: "bpf_res_spin_lock", Args: []proto.Arg{argLock}, Do: resSpinLock},
	{Name: "bpf_res_spin_unlock", Args: []proto.Arg{argLock}, Do: spinUnlock},
	{Name: "bpf_copy_from_user_str", Args: []proto.Arg{argOut, argSize, argPtr, argAny}, Do: copyFromUserStr},
}

func taskFromPID(c *Call) (uint64, *vm.Action) {
	return c.take(c.Kernel.TaskByPID(uint32(c.Args[0])), "task")
}

func acquire(c *Call) (uint64, *vm.Action) {
	o := c.Kernel.ObjectAt(c.Args[0])
	if o == nil {
		return 0, badArg("a reference to %#x, which is not a kernel object", c.Args[0])
	}
	c.Run.Held.Take(held.Reference, c.Args[0], o.TypeName())
	return c.Args[0], nil
}

func releaseObject(c *Call) (uint64, *vm.Action) {
	return 0, c.give("release", held.Reference, c.Args[0])
}

func cgroupFromID(c *Call) (uint64, *vm.Action) {
	return c.take(c.Kernel.CgroupByID(c.Args[0]), "cgroup")
}

// cgroupChain returns a cgroup and its ancestors by level.
func cgroupChain(o *object.Object) []*object.Object {
	level, err := o.Uint("level")
	const most = 64 // nesting
	if err != nil || level > most {
		return nil
	}
	out := make([]*object.Object, level+1)
	out[level] = o
	for i := range out[:level] {
		for _, path := range [...]string{"ancestors", "_low_ancestors"} {
			if p, err := o.Pointee(path + "[" + string(rune('0'+i)) + "]"); err == nil && p != nil && i < 10 {
				out[i] = p
				break
			}
		}
	}
	return out
}

func cgroupAncestor(c *Call) (uint64, *vm.Action) {
	o := c.Kernel.ObjectAt(c.Args[0])
	if o == nil {
		return 0, badArg("bpf_cgroup_ancestor of %#x, which is not a cgroup", c.Args[0])
	}
	chain, level := cgroupChain(o), int(int32(uint32(c.Args[1])))
	if level < 0 || level >= len(chain) {
		return 0, nil
	}
	return c.take(chain[level], "cgroup")
}

func taskUnderCgroup(c *Call) (uint64, *vm.Action) {
	task, ancestor := c.Kernel.ObjectAt(c.Args[0]), c.Kernel.ObjectAt(c.Args[1])
	if task == nil || ancestor == nil {
		return 0, badArg("bpf_task_under_cgroup of %#x and %#x: not a task and a cgroup", c.Args[0], c.Args[1])
	}
	own, err := task.Pointee("cgroups.dfl_cgrp")
	if err != nil || own == nil {
		return 0, notSimulated("bpf_task_under_cgroup: the task has no cgroup")
	}
	for _, o := range cgroupChain(own) {
		if o == ancestor {
			return 1, nil
		}
	}
	return 0, nil
}

func getTaskExeFile(c *Call) (uint64, *vm.Action) {
	task := c.Kernel.ObjectAt(c.Args[0])
	if task == nil {
		return 0, badArg("bpf_get_task_exe_file of %#x, which is not a task", c.Args[0])
	}
	file, err := task.Pointee("mm.exe_file")
	if err != nil {
		return 0, nil // a kernel thread has no address space
	}
	return c.take(file, "file")
}

// arenaAllocPages returns NULL for flags, for no pages and when the arena is full. onArena makes
// implementations that give another map back with an error (bpf_arena_alloc_pages and its like look
// at the map's type).
func onArena(otherwise uapi.Errno, do func(*Call, maps.Arena) (uint64, *vm.Action)) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		arena, ok := c.ref.m.(maps.Arena)
		if !ok {
			return errnoRet(otherwise), nil
		}
		return do(c, arena)
	}
}

func arenaAllocPages(c *Call, arena maps.Arena) (uint64, *vm.Action) {
	const anyNode = -1 // NUMA_NO_NODE; the machine has one node
	if node := int32(uint32(c.Args[3])); c.Args[4] != 0 || uint32(c.Args[2]) == 0 || node != anyNode && node != 0 {
		return 0, nil
	}
	return arena.AllocPages(c.Args[1], uint32(c.Args[2])), nil
}

func arenaFreePages(c *Call, arena maps.Arena) (uint64, *vm.Action) {
	if c.Args[1] != 0 && uint32(c.Args[2]) != 0 {
		arena.FreePages(c.Args[1], uint32(c.Args[2]))
	}
	return 0, nil
}

func arenaReservePages(c *Call, arena maps.Arena) (uint64, *vm.Action) {
	return errnoRet(arena.ReservePages(c.Args[1], uint32(c.Args[2]))), nil
}

// resSpinLock detects deadlocks instead of waiting: -EDEADLK for a lock that this program holds.
func resSpinLock(c *Call) (uint64, *vm.Action) {
	if c.lock != 0 {
		return errnoRet(uapi.EDEADLK), nil
	}
	return 0, c.takeLock()
}

// copyFromUserStr copies a string and returns its length including the NUL. Unlike the probe
// helpers it can zero the rest of the buffer (flag 1, BPF_F_PAD_ZEROS).
func copyFromUserStr(c *Call) (uint64, *vm.Action) {
	if c.Args[1]&0xffffffff == 1 && c.Args[3]&^uint64(padZeros) == 0 {
		return 1, c.guest.Write(c.Args[0], []byte{0}) // room for the NUL alone: strncpy_from_user reads nothing
	}
	return c.copyUserStr(c.Args[3], false)
}

const padZeros = 1 // BPF_F_PAD_ZEROS

// copyUserStr copies a string of user memory at the third argument to the buffer of the first two.
// If that fails, the buffer is zeroed with BPF_F_PAD_ZEROS; else it stays as it is, or with
// terminates becomes an empty string.
func (c *Call) copyUserStr(flags uint64, terminates bool) (uint64, *vm.Action) {
	size := c.Args[1] & 0xffffffff
	if flags&^uint64(padZeros) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	if size == 0 {
		return 0, nil
	}
	buf := c.Out(0)
	clear(buf)
	n, errno, f := c.probe.String((*guest.Prober).User, c.Args[2], buf)
	switch {
	case f != nil:
		return 0, f
	case errno != 0:
		clear(buf)
		switch {
		case flags == padZeros:
			return errnoRet(errno), c.guest.Write(c.Args[0], buf)
		case terminates:
			return errnoRet(errno), c.guest.Write(c.Args[0], buf[:1])
		}
		return errnoRet(errno), nil
	case flags == padZeros:
		clear(buf[n:])
		return uint64(n), c.guest.Write(c.Args[0], buf)
	}
	return uint64(n), c.guest.Write(c.Args[0], buf[:n])
}
