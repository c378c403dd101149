package helpers

import (
	"errors"
	"strings"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/cpuset"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// The cpumask kfuncs (kernel/bpf/cpumask.c). Masks are kernel objects.
var cpumaskKfuncs = []kfuncRow{
	{Name: "bpf_cpumask_create", Wide: true, Do: cpumaskCreate},
	{Name: "bpf_cpumask_acquire", Wide: true, Args: []proto.Arg{argObject}, Do: acquire},
	{Name: "bpf_cpumask_release", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_cpumask_first", Args: []proto.Arg{argObject}, Do: maskQuery(first)},
	{Name: "bpf_cpumask_first_zero", Args: []proto.Arg{argObject}, Do: maskQuery(func(m, all cpuset.Set) uint64 { return first(all.Minus(m), all) })},
	{Name: "bpf_cpumask_any_distribute", Args: []proto.Arg{argObject}, Do: maskQuery(first), Note: "always the first"},
	{Name: "bpf_cpumask_weight", Args: []proto.Arg{argObject}, Do: maskQuery(func(m, _ cpuset.Set) uint64 { return uint64(m.Count()) })},
	{Name: "bpf_cpumask_empty", Args: []proto.Arg{argObject}, Do: maskQuery(func(m, _ cpuset.Set) uint64 { return boolRet(m.Empty()) })},
	{Name: "bpf_cpumask_full", Args: []proto.Arg{argObject}, Do: maskQuery(func(m, all cpuset.Set) uint64 { return boolRet(m == all) })},
	{Name: "bpf_cpumask_first_and", Args: []proto.Arg{argObject, argObject}, Do: maskQuery2(func(a, b, all cpuset.Set) uint64 { return first(a.And(b), all) })},
	{Name: "bpf_cpumask_any_and_distribute", Args: []proto.Arg{argObject, argObject}, Do: maskQuery2(func(a, b, all cpuset.Set) uint64 { return first(a.And(b), all) }), Note: "always the first"},
	{Name: "bpf_cpumask_equal", Args: []proto.Arg{argObject, argObject}, Do: maskQuery2(func(a, b, _ cpuset.Set) uint64 { return boolRet(a == b) })},
	{Name: "bpf_cpumask_intersects", Args: []proto.Arg{argObject, argObject}, Do: maskQuery2(func(a, b, _ cpuset.Set) uint64 { return boolRet(!a.And(b).Empty()) })},
	{Name: "bpf_cpumask_subset", Args: []proto.Arg{argObject, argObject}, Do: maskQuery2(func(a, b, _ cpuset.Set) uint64 { return boolRet(a.Minus(b).Empty()) })},
	{Name: "bpf_cpumask_test_cpu", Args: []proto.Arg{argAny, argObject}, Do: maskBit(nil, true)},
	{Name: "bpf_cpumask_set_cpu", Args: []proto.Arg{argAny, argObject}, Do: maskBit((*cpuset.Set).Add, false)},
	{Name: "bpf_cpumask_clear_cpu", Args: []proto.Arg{argAny, argObject}, Do: maskBit((*cpuset.Set).Remove, false)},
	{Name: "bpf_cpumask_test_and_set_cpu", Args: []proto.Arg{argAny, argObject}, Do: maskBit((*cpuset.Set).Add, true)},
	{Name: "bpf_cpumask_test_and_clear_cpu", Args: []proto.Arg{argAny, argObject}, Do: maskBit((*cpuset.Set).Remove, true)},
	{Name: "bpf_cpumask_populate", Args: []proto.Arg{argObject, argMem, argSize}, Do: onMask(cpumaskPopulate)},
	{Name: "bpf_cpumask_setall", Args: []proto.Arg{argObject}, Do: maskSet(func(_, _, all cpuset.Set) cpuset.Set { return all }, 0)},
	{Name: "bpf_cpumask_clear", Args: []proto.Arg{argObject}, Do: maskSet(func(_, _, _ cpuset.Set) cpuset.Set { return cpuset.Set{} }, 0)},
	{Name: "bpf_cpumask_copy", Args: []proto.Arg{argObject, argObject}, Do: maskSet(func(a, _, _ cpuset.Set) cpuset.Set { return a }, 1)},
	{Name: "bpf_cpumask_and", Args: []proto.Arg{argObject, argObject, argObject}, Do: maskSet(func(a, b, _ cpuset.Set) cpuset.Set { return a.And(b) }, 2)},
	{Name: "bpf_cpumask_or", Args: []proto.Arg{argObject, argObject, argObject}, Do: maskSet(func(a, b, _ cpuset.Set) cpuset.Set { return a.Or(b) }, 2)},
	{Name: "bpf_cpumask_xor", Args: []proto.Arg{argObject, argObject, argObject}, Do: maskSet(func(a, b, _ cpuset.Set) cpuset.Set { return a.Xor(b) }, 2)},
}

// first returns the lowest CPU of a mask or, if there is none, the number of CPUs, like nr_cpu_ids.
func first(m, all cpuset.Set) uint64 {
	if cpu := m.First(); cpu >= 0 {
		return uint64(cpu)
	}
	return uint64(all.Count())
}

// cpumask is a mask and its bitmap's field.
type cpumask struct {
	o    *object.Object
	path string
	v    cpuset.Set
}

func (m *cpumask) put(v cpuset.Set) *vm.Action {
	if err := m.o.SetCPUSet(m.path, v); err != nil {
		return badArg("cpumask: %v", err)
	}
	return nil
}

// maskAt reads the mask of a struct bpf_cpumask or cpumask.
func (at *finder) maskAt(addr uint64) (cpumask, *vm.Action) {
	o, _, path, ok := at.kernel.Resolve(addr)
	if !ok || o == nil {
		return cpumask{}, badArg("%#x is not a cpumask", addr)
	}
	if path == "" {
		return cpumask{}, badArg("%#x is not a cpumask", addr)
	}
	m := cpumask{o: o, path: strings.TrimSuffix(path, "[0]")} // the bitmap, not its first word
	var err error
	var small *object.NoRoomError
	switch m.v, err = o.CPUSet(m.path); {
	case errors.As(err, &small):
		return cpumask{}, notSimulated("cpumasks of " + small.Error())
	case err != nil:
		return cpumask{}, badArg("%#x is not a cpumask: %v", addr, err)
	}
	return m, nil
}

// allCPUs has all CPUs.
func (at *finder) allCPUs() cpuset.Set { return cpuset.Below(at.kernel.CPUs()) }

func cpumaskCreate(c *Call) (uint64, *vm.Action) {
	o, err := c.Kernel.NewObjectNamed("bpf_cpumask", "bpf_cpumask")
	if err != nil {
		return 0, notSimulated("bpf_cpumask_create: " + err.Error())
	}
	if err := o.SetCPUSet("cpumask", cpuset.Set{}); err != nil {
		return 0, notSimulated("bpf_cpumask_create: " + err.Error())
	}
	return c.take(o, "cpumask")
}

func maskQuery(fn func(m, all cpuset.Set) uint64) Impl {
	return onMask(func(c *Call, m cpumask) (uint64, *vm.Action) {
		return fn(m.v, c.allCPUs()), nil
	})
}

func maskQuery2(fn func(m1, m2, all cpuset.Set) uint64) Impl {
	return onMask(func(c *Call, m1 cpumask) (uint64, *vm.Action) {
		m2, f := c.maskAt(c.Args[1])
		return fn(m1.v, m2.v, c.allCPUs()), f
	})
}

// maskBit changes the bit of one CPU, if change is not nil, and returns what it was if the function
// does; a CPU that the machine lacks is in no mask.
func maskBit(change func(m *cpuset.Set, cpu int), tells bool) Impl {
	return on(1, (*Call).maskAt)(func(c *Call, m cpumask) (uint64, *vm.Action) {
		cpu := uint32(c.Args[0])
		if uint64(cpu) >= uint64(c.Kernel.CPUs()) {
			return 0, nil
		}
		was, v := m.v.Has(int(cpu)), m.v
		if change != nil {
			change(&v, int(cpu))
		}
		if v == m.v {
			return boolRet(tells && was), nil
		}
		return boolRet(tells && was), m.put(v)
	})
}

// maskSet stores a mask computed from those in the arguments after the first. bpf_cpumask_and
// returns whether the result is not empty.
func maskSet(fn func(m1, m2, all cpuset.Set) cpuset.Set, sources int) Impl {
	return onMask(func(c *Call, dst cpumask) (uint64, *vm.Action) {
		var src [2]cpuset.Set
		for i := range sources {
			m, f := c.maskAt(c.Args[1+i])
			if f != nil {
				return 0, f
			}
			src[i] = m.v
		}
		v := fn(src[0], src[1], c.allCPUs())
		return boolRet(!v.Empty()), dst.put(v)
	})
}

// cpumaskPopulate copies a bitmap of the program, which must have a bit for every CPU, in whole
// words.
func cpumaskPopulate(c *Call, m cpumask) (uint64, *vm.Action) {
	const word = 8 // of programs, also where the kernel's have 4 bytes
	need := uint64(c.Kernel.CPUs()+8*word-1) / (8 * word) * word
	if c.Args[2]&0xffffffff < need {
		return errnoRet(uapi.EACCES), nil
	}
	b, f := c.guest.Read(c.Args[1], need)
	if f == nil {
		f = m.put(cpuset.From(b, c.guest.Order(), word).And(c.allCPUs()))
	}
	return 0, f
}
