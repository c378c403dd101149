package matrix

import (
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/verifier"
)

// verdicts returns the verdicts of the kernel's verifier on the object's programs, nil for programs that do not reach it.
func (r *runner) verdicts(l *loader.Linked) []*verifier.Verdict {
	out := make([]*verifier.Verdict, len(l.Programs))
	if r.cfg.Unverified {
		return out
	}
	checker := verifier.NewChecker(l, verifier.Options{})
	if !checker.Knows() {
		return out
	}
	for i, lp := range l.Programs {
		v, err := checker.Verdict(r.ctx, lp)
		if err != nil {
			return out // interrupted
		}
		out[i] = v
	}
	return out
}

// verdicts returns the verdicts in the cells.
func (res *result) verdicts() []*verifier.Verdict {
	out := make([]*verifier.Verdict, len(res.cells))
	for i, c := range res.cells {
		out[i] = c.Verdict
	}
	return out
}

// verified records the verdict in the cell. A program that is refused does not run.
func (c *Cell) verified(lp *loader.LinkedProgram, v *verifier.Verdict) {
	if c.Verdict = v; v == nil {
		return
	}
	switch v.Outcome {
	case verifier.Refused:
		c.Load = LoadRefused
		if r, ok := lp.RelocAt(v.Insn); !ok || !r.Poisoned() { // a missing field is reported by name elsewhere
			c.explain("the verifier refuses it: %s", v.Summary())
		}
	case verifier.Unknown:
		c.explain("verifier: %s", v.Summary())
	}
}
