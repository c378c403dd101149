package main

import (
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/verifier"
)

// judging holds the verdicts of the target's verifier on the programs of an object before it runs.
type judging struct {
	ctx    context.Context
	linked *loader.Linked
	judge  *verifier.Judge // nil: no verdicts
	chosen []string        // empty: all programs
	whyNot string          // why there are no verdicts
}

// judge verifies programs for the object's target, unless --no-verify is given or the target's release is unknown.
func (m *machineFlags) judge(ctx context.Context, l *loader.Linked, chosen []string) *judging {
	v := &judging{ctx: ctx, linked: l, chosen: chosen}
	j := verifier.NewJudge(l, verifier.Options{})
	if v.whyNot = j.WhyNot(); !m.noVerify && v.whyNot == "" {
		v.judge = j
	}
	return v
}

// refuses returns the function for machine.Config.
func (v *judging) refuses(lp *loader.LinkedProgram) error {
	if v.judge == nil || len(v.chosen) > 0 && !slices.Contains(v.chosen, lp.Name) {
		return nil
	}
	return v.judge.Refusal(v.ctx, lp)
}

// addTo adds the collected verdicts to a document.
func (v *judging) addTo(doc *report.RunDocument, unverified bool) {
	if v.judge == nil {
		if !unverified {
			doc.Unjudged(v.whyNot)
		}
		return
	}
	for _, lp := range v.linked.Programs {
		doc.AddVerdict(lp, v.judge.Known(lp))
	}
}

// judge returns the functions for the options of tests; they are nil unless verdicts are requested.
func judge(ctx context.Context, verify bool) func(*loader.Linked) func(*loader.LinkedProgram) error {
	if !verify {
		return nil
	}
	return func(l *loader.Linked) func(*loader.LinkedProgram) error {
		j := verifier.NewJudge(l, verifier.Options{})
		return func(lp *loader.LinkedProgram) error { return j.Refusal(ctx, lp) }
	}
}
