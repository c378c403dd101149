package verifier

import (
	"github.com/bpfrun/bpfrun/internal/uapi"

	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// Outcome is the outcome of a verification.
type Outcome uint8

// Outcomes.
const (
	Unknown  Outcome = iota // there is no rule for something; see Verdict.Missing
	Accepted                // the kernel loads the program
	Refused                 // the kernel refuses it
)

// String returns the outcome as in JSON and reports.
func (o Outcome) String() string {
	switch o {
	case Accepted:
		return "accepted"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// Verdict is the verdict of the kernel's verifier on a program.
type Verdict struct {
	Outcome Outcome
	Errno   uapi.Errno // of a refusal
	// Message is the last line that the kernel logs about the program: short, the text people
	// search for.
	Message string
	// Lacks names what the kernel lacks, where the program reaches a reference to it: Message then
	// has only a number.
	Lacks string
	// Reason explains in bpfrun's words what is wrong and what to do.
	// Refusal identifies the reason.
	Refusal refusal.ID
	Reason  string
	// Missing names what there is no rule for, if the outcome is Unknown.
	Missing string
	Insn    int   // where exploration ended, -1 if it did not start
	Source  *Line // of Insn, or nil
	// ProcessedInsns, TotalStates, PeakStates and MaxStatesPerInsn are the figures in the last line
	// of a kernel's log.
	ProcessedInsns, TotalStates, PeakStates, MaxStatesPerInsn int
	// StackDepth is the stack of each function in bytes, as the kernel prints it.
	StackDepth []int
	// Reliable are the slots at which static functions begin whose types the kernel relies on when
	// programs trace them.
	Reliable []int
	// ExceptionCallback is the slot at which the exception callback begins, 0 if there is none.
	ExceptionCallback int
	// Untyped says that it does not rely on the type of the first function.
	Untyped bool
	// CtxSize is how many bytes of its context the program may access: an event with a shorter one
	// refuses it when it is attached.
	CtxSize int
	// Bound says that the program may be attached only where it said when it was loaded: a result of
	// it, 2 or 3 of cgroup_skb, has a meaning only there (enforce_expected_attach_type).
	Bound bool
	// Reached are the instructions of an accepted program that some input may reach, by slot; the
	// kernel removes the others.
	Reached []bool
	// Unlocked says that the program was taken to be for a kernel that is not locked down: else the
	// kernel lacks a helper that it calls.
	Unlocked bool
	// Path lists the branches that led to Insn, oldest first.
	Path []Branch
	// Regs describes the registers at Insn, as the kernel's log does.
	Regs string
}

// Branch is a branch on the path to a refusal.
type Branch struct {
	Insn  int
	Taken bool
}
