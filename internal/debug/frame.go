package debug

import (
	"errors"
	"fmt"
	"path"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/bpfrun/bpfrun/internal/debug/scopes"
	"github.com/bpfrun/bpfrun/vm"
)

// selection is the frame that expressions and listings apply to.
type selection struct {
	frame  int // activation, counted as vm does
	inline int // function inlined in the activation, 0 for the innermost
}

// frames provides the activations of the run and what is visible in the selected one: registers,
// variables, arguments. Its state is the selection and the values kept as $1, $2.
type frames struct {
	*subject
	*codeMap
	*expr.Printer
	*timeline
	*selection
	seed    uint64
	history []*expr.Value
}

// nesting returns the depth of the next instruction in calls and inlined calls.
func (fr *frames) nesting() int {
	t := fr.m.Thread()
	p := fr.place(t.Image(), t.PC())
	if p.Prog == nil {
		return t.Depth() << 8
	}
	return t.Depth()<<8 | int(fr.codeOf(p.Prog).inlined[p.PC])
}

// Arg is an argument of the program's hook.
type Arg struct {
	Name  string
	Value *expr.Value
	Err   error
}

// Args returns the program's context and the arguments of its hook, under the kernel's names.
func (fr *frames) Args() []Arg {
	if !fr.live() {
		return nil
	}
	v, err := fr.context()
	out := []Arg{{"ctx", v, err}}
	c := fr.run.Context()
	for _, a := range c.Args {
		if a.Name != "" {
			v, err := fr.ArgOf(a)
			out = append(out, Arg{a.Name, v, err})
		}
	}
	return out
}

// Register is a register of the selected frame.
type Register struct {
	Name  string
	Value uint64
	// Known is false for r0 to r5 of callers.
	Known bool
	// Note names the target of an address.
	Note string
}

// Registers returns r0 to r10 of the selected frame.
func (fr *frames) Registers() ([]Register, error) {
	if fr.state == Idle {
		return nil, ErrIdle
	}
	var out []Register
	for i := range 11 {
		v, ok := fr.m.Thread().FrameReg(fr.frame, i)
		r := Register{Name: fmt.Sprintf("r%d", i), Value: v, Known: ok}
		if ok {
			r.Note = fr.AddressName(v)
		}
		out = append(out, r)
	}
	return out, nil
}

// SetPC assigns to $pc and returns the new value. Only frame 0 of a running program allows it.
func (fr *frames) SetPC(v *expr.Value) (*expr.Value, error) {
	n, _, err := fr.AsInt(v)
	if err != nil {
		return nil, err
	}
	if fr.state != Running || fr.frame != 0 {
		return nil, errors.New("$pc can be changed only in frame 0 of a running program")
	}
	if n > 1<<31 || !fr.m.Thread().SetPC(int(n)) {
		return nil, fmt.Errorf("$pc = %d: no instruction of the running function", int64(n))
	}
	return fr.Number(n, false), nil
}

// Here returns the next instruction of the selected frame's function; in callers, the call. After
// the end of a run it returns the last instruction.
func (fr *frames) Here() Place {
	if fr.state == Idle {
		return Place{}
	}
	frames := fr.m.Thread().Frames()
	if fr.frame >= len(frames) {
		return Place{}
	}
	f := frames[fr.frame]
	pc := f.PC
	if fr.frame > 0 {
		pc-- // the slot of the call
	}
	return fr.place(f.Image, pc)
}

// Frame is one activation of a function. An inlined function has a frame of its own.
type Frame struct {
	Level int
	Place Place
	// Func, File and Line are the function and its current line; in a caller, the line of the call.
	// Line is 0 if unknown.
	Func string
	File string
	Line uint32
	// Inlined means that the compiler inlined the function into that of the next frame.
	Inlined bool
	// Callback means that a helper called the function.
	Callback bool
	FP       uint64 // r10

	frame, inline int
}

// String formats the frame as "square at locals.bpf.c:34 (insn 54)".
func (f Frame) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s insn %d", f.Func, f.Place.PC)
	}
	return fmt.Sprintf("%s at %s:%d (insn %d)", f.Func, path.Base(f.File), f.Line, f.Place.PC)
}

// standing returns an error that explains why the run has no activations, nil if it has.
func (fr *frames) standing() error {
	switch {
	case fr.state == Idle:
		return ErrIdle
	case fr.state == Ended && fr.result.Fault == nil:
		return ErrEnded
	}
	return nil
}

// Frames returns the activations, innermost first.
func (fr *frames) Frames() ([]Frame, error) {
	if err := fr.standing(); err != nil {
		return nil, err
	}
	var out []Frame
	for i, f := range fr.m.Thread().Frames() {
		pc := f.PC
		if i > 0 {
			pc--
		}
		x := Frame{Place: fr.place(f.Image, pc), FP: f.FP, frame: i}
		if l, ok := lineOf(x.Place); ok {
			x.File, x.Line = l.File, l.Line
		}
		for _, sc := range fr.inlinedAt(x.Place) {
			x.Level, x.Func, x.Inlined = len(out), sc.Inlined, true
			out = append(out, x)
			x.File, x.Line = sc.CallFile, sc.CallLine
			x.inline++
		}
		x.Level, x.Func, x.Inlined, x.Callback = len(out), x.Place.funcName(), false, f.Callback
		out = append(out, x)
	}
	return out, nil
}

// SelectFrame selects the frame that expressions and listings apply to. Level 0 is the innermost.
func (fr *frames) SelectFrame(level int) error {
	if level == 0 && fr.standing() == nil { // each step of an editor begins with it, so skip the search for all frames
		fr.select0()
		return nil
	}
	frames, err := fr.Frames()
	if err != nil {
		return err
	}
	if level < 0 || level >= len(frames) {
		return fmt.Errorf("no frame %d; the outermost is frame %d", level, len(frames)-1)
	}
	fr.frame, fr.inline = frames[level].frame, frames[level].inline
	return nil
}

// SelectedFrame returns the number of the selected frame.
func (fr *frames) SelectedFrame() int {
	frames, err := fr.Frames()
	if err != nil {
		return 0
	}
	for _, f := range frames {
		if f.frame == fr.frame && f.inline == fr.inline {
			return f.Level
		}
	}
	return 0
}

// returnsTo returns the places at which a frame at that depth continues after its calls.
func (fr *frames) returnsTo(depth int) []Place {
	t := fr.m.Thread()
	frames := t.Frames()
	if i := t.Depth() - depth; i > 0 && i < len(frames) {
		p := fr.place(frames[i].Image, frames[i].PC)
		out := []Place{p}
		if p.Prog != nil && p.Prog.ExceptionCallback > 0 {
			out = append(out, Place{p.Prog, p.Prog.ExceptionCallback})
		}
		return out
	}
	return nil
}

// returnsToOf returns the places that the running function returns to, none for the outermost.
func (fr *frames) returnsToOf(depth int) []Place {
	if depth == 0 {
		return nil
	}
	return fr.returnsTo(depth - 1)
}

// selectedInline returns the scope of the selected frame if it is an inlined function, nil
// otherwise.
func (fr *frames) selectedInline() *scopes.Scope {
	if fr.state != Running {
		return nil
	}
	if list := fr.inlinedAt(fr.Here()); fr.inline < len(list) {
		return list[fr.inline]
	}
	return nil
}

// addressOf returns the address of the next instruction as the object's DWARF counts it.
func (fr *frames) addressOf(t *vm.Thread) uint64 {
	addr, _ := fr.codeAddress(fr.place(t.Image(), t.PC()))
	return addr
}

// select0 selects the innermost frame.
func (se *selection) select0() { se.frame, se.inline = 0, 0 }

func (fr *frames) register(n, size int) (*expr.Value, error) {
	v, ok := fr.FrameReg(fr.frame, n)
	if !ok {
		return nil, &expr.UnavailableError{Name: fmt.Sprintf("$r%d", n), Why: "calls clobber r0 to r5, so they are known only in frame 0"}
	}
	out := fr.Number(v, false)
	if size == 4 {
		out = &expr.Value{Type: fr.Basic.Named("unsigned int"), Data: make([]byte, 4)}
		fr.PutUint(out.Data, v)
	}
	out.Kind, out.Reg, out.Frame = expr.InRegister, n, fr.frame
	return out, nil
}

func (fr *frames) outermost() bool { return fr.frame == fr.m.Thread().Depth() }
