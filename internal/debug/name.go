package debug

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// Variables lists the global variables of the object.
func (fr *frames) Variables() []string { return machine.VariableNames(fr.linked) }

// EvalName resolves a name, innermost scope first: a local variable, an argument, a global
// variable, a map, one of the debugger's own names (ctx, current, pkt), an enumerator, a kernel
// symbol.
func (fr *frames) EvalName(name string) (*expr.Value, error) {
	if v, ok, err := fr.local(name); ok || err != nil {
		return v, err
	}
	if v, ok, err := fr.parameter(name); ok || err != nil {
		return v, err
	}
	if v, ok, err := fr.Global(name); ok || err != nil {
		return v, err
	}
	for _, def := range fr.linked.Maps {
		if def.Name == name {
			return fr.MapValue(def)
		}
	}
	switch name {
	case "ctx":
		return fr.context()
	case "pkt":
		return fr.Packet()
	case "current":
		return fr.current()
	}
	if v, ok, err := fr.hookArg(name); ok || err != nil {
		return v, err
	}
	if v, ok, err := fr.Constant(name); ok {
		return v, err
	}
	if v, ok := fr.symbol(name); ok {
		return v, nil
	}
	e := &expr.UnknownError{What: "symbol", Name: name, In: "the current context", Nearest: expr.Near(name, fr.Names())}
	if fr.dwarf == nil && fr.inSource(name) {
		e.Hint = "local variables need DWARF, and the object has none: compile with -g and do not strip it, or cast the register that holds the value, as in print *(struct task_struct *)$r6"
	}
	return nil, e
}

// inSource reports whether a name occurs in the source lines of the running function.
func (fr *frames) inSource(name string) bool {
	if fr.state != Running {
		return false
	}
	p := fr.place(fr.m.Thread().Image(), fr.m.Thread().PC())
	f, ok := p.Func()
	if !ok {
		return false
	}
	word := func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }
	for pc := f.Start; pc < f.Start+f.Len; pc++ {
		if l, ok := p.Prog.LineAt(pc); ok && slices.Contains(strings.FieldsFunc(l.Text, word), name) {
			return true
		}
	}
	return false
}

// Names lists the names that EvalName resolves, types excluded, for completion and messages.
func (fr *frames) Names() []string {
	var out []string
	for _, v := range fr.locals() {
		out = append(out, v.Name)
	}
	out = append(out, machine.VariableNames(fr.linked)...)
	for _, m := range fr.linked.Maps {
		if m.DataKind == loader.DataNone {
			out = append(out, m.Name)
		}
	}
	if fr.live() {
		for _, a := range fr.run.Context().Args {
			out = append(out, a.Name)
		}
		out = append(out, "ctx")
		if fr.run.Context().Packet != nil {
			out = append(out, "pkt")
		}
	}
	if fr.linked.Target.BTF != nil {
		out = append(out, "current")
	}
	return out
}

// EvalReg resolves a name that begins with $: a register of the selected frame, or one of the
// debugger's own values.
func (fr *frames) EvalReg(name string) (*expr.Value, error) {
	word := name[1:]
	if word == "" || word == "$" {
		word = strconv.Itoa(len(fr.history) - len(word))
		if len(fr.history) == 0 {
			return nil, errors.New("no value yet")
		}
	}
	// Watchpoints ask for a register after every instruction, and creating Atoi's error would take
	// a fifth of their time.
	if word[0] <= '9' {
		if n, err := strconv.Atoi(word); err == nil {
			if n < 1 || n > len(fr.history) {
				return nil, fmt.Errorf("no value $%d yet", n)
			}
			return fr.history[n-1], nil
		}
	}
	switch word {
	case "seed":
		return fr.Number(fr.seed, false), nil
	case "insns":
		fr.Elsewhere()
		return fr.Number(fr.Pos(), false), nil
	}
	if fr.state == Idle {
		return nil, ErrIdle
	}
	switch word {
	case "pc":
		fr.Elsewhere()
		return fr.Number(uint64(max(fr.Here().PC, 0)), false), nil
	case "cpu":
		fr.Elsewhere()
		return fr.Number(uint64(fr.m.Thread().CPU), true), nil
	case "retval":
		return fr.register(0, 8)
	case "fp", "sp":
		return fr.register(10, 8)
	}
	if len(word) >= 2 && (word[0] == 'r' || word[0] == 'w') {
		if n, err := strconv.Atoi(word[1:]); err == nil && n >= 0 && n <= 10 {
			if word[0] == 'w' {
				return fr.register(n, 4)
			}
			return fr.register(n, 8)
		}
	}
	return nil, &expr.UnknownError{What: "register or value", Name: name, Nearest: []string{"$r0 to $r10", "$pc", "$retval", "$insns"}}
}

// Remember keeps a value as $N for later expressions and returns N.
func (fr *frames) Remember(v *expr.Value) int {
	fr.history = append(fr.history, v)
	return len(fr.history)
}

// parameter returns an argument of the function by its BTF. Arguments are certain to be in r1 to r5
// only at the first instruction, but the main program's initial arguments stay known throughout.
func (fr *frames) parameter(name string) (*expr.Value, bool, error) {
	if !fr.live() {
		return nil, false, nil
	}
	here := fr.Here()
	f, ok := here.Func()
	spec := fr.linked.Object.BTF
	if !ok || spec == nil || f.Type == 0 {
		return nil, false, nil
	}
	fn, err := spec.Type(f.Type)
	if err != nil {
		return nil, false, nil
	}
	for i, p := range spec.SkipMods(fn.Ref).Params {
		if p.Name != name || name == "" {
			continue
		}
		t := expr.Type{Spec: spec, ID: p.Type}
		switch {
		case f.Start == 0 && i == 0 && here.Prog == fr.run.Program() && fr.outermost():
			v, err := fr.Convert(fr.Number(fr.run.Context().Addr, false), t)
			return v, true, err
		case fr.frame == 0 && here.PC == f.Start && i < 5:
			v, err := fr.register(i+1, 8)
			if err != nil {
				return nil, true, err
			}
			c, err := fr.Convert(v, t)
			return c, true, err
		}
		why := "from BTF, arguments are known only at a function's first instruction"
		if fr.dwarf == nil {
			why += ", and the object has no DWARF"
		} else {
			why = "optimized out here"
		}
		return nil, true, &expr.UnavailableError{Name: name, Why: why}
	}
	return nil, false, nil
}

// context returns the program's context.
func (fr *frames) context() (*expr.Value, error) {
	if !fr.live() {
		return nil, &expr.UnavailableError{Name: "ctx", Why: "no program is running"}
	}
	return fr.ContextOf(fr.run.Program(), fr.run.Context())
}

// current returns the task that the program runs in.
func (fr *frames) current() (*expr.Value, error) {
	fr.Looking()
	task := fr.m.Kernel().Current()
	if task == nil {
		return nil, &expr.UnavailableError{Name: "current", Why: "the kernel's BTF has no task_struct"}
	}
	return fr.PointerTo(expr.Type{Spec: task.Spec(), ID: task.Type()}, task.Addr()), nil
}

// hookArg returns an argument of the traced function or event by the kernel's name for it.
func (fr *frames) hookArg(name string) (*expr.Value, bool, error) {
	if !fr.live() {
		return nil, false, nil
	}
	c := fr.run.Context()
	for _, a := range c.Args {
		if a.Name == name && name != "" {
			v, err := fr.ArgOf(a)
			return v, true, err
		}
	}
	return nil, false, nil
}

// symbol returns the address of a kernel function or variable; false if the kernel has no such
// symbol.
func (fr *frames) symbol(name string) (*expr.Value, bool) {
	fr.Elsewhere()
	if fr.linked.Target.BTF == nil || strings.HasPrefix(name, "__") && len(name) < 4 {
		return nil, false
	}
	addr, ok := fr.m.Kernel().KsymAddr(name)
	if !ok {
		return nil, false
	}
	return fr.PointerTo(fr.Basic.Named("void"), addr), true
}
