package vm

import (
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/mem"
)

// FaultKind is the reason why a program was stopped.
type FaultKind uint8

const (
	// Memory: an access was refused; Fault.Mem says why.
	Memory FaultKind = iota + 1
	// BudgetExceeded: the instruction limit was reached (raised by the owner of a run; [Thread.Run]
	// itself returns [Budget]).
	BudgetExceeded
	// Poison: the program reached an instruction left by a failed relocation.
	Poison
	// NotSimulated: the program reached a helper, kfunc or instruction that is not implemented.
	NotSimulated
	// CallDepth: more than MaxFrames frames.
	CallDepth
	// StackOverflow: no memory for another stack frame.
	StackOverflow
	// BadTarget: a jump, call or callback has a target that is not an instruction of a program.
	BadTarget
	// Deadlock: the program would wait for a lock it holds.
	Deadlock
	// LeakedReference: the program ended while it held a reference, lock or record.
	LeakedReference
	// InvalidInsn: the instruction is not defined.
	InvalidInsn
	// BadArgument: a helper was called with an argument that the kernel would not accept.
	BadArgument
	// TimedOut: the owner stopped the program because of its run time.
	TimedOut
	// BadReturn: the program returned a value that its type may not return.
	BadReturn
)

var faultKindNames = [...]string{
	Memory: "memory", BudgetExceeded: "budget", Poison: "poison", NotSimulated: "not-simulated", CallDepth: "call-depth",
	StackOverflow: "stack-overflow", BadTarget: "bad-target", Deadlock: "deadlock", LeakedReference: "leaked-reference",
	InvalidInsn: "invalid-insn", BadArgument: "bad-argument", TimedOut: "timed-out",
	BadReturn: "bad-return",
}

// String returns the kind in lower case with hyphens: "call-depth".
func (k FaultKind) String() string {
	if int(k) < len(faultKindNames) && faultKindNames[k] != "" {
		return faultKindNames[k]
	}
	return fmt.Sprintf("fault(%d)", uint8(k))
}

// FaultKinds lists the names of all kinds except Memory, which has the kinds of [mem.FaultKind].
func FaultKinds() []string { return slices.Clone(faultKindNames[Memory+1:]) }

// Fault is the reason why, and the place where, a program was stopped. It is an error.
type Fault struct {
	Kind  FaultKind
	PC    int    // slot of the instruction; it was not completed
	Image *Image // program the slot belongs to
	Mem   *mem.Fault
	Text  string
}

// Error names program, slot and reason.
func (f *Fault) Error() string {
	where := fmt.Sprintf("insn %d", f.PC)
	if f.Image != nil && f.Image.Name != "" {
		where = f.Image.Name + " " + where
	}
	switch {
	case f.Mem != nil && f.Text != "":
		return fmt.Sprintf("%s: %s: %v", where, f.Text, f.Mem)
	case f.Mem != nil:
		return fmt.Sprintf("%s: %v", where, f.Mem)
	case f.Text != "":
		return fmt.Sprintf("%s: %s", where, f.Text)
	}
	return fmt.Sprintf("%s: %v", where, f.Kind)
}

// Unwrap returns the memory fault, if there is one.
func (f *Fault) Unwrap() error {
	if f.Mem == nil {
		return nil
	}
	return f.Mem
}
