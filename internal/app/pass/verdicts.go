package pass

import (
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// Verdicts holds the verdicts of the target's verifier on the programs of an object before it runs.
type Verdicts struct {
	ctx     context.Context
	linked  *loader.Linked
	checker *verifier.Checker // nil: no verdicts
	chosen  []string          // empty: all programs
	whyNot  string            // why there are no verdicts
}

// NewVerdicts returns the verdicts on the chosen programs, or on all; none if unverified is true or
// the target's release is unknown.
func NewVerdicts(ctx context.Context, l *loader.Linked, chosen []string, unverified bool) *Verdicts {
	v := &Verdicts{ctx: ctx, linked: l, chosen: chosen}
	j := verifier.NewChecker(l, verifier.Options{})
	if v.whyNot = j.WhyNot(); !unverified && v.whyNot == "" {
		v.checker = j
	}
	return v
}

// Verify is the function for [machine.Config].
func (v *Verdicts) Verify(lp *loader.LinkedProgram) loader.Verified {
	if v.checker == nil || len(v.chosen) > 0 && !slices.Contains(v.chosen, lp.Name) {
		return loader.Verified{}
	}
	return v.checker.Verify(v.ctx, lp)
}

// AddTo adds the collected verdicts to a document.
func (v *Verdicts) AddTo(doc *report.RunDocument, unverified bool) {
	if v.checker == nil {
		if !unverified {
			doc.Unverified(v.whyNot)
		}
		return
	}
	for _, lp := range v.linked.Programs {
		doc.AddVerdict(lp, v.checker.Known(lp))
	}
}
