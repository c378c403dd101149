package hook

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// probeContext creates the pt_regs of a kprobe, kretprobe, uprobe or uretprobe.
func (h *Hooks) probeContext(c *Context) error {
	flags := c.spec.section()
	ret := flags.Has(progtype.AtReturn)
	name := c.spec.AttachTo
	if i := strings.IndexAny(name, "+"); i >= 0 {
		name = name[:i]
	}
	if flags.Has(progtype.SyscallName) {
		name = h.SyscallSymbol(name)
	}
	c.Type, c.Func = "pt_regs", name
	if flags.Has(progtype.User) {
		return h.userProbe(c, name, ret)
	}
	c.FuncAddr = h.SymbolAddr(name)
	r := h.newRegisters("regs", c.FuncAddr, h.stackAddr())
	if !ret && !flags.Has(progtype.Pattern) {
		r.set(r.abi.ip, c.FuncAddr+r.abi.trap)
	}
	spec, p, typed := h.proto(c, name)
	if call, ok := h.wrapped(name); ok && (!typed || wrapsRegs(spec, p)) {
		return h.wrapperProbe(c, r, call, ret)
	}
	if typed {
		if err := h.arguments(c, name, spec, p, 0); err != nil {
			return err
		}
	} else {
		c.Untyped = true
		h.untypedArguments(c, len(r.abi.args))
	}
	if ret {
		if err := h.returnValue(c, name, spec, p); err != nil {
			return err
		}
		r.set(r.abi.ret, c.Ret.Value)
	} else {
		r.pass(r.abi.args, c.Args)
	}
	if flags.Has(progtype.Session) {
		if err := h.returnValue(c, name, spec, p); err != nil {
			return err
		}
		return h.probeSession(c, r)
	}
	c.passed = r
	return c.allocate(r.data, true)
}

// pass puts arguments into registers in order; those without a register are dropped.
func (r *registers) pass(regs []string, args []Arg) {
	i := 0
	put := func(v uint64) {
		if i < len(regs) {
			r.set(regs[i], v)
		}
		i++
	}
	for _, a := range args {
		put(a.Value)
		if a.slots == 2 {
			put(a.High)
		}
	}
}

// untypedArguments are small numbers named arg1, arg2, ..., for functions that BTF does not list.
func (h *Hooks) untypedArguments(c *Context, n int) {
	for i := range n {
		name := "arg" + string(rune('1'+i))
		a := Arg{Name: name, Value: 1 + h.Hash(name)%99991, slots: 1}
		if err := h.override(c, &a); err == nil {
			c.Args = append(c.Args, a)
		}
	}
}

// userProbe creates the registers of a process: arguments are user pointers to strings, because
// nothing is known about them.
func (h *Hooks) userProbe(c *Context, name string, ret bool) error {
	c.Untyped = true
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		c.Func = name[i+1:]
	}
	ip, sp := h.UserHeap(), h.UserStack()
	ip -= 0x10000 - h.Hash(c.Func, "text")%0xfff0&^15
	c.FuncAddr = ip
	r := h.newRegisters("user regs", ip, sp)
	c.regs = r
	flags := c.spec.section()
	n := len(r.abi.args)
	if flags.Has(progtype.Marker) {
		n = maxArgs // wherever the compiler put them
	}
	for i := range n {
		arg := "arg" + strconv.FormatUint(uint64(i+1), 10)
		a := Arg{Name: arg, Value: h.UserStringOnce(c.Func + "." + arg), slots: 1}
		if err := h.override(c, &a); err != nil {
			return err
		}
		c.Args = append(c.Args, a)
	}
	if ret || flags.Has(progtype.Session) {
		c.Returns, c.Ret = true, Arg{Name: "ret", Value: h.UserStringOnce(c.Func + ".ret")}
		if err := h.override(c, &c.Ret); err != nil {
			return err
		}
	}
	if ret {
		r.set(r.abi.ret, c.Ret.Value)
	} else {
		r.pass(r.abi.args, c.Args)
	}
	if flags.Has(progtype.Session) {
		return h.probeSession(c, r)
	}
	c.passed = r
	return c.allocate(r.data, !h.storesToRegs(c))
}

// storesToRegs reports whether the program may change the registers of the task that it probes. The
// verifier lets all probes store, but those with stores cannot be attached to functions of the
// kernel (perf_event_set_bpf_prog).
func (h *Hooks) storesToRegs(c *Context) bool {
	since := progtype.Of(c.spec.ProgType).AccessOf(c.spec.Attach).Writes
	return c.spec.section().Has(progtype.User) && since != 0 && uapi.ReleaseOf(h.Version()).Has(since)
}

// SyscallSymbol returns the function that implements a system call on the target.
func (h *Hooks) SyscallSymbol(name string) string {
	if a := abis[h.Arch()]; a != nil && h.BTF() != nil {
		for _, s := range [...]string{a.wrapper + name, "__se_sys_" + name, "sys_" + name} {
			if len(h.BTF().IDs(btf.KindFunc, s)) > 0 {
				return s
			}
		}
		return a.wrapper + name
	}
	return "sys_" + name
}

// wrapped returns the system call that a function implements, if it takes its arguments in a second
// pt_regs.
func (h *Hooks) wrapped(fn string) (call string, ok bool) {
	for _, p := range [...]string{"__x64_sys_", "__arm64_sys_", "__riscv_sys_", "__s390x_sys_", "__ia32_sys_"} {
		if c, ok := strings.CutPrefix(fn, p); ok {
			return c, true
		}
	}
	return "", false
}

// wrapsRegs reports whether a prototype takes one struct pt_regs *.
func wrapsRegs(spec *btf.Spec, p *btf.Type) bool {
	if len(p.Params) == 0 {
		return true // __x64_sys_getpid(void) and older __unused forms
	}
	to := object.Target(spec, p.Params[0].Type)
	return len(p.Params) == 1 && to.Type != nil && to.Type.Name == "pt_regs"
}

// wrapperProbe creates the registers of a system call wrapper: its only argument points to the
// registers of user space.
func (h *Hooks) wrapperProbe(c *Context, outer *registers, call string, ret bool) error {
	if err := h.syscallArguments(c, call); err != nil {
		return err
	}
	inner, err := h.syscallRegs(c, call, nil) // the wrapper returns before its caller stores the result
	if err != nil {
		return err
	}
	if ret {
		if err := h.syscallReturn(c, call); err != nil {
			return err
		}
		outer.set(outer.abi.ret, c.Ret.Value)
	} else {
		outer.set(outer.abi.args[0], inner.Addr())
	}
	return c.allocate(outer.data, true)
}

// enterCall lets the current task be in a system call: the registers on its stack are those of the
// call. They are made when something reads them, since most programs never do.
func (h *Hooks) enterCall(c *Context, call string, ret *uint64) error {
	if h.HasStack(h.Current()) || h.LayoutNamed("pt_regs") == nil {
		_, err := h.syscallRegs(c, call, ret)
		return err
	}
	e := &enteredCall{task: h.Current(), name: call, args: slices.Clone(c.Args)}
	if ret != nil {
		v := *ret
		e.ret = &v
	}
	h.event.call = e
	return nil
}

// enteredCall is a system call whose registers nothing has read yet.
type enteredCall struct {
	task *object.Object
	name string
	args []Arg
	ret  *uint64 // at the call's exit
}

// syscallRegs returns the pt_regs with a system call's arguments: those at the end of the current
// task's stack. ret is the call's result at its exit.
func (h *Hooks) syscallRegs(c *Context, call string, ret *uint64) (*object.Object, error) {
	r := h.callRegisters(callRole, c.Args, call, ret)
	if o := h.UserRegs(h.Current()); o != nil && r.l != nil {
		o.Populate()
		o.Poke(0, r.data, object.Given)
		h.event.regs = o
		return o, nil
	}
	key := "regs:" + call
	o := h.Kept(key)
	if o == nil {
		var err error
		if r.l != nil {
			o, err = h.Make("regs", r.l, 1, nil)
		} else {
			o, err = h.MakeBytes("regs", uint64(len(r.data)), nil)
		}
		if err != nil {
			return nil, err
		}
		h.Keep(key, o)
	}
	o.Poke(0, r.data, object.Given)
	return o, nil
}
