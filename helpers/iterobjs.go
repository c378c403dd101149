package helpers

import (
	"slices"

	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Open-coded iterators over tasks and cgroups (kernel/bpf/task_iter.c, cgroup_iter.c). Programs hold a few opaque words: here the
// kind of the walk, the object it started at, and the one returned last.
var objectIterKfuncs = []Kfunc{
	{Name: "bpf_iter_task_new", Topic: "iterators", Args: []Arg{ArgIter, ArgObject, ArgAny}, Fn: iterTaskNew, Note: "over the tasks the machine knows"},
	{Name: "bpf_iter_task_next", Wide: true, Topic: "iterators", Args: []Arg{ArgIter}, Fn: iterTaskNext},
	{Name: "bpf_iter_task_destroy", Topic: "iterators", Args: []Arg{ArgIter}, Fn: iterForget},
	{Name: "bpf_iter_css_new", Topic: "iterators", Args: []Arg{ArgIter, ArgObject, ArgAny}, Fn: iterCSSNew, Note: "over the cgroups of the default hierarchy"},
	{Name: "bpf_iter_css_next", Wide: true, Topic: "iterators", Args: []Arg{ArgIter}, Fn: iterCSSNext},
	{Name: "bpf_iter_css_destroy", Topic: "iterators", Args: []Arg{ArgIter}, Fn: iterForget},
	{Name: "bpf_iter_css_task_new", Topic: "iterators", Args: []Arg{ArgIter, ArgObject, ArgAny}, Fn: iterCSSTaskNew, Note: "over the current task, in its own cgroup"},
	{Name: "bpf_iter_css_task_next", Wide: true, Topic: "iterators", Args: []Arg{ArgIter}, Fn: iterCSSTaskNext},
	{Name: "bpf_iter_css_task_destroy", Topic: "iterators", Args: []Arg{ArgIter}, Fn: iterForgetOne},
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

func iterTaskNew(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	switch kind := a[2] & 0xffffffff; {
	case kind > processThreads, kind == processThreads && a[1] == 0:
		return errnoRet(uapi.EINVAL), e.startWalk(a[0], 0, walkDone)
	default:
		return 0, e.startWalk(a[0], a[1], kind)
	}
}

func iterTaskNext(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	at, start, kind, f := e.walk(a[0])
	if f != nil || kind == walkDone {
		return 0, f
	}
	var list []uint64
	for _, task := range e.Kernel.Tasks(kind == allProcesses) {
		if kind == processThreads {
			own, err := task.Uint("tgid")
			of := e.Kernel.ObjectAt(start)
			if err != nil || of == nil {
				continue
			}
			if tgid, err := of.Uint("tgid"); err != nil || tgid != own {
				continue
			}
		}
		list = append(list, task.Addr())
	}
	return e.step(a[0], at, list)
}

func iterForget(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return 0, envOf(t).startWalk(a[0], 0, walkDone)
}

// Kinds of walks over cgroups: BPF_CGROUP_ITER_DESCENDANTS_PRE and following.
const (
	descendantsPre  = 2
	descendantsPost = 3
	ancestorsUp     = 4
)

func iterCSSNew(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	kind := a[2] & 0xffffffff
	if kind < descendantsPre || kind > ancestorsUp {
		return errnoRet(uapi.EINVAL), e.startWalk(a[0], 0, walkDone)
	}
	return 0, e.startWalk(a[0], a[1], kind)
}

func iterCSSNext(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	at, start, kind, f := e.walk(a[0])
	if f != nil || kind == walkDone || start == 0 {
		return 0, f
	}
	list := e.Kernel.CgroupStates()
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
	return e.step(a[0], at, list)
}

// struct bpf_iter_css_task is one word: the task to return next.
func iterCSSTaskNew(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	// 0, CSS_TASK_ITER_PROCS, or that with CSS_TASK_ITER_THREADED.
	if kind := a[2] & 0xffffffff; kind != 0 && kind != 1 && kind != 3 {
		return errnoRet(uapi.EINVAL), e.writeU64(a[0], 0)
	}
	states := e.Kernel.CgroupStates()
	task := e.Kernel.Current()
	if a[1] != states[len(states)-1] || task == nil {
		return 0, e.writeU64(a[0], 0)
	}
	return 0, e.writeU64(a[0], task.Addr())
}

func iterCSSTaskNext(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	task, f := e.readU64(a[0])
	if f != nil {
		return 0, f
	}
	return task, e.writeU64(a[0], 0)
}

func iterForgetOne(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return 0, envOf(t).writeU64(a[0], 0)
}
