package main

import (
	"context"
	"slices"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/report"
	"github.com/bpfrun/bpfrun/testrun"
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

// verify is the function for machine.Config.
func (v *programVerdicts) verify(lp *loader.LinkedProgram) loader.Verified {
	if v.checker == nil || len(v.chosen) > 0 && !slices.Contains(v.chosen, lp.Name) {
		return loader.Verified{}
	}
	return v.checker.Verify(v.ctx, lp)
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

// verifies returns the function that makes the caches of verdicts, one for each kernel; nil with --no-verify.
func (m *machineFlags) verifies(ctx context.Context) func() testrun.Verify {
	if m.noVerify {
		return nil
	}
	return func() testrun.Verify { return verifier.NewCache().Each(ctx) }
}

// verifiesEach returns the function that verifies the programs of linked objects; nil with --no-verify.
func (m *machineFlags) verifiesEach(ctx context.Context) testrun.Verify {
	if each := m.verifies(ctx); each != nil {
		return each()
	}
	return nil
}
