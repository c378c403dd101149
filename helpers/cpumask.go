package helpers

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// The cpumask kfuncs (kernel/bpf/cpumask.c). Masks are kernel objects; a machine has at most 64
// CPUs for them.
var cpumaskKfuncs = []kfuncRow{
	{Name: "bpf_cpumask_create", Wide: true, Do: cpumaskCreate},
	{Name: "bpf_cpumask_acquire", Wide: true, Args: []proto.Arg{argObject}, Do: acquire},
	{Name: "bpf_cpumask_release", Args: []proto.Arg{argObject}, Do: releaseObject},
	{Name: "bpf_cpumask_first", Args: []proto.Arg{argObject}, Do: maskQuery(func(m, all uint64) uint64 { return lowest(m, all) })},
	{Name: "bpf_cpumask_first_zero", Args: []proto.Arg{argObject}, Do: maskQuery(func(m, all uint64) uint64 { return lowest(^m&all, all) })},
	{Name: "bpf_cpumask_any_distribute", Args: []proto.Arg{argObject}, Do: maskQuery(func(m, all uint64) uint64 { return lowest(m, all) }), Note: "always the first"},
	{Name: "bpf_cpumask_weight", Args: []proto.Arg{argObject}, Do: maskQuery(func(m, _ uint64) uint64 { return uint64(bits.OnesCount64(m)) })},
	{Name: "bpf_cpumask_empty", Args: []proto.Arg{argObject}, Do: maskQuery(func(m, _ uint64) uint64 { return boolRet(m == 0) })},
	{Name: "bpf_cpumask_full", Args: []proto.Arg{argObject}, Do: maskQuery(func(m, all uint64) uint64 { return boolRet(m == all) })},
	{Name: "bpf_cpumask_first_and", Args: []proto.Arg{argObject, argObject}, Do: maskQuery2(func(a, b, all uint64) uint64 { return lowest(a&b, all) })},
	{Name: "bpf_cpumask_any_and_distribute", Args: []proto.Arg{argObject, argObject}, Do: maskQuery2(func(a, b, all uint64) uint64 { return lowest(a&b, all) }), Note: "always the first"},
	{Name: "bpf_cpumask_equal", Args: []proto.Arg{argObject, argObject}, Do: maskQuery2(func(a, b, _ uint64) uint64 { return boolRet(a == b) })},
	{Name: "bpf_cpumask_intersects", Args: []proto.Arg{argObject, argObject}, Do: maskQuery2(func(a, b, _ uint64) uint64 { return boolRet(a&b != 0) })},
	{Name: "bpf_cpumask_subset", Args: []proto.Arg{argObject, argObject}, Do: maskQuery2(func(a, b, _ uint64) uint64 { return boolRet(a&^b == 0) })},
	{Name: "bpf_cpumask_test_cpu", Args: []proto.Arg{argAny, argObject}, Do: maskBit(func(m, bit uint64) (uint64, bool) { return m, m&bit != 0 })},
	{Name: "bpf_cpumask_set_cpu", Args: []proto.Arg{argAny, argObject}, Do: maskBit(func(m, bit uint64) (uint64, bool) { return m | bit, false })},
	{Name: "bpf_cpumask_clear_cpu", Args: []proto.Arg{argAny, argObject}, Do: maskBit(func(m, bit uint64) (uint64, bool) { return m &^ bit, false })},
	{Name: "bpf_cpumask_test_and_set_cpu", Args: []proto.Arg{argAny, argObject}, Do: maskBit(func(m, bit uint64) (uint64, bool) { return m | bit, m&bit != 0 })},
	{Name: "bpf_cpumask_test_and_clear_cpu", Args: []proto.Arg{argAny, argObject}, Do: maskBit(func(m, bit uint64) (uint64, bool) { return m &^ bit, m&bit != 0 })},
	{Name: "bpf_cpumask_populate", Args: []proto.Arg{argObject, argMem, argSize}, Do: onMask(cpumaskPopulate)},
	{Name: "bpf_cpumask_setall", Args: []proto.Arg{argObject}, Do: maskSet(func(_, _, all uint64) uint64 { return all }, 0)},
	{Name: "bpf_cpumask_clear", Args: []proto.Arg{argObject}, Do: maskSet(func(_, _, _ uint64) uint64 { return 0 }, 0)},
	{Name: "bpf_cpumask_copy", Args: []proto.Arg{argObject, argObject}, Do: maskSet(func(a, _, _ uint64) uint64 { return a }, 1)},
	{Name: "bpf_cpumask_and", Args: []proto.Arg{argObject, argObject, argObject}, Do: maskSet(func(a, b, _ uint64) uint64 { return a & b }, 2)},
	{Name: "bpf_cpumask_or", Args: []proto.Arg{argObject, argObject, argObject}, Do: maskSet(func(a, b, _ uint64) uint64 { return a | b }, 2)},
	{Name: "bpf_cpumask_xor", Args: []proto.Arg{argObject, argObject, argObject}, Do: maskSet(func(a, b, _ uint64) uint64 { return a ^ b }, 2)},
}

// lowest returns the number of the lowest set bit or, if there is none, a number beyond the CPUs,
// like nr_cpu_ids.
func lowest(m, all uint64) uint64 {
	if m &= all; m != 0 {
		return uint64(bits.TrailingZeros64(m))
	}
	return uint64(bits.Len64(all))
}

// cpumask is a mask and the field of its first word.
type cpumask struct {
	o    *kernel.Object
	path string
	v    uint64
}

func (m cpumask) put(v uint64) *vm.Action {
	if err := m.o.SetUint(m.path, v); err != nil {
		return badArg("cpumask: %v", err)
	}
	return nil
}

// maskAt reads the mask of a struct bpf_cpumask or cpumask.
func (at *finder) maskAt(addr uint64) (cpumask, *vm.Action) {
	if at.kernel.CPUs() > 64 {
		return cpumask{}, notSimulated("cpumasks of more than 64 CPUs")
	}
	o, _, path, ok := at.kernel.Resolve(addr)
	if !ok || o == nil {
		return cpumask{}, badArg("%#x is not a cpumask", addr)
	}
	if path == "" {
		return cpumask{}, badArg("%#x is not a cpumask", addr)
	}
	m := cpumask{o: o, path: path}
	v, err := o.Uint(path)
	if err != nil {
		return cpumask{}, badArg("%#x is not a cpumask: %v", addr, err)
	}
	m.v = v & at.allCPUs()
	return m, nil
}

// allCPUs has a bit for each CPU.
func (at *finder) allCPUs() uint64 { return ^uint64(0) >> (64 - min(at.kernel.CPUs(), 64)) }

func cpumaskCreate(c *Call) (uint64, *vm.Action) {
	o, err := c.Kernel.NewObjectNamed("bpf_cpumask", "bpf_cpumask")
	if err != nil {
		return 0, notSimulated("bpf_cpumask_create: " + err.Error())
	}
	if err := o.SetBytes("cpumask", make([]byte, 8)); err != nil {
		if err := o.SetUint("cpumask.bits[0]", 0); err != nil {
			return 0, notSimulated("bpf_cpumask_create: " + err.Error())
		}
	}
	return c.take(o, "cpumask")
}

func maskQuery(fn func(m, all uint64) uint64) Impl {
	return onMask(func(c *Call, m cpumask) (uint64, *vm.Action) {
		return fn(m.v, c.allCPUs()), nil
	})
}

func maskQuery2(fn func(m1, m2, all uint64) uint64) Impl {
	return onMask(func(c *Call, m1 cpumask) (uint64, *vm.Action) {
		m2, f := c.maskAt(c.Args[1])
		return fn(m1.v, m2.v, c.allCPUs()), f
	})
}

// maskBit accesses the bit of one CPU; a CPU that the machine lacks is in no mask.
func maskBit(fn func(m, bit uint64) (uint64, bool)) Impl {
	return on(1, (*Call).maskAt)(func(c *Call, m cpumask) (uint64, *vm.Action) {
		cpu := uint32(c.Args[0])
		if uint64(cpu) >= uint64(c.Kernel.CPUs()) {
			return 0, nil
		}
		v, was := fn(m.v, 1<<cpu)
		if v == m.v {
			return boolRet(was), nil
		}
		return boolRet(was), m.put(v)
	})
}

// maskSet stores a mask computed from those in the arguments after the first. bpf_cpumask_and
// returns whether the result is not empty.
func maskSet(fn func(m1, m2, all uint64) uint64, sources int) Impl {
	return onMask(func(c *Call, dst cpumask) (uint64, *vm.Action) {
		var src [2]uint64
		for i := range sources {
			m, f := c.maskAt(c.Args[1+i])
			if f != nil {
				return 0, f
			}
			src[i] = m.v
		}
		v := fn(src[0], src[1], c.allCPUs())
		return boolRet(v != 0), dst.put(v)
	})
}

// cpumaskPopulate copies a bitmap of the program, which must have a bit for every CPU, in whole
// words.
func cpumaskPopulate(c *Call, m cpumask) (uint64, *vm.Action) {
	const word = 8
	if c.Args[2]&0xffffffff < word {
		return errnoRet(uapi.EACCES), nil
	}
	v, f := c.guest.ReadU64(c.Args[1])
	if f == nil {
		f = m.put(v & c.allCPUs())
	}
	return 0, f
}
