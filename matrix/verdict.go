package matrix

import (
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/verifier"
)

// verdictKey identifies an object on a kernel.
type verdictKey struct {
	object *loader.Object
	kernel string
}

// verdicts returns the verdicts of the kernel's verifier on the object's programs, nil for programs that do not reach it. They are cached, so
// that an object that runs again on a kernel ([runner.follow]) is not verified again.
func (r *runner) verdicts(t *target, l *loader.Linked) []*verifier.Verdict {
	out := make([]*verifier.Verdict, len(l.Programs))
	if r.cfg.Unverified {
		return out
	}
	key := verdictKey{l.Object, t.kernel.Name}
	r.mu.Lock()
	known := r.judged[key]
	r.mu.Unlock()
	if known != nil {
		return known
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judged[key] = out
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
