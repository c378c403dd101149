package debug

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// Place is an instruction of a program.
type Place struct {
	Prog *loader.LinkedProgram
	PC   int // slot in the linked program
}

// Func returns the function of the place.
func (p Place) Func() (loader.Func, bool) {
	if p.Prog == nil {
		return loader.Func{}, false
	}
	return p.Prog.FuncAt(p.PC)
}

// Line returns the source line of the place.
func (p Place) Line() (btf.LineInfo, bool) {
	if p.Prog == nil {
		return btf.LineInfo{}, false
	}
	return p.Prog.LineAt(p.PC)
}

// String writes the place as "handle_exec at exec.bpf.c:42 (insn 7)".
func (p Place) String() string {
	if p.Prog == nil {
		return "nowhere"
	}
	name := p.funcName()
	if l, ok := p.Line(); ok && l.Line > 0 {
		return fmt.Sprintf("%s at %s:%d (insn %d)", name, path.Base(l.File), l.Line, p.PC)
	}
	return fmt.Sprintf("%s insn %d", name, p.PC)
}

// Insn returns the instruction as text.
func (p Place) Insn() string {
	if p.Prog == nil || p.PC < 0 || p.PC >= len(p.Prog.Insns) {
		return ""
	}
	return decode.Disassemble(p.Prog.Insns, p.PC, p.Prog.Symbols())
}

// code is what stepping needs to know of a program, by slot.
type code struct {
	lp *loader.LinkedProgram
	// line numbers the source lines: equal numbers are the same line of the same function; 0 is none.
	line []int32
	// starts marks slots at which a line record begins.
	starts []bool
	fn     []int32 // index into lp.Funcs, -1 for none
	// inlined counts the inlined functions that a slot is inside of.
	inlined []uint8
}

// codeOf returns the tables of a program.
func (s *Session) codeOf(lp *loader.LinkedProgram) *code {
	if c := s.code[lp]; c != nil {
		return c
	}
	n := len(lp.Insns)
	c := &code{lp: lp, line: make([]int32, n), starts: make([]bool, n), fn: make([]int32, n), inlined: make([]uint8, n)}
	type key struct {
		fn   int32
		file string
		line uint32
	}
	seen := map[key]int32{}
	for i := range c.fn {
		c.fn[i] = -1
	}
	for i, f := range lp.Funcs {
		last := ^uint32(0)
		for pc := f.Start; pc < f.Start+f.Len && pc < n; pc++ {
			c.fn[pc] = int32(i)
			if s.dwarf != nil {
				c.inlined[pc] = uint8(min(len(s.inlinedAt(Place{lp, pc})), 255))
			}
			l, ok := lp.LineAt(pc)
			if !ok || l.Line == 0 {
				continue
			}
			k := key{int32(i), l.File, l.Line}
			if seen[k] == 0 {
				seen[k] = int32(len(seen) + 1)
			}
			c.line[pc] = seen[k]
			if l.InsnOff != last {
				c.starts[pc] = true
				last = l.InsnOff
			}
		}
	}
	s.code[lp] = c
	return c
}

// hasLines reports whether the function at a slot has line information.
func (c *code) hasLines(pc int) bool {
	if pc < 0 || pc >= len(c.fn) || c.fn[pc] < 0 {
		return false
	}
	f := c.lp.Funcs[c.fn[pc]]
	for i := f.Start; i < f.Start+f.Len && i < len(c.line); i++ {
		if c.line[i] != 0 {
			return true
		}
	}
	return false
}

// place turns what the processor says into a Place.
func (s *Session) place(img *vm.Image, pc int) Place {
	lp, ok := s.m.ProgramOf(img)
	if !ok {
		return Place{}
	}
	return Place{lp, pc}
}

// Here returns the next instruction of the selected frame's function; in callers, the call. After the end of a run it
// is the last instruction.
func (s *Session) Here() Place {
	if s.state == Idle {
		return Place{}
	}
	frames := s.m.Thread().Frames()
	if s.frame >= len(frames) {
		return Place{}
	}
	f := frames[s.frame]
	pc := f.PC
	if s.frame > 0 {
		pc-- // the slot of the call
	}
	return s.place(f.Image, pc)
}

// Frame is one activation of a function. A function that was inlined has one of its own.
type Frame struct {
	Level int
	Place Place
	// Func, File and Line are the function and the line it is at: of a caller that of the call. Line is 0 when it is not known.
	Func string
	File string
	Line uint32
	// Inlined means that the compiler put the function's code into that of the next frame.
	Inlined bool
	// Callback means that a helper called the function.
	Callback bool
	FP       uint64 // r10

	frame, inline int
}

// String writes the frame as "square at locals.bpf.c:34 (insn 54)".
func (f Frame) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s insn %d", f.Func, f.Place.PC)
	}
	return fmt.Sprintf("%s at %s:%d (insn %d)", f.Func, path.Base(f.File), f.Line, f.Place.PC)
}

// Frames returns the activations, innermost first.
func (s *Session) Frames() ([]Frame, error) {
	if s.state == Idle {
		return nil, ErrIdle
	}
	if s.state == Ended && s.result.Fault == nil {
		return nil, ErrEnded
	}
	var out []Frame
	for i, f := range s.m.Thread().Frames() {
		pc := f.PC
		if i > 0 {
			pc--
		}
		x := Frame{Place: s.place(f.Image, pc), FP: f.FP, frame: i}
		if l, ok := lineOf(x.Place); ok {
			x.File, x.Line = l.File, l.Line
		}
		for _, sc := range s.inlinedAt(x.Place) {
			x.Level, x.Func, x.Inlined = len(out), sc.inlined, true
			out = append(out, x)
			x.File, x.Line = sc.callFile, sc.callLine
			x.inline++
		}
		x.Level, x.Func, x.Inlined, x.Callback = len(out), x.Place.funcName(), false, f.Callback
		out = append(out, x)
	}
	return out, nil
}

// funcName is the function a place belongs to by the object's symbols.
func (p Place) funcName() string {
	if p.Prog == nil {
		return "nowhere"
	}
	if f, ok := p.Func(); ok {
		return f.Name
	}
	return p.Prog.Name
}

// SelectFrame makes a frame the one expressions and listings refer to.
func (s *Session) SelectFrame(level int) error {
	frames, err := s.Frames()
	if err != nil {
		return err
	}
	if level < 0 || level >= len(frames) {
		return fmt.Errorf("there is no frame %d, the outermost is %d", level, len(frames)-1)
	}
	s.frame, s.inline = frames[level].frame, frames[level].inline
	return nil
}

// SelectedFrame returns the number of the selected frame.
func (s *Session) SelectedFrame() int {
	frames, err := s.Frames()
	if err != nil {
		return 0
	}
	for _, f := range frames {
		if f.frame == s.frame && f.inline == s.inline {
			return f.Level
		}
	}
	return 0
}

// Files returns the source files of the object's programs, sorted.
func (s *Session) Files() []string {
	seen := map[string]bool{}
	s.eachLine(func(l btf.LineInfo) { seen[l.File] = true })
	return slices.Sorted(maps.Keys(seen))
}

// Functions returns the names of all programs and subprograms, sorted.
func (s *Session) Functions() []string {
	seen := map[string]bool{}
	for _, f := range s.linked.Object.Functions {
		seen[f.Name] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
