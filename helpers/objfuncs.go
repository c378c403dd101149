package helpers

import (
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfuncs that acquire, release and relate kernel objects.
var objectKfuncs = []Kfunc{
	{Name: "bpf_task_from_pid", Wide: true, Topic: "tasks", Args: []Arg{ArgAny}, Fn: taskFromPID, Note: "finds the tasks the machine knows"},
	{Name: "bpf_task_from_vpid", Wide: true, Topic: "tasks", Args: []Arg{ArgAny}, Fn: taskFromPID, Note: "finds the tasks the machine knows; one pid namespace"},
	{Name: "bpf_task_acquire", Wide: true, Topic: "tasks", Args: []Arg{ArgObject}, Fn: acquire},
	{Name: "bpf_task_release", Topic: "tasks", Args: []Arg{ArgObject}, Fn: releaseObject},
	{Name: "bpf_cgroup_from_id", Wide: true, Topic: "cgroups", Args: []Arg{ArgAny}, Fn: cgroupFromID},
	{Name: "bpf_cgroup_acquire", Wide: true, Topic: "cgroups", Args: []Arg{ArgObject}, Fn: acquire},
	{Name: "bpf_cgroup_release", Topic: "cgroups", Args: []Arg{ArgObject}, Fn: releaseObject},
	{Name: "bpf_cgroup_ancestor", Wide: true, Topic: "cgroups", Args: []Arg{ArgObject, ArgAny}, Fn: cgroupAncestor},
	{Name: "bpf_task_under_cgroup", Wide: true, Topic: "cgroups", Args: []Arg{ArgObject, ArgObject}, Fn: taskUnderCgroup},
	{Name: "bpf_get_task_exe_file", Wide: true, Topic: "files", Args: []Arg{ArgObject}, Fn: getTaskExeFile},
	{Name: "bpf_put_file", Topic: "files", Args: []Arg{ArgObject}, Fn: releaseObject},
	{Name: "bpf_path_d_path", Topic: "files", Args: []Arg{ArgObject, ArgOut, ArgSize}, Fn: dPath},
	{Name: "bpf_arena_alloc_pages", Wide: true, Topic: "arenas", Args: []Arg{ArgMap, ArgAny, ArgAny, ArgAny, ArgAny}, Fn: arenaAllocPages},
	{Name: "bpf_arena_free_pages", Topic: "arenas", Args: []Arg{ArgMap, ArgAny, ArgAny}, Fn: arenaFreePages},
	{Name: "bpf_arena_reserve_pages", Topic: "arenas", Args: []Arg{ArgMap, ArgAny, ArgAny}, Fn: arenaReservePages},
	{Name: "bpf_res_spin_lock", Topic: "locks", Args: []Arg{ArgLock}, Fn: resSpinLock},
	{Name: "bpf_res_spin_unlock", Topic: "locks", Args: []Arg{ArgLock}, Fn: spinUnlock},
	{Name: "bpf_copy_from_user_str", Topic: "memory", Args: []Arg{ArgOut, ArgSize, ArgPtr, ArgAny}, Fn: copyFromUserStr},
}

// take returns an object with a reference the program must give back; NULL for none.
func (e *Env) take(o *kernel.Object, what string) (uint64, *vm.Action) {
	if o == nil {
		return 0, nil
	}
	e.Run.hold(o.Addr(), what)
	return o.Addr(), nil
}

func taskFromPID(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	return e.take(e.Kernel.TaskByPID(uint32(a[0])), "task")
}

func acquire(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	o := e.Kernel.ObjectAt(a[0])
	if o == nil {
		return 0, badArg("a reference to %#x, which is no kernel object", a[0])
	}
	e.Run.hold(a[0], o.TypeName())
	return a[0], nil
}

func releaseObject(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	if !envOf(t).Run.release(a[0]) {
		return 0, badArg("release of %#x, to which this program holds no reference", a[0])
	}
	return 0, nil
}

func cgroupFromID(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	return e.take(e.Kernel.CgroupByID(a[0]), "cgroup")
}

// cgroupChain returns a cgroup and its ancestors by level.
func cgroupChain(o *kernel.Object) []*kernel.Object {
	level, err := o.Uint("level")
	const most = 64 // nesting
	if err != nil || level > most {
		return nil
	}
	out := make([]*kernel.Object, level+1)
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

func cgroupAncestor(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	o := e.Kernel.ObjectAt(a[0])
	if o == nil {
		return 0, badArg("bpf_cgroup_ancestor of %#x, which is no cgroup", a[0])
	}
	chain, level := cgroupChain(o), int(int32(uint32(a[1])))
	if level < 0 || level >= len(chain) {
		return 0, nil
	}
	return e.take(chain[level], "cgroup")
}

func taskUnderCgroup(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	task, ancestor := e.Kernel.ObjectAt(a[0]), e.Kernel.ObjectAt(a[1])
	if task == nil || ancestor == nil {
		return 0, badArg("bpf_task_under_cgroup of %#x and %#x: not a task and a cgroup", a[0], a[1])
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

func getTaskExeFile(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	task := e.Kernel.ObjectAt(a[0])
	if task == nil {
		return 0, badArg("bpf_get_task_exe_file of %#x, which is no task", a[0])
	}
	file, err := task.Pointee("mm.exe_file")
	if err != nil {
		return 0, nil // a kernel thread has no address space
	}
	return e.take(file, "file")
}

func (e *Env) arenaAt(addr uint64) (maps.Arena, *vm.Action) {
	m, f := e.mapAt(addr)
	if f != nil {
		return nil, f
	}
	arena, ok := m.(maps.Arena)
	if !ok {
		return nil, wrongMap(m)
	}
	return arena, nil
}

// arenaAllocPages returns NULL for flags, for no pages and when the arena is full.
func arenaAllocPages(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	arena, f := envOf(t).arenaAt(a[0])
	if f != nil {
		return 0, f
	}
	const anyNode = -1 // NUMA_NO_NODE; the machine has one node
	if node := int32(uint32(a[3])); a[4] != 0 || uint32(a[2]) == 0 || node != anyNode && node != 0 {
		return 0, nil
	}
	return arena.AllocPages(a[1], uint32(a[2])), nil
}

func arenaFreePages(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	arena, f := envOf(t).arenaAt(a[0])
	if f != nil {
		return 0, f
	}
	if a[1] != 0 && uint32(a[2]) != 0 {
		arena.FreePages(a[1], uint32(a[2]))
	}
	return 0, nil
}

func arenaReservePages(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	arena, f := envOf(t).arenaAt(a[0])
	if f != nil {
		return 0, f
	}
	return errnoRet(arena.ReservePages(a[1], uint32(a[2]))), nil
}

// resSpinLock finds a deadlock instead of waiting: -EDEADLK for a lock this program holds.
func resSpinLock(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	v, f := e.readU32(a[0])
	if f != nil {
		return 0, f
	}
	if v != 0 {
		return errnoRet(uapi.EDEADLK), nil
	}
	e.Run.hold(a[0], "spin lock")
	return 0, e.writeU32(a[0], 1)
}

// copyFromUserStr copies a string and returns its length with the NUL. Unlike the probe helpers it can be asked to zero
// what is behind it (flag 1, BPF_F_PAD_ZEROS).
func copyFromUserStr(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	const pad = 1
	size := a[1] & 0xffffffff
	if a[3]&^uint64(pad) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	if size == 0 {
		return 0, nil
	}
	buf, f := e.out(a[0], size)
	if f != nil {
		return 0, f
	}
	clear(buf)
	n, errno, f := readString(e, userSpace, a[2], buf)
	switch {
	case f != nil:
		return 0, f
	case errno != 0:
		clear(buf)
		return errnoRet(errno), e.write(a[0], buf)
	case a[3] == pad:
		clear(buf[n:])
		return uint64(n), e.write(a[0], buf)
	}
	return uint64(n), e.write(a[0], buf[:n])
}
