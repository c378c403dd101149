package matrix

import (
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/verifier"
)

// verdictKey is an object on a kernel.
type verdictKey struct {
	object *loader.Object
	kernel string
}

// verdicts are those of the kernel's verifier on the object's programs, nil for those that do not come before it. An object that
// runs again on a kernel ([runner.follow]) is not judged again.
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
	judge := verifier.NewJudge(l, verifier.Options{})
	if !judge.Knows() {
		return out
	}
	for i, lp := range l.Programs {
		v, err := judge.Verdict(r.ctx, lp)
		if err != nil {
			return out // it was interrupted
		}
		out[i] = v
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judged[key] = out
	return out
}

// verified notes the verdict on the cell's program: one that is refused does not run.
func (c *Cell) verified(lp *loader.LinkedProgram, v *verifier.Verdict) {
	if c.Verdict = v; v == nil {
		return
	}
	switch v.Outcome {
	case verifier.Refused:
		c.Load = LoadRefused
		if r, ok := lp.RelocAt(v.Insn); !ok || !r.Poisoned() { // the missing field is told with its name
			c.explain("the verifier refuses it: %s", v.Summary())
		}
	case verifier.Unknown:
		c.explain("verifier: %s", v.Summary())
	}
}
