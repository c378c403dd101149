package kernel

import (
	"slices"
	"strconv"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/kernel/window"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// kernelFrames are the functions of the default kernel call chain below the traced function,
// innermost first. Those not in the target's BTF get an address all the same.
var kernelFrames = [...]string{"vfs_read", "ksys_read", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"}

// trampolineFrames are the stack entries above the traced function for a program called by a
// trampoline: itself and the trampoline (arch/x86/net/bpf_jit_comp.c). Tools skip them.
var trampolineFrames = [...]string{"bpf_prog", "bpf_trampoline"}

// userFrames is the number of frames of the default user stack.
const userFrames = 4

// Stack returns the instruction pointers of the run's call chain, innermost first: in the kernel
// the traced function, if there is one, and the system call path; in user mode addresses in the
// text of the current process. They depend on the seed; [Kernel.SetStack] overrides them.
func (k *Kernel) Stack(user bool) []uint64 {
	if s, ok := k.stacks[user]; ok {
		return s
	}
	var ips []uint64
	if user {
		text := k.UserHeap() - 0x400000
		for i := range userFrames {
			ips = append(ips, text+k.Hash("user stack", k.Comm(), strconv.Itoa(i))%0x40000&^3)
		}
		return ips
	}
	within := func(names []string) {
		for _, name := range names {
			ips = append(ips, k.SymbolAddr(name)+4+k.Hash("return address", name)%(window.TextStride-8))
		}
	}
	if k.Traced() != 0 {
		if r := progtype.Of(k.ProgType()); r.Args == progtype.PointerArgs && r.Target != progtype.OpsMember {
			within(trampolineFrames[:])
		}
		ips = append(ips, k.Traced())
	}
	within(kernelFrames[:])
	return ips
}

// StackSymbols lists the functions of the default call chain in the kernel.
func StackSymbols() []string { return slices.Concat(trampolineFrames[:], kernelFrames[:]) }

// SetStack sets the call chain that [Kernel.Stack] returns, innermost first; nil restores the
// default.
func (k *Kernel) SetStack(user bool, ips []uint64) {
	if ips == nil {
		delete(k.stacks, user)
		return
	}
	k.stacks[user] = ips
}

// Counter returns the value of a simulated hardware counter: it starts at a number that depends on
// the seed and increases by one for every nanosecond of simulated time.
func (k *Kernel) Counter(name string, index int) uint64 {
	return k.Hash("counter", name, strconv.Itoa(index))%1_000_000_000 + k.clock.Mono()
}

// HashPointer returns what %p prints for an address: 32 bits that distinguish addresses without
// revealing them (lib/vsprintf.c ptr_to_id); a null pointer stays 0.
func (k *Kernel) HashPointer(addr uint64) uint64 {
	if addr == 0 {
		return 0
	}
	return object.Mix(addr^k.Hash("pointer")) & 0xffffffff
}

// FunctionSize is how many bytes each function of the simulated kernel's text takes.
const FunctionSize = window.TextStride

// EventSystems returns the systems in which kernels have an event of that name.
func EventSystems(event string) []string { return hook.EventSystems(event) }

// NotProbed reports whether kernels refuse kprobes on a function.
func NotProbed(function string) bool { return hook.NotProbed(function) }
