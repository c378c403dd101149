package helpers

import (
	"slices"

	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Open-coded iterators over tasks and cgroups (kernel/bpf/task_iter.c, cgroup_iter.c). Programs
// hold a few opaque words: here the kind of the walk, the object it started at, and the object
// returned last.
var objectIterKfuncs = []kfuncRow{
	{Name: "bpf_iter_task_new", Args: []proto.Arg{argIter, argObject, argAny}, Do: iterTaskNew, Note: "over the tasks the machine knows"},
	{Name: "bpf_iter_task_next", Wide: true, Args: []proto.Arg{argIter}, Do: onWalk(iterTaskNext)},
	{Name: "bpf_iter_task_destroy", Args: []proto.Arg{argIter}, Do: iterForget},
	{Name: "bpf_iter_css_new", Args: []proto.Arg{argIter, argObject, argAny}, Do: iterCSSNew, Note: "over the cgroups of the default hierarchy"},
	{Name: "bpf_iter_css_next", Wide: true, Args: []proto.Arg{argIter}, Do: onWalk(iterCSSNext)},
	{Name: "bpf_iter_css_destroy", Args: []proto.Arg{argIter}, Do: iterForget},
	{Name: "bpf_iter_css_task_new", Args: []proto.Arg{argIter, argObject, argAny}, Do: iterCSSTaskNew, Note: "over the current task, in its own cgroup"},
	{Name: "bpf_iter_css_task_next", Wide: true, Args: []proto.Arg{argIter}, Do: iterCSSTaskNext},
	{Name: "bpf_iter_css_task_destroy", Args: []proto.Arg{argIter}, Do: iterForgetOne},
}

// Words of struct bpf_iter_task and bpf_iter_css.
const (
	walkAt    = 0  // the object returned last, 0 before the first
	walkStart = 8  // where the walk begins
	walkKind  = 16 // u32: what it visits; walkDone after the last
)

const walkDone = 0xffffffff

// Kinds of walks over tasks: BPF_TASK_ITER_ALL_PROCS and following.
const (
	allProcesses = iota
	allThreads
	processThreads
)

// walk is an iterator in the program's memory.
type walk struct {
	it    *guest.Fields
	start uint64
	kind  uint32
	at    uint64
}

func (c *Call) startWalk(start, kind uint64) *vm.Action {
	it := c.guest.At(c.Args[0])
	it.Set(walkAt, 8, 0)
	it.Set(walkStart, 8, start)
	it.Set(walkKind, 4, kind)
	return it.Fault
}

// walkAt reads the state of an iterator.
func (c *Call) walkAt(addr uint64) (walk, *vm.Action) {
	it := c.guest.At(addr)
	return walk{it: it, at: it.U64(walkAt), start: it.U64(walkStart), kind: it.U32(walkKind)}, it.Fault
}

// step moves to the object after the one returned last, or ends the walk.
func (w walk) step(list []uint64) (uint64, *vm.Action) {
	next := 0
	if w.at != 0 {
		next = slices.Index(list, w.at) + 1
		if next == 0 {
			next = len(list)
		}
	}
	if next >= len(list) {
		w.it.Set(walkKind, 4, walkDone)
		return 0, w.it.Fault
	}
	w.it.Set(walkAt, 8, list[next])
	return list[next], w.it.Fault
}

func iterTaskNew(c *Call) (uint64, *vm.Action) {
	switch kind := c.Args[2] & 0xffffffff; {
	case kind > processThreads, kind == processThreads && c.Args[1] == 0:
		return errnoRet(uapi.EINVAL), c.startWalk(0, walkDone)
	default:
		return 0, c.startWalk(c.Args[1], kind)
	}
}

func iterTaskNext(c *Call, w walk) (uint64, *vm.Action) {
	if w.kind == walkDone {
		return 0, nil
	}
	var list []uint64
	for _, task := range c.Kernel.Tasks(w.kind == allProcesses) {
		if w.kind == processThreads {
			own, err := task.Uint("tgid")
			of := c.Kernel.ObjectAt(w.start)
			if err != nil || of == nil {
				continue
			}
			if tgid, err := of.Uint("tgid"); err != nil || tgid != own {
				continue
			}
		}
		list = append(list, task.Addr())
	}
	return w.step(list)
}

func iterForget(c *Call) (uint64, *vm.Action) {
	return 0, c.startWalk(0, walkDone)
}

// Kinds of walks over cgroups: BPF_CGROUP_ITER_DESCENDANTS_PRE and following.
const (
	descendantsPre  = 2
	descendantsPost = 3
	ancestorsUp     = 4
)

func iterCSSNew(c *Call) (uint64, *vm.Action) {
	kind := c.Args[2] & 0xffffffff
	if kind < descendantsPre || kind > ancestorsUp {
		return errnoRet(uapi.EINVAL), c.startWalk(0, walkDone)
	}
	return 0, c.startWalk(c.Args[1], kind)
}

func iterCSSNext(c *Call, w walk) (uint64, *vm.Action) {
	if w.kind == walkDone || w.start == 0 {
		return 0, nil
	}
	list := c.Kernel.CgroupStates()
	level := slices.Index(list, w.start)
	switch {
	case level < 0:
		list = []uint64{w.start}
	case w.kind == ancestorsUp:
		list = list[:level+1]
		slices.Reverse(list)
	default:
		list = list[level:]
		if w.kind == descendantsPost {
			slices.Reverse(list)
		}
	}
	return w.step(list)
}

// struct bpf_iter_css_task is one word: the task to return next.
func iterCSSTaskNew(c *Call) (uint64, *vm.Action) {
	// 0, CSS_TASK_ITER_PROCS, or that with CSS_TASK_ITER_THREADED.
	if kind := c.Args[2] & 0xffffffff; kind != 0 && kind != 1 && kind != 3 {
		return errnoRet(uapi.EINVAL), c.guest.WriteU64(c.Args[0], 0)
	}
	states := c.Kernel.CgroupStates()
	task := c.Kernel.Current()
	if c.Args[1] != states[len(states)-1] || task == nil {
		return 0, c.guest.WriteU64(c.Args[0], 0)
	}
	return 0, c.guest.WriteU64(c.Args[0], task.Addr())
}

func iterCSSTaskNext(c *Call) (uint64, *vm.Action) {
	it := c.guest.At(c.Args[0])
	task := it.U64(0)
	it.Set(0, 8, 0)
	return task, it.Fault
}

func iterForgetOne(c *Call) (uint64, *vm.Action) {
	return 0, c.guest.WriteU64(c.Args[0], 0)
}
