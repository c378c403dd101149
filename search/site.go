package search

import (
	"fmt"
	"path"

	"github.com/bpfrun/bpfrun/loader"
)

// Site is an instruction of a program.
type Site struct {
	Program *loader.LinkedProgram
	Insn    int
}

// String names the instruction by function, source line and number: "filter at f.bpf.c:88 (insn 41)".
func (s Site) String() string {
	name := s.Program.Name
	if f, ok := s.Program.FuncAt(s.Insn); ok {
		name = f.Name
	}
	if l, ok := s.Program.LineAt(s.Insn); ok && l.Line > 0 {
		return fmt.Sprintf("%s at %s:%d (insn %d)", name, path.Base(l.File), l.Line, s.Insn)
	}
	return fmt.Sprintf("%s insn %d", name, s.Insn)
}
