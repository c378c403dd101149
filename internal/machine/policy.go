package machine

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/vm"
)

// probesMemory reports whether direct loads of kernel memory have an exception table entry, so that
// a load from an invalid address yields 0.
func probesMemory(p *program) bool {
	return p.typed || progtype.Of(p.typ).Args == progtype.PointerArgs
}

// recoverPolicy returns what happens to a load from an invalid address. In programs with typed
// pointers it yields 0, as with the kernel's exception tables, and is recorded. An access next to a
// live stack frame, map value or packet remains a fault: the verifier proves those.
func (m *Machine) recoverPolicy(p *program) func(*vm.Fault) (uint64, bool) {
	if !probesMemory(p) && p.arena == nil {
		return nil
	}
	return func(f *vm.Fault) (uint64, bool) {
		if f.Mem == nil {
			return 0, false
		}
		if p.arena != nil && f.Mem.Kind == mem.NullPointer {
			// The verifier knows which pointers are the arena's; a null one is the page at the
			// start of its span, which is not mapped.
			m.run.warn(fmt.Sprintf("exception-table: insn %d uses a null pointer of the arena; the kernel reads 0 and drops stores", f.PC))
			return 0, true
		}
		if f.Mem.Write || !probesMemory(p) {
			return 0, false
		}
		switch {
		case f.Mem.Kind == mem.Unmapped, f.Mem.Kind == mem.NullPointer, f.Mem.Kind == mem.UserPointer:
		case m.cfg.Strict && !(f.Mem.Kind == mem.OutOfBounds && m.overreads()) || f.Mem.Region == nil || f.Mem.Region.Kind != mem.KernelObject:
			return 0, false
		case f.Mem.Kind == mem.OutOfBounds && f.Mem.Delta >= 0:
			return m.env.LoadPast(f.Mem.Region, f.Mem.Addr, f.Mem.Size), true
		case f.Mem.Kind == mem.OutOfBounds, f.Mem.Kind == mem.UseAfterFree:
			m.run.warn(fmt.Sprintf("exception-table: insn %d: %v; a kernel may read 0, or whatever is there", f.PC, f.Mem))
			return 0, true
		default:
			return 0, false
		}
		m.run.warn(fmt.Sprintf("exception-table: insn %d loads from %#x, which is not mapped; the kernel reads 0", f.PC, f.Mem.Addr))
		return 0, true
	}
}

// beyondArguments reports whether a fault is a read past the arguments of the program's hook. The
// verifier knows how many arguments the target's function or event has and refuses the program
// (kernel/bpf/btf.c btf_ctx_access), or the kernel does not attach it (kernel/trace/bpf_trace.c
// bpf_probe_register).
func beyondArguments(f *vm.Fault, c *hook.Context) bool {
	return f.Kind == vm.Memory && f.Mem != nil && f.Mem.Region != nil && f.Mem.Region == c.Region && c.Type == "args"
}

// argumentsHint lists the arguments of the hook on the target.
func argumentsHint(target string, c *hook.Context) string {
	if len(c.Args) == 0 {
		return fmt.Sprintf("%s has no arguments on %s", c.Func, target)
	}
	var list []string
	for _, a := range c.Args {
		text := a.Name
		if a.Spec != nil {
			text = a.Spec.TypeString(a.Type) + " " + a.Name
		}
		list = append(list, text)
	}
	what := "arguments"
	if len(list) == 1 {
		what = "argument"
	}
	return fmt.Sprintf("%s has %d %s on %s: %s", c.Func, len(list), what, target, strings.Join(list, ", "))
}

// loadsKernel reports whether the verifier lets a program load kernel memory directly. Tracing and
// LSM programs get their arguments as BTF-typed pointers; programs of older types get numbers, and
// typed pointers only from helpers, kfuncs and kernel variables.
func loadsKernel(p *program) bool {
	return p.typed || progtype.Of(p.typ).Args != progtype.NumberArgs
}
