package helpers

import (
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfunc is one kernel function that programs call by its BTF id. It is known by name.
type Kfunc struct {
	Name  string
	Topic string
	Args  []Arg
	Fn    vm.HelperFunc
	Note  string
	// Wide says that all 64 bits of the result count. Other kfuncs return int or bool: the upper half reads as zero,
	// also of a negative errno.
	Wide bool
}

var basicKfuncs = []Kfunc{
	{Name: "bpf_rcu_read_lock", Topic: "locks", Fn: enterSection("RCU read section")},
	{Name: "bpf_rcu_read_unlock", Topic: "locks", Fn: leaveSection("RCU read section")},
	{Name: "bpf_preempt_disable", Topic: "locks", Fn: enterSection("preemption-disabled section")},
	{Name: "bpf_preempt_enable", Topic: "locks", Fn: leaveSection("preemption-disabled section")},
	{Name: "bpf_rdonly_cast", Wide: true, Args: []Arg{ArgPtr, ArgAny}, Topic: "casts", Fn: sameAddress},
	{Name: "bpf_throw", Wide: true, Args: []Arg{ArgAny}, Topic: "control", Fn: throw},
	{Name: "bpf_iter_num_new", Args: []Arg{ArgIter, ArgAny, ArgAny}, Topic: "iterators", Fn: iterNumNew},
	{Name: "bpf_iter_num_next", Wide: true, Args: []Arg{ArgIter}, Topic: "iterators", Fn: iterNumNext},
	{Name: "bpf_iter_num_destroy", Args: []Arg{ArgIter}, Topic: "iterators", Fn: iterNumDestroy},
}

// kfuncs are the topic tables together.
var kfuncs = slices.Concat(basicKfuncs, workKfuncs, dynptrKfuncs, stringKfuncs, objectKfuncs, cpumaskKfuncs, localKfuncs, treeKfuncs, percpuKfuncs, irqKfuncs,
	bitsKfuncs, serviceKfuncs, xdpKfuncs, sockAddrKfuncs, objectIterKfuncs, sessionKfuncs)

var kfuncByName = func() map[string]*Kfunc {
	m := map[string]*Kfunc{}
	for i := range kfuncs {
		if !kfuncs[i].Wide {
			kfuncs[i].Fn = narrow(kfuncs[i].Fn)
		}
		m[kfuncs[i].Name] = &kfuncs[i]
	}
	return m
}()

// narrow cuts the result of a function that returns int.
func narrow(fn vm.HelperFunc) vm.HelperFunc {
	return func(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
		ret, act := fn(t, a)
		return uint64(uint32(ret)), act
	}
}

// LookupKfunc returns the kfunc with that name, of which a flavor suffix (___x) is no part;
// ok is false when it is not simulated.
func LookupKfunc(name string) (*Kfunc, bool) {
	if i := strings.LastIndex(name, "___"); i > 0 {
		name = name[:i]
	}
	k, ok := kfuncByName[name]
	return k, ok
}

// Kfuncs returns every simulated kfunc in the order of its name.
func Kfuncs() []Kfunc {
	return slices.SortedFunc(slices.Values(kfuncs), func(a, b Kfunc) int { return strings.Compare(a.Name, b.Name) })
}

// enterSection and leaveSection keep count of critical sections, which must be left before the
// program ends.
func enterSection(what string) vm.HelperFunc {
	return func(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
		envOf(t).Run.hold(0, what)
		return 0, nil
	}
}

func leaveSection(what string) vm.HelperFunc {
	return func(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
		if !envOf(t).Run.releaseKind(what) {
			return 0, badArg("left an %s that was not entered", what)
		}
		return 0, nil
	}
}

func sameAddress(_ *vm.Thread, a *[5]uint64) (uint64, *vm.Action) { return a[0], nil }

func throw(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) { return 0, vm.Throw(a[0]) }

// The open-coded number iterator (struct bpf_iter_num, kernel/bpf/bpf_iter.c): two ints, the
// value before the next one and the end. The pointer bpf_iter_num_next returns is to the first.
func iterNumNew(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	start, end := int32(uint32(a[1])), int32(uint32(a[2]))
	var errno uapi.Errno
	switch {
	case start > end:
		errno = uapi.EINVAL
	case int64(end)-int64(start) > maxLoops:
		errno = uapi.E2BIG
	}
	cur := uint32(start) - 1
	if errno != 0 {
		cur, end = 0, 0
	}
	if f := e.writeU32(a[0], cur); f != nil {
		return 0, f
	}
	return errnoRet(errno), e.writeU32(a[0]+4, uint32(end))
}

func iterNumNext(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	cur, f := e.readU32(a[0])
	if f != nil {
		return 0, f
	}
	end, f := e.readU32(a[0] + 4)
	if f != nil {
		return 0, f
	}
	// The sum is made in 64 bits: cur may be INT_MIN - 1 wrapped.
	if int64(int32(cur+1)) >= int64(int32(end)) {
		return 0, e.clearIterNum(a[0])
	}
	return a[0], e.writeU32(a[0], cur+1)
}

func iterNumDestroy(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return 0, envOf(t).clearIterNum(a[0])
}

func (e *Env) clearIterNum(addr uint64) *vm.Action {
	if f := e.writeU32(addr, 0); f != nil {
		return f
	}
	return e.writeU32(addr+4, 0)
}
