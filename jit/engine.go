package jit

import (
	"errors"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// ErrUnsupported is why there is no native code: the system or the processor is not one it is made for, or the memory is not.
var ErrUnsupported = errors.New("jit: no native code here")

var _ vm.Engine = (*Engine)(nil)

// Compiled is native code as Compile makes it.
type Compiled struct {
	plan.Code
	program *plan.Program
}

// Inline reports whether an instruction is a call that the code makes itself.
func (c *Compiled) Inline(pc int) bool { return c.program.Insns[pc].Kind == plan.KindCallInline }

// Dead reports whether an instruction needs no code, since nobody can see what it does.
func (c *Compiled) Dead(pc int) bool { return c.program.Insns[pc].Has(plan.FlagDead) }

// sampled is how many instructions of a program are looked at before it is compiled again. Tests look at fewer.
var sampled = 10_000
