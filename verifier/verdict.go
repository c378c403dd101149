package verifier

import "github.com/bpfrun/bpfrun/uapi"

// Outcome is the answer.
type Outcome uint8

// Outcomes.
const (
	Unknown  Outcome = iota // there is no rule for something; see Verdict.Missing
	Accepted                // the kernel loads the program
	Refused                 // the kernel refuses it
)

// String returns the word the formats write.
func (o Outcome) String() string {
	switch o {
	case Accepted:
		return "accepted"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// Verdict is what the kernel's verifier says of a program.
type Verdict struct {
	Outcome Outcome
	Errno   uapi.Errno // of a refusal
	// Message is the last line the kernel logs about the program: short, the text people search for.
	Message string
	// Reason says in our words what is wrong and what to do.
	Reason string
	// Missing names what there is no rule for, when the outcome is Unknown.
	Missing string
	Insn    int   // where the walk ended, -1 before the walk
	Source  *Line // of Insn, nil if not known
	// ProcessedInsns, TotalStates, PeakStates and MaxStatesPerInsn are the numbers of the last line of a kernel's log.
	ProcessedInsns, TotalStates, PeakStates, MaxStatesPerInsn int
	// StackDepth is what the kernel prints: bytes of each function.
	StackDepth []int
	// Path are the branches that led to Insn, oldest first.
	Path []Branch
	// Regs describes the registers at Insn, as the kernel's log does.
	Regs string
}

// Branch is a branch on the way to a refusal.
type Branch struct {
	Insn  int
	Taken bool
}
