package verifier

import (
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/klog"
)

// MatchLog finds the program of an object that a log is about: the one it names, else the one whose instructions are those of the log. fits
// is false when the instructions are others: the log is of another build of the object.
func MatchLog(l *loader.Linked, log *klog.Log) (lp *loader.LinkedProgram, fits bool) {
	if lp, ok := l.Program(log.Program); ok {
		return lp, stepsEqual(lp, log) >= enough
	}
	best := 0.0
	for _, x := range l.Programs {
		// Of programs that begin alike, the one that ends like the log.
		if n := stepsEqual(x, log); len(log.Steps) > 0 && n > best {
			lp, best = x, n
		}
	}
	if best < enough {
		return nil, false
	}
	return lp, true
}

// enough is how much of a log has to fit: instructions that CO-RE poisons on one kernel differ from those of another.
const enough = 0.9

// stepsEqual returns the part of a log's instructions that the program has at the same places.
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

// Meaning says in our words what a line of the kernel's log means and what helps; "" when there is no word on it.
func Meaning(message string) string { return reason(message, uapi.Errno(0)) }
