package jit

import (
	"errors"

	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// ErrUnsupported means that there is no native code for the system, the processor or the memory.
var ErrUnsupported = errors.New("jit: no native code here")

var _ vm.Engine = (*Engine)(nil)

// Compiled is native code as returned by Compile.
type Compiled struct {
	plan.Code
	program     *plan.Program
	disassemble func(code []byte, at int) (text string, n int)
}

// Inline reports whether an instruction is a call that the code itself executes.
func (c *Compiled) Inline(pc int) bool { return c.program.Insns[pc].Kind == plan.KindCallInline }

// Dead reports whether an instruction needs no code because its result is never used.
func (c *Compiled) Dead(pc int) bool { return c.program.Insns[pc].Has(plan.FlagDead) }

// Insns returns the number of instructions: the slots of the program, followed by the guards and
// copies of its loops.
func (c *Compiled) Insns() int { return len(c.program.Insns) }

// Slot returns the slot of the program that instruction i implements; for a guard, the first slot
// of its loop.
func (c *Compiled) Slot(i int) int { return int(c.program.Insns[i].Slot) }

// Guard reports whether instruction i is a guard of a loop copy.
func (c *Compiled) Guard(i int) bool { return c.program.Insns[i].Kind == plan.KindGuard }

// Start returns the offset in Text of the code of instruction i; for i = Insns(), that of the
// out-of-line code.
func (c *Compiled) Start(i int) int {
	if i < len(c.Starts) {
		return int(c.Starts[i])
	}
	return int(c.Cold)
}

// sampled is the number of instructions sampled before a program is compiled again. Tests use
// fewer.
var sampled = 10_000
