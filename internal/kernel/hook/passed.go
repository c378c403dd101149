package hook

import (
	"strconv"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// Passed is a call of a function of a program, for programs that trace it (fentry, fexit).
type Passed struct {
	// Types has the function's type Func, a FUNC; nil or 0 means that the kernel does not rely on
	// it, which is so for static functions.
	Types *btf.Spec
	Func  btf.ID
	// Name is the function's name, Addr its address in program text.
	Name string
	Addr uint64
	// Args are r1 to r5 at the call, Ret is r0 at the return.
	Args [5]uint64
	Ret  uint64
	// Of is the context of the program that is traced: where its address is an argument, a tracing
	// program sees the kernel's struct.
	Of *Context
}

// passedContext makes the arguments of a call, and with ret what it returned, as the trampoline of
// the function stores them: a u64 for each parameter, five for a function whose type is not relied
// on (kernel/bpf/btf.c btf_distill_func_proto, btf_ctx_access).
func (h *Hooks) passedContext(c *Context, ret bool) error {
	p := c.spec.Passed
	c.Func, c.FuncAddr = p.Name, p.Addr
	names := make([]Arg, len(p.Args))
	for i := range names {
		names[i] = Arg{Name: "arg" + strconv.Itoa(i+1), slots: 1}
	}
	if proto := p.proto(); proto != nil {
		names = names[:min(len(proto.Params), len(names))]
		for i := range names {
			names[i].Spec, names[i].Type = p.Types, proto.Params[i].Type
			if n := proto.Params[i].Name; n != "" {
				names[i].Name = n
			}
		}
		c.Ret = Arg{Spec: p.Types, Type: proto.Ref, slots: 1}
	} else {
		c.Untyped = true
	}
	for i, a := range names {
		a.Value = p.Args[i]
		if p.isContext(a.Value) {
			if o, err := h.KernelContext(p.Of); err == nil {
				a.Value, a.Object = o.Addr(), o
			}
		}
		c.Args = append(c.Args, a)
	}
	if ret {
		c.Returns, c.Ret.Name, c.Ret.Value = true, "ret", p.Ret
	}
	return h.arrayContext(c)
}

// isContext reports whether a value is the address of the traced program's context, and the kernel
// has a struct of its own behind it.
func (p *Passed) isContext(v uint64) bool {
	if p.Of == nil || v == 0 || v != p.Of.Addr {
		return false
	}
	row := progtype.Of(p.Of.spec.ProgType).Context
	return row != nil && row.Layout == progtype.StructLayout && row.User != row.Kernel
}

// proto returns the function's prototype, or nil.
func (p *Passed) proto() *btf.Type {
	if p.Types == nil || p.Func == 0 {
		return nil
	}
	t, err := p.Types.Type(p.Func)
	if err != nil || t.Kind != btf.KindFunc {
		return nil
	}
	if t = p.Types.SkipMods(t.Ref); t == nil || t.Kind != btf.KindFuncProto {
		return nil
	}
	return t
}
