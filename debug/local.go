package debug

import (
	"fmt"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// codeAt finds the instruction at a text address.
func (s *Session) codeAt(addr uint64) (*vm.Image, int, bool) {
	for _, name := range s.m.Names() {
		if img, ok := s.m.ImageOf(name); ok {
			return img.Text().Resolve(addr)
		}
	}
	return nil, 0, false
}

// Local is a local variable or argument that is visible at the selected place.
type Local struct {
	Name string
	// Param means that it is an argument.
	Param bool
	Value *Value
	// Err is why there is no value: it was optimized out here, mostly.
	Err error
}

// DWARFError returns why the object's DWARF could not be read, nil when it could or there is none.
func (s *Session) DWARFError() error { return s.dwarfErr }

// HasDWARF reports whether the object says where local variables are.
func (s *Session) HasDWARF() bool { return s.dwarf != nil }

// Locals returns the variables that are visible at the selected place, innermost scope first.
func (s *Session) Locals() ([]Local, error) {
	if err := s.mayRun(); err != nil && !s.live() {
		return nil, err
	}
	switch {
	case s.dwarfErr != nil:
		return nil, &UnavailableError{"local variables", s.dwarfErr.Error()}
	case s.dwarf == nil:
		return nil, &UnavailableError{"local variables", "the object has no DWARF (compile with -g and do not strip it)"}
	}
	return s.locals(), nil
}

func (s *Session) locals() []Local {
	var out []Local
	s.eachLocal(func(v *localVar) bool {
		l := Local{Name: v.name, Param: v.param}
		l.Value, l.Err = s.localOrArgument(v)
		out = append(out, l)
		return true
	})
	return out
}

// eachLocal calls f for the variables visible at the selected place, innermost first, shadowed ones left out.
func (s *Session) eachLocal(f func(v *localVar) bool) {
	addr, ok := s.codeAddress(s.Here())
	if s.dwarf == nil || !ok || !s.live() {
		return
	}
	seen := map[string]bool{}
	level := 0
	for _, sc := range s.dwarf.visible(addr) {
		// Each inlined function is a frame of its own, which ends with its scope.
		at := level
		if sc.inlined != "" {
			level++
		}
		if at != s.inline {
			continue
		}
		for _, v := range sc.vars {
			if seen[v.name] {
				continue
			}
			seen[v.name] = true
			if !f(v) {
				return
			}
		}
	}
}

// local finds a local variable by name.
func (s *Session) local(name string) (v *Value, ok bool, err error) {
	s.eachLocal(func(l *localVar) bool {
		if l.name != name {
			return true
		}
		ok = true
		v, err = s.localOrArgument(l)
		return false
	})
	return v, ok, err
}

// localOrArgument is the value of a variable. What the program was called with is known even where DWARF does not say.
func (s *Session) localOrArgument(l *localVar) (*Value, error) {
	v, err := s.localValue(l)
	if err != nil && l.param {
		if p, ok, perr := s.parameter(l.name); ok && perr == nil {
			return p, nil
		}
	}
	return v, err
}

// codeAddress is the address of an instruction in terms of the object's DWARF.
func (s *Session) codeAddress(p Place) (uint64, bool) {
	f, ok := p.Func()
	if !ok || f.Function == nil || s.dwarf == nil {
		return 0, false
	}
	base, ok := s.dwarf.sections[f.Function.Section]
	return base + 8*uint64(f.Function.SectionOff+p.PC-f.Start), ok
}

func (s *Session) localValue(v *localVar) (*Value, error) {
	t := Type{Spec: s.dwarf.spec, ID: v.typ}
	if v.constant != nil {
		return s.convert(s.number(uint64(*v.constant), true), t)
	}
	here := s.Here()
	addr, _ := s.codeAddress(here)
	expr, err := s.dwarf.location(v, addr)
	var w where
	if err == nil {
		w, err = locate(expr, s.m.Memory().ByteOrder(), s.machineState(here))
	}
	if err != nil {
		return nil, &UnavailableError{v.name, err.Error()}
	}
	switch w.kind {
	case inMemory:
		return s.at(t, w.addr)
	case inRegister:
		return s.registerAs(v.name, w.reg, t)
	}
	if w.bytes != nil {
		size, err := t.size()
		if err != nil || size > int64(len(w.bytes)) {
			return nil, &UnavailableError{v.name, "its constant is cut short"}
		}
		return &Value{Type: t, Data: w.bytes[:size]}, nil
	}
	out, err := s.sized(v.name, w.value, t)
	if err == nil && w.from != nil {
		out.where = where{kind: inRegister, reg: *w.from}
	}
	return out, err
}

// registerAs is a variable that lives in a register.
func (s *Session) registerAs(name string, reg int, t Type) (*Value, error) {
	n, ok := s.m.Thread().FrameReg(s.frame, reg)
	if !ok {
		return nil, &UnavailableError{name, fmt.Sprintf("it is in r%d, which calls do not keep", reg)}
	}
	v, err := s.sized(name, n, t)
	if err != nil {
		return nil, err
	}
	v.kind, v.reg, v.frame = inRegister, reg, s.frame
	return v, nil
}

// sized is a value of up to eight bytes of any type.
func (s *Session) sized(name string, n uint64, t Type) (*Value, error) {
	size, err := t.size()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if size > 8 {
		return nil, &UnavailableError{name, fmt.Sprintf("optimized out here: debug information has one number for its %d bytes", size)}
	}
	b := make([]byte, 8)
	s.m.Memory().ByteOrder().PutUint64(b, n)
	if s.m.Memory().ByteOrder().Uint16([]byte{1, 0}) != 1 {
		return &Value{Type: t, Data: b[8-size:]}, nil
	}
	return &Value{Type: t, Data: b[:size]}, nil
}

func (s *Session) machineState(p Place) machineState {
	return machineState{
		reg: func(n int) (uint64, error) {
			v, ok := s.m.Thread().FrameReg(s.frame, n)
			if !ok {
				return 0, fmt.Errorf("it depends on r%d, which calls do not keep", n)
			}
			return v, nil
		},
		frame: func() (uint64, error) {
			f, ok := p.Func()
			fp, known := s.m.Thread().FrameReg(s.frame, 10)
			if !ok || !known {
				return 0, errLocation
			}
			return fp - uint64(frameSize(p.Prog, f)), nil
		},
		read: func(addr uint64, size int) (uint64, error) {
			b := make([]byte, size)
			if err := s.peek(addr, b); err != nil {
				return 0, err
			}
			return s.uint(b), nil
		},
	}
}

// frameSize is the size of a function's stack frame. Clang counts the offsets of variables in memory from the lowest byte of
// the frame although the frame base is r10, so the size must be known; no debug information has it. It is the
// deepest offset the code uses, rounded up to 8.
func frameSize(lp *loader.LinkedProgram, f loader.Func) int {
	end := min(f.Start+f.Len, len(lp.Insns))
	depth := decode.StackDepth(lp.Insns, f.Start, end)
	const (
		alu64Mov = 0xbf // dst = src
		alu64Add = 0x07 // dst += imm
		fp       = 10
		isLoad   = 1
		aluLow   = 4
		aluHigh  = 7
	)
	var copies [16]bool // registers that hold r10
	for pc := f.Start; pc < end; pc += lp.Insns[pc].Len() {
		in := lp.Insns[pc]
		dst := in.Dst & 15
		switch class := in.Code & 7; {
		case in.Code == alu64Mov && in.Off == 0:
			copies[dst] = in.Src == fp || copies[in.Src&15]
		case in.Code == alu64Add:
			if copies[dst] && in.Imm < 0 && in.Imm >= -vm.StackSize {
				depth = max(depth, -int(in.Imm))
			}
			copies[dst] = false
		case class == aluLow || class == aluHigh || class == isLoad || in.IsLdImm64():
			copies[dst] = false
		}
	}
	return (depth + stackSlotSize - 1) / stackSlotSize * stackSlotSize
}
