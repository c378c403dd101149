package helpers

import (
	stdmaps "maps"
	"slices"
	"strings"
	"sync"

	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Kfunc is a kernel function that programs call by BTF id. It is identified by name.
type Kfunc struct {
	*proto.Kfunc
	Args []proto.Arg
	Fn   vm.HelperFunc
	Note string
	// Wide means that the result has 64 bits. Other kfuncs return int or bool: the upper half reads
	// as zero, even of a negative errno.
	Wide bool
}

// kfuncRow is a kfunc in a topic's table.
type kfuncRow struct {
	Name string
	Args []proto.Arg
	Do   Impl
	Note string
	Wide bool
}

// Kinds of arguments of kfuncs, whose only prototypes are in BTF.
var (
	argAny    = proto.Arg{}
	argPtr    = proto.Arg{Kind: proto.BTFID}
	argObject = argPtr
	argMap    = proto.Arg{Kind: proto.ConstMap}
	argMem    = proto.Arg{Kind: proto.Mem, Flags: proto.ReadOnly}
	argBuf    = proto.Arg{Kind: proto.Mem, Flags: proto.Write | proto.MaybeNull}
	argOut    = proto.Arg{Kind: proto.Mem, Flags: proto.Uninit | proto.Write}
	argSize   = proto.Arg{Kind: proto.ConstSizeOrZero}
	argCtx    = proto.Arg{Kind: proto.Ctx}
	argFunc   = proto.Arg{Kind: proto.Func}
	argLock   = proto.Arg{Kind: proto.SpinLock}
	argTimer  = proto.Arg{Kind: proto.Timer}
	argIter   = proto.Arg{Kind: proto.Iterator}
	argDynptr = proto.Arg{Kind: proto.Dynptr}
	argLong   = proto.Arg{Kind: proto.FixedMem, Flags: proto.Uninit | proto.Write, Size: 8}
	argInt    = proto.Arg{Kind: proto.FixedMem, Flags: proto.Write, Size: 4}
)

var basicKfuncs = []kfuncRow{
	{Name: "bpf_rcu_read_lock", Do: enterSection(held.RCU)},
	{Name: "bpf_rcu_read_unlock", Do: leaveSection("bpf_rcu_read_unlock", held.RCU)},
	{Name: "bpf_preempt_disable", Do: enterSection(held.Preempt)},
	{Name: "bpf_preempt_enable", Do: leaveSection("bpf_preempt_enable", held.Preempt)},
	{Name: "bpf_rdonly_cast", Wide: true, Args: []proto.Arg{argPtr, argAny}, Do: readonlyCast},
	{Name: "bpf_cast_to_kern_ctx", Wide: true, Args: []proto.Arg{argPtr}, Do: castToKernel},
	{Name: "bpf_sock_destroy", Args: []proto.Arg{argObject}, Do: sockDestroy},
	{Name: "bpf_throw", Wide: true, Args: []proto.Arg{argAny}, Do: throw},
	{Name: "bpf_iter_num_new", Args: []proto.Arg{argIter, argAny, argAny}, Do: iterNumNew},
	{Name: "bpf_iter_num_next", Wide: true, Args: []proto.Arg{argIter}, Do: iterNumNext},
	{Name: "bpf_iter_num_destroy", Args: []proto.Arg{argIter}, Do: iterNumDestroy},
}

// kfuncs joins the topic tables.
func kfuncs() []kfuncRow {
	return slices.Concat(schedKfuncs(), qdiscKfuncs, basicKfuncs, hidKfuncs, workKfuncs, dynptrKfuncs, stringKfuncs, objectKfuncs, cpumaskKfuncs, localKfuncs, treeKfuncs, percpuKfuncs, irqKfuncs,
		bitsKfuncs, serviceKfuncs, xdpKfuncs, sockAddrKfuncs, objectIterKfuncs, vmaIterKfuncs, sessionKfuncs, congestionKfuncs, bbrKfuncs, dctcpKfuncs, taskWorkKfuncs,
		dynptrCopyKfuncs, streamKfuncs, memcgKfuncs, wakeupKfuncs, systemKfuncs, requestKfuncs, slabKfuncs, conntrackKfuncs, flowKfuncs, encapKfuncs, cryptoKfuncs, xattrKfuncs)
}

// kfuncByName is built when first asked for, as the table of helpers.
var kfuncByName = sync.OnceValue(func() map[string]*Kfunc {
	kfuncs := kfuncs()
	m := make(map[string]*Kfunc, len(kfuncs))
	for _, r := range kfuncs {
		p, ok := proto.LookupKfunc(r.Name)
		if !ok {
			panic("no prototype of " + r.Name)
		}
		do := r.Do
		if !r.Wide {
			do = narrow(do)
		}
		m[r.Name] = &Kfunc{Kfunc: p, Args: r.Args, Fn: do.bind(stepsOf(r.Args, proto.Return{})), Note: r.Note, Wide: r.Wide}
	}
	return m
})

// narrow truncates the result of a function that returns int.
func narrow(do Impl) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		ret, act := do(c)
		return uint64(uint32(ret)), act
	}
}

// LookupKfunc returns the kfunc with that name, ignoring a flavor suffix (___x); ok is false if it
// is not simulated.
func LookupKfunc(name string) (*Kfunc, bool) {
	if i := strings.LastIndex(name, "___"); i > 0 {
		name = name[:i]
	}
	k, ok := kfuncByName()[name]
	return k, ok
}

// Kfuncs returns every simulated kfunc, sorted by name.
func Kfuncs() []*Kfunc {
	return slices.SortedFunc(stdmaps.Values(kfuncByName()), func(a, b *Kfunc) int { return strings.Compare(a.Name, b.Name) })
}

// enterSection and leaveSection count critical sections, which must be left before the program
// ends.
func enterSection(k held.Kind) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		c.Run.Held.Take(k, 0, "")
		return 0, nil
	}
}

func leaveSection(by string, k held.Kind) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		if !c.Run.Held.Leave(k) {
			return 0, badArg("%v", &held.NotHeld{By: by, Kind: k})
		}
		return 0, nil
	}
}

// readonlyCast is bpf_rdonly_cast, which changes the type alone. Where programs have a struct of
// the user ABI, a kernel has its own behind it: the context's, or a struct sock.
func readonlyCast(c *Call) (uint64, *vm.Action) {
	addr := c.Args[0]
	if addr == 0 {
		return 0, nil
	}
	if ctx := c.contextAt(addr); ctx != nil {
		if o, err := c.Kernel.KernelContext(ctx); err == nil {
			return o.Addr(), nil
		}
		return addr, nil
	}
	if s := c.Kernel.SocketView(addr); s != nil {
		o, err := s.Object()
		if err != nil {
			return 0, notSimulated(err.Error())
		}
		return o.Addr(), nil
	}
	return addr, nil
}

func throw(c *Call) (uint64, *vm.Action) { return 0, vm.Throw(c.Args[0]) }

// The open-coded number iterator (struct bpf_iter_num, kernel/bpf/bpf_iter.c): two ints, the
// value before the next one and the end. The pointer bpf_iter_num_next returns is to the first.
func iterNumNew(c *Call) (uint64, *vm.Action) {
	start, end := int32(uint32(c.Args[1])), int32(uint32(c.Args[2]))
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
	it := c.guest.At(c.Args[0])
	it.Set(0, 4, uint64(cur))
	it.Set(4, 4, uint64(uint32(end)))
	return errnoRet(errno), it.Fault
}

func iterNumNext(c *Call) (uint64, *vm.Action) {
	it := c.guest.At(c.Args[0])
	cur, end := it.U32(0), it.U32(4)
	// The sum is computed in 64 bits: cur may be INT_MIN - 1, wrapped.
	if int64(int32(cur+1)) >= int64(int32(end)) {
		return clearIterNum(it)
	}
	it.Set(0, 4, uint64(cur+1))
	return c.Args[0], it.Fault
}

func iterNumDestroy(c *Call) (uint64, *vm.Action) {
	return clearIterNum(c.guest.At(c.Args[0]))
}

func clearIterNum(it *guest.Fields) (uint64, *vm.Action) {
	it.Set(0, 4, 0)
	it.Set(4, 4, 0)
	return 0, it.Fault
}
