package debug

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
)

// evalName finds what a name means, innermost first: a local variable, an argument, a global variable, a map, something of the
// debugger's own (ctx, current, pkt), an enumerator, a kernel symbol.
func (s *Session) evalName(name string) (*Value, error) {
	if v, ok, err := s.local(name); ok || err != nil {
		return v, err
	}
	if v, ok, err := s.parameter(name); ok || err != nil {
		return v, err
	}
	if v, ok, err := s.global(name); ok || err != nil {
		return v, err
	}
	for _, def := range s.linked.Maps {
		if def.Name == name {
			return s.mapValue(def)
		}
	}
	switch name {
	case "ctx":
		return s.context()
	case "pkt":
		return s.packet()
	case "current":
		return s.current()
	}
	if v, ok, err := s.hookArg(name); ok || err != nil {
		return v, err
	}
	for _, sp := range s.specs() {
		if id, v, ok := sp.FindEnumerator(name); ok {
			return s.convert(s.number(v, true), Type{Spec: sp, ID: id})
		}
	}
	switch name {
	case "NULL", "false":
		return s.number(0, true), nil
	case "true":
		return s.number(1, true), nil
	}
	if v, ok := s.symbol(name); ok {
		return v, nil
	}
	e := &UnknownError{What: "symbol", Name: name, In: "the current context", Nearest: near(name, s.Names())}
	if s.dwarf == nil && s.inSource(name) {
		e.Hint = "local variables need DWARF, which the object does not have: compile with -g and do not strip it, or cast the register that holds the value, as in print *(struct task_struct *)$r6"
	}
	return nil, e
}

// inSource reports whether the source lines of the running function have a name.
func (s *Session) inSource(name string) bool {
	if s.state != Running {
		return false
	}
	p := s.place(s.m.Thread().Image(), s.m.Thread().PC())
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

// Names lists what evalName would find by name without types, for completion and messages.
func (s *Session) Names() []string {
	var out []string
	for _, v := range s.locals() {
		out = append(out, v.Name)
	}
	out = append(out, machine.VariableNames(s.linked)...)
	for _, m := range s.linked.Maps {
		if m.DataKind == loader.DataNone {
			out = append(out, m.Name)
		}
	}
	if s.live() {
		for _, a := range s.run.Context().Args {
			out = append(out, a.Name)
		}
		out = append(out, "ctx")
		if s.run.Context().Packet != nil {
			out = append(out, "pkt")
		}
	}
	if s.linked.Target.BTF != nil {
		out = append(out, "current")
	}
	return out
}

// evalReg is a name that begins with $: a register of the selected frame, or one of the debugger's own values.
func (s *Session) evalReg(name string) (*Value, error) {
	word := name[1:]
	if word == "" || word == "$" {
		word = strconv.Itoa(len(s.history) - len(word))
		if len(s.history) == 0 {
			return nil, errors.New("there is no value yet")
		}
	}
	if n, err := strconv.Atoi(word); err == nil {
		if n < 1 || n > len(s.history) {
			return nil, fmt.Errorf("there is no value $%d yet", n)
		}
		return s.history[n-1], nil
	}
	switch word {
	case "seed":
		return s.number(s.cfg.Machine.Seed, false), nil
	case "insns":
		return s.number(s.Pos(), false), nil
	}
	if s.state == Idle {
		return nil, ErrIdle
	}
	switch word {
	case "pc":
		return s.number(uint64(max(s.Here().PC, 0)), false), nil
	case "cpu":
		return s.number(uint64(s.m.Thread().CPU), true), nil
	case "retval":
		return s.register(0, 8)
	case "fp", "sp":
		return s.register(10, 8)
	}
	if len(word) >= 2 && (word[0] == 'r' || word[0] == 'w') {
		if n, err := strconv.Atoi(word[1:]); err == nil && n >= 0 && n <= 10 {
			if word[0] == 'w' {
				return s.register(n, 4)
			}
			return s.register(n, 8)
		}
	}
	return nil, &UnknownError{What: "register or value", Name: name, Nearest: []string{"$r0 to $r10", "$pc", "$retval", "$insns"}}
}

func (s *Session) register(n, size int) (*Value, error) {
	v, ok := s.m.Thread().FrameReg(s.frame, n)
	if !ok {
		return nil, &UnavailableError{fmt.Sprintf("$r%d", n), "calls do not keep r0 to r5; they are known in frame 0 only"}
	}
	out := s.number(v, false)
	if size == 4 {
		out = &Value{Type: s.basic.named("unsigned int"), Data: make([]byte, 4)}
		s.putUint(out.Data, v)
	}
	out.kind, out.reg, out.frame = inRegister, n, s.frame
	return out, nil
}

// Remember makes a value $N for later expressions and returns N.
func (s *Session) Remember(v *Value) int {
	s.history = append(s.history, v)
	return len(s.history)
}

// parameter is an argument of the function by its BTF. Arguments are in r1 to r5 at its first instruction and nowhere for
// certain after it, but what the main program was called with is known all the time.
func (s *Session) parameter(name string) (*Value, bool, error) {
	if !s.live() {
		return nil, false, nil
	}
	here := s.Here()
	f, ok := here.Func()
	spec := s.linked.Object.BTF
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
		t := Type{Spec: spec, ID: p.Type}
		switch {
		case f.Start == 0 && i == 0 && here.Prog == s.run.Program() && s.outermost():
			v, err := s.convert(s.number(s.run.Context().Addr, false), t)
			return v, true, err
		case s.frame == 0 && here.PC == f.Start && i < 5:
			v, err := s.register(i+1, 8)
			if err != nil {
				return nil, true, err
			}
			c, err := s.convert(v, t)
			return c, true, err
		}
		why := "BTF knows arguments only at the first instruction of a function"
		if s.dwarf == nil {
			why += ", and the object has no DWARF"
		} else {
			why = "optimized out here"
		}
		return nil, true, &UnavailableError{name, why}
	}
	return nil, false, nil
}

func (s *Session) outermost() bool { return s.frame == s.m.Thread().Depth() }

// global is a global variable of the object.
func (s *Session) global(name string) (*Value, bool, error) {
	def, vr, ok := machine.Variable(s.linked, name)
	if !ok {
		return nil, false, nil
	}
	base, err := s.sectionBase(def)
	if err != nil {
		return nil, true, fmt.Errorf("%s: %w", name, err)
	}
	t := Type{Spec: s.linked.Object.BTF, ID: vr.Type}
	if b, err := t.Spec.Type(vr.Type); err == nil && b.Kind == btf.KindVar {
		t.ID = b.Ref
	}
	v, err := s.at(t, base+uint64(vr.Off))
	return v, true, err
}

// context is what the program was called with.
func (s *Session) context() (*Value, error) {
	if !s.live() {
		return nil, &UnavailableError{"ctx", "no program is running"}
	}
	c := s.run.Context()
	if spec := s.linked.Object.BTF; spec != nil {
		if fn, err := spec.Type(s.run.Program().FuncType); err == nil && fn.Kind == btf.KindFunc {
			if p := spec.SkipMods(fn.Ref).Params; len(p) > 0 {
				return s.convert(s.number(c.Addr, false), Type{Spec: spec, ID: p[0].Type})
			}
		}
	}
	if t, err := s.FindType("struct", c.Type); err == nil {
		return s.pointerTo(t, c.Addr), nil
	}
	return s.pointerTo(s.basic.named("unsigned long long"), c.Addr), nil
}

// current is the task the program runs in.
func (s *Session) current() (*Value, error) {
	s.looking()
	task := s.m.Kernel().Current()
	if task == nil {
		return nil, &UnavailableError{"current", "the kernel's BTF has no task_struct"}
	}
	return s.pointerTo(Type{Spec: task.Spec(), ID: task.Type()}, task.Addr()), nil
}

// hookArg is an argument of the traced function or event, by the name the kernel gives it.
func (s *Session) hookArg(name string) (*Value, bool, error) {
	if !s.live() {
		return nil, false, nil
	}
	c := s.run.Context()
	for _, a := range c.Args {
		if a.Name == name && name != "" {
			v, err := s.argValue(a)
			return v, true, err
		}
	}
	return nil, false, nil
}

func (s *Session) argValue(a kernel.Arg) (*Value, error) {
	if a.Spec == nil || a.Type == 0 {
		return s.number(a.Value, false), nil
	}
	return s.convert(s.number(a.Value, false), Type{Spec: a.Spec, ID: a.Type})
}

// symbol is a kernel function or variable, as far as the target knows it.
func (s *Session) symbol(name string) (*Value, bool) {
	if s.linked.Target.BTF == nil || strings.HasPrefix(name, "__") && len(name) < 4 {
		return nil, false
	}
	addr, ok := s.m.Kernel().KsymAddr(name)
	if !ok {
		return nil, false
	}
	return s.pointerTo(s.basic.named("void"), addr), true
}

// looking records the state when what is looked at may come into being.
func (s *Session) looking() {
	if !s.changing {
		s.look()
	}
}
