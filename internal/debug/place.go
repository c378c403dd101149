package debug

import (
	"fmt"
	"path"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
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

// String formats the place as "handle_exec at exec.bpf.c:42 (insn 7)".
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

// funcName returns the name of the function around a place, from the object's symbols.
func (p Place) funcName() string {
	if p.Prog == nil {
		return "nowhere"
	}
	if f, ok := p.Func(); ok {
		return f.Name
	}
	return p.Prog.Name
}
