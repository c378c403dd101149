package verifier

import (
	"github.com/bpfrun/bpfrun/internal/verifier/klog"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
	"github.com/bpfrun/bpfrun/loader"
)

// MatchLog finds the program of an object that a log is about: the one it names, else the one with
// the log's instructions. fits is false if the instructions differ, because the log is of another
// build of the object.
func MatchLog(l *loader.Linked, log *klog.Log) (lp *loader.LinkedProgram, fits bool) {
	if lp, ok := l.Program(log.Program); ok {
		return lp, stepsEqual(lp, log) >= enough
	}
	best := 0.0
	for _, x := range l.Programs {
		// Of programs with the same beginning, choose the one that ends like the log.
		if n := stepsEqual(x, log); len(log.Steps) > 0 && n > best {
			lp, best = x, n
		}
	}
	if best < enough {
		return nil, false
	}
	return lp, true
}

// enough is the share of a log's instructions that must match: those that CO-RE poisons differ
// between kernels.
const enough = 0.9

// stepsEqual returns the share of a log's instructions that the program has at the same positions.
func stepsEqual(lp *loader.LinkedProgram, log *klog.Log) float64 {
	same := 0
	for i := range log.Steps {
		s := &log.Steps[i]
		if s.Insn < len(lp.Insns) && lp.Insns[s.Insn].Code == s.Code {
			same++
		}
	}
	return float64(same+1) / float64(len(log.Steps)+1)
}

// Meaning explains a line of the kernel's log and what to do about it; "" if there is no
// explanation.
func Meaning(message string) string { return refusal.Explain(message) }
