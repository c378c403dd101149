package main

import (
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/verifier"
)

// programVerdicts holds the verdicts of the target's verifier on the programs of an object before it runs.
type programVerdicts struct {
	ctx     context.Context
	linked  *loader.Linked
	checker *verifier.Checker // nil: no verdicts
	chosen  []string          // empty: all programs
	whyNot  string            // why there are no verdicts
}

// verdicts verifies programs for the object's target, unless --no-verify is given or the target's release is unknown.
func (m *machineFlags) verdicts(ctx context.Context, l *loader.Linked, chosen []string) *programVerdicts {
	v := &programVerdicts{ctx: ctx, linked: l, chosen: chosen}
	j := verifier.NewChecker(l, verifier.Options{})
	if v.whyNot = j.WhyNot(); !m.noVerify && v.whyNot == "" {
		v.checker = j
	}
	return v
}

// refuses returns the function for machine.Config.
func (v *programVerdicts) refuses(lp *loader.LinkedProgram) error {
	if v.checker == nil || len(v.chosen) > 0 && !slices.Contains(v.chosen, lp.Name) {
		return nil
	}
	return v.checker.Refusal(v.ctx, lp)
}

// addTo adds the collected verdicts to a document.
func (v *programVerdicts) addTo(doc *report.RunDocument, unverified bool) {
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

// refusals returns the functions for the options of tests; they are nil unless verdicts are requested.
func refusals(ctx context.Context, verify bool) func(*loader.Linked) func(*loader.LinkedProgram) error {
	if !verify {
		return nil
	}
	return func(l *loader.Linked) func(*loader.LinkedProgram) error {
		j := verifier.NewChecker(l, verifier.Options{})
		return func(lp *loader.LinkedProgram) error { return j.Refusal(ctx, lp) }
	}
}
