package debug

import (
	"fmt"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// mayKnow reports whether debug information has a location for a variable at a place.
func (fr *frames) mayKnow(name string, p Place) bool {
	addr, ok := fr.codeAddress(p)
	if !ok {
		return false
	}
	for _, sc := range fr.dwarf.Visible(addr) {
		for _, v := range sc.Vars {
			if v.Name != name {
				continue
			}
			if v.Constant != nil {
				return true
			}
			if _, err := fr.dwarf.Location(v, addr); err == nil {
				return true
			}
		}
	}
	return false
}

// localAnywhere returns a variable of the innermost activation or of a function inlined into it.
func (fr *frames) localAnywhere(name string) (v *expr.Value, ok bool, err error) {
	n := len(fr.inlinedAt(fr.Here()))
	for fr.inline = 0; fr.inline <= n; fr.inline++ {
		if v, ok, err = fr.local(name); ok && err == nil {
			return v, ok, err
		}
	}
	return v, ok, err
}

// Local is a local variable or argument that is visible at the selected place.
type Local struct {
	Name string
	// Param reports whether it is an argument.
	Param bool
	Value *expr.Value
	// Err explains why there is no value: usually it was optimized out here.
	Err error
}

// Locals returns the variables visible at the selected place, innermost scope first.
func (fr *frames) Locals() ([]Local, error) {
	if err := fr.mayRun(); err != nil && !fr.live() {
		return nil, err
	}
	switch {
	case fr.dwarfErr != nil:
		return nil, &expr.UnavailableError{Name: "local variables", Why: fr.dwarfErr.Error()}
	case fr.dwarf == nil:
		return nil, &expr.UnavailableError{Name: "local variables", Why: "the object has no DWARF (compile with -g and do not strip it)"}
	}
	return fr.locals(), nil
}

func (fr *frames) locals() []Local {
	var out []Local
	fr.eachLocal(func(v *scopes.Variable) bool {
		l := Local{Name: v.Name, Param: v.Param}
		l.Value, l.Err = fr.localOrArgument(v)
		out = append(out, l)
		return true
	})
	return out
}

// eachLocal calls f for the variables visible at the selected place, innermost first, without
// shadowed ones.
func (fr *frames) eachLocal(f func(v *scopes.Variable) bool) {
	addr, ok := fr.codeAddress(fr.Here())
	if fr.dwarf == nil || !ok || !fr.live() {
		return
	}
	seen := map[string]bool{}
	level := 0
	for _, sc := range fr.dwarf.Visible(addr) {
		// Each inlined function is a frame of its own that ends with its scope.
		at := level
		if sc.Inlined != "" {
			level++
		}
		if at != fr.inline {
			continue
		}
		for _, v := range sc.Vars {
			if seen[v.Name] {
				continue
			}
			seen[v.Name] = true
			if !f(v) {
				return
			}
		}
	}
}

// local finds a local variable by name.
func (fr *frames) local(name string) (v *expr.Value, ok bool, err error) {
	fr.eachLocal(func(l *scopes.Variable) bool {
		if l.Name != name {
			return true
		}
		ok = true
		v, err = fr.localOrArgument(l)
		return false
	})
	return v, ok, err
}

// localOrArgument returns the value of a variable. The program's initial arguments are known even
// where DWARF has no location.
func (fr *frames) localOrArgument(l *scopes.Variable) (*expr.Value, error) {
	v, err := fr.localValue(l)
	if err != nil && l.Param {
		if p, ok, perr := fr.parameter(l.Name); ok && perr == nil {
			return p, nil
		}
	}
	return v, err
}

func (fr *frames) localValue(v *scopes.Variable) (*expr.Value, error) {
	t := expr.Type{Spec: fr.dwarf.Spec, ID: v.Type}
	if v.Constant != nil {
		return fr.Convert(fr.Number(uint64(*v.Constant), true), t)
	}
	here := fr.Here()
	addr, _ := fr.codeAddress(here)
	text, err := fr.dwarf.Location(v, addr)
	var w scopes.Where
	if err == nil {
		w, err = scopes.Locate(text, fr.m.Memory().ByteOrder(), fr.machineState(here))
	}
	if err != nil {
		return nil, &expr.UnavailableError{Name: v.Name, Why: err.Error()}
	}
	switch w.Kind {
	case scopes.InMemory:
		return fr.At(t, w.Addr)
	case scopes.InRegister:
		return fr.registerAs(v.Name, w.Reg, t)
	}
	if w.Bytes != nil {
		size, err := t.Size()
		if err != nil || size > int64(len(w.Bytes)) {
			return nil, &expr.UnavailableError{Name: v.Name, Why: "its constant is truncated"}
		}
		return &expr.Value{Type: t, Data: w.Bytes[:size]}, nil
	}
	out, err := fr.Sized(v.Name, w.Value, t)
	if err == nil && w.From != nil {
		out.From = w.From
	}
	return out, err
}

// registerAs returns a variable held in a register.
func (fr *frames) registerAs(name string, reg int, t expr.Type) (*expr.Value, error) {
	n, ok := fr.FrameReg(fr.frame, reg)
	if !ok {
		return nil, &expr.UnavailableError{Name: name, Why: fmt.Sprintf("it is in r%d, which calls clobber", reg)}
	}
	v, err := fr.Sized(name, n, t)
	if err != nil {
		return nil, err
	}
	v.Kind, v.Reg, v.Frame = expr.InRegister, reg, fr.frame
	return v, nil
}

func (fr *frames) machineState(p Place) scopes.State {
	return scopes.State{
		Reg: func(n int) (uint64, error) {
			v, ok := fr.FrameReg(fr.frame, n)
			if !ok {
				return 0, fmt.Errorf("it depends on r%d, which calls clobber", n)
			}
			return v, nil
		},
		Frame: func() (uint64, error) {
			f, ok := p.Func()
			fp, known := fr.FrameReg(fr.frame, 10)
			if !ok || !known {
				return 0, scopes.ErrUnreadable
			}
			return fp - uint64(frameSize(p.Prog, f)), nil
		},
		Read: func(addr uint64, size int) (uint64, error) {
			b := make([]byte, size)
			if err := fr.Peek(addr, b); err != nil {
				return 0, err
			}
			return fr.Uint(b), nil
		},
	}
}

// frameSize returns the size of a function's stack frame in bytes. The frame base is r10, but clang
// counts the offsets of variables in memory from the lowest byte of the frame, so the size is
// needed; no debug information records it. It is the deepest offset that the code uses, rounded up
// to 8.
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
	var copies [16]bool // registers that hold a copy of r10
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
	return (depth + scopes.StackSlotSize - 1) / scopes.StackSlotSize * scopes.StackSlotSize
}

// hasLocals reports whether an expression names local variables of the selected frame.
func (fr *frames) hasLocals(n expr.Node) bool {
	found := false
	expr.EachName(n, func(name string) {
		fr.eachLocal(func(v *scopes.Variable) bool {
			found = found || v.Name == name
			return !found
		})
	})
	return found
}
