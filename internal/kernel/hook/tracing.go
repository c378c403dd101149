package hook

import (
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/nearest"
	"github.com/bpfrun/bpfrun/internal/progtype"
)

// maxRawArguments is MAX_BPF_FUNC_ARGS, the most arguments a raw tracepoint has.
const maxRawArguments = 12

// argsType names contexts that are arrays of u64: the arguments of the hook, then its return value.
const argsType = "args"

// tracepointName strips the category of "category/name" and "category:name".
func tracepointName(s string) (category, name string) {
	if i := strings.IndexAny(s, "/:"); i >= 0 {
		return s[:i], s[i+1:]
	}
	return "", s
}

// eventProto finds the prototype of a tracepoint, whose first parameter is not the event's: that of
// the function __traceiter_NAME, which names the parameters, else of typedef void
// (*btf_trace_NAME)(void *, ...), which does not: names come from the event's record then, where
// they can.
func (h *Hooks) eventProto(name string) (*btf.Spec, *btf.Type) {
	spec, p, named := h.eventPrototype(name)
	if p != nil && !named {
		p = h.namedByRecord(name, spec, p)
	}
	return spec, p
}

func (h *Hooks) eventPrototype(name string) (spec *btf.Spec, p *btf.Type, named bool) {
	if h.BTF() == nil {
		return nil, nil, false
	}
	for _, spec := range append([]*btf.Spec{h.BTF()}, h.Modules()...) {
		t, ok := spec.Find(btf.KindTypedef, "btf_trace_"+name)
		if !ok {
			continue
		}
		p := object.FollowProto(spec, t.ID)
		if q, _, ok := spec.FuncProto("__traceiter_" + name); ok && (p == nil || len(q.Params) == len(p.Params)) {
			return spec, q, true
		}
		if p != nil {
			return spec, p, false
		}
	}
	return nil, nil, false
}

// rawTracepointContext makes the arguments of a raw tracepoint.
func (h *Hooks) rawTracepointContext(c *Context) error {
	_, name := tracepointName(c.spec.AttachTo)
	if n := len(c.spec.Bytes) / 8; n > 0 {
		// The ctx_in of BPF_PROG_TEST_RUN is the arguments themselves.
		c.Func, c.Untyped = name, true
		for i := range min(n, maxRawArguments) {
			c.Args = append(c.Args, Arg{Name: "arg" + strconv.Itoa(i+1), Value: h.Order().Uint64(c.spec.Bytes[8*i:]), slots: 1})
		}
		return h.arrayContext(c)
	}
	if name == "" {
		// The kernel takes the event when the program is attached, or never: a test run needs none.
		c.Untyped = true
		h.untypedArguments(c, 8)
		return h.arrayContext(c)
	}
	return h.eventContext(c, name)
}

func (h *Hooks) eventContext(c *Context, name string) error {
	spec, p := h.eventProto(name)
	if c.spec.Proto != 0 && p == nil {
		if s, q, ok := h.proto(c, ""); ok {
			spec, p = s, q
		}
	}
	c.Func = name
	if p == nil {
		if c.unlisted() {
			c.Untyped = true
			h.untypedArguments(c, 8)
			return h.arrayContext(c)
		}
		return &object.AbsentError{Hook: name, What: "raw tracepoint (typedef btf_trace_" + name + ")", Nearest: h.nearestNames(btf.KindTypedef, "btf_trace_", name)}
	}
	if name == "sys_enter" || name == "sys_exit" {
		if err := h.sysEventArguments(c, name, spec, p); err != nil {
			return err
		}
		return h.arrayContext(c)
	}
	if err := h.arguments(c, name, spec, p, 1); err != nil {
		return err
	}
	return h.arrayContext(c)
}

// sysEventArguments are those of sys_enter (regs, id) and sys_exit (regs, ret), of the call openat
// unless chosen by Args "call".
func (h *Hooks) sysEventArguments(c *Context, name string, spec *btf.Spec, p *btf.Type) error {
	call, err := h.chosenCall(c, "openat")
	if err != nil {
		return err
	}
	inner := Context{k: h, spec: c.spec}
	if err := h.syscallArguments(&inner, call); err != nil {
		return err
	}
	c.inner = inner.Args
	var result *uint64
	if name == "sys_exit" {
		if err := h.syscallReturn(&inner, call); err != nil {
			return err
		}
		result = &inner.Ret.Value
	}
	regs, err := h.syscallRegs(&inner, call, result)
	if err != nil {
		return err
	}
	for i, param := range p.Params {
		if i == 0 {
			continue
		}
		a := Arg{Name: param.Name, Spec: spec, Type: param.Type, slots: 1}
		switch {
		case i == 1:
			a.Value, a.Object = regs.Addr(), regs
		case name == "sys_exit":
			a.Value = inner.Ret.Value
		default:
			nr, _ := h.SyscallNumber(call)
			a.Value = uint64(nr)
		}
		if a.Name == "" {
			a.Name = [...]string{"", "regs", "id", "arg3"}[min(i, 3)]
		}
		if err := h.override(c, &a); err != nil {
			return err
		}
		c.Args = append(c.Args, a)
		c.Slots++
	}
	return nil
}

// nearestNames lists names of a kind that look like the wanted one.
func (h *Hooks) nearestNames(kind btf.Kind, prefix, name string) []string {
	var all []string
	for id := btf.ID(1); int(id) < h.BTF().NumTypes(); id++ {
		if h.BTF().Kind(id) == kind {
			if n, ok := strings.CutPrefix(h.BTF().Name(id), prefix); ok && len(n) > 0 && abs(len(n)-len(name)) <= 8 {
				all = append(all, n)
			}
		}
	}
	return nearest.Like(name, all)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// tracingContext makes the arguments of fentry, fexit, fmod_ret and tp_btf programs.
func (h *Hooks) tracingContext(c *Context) error {
	row, attach := progtype.Of(c.spec.ProgType), c.spec.Attach
	if s, _ := progtype.ParseSection(c.spec.Section); row.Attached(attach) == nil && s != nil {
		attach = s.Attach
	}
	_, name := tracepointName(c.spec.AttachTo)
	switch row.TargetOf(attach) {
	case progtype.RawEvent:
		return h.eventContext(c, name)
	case progtype.Iterator:
		return h.iterContext(c)
	}
	at := row.Attached(attach)
	ret := at != nil && at.Return
	if c.spec.Passed != nil {
		return h.passedContext(c, ret)
	}
	return h.functionContext(c, c.spec.AttachTo, ret)
}

// functionContext makes the arguments of a traced function, and with ret its return value after
// them.
func (h *Hooks) functionContext(c *Context, name string, ret bool) error {
	c.Func = name
	spec, p, ok := h.proto(c, name)
	if !ok {
		if c.unlisted() {
			c.Untyped = true
			h.untypedArguments(c, 6)
			return h.arrayContext(c)
		}
		return &object.AbsentError{Hook: name, What: "function of that name in its BTF", Nearest: h.nearestNames(btf.KindFunc, "", name)}
	}
	c.FuncAddr = h.SymbolAddr(name)
	if call, wraps := h.wrapped(name); wraps && len(p.Params) == 1 && wrapsRegs(spec, p) {
		inner := Context{k: h, spec: c.spec}
		if err := h.syscallArguments(&inner, call); err != nil {
			return err
		}
		c.inner = inner.Args
		regs, err := h.syscallRegs(&inner, call, nil)
		if err != nil {
			return err
		}
		c.Args = []Arg{{Name: p.Params[0].Name, Spec: spec, Type: p.Params[0].Type, Value: regs.Addr(), Object: regs, slots: 1}}
		c.Slots = 1
		if ret {
			if err := h.syscallReturn(c, call); err != nil {
				return err
			}
		}
		return h.arrayContext(c)
	}
	if err := h.arguments(c, name, spec, p, 0); err != nil {
		return err
	}
	session := c.spec.section().Has(progtype.Session)
	if ret && (p.Ref != 0 || session) {
		if err := h.returnValue(c, name, spec, p); err != nil {
			return err
		}
		if at := progtype.Of(c.spec.ProgType).Attached(c.spec.Attach); at != nil && at.Modifies && c.spec.Args["ret"] == nil {
			c.Ret.Value = 0 // what earlier programs returned: nothing yet
		}
	}
	if session {
		return h.sessionContext(c)
	}
	return h.arrayContext(c)
}

// lsmContext makes the arguments of an LSM hook: those of bpf_lsm_HOOK, then the value earlier
// programs returned.
func (h *Hooks) lsmContext(c *Context) error {
	name := strings.TrimPrefix(c.spec.AttachTo, "bpf_lsm_")
	c.Func = "bpf_lsm_" + name
	spec, p, ok := h.proto(c, c.Func)
	if !ok {
		if c.unlisted() {
			c.Untyped = true
			h.untypedArguments(c, 6)
			return h.arrayContext(c)
		}
		return &object.AbsentError{Hook: name, What: "LSM hook (function bpf_lsm_" + name + ")", Nearest: h.nearestNames(btf.KindFunc, "bpf_lsm_", name)}
	}
	c.FuncAddr = h.SymbolAddr(c.Func)
	if err := h.arguments(c, name, spec, p, 0); err != nil {
		return err
	}
	if p.Ref != 0 {
		c.Returns, c.Ret = true, Arg{Name: "ret", Spec: spec, Type: p.Ref, slots: 1}
		if err := h.override(c, &c.Ret); err != nil {
			return err
		}
	}
	return h.arrayContext(c)
}

// arrayContext writes arguments and return value as u64.
func (h *Hooks) arrayContext(c *Context) error {
	c.Type = argsType
	n := 0
	for _, a := range c.Args {
		n += max(a.slots, 1)
	}
	c.Slots = n
	if c.Returns {
		n++
	}
	data := make([]byte, 8*max(n, 1))
	i := 0
	put := func(v uint64) {
		endian.PutUint(h.Order(), data[8*i:8*i+8], v)
		i++
	}
	for _, a := range c.Args {
		put(a.Value)
		if a.slots == 2 {
			put(a.High)
		}
	}
	if c.Returns {
		put(c.Ret.Value)
	}
	return c.allocate(data, true)
}

// perfEventContext makes a struct bpf_perf_event_data: registers, period and address of a sample.
func (h *Hooks) perfEventContext(c *Context) error {
	c.Type = "bpf_perf_event_data"
	r := h.newRegisters("sample regs", h.SampleIP(), h.stackAddr())
	size, period, addr := uint64(len(r.data)), uint64(0), uint64(0)
	if l := h.LayoutNamed(c.Type); l != nil {
		if f, rest, err := l.Place("regs"); err == nil && rest == "" {
			size = f.Size
		}
		if f, _, err := l.Place("sample_period"); err == nil {
			period = f.Off
		}
		if f, _, err := l.Place("addr"); err == nil {
			addr = f.Off
		}
	}
	if period == 0 || addr == 0 {
		period = (size + 7) &^ 7
		addr = period + 8
	}
	data := make([]byte, max(period, addr)+8)
	copy(data[:size], r.data)
	values := map[string]uint64{"sample_period": 1_000_000, "addr": 0}
	for name := range values {
		if v, ok := object.ToUint(c.spec.Args[name]); ok && c.spec.Args[name] != nil {
			values[name] = v
		}
	}
	endian.PutUint(h.Order(), data[period:period+8], values["sample_period"])
	endian.PutUint(h.Order(), data[addr:addr+8], values["addr"])
	return c.allocate(data, true)
}
