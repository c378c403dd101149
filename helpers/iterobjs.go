package helpers

import (
	"slices"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Open-coded iterators over tasks and cgroups (kernel/bpf/task_iter.c, cgroup_iter.c). Programs hold a few opaque words: here the
// kind of the walk, the object it started at, and the one returned last.
var objectIterKfuncs = []kfuncRow{
	{Name: "bpf_iter_task_new", Args: []proto.Arg{argIter, argObject, argAny}, Do: iterTaskNew, Note: "over the tasks the machine knows"},
	{Name: "bpf_iter_task_next", Wide: true, Args: []proto.Arg{argIter}, Do: iterTaskNext},
	{Name: "bpf_iter_task_destroy", Args: []proto.Arg{argIter}, Do: iterForget},
	{Name: "bpf_iter_css_new", Args: []proto.Arg{argIter, argObject, argAny}, Do: iterCSSNew, Note: "over the cgroups of the default hierarchy"},
	{Name: "bpf_iter_css_next", Wide: true, Args: []proto.Arg{argIter}, Do: iterCSSNext},
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

func (e *Env) startWalk(it, start, kind uint64) *vm.Action {
	for _, w := range [...][2]uint64{{walkAt, 0}, {walkStart, start}} {
		if f := e.writeU64(it+w[0], w[1]); f != nil {
			return f
		}
	}
	return e.writeU32(it+walkKind, uint32(kind))
}

// walk reads the state of an iterator.
func (e *Env) walk(it uint64) (at, start uint64, kind uint32, f *vm.Action) {
	if at, f = e.readU64(it + walkAt); f != nil {
		return
	}
	if start, f = e.readU64(it + walkStart); f != nil {
		return
	}
	kind, f = e.readU32(it + walkKind)
	return
}

// step goes to the object behind at in a list, or ends the walk.
func (e *Env) step(it, at uint64, list []uint64) (uint64, *vm.Action) {
	next := 0
	if at != 0 {
		next = slices.Index(list, at) + 1
		if next == 0 {
			next = len(list)
		}
	}
	if next >= len(list) {
		return 0, e.writeU32(it+walkKind, walkDone)
	}
	return list[next], e.writeU64(it+walkAt, list[next])
}

func iterTaskNew(c *Call) (uint64, *vm.Action) {
	switch kind := c.Args[2] & 0xffffffff; {
	case kind > processThreads, kind == processThreads && c.Args[1] == 0:
		return errnoRet(uapi.EINVAL), c.startWalk(c.Args[0], 0, walkDone)
	default:
		return 0, c.startWalk(c.Args[0], c.Args[1], kind)
	}
}

func iterTaskNext(c *Call) (uint64, *vm.Action) {
	at, start, kind, f := c.walk(c.Args[0])
	if f != nil || kind == walkDone {
		return 0, f
	}
	var list []uint64
	for _, task := range c.Kernel.Tasks(kind == allProcesses) {
		if kind == processThreads {
			own, err := task.Uint("tgid")
			of := c.Kernel.ObjectAt(start)
			if err != nil || of == nil {
				continue
			}
			if tgid, err := of.Uint("tgid"); err != nil || tgid != own {
				continue
			}
		}
		list = append(list, task.Addr())
	}
	return c.step(c.Args[0], at, list)
}

func iterForget(c *Call) (uint64, *vm.Action) {
	return 0, c.startWalk(c.Args[0], 0, walkDone)
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
		return errnoRet(uapi.EINVAL), c.startWalk(c.Args[0], 0, walkDone)
	}
	return 0, c.startWalk(c.Args[0], c.Args[1], kind)
}

func iterCSSNext(c *Call) (uint64, *vm.Action) {
	at, start, kind, f := c.walk(c.Args[0])
	if f != nil || kind == walkDone || start == 0 {
		return 0, f
	}
	list := c.Kernel.CgroupStates()
	level := slices.Index(list, start)
	switch {
	case level < 0:
		list = []uint64{start}
	case kind == ancestorsUp:
		list = list[:level+1]
		slices.Reverse(list)
	default:
		list = list[level:]
		if kind == descendantsPost {
			slices.Reverse(list)
		}
	}
	return c.step(c.Args[0], at, list)
}

// struct bpf_iter_css_task is one word: the task to return next.
func iterCSSTaskNew(c *Call) (uint64, *vm.Action) {
	// 0, CSS_TASK_ITER_PROCS, or that with CSS_TASK_ITER_THREADED.
	if kind := c.Args[2] & 0xffffffff; kind != 0 && kind != 1 && kind != 3 {
		return errnoRet(uapi.EINVAL), c.writeU64(c.Args[0], 0)
	}
	states := c.Kernel.CgroupStates()
	task := c.Kernel.Current()
	if c.Args[1] != states[len(states)-1] || task == nil {
		return 0, c.writeU64(c.Args[0], 0)
	}
	return 0, c.writeU64(c.Args[0], task.Addr())
}

func iterCSSTaskNext(c *Call) (uint64, *vm.Action) {
	task, f := c.readU64(c.Args[0])
	if f != nil {
		return 0, f
	}
	return task, c.writeU64(c.Args[0], 0)
}

func iterForgetOne(c *Call) (uint64, *vm.Action) {
	return 0, c.writeU64(c.Args[0], 0)
}
