package matrix

import (
	"errors"

	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// whyUnverified says why the kernel's verifier gives no verdicts; "" if it does.
func (f *Facts) whyUnverified(name string) string {
	_, version, _ := loader.ParseRelease(f.Version)
	return verifier.KernelOf(&loader.Target{Release: f.Release, Version: version, VersionKnown: f.VersionKnown}).WhyNot(name)
}

// verdicts returns the verdicts of the kernel's verifier on the object's programs, nil for programs
// that do not reach it.
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

// verified records the verdict in the cell, and what follows from it. A program that is refused
// does not run.
func (c *Cell) verified(lp *loader.LinkedProgram, v *verifier.Verdict) {
	c.Verdict = v
	if v != nil && v.Outcome == verifier.Unknown {
		c.explain("verifier: %s", v.Summary())
	}
	if lp.Status != loader.StatusOK && lp.Status != loader.StatusUnknownHook {
		return
	}
	err := lp.Refusal(v.Of(lp))
	var refused *verifier.RefusedError
	switch {
	case err == nil:
	case errors.As(err, &refused):
		c.Load = LoadRefused
		if r, ok := lp.RelocAt(v.Insn); !ok || !r.Poisoned() { // a missing field is reported by name elsewhere
			c.explain("the verifier refuses it: %s", v.Summary())
		}
	default:
		c.refused(err)
	}
}

// refused records why the kernel does not load the program.
func (c *Cell) refused(err error) {
	c.Load, c.Refused = LoadError, true
	if lacks(err) {
		c.Load = LoadAbsent
	}
	c.explain("%s", shorten(err))
}
