package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/loader"
)

// extension determines how to run a program that replaces a function of another program (freplace):
// as a program of that one's type. If no program is named, with the context that its first
// parameter declares, in place of the function's. Without one there is nothing to run on, and the
// program is absent.
func (bin *binder) extension(p *program) {
	if progtype.Of(p.lp.Type).Target != progtype.OtherProgram || p.status != StatusOK && p.status != StatusUnknownHook {
		return
	}
	if t := p.lp.AttachProg; t != nil {
		p.typ = t.Type
		return
	}
	of := "a function"
	if p.lp.AttachTo != "" {
		of = p.lp.AttachTo
	}
	name := loader.ContextType(p.types(), p.lp.FuncType)
	if t, ok := progtype.RunAs(name); ok {
		p.typ, p.status = t, StatusUnknownHook
		p.err = &loader.Error{Program: p.lp.Name, Insn: -1,
			Detail: fmt.Sprintf("it replaces %s of another program, which is not loaded; running it as a %v program on a struct %s", of, t, name)}
		return
	}
	p.status = StatusAbsent
	p.err = &loader.Error{Program: p.lp.Name, Insn: -1, Err: loader.ErrNoHook,
		Detail: fmt.Sprintf("it replaces %s of another program, which is not loaded, and its parameters do not reveal the context type; name the program with --attach-prog %s=PROGRAM[:FUNCTION]", of, p.lp.Name)}
}
