package bpftest

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/vm"
)

// Fault is the error of a program that was stopped, with the reason and the place. Either the
// program did something that the kernel forbids, or it used something that is not simulated.
type Fault struct {
	// Kind is one of the kinds that expect.fault accepts in scenario files: null-pointer,
	// out-of-bounds, use-after-free, leaked-reference, bad-return, not-simulated, ...
	Kind string
	// Kernel is the target's name; Program and Function are where the program was stopped.
	Kernel, Program, Function string
	// Instruction is the instruction's number, counted as in the kernel's log; Text is the
	// disassembled instruction.
	Instruction int
	Text        string
	// Source is "file:line:column" and Line the source line; both are empty for objects without
	// line information.
	Source, Line string
	// Message describes what happened, Hint what to do about it; Hint may be empty.
	Message, Hint string
}

func newFault(f *machine.Fault, kernel string) *Fault {
	out := &Fault{
		Kind: kindOf(f.Fault), Kernel: kernel, Program: f.Program, Function: f.Function, Instruction: f.Insn, Text: f.Text,
		Source: f.Source, Line: strings.TrimSpace(f.Line), Hint: f.Hint,
	}
	switch {
	case f.Mem != nil && f.Fault.Text != "":
		out.Message = f.Fault.Text + ": " + f.Mem.Error()
	case f.Mem != nil:
		out.Message = f.Mem.Error()
	case f.Fault.Text != "":
		out.Message = f.Fault.Text
	default:
		out.Message = out.Kind
	}
	return out
}

// kindOf returns the fault's kind; faults of memory accesses have more specific kinds.
func kindOf(f *vm.Fault) string {
	if f.Kind == vm.Memory && f.Mem != nil {
		return f.Mem.Kind.String()
	}
	return f.Kind.String()
}

// Error describes the fault in a few lines: what happened, the source line, the instruction, and
// what to do.
func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", f.Kind, f.Message)
	if f.Source != "" {
		fmt.Fprintf(&b, "\n    %s: %s", f.Source, f.Line)
	}
	fmt.Fprintf(&b, "\n    %s, instruction %d: %s", f.Function, f.Instruction, f.Text)
	if f.Hint != "" {
		fmt.Fprintf(&b, "\n    %s", f.Hint)
	}
	return b.String()
}

// Is makes errors.Is(fault, ErrNotSimulated) and errors.Is(fault, ErrRefused) work. A program that
// reaches a poisoned CO-RE instruction counts as refused, because it would not be loaded.
func (f *Fault) Is(target error) bool {
	switch target {
	case ErrNotSimulated:
		return f.Kind == vm.NotSimulated.String()
	case ErrRefused:
		return f.Kind == vm.Poison.String()
	}
	return false
}
